//! Ctrl-C asks the job to stop, so that it removes its temporary files; a second one ends the process at once.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::SigId;
use signal_hook::consts::TERM_SIGNALS;
use signal_hook::flag::{register, register_conditional_shutdown};
use signal_hook::low_level::unregister;

use crate::exit::STOPPED;

/// Watches for the signals that end a process, until dropped.
pub(crate) struct Interrupt {
    flag: Arc<AtomicBool>,
    registered: Vec<SigId>,
}

impl Interrupt {
    pub(crate) fn install() -> Self {
        let flag = Arc::new(AtomicBool::new(false));
        let mut registered = Vec::new();
        for &signal in TERM_SIGNALS {
            // In this order: the shutdown looks at the flag before it is set. Without a handler the signal ends the
            // process, and only temporary files stay.
            registered.extend(register_conditional_shutdown(signal, STOPPED, Arc::clone(&flag)));
            registered.extend(register(signal, Arc::clone(&flag)));
        }
        Self { flag, registered }
    }

    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.flag)
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        for id in self.registered.drain(..) {
            unregister(id);
        }
    }
}
