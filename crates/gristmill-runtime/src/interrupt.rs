//! The end of a pass from within.

use crate::pool::lock;
use gristmill_types::Error;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

/// What a function outside the engine raised to end the program, until the reader is told.
#[derive(Default)]
pub struct Interrupt {
    set: AtomicBool,
    error: Mutex<Option<Error>>,
}

impl Interrupt {
    /// Keeps the first error that ends the pass.
    pub(crate) fn set(&self, e: Error) {
        let mut error = lock(&self.error);
        if !self.set.swap(true, SeqCst) {
            *error = Some(e);
        }
    }

    /// The error, as long as the reader was not told.
    pub(crate) fn peek(&self) -> Option<Error> {
        lock(&self.error).clone()
    }

    /// The error, for the reader; once.
    pub(crate) fn take(&self) -> Option<Error> {
        lock(&self.error).take()
    }
}
