//! Values of one feature, one record after the other.

use crate::list::{List, ListKind, each_bytes, each_float_run, each_int, floats};
use crate::parse::fault::{Fault, FaultIn, What};
use crate::parse::locate::Found;
use crate::wire::Malformed;
use gristmill_types::{Bytes, DType, Result, Shape, Tensor};

/// Values of any of the three kinds.
#[derive(Clone, Debug)]
pub(crate) enum Flat {
    Ints(Vec<i64>),
    Floats(Vec<f32>),
    Strings(Vec<Bytes>),
}

impl Flat {
    /// No values of that dtype; the parser has checked that lists can hold it.
    pub(crate) fn new(dtype: DType) -> Self {
        match ListKind::of(dtype) {
            Some(ListKind::Bytes) => Self::Strings(Vec::new()),
            Some(ListKind::Floats) => Self::Floats(Vec::new()),
            _ => Self::Ints(Vec::new()),
        }
    }

    pub(crate) fn kind(&self) -> ListKind {
        match self {
            Self::Ints(_) => ListKind::Ints,
            Self::Floats(_) => ListKind::Floats,
            Self::Strings(_) => ListKind::Bytes,
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Ints(v) => v.len(),
            Self::Floats(v) => v.len(),
            Self::Strings(v) => v.len(),
        }
    }

    /// Appends the values of a list of this very kind. Strings share the record's memory.
    fn append(&mut self, record: &Bytes, list: List) -> Result<(), Malformed> {
        match self {
            Self::Ints(v) => each_int(record, list.range(), |i| v.push(i)),
            Self::Floats(v) => each_float_run(record, list.range(), |run| v.extend(floats(run))),
            Self::Strings(v) => each_bytes(record, list.range(), |r| v.push(record.slice(r.start, r.len()))),
        }
    }

    /// Appends what was found for a slot; returns the number of values, 0 for an absent key.
    ///
    /// # Errors
    /// For another kind of list and for bytes that are no list.
    pub(crate) fn take(
        &mut self,
        record: &Bytes,
        found: Found,
        slot: usize,
        dense: bool,
    ) -> Result<usize, Fault> {
        let fault = |what| FaultIn::boxed(slot, self.kind().dtype(), what);
        match found {
            Found::Absent => Ok(0),
            Found::Broken(m) => Err(fault(What::Broken(m))),
            Found::List(list) if list.kind != self.kind() => {
                Err(fault(What::Kind { found: list.kind, dense }))
            }
            Found::List(list) => {
                let before = self.len();
                let dtype = self.kind().dtype();
                self.append(record, list).map_err(|m| FaultIn::boxed(slot, dtype, What::Broken(m)))?;
                Ok(self.len() - before)
            }
        }
    }

    /// Appends `n` times the scalar, or zero or the empty string.
    fn pad(&mut self, n: usize, with: Option<&Tensor>) {
        match self {
            Self::Ints(v) => {
                v.resize(v.len() + n, with.and_then(|t| t.item::<i64>().ok()).unwrap_or(0));
            }
            Self::Floats(v) => {
                v.resize(v.len() + n, with.and_then(|t| t.item::<f32>().ok()).unwrap_or(0.0));
            }
            Self::Strings(v) => {
                let with = with.and_then(|t| t.as_strings().first().cloned()).unwrap_or(Bytes::EMPTY);
                v.resize(v.len() + n, with);
            }
        }
    }

    fn extend_from(&mut self, other: &Self, start: usize, end: usize) {
        match (self, other) {
            (Self::Ints(a), Self::Ints(b)) => a.extend_from_slice(&b[start..end]),
            (Self::Floats(a), Self::Floats(b)) => a.extend_from_slice(&b[start..end]),
            (Self::Strings(a), Self::Strings(b)) => a.extend_from_slice(&b[start..end]),
            _ => {}
        }
    }

    /// Rows of `counts[i]` values each, all brought to `longest` values by padding.
    pub(crate) fn padded(self, counts: &[usize], longest: usize, with: Option<&Tensor>) -> Self {
        if counts.iter().all(|&c| c == longest) {
            return self;
        }
        let mut out = Self::new(self.kind().dtype());
        let mut start = 0;
        for &count in counts {
            out.extend_from(&self, start, start + count);
            out.pad(longest - count, with);
            start += count;
        }
        out
    }

    /// The values in another order: position `i` takes value `order[i]`.
    pub(crate) fn reordered(self, order: &[usize]) -> Self {
        match self {
            Self::Ints(v) => Self::Ints(order.iter().map(|&i| v[i]).collect()),
            Self::Floats(v) => Self::Floats(order.iter().map(|&i| v[i]).collect()),
            Self::Strings(v) => Self::Strings(order.iter().map(|&i| v[i].clone()).collect()),
        }
    }

    /// The values as a tensor.
    ///
    /// # Errors
    /// `InvalidArgument` if the shape has another number of elements.
    pub(crate) fn into_tensor(self, shape: Shape) -> Result<Tensor> {
        match self {
            Self::Ints(v) => Tensor::from_vec(shape, &v),
            Self::Floats(v) => Tensor::from_vec(shape, &v),
            Self::Strings(v) => Tensor::strings(shape, v),
        }
    }

    /// The values as a vector.
    pub(crate) fn into_vector(self) -> Tensor {
        match self {
            Self::Ints(v) => Tensor::vector(&v),
            Self::Floats(v) => Tensor::vector(&v),
            Self::Strings(v) => Tensor::string_vector(v),
        }
    }
}

/// Values of one slot over some records.
#[derive(Clone, Debug)]
pub(crate) struct Lists {
    /// All values, record after record.
    pub(crate) flat: Flat,
    /// Number of values of each record.
    pub(crate) counts: Vec<usize>,
}
