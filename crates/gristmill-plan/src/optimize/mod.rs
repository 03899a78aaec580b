//! The optimiser: named rules in a fixed order, each checked after each application.

mod order;
pub mod rules;

pub use order::{Order, order};

use crate::dataset::{MOST_DEEP, Op, Options, Plan, Template};
use gristmill_types::{Error, Result};

/// A rewrite of one node. The driver offers every node, inputs first, those of templates too, until nothing changes.
pub trait Rule: Sync {
    /// Its name, as `explain` shows it (`fuse_maps`).
    fn name(&self) -> &'static str;

    /// The node rewritten, or `None` where the rule does not apply.
    ///
    /// # Errors
    /// What building the new node refuses.
    fn apply(&self, plan: &Plan) -> Result<Option<Plan>>;

    /// By how many nodes one application may make the longest way to a source longer.
    fn grows(&self) -> u64 {
        0
    }
}

/// A plan after the optimiser, and what it did.
#[derive(Clone, Debug)]
pub struct Optimized {
    /// The rewritten plan.
    pub plan: Plan,
    /// The rules that fired, in order, with how often each did.
    pub fired: Vec<(&'static str, usize)>,
}

/// The rules in the order in which they run under these options, with the reason for each place.
pub fn rules(options: &Options) -> Vec<&'static dyn Rule> {
    let mut all: Vec<&'static dyn Rule> = vec![
        // First, so that the others see chains without gaps.
        &rules::DropNoOps,
        // Before maps are fused into batches, which would hide them from it.
        &rules::PushDownOrder,
        // Before maps are fused: what it leaves beside the functions outside the engine can be.
        &rules::SplitForeign,
        // After the order was pushed below them, maps stand next to each other.
        &rules::FuseMaps,
        // Within one map, so after maps became one.
        &rules::FuseImageChain,
    ];
    if options.fast_images == Some(true) {
        // It marks chains, so after they were made. The only rule that changes values.
        all.push(&rules::ScaleImageDecode);
    }
    // Last of the rewrites: it takes what the others left of a map.
    all.push(&rules::FuseMapIntoBatch);
    all
}

/// Applies all rules and adds the final prefetch.
///
/// # Errors
/// `Internal` naming the rule that broke a promise, with both plans.
pub fn optimize(plan: &Plan, options: &Options) -> Result<Optimized> {
    let mut out = Optimized { plan: plan.clone(), fired: Vec::new() };
    if options.optimize != Some(false) {
        for rule in rules(options) {
            let (next, times) = apply_rule(&out.plan, rule)?;
            if times > 0 {
                out.plan = next;
                out.fired.push((rule.name(), times));
            }
        }
    }
    if !matches!(out.plan.op, Op::Prefetch(_)) {
        // A function outside the engine runs for no element that nobody asked for; the thread is there all the
        // same, so that whoever waits for it can be interrupted.
        let buffer = out.plan.foreign.then_some(0);
        out.plan = out.plan.then(crate::dataset::Prefetch { buffer })?;
        out.fired.push(("add_prefetch", 1));
    }
    Ok(out)
}

/// Applies one rule wherever it fits and checks that it kept its promises.
///
/// # Errors
/// `Internal` if spec, cardinality, order or the random ops changed.
pub fn apply_rule(plan: &Plan, rule: &dyn Rule) -> Result<(Plan, usize)> {
    let mut current = plan.clone();
    let mut times = 0;
    // Every rule makes a plan smaller or moves something towards the sources, so this ends; the
    // bound catches one that does neither.
    while let Some(next) = rewrite(&current, rule)? {
        check(rule, &current, &next)?;
        current = next;
        times += 1;
        if times > 10_000 {
            return Err(Error::internal(format!("rule {} does not come to an end", rule.name())));
        }
    }
    Ok((current, times))
}

/// The plan with the first node that the rule changes rewritten; what changed in a template was checked.
fn rewrite(plan: &Plan, rule: &dyn Rule) -> Result<Option<Plan>> {
    // A plan may be as deep as plans can be as the user wrote it, and the final prefetch needs one more.
    if rule.grows() > 0 && plan.depth + rule.grows() >= MOST_DEEP {
        return Ok(None);
    }
    rewrite_fitting(plan, rule)
}

fn rewrite_fitting(plan: &Plan, rule: &dyn Rule) -> Result<Option<Plan>> {
    for (i, input) in plan.inputs.iter().enumerate() {
        if let Some(changed) = rewrite_fitting(input, rule)? {
            let mut inputs = plan.inputs.clone();
            inputs[i] = changed;
            return plan.with_inputs(inputs).map(Some);
        }
    }
    if let Some(template) = plan.template()
        && let Some(changed) = rewrite(&template.plan, rule)?
    {
        check(rule, &template.plan, &changed)?;
        return plan.with_template(Template { plan: changed, ..template.clone() }).map(Some);
    }
    rule.apply(plan)
}

fn check(rule: &dyn Rule, before: &Plan, after: &Plan) -> Result<()> {
    let broken = if before.spec() != after.spec() {
        "element_spec"
    } else if before.cardinality != after.cardinality {
        "cardinality"
    } else if order(before) != order(after) {
        "order of elements"
    } else if before.impure_ops() != after.impure_ops() {
        "random or effectful ops"
    } else {
        return Ok(());
    };
    Err(Error::internal(format!(
        "rule {} changed the {broken} of a plan\nbefore:\n{}after:\n{}",
        rule.name(),
        before.tree(),
        after.tree()
    )))
}
