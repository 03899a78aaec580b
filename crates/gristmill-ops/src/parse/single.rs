//! `io.parse_single_example`: the features of one serialized Example.

use super::features::{FEATURES, SERIALIZED, check_serialized, order, record, specs};
use crate::image::common::{MadeKernel, Specs};
use gristmill_example::Parser;
use gristmill_plan::{Arg, Attrs, BlockKernel, Class, Kernel, OpCx, OpDef, Outs};
use gristmill_types::{Result, Spec, Value};

pub(crate) static OP: OpDef = OpDef {
    name: "io.parse_single_example",
    doc: "Parses a serialized Example.\n\nOne output per feature: sparse, then ragged, then dense ones, each sorted by name. Fails \
          for features that are absent, of another dtype or of another number of values than declared.",
    inputs: &[SERIALIZED],
    attrs: &[FEATURES],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer,
    kernel,
};

/// A prepared parser, its results in the op's order.
pub(super) struct ParseSingle {
    pub(super) parser: Parser,
    /// Position among the parser's results, by output.
    pub(super) order: Vec<usize>,
    /// Specs of the parser's results.
    pub(super) specs: Vec<Spec>,
}

impl ParseSingle {
    fn new(attrs: &Attrs) -> Result<Self> {
        let features = specs(attrs, "features")?;
        let parser = Parser::new(&features)?;
        Ok(Self { order: order(&features, parser.names()), specs: parser.specs(), parser })
    }
}

fn infer(args: &[Arg], attrs: &Attrs) -> Specs {
    check_serialized(&args[0], 0)?;
    let parse = ParseSingle::new(attrs)?;
    Ok(parse.order.iter().map(|&i| parse.specs[i].clone()).collect())
}

fn kernel(_: &[Arg], attrs: &Attrs) -> MadeKernel {
    Ok(Box::new(ParseSingle::new(attrs)?))
}

impl Kernel for ParseSingle {
    fn run(&self, _: &mut OpCx<'_>, inputs: &[Value], out: &mut Outs<'_>) -> Result<()> {
        let values = self.parser.parse_single(record(&inputs[0])?)?;
        for (k, &i) in self.order.iter().enumerate() {
            out.put(k, values[i].clone());
        }
        Ok(())
    }

    fn block(&self) -> Option<&dyn BlockKernel> {
        Some(self)
    }
}
