//! String tensors.

use super::{Data, Tensor};
use crate::strings::Builder;
use crate::{Bytes, DType, Error, Pick, Result, Shape, StrSpan, Strings};
use std::sync::Arc;

impl Tensor {
    /// A string scalar.
    pub fn string(value: impl Into<Bytes>) -> Self {
        Self { dtype: DType::String, shape: Shape::SCALAR, data: Data::String(value.into()) }
    }

    /// A string tensor with these elements in row-major order.
    ///
    /// # Errors
    /// `InvalidArgument` if there are not as many as the shape has.
    pub fn strings(shape: Shape, items: Vec<Bytes>) -> Result<Self> {
        counted(shape, items.len())?;
        Ok(Self { dtype: DType::String, shape, data: Data::Strings { items: Arc::new(items), start: 0 } })
    }

    /// A string tensor of shape `[n]`.
    pub fn string_vector(items: Vec<Bytes>) -> Self {
        Self {
            dtype: DType::String,
            shape: Shape::vector(items.len()),
            data: Data::Strings { items: Arc::new(items), start: 0 },
        }
    }

    /// A string tensor over positions in shared buffers, in row-major order.
    ///
    /// # Errors
    /// `InvalidArgument` if there are not as many as the shape has.
    pub fn from_spans(shape: Shape, store: Arc<Strings>) -> Result<Self> {
        counted(shape, store.len())?;
        Ok(Self { dtype: DType::String, shape, data: Data::Spans { store, start: 0 } })
    }

    /// The elements of a string tensor; empty for other dtypes. Where they are held as positions in
    /// shared buffers they are made on the first call: [`Tensor::string_slices`] takes no count of them.
    pub fn as_strings(&self) -> &[Bytes] {
        match &self.data {
            Data::String(one) => std::slice::from_ref(one),
            Data::Strings { items, start } => &items[*start..*start + self.count()],
            Data::Spans { store, start } => &store.items()[*start..*start + self.count()],
            _ => &[],
        }
    }

    /// The elements of a string tensor as slices; none for other dtypes.
    pub fn string_slices(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        let of = |start: usize| start..start + self.count();
        match &self.data {
            Data::String(one) => Slices::Items(std::slice::from_ref(one).iter()),
            Data::Strings { items, start } => Slices::Items(items[of(*start)].iter()),
            Data::Spans { store, start } => Slices::Spans(store, store.spans()[of(*start)].iter()),
            _ => Slices::Items([].iter()),
        }
    }

    /// Element `i` of a string tensor in row-major order; empty for other dtypes.
    pub fn string_at(&self, i: usize) -> &[u8] {
        match &self.data {
            Data::String(one) => one.as_slice(),
            Data::Strings { items, start } => items[start + i].as_slice(),
            Data::Spans { store, start } => store.get(start + i),
            _ => &[],
        }
    }

    /// Element `i` of a string tensor in row-major order, sharing its memory; empty for other dtypes.
    pub fn string_bytes(&self, i: usize) -> Bytes {
        match &self.data {
            Data::String(one) => one.clone(),
            Data::Strings { items, start } => items[start + i].clone(),
            Data::Spans { store, start } => store.bytes(start + i),
            _ => Bytes::EMPTY,
        }
    }

    /// The elements of a string tensor as positions in shared buffers, beginning at the number given with
    /// them; `None` for other dtypes and where a buffer is too large for that.
    pub fn spans(&self) -> Option<(Arc<Strings>, usize)> {
        match &self.data {
            Data::String(one) => Some((Arc::new(Strings::from_items(std::slice::from_ref(one))?), 0)),
            Data::Strings { .. } => Some((Arc::new(Strings::from_items(self.as_strings())?), 0)),
            Data::Spans { store, start } => Some((Arc::clone(store), *start)),
            _ => None,
        }
    }

    /// The elements of string tensors one after the other, under a shape.
    ///
    /// # Errors
    /// `InvalidArgument` if there are not as many as the shape has.
    pub fn concat_strings(shape: Shape, parts: &[&Self]) -> Result<Self> {
        let spans = || {
            let mut out = Builder::default();
            for part in parts {
                match &part.data {
                    Data::Spans { store, start } => out.extend(store, *start, part.count()),
                    _ => part.as_strings().iter().try_for_each(|item| out.push(item))?,
                }
            }
            Some(out.finish())
        };
        if parts.iter().any(|p| matches!(p.data, Data::Spans { .. }))
            && let Some(store) = spans()
        {
            return Self::from_spans(shape, Arc::new(store));
        }
        Self::strings(shape, parts.iter().flat_map(|t| t.as_strings().iter().cloned()).collect())
    }

