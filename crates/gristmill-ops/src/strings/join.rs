//! `strings.join` and `strings.reduce_join`.

use super::each::expect_strings;
use crate::array::support::walk::Walk;
use crate::array::support::{kernel_of, shapes};
use gristmill_plan::{Arg, ArgDef, Attrs, Class, Kernel, OpDef};
use gristmill_types::{Bytes, DType, Error, PartialShape, Result, Shape, Spec, Tensor};

const SEPARATOR: ArgDef =
    ArgDef { name: "separator", doc: "what stands between two strings; default nothing" };

pub(crate) static JOIN: OpDef = OpDef {
    name: "strings.join",
    doc: "The strings of several tensors joined element by element.\n\nScalars go with every element.",
    inputs: &[ArgDef { name: "inputs*", doc: "string tensors of one shape, or scalars" }],
    attrs: &[SEPARATOR],
    class: Class::Pure,
    total: false,
    elementwise: true,
    infer: infer_join,
    kernel: kernel_join,
};

pub(crate) static REDUCE_JOIN: OpDef = OpDef {
    name: "strings.reduce_join",
    doc: "The strings along dimensions joined into one.",
    inputs: &[ArgDef { name: "inputs", doc: "strings" }],
    attrs: &[
        ArgDef {
            name: "axis",
            doc: "the dimensions, in the order in which they are joined; None (default) takes all",
        },
        ArgDef { name: "keepdims", doc: "whether they stay with size 1; default False" },
        SEPARATOR,
    ],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer: infer_reduce,
    kernel: kernel_reduce,
};

fn infer_join(args: &[Arg], _: &Attrs) -> Result<Vec<Spec>> {
    let mut shape = PartialShape::scalar();
    for a in args {
        expect_strings(a.dtype())?;
        if a.spec.shape().rank() == Some(0) {
            continue;
        }
        shape = match shape.rank() {
            Some(0) => a.spec.shape().clone(),
            _ => shape.merge(a.spec.shape())?,
        };
    }
    Ok(vec![Spec::tensor(DType::String, shape)])
}

fn kernel_join(_: &[Arg], attrs: &Attrs) -> Result<Box<dyn Kernel>> {
    let sep = attrs.str_or("separator", String::new())?;
    kernel_of(move |inputs, out| {
        let parts = inputs.iter().map(|v| v.tensor()).collect::<Result<Vec<&Tensor>>>()?;
        let mut shape = Shape::SCALAR;
        for t in &parts {
            expect_strings(t.dtype())?;
            if t.shape().rank() > 0 && shape.rank() > 0 && *t.shape() != shape {
                return Err(Error::invalid(format!("input shapes do not match: {shape} vs. {}", t.shape())));
            }
            if t.shape().rank() > 0 {
                shape = *t.shape();
            }
        }
        let item = |i: usize| {
            let each = parts.iter().map(|t| &*t.as_strings()[if t.shape().rank() == 0 { 0 } else { i }]);
            Bytes::from(each.collect::<Vec<&[u8]>>().join(sep.as_bytes()))
        };
        out.put(
            0,
            if shape.rank() == 0 {
                Tensor::string(item(0))
            } else {
                Tensor::strings(shape, (0..shape.count()).map(item).collect())?
            },
        );
        Ok(())
    })
}

fn infer_reduce(args: &[Arg], attrs: &Attrs) -> Result<Vec<Spec>> {
    expect_strings(args[0].dtype())?;
    let (axes, keep) = (shapes::int_list(attrs, "axis")?, attrs.bool_or("keepdims", false)?);
    let shape = match args[0].spec.shape().dims() {
        Some(dims) => {
            let gone = shapes::axis_mask(axes.as_deref(), dims.len())?;
            let pick = |(d, gone): (&Option<usize>, bool)| {
                if gone { keep.then_some(Some(1)) } else { Some(*d) }
            };
            PartialShape::new(dims.iter().zip(gone).filter_map(pick).collect())
        }
        None if axes.is_none() && !keep => PartialShape::scalar(),
        None => PartialShape::UNKNOWN,
    };
    Ok(vec![Spec::tensor(DType::String, shape)])
}

