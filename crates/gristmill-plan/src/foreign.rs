//! Functions that live outside the engine, such as a user's Python code.
//!
//! The engine knows three things of one: what it is called, what tells it from another, and how to call it.

use gristmill_types::{Result, Value};
use std::any::Any;
use std::cell::Cell;

/// A function outside the engine. It is called for one element at a time, in the order of the elements.
pub trait Foreign: Send + Sync + std::fmt::Debug {
    /// What messages and plans call it.
    fn name(&self) -> &str;

    /// Bytes that differ between functions that may give different values, as far as can be told: they enter
    /// the fingerprint of a plan.
    fn identity(&self) -> &[u8];

    /// Calls it.
    ///
    /// # Errors
    /// What the function raised, or that what it returned is no tensor.
    fn call(&self, inputs: &[Value]) -> Result<Vec<Value>>;

    /// Does work that calls such functions many times, holding meanwhile what each call needs (an interpreter's
    /// lock), so that it is taken once.
    ///
    /// # Errors
    /// `Cancelled` if it cannot be had any more; the work was not begun then.
    fn hold(&self, work: &mut dyn FnMut()) -> Result<()>;

    /// The function as whoever made it knows it.
    fn as_any(&self) -> &dyn Any;
}

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

/// Calls a function and counts the call.
///
/// # Errors
/// As [`Foreign::call`].
pub fn call(function: &dyn Foreign, inputs: &[Value]) -> Result<Vec<Value>> {
    CALLS.set(CALLS.get().wrapping_add(1));
    function.call(inputs)
}

/// How many calls this thread has made.
pub fn calls() -> u64 {
    CALLS.get()
}
