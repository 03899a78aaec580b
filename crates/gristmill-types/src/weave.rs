//! Elements of several blocks in turn, as one block.

use crate::{Block, Buffer, Column, DType, Ids, Result, StrSpan, Tensor};
use std::sync::Arc;

/// Consecutive elements of one of several blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pick {
    /// Which block.
    pub source: usize,
    /// Its first element.
    pub start: usize,
    /// How many.
    pub len: usize,
}

impl Pick {
    /// Elements of the first block, in this order.
    pub(crate) fn runs(at: &[usize]) -> Vec<Self> {
        let mut runs: Vec<Self> = Vec::new();
        for &i in at {
            match runs.last_mut() {
                Some(last) if last.start + last.len == i => last.len += 1,
                _ => runs.push(Self { source: 0, start: i, len: 1 }),
            }
        }
        runs
    }

    fn rows(self) -> std::ops::Range<usize> {
        self.start..self.start + self.len
    }
}

impl Tensor {
    /// The picked rows of tensors that are alike but for the number of their rows, copied (strings share memory);
    /// `first` is one of the tensors.
    ///
    /// # Errors
    /// `InvalidArgument` if they are too many to be addressed.
    ///
    /// # Panics
    /// If they are scalars, or not that many.
    pub(crate) fn woven(first: &Self, tensors: &[&Self], picks: &[Pick]) -> Result<Self> {
        let shape = first.shape().row().prepend(picks.iter().map(|p| p.len).sum())?;
        let each = first.shape().row().count();
        if first.dtype() == DType::String {
            return Self::woven_strings(shape, tensors, picks, each);
        }
        let each = each * first.dtype().size();
        let mut buffer = Buffer::recycled(shape.count() * first.dtype().size());
        let mut at = 0;
        for p in picks {
            let (from, n) = (p.start * each, p.len * each);
            buffer.as_mut_slice()[at..at + n].copy_from_slice(&tensors[p.source].bytes()[from..from + n]);
            at += n;
        }
        Self::from_buffer(first.dtype(), shape, buffer)
    }
}

impl Block {
    /// The picked elements of the blocks, which have equally many columns, one after the other; errors of the blocks
    /// are left out. Strings and long rows share their memory.
    ///
    /// # Errors
    /// `Internal` if memory cannot be laid out.
    pub fn woven(sources: &[Arc<Self>], picks: &[Pick]) -> Result<Self> {
        let len = picks.iter().map(|p| p.len).sum();
        let width = sources.first().map_or(0, |s| s.columns.len());
        let columns = (0..width)
            .map(|c| {
                let columns: Vec<&Column> = sources.iter().map(|s| &s.columns[c]).collect();
                column(&columns, picks)
            })
            .collect::<Result<_>>()?;
        let sources: Vec<&Ids> = sources.iter().map(|s| &s.ids).collect();
        Ok(Self::new(len, columns, Ids::woven(&sources, picks)))
    }
}

impl Ids {
    /// The ids of the picked elements.
    pub(crate) fn woven(sources: &[&Self], picks: &[Pick]) -> Self {
        if sources.iter().all(|ids| matches!(ids, Self::None)) {
            return Self::None;
        }
        if sources.iter().any(|ids| matches!(ids, Self::List(_))) {
            // A list is not shared: only what was picked is taken from it.
            let all = picks.iter().flat_map(|p| p.rows().map(|row| sources[p.source].get(row)));
            return Self::List(all.collect());
        }
        // Blocks have a few thousand elements at most.
        let rows = picks.iter().flat_map(|p| p.rows().map(|row| (p.source as u32, row as u32)));
        let sources = Arc::new(sources.iter().map(|&ids| ids.clone()).collect());
        Self::Woven { sources, rows: rows.collect(), at: 0 }
    }
}

/// Whether a row of such a tensor is copied at less than it costs to share it: the places of its strings, or its bytes.
fn is_short(t: &Tensor) -> bool {
    const SHORT: usize = 4096;
    let place = if t.dtype() == DType::String { size_of::<StrSpan>() } else { t.dtype().size() };
    t.shape().row().count() * place <= SHORT
}

