//! What the stages of one iterator share.

use crate::interrupt::Interrupt;
use crate::io::Reads;
use crate::pool::{Pool, lock};
use crate::state::{StateReader, StateWriter};
use crate::stats::StageStats;
use crate::sys;
use gristmill_plan::dataset::{Op, Options, Plan, Shuffle, ShuffleCounter};
use gristmill_types::{Error, Key, Result, rng};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// One occurrence of a shuffle in a plan and the epochs that it takes.
#[derive(Clone, Debug)]
pub struct Occurrence {
    /// Its place in the plan.
    pub id: u64,
    /// The counter of the shuffle.
    pub counter: Arc<ShuffleCounter>,
    /// First epoch of this iterator's occurrences of the shuffle.
    pub base: u64,
    /// Occurrences of the shuffle in the plan.
    pub of: u64,
    /// Which of them this is.
    pub nth: u64,
}

/// The seeds drawn for the shuffles that were given none: of the whole plan, templates included, so
/// that instances of a template made after a resume use them too.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seeds(Arc<Vec<(usize, (u64, u64))>>);

impl Seeds {
    /// Those that the shuffles of a plan drew when they were made, in the order of the plan.
    pub fn of(plan: &Plan) -> Self {
        fn walk(plan: &Plan, out: &mut Vec<(usize, (u64, u64))>) {
            plan.inputs.iter().for_each(|input| walk(input, out));
            if let Op::Shuffle(s) = &plan.op
                && s.unseeded
            {
                out.push((Seeds::name(s), s.seeds));
            }
            if let Some(template) = plan.template() {
                walk(&template.plan, out);
            }
        }
        let mut out = Vec::new();
        walk(plan, &mut out);
        Self(Arc::new(out))
    }

    /// What one shuffle goes by: its counter is its own, and rules keep it.
    fn name(shuffle: &Shuffle) -> usize {
        Arc::as_ptr(&shuffle.counter) as usize
    }

    /// The seeds of a shuffle: its own, or those drawn.
    pub fn get(&self, shuffle: &Shuffle) -> (u64, u64) {
        let name = Self::name(shuffle);
        self.0.iter().find(|(n, _)| *n == name).map_or(shuffle.seeds, |(_, seeds)| *seeds)
    }

    /// Writes them to a state.
    pub fn save(&self, to: &mut StateWriter) {
        to.u64(self.0.len() as u64);
        for (_, (a, b)) in self.0.iter() {
            to.u64(*a);
            to.u64(*b);
        }
    }

    /// The same shuffles with the seeds of a state.
    ///
    /// # Errors
    /// `InvalidArgument` if the state is damaged.
    pub fn restored(&self, from: &mut StateReader<'_>) -> Result<Self> {
        let n = from.count(from.remaining())?;
        if n != self.0.len() {
            return Err(Error::invalid(format!(
                "the iterator state is damaged: it has seeds of {n} shuffles, the pipeline has {}",
                self.0.len()
            )));
        }
        let seeds = self.0.iter().map(|(name, _)| Ok((*name, (from.u64()?, from.u64()?))));
        Ok(Self(Arc::new(seeds.collect::<Result<_>>()?)))
    }
}

/// Which epoch each shuffle takes next.
#[derive(Debug, Default)]
pub struct Draws {
    occurrences: Vec<Occurrence>,
    rounds: Mutex<HashMap<u64, u64>>,
    seeds: Seeds,
}

impl Draws {
    /// Takes epochs for every shuffle of a plan, at once.
    pub fn take(plan: &Plan) -> Self {
        let mut occurrences = find(plan);
        let mut bases: HashMap<*const ShuffleCounter, u64> = HashMap::new();
        for o in &mut occurrences {
            o.base = *bases.entry(Arc::as_ptr(&o.counter)).or_insert_with(|| o.counter.take(o.of));
        }
        Self { occurrences, seeds: Seeds::of(plan), ..Self::default() }
    }

    /// The draws that a state recorded.
    pub fn restored(plan: &Plan, bases: &[u64], seeds: Seeds) -> Self {
        let mut occurrences = find(plan);
        for (o, &base) in occurrences.iter_mut().zip(bases) {
            o.base = base;
            o.counter.set(base + o.of);
        }
        Self { occurrences, seeds, ..Self::default() }
    }

    /// The draws of an instance of a template.
    #[must_use]
    pub fn instance(&self) -> Self {
        Self { seeds: self.seeds.clone(), ..Self::default() }
    }

