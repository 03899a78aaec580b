//! Plans as text, and their fingerprint.

use crate::dataset::{Cardinality, Op, Plan, Transformation};
use crate::expr::{Graph, Node};
use crate::optimize::optimize;
use gristmill_types::hash::Fnv;
use gristmill_types::{Result, Value};
use std::fmt::Write;
use std::sync::atomic::Ordering::Relaxed;

impl Plan {
    /// The plan as an indented tree, the last transformation first: name, numbers, element spec and
    /// cardinality of each node. The plan of the datasets of `flat_map` and `interleave` stands after `each:`.
    pub fn tree(&self) -> String {
        fn walk(plan: &Plan, depth: usize, mark: &str, out: &mut String) {
            let cardinality = match plan.cardinality {
                Cardinality::Known(n) => n.to_string(),
                Cardinality::Infinite => "infinite".into(),
                Cardinality::Unknown => "unknown".into(),
            };
            let written = writeln!(
                out,
                "{:indent$}{mark}{}({}) → {} × {cardinality}",
                "",
                plan.op.name(),
                plan.op.describe(),
                plan.spec(),
                indent = 2 * depth
            );
            debug_assert!(written.is_ok(), "writing to a string cannot fail");
            if let Some(template) = plan.template() {
                walk(&template.plan, depth + 2, "each: ", out);
            }
            for input in &plan.inputs {
                walk(input, depth + 1, "", out);
            }
        }
        let mut out = String::new();
        walk(self, 0, "", &mut out);
        out
    }

    /// The plan as written, the rules that fired and the plan that runs.
    ///
    /// # Errors
    /// What a rule that breaks its promise raises.
    pub fn explain(&self) -> Result<String> {
        let optimized = optimize(self, &self.options())?;
        let mut out = format!("plan as written:\n{}", self.tree());
        let fired: Vec<String> =
            optimized.fired.iter().map(|(name, n)| format!("  {name} × {n}\n")).collect();
        out.push_str("rules that fired:\n");
        out.push_str(&fired.concat());
        out.push_str("plan that runs:\n");
        out.push_str(&optimized.plan.tree());
        Ok(out)
    }

    /// A number that differs between plans that may give different elements. Seeds drawn by the
    /// operating system do not enter: a saved state brings its own.
    pub fn fingerprint(&self) -> u64 {
        let known = self.fingerprint.load(Relaxed);
        if known != 0 {
            return known;
        }
        let mut hash = Fnv::default();
        hash_plan(self, &mut hash);
        if self.options().fast_images == Some(true) {
            hash.field(b"fast_images");
        }
        let value = hash.value().max(1);
        self.fingerprint.store(value, Relaxed);
        value
    }
}

fn hash_plan(plan: &Plan, hash: &mut Fnv) {
    hash.field(plan.op.name().as_bytes());
    match &plan.op {
        Op::Shuffle(s) => {
            hash.field(s.buffer.to_string().as_bytes());
            hash.field(&[u8::from(s.reshuffle), u8::from(s.unseeded)]);
            if !s.unseeded {
                hash.field(format!("{:?}", s.seeds).as_bytes());
            }
        }
        Op::Tensors(t) => t.components.iter().for_each(|o| hash_operand(o, hash)),
        Op::TensorSlices(t) => t.components.iter().for_each(|o| hash_operand(o, hash)),
        Op::TfRecord(t) => hash_operand(&t.files, hash),
        // How many run at a time and how much is held ready changes no element; the option that does is
        // hashed once for the whole plan.
        Op::Prefetch(_) | Op::WithOptions(_) => {}
        Op::Map(m) => {
            hash_graph(&m.graph, hash);
            m.captures.iter().for_each(|o| hash_operand(o, hash));
        }
        Op::Filter(f) => {
            hash_graph(&f.graph, hash);
            f.captures.iter().for_each(|o| hash_operand(o, hash));
        }
        other => hash.field(other.describe().as_bytes()),
    }
    if let Some(template) = plan.template() {
        hash_graph(&template.graph, hash);
        hash_plan(&template.plan, hash);
    }
    plan.inputs.iter().for_each(|p| hash_plan(p, hash));
}

fn hash_operand(o: &crate::dataset::Operand, hash: &mut Fnv) {
    match o.value() {
        Ok(v) => hash_value(v, hash),
        Err(_) => hash.field(o.to_string().as_bytes()),
    }
}

fn hash_value(v: &Value, hash: &mut Fnv) {
    hash.field(v.spec().to_string().as_bytes());
    let mut tensor = |t: &gristmill_types::Tensor| {
        hash.field(t.bytes());
        t.as_strings().iter().for_each(|s| hash.field(s));
    };
    match v {
        Value::Tensor(t) => tensor(t),
        Value::Sparse(s) => [&s.indices, &s.values, &s.dense_shape].into_iter().for_each(&mut tensor),
        Value::Ragged(r) => {
            tensor(&r.flat_values);
            r.row_splits.iter().for_each(&mut tensor);
        }
        _ => {}
    }
}

fn hash_graph(g: &Graph, hash: &mut Fnv) {
    for node in &g.nodes {
        match node {
            Node::Input(i) => hash.field(format!("in{i}").as_bytes()),
            Node::Capture(i) => hash.field(format!("cap{i}").as_bytes()),
            Node::Const(v) => hash_value(v, hash),
            Node::Op(op) => {
                hash.field(op.def.name.as_bytes());
                hash.field(format!("{:?}", op.inputs).as_bytes());
                for (name, attr) in op.attrs.iter() {
                    hash.field(name.as_bytes());
                    match attr {
                        crate::attrs::Attr::Graph(inner) => hash_graph(inner, hash),
                        crate::attrs::Attr::Value(v) => hash_value(v, hash),
                        crate::attrs::Attr::Foreign(function) => hash.field(function.identity()),
                        other => hash.field(other.to_string().as_bytes()),
                    }
                }
            }
        }
    }
    hash.field(format!("{:?}", g.outputs).as_bytes());
}
