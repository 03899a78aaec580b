//! Plans made from bytes: any bytes give a plan, so that property tests may shrink them.

use gristmill_plan::dataset::{
    Batch, Cache, Concatenate, Enumerate, Filter, FlatMap, IgnoreErrors, Interleave, Map, Prefetch, Range,
    Repeat, Shard, Shuffle, Skip, Take, Template, Unbatch, Zip,
};
use gristmill_plan::{Attr, Attrs, Graph, GraphBuilder, Operand, Plan, Ref, registry};
use gristmill_types::{DType, Result, Spec, Structure, Tensor};
use std::sync::Arc;

/// Reads small numbers from bytes; zeros when they run out.
pub struct Choices<'a>(&'a [u8]);

impl<'a> Choices<'a> {
    /// Choices made by these bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// A number below `n`.
    pub fn below(&mut self, n: u8) -> i64 {
        match self.0.split_first() {
            Some((&b, rest)) => {
                self.0 = rest;
                i64::from(b % n.max(1))
            }
            None => 0,
        }
    }
}

/// A plan of int64 scalars: up to 8 transformations chosen by the bytes, among them functions that
/// fail or draw, filters, shuffles, caches, repeats and nested datasets.
///
/// # Errors
/// Faults of the plan crate: every choice is a valid plan.
pub fn plan(choices: &mut Choices<'_>) -> Result<Plan> {
    let mut plan = range(choices.below(14))?;
    for _ in 0..choices.below(9) {
        plan = grow(plan, choices)?;
    }
    Ok(plan)
}

fn range(n: i64) -> Result<Plan> {
    let (start, stop, step) = (Operand::int(0), Operand::int(n), Operand::int(1));
    Plan::new(Range { start, stop, step, dtype: DType::I64 }, Vec::new())
}

fn shuffle(choices: &mut Choices<'_>) -> Shuffle {
    let unseeded = choices.below(5) == 0;
    Shuffle {
        buffer: Operand::int(1 + choices.below(9)),
        seeds: (7, choices.below(9) as u64),
        unseeded,
        reshuffle: choices.below(4) != 0,
        counter: Arc::default(),
    }
}

fn grow(plan: Plan, choices: &mut Choices<'_>) -> Result<Plan> {
    match choices.below(19) {
        0 => add(&plan, 1 + choices.below(5)),
        1 => fail(&plan, 2 + choices.below(5)),
        2 => draw(&plan, (choices.below(2) == 0).then_some(3)),
        3 => plan.then(keep_if_not_multiple(&plan, 2 + choices.below(3))?),
        4 | 5 => plan.then(shuffle(choices)),
        6 => plan.then(Cache::default()),
        7 => plan.then(Repeat { count: Operand::int(choices.below(4)) }),
        8 => plan.then(Take { count: Operand::int(choices.below(12) - 1) }),
        9 => plan.then(Skip { count: Operand::int(choices.below(5)) }),
        10 => {
            let count = 1 + choices.below(3);
            plan.then(Shard { count, index: choices.below(3) % count })
        }
        11 => plan.then(IgnoreErrors { log_warning: false }),
        12 => plan.then(Prefetch { buffer: Some(1 + choices.below(3) as u64) }),
        13 => {
            let size = Operand::int(1 + choices.below(4));
            let batched = plan.then(Batch { size, drop_remainder: choices.below(2) == 0 })?;
            batched.then(Unbatch)
        }
        14 => {
            let other = range(choices.below(6))?;
            Plan::new(Concatenate, vec![plan, other])
        }
        15 => {
            let other = range(choices.below(20))?;
            let structure = Structure::Tuple(vec![Structure::Leaf(0), Structure::Leaf(1)]);
            let zipped = Plan::new(Zip { structure }, vec![plan, other])?;
            sum_of_two(&zipped)
        }
        16 => sum_of_two(&plan.then(Enumerate { start: choices.below(3) })?),
        17 => plan.then(FlatMap { template: template(&plan, choices)? }),
        _ => {
            let template = template(&plan, choices)?;
            let (cycle, block) = (1 + choices.below(3) as usize, 1 + choices.below(3) as usize);
            plan.then(Interleave { template, cycle, block, parallel: None })
        }
    }
}

