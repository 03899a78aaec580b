//! Dense tensors over shared memory.

use crate::elements::{self, as_bytes, cast_slice};
use crate::{Buffer, Bytes, DType, Element, Error, Pick, Result, Shape, Strings};
use std::sync::Arc;

/// Plain tensors of at most this many bytes hold them inline.
const INLINE: usize = 16;

/// A dense, row-major tensor. Cloning and taking rows copies no elements.
#[derive(Clone)]
pub struct Tensor {
    dtype: DType,
    shape: Shape,
    data: Data,
}

#[derive(Clone)]
enum Data {
    Inline([u64; INLINE / 8]),
    Shared { buffer: Arc<Buffer>, offset: usize },
    String(Bytes),
    Strings { items: Arc<Vec<Bytes>>, start: usize },
    Spans { store: Arc<Strings>, start: usize },
}

impl Tensor {
    /// A tensor over a whole buffer.
    ///
    /// # Errors
    /// `Internal` if the buffer's length is not that of the shape, or the dtype is string.
    pub fn from_buffer(dtype: DType, shape: Shape, buffer: Buffer) -> Result<Self> {
        Self::from_shared(dtype, shape, Arc::new(buffer), 0)
    }

    /// A tensor over part of a shared buffer, `offset` bytes from its start.
    ///
    /// # Errors
    /// `Internal` if the range lies outside the buffer or the offset is not aligned to the dtype.
    pub fn from_shared(dtype: DType, shape: Shape, buffer: Arc<Buffer>, offset: usize) -> Result<Self> {
        let need = shape.count() * dtype.size();
        if !dtype.is_plain()
            || offset > buffer.len()
            || need > buffer.len() - offset
            || !offset.is_multiple_of(dtype.size())
        {
            return Err(Error::internal(format!(
                "a {dtype} tensor of shape {shape} at byte {offset} does not fit a buffer of {} bytes",
                buffer.len()
            )));
        }
        Ok(Self { dtype, shape, data: Data::Shared { buffer, offset } })
    }

    /// A plain tensor from the raw bytes of its elements (native byte order, bool as 0 or 1).
    ///
    /// # Errors
    /// `InvalidArgument` if the number of bytes is not that of the shape, or the dtype is string.
    pub fn from_bytes(dtype: DType, shape: Shape, bytes: &[u8]) -> Result<Self> {
        if !dtype.is_plain() || shape.count() * dtype.size() != bytes.len() {
            return Err(Error::invalid(format!(
                "{} bytes given for a {dtype} tensor of shape {shape}, which takes {}",
                bytes.len(),
                shape.count() * dtype.size()
            )));
        }
        let data = if bytes.len() <= INLINE {
            let mut inline = [0u64; INLINE / 8];
            elements::as_bytes_mut(&mut inline)[..bytes.len()].copy_from_slice(bytes);
            Data::Inline(inline)
        } else {
            Data::Shared { buffer: Arc::new(Buffer::from_slice(bytes)), offset: 0 }
        };
        Ok(Self { dtype, shape, data })
    }

    /// A tensor with these elements in row-major order.
    ///
    /// # Errors
    /// `InvalidArgument` if there are not as many as the shape has.
    pub fn from_vec<T: Element>(shape: Shape, values: &[T]) -> Result<Self> {
        Self::from_bytes(T::DTYPE, shape, as_bytes(values))
    }

    /// A tensor of shape `[n]`.
    pub fn vector<T: Element>(values: &[T]) -> Self {
        Self::from_vec(Shape::vector(values.len()), values).expect("the shape is made from the values")
    }

    /// A scalar.
    pub fn scalar<T: Element>(value: T) -> Self {
        Self::from_vec(Shape::SCALAR, &[value]).expect("one element")
    }

    /// A bool scalar.
    pub fn bool(value: bool) -> Self {
        Self::from_bytes(DType::Bool, Shape::SCALAR, &[u8::from(value)]).expect("one element")
    }

    /// A tensor of zeros (empty strings).
    pub fn zeros(dtype: DType, shape: Shape) -> Self {
        if dtype == DType::String {
            return Self::strings(shape, vec![Bytes::EMPTY; shape.count()])
                .expect("as many as the shape has");
        }
        Self::from_buffer(dtype, shape, Buffer::zeroed(shape.count() * dtype.size()))
            .expect("sized by the shape")
    }

    /// The dtype.
    #[inline]
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The shape.
    #[inline]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The dimensions, outermost first.
    #[inline]
    pub fn dims(&self) -> &[usize] {
        self.shape.dims()
    }

