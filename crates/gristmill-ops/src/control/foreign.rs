//! `py_function`, `numpy_function`: a function that lives outside the engine.

use crate::array::support::kernel_of;
use gristmill_plan::{Arg, ArgDef, Attr, Attrs, Class, Kernel, OpDef, foreign};
use gristmill_types::{DType, Error, PartialShape, Result, Spec};

const INPUTS: &[ArgDef] = &[ArgDef { name: "inp*", doc: "what the function takes" }];
const ATTRS: &[ArgDef] = &[
    ArgDef { name: "func", doc: "the function" },
    ArgDef { name: "Tout", doc: "dtypes of what it returns, in order" },
];

pub(crate) static PY_FUNCTION: OpDef = OpDef {
    name: "py_function",
    doc: "Calls a Python function with eager tensors.\n\n\
          Shapes of what it returns are not known before. What it raises is an error in the element's place.",
    inputs: INPUTS,
    attrs: ATTRS,
    class: Class::Foreign,
    total: false,
    elementwise: false,
    infer,
    kernel,
};

pub(crate) static NUMPY_FUNCTION: OpDef = OpDef {
    name: "numpy_function",
    doc: "Calls a Python function with NumPy arrays.\n\n\
          Shapes of what it returns are not known before. What it raises is an error in the element's place.",
    ..PY_FUNCTION
};

fn dtypes(attrs: &Attrs) -> Result<Vec<DType>> {
    let each = |a: &Attr| match a {
        Attr::DType(d) => Ok(*d),
        other => Err(Error::invalid(format!("Tout must be dtypes, found {other}"))),
    };
    attrs.list("Tout")?.iter().map(each).collect()
}

fn infer(_: &[Arg], attrs: &Attrs) -> Result<Vec<Spec>> {
    Ok(dtypes(attrs)?.into_iter().map(|dtype| Spec::Tensor { dtype, shape: PartialShape::UNKNOWN }).collect())
}

fn kernel(_: &[Arg], attrs: &Attrs) -> Result<Box<dyn Kernel>> {
    let (function, dtypes) = (attrs.foreign("func")?, dtypes(attrs)?);
    kernel_of(move |inputs, out| {
        let values = foreign::call(&*function, inputs)?;
        let name = function.name();
        if values.len() != dtypes.len() {
            return Err(Error::invalid(format!(
                "{name} returns {} values, but expects to see {} values",
                values.len(),
                dtypes.len()
            ))
            .hint("Tout has a dtype for each value that the function returns"));
        }
        for (k, (value, dtype)) in values.into_iter().zip(&dtypes).enumerate() {
            if value.dtype() != *dtype {
                return Err(Error::invalid(format!(
                    "{k}-th value returned by {name} is {}, but expects {dtype}",
                    value.dtype()
                ))
                .hint("convert the value before it is returned, or name its dtype in Tout"));
            }
            out.put(k, value);
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval};
    use gristmill_plan::Foreign;
    use gristmill_types::{Tensor, Value};
    use std::sync::Arc;

    /// Gives what it was given.
    #[derive(Debug)]
    struct Same;

    impl Foreign for Same {
        fn name(&self) -> &'static str {
            "same"
        }
        fn identity(&self) -> &[u8] {
            b"same"
        }
        fn call(&self, inputs: &[Value]) -> Result<Vec<Value>> {
            Ok(inputs.to_vec())
        }
        fn hold(&self, work: &mut dyn FnMut()) -> Result<()> {
            work();
            Ok(())
        }
        fn as_any(&self) -> &dyn std::any::Any {
            self
        }
    }

    #[test]
    fn gives_what_the_function_returns_and_checks_it() {
        let a = |types: &[DType]| {
            let types = types.iter().map(|d| Attr::DType(*d)).collect();
            attrs(&[("func", Attr::Foreign(Arc::new(Same))), ("Tout", Attr::List(types))])
        };
        let x: Value = Tensor::scalar(3i32).into();
        let before = foreign::calls();
        assert_eq!(eval(&PY_FUNCTION, std::slice::from_ref(&x), a(&[DType::I32])).unwrap(), vec![x.clone()]);
        assert_eq!(foreign::calls() - before, 1);
        let e = eval(&NUMPY_FUNCTION, std::slice::from_ref(&x), a(&[DType::I64])).unwrap_err().to_string();
        assert!(e.contains("0-th value returned by same is int32, but expects int64"), "{e}");
        let e = eval(&PY_FUNCTION, &[x], a(&[])).unwrap_err().to_string();
        assert!(e.contains("same returns 1 values, but expects to see 0 values"), "{e}");
    }
}
