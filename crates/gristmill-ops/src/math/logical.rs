//! The operators of truth values.

use super::broadcast::zip;
use crate::array::support::flat::{OnFlat, elementwise_spec};
use crate::array::support::shapes;
use gristmill_plan::{Arg, ArgDef, Attrs, Class, Kernel, OpCx, OpDef, Outs};
use gristmill_types::{DType, Error, Result, Spec, Value};

const TWO: &[ArgDef] =
    &[ArgDef { name: "x", doc: "bool" }, ArgDef { name: "y", doc: "bool of a shape that broadcasts with x" }];
const ONE: &[ArgDef] = &[ArgDef { name: "x", doc: "bool" }];

macro_rules! logical {
    ($($id:ident $name:literal $doc:literal $f:expr;)*) => { $(
        pub(crate) static $id: OpDef = OpDef {
            name: $name,
            doc: $doc,
            inputs: TWO,
            attrs: &[],
            class: Class::Pure,
            total: false,
            elementwise: true,
            infer,
            kernel: |_, _| kernel($f),
        };
    )* };
}

logical! {
    AND "math.logical_and" "Whether both are true." |x, y| x & y;
    OR "math.logical_or" "Whether one is true." |x, y| x | y;
    XOR "math.logical_xor" "Whether just one is true." |x, y| x ^ y;
}

pub(crate) static NOT: OpDef = OpDef {
    name: "math.logical_not",
    doc: "Whether x is false.",
    inputs: ONE,
    attrs: &[],
    class: Class::Pure,
    total: true,
    elementwise: true,
    infer,
    kernel: |_, _| {
        Ok(Box::new(OnFlat(|_: &mut OpCx<'_>, inputs: &[Value], out: &mut Outs<'_>| {
            let x = inputs[0].tensor()?;
            let to = out.plain(0, DType::Bool, *x.shape());
            for (to, v) in to.iter_mut().zip(x.bytes()) {
                *to = v ^ 1;
            }
            Ok(())
        })))
    },
};

fn infer(args: &[Arg], _: &Attrs) -> Result<Vec<Spec>> {
    if let Some(a) = args.iter().find(|a| a.dtype() != DType::Bool) {
        return Err(Error::invalid(format!("expected bool, found {}", a.dtype())));
    }
    let shape = || match args {
        [x, y] => shapes::broadcast_partial(x.spec.shape(), y.spec.shape()),
        _ => Ok(args[0].spec.shape().clone()),
    };
    Ok(vec![elementwise_spec(args, DType::Bool, shape)?])
}

fn kernel(f: impl Fn(u8, u8) -> u8 + Copy + Send + Sync + 'static) -> Result<Box<dyn Kernel>> {
    Ok(Box::new(OnFlat(move |_: &mut OpCx<'_>, inputs: &[Value], out: &mut Outs<'_>| {
        let (x, y) = (inputs[0].tensor()?, inputs[1].tensor()?);
        let shape = shapes::broadcast(x.shape(), y.shape())?;
        let to = out.plain(0, DType::Bool, shape);
        zip((x.as_slice::<u8>()?, x.shape()), (y.as_slice::<u8>()?, y.shape()), to, &shape, f);
        Ok(())
    })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval, infer_err};
    use gristmill_types::{Shape, Tensor};

    #[test]
    fn truth_tables() {
        let b = |v: &[u8]| Value::from(Tensor::from_bytes(DType::Bool, Shape::vector(v.len()), v).unwrap());
        let (x, y) = (b(&[0, 0, 1, 1]), b(&[0, 1, 0, 1]));
        for (op, expect) in [(&AND, [0, 0, 0, 1]), (&OR, [0, 1, 1, 1]), (&XOR, [0, 1, 1, 0])] {
            assert_eq!(eval(op, &[x.clone(), y.clone()], attrs(&[])).unwrap()[0], b(&expect));
        }
        assert_eq!(eval(&NOT, &[x], attrs(&[])).unwrap()[0], b(&[1, 1, 0, 0]));
        assert!(
            infer_err(&NOT, &[Tensor::scalar(1i32).into()], attrs(&[]))
                .contains("expected bool, found int32")
        );
    }
}
