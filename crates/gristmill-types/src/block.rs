//! Blocks: consecutive elements as columns.

use crate::{Error, Key, Pick, Result, Tensor, Value};
use std::sync::Arc;

/// One component of the elements of a block.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// A dense tensor `[n, ...]`: row `i` is the component of element `i`.
    Uniform(Tensor),
    /// Each element's value on its own: shapes differ, or the values are not dense.
    Varied(Vec<Value>),
}

impl Column {
    /// Number of elements.
    pub fn len(&self) -> usize {
        match self {
            Self::Uniform(t) => t.dims()[0],
            Self::Varied(v) => v.len(),
        }
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The component of element `i`, sharing memory.
    pub fn get(&self, i: usize) -> Value {
        match self {
            Self::Uniform(t) => Value::Tensor(t.row(i)),
            Self::Varied(v) => v[i].clone(),
        }
    }

    /// Elements `start..start + n`, sharing memory.
    #[must_use]
    pub fn slice(&self, start: usize, n: usize) -> Self {
        match self {
            Self::Uniform(t) => Self::Uniform(t.rows(start, n)),
            Self::Varied(v) => Self::Varied(v[start..start + n].to_vec()),
        }
    }

    /// The elements at these positions.
    ///
    /// # Errors
    /// `Internal` if memory cannot be laid out.
    pub fn gather(&self, at: &[usize]) -> Result<Self> {
        Ok(match self {
            Self::Uniform(t) => Self::Uniform(t.gather_rows(at)?),
            Self::Varied(v) => Self::Varied(at.iter().map(|&i| v[i].clone()).collect()),
        })
    }

    /// A column of these values: uniform if all are dense and alike.
    pub fn from_values(values: Vec<Value>) -> Self {
        match Value::stack(&values) {
            Ok(Value::Tensor(t)) => Self::Uniform(t),
            _ => Self::Varied(values),
        }
    }

    /// Bytes of all values.
    pub fn byte_len(&self) -> usize {
        match self {
            Self::Uniform(t) => t.byte_len(),
            Self::Varied(v) => v.iter().map(Value::byte_len).sum(),
        }
    }
}

/// Where an element comes from, for messages.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Origin {
    /// Nothing worth naming.
    #[default]
    None,
    /// A record of a file.
    Record {
        /// The file as the user named it.
        file: Arc<str>,
        /// Position among the file's records, from 0.
        index: u64,
        /// Byte offset of the record's header.
        offset: u64,
    },
}

/// Who an element is and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Id {
    /// What random ops draw from.
    pub key: Key,
    /// What messages name.
    pub origin: Origin,
}

/// The ids of a block's elements, kept only where a random op or a message needs them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ids {
    /// Nobody asks.
    None,
    /// Element `i` has the key `root.at(first + i)`.
    Run {
        /// Root of the source.
        root: Key,
        /// Ordinal of the block's first element.
        first: u64,
    },
    /// Consecutive records of one file; keys as in `Run`.
    Records {
        /// Root of the source.
        root: Key,
        /// Ordinal of the block's first element at the source.
        first: u64,
        /// The file as the user named it.
        file: Arc<str>,
        /// Position of the block's first element among the file's records.
        index: u64,
        /// Byte offsets of the record headers; element `i` is at `offsets[at + i]`.
        offsets: Arc<Vec<u64>>,
        /// See `offsets`.
        at: usize,
    },
    /// One by one.
    List(Vec<Id>),
    /// Element `i` is that of block and element `rows[at + i]`.
    Woven {
        /// The blocks.
        sources: Arc<Vec<Self>>,
        /// Number of the block, and of the element in it.
        rows: Arc<[(u32, u32)]>,
        /// See `rows`.
        at: usize,
    },
}

impl Ids {
    /// The id of element `i`.
    pub fn get(&self, i: usize) -> Id {
        match self {
            Self::None => Id::default(),
            Self::Run { root, first } => Id { key: root.at(first + i as u64), origin: Origin::None },
            Self::Records { root, first, file, index, offsets, at } => Id {
                key: root.at(first + i as u64),
                origin: Origin::Record {
                    file: Arc::clone(file),
                    index: index + i as u64,
                    offset: offsets[at + i],
                },
            },
            Self::List(ids) => ids[i].clone(),
            Self::Woven { sources, rows, at } => {
                let (source, row) = rows[at + i];
                sources[source as usize].get(row as usize)
            }
        }
    }

