//! `strided_slice`: Python's slicing.

use super::support::writer::View;
use super::support::{kernel_of, shapes};
use gristmill_plan::{Arg, ArgDef, Attrs, Class, Kernel, OpDef};
use gristmill_types::{Error, PartialShape, Result, Shape, Spec, Value};

pub(crate) static OP: OpDef = OpDef {
    name: "strided_slice",
    doc: "What `x[a:b:c, i, ..., newaxis]` means in Python.\n\n\
          Bounds outside the tensor are cut off, as in Python; a single index outside it is an error. Shares memory \
          where the elements lie together.",
    inputs: &[
        ArgDef { name: "input_", doc: "any dtype and shape" },
        ArgDef { name: "begin", doc: "integer vector: first index per entry" },
        ArgDef { name: "end", doc: "integer vector: index after the last per entry" },
        ArgDef { name: "strides", doc: "integer vector: step per entry, not 0" },
    ],
    attrs: &[
        ArgDef { name: "begin_mask", doc: "bit i: entry i starts at the edge" },
        ArgDef { name: "end_mask", doc: "bit i: entry i goes to the edge" },
        ArgDef { name: "ellipsis_mask", doc: "bit i: entry i stands for all dimensions that no other takes" },
        ArgDef { name: "new_axis_mask", doc: "bit i: entry i is a new dimension of size 1" },
        ArgDef { name: "shrink_axis_mask", doc: "bit i: entry i is one index, and its dimension goes away" },
    ],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer,
    kernel,
};

#[derive(Clone, Copy)]
struct Masks {
    begin: i64,
    end: i64,
    ellipsis: i64,
    new_axis: i64,
    shrink: i64,
}

impl Masks {
    fn of(attrs: &Attrs) -> Result<Self> {
        Ok(Self {
            begin: attrs.int_or("begin_mask", 0)?,
            end: attrs.int_or("end_mask", 0)?,
            ellipsis: attrs.int_or("ellipsis_mask", 0)?,
            new_axis: attrs.int_or("new_axis_mask", 0)?,
            shrink: attrs.int_or("shrink_axis_mask", 0)?,
        })
    }
}

/// The three vectors, as far as known.
struct Bounds<'a> {
    entries: usize,
    begin: Option<&'a [i64]>,
    end: Option<&'a [i64]>,
    strides: Option<&'a [i64]>,
}

/// What becomes of one dimension, in order of the result.
enum Cut {
    /// A new dimension of size 1.
    New,
    /// From `start` in steps; `None` where not known.
    Range { dim: usize, start: Option<i64>, step: i64, size: Option<usize> },
    /// One index; the dimension goes away.
    One { dim: usize, at: Option<i64> },
}

fn bit(mask: i64, i: usize) -> bool {
    i < 63 && mask >> i & 1 == 1
}

fn cuts(dims: &[Option<usize>], b: &Bounds<'_>, m: &Masks) -> Result<Vec<Cut>> {
    let whole = |dim: usize| Cut::Range { dim, start: Some(0), step: 1, size: dims[dim] };
    let ellipsis = (0..b.entries).filter(|&i| bit(m.ellipsis, i)).collect::<Vec<_>>();
    if ellipsis.len() > 1 {
        return Err(Error::invalid("multiple ellipses in slice spec not allowed"));
    }
    let used = (0..b.entries).filter(|&i| !bit(m.ellipsis, i) && !bit(m.new_axis, i)).count();
    if used > dims.len() {
        return Err(Error::invalid(format!(
            "index out of range using input dim {}; input has only {} dims",
            dims.len(),
            dims.len()
        )));
    }
    let (mut out, mut dim) = (Vec::new(), 0);
    for i in 0..b.entries {
        if bit(m.ellipsis, i) {
            for _ in 0..dims.len() - used {
                out.push(whole(dim));
                dim += 1;
            }
        } else if bit(m.new_axis, i) {
            out.push(Cut::New);
        } else {
            out.push(cut(dim, dims[dim], i, b, m)?);
            dim += 1;
        }
    }
    out.extend((dim..dims.len()).map(whole));
    Ok(out)
}

