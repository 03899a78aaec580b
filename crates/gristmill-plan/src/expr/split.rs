//! Taking a function apart: some of its ops as a function of their own, and what passes between the parts.

use super::{Graph, Node, OpNode, Ref};
use gristmill_types::Spec;
use std::collections::HashMap;

/// A value that passes between parts.
type Passed = (Ref, Spec);

impl Graph {
    /// The components of the element, in their order.
    pub(crate) fn leaves(&self) -> Vec<Passed> {
        let place = |k: usize| self.nodes.iter().position(|n| matches!(n, Node::Input(i) if *i == k));
        // A component that the function never names has no node; nobody refers to it either.
        let leaf = |k: usize| Ref { node: place(k).unwrap_or(usize::MAX), output: 0 };
        self.inputs.iter().enumerate().map(|(k, spec)| (leaf(k), spec.clone())).collect()
    }

    /// What the nodes that are late, and the outputs, read of those that are not: values of ops, and components of the
    /// element.
    pub(crate) fn crossing(&self, late: impl Fn(usize) -> bool) -> Vec<Passed> {
        let behind = self.nodes.iter().enumerate().filter(|(i, _)| late(*i));
        let read = behind.flat_map(|(_, node)| match node {
            Node::Op(op) => op.inputs.as_slice(),
            _ => &[],
        });
        let passes = |r: &Ref| !late(r.node) && matches!(self.nodes[r.node], Node::Input(_) | Node::Op(_));
        let mut found: Vec<Ref> = read.chain(&self.outputs).filter(|r| passes(r)).copied().collect();
        found.sort_unstable();
        found.dedup();
        found.into_iter().map(|r| (r, self.spec(r))).collect()
    }

    /// Some of the ops as a function of the values `known`, giving those `wanted`. It has all captures.
    pub(crate) fn part(
        &self,
        holds: impl Fn(usize) -> bool,
        known: &[Passed],
        wanted: impl IntoIterator<Item = Ref>,
    ) -> Self {
        let mut out = Self {
            inputs: known.iter().map(|(_, spec)| spec.clone()).collect(),
            captures: self.captures.clone(),
            nodes: (0..known.len()).map(Node::Input).collect(),
            outputs: Vec::new(),
        };
        let mut place: HashMap<Ref, Ref> =
            known.iter().enumerate().map(|(k, (r, _))| (*r, Ref { node: k, output: 0 })).collect();
        for (i, node) in self.nodes.iter().enumerate() {
            let made = match node {
                // Constants and captures are cheap to have in each part.
                Node::Const(_) | Node::Capture(_) => node.clone(),
                Node::Op(op) if holds(i) => {
                    let inputs = op.inputs.iter().map(|r| place[r]).collect();
                    Node::Op(OpNode { inputs, ..op.clone() })
                }
                Node::Op(_) | Node::Input(_) => continue,
            };
            let outputs = match &made {
                Node::Op(op) => op.specs.len(),
                _ => 1,
            };
            for output in 0..outputs {
                place.insert(Ref { node: i, output }, Ref { node: out.nodes.len(), output });
            }
            out.nodes.push(made);
        }
        out.outputs = wanted.into_iter().map(|r| place[&r]).collect();
        out
    }

    /// Two functions that together do what this one does. The first takes the inputs from `first` on and does all pure
    /// work that needs no other, but nothing that can fail after an op that acts or draws; the second takes the inputs
    /// before `first` and then what the first gives. `None` if there is no such work.
    pub fn split(&self, first: usize) -> Option<(Self, Self)> {
        let mut late: Vec<bool> = Vec::with_capacity(self.nodes.len());
        // What follows an assertion may rely on it.
        let mut acted = false;
        for node in &self.nodes {
            late.push(match node {
                Node::Input(i) => *i < first,
                Node::Capture(_) | Node::Const(_) => false,
                Node::Op(op) => {
                    acted |= !op.is_pure();
                    acted && !op.is_total() || !op.is_pure() || op.inputs.iter().any(|r| late[r.node])
                }
            });
        }
        let passed = self.crossing(|i| late[i]);
        if !passed.iter().any(|(r, _)| matches!(self.nodes[r.node], Node::Op(_))) {
            return None;
        }
        let mut state = self.leaves();
        let element = state.split_off(first);
        let before = self.part(|i| !late[i], &element, passed.iter().map(|(r, _)| *r));
        let after = self.part(|i| late[i], &[state, passed].concat(), self.outputs.iter().copied());
        Some((before, after))
    }
}

