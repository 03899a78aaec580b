//! Functions outside the engine: how often they are called, in which order, and what stands around them.

use gristmill::plan::dataset::{Batch, Filter, IgnoreErrors, Map, Prefetch, Range, Shuffle};
use gristmill::plan::optimize::{apply_rule, optimize, rules};
use gristmill::plan::{Attr, Attrs, Foreign, Graph, GraphBuilder, Operand, Options, Plan, registry};
use gristmill::runtime::DatasetIterator;
use gristmill::{DType, Error, Result, Tensor, Value};
use gristmill_types::{Spec, Structure};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

/// Doubles a number, notes what it was called with, fails for one of them.
#[derive(Debug, Default)]
struct Noting {
    seen: Mutex<Vec<i64>>,
    holds: AtomicUsize,
    fails: Option<i64>,
    ends: bool,
}

impl Foreign for Noting {
    fn name(&self) -> &'static str {
        "noting"
    }
    fn identity(&self) -> &[u8] {
        if self.fails.is_some() { b"noting, failing" } else { b"noting" }
    }
    fn call(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        let x = inputs[0].tensor()?.item::<i64>()?;
        self.seen.lock().unwrap().push(x);
        if self.fails == Some(x) {
            let e = Error::invalid("it is that number");
            return Err(if self.ends { e.raising(Arc::new(x)) } else { e });
        }
        Ok(vec![Tensor::scalar(2 * x).into()])
    }
    fn hold(&self, work: &mut dyn FnMut()) -> Result<()> {
        self.holds.fetch_add(1, SeqCst);
        work();
        Ok(())
    }
    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}

impl Noting {
    fn seen(&self) -> Vec<i64> {
        std::mem::take(&mut self.seen.lock().unwrap())
    }
}

/// `x + 1`, the function, `- 3`.
fn graph(function: &Arc<Noting>, native: bool) -> Graph {
    gristmill::init();
    let mut b = GraphBuilder::new(vec![Spec::scalar(DType::I64)]);
    let mut x = b.input(0);
    let step = |b: &mut GraphBuilder, x, name: &str, n: i64| {
        let n = b.constant(Tensor::scalar(n));
        b.call(registry::lookup(name).unwrap(), &[x, n], Attrs::default(), None).unwrap()[0]
    };
    if native {
        x = step(&mut b, x, "math.add", 1);
    }
    let attrs = Attrs::default()
        .with("func", Attr::Foreign(Arc::clone(function) as Arc<dyn Foreign>))
        .with("Tout", Attr::List(vec![Attr::DType(DType::I64)]));
    x = b.call(registry::lookup("py_function").unwrap(), &[x], attrs, None).unwrap()[0];
    if native {
        x = step(&mut b, x, "math.subtract", 3);
    }
    b.finish(vec![x])
}

fn range(n: i64) -> Plan {
    let (start, stop, step) = (Operand::int(0), Operand::int(n), Operand::int(1));
    Plan::new(Range { start, stop, step, dtype: DType::I64 }, Vec::new()).unwrap()
}

fn mapped(input: &Plan, function: &Arc<Noting>, native: bool) -> Plan {
    let graph = graph(function, native);
    input.then(Map::new(&graph, Vec::new(), Structure::Leaf(0), input)).unwrap()
}

fn batched(plan: &Plan, size: i64) -> Plan {
    plan.then(Batch { size: Operand::int(size), drop_remainder: false }).unwrap()
}

fn numbers(plan: &Plan) -> Vec<Vec<i64>> {
    let it = DatasetIterator::new(plan).unwrap();
    it.map(|e| e.unwrap()[0].tensor().unwrap().as_slice::<i64>().unwrap().to_vec()).collect()
}

