//! What a `map` or `filter` runs: a program over columns, or row after row where it leaves the engine.

use super::map::Work;
use gristmill_plan::dataset::Operand;
use gristmill_plan::expr::Node;
use gristmill_plan::foreign::{self, Foreign};
use gristmill_plan::{BlockOut, Draw, Graph, Nested, OpCx, Program, Run};
use gristmill_types::batch::RowsMut;
use gristmill_types::{Column, Error, Ids, Kind, Result, Value};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

/// A function ready to run over blocks.
pub(crate) enum Code {
    /// Op after op, each over the whole block.
    Program(Program),
    /// Element after element.
    Rows(Rows),
}

impl Code {
    pub(crate) fn new(graph: &Arc<Graph>, captures: &[Operand]) -> Result<Self> {
        let captures = captures.iter().map(|c| c.value().cloned()).collect::<Result<Vec<_>>>()?;
        match graph.foreign() {
            None => Program::new(Arc::clone(graph), &captures).map(Self::Program),
            Some((_, holder)) => Ok(Self::Rows(Rows {
                nested: Nested::new(Arc::clone(graph), captures.iter().cloned().map(Some).collect()),
                graph: Arc::clone(graph),
                holder: Arc::clone(holder),
                captures,
            })),
        }
    }

    /// Whether it calls functions outside the engine.
    pub(crate) fn is_foreign(&self) -> bool {
        matches!(self, Self::Rows(_))
    }

    /// As [`Program::run`].
    pub(crate) fn run(
        &self,
        work: &Work,
        run: &mut Run<'_>,
        columns: &[Column],
        n: usize,
        ids: &Ids,
        rows: &mut [Option<RowsMut<'_>>],
    ) -> Result<BlockOut> {
        match self {
            Self::Program(program) => program.run(run, columns, n, ids, rows),
            Self::Rows(code) if rows.is_empty() => code.run(work, run, columns, n, ids),
            Self::Rows(_) => Err(Error::internal("a foreign function was to write into a batch")),
        }
    }
}

/// The counters' name of a stage: with the op that leaves the engine, if there is one.
pub(crate) fn stage_name(name: &str, graph: &Graph) -> String {
    match graph.foreign() {
        Some((op, _)) => format!("{name} ({op})"),
        None => name.to_string(),
    }
}

/// A graph with ops that call functions outside the engine. Each element goes through all ops before the next
/// one begins, so that an op that fails is no reason to call a function twice, and the lock that the functions
/// need is taken once per block.
pub(crate) struct Rows {
    nested: Nested,
    graph: Arc<Graph>,
    captures: Vec<Value>,
    holder: Arc<dyn Foreign>,
}

impl Rows {
    fn run(
        &self,
        work: &Work,
        run: &mut Run<'_>,
        columns: &[Column],
        n: usize,
        ids: &Ids,
    ) -> Result<BlockOut> {
        let mut made: Vec<Vec<Value>> = self.graph.outputs.iter().map(|_| Vec::new()).collect();
        let (mut done, mut failed) = (0, None);
        let asked = Instant::now();
        let mut element = Vec::with_capacity(columns.len());
        let held = self.holder.hold(&mut || {
            work.stats.foreign_holds.fetch_add(1, Relaxed);
            let waited = u64::try_from(asked.elapsed().as_nanos()).unwrap_or(u64::MAX);
            work.stats.foreign_wait_ns.fetch_add(waited, Relaxed);
            let before = foreign::calls();
            while done < n && failed.is_none() {
                if work.shared.is_cancelled() {
                    failed = Some(Error::new(Kind::Cancelled, "the iterator was closed"));
                    break;
                }
                element.clear();
                element.extend(columns.iter().map(|c| c.get(done)));
                let draw = Draw::Element { entropy: run.entropy, key: ids.key(done) };
                let mut cx = OpCx { scratch: &mut *run.scratch, draw, op_id: 0 };
                match self.nested.eval(&mut cx, &element, &self.captures) {
                    Ok(values) => {
                        made.iter_mut().zip(values).for_each(|(all, v)| all.push(v));
                        done += 1;
                    }
                    Err(e) => failed = Some(e),
                }
            }
            work.stats.foreign_calls.fetch_add(foreign::calls().wrapping_sub(before), Relaxed);
        });
        if let Err(e) = held {
            work.shared.end(e.clone());
            failed = Some(e);
        }
        if let Some(e) = &failed {
            work.shared.interrupted_by(e);
        }
        let columns = self.graph.outputs.iter().zip(made).map(|(r, values)| {
            Some(match &self.graph.nodes[r.node] {
                // What only passes through is not put together again.
                Node::Input(k) => columns[*k].slice(0, done),
                _ => Column::from_values(values),
            })
        });
        Ok(BlockOut { columns: columns.collect(), done, failed })
    }
}
