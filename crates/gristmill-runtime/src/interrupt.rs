//! The end of a pass from within.

use crate::pool::lock;
use gristmill_types::Error;
use std::sync::Mutex;

/// What a function outside the engine raised to end the program, until the reader is told.
#[derive(Default)]
pub struct Interrupt(Mutex<State>);

#[derive(Default)]
enum State {
    #[default]
    None,
    /// The reader was not told yet.
    Raised(Error),
    Told,
}

impl Interrupt {
    /// Keeps the first error that ends the pass.
    pub(crate) fn set(&self, e: Error) {
        let mut state = lock(&self.0);
        if matches!(*state, State::None) {
            *state = State::Raised(e);
        }
    }

    /// The error, as long as the reader was not told.
    pub(crate) fn peek(&self) -> Option<Error> {
        match &*lock(&self.0) {
            State::Raised(e) => Some(e.clone()),
            _ => None,
        }
    }

    /// The error, for the reader; once.
    pub(crate) fn take(&self) -> Option<Error> {
        let mut state = lock(&self.0);
        let e = match &*state {
            State::Raised(e) => e.clone(),
            _ => return None,
        };
        *state = State::Told;
        Some(e)
    }
}