#[test]
fn the_lock_is_held_once_per_batch_and_calls_are_in_order() {
    let f = Arc::new(Noting::default());
    for native in [false, true] {
        let plan = batched(&mapped(&range(12), &f, native), 4);
        let shift = i64::from(native);
        let want: Vec<i64> = (0..12).map(|x| 2 * (x + shift) - 3 * shift).collect();
        assert_eq!(numbers(&plan).concat(), want);
        assert_eq!(f.seen(), (shift..12 + shift).collect::<Vec<_>>());
        assert_eq!(f.holds.swap(0, SeqCst), 3, "native ops around it: {native}");
    }
}

#[test]
fn rules_leave_it_in_its_place() {
    let f = Arc::new(Noting::default());
    let maps = mapped(&mapped(&range(9), &f, false), &f, true);
    let shuffle = Shuffle {
        buffer: Operand::int(3),
        seeds: (1, 2),
        unseeded: false,
        reshuffle: true,
        counter: Arc::default(),
    };
    let plan = batched(&maps.then(shuffle).unwrap(), 2);
    for rule in rules(&Options::default()) {
        let (after, times) = apply_rule(&plan, rule).unwrap();
        assert_eq!(times, usize::from(rule.name() == "split_foreign"), "{}", rule.name());
        assert_eq!(after.impure_ops(), plan.impure_ops());
    }
    let whole = optimize(&plan, &Options::default()).unwrap().plan.tree();
    let names: Vec<&str> = whole.lines().map(|l| l.trim().split('(').next().unwrap()).collect();
    assert_eq!(names, ["prefetch", "batch", "shuffle", "map", "map", "map", "map", "range"]);
    // A map of nothing else is not taken apart, and one without is left alone.
    let split = rules(&Options::default()).into_iter().find(|r| r.name() == "split_foreign").unwrap();
    assert_eq!(apply_rule(&mapped(&range(9), &f, false), split).unwrap().1, 0);
    assert_eq!(apply_rule(&range(9), split).unwrap().1, 0);
}

#[test]
fn nothing_is_called_ahead_or_twice() {
    let f = Arc::new(Noting { fails: Some(2), ..Noting::default() });
    let plan = mapped(&range(1000), &f, true);
    let mut it = DatasetIterator::new(&plan).unwrap();
    assert!(it.next_element().unwrap().is_ok() && it.next_element().unwrap().is_err());
    assert!(it.next_element().unwrap().is_ok());
    let state = it.state();
    drop(it);
    assert_eq!(f.seen(), [1, 2, 3]);
    let mut it = DatasetIterator::resume(&plan, &state).unwrap();
    assert_eq!(it.next_element().unwrap().unwrap()[0], Tensor::scalar(5i64).into());
    assert_eq!(f.seen(), [4]);
    let other = Arc::new(Noting::default());
    assert!(DatasetIterator::resume(&mapped(&range(1000), &other, true), &state).is_err());

    let ahead = plan.then(Prefetch { buffer: Some(3) }).unwrap();
    let mut it = DatasetIterator::new(&ahead).unwrap();
    it.next_element().unwrap().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert_eq!(f.seen(), [1, 2, 3, 4]);
}

#[test]
fn what_ends_the_program_ends_the_pass() {
    let f = Arc::new(Noting { fails: Some(5), ends: true, ..Noting::default() });
    let plan = mapped(&range(1000), &f, false);
    let keep = {
        let mut b = GraphBuilder::new(vec![Spec::scalar(DType::I64)]);
        let yes = b.constant(Tensor::bool(true));
        b.finish(vec![yes])
    };
    let filtered = plan.then(Filter::new(&keep, Vec::new(), &plan).unwrap()).unwrap();
    for plan in [&plan, &filtered, &plan.then(IgnoreErrors { log_warning: false }).unwrap()] {
        let mut it = DatasetIterator::new(&batched(plan, 3)).unwrap();
        assert!(it.next_element().unwrap().is_ok());
        let e = it.next_element().unwrap().unwrap_err();
        assert_eq!(e.raised().and_then(|r| r.downcast_ref::<i64>()), Some(&5));
        assert!(it.next_element().is_none());
        assert_eq!(f.seen(), [0, 1, 2, 3, 4, 5]);
    }
}