    /// For a second reading of the same input: what it starts counts for it alone.
    #[must_use]
    pub fn apart(&self) -> Self {
        let rounds = Mutex::new(lock(&self.rounds).clone());
        Self { occurrences: self.occurrences.clone(), rounds, seeds: self.seeds.clone() }
    }

    /// The same occurrences at other first epochs, without taking any, and other seeds.
    #[must_use]
    pub fn with(&self, bases: &[u64], seeds: Seeds) -> Self {
        let mut occurrences = self.occurrences.clone();
        for (o, &base) in occurrences.iter_mut().zip(bases) {
            o.base = base;
        }
        Self { occurrences, seeds, ..Self::default() }
    }

    /// The first epochs, one per occurrence, for a state.
    pub fn bases(&self) -> Vec<u64> {
        self.occurrences.iter().map(|o| o.base).collect()
    }

    /// How often the occurrence was started before; counts this start.
    pub fn start(&self, id: u64) -> u64 {
        let mut rounds = lock(&self.rounds);
        let round = rounds.entry(id).or_insert(0);
        *round += 1;
        *round - 1
    }

    /// Sets how often the occurrence was started.
    pub fn set_started(&self, id: u64, times: u64) {
        lock(&self.rounds).insert(id, times);
    }

    /// How often the occurrence was started.
    pub fn started(&self, id: u64) -> u64 {
        lock(&self.rounds).get(&id).copied().unwrap_or(0)
    }

    /// The epoch of that start of an occurrence.
    pub fn epoch(&self, id: u64, round: u64) -> u64 {
        let occurrence = self.occurrences.iter().find(|o| o.id == id);
        occurrence.map_or(round, |o| o.base + round * o.of + o.nth)
    }

    /// Makes sure that later iterators do not draw that epoch again.
    pub fn commit(&self, id: u64, round: u64) {
        if let Some(o) = self.occurrences.iter().find(|o| o.id == id) {
            o.counter.raise(o.base + (round + 1) * o.of);
        }
    }

    /// The seeds of the shuffles that have none of their own.
    pub fn seeds(&self) -> &Seeds {
        &self.seeds
    }
}

/// The place of input `i` of a node with several inputs.
pub fn branch(path: u64, i: usize) -> u64 {
    let m = rng::philox_block([path as u32, (path >> 32) as u32], [i as u32, 0, 1, 0]);
    u64::from(m[0]) | u64::from(m[1]) << 32
}

/// The place of a shuffle: its branch, and how many shuffles lie below it in that branch. Rules
/// change neither.
pub fn place(plan: &Plan, path: u64) -> u64 {
    let (mut below, mut at) = (0, plan);
    while let [input] = at.inputs.as_slice() {
        below += usize::from(matches!(input.op, Op::Shuffle(_)));
        at = input;
    }
    branch(path, below + 1_000)
}

fn find(plan: &Plan) -> Vec<Occurrence> {
    fn walk(plan: &Plan, path: u64, out: &mut Vec<Occurrence>) {
        let many = plan.inputs.len() > 1;
        for (i, input) in plan.inputs.iter().enumerate() {
            walk(input, if many { branch(path, i) } else { path }, out);
        }
        if let Op::Shuffle(s) = &plan.op {
            out.push(Occurrence {
                id: place(plan, path),
                counter: Arc::clone(&s.counter),
                base: 0,
                of: 0,
                nth: 0,
            });
        }
    }
    let mut out = Vec::new();
    walk(plan, 0, &mut out);
    let mut seen: HashMap<*const ShuffleCounter, u64> = HashMap::new();
    for o in &mut out {
        let n = seen.entry(Arc::as_ptr(&o.counter)).or_insert(0);
        o.nth = *n;
        *n += 1;
    }
    for o in &mut out {
        o.of = seen[&Arc::as_ptr(&o.counter)];
    }
    out
}

/// Number and identity of the shuffle occurrences below a node, as [`place`] names them.
pub fn places_below(plan: &Plan, path: u64) -> Vec<u64> {
    fn walk(plan: &Plan, path: u64, out: &mut Vec<u64>) {
        let many = plan.inputs.len() > 1;
        for (i, input) in plan.inputs.iter().enumerate() {
            walk(input, if many { branch(path, i) } else { path }, out);
        }
        if matches!(plan.op, Op::Shuffle(_)) {
            out.push(place(plan, path));
        }
    }
    let mut out = Vec::new();
    walk(plan, path, &mut out);
    out
}