    /// The number of elements.
    #[inline]
    pub fn count(&self) -> usize {
        self.shape.count()
    }

    /// Size of the elements in bytes; for strings the sum of their lengths.
    pub fn byte_len(&self) -> usize {
        match self.dtype {
            DType::String => self.strings_byte_len(),
            d => self.count() * d.size(),
        }
    }

    /// The raw bytes of a plain tensor; empty for strings.
    pub fn bytes(&self) -> &[u8] {
        let n = self.count() * self.dtype.size();
        match &self.data {
            Data::Inline(raw) => &as_bytes(raw)[..n],
            Data::Shared { buffer, offset } => &buffer.as_slice()[*offset..*offset + n],
            _ => &[],
        }
    }

    /// The elements of a plain tensor.
    ///
    /// # Errors
    /// `Internal` if `T` is not the tensor's element type (`u8` also reads bool).
    pub fn as_slice<T: Element>(&self) -> Result<&[T]> {
        let fits = T::DTYPE == self.dtype || (T::DTYPE == DType::U8 && self.dtype == DType::Bool);
        fits.then(|| cast_slice(self.bytes()))
            .flatten()
            .ok_or_else(|| Error::internal(format!("a {} tensor was read as {}", self.dtype, T::DTYPE)))
    }

    /// The only element.
    ///
    /// # Errors
    /// `InvalidArgument` if there is not exactly one; `Internal` for another element type.
    pub fn item<T: Element>(&self) -> Result<T> {
        match self.as_slice::<T>()? {
            [one] => Ok(*one),
            _ => Err(Error::invalid(format!("expected one element, found shape {}", self.shape))),
        }
    }

    /// The only element of an integer tensor of any width.
    ///
    /// # Errors
    /// `InvalidArgument` if it is not one integer.
    pub fn item_i64(&self) -> Result<i64> {
        match self.to_i64s()?.as_slice() {
            [one] => Ok(*one),
            _ => Err(Error::invalid(format!("expected one integer, found shape {}", self.shape))),
        }
    }

    /// The elements of an integer (or bool) tensor as i64; u64 beyond i64 wraps.
    ///
    /// # Errors
    /// `InvalidArgument` for floats and strings.
    pub fn to_i64s(&self) -> Result<Vec<i64>> {
        macro_rules! widen {
            ($t:ty) => {
                self.as_slice::<$t>()?.iter().map(|&v| v as i64).collect()
            };
        }
        Ok(match self.dtype {
            DType::Bool | DType::U8 => widen!(u8),
            DType::U16 => widen!(u16),
            DType::U32 => widen!(u32),
            DType::U64 => widen!(u64),
            DType::I8 => widen!(i8),
            DType::I16 => widen!(i16),
            DType::I32 => widen!(i32),
            DType::I64 => widen!(i64),
            d => return Err(Error::invalid(format!("expected integers, found {d}"))),
        })
    }

    /// Row `i` along the outermost dimension, sharing memory.
    ///
    /// # Panics
    /// If the tensor is a scalar or `i` is not one of its rows.
    #[must_use]
    pub fn row(&self, i: usize) -> Self {
        assert!(i < self.dims()[0], "row {i} of shape {}", self.shape);
        let shape = self.shape.row();
        self.view(shape, i * shape.count())
    }

    /// Rows `start..start + n` along the outermost dimension, sharing memory.
    ///
    /// # Panics
    /// If the tensor is a scalar or a row is not one of its rows.
    #[must_use]
    pub fn rows(&self, start: usize, n: usize) -> Self {
        assert!(start + n <= self.dims()[0], "rows {start}+{n} of shape {}", self.shape);
        let row = self.shape.row();
        let shape = row.prepend(n).expect("no larger than the tensor itself");
        self.view(shape, start * row.count())
    }

    /// `shape` starting `skip` elements further on. The caller has checked the range.
    fn view(&self, shape: Shape, skip: usize) -> Self {
        let data = match &self.data {
            Data::Inline(_) => {
                let size = self.dtype.size();
                let part = &self.bytes()[skip * size..(skip + shape.count()) * size];
                return Self::from_bytes(self.dtype, shape, part).expect("a part of the elements");
            }
            Data::Shared { buffer, offset } => {
                Data::Shared { buffer: Arc::clone(buffer), offset: offset + skip * self.dtype.size() }
            }
            Data::Strings { items, start } if shape.rank() == 0 => Data::String(items[start + skip].clone()),
            Data::Strings { items, start } => Data::Strings { items: Arc::clone(items), start: start + skip },
            Data::Spans { store, start } if shape.rank() == 0 => Data::String(store.bytes(start + skip)),
            Data::Spans { store, start } => Data::Spans { store: Arc::clone(store), start: start + skip },
            Data::String(one) => Data::String(one.clone()),
        };
        Self { dtype: self.dtype, shape, data }
    }

