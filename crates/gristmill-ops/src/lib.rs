//! The ops of gristmill: one descriptor and kernel per file, one list per family.
//!
//! Adding an op: a file in its family's folder with a `pub(crate) static OP: OpDef`, one line in
//! the family's list, a Python function, a golden row.

mod array;
mod control;
mod image;
mod io;
mod math;
mod parse;
mod random;
mod sparse;
mod strings;
#[cfg(test)]
mod testing;

use gristmill_plan::OpDef;

/// Every op, family by family.
pub fn all() -> Vec<&'static OpDef> {
    [
        array::OPS,
        control::OPS,
        image::OPS,
        io::OPS,
        math::OPS,
        parse::OPS,
        random::OPS,
        sparse::OPS,
        strings::OPS,
    ]
    .concat()
}

/// Makes every op known to the registry.
pub fn register() {
    gristmill_plan::registry::register(&all());
}
