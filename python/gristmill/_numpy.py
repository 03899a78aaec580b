"""NumPy, imported when it is first used.

Its import takes several times as long as that of this package, and its threads keep a core busy for
a tenth of a second after it. Packing, checking and copying records need none of it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__all__ = ["np"]


class _NumPy:
    """Stands for the module."""

    def __getattr__(self, name: str) -> Any:
        value = getattr(importlib.import_module("numpy"), name)
        # Found there from now on, without coming here.
        setattr(self, name, value)
        return value


if TYPE_CHECKING:
    import numpy as np
else:
    np = _NumPy()