    /// The key of element `i`.
    pub fn key(&self, i: usize) -> Key {
        match self {
            Self::None => Key::default(),
            Self::Run { root, first } | Self::Records { root, first, .. } => root.at(first + i as u64),
            Self::List(ids) => ids[i].key,
            Self::Woven { sources, rows, at } => {
                let (source, row) = rows[at + i];
                sources[source as usize].key(row as usize)
            }
        }
    }

    /// The ids of elements `start..start + n`.
    #[must_use]
    pub fn slice(&self, start: usize, n: usize) -> Self {
        match self {
            Self::None => Self::None,
            Self::Run { root, first } => Self::Run { root: *root, first: first + start as u64 },
            Self::Records { root, first, file, index, offsets, at } => Self::Records {
                root: *root,
                first: first + start as u64,
                file: Arc::clone(file),
                index: index + start as u64,
                offsets: Arc::clone(offsets),
                at: at + start,
            },
            Self::List(ids) => Self::List(ids[start..start + n].to_vec()),
            Self::Woven { sources, rows, at } => {
                Self::Woven { sources: Arc::clone(sources), rows: Arc::clone(rows), at: at + start }
            }
        }
    }

    /// The ids at these positions.
    #[must_use]
    pub fn gather(&self, at: &[usize]) -> Self {
        match self {
            Self::None => Self::None,
            other => Self::List(at.iter().map(|&i| other.get(i)).collect()),
        }
    }

    /// The ids of `n` elements with every key changed by `f`.
    #[must_use]
    pub fn map_keys(&self, n: usize, f: impl Fn(usize, Key) -> Key) -> Self {
        match self {
            Self::None => Self::None,
            other => Self::List(
                (0..n)
                    .map(|i| {
                        let id = other.get(i);
                        Id { key: f(i, id.key), origin: id.origin }
                    })
                    .collect(),
            ),
        }
    }
}

/// Consecutive elements of a stage, then perhaps the error that came right after them.
#[derive(Clone, Debug)]
pub struct Block {
    /// Number of elements.
    pub len: usize,
    /// One column per leaf of the element's structure.
    pub columns: Vec<Column>,
    /// Who the elements are.
    pub ids: Ids,
    /// What came right after the last element. The stream goes on behind it.
    pub failed: Option<Error>,
}

impl Block {
    /// A block of `len` elements without an error.
    pub fn new(len: usize, columns: Vec<Column>, ids: Ids) -> Self {
        Self { len, columns, ids, failed: None }
    }

    /// No element, only an error.
    pub fn error(error: Error) -> Self {
        Self { len: 0, columns: Vec::new(), ids: Ids::None, failed: Some(error) }
    }

    /// Number of outcomes: elements and the error.
    #[inline]
    pub fn outcomes(&self) -> usize {
        self.len + usize::from(self.failed.is_some())
    }

    /// The components of element `i`, sharing memory.
    pub fn element(&self, i: usize) -> Vec<Value> {
        self.columns.iter().map(|c| c.get(i)).collect()
    }

    /// Outcomes `start..start + n`, the error being the outcome after the last element.
    #[must_use]
    pub fn outcome_slice(&self, start: usize, n: usize) -> Self {
        let end = (start + n).min(self.len);
        let len = end.saturating_sub(start);
        if len == 0 {
            return Self { failed: self.failed.clone(), ..Self::new(0, Vec::new(), Ids::None) };
        }
        if start == 0 && len == self.len && (n > self.len || self.failed.is_none()) {
            return self.clone();
        }
        Self {
            len,
            columns: self.columns.iter().map(|c| c.slice(start, len)).collect(),
            ids: self.ids.slice(start, len),
            failed: if start + n > self.len { self.failed.clone() } else { None },
        }
    }

