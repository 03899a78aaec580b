//! `image.fused`: a chain of image ops as one, which the rule `fuse_image_chain` makes.
//!
//! It carries the ops as a function. Where that function is what the fast way knows, only the rows and columns that
//! are read are decoded, and resize, mirroring, arithmetic and cast run row by row and write the result once. Where
//! anything is unusual (another file format, a batch, damage, a window outside), the function itself runs, op by op:
//! values and errors are its own. Only where that is permitted (`reduced`), a photo is decoded smaller, which changes
//! values and no error.

mod compile;
mod reduced;
mod run;
mod window;

use super::common::{MadeKernel, Specs};
use compile::Compiled;
use gristmill_plan::optimize::rules::REDUCED;
use gristmill_plan::{Arg, ArgDef, Attrs, Class, Kernel, Nested, OpCx, OpDef, Outs};
use gristmill_types::{Result, Value};

pub(crate) static OP: OpDef = OpDef {
    name: "image.fused",
    doc: "A chain of image ops as one op.\n\nMade by the optimiser; gives the values and errors of the chain, unless `reduced` permits other values.",
    inputs: &[ArgDef {
        name: "captures*",
        doc: "what the ops of the chain read besides each other's results",
    }],
    attrs: &[
        ArgDef { name: "graph", doc: "function of the captures: the chain" },
        ArgDef {
            name: REDUCED,
            doc: "whether a photo may be decoded smaller and antialiased; default False",
        },
    ],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer,
    kernel,
};

fn infer(_: &[Arg], attrs: &Attrs) -> Specs {
    Ok(attrs.graph("graph")?.output_specs())
}

struct Fused {
    fast: Option<Compiled>,
    plain: Nested,
}

impl Kernel for Fused {
    fn run(&self, cx: &mut OpCx<'_>, inputs: &[Value], out: &mut Outs<'_>) -> Result<()> {
        if let Some(chain) = &self.fast
            && run::run(chain, cx, inputs, out).is_some()
        {
            return Ok(());
        }
        for (k, v) in self.plain.eval(cx, &[], inputs)?.into_iter().enumerate() {
            out.put(k, v);
        }
        Ok(())
    }
}

fn kernel(args: &[Arg], attrs: &Attrs) -> MadeKernel {
    let graph = attrs.graph("graph")?;
    let reduced = attrs.bool_or(REDUCED, false)?;
    let fast = compile::compile(&graph).map(|chain| Compiled { reduced, ..chain });
    let known = args.iter().map(|a| a.value.clone()).collect();
    Ok(Box::new(Fused { fast, plain: Nested::new(graph, known) }))
}

#[cfg(test)]
mod tests;
