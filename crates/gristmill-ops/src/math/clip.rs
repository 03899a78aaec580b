//! `clip_by_value`: values cut to a range.

use super::arithmetic::same;
use super::num::{Num, with_num};
use crate::array::support::kernel_of;
use crate::array::support::shapes;
use crate::array::support::walk::Walk;
use gristmill_plan::{Arg, ArgDef, Attrs, Class, Kernel, OpDef};
use gristmill_types::{DType, Error, Result, Spec};

pub(crate) static OP: OpDef = OpDef {
    name: "clip_by_value",
    doc: "`max(min(t, clip_value_max), clip_value_min)`; NaN stays.\n\nThe bounds broadcast to the shape of t.",
    inputs: &[
        ArgDef { name: "t", doc: "numbers" },
        ArgDef { name: "clip_value_min", doc: "lower bound, the dtype of t" },
        ArgDef { name: "clip_value_max", doc: "upper bound, the dtype of t" },
    ],
    attrs: &[],
    class: Class::Pure,
    total: false,
    elementwise: true,
    infer,
    kernel,
};

fn infer(args: &[Arg], _: &Attrs) -> Result<Vec<Spec>> {
    let dtype = args[0].dtype();
    if matches!(dtype, DType::Bool | DType::String) {
        return Err(Error::invalid(format!("expected numbers, found {dtype}")));
    }
    let mut shape = args[0].spec.shape().clone();
    for a in &args[1..] {
        same(dtype, a.dtype(), "clip_by_value")?;
        shape = shape.merge(&shapes::broadcast_partial(&shape, a.spec.shape())?)?;
    }
    Ok(vec![Spec::tensor(dtype, shape)])
}

fn kernel(_: &[Arg], _: &Attrs) -> Result<Box<dyn Kernel>> {
    kernel_of(|inputs, out| {
        let [t, low, high] = [inputs[0].tensor()?, inputs[1].tensor()?, inputs[2].tensor()?];
        for bound in [low, high] {
            same(t.dtype(), bound.dtype(), "clip_by_value")?;
            if !shapes::broadcasts_to(bound.shape(), t.shape()) {
                return Err(Error::invalid(format!(
                    "incompatible shapes: {} vs. {}",
                    t.shape(),
                    bound.shape()
                )));
            }
        }
        with_num!(t.dtype(), T => {
            let (x, low_v, high_v) = (t.as_slice::<T>()?, low.as_slice::<T>()?, high.as_slice::<T>()?);
            let to = out.typed::<T>(0, *t.shape());
            Walk::new(t.shape(), [t.shape(), low.shape(), high.shape()]).each(|o, n, [i, l, h], steps| {
                let (to, x) = (&mut to[o..o + n], &x[i..]);
                if steps == [1, 0, 0] {
                    let (low, high) = (low_v[l], high_v[h]);
                    for (to, v) in to.iter_mut().zip(x) {
                        *to = v.smaller(high).larger(low);
                    }
                } else {
                    for (k, to) in to.iter_mut().enumerate() {
                        *to = x[k * steps[0]].smaller(high_v[h + k * steps[2]]).larger(low_v[l + k * steps[1]]);
                    }
                }
            });
            Ok(())
        }, d => Err(Error::invalid(format!("expected numbers, found {d}"))))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval, infer_err};
    use gristmill_types::Tensor;

    #[test]
    fn cuts() {
        let x = Tensor::vector(&[-1f32, 0.5, 2.0]);
        let call = |l: Tensor, h: Tensor| eval(&OP, &[x.clone().into(), l.into(), h.into()], attrs(&[]));
        assert_eq!(
            call(Tensor::scalar(0f32), Tensor::scalar(1f32)).unwrap()[0],
            Tensor::vector(&[0f32, 0.5, 1.0]).into()
        );
        let per = call(Tensor::vector(&[0f32, 1.0, 0.0]), Tensor::scalar(1f32)).unwrap();
        assert_eq!(per[0], Tensor::vector(&[0f32, 1.0, 1.0]).into());
        let wide = Tensor::vector(&[0f32, 1.0]);
        assert!(
            infer_err(&OP, &[Tensor::scalar(0f32).into(), wide.clone().into(), wide.into()], attrs(&[]))
                .contains("not compatible")
        );
    }
}
