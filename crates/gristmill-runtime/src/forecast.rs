//! Which stage the others wait for, and how long a pass would take without it.
//!
//! The model: every thread has to do the work that falls to it, the workers divide theirs, and all of it together has
//! no more than the cores. What a pass lost beyond that (at its beginning, between threads) it is taken to lose in the
//! same proportion without the stage.

use crate::stats::StageReport;
use crate::sys;
use std::collections::BTreeMap;
use std::time::Instant;

/// From this share of all cores on, busy time is taken to contain waiting for a core.
const CROWDED: f64 = 0.75;
/// Name of the stages that have a thread of their own.
const AHEAD: &str = "prefetch";

/// What the model knows of a stage.
#[derive(Clone, Debug, PartialEq)]
pub struct Work {
    /// Its name.
    pub name: String,
    /// Seconds in which it worked, all threads together.
    pub busy: f64,
    /// Whether it hands work to other threads and holds results ready.
    pub ahead: bool,
}

impl From<&StageReport> for Work {
    fn from(stage: &StageReport) -> Self {
        Self { name: stage.name.clone(), busy: stage.busy_ns as f64 / 1e9, ahead: stage.ahead_room > 0 }
    }
}

/// What was counted during one pass, or several of one plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counted {
    /// The stages, sources first, as [`DatasetIterator::report`](crate::DatasetIterator::report) lists them.
    pub stages: Vec<Work>,
    /// Seconds that it took.
    pub seconds: f64,
    /// CPU seconds of the process.
    pub cpu: f64,
    /// CPU seconds of the thread that asked for elements.
    pub asking: f64,
    /// Cores that the process may use.
    pub cores: usize,
}

/// Takes the times of a pass, or of several passes of one plan, on the thread that asks for elements.
#[derive(Clone, Debug)]
pub struct Meter {
    began: Instant,
    cpu: f64,
    asking: f64,
    stages: Vec<Work>,
}

impl Meter {
    /// Begins now.
    pub fn start() -> Self {
        Self {
            began: Instant::now(),
            cpu: sys::process_seconds(),
            asking: sys::thread_seconds(),
            stages: Vec::new(),
        }
    }

    /// Adds the report of a pass.
    pub fn add(&mut self, report: &[StageReport]) {
        for (i, stage) in report.iter().enumerate() {
            let work = Work::from(stage);
            match self.stages.get_mut(i).filter(|sum| sum.name == work.name) {
                Some(sum) => {
                    sum.busy += work.busy;
                    sum.ahead |= work.ahead;
                }
                None => self.stages.push(work),
            }
        }
    }

    /// What was counted from the start until now.
    pub fn counted(self) -> Counted {
        Counted {
            stages: self.stages,
            seconds: self.began.elapsed().as_secs_f64().max(1e-9),
            cpu: sys::process_seconds() - self.cpu,
            asking: sys::thread_seconds() - self.asking,
            cores: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}

/// Where a stage works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Thread {
    /// The one that asks for elements.
    Asking,
    /// That of the prefetch with this number in the list of stages.
    Ahead(usize),
    /// Those that all pipelines share.
    Shared,
}

/// Where each stage works. What stands before a prefetch, and behind the one before it, is run by it. Stages inside of an
/// interleave come last in the list: where they prefetch, they have threads of their own, else they run where the
/// interleave does.
pub fn threads(stages: &[Work]) -> Vec<Thread> {
    let is_inner = |i: usize| stages[i].name.ends_with("(inner)");
    let (inner, main): (Vec<usize>, Vec<usize>) = (0..stages.len()).partition(|&i| is_inner(i));
    let mut threads = vec![Thread::Asking; stages.len()];
    let mut waiting = Vec::new();
    for &i in &main {
        if stages[i].name == AHEAD {
            waiting.drain(..).for_each(|above: usize| threads[above] = Thread::Ahead(i));
        }
        waiting.push(i);
    }
    let opens = |i: usize| matches!(stages[i].name.as_str(), "interleave" | "flat_map");
    let opened = main.iter().rev().find(|&&i| opens(i)).map(|&i| threads[i]);
    let apart = inner.iter().any(|&i| stages[i].name.starts_with(AHEAD));
    for &i in &inner {
        threads[i] = opened.filter(|_| !apart).unwrap_or(Thread::Shared);
    }
    for (stage, thread) in stages.iter().zip(&mut threads) {
        if stage.ahead && !stage.name.starts_with(AHEAD) {
            *thread = Thread::Shared;
        }
    }
    threads
}

/// Seconds of work of a pass: by stage, and outside of all stages.
#[derive(Clone, Debug, PartialEq)]
pub struct Forecast {
    /// Work of each stage.
    pub work: Vec<f64>,
    /// Where each stage works.
    pub threads: Vec<Thread>,
    /// Work outside of the stages: handing elements over, and the loop that takes them.
    pub outside: f64,
    /// Threads that share work.
    pub shared: usize,
    cores: usize,
    seconds: f64,
    names: Vec<String>,
}

impl Forecast {
    /// Of what was counted.
    pub fn new(counted: &Counted) -> Self {
        let threads = threads(&counted.stages);
        let mut work: Vec<f64> = counted.stages.iter().map(|s| s.busy).collect();
        let on = |thread: Thread, work: &[f64]| -> f64 {
            work.iter().zip(&threads).filter(|(_, t)| **t == thread).map(|(w, _)| w).sum()
        };
        let outside = (counted.asking - on(Thread::Asking, &work)).max(0.0);
        let all: f64 = work.iter().sum();
        if counted.cpu > CROWDED * counted.cores as f64 * counted.seconds && all > 0.0 {
            // More threads than cores: what a thread lost to others is not work.
            let least = ((counted.cpu - outside).max(0.0) / all).min(1.0);
            work.iter_mut().for_each(|w| *w *= least);
        }
        let at_least = |seconds: f64| counted.cores.max((seconds / counted.seconds).ceil() as usize);
        // Threads that wait for files are more than there are cores.
        let shared = at_least(on(Thread::Shared, &work));
        let cores = at_least(work.iter().sum::<f64>() + outside);
        let names = counted.stages.iter().map(|s| s.name.clone()).collect();
        Self { work, threads, outside, shared, cores, seconds: counted.seconds, names }
    }