#[cfg(test)]
mod tests {
    use crate::attrs::Attrs;
    use crate::expr::{Graph, GraphBuilder, Nested};
    use crate::op::{ArgDef, Class, Draw, OpCx, OpDef, Outs, Scratch};
    use gristmill_types::{DType, Spec, Tensor, Value};
    use std::sync::Arc;

    const ARGS: &[ArgDef] = &[ArgDef { name: "a", doc: "" }, ArgDef { name: "b", doc: "" }];

    /// Ten times the first and the second.
    static MIX: OpDef = OpDef {
        name: "mix",
        doc: "",
        inputs: ARGS,
        attrs: &[],
        class: Class::Pure,
        total: true,
        elementwise: false,
        infer: |args, _| Ok(vec![args[0].spec.clone()]),
        kernel: |_, _| {
            Ok(Box::new(|_: &mut OpCx<'_>, x: &[Value], out: &mut Outs<'_>| {
                let at = |i: usize| x[i].tensor().and_then(|t| t.item::<i64>());
                out.put(0, Tensor::scalar(at(0)? * 10 + at(1)?));
                Ok(())
            }))
        },
    };

    static NOISE: OpDef = OpDef { name: "noise", class: Class::Random, ..MIX };

    fn run(graph: Graph, inputs: &[i64]) -> Vec<i64> {
        let inputs: Vec<Value> = inputs.iter().map(|&i| Tensor::scalar(i).into()).collect();
        let mut scratch = Scratch::default();
        let mut cx = OpCx { scratch: &mut scratch, draw: Draw::Eager { entropy: 0 }, op_id: 0 };
        let made = Nested::new(Arc::new(graph), Vec::new()).eval(&mut cx, &inputs, &[]).unwrap();
        made.iter().map(|v| v.tensor().unwrap().item::<i64>().unwrap()).collect()
    }

    fn builder() -> GraphBuilder {
        GraphBuilder::new(vec![Spec::scalar(DType::I64); 3])
    }

    fn two(b: &mut GraphBuilder, op: &'static OpDef, x: usize, y: usize) -> usize {
        let (x, y) = (crate::Ref { node: x, output: 0 }, crate::Ref { node: y, output: 0 });
        b.call(op, &[x, y], Attrs::default(), None).unwrap()[0].node
    }

    fn finish(b: GraphBuilder, outputs: &[usize]) -> Graph {
        b.finish(outputs.iter().map(|&node| crate::Ref { node, output: 0 }).collect())
    }

    #[test]
    fn both_halves_together_do_the_work() {
        // One input of state, two of the element: a constant is needed on both sides, `x` as it is too.
        let mut b = builder();
        let five = b.constant(Tensor::scalar(5i64)).node;
        let early = two(&mut b, &MIX, 1, five);
        let early = two(&mut b, &MIX, early, 2);
        let late = two(&mut b, &MIX, 0, early);
        let late = two(&mut b, &MIX, late, five);
        let outputs = [late, 1, early, five];
        let whole = finish(b, &outputs);
        let (before, after) = whole.split(1).unwrap();
        assert_eq!((before.op_count(), after.op_count()), (2, 2));
        assert_eq!((before.inputs.len(), before.outputs.len(), after.inputs.len()), (2, 2, 3));
        let handed = run(before, &[3, 4]);
        assert_eq!(handed, [3, 354]);
        let expected = run(whole, &[2, 3, 4]);
        assert_eq!(expected, [(20 + 354) * 10 + 5, 3, 354, 5]);
        assert_eq!(run(after, &[2, handed[0], handed[1]]), expected);
    }

    #[test]
    fn what_may_fail_stays_behind_what_acts() {
        static CHECK: OpDef = OpDef { name: "check", class: Class::Effect, ..MIX };
        static PARSE: OpDef = OpDef { name: "parse", total: false, ..MIX };
        for (op, early) in [(&MIX, 1), (&PARSE, 0)] {
            let mut b = builder();
            two(&mut b, &CHECK, 1, 2);
            let parsed = two(&mut b, op, 1, 2);
            let late = two(&mut b, &MIX, 0, parsed);
            let before = finish(b, &[late]).split(1).map_or(0, |(before, _)| before.op_count());
            assert_eq!(before, early, "{}", op.name);
        }
    }

    #[test]
    fn what_draws_or_is_not_needed_stays_together() {
        let mut b = builder();
        let drawn = two(&mut b, &NOISE, 1, 2);
        let mixed = two(&mut b, &MIX, drawn, 1);
        let whole = finish(b, &[mixed]);
        assert!(whole.split(1).is_none());

        let mut b = builder();
        two(&mut b, &MIX, 1, 2);
        let late = two(&mut b, &MIX, 0, 1);
        assert!(finish(b, &[late]).split(1).is_none());
    }
}
