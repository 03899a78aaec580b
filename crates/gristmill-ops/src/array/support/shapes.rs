//! Axes, sizes given as tensors, and broadcasting of shapes.

use gristmill_plan::{Arg, Attr, Attrs};
use gristmill_types::{Error, Kind, PartialShape, Result, Shape, Tensor};

/// An axis as a position among `rank` dimensions; negative counts from behind.
pub(crate) fn axis(axis: i64, rank: usize) -> Result<usize> {
    let r = rank as i64;
    if !(-r..r).contains(&axis) {
        return Err(Error::invalid(format!(
            "expected dimension in the range [-{r}, {r}), but got axis {axis}"
        )));
    }
    Ok(axis.rem_euclid(r) as usize)
}

/// A list of integers, or one alone; `None` where the attribute is not given.
pub(crate) fn int_list(attrs: &Attrs, name: &str) -> Result<Option<Vec<i64>>> {
    match attrs.get(name) {
        None | Some(Attr::None) => Ok(None),
        Some(Attr::Int(v)) => Ok(Some(vec![*v])),
        _ => attrs.ints(name).map(Some),
    }
}

/// The axes as a mask over `rank` dimensions; all where none are given.
pub(crate) fn axis_mask(axes: Option<&[i64]>, rank: usize) -> Result<Vec<bool>> {
    let Some(axes) = axes else {
        return Ok(vec![true; rank]);
    };
    let mut mask = vec![false; rank];
    for &a in axes {
        mask[axis(a, rank)?] = true;
    }
    Ok(mask)
}

/// The value of a constant integer tensor.
pub(crate) fn constant_ints(arg: &Arg) -> Option<Vec<i64>> {
    arg.constant()?.to_i64s().ok()
}

/// Refuses anything but integers.
pub(crate) fn expect_ints(arg: &Arg, name: &str) -> Result<()> {
    if arg.dtype().is_int() && arg.spec.is_dense() {
        return Ok(());
    }
    Err(Error::new(Kind::Type, format!("{name} must be integers, found {}", arg.spec)))
}

/// Integers that must not be negative.
pub(crate) fn sizes(dims: &[i64]) -> Result<Vec<usize>> {
    dims.iter()
        .map(|&d| usize::try_from(d).map_err(|_| Error::invalid(format!("dimensions {dims:?} must be >= 0"))))
        .collect()
}

/// Sizes given as a tensor.
///
/// # Errors
/// `InvalidArgument` if one is negative or the shape is too large.
pub(crate) fn shape_of(dims: &[i64]) -> Result<Shape> {
    Shape::new(&sizes(dims)?)
}

/// As [`shape_of`], from the tensor.
pub(crate) fn shape_from(t: &Tensor) -> Result<Shape> {
    if t.shape().rank() > 1 {
        return Err(Error::invalid(format!("a shape must be a vector, found shape {}", t.shape())));
    }
    shape_of(&t.to_i64s()?)
}

/// What is known of a shape that is given as a tensor: negative sizes are refused.
pub(crate) fn known_shape(arg: &Arg) -> Result<PartialShape> {
    if let Some(dims) = constant_ints(arg) {
        return Ok(PartialShape::from(&shape_of(&dims)?));
    }
    Ok(arg.spec.shape().dim(0).map_or(PartialShape::UNKNOWN, PartialShape::of_rank))
}

/// The shape to which two broadcast.
pub(crate) fn broadcast(a: &Shape, b: &Shape) -> Result<Shape> {
    if a == b {
        return Ok(*a);
    }
    let rank = a.rank().max(b.rank());
    let mut dims = [0usize; gristmill_types::shape::MAX_RANK];
    for (i, dim) in dims[..rank].iter_mut().enumerate() {
        let at = |s: &Shape| (i + s.rank()).checked_sub(rank).map_or(1, |k| s.dims()[k]);
        *dim = match (at(a), at(b)) {
            (x, y) if x == y => x,
            (1, y) => y,
            (x, 1) => x,
            _ => return Err(Error::invalid(format!("incompatible shapes: {a} vs. {b}"))),
        };
    }
    Shape::new(&dims[..rank])
}

/// The shape to which two broadcast, as far as known.
pub(crate) fn broadcast_partial(a: &PartialShape, b: &PartialShape) -> Result<PartialShape> {
    let (Some(x), Some(y)) = (a.dims(), b.dims()) else {
        return Ok(PartialShape::UNKNOWN);
    };
    let rank = x.len().max(y.len());
    let mut dims = Vec::with_capacity(rank);
    for i in 0..rank {
        let at = |s: &[Option<usize>]| (i + s.len()).checked_sub(rank).map_or(Some(1), |k| s[k]);
        dims.push(match (at(x), at(y)) {
            (Some(p), Some(q)) if p != q && p != 1 && q != 1 => {
                return Err(Error::invalid(format!("incompatible shapes: {} vs. {}", plain(a), plain(b))));
            }
            (Some(1), d) | (d, Some(1)) => d,
            (Some(d), _) | (_, Some(d)) => Some(d),
            _ => None,
        });
    }
    Ok(PartialShape::new(dims))
}

/// `[2,3]` as TensorFlow's kernels write it, `?` where unknown.
pub(crate) fn plain(shape: &PartialShape) -> String {
    let Some(dims) = shape.dims() else {
        return "<unknown>".into();
    };
    let items: Vec<String> = dims.iter().map(|d| d.map_or_else(|| "?".into(), |d| d.to_string())).collect();
    format!("[{}]", items.join(","))
}

/// Whether `from` broadcasts to exactly `to`.
pub(crate) fn broadcasts_to(from: &Shape, to: &Shape) -> bool {
    broadcast(from, to).is_ok_and(|s| s == *to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_broadcast() {
        let s = |d: &[usize]| Shape::new(d).unwrap();
        assert_eq!(broadcast(&s(&[2, 1, 3]), &s(&[4, 1])).unwrap(), s(&[2, 4, 3]));
        assert_eq!(broadcast(&s(&[0, 3]), &s(&[1, 3])).unwrap(), s(&[0, 3]));
        assert!(
            broadcast(&s(&[2]), &s(&[3]))
                .unwrap_err()
                .to_string()
                .contains("incompatible shapes: [2] vs. [3]")
        );
        let p =
            broadcast_partial(&PartialShape::new(vec![None, Some(1)]), &PartialShape::known(&[4])).unwrap();
        assert_eq!(p, PartialShape::new(vec![None, Some(4)]));
        assert_eq!(axis(-1, 3).unwrap(), 2);
        assert!(axis(0, 0).is_err());
    }
}
