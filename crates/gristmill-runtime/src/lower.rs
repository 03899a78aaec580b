//! From a plan to stages.

use crate::env::Env;
use crate::stage::{
    BatchMapStage, BatchStage, CacheStage, ConcatenateStage, EnumerateStage, FilterStage, IgnoreErrorsStage,
    InterleaveStage, MapStage, PrefetchStage, RangeStage, RepeatStage, ShardStage, ShuffleStage, SkipStage,
    SlicesStage, Stage, TakeStage, TensorsStage, TfRecordStage, TimedStage, UnbatchStage, ZipStage,
};
use gristmill_plan::Plan;
use gristmill_plan::dataset::{Op, Zip};
use gristmill_types::{Error, Frame, Result, Structure};

/// The stages of a plan, inputs first, so that counters are listed from the sources on.
pub(crate) fn build(plan: &Plan, env: &Env) -> Result<Box<dyn Stage>> {
    stage(plan, env).map(timed).map_err(|e| {
        let name = gristmill_plan::Transformation::name(&plan.op).to_string();
        if e.context().iter().any(|f| matches!(f, Frame::Stage { .. })) {
            e
        } else {
            e.frame(Frame::Stage { name })
        }
    })
}

fn timed(stage: Box<dyn Stage>) -> Box<dyn Stage> {
    Box::new(TimedStage::new(stage))
}

fn stage(plan: &Plan, env: &Env) -> Result<Box<dyn Stage>> {
    let env = &Env { lazy: plan.inputs.iter().any(|i| i.foreign), ..env.clone() };
    let input = || -> Result<Box<dyn Stage>> {
        build(plan.inputs.first().ok_or_else(|| Error::internal("a node has no input"))?, env)
    };
    let inputs = || -> Result<Vec<Box<dyn Stage>>> {
        plan.inputs.iter().enumerate().map(|(i, p)| build(p, &env.branch(i))).collect()
    };
    Ok(match &plan.op {
        Op::Range(op) => Box::new(RangeStage::new(op, env)?),
        Op::Tensors(op) => Box::new(TensorsStage::new(op, env)?),
        Op::TensorSlices(op) => Box::new(SlicesStage::new(op, env)?),
        Op::TfRecord(op) => Box::new(TfRecordStage::new(op, env)?),
        Op::Map(op) => Box::new(MapStage::new(input()?, op, env)?),
        Op::MapBatch(op) => Box::new(BatchMapStage::new(input()?, &op.map, &op.batch, env)?),
        Op::Filter(op) => Box::new(FilterStage::new(input()?, op, env)?),
        Op::FlatMap(op) => {
            Box::new(InterleaveStage::new(&plan.inputs[0], &op.template, 1, usize::MAX, "flat_map", env)?)
        }
        Op::Interleave(op) => Box::new(InterleaveStage::new(
            &plan.inputs[0],
            &op.template,
            op.cycle,
            op.block,
            "interleave",
            env,
        )?),
        Op::Shuffle(op) => Box::new(ShuffleStage::new(input()?, op, plan, env)?),
        Op::Cache(op) => Box::new(CacheStage::new(&plan.inputs[0], &op.slot, env)?),
        Op::Repeat(op) => match op.count.as_int()? {
            0 => Box::new(TakeStage::new(input()?, 0, env)),
            n => Box::new(RepeatStage::new(&plan.inputs[0], n, env)?),
        },
        Op::Batch(op) => Box::new(BatchStage::new(input()?, op.size.as_int()?, op.drop_remainder, env)?),
        Op::Unbatch(_) => Box::new(UnbatchStage::new(input()?, env)),
        Op::Take(op) => Box::new(TakeStage::new(input()?, op.count.as_int()?, env)),
        Op::Skip(op) => Box::new(SkipStage::new(input()?, op.count.as_int()?, env)),
        Op::Shard(op) => Box::new(ShardStage::new(input()?, op.count, op.index, env)),
        Op::Prefetch(op) => Box::new(PrefetchStage::new(input()?, op.buffer, env)),
        Op::WithOptions(_) => input()?,
        Op::Zip(op) => {
            let leaves: Vec<usize> = plan.inputs.iter().map(|p| p.spec().count()).collect();
            Box::new(ZipStage::new(inputs()?, zip_order(op, plan, &leaves), env))
        }
        Op::Enumerate(op) => Box::new(EnumerateStage::new(input()?, op.start, env)),
        Op::Concatenate(_) => Box::new(ConcatenateStage::new(inputs()?, env)),
        Op::IgnoreErrors(_) => Box::new(IgnoreErrorsStage::new(input()?, env)),
    })
}

/// For each leaf of the zipped element, in flattening order, the input and leaf that it comes from.
fn zip_order(op: &Zip, plan: &Plan, leaves: &[usize]) -> Vec<(usize, usize)> {
    fn walk(s: &Structure<usize>, leaves: &[usize], out: &mut Vec<(usize, usize)>) {
        for &input in s.leaves() {
            out.extend((0..leaves[input]).map(|leaf| (input, leaf)));
        }
    }
    let mut out = Vec::with_capacity(plan.spec().count());
    walk(&op.structure, leaves, &mut out);
    out
}