fn cut(dim: usize, size: Option<usize>, i: usize, b: &Bounds<'_>, m: &Masks) -> Result<Cut> {
    let entry = |v: Option<&[i64]>| v.map(|v| v[i]);
    let step = entry(b.strides);
    if step == Some(0) {
        return Err(Error::invalid(format!("strides[{i}] must be non-zero")));
    }
    let n = size.map(|n| n as i64);
    if bit(m.shrink, i) {
        let at = entry(b.begin).zip(n).map(|(at, n)| (at, if at < 0 { at.saturating_add(n) } else { at }));
        if let (Some((given, at)), Some(n)) = (at, n)
            && !(0..n).contains(&at)
        {
            return Err(Error::invalid(format!("slice index {given} of dimension {dim} out of bounds"))
                .hint(format!("the dimension has size {n}")));
        }
        return Ok(Cut::One { dim, at: at.map(|a| a.1) });
    }
    let (Some(n), Some(step)) = (n, step) else {
        return Ok(Cut::Range { dim, start: None, step: step.unwrap_or(1), size: None });
    };
    let (low, high) = if step > 0 { (0, n) } else { (-1, n - 1) };
    let clamp = |x: i64| (if x < 0 { x.saturating_add(n) } else { x }).clamp(low, high);
    let begin =
        if bit(m.begin, i) { Some(if step > 0 { low } else { high }) } else { entry(b.begin).map(clamp) };
    let end = if bit(m.end, i) { Some(if step > 0 { high } else { low }) } else { entry(b.end).map(clamp) };
    let size = begin.zip(end).map(|(a, z)| {
        let way = z - a;
        if way == 0 || (way < 0) != (step < 0) {
            0
        } else {
            (way / step + i64::from(way % step != 0)) as usize
        }
    });
    Ok(Cut::Range { dim, start: begin, step, size })
}

fn infer(args: &[Arg], attrs: &Attrs) -> Result<Vec<Spec>> {
    for (a, name) in args[1..].iter().zip(["begin", "end", "strides"]) {
        shapes::expect_ints(a, name)?;
    }
    let spec = &args[0].spec;
    let entries = args[1..].iter().find_map(|a| a.spec.shape().dim(0));
    let (Some(dims), Some(entries)) = (spec.shape().dims(), entries) else {
        return Ok(vec![Spec::tensor(spec.dtype(), PartialShape::UNKNOWN)]);
    };
    let v: Vec<_> = args[1..].iter().map(shapes::constant_ints).collect();
    check_lengths(entries, v.iter().flatten().map(Vec::len))?;
    let bounds = Bounds { entries, begin: v[0].as_deref(), end: v[1].as_deref(), strides: v[2].as_deref() };
    let dims = cuts(dims, &bounds, &Masks::of(attrs)?)?
        .into_iter()
        .filter_map(|c| match c {
            Cut::New => Some(Some(1)),
            Cut::Range { size, .. } => Some(size),
            Cut::One { .. } => None,
        })
        .collect();
    Ok(vec![Spec::tensor(spec.dtype(), PartialShape::new(dims))])
}

fn check_lengths(entries: usize, mut lengths: impl Iterator<Item = usize>) -> Result<()> {
    match lengths.find(|&n| n != entries) {
        Some(n) => Err(Error::invalid(format!(
            "expected begin, end and strides of equal length, but got {entries} and {n}"
        ))),
        None => Ok(()),
    }
}

fn cuts_of(dims: &[usize], inputs: &[Value], masks: &Masks) -> Result<Vec<Cut>> {
    let v = inputs[1..].iter().map(|v| v.tensor()?.to_i64s()).collect::<Result<Vec<_>>>()?;
    check_lengths(v[0].len(), v.iter().map(Vec::len))?;
    let bounds = Bounds { entries: v[0].len(), begin: Some(&v[0]), end: Some(&v[1]), strides: Some(&v[2]) };
    let dims: Vec<_> = dims.iter().map(|&d| Some(d)).collect();
    cuts(&dims, &bounds, masks)
}

/// Start and size along every dimension of a tensor of that shape, where the slice takes a box of it; the inputs are
/// those of the op.
pub(crate) fn parts(dims: &[usize], inputs: &[Value], attrs: &Attrs) -> Result<Option<Vec<(usize, usize)>>> {
    let part = |cut| match cut {
        Cut::Range { start, step: 1, size, .. } => Some((usize::try_from(start?).ok()?, size?)),
        _ => None,
    };
    Ok(cuts_of(dims, inputs, &Masks::of(attrs)?)?.into_iter().map(part).collect())
}

fn kernel(_: &[Arg], attrs: &Attrs) -> Result<Box<dyn Kernel>> {
    let masks = Masks::of(attrs)?;
    kernel_of(move |inputs, out| {
        let t = inputs[0].tensor()?;
        let from = View::of(t.shape());
        let mut view = View { start: 0, dims: Vec::new() };
        for c in cuts_of(t.dims(), inputs, &masks)? {
            match c {
                Cut::New => view.dims.push((1, 0)),
                Cut::One { dim, at } => view.start += at.unwrap_or(0) as usize * from.dims[dim].1,
                Cut::Range { dim, start, step, size } => {
                    let own = from.dims[dim].1;
                    let n = size.unwrap_or(0);
                    if n > 0 {
                        view.start += start.unwrap_or(0) as usize * own;
                    }
                    view.dims.push((n, own.wrapping_mul(step as usize)));
                }
            }
        }
        let shape = Shape::new(&view.dims.iter().map(|d| d.0).collect::<Vec<_>>())?;
        view.put(t, shape, out, 0)
    })
}

#[cfg(test)]
mod tests;
