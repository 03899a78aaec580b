//! Progress on a terminal, nothing elsewhere.

use std::io::{self, IsTerminal, Write as _};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gristmill_tools::progress::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::exit::for_shell;
use crate::show::bytes;

/// Draws a bar on standard error if that is a terminal; also hands Ctrl-C on to the job.
pub(crate) struct Bar {
    draws: bool,
    quiet: bool,
    stop: Arc<AtomicBool>,
    bytes: Arc<AtomicU64>,
    current: Mutex<Option<ProgressBar>>,
}

impl Bar {
    pub(crate) fn new(quiet: bool, stop: Arc<AtomicBool>) -> Self {
        let draws = !quiet && io::stderr().is_terminal();
        Self { draws, quiet, stop, bytes: Arc::default(), current: Mutex::new(None) }
    }

    fn current(&self) -> MutexGuard<'_, Option<ProgressBar>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes the bar.
    pub(crate) fn finish(&self) {
        if let Some(bar) = self.current().take() {
            bar.finish_and_clear();
        }
    }

    fn style(&self, known: bool) -> ProgressStyle {
        let bytes_done = Arc::clone(&self.bytes);
        let template = if known {
            "{msg:10} {wide_bar} {percent:>3}%  {rate:>12}  {eta:>4} left"
        } else {
            "{msg:10} {spinner} {pos}  {rate:>12}"
        };
        let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        style.with_key("rate", move |state: &ProgressState, out: &mut dyn std::fmt::Write| {
            let seconds = state.elapsed().as_secs_f64().max(1e-3);
            let rate = bytes_done.load(Relaxed) as f64 / seconds;
            // A bar that cannot be written is no reason to stop.
            let _ = write!(out, "{}/s", bytes(rate as u64));
        })
    }
}

impl Progress for Bar {
    fn phase(&self, name: &str, steps: Option<u64>) {
        if !self.draws {
            return;
        }
        self.finish();
        self.bytes.store(0, Relaxed);
        let bar = ProgressBar::with_draw_target(steps, ProgressDrawTarget::stderr());
        bar.set_style(self.style(steps.is_some()));
        bar.set_message(name.to_owned());
        *self.current() = Some(bar);
    }

    fn advance(&self, steps: u64, bytes: u64) {
        if !self.draws {
            return;
        }
        self.bytes.fetch_add(bytes, Relaxed);
        if let Some(bar) = &*self.current() {
            bar.inc(steps);
        }
    }

    fn note(&self, line: &str) {
        if self.quiet {
            return;
        }
        let write = || {
            // Nobody is left to tell when this cannot be written.
            let _ = writeln!(io::stderr().lock(), "note: {}", for_shell(line));
        };
        match &*self.current() {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }

    fn cancelled(&self) -> bool {
        self.stop.load(Relaxed)
    }
}