fn column(columns: &[&Column], picks: &[Pick]) -> Result<Column> {
    let mut tensors = Vec::with_capacity(columns.len());
    for column in columns {
        if let Column::Uniform(t) = column {
            tensors.push(t);
        }
    }
    let shared = || picks.iter().flat_map(|p| p.rows().map(|row| columns[p.source].get(row))).collect();
    if !tensors.iter().all(|t| is_short(t)) {
        return Ok(Column::Varied(shared()));
    }
    if let [first, rest @ ..] = &tensors[..]
        && tensors.len() == columns.len()
        && rest.iter().all(|t| t.dtype() == first.dtype() && t.dims()[1..] == first.dims()[1..])
    {
        return Ok(Column::Uniform(Tensor::woven(first, &tensors, picks)?));
    }
    Ok(Column::from_values(shared()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bytes, Id, Key, Origin, Shape, Strings, Value};

    fn pick(source: usize, start: usize, len: usize) -> Pick {
        Pick { source, start, len }
    }

    fn numbers(from: i64, n: usize) -> Column {
        let values: Vec<i64> = (from..from + 2 * n as i64).collect();
        Column::Uniform(Tensor::from_vec(Shape::new(&[n, 2]).unwrap(), &values).unwrap())
    }

    fn strings(items: &[&str], one_by_one: bool) -> Column {
        let items: Vec<Bytes> = items.iter().map(|&s| s.into()).collect();
        let shape = Shape::vector(items.len());
        Column::Uniform(if one_by_one {
            Tensor::string_vector(items)
        } else {
            Tensor::from_spans(shape, Arc::new(Strings::from_items(&items).unwrap())).unwrap()
        })
    }

    #[test]
    fn every_kind_of_column_is_woven() {
        for one_by_one in [false, true] {
            let a = Block::new(
                3,
                vec![numbers(0, 3), strings(&["a", "", "ccc"], false)],
                Ids::Run { root: Key(1), first: 10 },
            );
            let b = Block::new(2, vec![numbers(100, 2), strings(&["x", "yy"], one_by_one)], Ids::None);
            let sources = [Arc::new(a), Arc::new(b)];
            let picks = [pick(0, 1, 1), pick(1, 0, 2), pick(0, 2, 1), pick(0, 0, 2)];
            let woven = Block::woven(&sources, &picks).unwrap();
            assert_eq!((woven.len, woven.columns.len()), (6, 2));
            let order = [(0, 1), (1, 0), (1, 1), (0, 2), (0, 0), (0, 1)];
            for (i, (source, row)) in order.into_iter().enumerate() {
                let from: &Block = &sources[source];
                assert_eq!(woven.element(i), from.element(row), "element {i}");
                assert_eq!(woven.ids.get(i), from.ids.get(row), "id {i}");
                assert_eq!(woven.ids.slice(i, 1).key(0), from.ids.key(row), "key {i}");
            }
            assert!(woven.columns.iter().all(|c| matches!(c, Column::Uniform(_))));
            // What is woven can be woven again.
            let twice = Block::woven(&[Arc::new(woven.clone())], &[pick(0, 4, 2), pick(0, 0, 1)]).unwrap();
            assert_eq!(twice.element(2), woven.element(0));
            assert_eq!(
                (0..3).map(|i| twice.ids.key(i)).collect::<Vec<_>>(),
                [Key(1).at(10), Key(1).at(11), Key(1).at(11)]
            );
        }
    }

    #[test]
    fn long_rows_are_not_copied() {
        let row = |from: i64| (from..from + 600).collect::<Vec<i64>>();
        let long = |from: i64| {
            let values = [row(from), row(from + 600)].concat();
            Column::Uniform(Tensor::from_vec(Shape::new(&[2, 600]).unwrap(), &values).unwrap())
        };
        let sources = [0, 1000].map(|from| Arc::new(Block::new(2, vec![long(from)], Ids::None)));
        let woven = Block::woven(&sources, &[pick(0, 0, 1), pick(1, 0, 2), pick(0, 1, 1)]).unwrap();
        for (i, (source, n, from)) in
            [(0, 0, 0), (1, 0, 1000), (1, 1, 1600), (0, 1, 600)].into_iter().enumerate()
        {
            let (got, shared) = (woven.columns[0].get(i), sources[source].columns[0].get(n));
            let (got, shared) = (got.tensor().unwrap(), shared.tensor().unwrap());
            assert_eq!(got, &Tensor::vector(&row(from)));
            assert_eq!(got.bytes().as_ptr(), shared.bytes().as_ptr(), "element {i}");
        }
        // Rows of two lengths as they are.
        let other = Arc::new(Block::new(1, vec![numbers(7, 1)], Ids::None));
        let woven = Block::woven(&[Arc::clone(&sources[0]), other], &[pick(1, 0, 1), pick(0, 1, 1)]).unwrap();
        assert_eq!((woven.element(0), woven.element(1).len()), (vec![numbers(7, 1).get(0)], 1));
    }

    #[test]
    fn only_what_is_picked_is_kept() {
        let many: Vec<String> = (0..100).map(|i| i.to_string()).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let ids = |n: u128| Ids::List((0..n).map(|i| Id { key: Key(i), origin: Origin::None }).collect());
        let a = Arc::new(Block::new(100, vec![strings(&many, false)], ids(100)));
        let b = Arc::new(Block::new(1, vec![strings(&["b"], false)], ids(1)));
        let woven = Block::woven(&[a, b], &[pick(0, 7, 1), pick(1, 0, 1), pick(0, 99, 1)]).unwrap();
        let Column::Uniform(t) = &woven.columns[0] else { panic!("strings are uniform") };
        assert_eq!(t.string_slices().collect::<Vec<_>>(), [&b"7"[..], b"b", b"99"]);
        assert_eq!(t.spans().unwrap().0.buffers().len(), 3);
        let Ids::List(ids) = &woven.ids else { panic!("lists make a list") };
        assert_eq!(ids.iter().map(|id| id.key).collect::<Vec<_>>(), [Key(7), Key(0), Key(99)]);
    }

    #[test]
    fn neighbours_are_one_pick() {
        assert_eq!(Pick::runs(&[4, 5, 6, 6, 1, 2]), [pick(0, 4, 3), pick(0, 6, 1), pick(0, 1, 2)]);
        assert_eq!(Pick::runs(&[]), []);
    }

    #[test]
    fn unlike_elements_vary() {
        let a = Block::new(1, vec![Column::Uniform(Tensor::vector(&[1i64]))], Ids::None);
        let b = Block::new(1, vec![numbers(0, 1)], Ids::None);
        let woven = Block::woven(&[Arc::new(a), Arc::new(b)], &[pick(1, 0, 1), pick(0, 0, 1)]).unwrap();
        assert!(matches!(&woven.columns[0], Column::Varied(v) if v.len() == 2));
        assert_eq!(woven.element(1), [Value::Tensor(Tensor::scalar(1i64))]);
        assert_eq!(woven.ids, Ids::None);
    }
}
