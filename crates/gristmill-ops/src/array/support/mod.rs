//! What the dense ops share: shapes, broadcasting and copying.

pub(crate) mod flat;
pub(crate) mod shapes;
pub(crate) mod walk;
pub(crate) mod writer;

use gristmill_plan::{Kernel, OpCx, Outs};
use gristmill_types::{Result, Value};

/// A kernel that needs nothing but its inputs.
pub(crate) fn kernel_of(
    f: impl Fn(&[Value], &mut Outs<'_>) -> Result<()> + Send + Sync + 'static,
) -> Result<Box<dyn Kernel>> {
    Ok(Box::new(move |_: &mut OpCx<'_>, inputs: &[Value], out: &mut Outs<'_>| f(inputs, out)))
}