    /// Consecutive blocks as one, sharing their memory. Only the last may have an error.
    #[must_use]
    pub fn joined(mut parts: Vec<Self>) -> Self {
        if parts.len() == 1
            && let Some(only) = parts.pop()
        {
            return only;
        }
        let failed = parts.last_mut().and_then(|p| p.failed.take());
        parts.retain(|p| p.len > 0);
        let width = parts.first().map_or(0, |p| p.columns.len());
        let rows = |c: usize| parts.iter().flat_map(move |p| (0..p.len).map(move |i| p.columns[c].get(i)));
        let columns = (0..width).map(|c| Column::Varied(rows(c).collect())).collect();
        let whole = |(source, p): (usize, &Self)| Pick { source, start: 0, len: p.len };
        let picks: Vec<Pick> = parts.iter().enumerate().map(whole).collect();
        let ids = Ids::woven(&parts.iter().map(|p| &p.ids).collect::<Vec<_>>(), &picks);
        Self { len: parts.iter().map(|p| p.len).sum(), columns, ids, failed }
    }

    /// Only the elements at these positions (ascending); the error stays last.
    ///
    /// # Errors
    /// As [`Column::gather`].
    pub fn select(self, at: &[usize]) -> Result<Self> {
        if at.len() == self.len {
            return Ok(self);
        }
        Ok(Self {
            len: at.len(),
            columns: self.columns.iter().map(|c| c.gather(at)).collect::<Result<_>>()?,
            ids: self.ids.gather(at),
            failed: self.failed,
        })
    }

    /// Bytes of all columns.
    pub fn byte_len(&self) -> usize {
        self.columns.iter().map(Column::byte_len).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Shape;

    #[test]
    fn joined_blocks_are_their_elements_in_order() {
        let part = |values: &[i64], first| {
            Block::new(
                values.len(),
                vec![Column::Uniform(Tensor::vector(values))],
                Ids::Run { root: Key(9), first },
            )
        };
        let mut last = part(&[7], 3);
        last.failed = Some(Error::invalid("x"));
        let all = Block::joined(vec![part(&[4, 5], 0), part(&[6], 2), last.clone()]);
        assert_eq!((all.len, all.outcomes()), (4, 5));
        let values: Vec<Value> = (0..4).map(|i| all.columns[0].get(i)).collect();
        assert_eq!(values, [4i64, 5, 6, 7].map(|x| Value::Tensor(Tensor::scalar(x))));
        assert_eq!((0..4).map(|i| all.ids.key(i)).collect::<Vec<_>>(), [0, 1, 2, 3].map(|i| Key(9).at(i)));
        let end = Block::joined(vec![part(&[4], 0), Block::error(Error::invalid("y"))]);
        assert_eq!((end.len, end.outcomes(), end.columns[0].len()), (1, 2, 1));
        assert!(matches!(Block::joined(vec![last]).columns[0], Column::Uniform(_)));
        let none =
            Block::joined(vec![Block::new(1, Vec::new(), Ids::None), Block::new(2, Vec::new(), Ids::None)]);
        assert_eq!((none.len, none.ids), (3, Ids::None));
    }

    #[test]
    fn select_keeps_values_ids_and_error() {
        let t = Tensor::from_vec(Shape::new(&[4, 2]).unwrap(), &[0i64, 1, 2, 3, 4, 5, 6, 7]).unwrap();
        let mut b = Block::new(4, vec![Column::Uniform(t)], Ids::Run { root: Key(9), first: 10 });
        b.failed = Some(Error::invalid("x"));
        let s = b.clone().select(&[1, 3]).unwrap();
        assert_eq!(s.element(1), vec![Value::Tensor(Tensor::vector(&[6i64, 7]))]);
        assert_eq!(s.ids.key(1), Key(9).at(13));
        assert_eq!(s.outcomes(), 3);
        assert!(b.outcome_slice(0, 4).failed.is_none() && b.outcome_slice(2, 3).failed.is_some());
        let last = b.outcome_slice(4, 1);
        assert_eq!((last.len, last.outcomes()), (0, 1));
    }

    #[test]
    fn columns_of_unlike_shapes_vary() {
        let c = Column::from_values(vec![Tensor::vector(&[1u8]).into(), Tensor::vector(&[1u8, 2]).into()]);
        assert!(matches!(c, Column::Varied(_)) && c.len() == 2);
    }
}
