"""The first import of the package: what has to be so before the slow ones."""

from __future__ import annotations

import sys


def quick_end() -> None:
    """Lets Ctrl-C end the process in the system's way, if it would be Python's interrupt."""
    import signal
    import threading

    if (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    ):
        signal.signal(signal.SIGINT, signal.SIG_DFL)


# The console command answers Ctrl-C itself. Until it can, an interrupt in the middle of the imports
# that follow would be a traceback.
if sys.argv and sys.argv[0].replace("\\", "/").rpartition("/")[2] in ("gristmill", "gristmill.exe"):
    quick_end()
