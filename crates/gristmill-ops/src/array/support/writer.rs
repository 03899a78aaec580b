//! Putting a dense output together from runs of other tensors' elements, whatever the dtype.

use super::walk::Walk;
use gristmill_plan::Outs;
use gristmill_types::shape::MAX_RANK;
use gristmill_types::{Bytes, DType, Error, Result, Shape, Tensor};

/// An output that is written from front to back.
pub(crate) enum Writer<'a> {
    /// Elements of a fixed size.
    Plain { to: &'a mut [u8], at: usize, size: usize },
    /// Strings.
    Strings(Vec<Bytes>),
}

/// Writes output `k`; `fill` writes every element.
///
/// # Errors
/// What `fill` returns; `Internal` if it wrote too little.
pub(crate) fn write(
    out: &mut Outs<'_>,
    k: usize,
    dtype: DType,
    shape: Shape,
    fill: impl FnOnce(&mut Writer<'_>) -> Result<()>,
) -> Result<()> {
    if dtype == DType::String {
        let mut w = Writer::Strings(Vec::with_capacity(shape.count()));
        fill(&mut w)?;
        if let Writer::Strings(items) = w {
            out.put(k, Tensor::strings(shape, items)?);
        }
        return Ok(());
    }
    let to = out.plain(k, dtype, shape);
    let need = to.len();
    let mut w = Writer::Plain { to, at: 0, size: dtype.size() };
    fill(&mut w)?;
    match w {
        Writer::Plain { at, .. } if at == need => Ok(()),
        _ => Err(Error::internal("an output was not written in full")),
    }
}

/// A strided view of a tensor: element offset, then size and step of each dimension. Steps may be
/// negative (as wrapping numbers) or 0.
#[derive(Clone, Debug)]
pub(crate) struct View {
    pub(crate) start: usize,
    pub(crate) dims: Vec<(usize, usize)>,
}

impl View {
    /// All of a tensor of that shape.
    pub(crate) fn of(shape: &Shape) -> Self {
        let mut dims = vec![(0, 0); shape.rank()];
        let mut step = 1usize;
        for (to, &d) in dims.iter_mut().zip(shape.dims()).rev() {
            *to = (d, step);
            step *= d;
        }
        Self { start: 0, dims }
    }

    /// The shape of the result.
    pub(crate) fn shape(&self) -> Result<Shape> {
        Shape::new(&self.dims.iter().map(|d| d.0).collect::<Vec<_>>())
    }

    /// Whether the elements lie one after the other.
    pub(crate) fn contiguous(&self) -> bool {
        let mut step = 1;
        self.dims.iter().rev().all(|&(n, s)| {
            let fits = n == 1 || s == step;
            step *= n;
            fits
        })
    }

    /// Puts the viewed elements as output `k` under `shape`: shared where they lie together,
    /// copied otherwise.
    pub(crate) fn put(&self, t: &Tensor, shape: Shape, out: &mut Outs<'_>, k: usize) -> Result<()> {
        let n = shape.count();
        if n == 0 {
            out.put(k, Tensor::zeros(t.dtype(), shape));
            return Ok(());
        }
        if self.contiguous() {
            out.put(k, t.reshaped(Shape::vector(t.count()))?.rows(self.start, n).reshaped(shape)?);
            return Ok(());
        }
        write(out, k, t.dtype(), shape, |w| w.view(t, self))
    }
}

impl Writer<'_> {
    /// Elements `start..start + n` of a tensor of the output's dtype.
    pub(crate) fn run(&mut self, t: &Tensor, start: usize, n: usize) {
        match self {
            Self::Strings(items) => items.extend_from_slice(&t.as_strings()[start..start + n]),
            Self::Plain { to, at, size } => {
                let len = n * *size;
                to[*at..*at + len].copy_from_slice(&t.bytes()[start * *size..start * *size + len]);
                *at += len;
            }
        }
    }

    /// Element `i` of a tensor, `n` times.
    pub(crate) fn repeat(&mut self, t: &Tensor, i: usize, n: usize) {
        self.strided(t, i, n, 0);
    }

    /// `n` elements from `start`, `step` apart.
    pub(crate) fn strided(&mut self, t: &Tensor, start: usize, n: usize, step: usize) {
        if step == 1 {
            return self.run(t, start, n);
        }
        match self {
            Self::Strings(items) => {
                let from = t.as_strings();
                items.extend((0..n).map(|i| from[start.wrapping_add(step.wrapping_mul(i))].clone()));
            }
            Self::Plain { to, at, size } => {
                let to = {
                    let len = n * *size;
                    let part = &mut to[*at..*at + len];
                    *at += len;
                    part
                };
                match *size {
                    1 => spread::<1>(t.bytes(), start, step, to),
                    2 => spread::<2>(t.bytes(), start, step, to),
                    4 => spread::<4>(t.bytes(), start, step, to),
                    _ => spread::<8>(t.bytes(), start, step, to),
                }
            }
        }
    }

    /// Every element of a view, row-major.
    pub(crate) fn view(&mut self, t: &Tensor, view: &View) -> Result<()> {
        // Tiling doubles the number of dimensions before they are merged, so merge by hand what
        // a Walk of MAX_RANK cannot hold.
        let mut dims: Vec<(usize, usize)> = Vec::with_capacity(view.dims.len());
        for &(n, step) in view.dims.iter().filter(|d| d.0 != 1) {
            match dims.last_mut() {
                Some(last) if last.1 == step.wrapping_mul(n) => *last = (last.0 * n, step),
                _ => dims.push((n, step)),
            }
        }
        self.nest(t, view.start, &dims)
    }

    fn nest(&mut self, t: &Tensor, start: usize, dims: &[(usize, usize)]) -> Result<()> {
        if dims.len() > MAX_RANK {
            for i in 0..dims[0].0 {
                self.nest(t, start.wrapping_add(dims[0].1.wrapping_mul(i)), &dims[1..])?;
            }
            return Ok(());
        }
        let shape = Shape::new(&dims.iter().map(|d| d.0).collect::<Vec<_>>())?;
        let mut steps = [[0usize; 1]; MAX_RANK];
        for (to, d) in steps.iter_mut().zip(dims) {
            *to = [d.1];
        }
        Walk::with_steps(&shape, steps)
            .each(|_, n, [at], [step]| self.strided(t, start.wrapping_add(at), n, step));
        Ok(())
    }

    /// The elements at these positions along each dimension; `None` is element 0 of `fill`.
    pub(crate) fn take(&mut self, t: &Tensor, at: &[Vec<Option<usize>>], fill: &Tensor) {
        let steps: Vec<usize> = View::of(t.shape()).dims.iter().map(|d| d.1).collect();
        let sizes: Vec<usize> = at.iter().map(Vec::len).collect();
        self.take_dim(t, at, &steps, &sizes, Some(0), fill);
    }

    fn take_dim(
        &mut self,
        t: &Tensor,
        at: &[Vec<Option<usize>>],
        steps: &[usize],
        sizes: &[usize],
        base: Option<usize>,
        fill: &Tensor,
    ) {
        let Some(base) = base else {
            return self.repeat(fill, 0, sizes.iter().product());
        };
        let Some((first, rest)) = at.split_first() else {
            return self.run(t, base, 1);
        };
        if rest.is_empty() {
            let mut i = 0;
            while i < first.len() {
                // Runs of neighbours go in one copy.
                let mut n = 1;
                match first[i] {
                    Some(p) => {
                        while first.get(i + n) == Some(&Some(p + n)) {
                            n += 1;
                        }
                        self.run(t, base + p, n);
                    }
                    None => {
                        while first.get(i + n) == Some(&None) {
                            n += 1;
                        }
                        self.repeat(fill, 0, n);
                    }
                }
                i += n;
            }
            return;
        }
        for p in first {
            self.take_dim(t, rest, &steps[1..], &sizes[1..], p.map(|p| base + p * steps[0]), fill);
        }
    }
}

fn spread<const N: usize>(from: &[u8], start: usize, step: usize, to: &mut [u8]) {
    let (from, _) = from.as_chunks::<N>();
    let (to, _) = to.as_chunks_mut::<N>();
    if step == 0 {
        to.fill(from[start]);
        return;
    }
    let mut at = start;
    for t in to {
        *t = from[at];
        at = at.wrapping_add(step);
    }
}
