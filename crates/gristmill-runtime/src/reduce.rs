//! Folding all elements of a pass into one state.

use crate::DatasetIterator;
use gristmill_plan::dataset::Map;
use gristmill_plan::{Foreign, Graph, Nested, OpCx, Plan, Scratch};
use gristmill_types::{Block, Error, Kind, Result, Spec, Structure, Value};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A fold under way. Work of its function that needs only the element is done as a `map` before it, on all threads; the
/// rest runs element after element.
pub struct Reduction {
    pass: DatasetIterator,
    function: Nested,
    state: Vec<Value>,
    /// What was read and how much of it is in the state.
    block: Option<(Block, usize)>,
    /// What is held while the function runs, if it leaves the engine.
    holder: Option<Arc<dyn Foreign>>,
    /// Elements in the state.
    elements: u64,
    scratch: Scratch,
}

impl Reduction {
    /// Starts a pass over `plan` with this state. `function` takes the components of the state and then those of an
    /// element and gives those of the next state.
    ///
    /// # Errors
    /// `Internal` if the function has captures; what [`DatasetIterator::new`] refuses.
    pub fn new(plan: &Plan, function: &Graph, state: Vec<Value>) -> Result<Self> {
        if !function.captures.is_empty() {
            return Err(Error::internal("the function of a fold has captured tensors"));
        }
        let holder = function.foreign().map(|(_, holder)| Arc::clone(holder));
        let function = function.numbered(plan.depth);
        let parts = function.split(state.len()).and_then(|(before, after)| {
            let leaves = (0..before.outputs.len()).map(Structure::Leaf).collect();
            let map = Map::new(&before, Vec::new(), Structure::Tuple(leaves), plan);
            // A plan that can have no further step is folded as it is.
            plan.then(map).ok().map(|run| (run, after))
        });
        let (pass, function) = match parts {
            Some((run, after)) => (DatasetIterator::running(plan, &run)?, after),
            None => (DatasetIterator::new(plan)?, function),
        };
        let function = Nested::new(Arc::new(function), Vec::new());
        Ok(Self { pass, function, state, block: None, holder, elements: 0, scratch: Scratch::default() })
    }

    /// What the state must be taken for when it starts as `state` and a step makes `next` of it: both, if they differ in
    /// what is known of shapes. Traced again with that, a step may need more of the same.
    ///
    /// # Errors
    /// `InvalidArgument` if there are more or fewer components, `Type` if kinds or dtypes differ.
    pub fn widened(state: &[Spec], next: &[Spec]) -> Result<Vec<Spec>> {
        if state.len() != next.len() {
            return Err(Error::invalid(format!(
                "The number of components of the initial state and the reduce function output does not match. \
                 (initial_state={}, output={})",
                state.len(),
                next.len()
            )));
        }
        let fit = |(i, (a, b)): (usize, (&Spec, &Spec))| {
            a.relax(b).ok_or_else(|| {
                let message = format!(
                    "The element types for the new state must match the initial state. Expected {a} but got {b} \
                     (component {i})"
                );
                Error::new(Kind::Type, message).hint("convert what the function returns, e.g. with cast")
            })
        };
        state.iter().zip(next).enumerate().map(fit).collect()
    }

    /// Goes on for at most about that long; says whether all elements are in the state.
    ///
    /// # Errors
    /// That of an element or of the function, which ends the fold.
    pub fn advance(&mut self, time: Duration) -> Result<bool> {
        let end = Instant::now() + time;
        let holder = self.holder.clone();
        loop {
            let (block, mut at) = match self.block.take() {
                Some(rest) => rest,
                None if !self.pass.ready(end.saturating_duration_since(Instant::now())) => return Ok(false),
                None => match self.pass.next_read() {
                    Some(block) => (block, 0),
                    None => return Ok(true),
                },
            };
            let mut folded = Ok(());
            let mut fold = || folded = self.fold(&block, &mut at, end);
            match &holder {
                Some(holder) => holder.hold(&mut fold)?,
                None => fold(),
            }
            folded?;
            if at < block.len {
                self.block = Some((block, at));
                return Ok(false);
            }
            if let Some(e) = block.failed {
                return Err(e);
            }
        }
    }

    /// Takes elements from `at` on, until the end of the block or of the time.
    fn fold(&mut self, block: &Block, at: &mut usize, end: Instant) -> Result<()> {
        while *at < block.len && Instant::now() < end {
            let mut inputs = std::mem::take(&mut self.state);
            inputs.extend(block.columns.iter().map(|c| c.get(*at)));
            let draw = self.pass.draw(self.elements);
            let mut cx = OpCx { scratch: &mut self.scratch, draw, op_id: 0 };
            self.state = self.function.eval(&mut cx, &inputs, &[])?;
            self.elements += 1;
            *at += 1;
        }
        Ok(())
    }

    /// The state: all of it once [`Reduction::advance`] has said so.
    pub fn into_state(self) -> Vec<Value> {
        self.state
    }

    /// Takes what the user should hear and was not yet told.
    pub fn take_warnings(&self) -> Vec<String> {
        self.pass.take_warnings()
    }
}
