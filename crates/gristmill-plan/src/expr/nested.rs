//! A function that an op or a plan template carries, run an element at a time.

use super::program::placed;
use super::{Graph, Node, OpNode, Ref};
use crate::op::{Arg, Draw, Kernel, OpCx, Scratch, run_one};
use gristmill_types::{Error, Result, Value};
use std::sync::{Arc, OnceLock};

/// What is ready of a node before an element is there.
enum Ready {
    Input(usize),
    Capture(usize),
    Const(Vec<Value>),
    Kernel(Box<dyn Kernel>),
    /// The kernel cannot be prepared without the values that it will run on.
    Later,
}

/// A graph prepared once, when its first element comes: a branch that is never taken costs nothing.
pub struct Nested {
    graph: Arc<Graph>,
    known: Vec<Option<Value>>,
    ready: OnceLock<Vec<Ready>>,
}

impl Nested {
    /// A function, and the values of its captured tensors as far as they are the same for every element.
    pub fn new(graph: Arc<Graph>, known: Vec<Option<Value>>) -> Self {
        Self { graph, known, ready: OnceLock::new() }
    }

    fn prepare(&self) -> Vec<Ready> {
        let mut scratch = Scratch::default();
        let mut ready: Vec<Ready> = Vec::with_capacity(self.graph.nodes.len());
        for node in &self.graph.nodes {
            let made = match node {
                Node::Input(i) => Ready::Input(*i),
                Node::Capture(i) => match self.known.get(*i) {
                    Some(Some(v)) => Ready::Const(vec![v.clone()]),
                    _ => Ready::Capture(*i),
                },
                Node::Const(v) => Ready::Const(vec![v.clone()]),
                Node::Op(op) => self.prepare_op(op, &ready, &mut scratch),
            };
            ready.push(made);
        }
        ready
    }

    fn prepare_op(&self, op: &OpNode, ready: &[Ready], scratch: &mut Scratch) -> Ready {
        let known = |r: &Ref| match &ready[r.node] {
            Ready::Const(v) => Some(v[r.output].clone()),
            _ => None,
        };
        let args: Vec<Arg> =
            op.inputs.iter().map(|r| Arg { value: known(r), spec: self.graph.spec(*r) }).collect();
        let Ok(kernel) = (op.def.kernel)(&args, &op.attrs) else { return Ready::Later };
        let values: Option<Vec<Value>> = args.into_iter().map(|a| a.value).collect();
        if let Some(values) = values.filter(|_| op.is_pure()) {
            let mut cx = OpCx { scratch, draw: Draw::Eager { entropy: 0 }, op_id: 0 };
            // A constant part that fails does so when an element asks for it.
            if let Ok(values) = run_one(&*kernel, &mut cx, &values, op.specs.len()) {
                return Ready::Const(values);
            }
        }
        Ready::Kernel(kernel)
    }

    /// Runs one element.
    ///
    /// # Errors
    /// The failing op's, with its place.
    pub fn eval(&self, cx: &mut OpCx<'_>, inputs: &[Value], captures: &[Value]) -> Result<Vec<Value>> {
        let ready = self.ready.get_or_init(|| self.prepare());
        let mut made: Vec<Vec<Value>> = Vec::with_capacity(ready.len());
        let get = |made: &[Vec<Value>], r: &Ref| -> Result<Value> {
            match &ready[r.node] {
                Ready::Input(i) => inputs.get(*i).ok_or_else(|| Error::internal("a component has no value")),
                Ready::Capture(i) => {
                    captures.get(*i).ok_or_else(|| Error::internal("a captured tensor has no value"))
                }
                Ready::Const(v) => Ok(&v[r.output]),
                Ready::Kernel(_) | Ready::Later => Ok(&made[r.node][r.output]),
            }
            .cloned()
        };
        for (node, ready) in self.graph.nodes.iter().zip(ready) {
            let values = match (node, ready) {
                (Node::Op(op), Ready::Kernel(_) | Ready::Later) => {
                    let given: Vec<Value> = op.inputs.iter().map(|r| get(&made, r)).collect::<Result<_>>()?;
                    run(op, ready, &given, cx).map_err(|e| placed(e, op))?
                }
                _ => Vec::new(),
            };
            made.push(values);
        }
        self.graph.outputs.iter().map(|r| get(&made, r)).collect()
    }
}

fn run(op: &OpNode, ready: &Ready, given: &[Value], cx: &mut OpCx<'_>) -> Result<Vec<Value>> {
    let now;
    let kernel = if let Ready::Kernel(kernel) = ready {
        kernel
    } else {
        let args: Vec<Arg> = given.iter().map(Arg::from).collect();
        now = (op.def.kernel)(&args, &op.attrs)?;
        &now
    };
    let mut cx = OpCx { scratch: &mut *cx.scratch, draw: cx.draw, op_id: op.op_id };
    run_one(&**kernel, &mut cx, given, op.specs.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attrs::Attrs;
    use crate::expr::GraphBuilder;
    use crate::op::{ArgDef, Class, OpDef, Outs};
    use gristmill_types::{DType, Spec, Tensor};
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    static PREPARED: AtomicUsize = AtomicUsize::new(0);
    static RAN: AtomicUsize = AtomicUsize::new(0);

    /// Adds one; its kernel counts.
    static NEXT: OpDef = OpDef {
        name: "next",
        doc: "",
        inputs: &[ArgDef { name: "x", doc: "" }],
        attrs: &[],
        class: Class::Pure,
        total: true,
        elementwise: false,
        infer: |args, _| Ok(vec![args[0].spec.clone()]),
        kernel: |_, _| {
            PREPARED.fetch_add(1, Relaxed);
            Ok(Box::new(|_: &mut OpCx<'_>, inputs: &[Value], out: &mut Outs<'_>| {
                RAN.fetch_add(1, Relaxed);
                out.put(0, Tensor::scalar(inputs[0].tensor()?.item::<i64>()? + 1));
                Ok(())
            }))
        },
    };

    #[test]
    fn kernels_are_prepared_once_and_constant_parts_computed_once() {
        let mut b = GraphBuilder::new(vec![Spec::scalar(DType::I64)]);
        let (x, c) = (b.input(0), b.constant(Tensor::scalar(10i64)));
        let mut next = |r| b.call(&NEXT, &[r], Attrs::default(), None).unwrap()[0];
        let outputs = vec![next(x), next(c)];
        let nested = Nested::new(Arc::new(b.finish(outputs)), Vec::new());
        assert_eq!(PREPARED.load(Relaxed), 0);
        for i in 0..5i64 {
            let mut scratch = Scratch::default();
            let mut cx = OpCx { scratch: &mut scratch, draw: Draw::Eager { entropy: 0 }, op_id: 0 };
            let got = nested.eval(&mut cx, &[Tensor::scalar(i).into()], &[]).unwrap();
            assert_eq!(got, vec![Tensor::scalar(i + 1).into(), Tensor::scalar(11i64).into()]);
        }
        assert_eq!((PREPARED.load(Relaxed), RAN.load(Relaxed)), (2, 6));
    }
}