/// Element `x` becomes the integers from `x` on, a few of them, shuffled or not.
fn template(plan: &Plan, choices: &mut Choices<'_>) -> Result<Template> {
    let n = 1 + choices.below(4);
    let mut g = GraphBuilder::new(vec![Spec::scalar(DType::I64)]);
    let x = g.input(0);
    let end = binary(&mut g, "math.add", x, n)?;
    let graph = g.finish(vec![x, end]);
    let param = |i| Operand::Param(i, Spec::scalar(DType::I64));
    let step = Operand::int(1);
    let mut inner =
        Plan::new(Range { start: param(0), stop: param(1), step, dtype: DType::I64 }, Vec::new())?;
    if choices.below(2) == 0 {
        inner = inner.then(shuffle(choices))?;
    }
    for _ in 0..choices.below(4) {
        inner = match choices.below(6) {
            0 => draw(&inner, None)?,
            1 => add(&inner, 1 + choices.below(5))?,
            2 => fail(&inner, 2 + choices.below(5))?,
            3 => inner.then(Take { count: Operand::int(choices.below(6) - 1) })?,
            4 => inner.then(Batch { size: Operand::int(2), drop_remainder: false })?.then(Unbatch)?,
            _ => inner.then(shuffle(choices))?,
        };
    }
    Ok(Template::new(&graph, Vec::new(), inner, plan))
}

fn binary(g: &mut GraphBuilder, op: &str, x: Ref, with: i64) -> Result<Ref> {
    let c = g.constant(Tensor::scalar(with));
    Ok(g.call(registry::lookup(op)?, &[x, c], Attrs::default(), None)?[0])
}

fn map(plan: &Plan, graph: &Graph) -> Result<Plan> {
    plan.then(Map::new(graph, Vec::new(), Structure::Leaf(0), plan))
}

fn scalar() -> GraphBuilder {
    GraphBuilder::new(vec![Spec::scalar(DType::I64)])
}

fn add(plan: &Plan, n: i64) -> Result<Plan> {
    let mut g = scalar();
    let x = g.input(0);
    let y = binary(&mut g, "math.add", x, n)?;
    map(plan, &g.finish(vec![y]))
}

fn fail(plan: &Plan, of: i64) -> Result<Plan> {
    let mut g = scalar();
    let attrs = Attrs::default().with("of", Attr::Int(of));
    let y = g.call(registry::lookup("test.fail_if_multiple")?, &[g.input(0)], attrs, None)?[0];
    map(plan, &g.finish(vec![y]))
}

/// Adds a random number in `0..1000`, seeded or not.
fn draw(plan: &Plan, seed: Option<i64>) -> Result<Plan> {
    let mut g = scalar();
    let shape = g.constant(Tensor::vector::<i32>(&[]));
    let (low, high) = (g.constant(Tensor::scalar(0i64)), g.constant(Tensor::scalar(1000i64)));
    let mut attrs = Attrs::default().with("dtype", Attr::DType(DType::I64));
    if let Some(s) = seed {
        attrs = attrs.with("seed", Attr::List(vec![Attr::Int(11), Attr::Int(s)]));
    }
    let r = g.call(registry::lookup("random.uniform")?, &[shape, low, high], attrs, None)?[0];
    let y = g.call(registry::lookup("math.add")?, &[g.input(0), r], Attrs::default(), None)?[0];
    map(plan, &g.finish(vec![y]))
}

fn keep_if_not_multiple(plan: &Plan, of: i64) -> Result<Filter> {
    let mut g = scalar();
    let x = g.input(0);
    let rest = binary(&mut g, "math.floormod", x, of)?;
    let zero = g.constant(Tensor::scalar(0i64));
    let y = g.call(registry::lookup("math.not_equal")?, &[rest, zero], Attrs::default(), None)?[0];
    Filter::new(&g.finish(vec![y]), Vec::new(), plan)
}

/// A pair of integers becomes their weighted sum, so that each side shows in the result.
fn sum_of_two(plan: &Plan) -> Result<Plan> {
    let mut g = GraphBuilder::new(vec![Spec::scalar(DType::I64), Spec::scalar(DType::I64)]);
    let second = g.input(1);
    let weighted = binary(&mut g, "math.multiply", second, 1001)?;
    let y = g.call(registry::lookup("math.add")?, &[g.input(0), weighted], Attrs::default(), None)?[0];
    map(plan, &g.finish(vec![y]))
}
