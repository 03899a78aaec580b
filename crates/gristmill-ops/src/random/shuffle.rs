//! `random.shuffle`: the rows of a tensor in random order.

use crate::array::support::writer;
use gristmill_plan::{ArgDef, Attrs, Class, Kernel, OpCx, OpDef, Outs};
use gristmill_types::{Error, Result, Spec, Value};

pub(crate) static OP: OpDef = OpDef {
    name: "random.shuffle",
    doc: "The rows of a tensor in random order.\n\n\
          Called outside a pipeline: TensorFlow's order for the seed pair. In a pipeline each element has an order of its own.",
    inputs: &[ArgDef { name: "value", doc: "any dtype and shape; a scalar stays" }],
    attrs: &[ArgDef {
        name: "seed",
        doc: "the pair (graph seed, op seed), or None for an order that differs in each run",
    }],
    class: Class::Random,
    total: true,
    elementwise: false,
    infer: |args, _| Ok(vec![Spec::tensor(args[0].dtype(), args[0].spec.shape().clone())]),
    kernel,
};

fn kernel(_: &[gristmill_plan::Arg], attrs: &Attrs) -> Result<Box<dyn Kernel>> {
    let pair = attrs.seed()?;
    Ok(Box::new(move |cx: &mut OpCx<'_>, inputs: &[Value], out: &mut Outs<'_>| {
        let t = inputs[0].tensor()?;
        let n = t.dims().first().copied().unwrap_or(0);
        if n < 2 {
            out.put(0, t.clone());
            return Ok(());
        }
        let words = u32::try_from(n).map_err(|_| Error::invalid(format!("cannot shuffle {n} rows")))?;
        let mut stream = cx.philox(pair);
        let mut order: Vec<usize> = (0..n).collect();
        for i in 0..n - 1 {
            order.swap(i, i + (stream.next_u32() % (words - i as u32)) as usize);
        }
        let row = t.count() / n;
        writer::write(out, 0, t.dtype(), *t.shape(), |w| {
            order.iter().for_each(|&i| w.run(t, i * row, row));
            Ok(())
        })
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval};
    use gristmill_plan::Attr;
    use gristmill_types::{Shape, Tensor};

    #[test]
    fn keeps_every_row_and_follows_the_seed() {
        let x = Tensor::vector(&(0..10i32).collect::<Vec<_>>());
        let a = |s: i64| attrs(&[("seed", Attr::List(vec![Attr::Int(1), Attr::Int(s)]))]);
        let one = eval(&OP, &[x.clone().into()], a(5)).unwrap()[0].tensor().unwrap().clone();
        assert_eq!(one, eval(&OP, &[x.clone().into()], a(5)).unwrap()[0].tensor().unwrap().clone());
        assert_ne!(one, eval(&OP, &[x.clone().into()], a(6)).unwrap()[0].tensor().unwrap().clone());
        let mut sorted = one.as_slice::<i32>().unwrap().to_vec();
        sorted.sort_unstable();
        assert_eq!(Tensor::vector(&sorted), x);
        let pairs = Tensor::from_vec(Shape::new(&[10, 2]).unwrap(), &(0..20i32).collect::<Vec<_>>()).unwrap();
        let rows = eval(&OP, &[pairs.into()], a(5)).unwrap();
        let firsts: Vec<i32> =
            rows[0].tensor().unwrap().as_slice::<i32>().unwrap().chunks(2).map(|r| r[0] / 2).collect();
        assert_eq!(firsts, one.as_slice::<i32>().unwrap());
    }
}