    /// The rows at these positions along the outermost dimension, copied (strings share memory).
    ///
    /// # Errors
    /// `InvalidArgument` if they are too many to be addressed.
    ///
    /// # Panics
    /// If the tensor is a scalar or a position is not one of its rows.
    pub fn gather_rows(&self, at: &[usize]) -> Result<Self> {
        Self::woven(self, &[self], &Pick::runs(at))
    }

    /// The same elements under another shape, sharing memory.
    ///
    /// # Errors
    /// `InvalidArgument` if the number of elements differs.
    pub fn reshaped(&self, shape: Shape) -> Result<Self> {
        if shape.count() != self.count() {
            return Err(Error::invalid(format!(
                "input to reshape is a tensor with {} values, but the requested shape has {}",
                self.count(),
                shape.count()
            )));
        }
        let mut out = self.clone();
        out.shape = shape;
        Ok(out)
    }

    /// The shared memory of a plain tensor and the offset in it, if it is not held inline.
    pub fn shared(&self) -> Option<(&Arc<Buffer>, usize)> {
        match &self.data {
            Data::Shared { buffer, offset } => Some((buffer, *offset)),
            _ => None,
        }
    }

    /// The tensor with its elements in shared memory rather than inline, so that their address
    /// stays while the value moves. Strings are unchanged.
    #[must_use]
    pub fn pinned(self) -> Self {
        match &self.data {
            Data::Inline(_) => {
                let buffer = Arc::new(Buffer::from_slice(self.bytes()));
                Self { data: Data::Shared { buffer, offset: 0 }, ..self }
            }
            _ => self,
        }
    }

    /// The tensor in memory of its own unless it fills more than half of what it shares: see
    /// [`Bytes::detached`].
    #[must_use]
    pub fn detached(self) -> Self {
        match &self.data {
            Data::Shared { buffer, .. } if self.byte_len() < buffer.len() / 2 => {
                Self::from_bytes(self.dtype, self.shape, self.bytes()).expect("its own bytes")
            }
            Data::String(_) | Data::Strings { .. } | Data::Spans { .. } => self.detached_strings(),
            _ => self,
        }
    }

    /// Joins tensors of equal dtype and shape along a new outermost dimension.
    ///
    /// # Errors
    /// `InvalidArgument` naming the first tensor that differs from the first.
    pub fn stack(rows: &[Self]) -> Result<Self> {
        let first = rows.first().ok_or_else(|| Error::invalid("stack of no tensors"))?;
        for (i, t) in rows.iter().enumerate() {
            if t.shape != first.shape || t.dtype != first.dtype {
                return Err(Error::invalid(format!(
                    "tensor {i} is {} {}, the first is {} {}",
                    t.dtype, t.shape, first.dtype, first.shape
                )));
            }
        }
        let shape = first.shape.prepend(rows.len())?;
        if first.dtype == DType::String {
            return Self::concat_strings(shape, &rows.iter().collect::<Vec<_>>());
        }
        let size = first.byte_len();
        let mut buffer = Buffer::recycled(size * rows.len());
        for (t, out) in rows.iter().zip(buffer.as_mut_slice().chunks_exact_mut(size.max(1))) {
            out.copy_from_slice(t.bytes());
        }
        Self::from_buffer(first.dtype, shape, buffer)
    }
}

impl PartialEq for Tensor {
    /// Equal dtype, shape and bytes (floats bit for bit).
    fn eq(&self, other: &Self) -> bool {
        self.dtype == other.dtype
            && self.shape == other.shape
            && self.bytes() == other.bytes()
            && self.string_slices().eq(other.string_slices())
    }
}

impl std::fmt::Debug for Tensor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{} ", self.dtype, self.shape)?;
        if self.dtype == DType::String {
            return f.debug_list().entries(self.as_strings().iter().take(8)).finish();
        }
        crate::with_element!(self.dtype, T => f.debug_list().entries(self.as_slice::<T>().unwrap_or(&[]).iter().take(16)).finish(), _ => Ok(()))
    }
}

mod strings;
#[cfg(test)]
mod tests;
