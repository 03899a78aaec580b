//! What a pass would take without one of its stages.

use gristmill::runtime::forecast::{Counted, Forecast, Thread, Work};
use pyo3::prelude::*;

/// See `gristmill.data._profile`.
#[pyclass(frozen, name = "Forecast", module = "gristmill._native")]
pub(crate) struct PyForecast(Forecast);

#[pymethods]
impl PyForecast {
    /// Of a pass over stages (name, nanoseconds of work, whether it holds results ready), in seconds.
    #[new]
    fn new(stages: Vec<(String, u64, bool)>, seconds: f64, cpu: f64, asking: f64, cores: usize) -> Self {
        let work = |(name, ns, ahead): (String, u64, bool)| Work { name, busy: ns as f64 / 1e9, ahead };
        let stages = stages.into_iter().map(work).collect();
        Self(Forecast::new(&Counted { stages, seconds, cpu, asking, cores }))
    }

    /// Seconds of work of each stage.
    #[getter]
    fn work(&self) -> Vec<f64> {
        self.0.work.clone()
    }

    /// Where each stage works: `shared` threads, the one `asking` for elements, or that of the prefetch with this number.
    #[getter]
    fn threads(&self) -> Vec<String> {
        let name = |thread: &Thread| match thread {
            Thread::Asking => "asking".to_string(),
            Thread::Ahead(i) => format!("prefetch {i}"),
            Thread::Shared => "shared".to_string(),
        };
        self.0.threads.iter().map(name).collect()
    }

    /// Seconds of work outside of all stages.
    #[getter]
    fn outside(&self) -> f64 {
        self.0.outside
    }

    /// Seconds that the pass is expected to take without a stage.
    fn without(&self, stage: usize) -> f64 {
        self.0.without(stage)
    }

    /// The number of the stage that limits the pass.
    fn limiting(&self) -> usize {
        self.0.limiting()
    }

    /// The stage that limits the pass, in words.
    fn bottleneck(&self) -> String {
        self.0.bottleneck()
    }
}
