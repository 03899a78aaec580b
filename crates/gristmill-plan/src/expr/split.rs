//! Taking a function apart: what needs some of its inputs, and what can be done before they are there.

use super::{Graph, Node, Ref};

/// The halves of a function under construction.
struct Halves<'a> {
    whole: &'a Graph,
    /// Whether a node belongs to the second half.
    late: Vec<bool>,
    before: Graph,
    after: Graph,
    /// Where a node is in the first half, and in the second.
    early_at: Vec<Option<usize>>,
    late_at: Vec<Option<usize>>,
    /// What the first half gives to the second, and the second's node for it.
    handed: Vec<(Ref, usize)>,
}

impl Halves<'_> {
    fn early(&mut self, node: usize, made: Node) {
        self.early_at[node] = Some(self.before.nodes.len());
        self.before.nodes.push(made);
    }

    fn late(&mut self, node: usize, made: Node) {
        self.late_at[node] = Some(self.after.nodes.len());
        self.after.nodes.push(made);
    }

    fn in_before(&self, r: Ref) -> Ref {
        Ref { node: self.early_at[r.node].expect("nodes refer to earlier ones"), output: r.output }
    }

    /// A value in the second half, handed over if the first makes it.
    fn in_after(&mut self, r: Ref) -> Ref {
        let node = &self.whole.nodes[r.node];
        if self.late_at[r.node].is_none() && matches!(node, Node::Capture(_) | Node::Const(_)) {
            self.late(r.node, node.clone());
        }
        if let Some(node) = self.late_at[r.node] {
            return Ref { node, output: r.output };
        }
        let known = self.handed.iter().find(|(from, _)| *from == r).map(|(_, node)| *node);
        let node = known.unwrap_or_else(|| {
            let node = self.after.nodes.len();
            self.after.nodes.push(Node::Input(self.after.inputs.len()));
            self.after.inputs.push(self.whole.spec(r));
            self.before.outputs.push(self.in_before(r));
            self.handed.push((r, node));
            node
        });
        Ref { node, output: 0 }
    }
}

impl Graph {
    /// Two functions that together do what this one does. The first takes the inputs from `first` on and does all pure
    /// work that needs no other, but nothing that can fail after an op that acts or draws; the second takes the inputs before `first` and then what the first gives. Both have
    /// all captures. `None` if there is no such work.
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
        let half = |inputs: &[_]| Self {
            inputs: inputs.to_vec(),
            captures: self.captures.clone(),
            ..Self::default()
        };
        let mut halves = Halves {
            whole: self,
            late,
            before: half(&self.inputs[first..]),
            after: half(&self.inputs[..first]),
            early_at: vec![None; self.nodes.len()],
            late_at: vec![None; self.nodes.len()],
            handed: Vec::new(),
        };
        for (i, node) in self.nodes.iter().enumerate() {
            match node {
                Node::Op(op) if halves.late[i] => {
                    let mut op = op.clone();
                    op.inputs = op.inputs.iter().map(|&r| halves.in_after(r)).collect();
                    halves.late(i, Node::Op(op));
                }
                Node::Op(op) => {
                    let mut op = op.clone();
                    op.inputs = op.inputs.iter().map(|&r| halves.in_before(r)).collect();
                    halves.early(i, Node::Op(op));
                }
                Node::Input(k) if halves.late[i] => halves.late(i, Node::Input(*k)),
                Node::Input(k) => halves.early(i, Node::Input(k - first)),
                Node::Capture(_) | Node::Const(_) => halves.early(i, node.clone()),
            }
        }
        for &r in &self.outputs {
            let r = halves.in_after(r);
            halves.after.outputs.push(r);
        }
        let works = halves.handed.iter().any(|(r, _)| matches!(self.nodes[r.node], Node::Op(_)));
        works.then_some((halves.before, halves.after))
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
        assert_eq!(handed, [354, 3]);
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