    /// The picked rows of string tensors, `each` strings to a row, under a shape.
    ///
    /// # Errors
    /// `InvalidArgument` if there are not as many as the shape has.
    pub(crate) fn woven_strings(shape: Shape, parts: &[&Self], picks: &[Pick], each: usize) -> Result<Self> {
        let places = |p: &Pick| (p.start * each, p.len * each);
        let spans = || {
            let mut wanted = vec![0; parts.len()];
            picks.iter().for_each(|p| wanted[p.source] += places(p).1);
            let mut out = Builder::default();
            let parts: Vec<_> =
                parts.iter().zip(wanted).map(|(part, n)| part.woven_part(&mut out, n)).collect();
            for p in picks {
                let (at, n) = places(p);
                match &parts[p.source] {
                    Part::Whole(spans, base) => out.extend_shifted(&spans[at..at + n], *base),
                    Part::Some(store, start) => out.extend(store, start + at, n),
                    Part::Items(items) => items[at..at + n].iter().try_for_each(|item| out.push(item))?,
                }
            }
            Some(out.finish())
        };
        if let Some(store) = spans() {
            return Self::from_spans(shape, Arc::new(store));
        }
        let rows = picks.iter().flat_map(|p| {
            let (at, n) = places(p);
            parts[p.source].as_strings()[at..at + n].iter().cloned()
        });
        Self::strings(shape, rows.collect())
    }

    /// How `n` strings of this tensor are woven into others: its buffers are taken over only if they are not more.
    fn woven_part(&self, out: &mut Builder, n: usize) -> Part<'_> {
        match &self.data {
            Data::Spans { store, start } if store.buffers().len() <= n => {
                Part::Whole(&store.spans()[*start..], out.take_buffers(store))
            }
            Data::Spans { store, start } => Part::Some(store, *start),
            _ => Part::Items(self.as_strings()),
        }
    }

    /// Sum of the lengths.
    pub(super) fn strings_byte_len(&self) -> usize {
        match &self.data {
            Data::Spans { store, start } => store.byte_len(*start, self.count()),
            _ => self.as_strings().iter().map(Bytes::len).sum(),
        }
    }

    /// See [`Tensor::detached`].
    pub(super) fn detached_strings(self) -> Self {
        let data = match &self.data {
            Data::String(one) => Data::String(one.clone().detached()),
            Data::Spans { store, start } => match store.detached(*start, self.count()) {
                Some(own) => Data::Spans { store: Arc::new(own), start: 0 },
                None => return self,
            },
            _ => {
                let items = self.as_strings().iter().map(|s| s.clone().detached()).collect();
                Data::Strings { items: Arc::new(items), start: 0 }
            }
        };
        Self { data, ..self }
    }
}

/// See [`Tensor::string_slices`].
enum Slices<'a> {
    Items(std::slice::Iter<'a, Bytes>),
    Spans(&'a Strings, std::slice::Iter<'a, StrSpan>),
}

impl<'a> Iterator for Slices<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        match self {
            Self::Items(items) => items.next().map(Bytes::as_slice),
            Self::Spans(store, spans) => spans.next().map(|s| store.slice(*s)),
        }
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        match self {
            Self::Items(items) => items.size_hint(),
            Self::Spans(_, spans) => spans.size_hint(),
        }
    }
}

impl ExactSizeIterator for Slices<'_> {}

/// Strings that others are woven of.
enum Part<'a> {
    /// Their places, and the number that the first of their buffers has now.
    Whole(&'a [StrSpan], u32),
    /// Some of a store, from a place on.
    Some(&'a Strings, usize),
    /// One by one.
    Items(&'a [Bytes]),
}

fn counted(shape: Shape, found: usize) -> Result<()> {
    if shape.count() == found {
        return Ok(());
    }
    Err(Error::invalid(format!("{found} strings given for shape {shape}")))
}
