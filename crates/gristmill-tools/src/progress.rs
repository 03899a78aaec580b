//! How a job tells its caller how far it is.

/// What a job calls while it runs; every method may be called from several threads at once.
pub trait Progress: Sync {
    /// A new phase begins: its name (such as `packing`) and the number of its steps where that is known.
    fn phase(&self, name: &str, steps: Option<u64>);
    /// Some steps of the phase are done, which took or made so many bytes.
    fn advance(&self, steps: u64, bytes: u64);
    /// A line for the user that is neither an error nor the result, such as a warning.
    fn note(&self, line: &str);
    /// Asked between steps: true once the caller wants the job to stop (Ctrl-C). The job then removes its temporary
    /// files and returns an error of kind `Cancelled`.
    fn cancelled(&self) -> bool {
        false
    }
}

/// Reports nothing.
pub struct Silent;

impl Progress for Silent {
    fn phase(&self, _: &str, _: Option<u64>) {}
    fn advance(&self, _: u64, _: u64) {}
    fn note(&self, _: &str) {}
}

/// Keeps reads from counting as progress.
pub(crate) struct Quiet<'p>(pub(crate) &'p dyn Progress);

impl Progress for Quiet<'_> {
    fn phase(&self, _: &str, _: Option<u64>) {}
    fn advance(&self, _: u64, _: u64) {}
    fn note(&self, line: &str) {
        self.0.note(line);
    }
    fn cancelled(&self) -> bool {
        self.0.cancelled()
    }
}