/// What all stages of one iterator share.
pub struct Shared {
    /// Set when the iterator is dropped: everything stops.
    pub cancelled: Arc<AtomicBool>,
    /// The workers.
    pub pool: Pool,
    /// Seed of random ops without one of their own.
    pub entropy: u64,
    /// Number of this pass over the dataset.
    pub iteration: u64,
    /// How to run.
    pub options: Options,
    /// Whether nothing is made ahead of the reader.
    pub direct: bool,
    /// What the files that are being read ahead share.
    pub reads: Arc<Reads>,
    /// Whether element keys are needed.
    pub track: bool,
    /// Counters, sources first.
    pub stats: Mutex<Vec<Arc<StageStats>>>,
    /// What the user should hear.
    pub warnings: Mutex<Vec<String>>,
    /// The end of the pass from within.
    pub interrupt: Arc<Interrupt>,
}

impl Shared {
    /// For the continuation of an earlier pass's work under another iterator: that pass's numbers,
    /// this iterator's threads and life.
    #[must_use]
    pub fn like(&self, iteration: u64, entropy: u64) -> Self {
        Self {
            cancelled: Arc::clone(&self.cancelled),
            pool: self.pool.clone(),
            entropy,
            iteration,
            options: self.options.clone(),
            direct: self.direct,
            reads: Arc::clone(&self.reads),
            track: self.track,
            stats: Mutex::new(Vec::new()),
            warnings: Mutex::new(Vec::new()),
            interrupt: Arc::clone(&self.interrupt),
        }
    }

    /// Ends the pass if the error stands for what was raised to end the program.
    pub fn interrupted_by(&self, e: &Error) {
        if e.raised().is_some() {
            self.end(e.clone());
        }
    }

    /// Ends the pass: the reader gets this error next, whatever was made before it.
    pub fn end(&self, e: Error) {
        self.interrupt.set(e);
        self.cancelled.store(true, Relaxed);
    }

    /// Notes something that the user should hear once.
    pub fn warn(&self, text: String) {
        let mut all = lock(&self.warnings);
        if all.len() < 100 && !all.contains(&text) {
            all.push(text);
        }
    }

    /// Whether the iterator was dropped.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Relaxed)
    }
}

/// Where in the plan a stage is being built.
#[derive(Clone)]
pub struct Env {
    /// What all stages share.
    pub shared: Arc<Shared>,
    /// Epochs of the shuffles here: the iterator's, or those of one instance of a template.
    pub draws: Arc<Draws>,
    /// What the keys of the sources here derive from.
    pub root: Key,
    /// The branch of the plan.
    pub path: u64,
    /// Whether stages register counters of their own (not in instances of templates).
    pub counted: bool,
    /// Whether what the stage reads from calls functions outside the engine: it asks for no more than is wanted
    /// of it, then.
    pub lazy: bool,
    /// In later passes of a `repeat`: the next of the first pass's counters to use again.
    pub reuse: Option<Arc<AtomicUsize>>,
}

impl Env {
    /// The root of the source in this branch.
    pub fn source_root(&self) -> Key {
        self.root.child(self.path)
    }

    /// The environment of input `i` of a node with several inputs.
    #[must_use]
    pub fn branch(&self, i: usize) -> Self {
        Self { path: branch(self.path, i), ..self.clone() }
    }

    /// The environment of an instance of a template for the element with that key.
    #[must_use]
    pub fn instance(&self, element: Key) -> Self {
        Self {
            root: element.child(7),
            path: 0,
            draws: Arc::new(self.draws.instance()),
            counted: false,
            reuse: None,
            ..self.clone()
        }
    }

    /// The environment of pass `n` of a `repeat`.
    #[must_use]
    pub fn epoch(&self, n: u64) -> Self {
        Self { root: self.root.epoch(n), ..self.clone() }
    }

    /// The counters of a stage that is being built.
    pub fn stats(&self, name: &str) -> Arc<StageStats> {
        let mut all = lock(&self.shared.stats);
        if let Some(next) = &self.reuse
            && let Some(known) = all.get(next.fetch_add(1, Relaxed)).filter(|s| s.name == name)
        {
            return Arc::clone(known);
        }
        if !self.counted {
            let inner = format!("{name} (inner)");
            if let Some(known) = all.iter().find(|s| s.name == inner) {
                return Arc::clone(known);
            }
            let made = Arc::new(StageStats::new(&inner));
            all.push(Arc::clone(&made));
            return made;
        }
        let made = Arc::new(StageStats::new(name));
        all.push(Arc::clone(&made));
        made
    }
}

impl Env {
    /// Bytes that may be made ahead of the reader: the option, or a quarter of the memory that the
    /// process may use.
    pub fn budget(&self) -> u64 {
        self.shared.options.ram_budget.unwrap_or_else(|| sys::memory_limit() / 4)
    }
}