    /// Seconds of a pass whose threads never wait, perhaps without a stage. The number of stages stands for what is done
    /// outside of them.
    pub fn time(&self, without: Option<usize>) -> f64 {
        let outside = if without == Some(self.work.len()) { 0.0 } else { self.outside };
        let mut alone = BTreeMap::from([(Thread::Asking, outside)]);
        let (mut spread, mut all) = (0.0, outside);
        for (i, (&seconds, &thread)) in self.work.iter().zip(&self.threads).enumerate() {
            if without == Some(i) {
                continue;
            }
            all += seconds;
            match thread {
                Thread::Shared => spread += seconds,
                thread => *alone.entry(thread).or_insert(0.0) += seconds,
            }
        }
        alone.into_values().fold(spread / self.shared as f64, f64::max).max(all / self.cores as f64)
    }

    /// Seconds that the pass is expected to take without a stage; numbers as in [`time`](Self::time).
    pub fn without(&self, stage: usize) -> f64 {
        let whole = self.time(None);
        if whole <= 0.0 {
            return self.seconds;
        }
        self.seconds * (self.time(Some(stage)) / whole).min(1.0)
    }

    /// The number of the stage without which the pass would be shortest; of equal ones that with the most work.
    pub fn limiting(&self) -> usize {
        let work = |i: usize| self.work.get(i).copied().unwrap_or(self.outside);
        let shorter = |a: usize, b: usize| {
            let (a, b) = ((self.time(Some(a)), -work(a)), (self.time(Some(b)), -work(b)));
            a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
        };
        (0..=self.work.len()).min_by(|&a, &b| shorter(a, b)).unwrap_or(0)
    }

    /// The name of a stage; `None` for what is outside of them.
    pub fn name(&self, stage: usize) -> Option<&str> {
        self.names.get(stage).map(String::as_str)
    }

    /// Names the stage that the others waited for, and how long the pass would take without it.
    pub fn bottleneck(&self) -> String {
        let (i, seconds) = (self.limiting(), self.seconds);
        let rest = format!("without it a pass would take about {:.3} s, not {seconds:.3} s", self.without(i));
        let Some(name) = self.name(i) else {
            return format!(
                "bottleneck: outside of the stages, in handing elements over and in the loop that takes them \
                 ({:.3} s); {rest}",
                self.outside
            );
        };
        let (mut busy, mut of) = (self.work[i], format!("{:.3} s of work", self.work[i]));
        if self.threads[i] == Thread::Shared {
            if self.shared > 1 {
                of += &format!(" shared by {} threads", self.shared);
            }
            busy /= self.shared as f64;
        }
        let share = 100.0 * (busy / seconds).min(1.0);
        format!("bottleneck: {name}, at work {share:.0} % of the pass ({of}); {rest}")
    }
}

#[cfg(test)]
mod tests;