fn kernel_reduce(_: &[Arg], attrs: &Attrs) -> Result<Box<dyn Kernel>> {
    let (axes, keep) = (shapes::int_list(attrs, "axis")?, attrs.bool_or("keepdims", false)?);
    let sep = attrs.str_or("separator", String::new())?;
    kernel_of(move |inputs, out| {
        let t = inputs[0].tensor()?;
        expect_strings(t.dtype())?;
        let rank = t.shape().rank();
        let gone = shapes::axis_mask(axes.as_deref(), rank)?;
        let order: Vec<usize> = match &axes {
            Some(a) => a.iter().map(|&a| shapes::axis(a, rank)).collect::<Result<_>>()?,
            None => (0..rank).collect(),
        };
        let mut own = vec![1usize; rank];
        for i in (0..rank.saturating_sub(1)).rev() {
            own[i] = own[i + 1] * t.dims()[i + 1];
        }
        // Offsets of the kept dimensions, then of the joined ones in their order.
        let offsets = |dims: &[usize]| -> Result<Vec<usize>> {
            let shape = Shape::new(&dims.iter().map(|&i| t.dims()[i]).collect::<Vec<_>>())?;
            let mut steps = [[0usize; 1]; gristmill_types::shape::MAX_RANK];
            for (to, &i) in steps.iter_mut().zip(dims) {
                *to = [own[i]];
            }
            let mut out = Vec::with_capacity(shape.count());
            Walk::with_steps(&shape, steps)
                .each(|_, n, [at], [step]| out.extend((0..n).map(|k| at + k * step)));
            Ok(out)
        };
        let kept: Vec<usize> = (0..rank).filter(|&i| !gone[i]).collect();
        let (outer, inner) = (offsets(&kept)?, offsets(&order)?);
        let items = outer
            .iter()
            .map(|o| {
                let each: Vec<&[u8]> = inner.iter().map(|i| &*t.as_strings()[o + i]).collect();
                Bytes::from(each.join(sep.as_bytes()))
            })
            .collect();
        let pick = |(d, gone): (&usize, &bool)| if *gone { keep.then_some(1) } else { Some(*d) };
        let dims: Vec<usize> = t.dims().iter().zip(&gone).filter_map(pick).collect();
        out.put(0, Tensor::strings(Shape::new(&dims)?, items)?);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval};
    use gristmill_plan::Attr;

    fn s(v: &[&str]) -> Tensor {
        Tensor::string_vector(v.iter().map(|&v| v.into()).collect())
    }

    #[test]
    fn joins_elements() {
        let inputs = [s(&["a", "b"]).into(), Tensor::string("z").into()];
        let out = eval(&JOIN, &inputs, attrs(&[("separator", Attr::Str("-".into()))])).unwrap();
        assert_eq!(out[0], s(&["a-z", "b-z"]).into());
        assert!(eval(&JOIN, &[s(&["a"]).into(), s(&["a", "b"]).into()], attrs(&[])).is_err());
    }

    #[test]
    fn joins_dimensions() {
        let x = s(&["a", "b", "c", "d"]).reshaped(Shape::new(&[2, 2]).unwrap()).unwrap();
        let call = |a: Attr| {
            eval(
                &REDUCE_JOIN,
                &[x.clone().into()],
                attrs(&[("axis", a), ("separator", Attr::Str("+".into()))]),
            )
            .unwrap()
            .remove(0)
        };
        assert_eq!(call(Attr::Int(1)), s(&["a+b", "c+d"]).into());
        assert_eq!(call(Attr::Int(0)), s(&["a+c", "b+d"]).into());
        assert_eq!(call(Attr::None).tensor().unwrap().as_strings()[0], "a+b+c+d".into());
        assert_eq!(
            call(Attr::List(vec![Attr::Int(1), Attr::Int(0)])).tensor().unwrap().as_strings()[0],
            "a+c+b+d".into()
        );
    }
}
