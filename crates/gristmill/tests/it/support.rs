//! Running plans and comparing what comes out.

use gristmill::plan::Operand;
use gristmill::plan::Plan;
use gristmill::plan::dataset::{Options, TensorSlices, WithOptions};
use gristmill::runtime::DatasetIterator;
use gristmill::types::Structure;
use gristmill::{Dataset, Value};
use gristmill_testkit::generate::{Choices, plan};

/// What an iterator gave: an integer or the message of an error.
pub(crate) type Outcome = Result<i64, String>;

/// A plan made of bytes, with ops that fail registered.
pub(crate) fn generated(bytes: &[u8]) -> Plan {
    gristmill::init();
    gristmill_testkit::fail::register();
    plan(&mut Choices::new(bytes)).expect("every choice is a valid plan")
}

/// The plan run with that many threads, rules on or off.
pub(crate) fn with(plan: &Plan, threads: u64, optimize: bool) -> Plan {
    let options = Options { threads: Some(threads), optimize: Some(optimize), ..Options::default() };
    plan.then(WithOptions { options }).expect("options fit everywhere")
}

/// The next outcome.
pub(crate) fn step(it: &mut DatasetIterator) -> Option<Outcome> {
    it.next_element().map(|r| match r {
        Ok(values) => Ok(integer(&values)),
        Err(e) => Err(e.message().to_string()),
    })
}

fn integer(values: &[Value]) -> i64 {
    values[0].tensor().and_then(|t| t.item::<i64>()).expect("generated plans give int64 scalars")
}

/// At most `limit` outcomes.
pub(crate) fn outcomes(it: &mut DatasetIterator, limit: usize) -> Vec<Outcome> {
    std::iter::from_fn(|| step(it)).take(limit).collect()
}

/// The rows of a dataset of int64 vectors.
pub(crate) fn rows(ds: &Dataset) -> Vec<Vec<i64>> {
    ds.iter().unwrap().map(|r| r.unwrap()[0].tensor().unwrap().to_i64s().unwrap()).collect()
}

/// The numbers below `n`, in blocks of so many.
pub(crate) fn short_blocks(n: i64, size: i64) -> Dataset {
    let rows = |batch: &[Operand]| {
        let components = batch.to_vec();
        Plan::new(TensorSlices { structure: Structure::Leaf(0), components, paths: false }, Vec::new())
    };
    let batches = Dataset::range(0, n, 1).unwrap().batch(size, false).unwrap();
    batches.flat_map(|batch| rows(batch).map(Dataset::from_plan)).unwrap()
}
