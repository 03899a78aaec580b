//! Elements of several blocks in turn, as one block.

use crate::{Block, Buffer, Column, DType, Ids, Result, Tensor, Value};
use std::sync::Arc;

/// Consecutive elements of one of several blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pick {
    /// Which block.
    pub source: u32,
    /// Its first element.
    pub start: u32,
    /// How many.
    pub len: u32,
}

impl Pick {
    fn rows(self) -> std::ops::Range<usize> {
        self.start as usize..(self.start + self.len) as usize
    }
}

impl Block {
    /// The picked elements of the blocks, which have equally many columns, one after the other; errors of the blocks
    /// are left out. Strings share their memory.
    ///
    /// # Errors
    /// `Internal` if memory cannot be laid out.
    pub fn woven(sources: &[Arc<Self>], picks: &[Pick]) -> Result<Self> {
        let len = picks.iter().map(|p| p.len as usize).sum();
        let width = sources.first().map_or(0, |s| s.columns.len());
        let columns = (0..width)
            .map(|c| {
                let columns: Vec<&Column> = sources.iter().map(|s| &s.columns[c]).collect();
                column(&columns, picks, len)
            })
            .collect::<Result<_>>()?;
        Ok(Self::new(len, columns, ids(sources, picks)))
    }
}

fn ids(sources: &[Arc<Block>], picks: &[Pick]) -> Ids {
    if sources.iter().all(|s| matches!(s.ids, Ids::None)) {
        return Ids::None;
    }
    if sources.iter().any(|s| matches!(s.ids, Ids::List(_))) {
        // A list is not shared: only what was picked is taken from it.
        let all = picks.iter().flat_map(|p| p.rows().map(|row| sources[p.source as usize].ids.get(row)));
        return Ids::List(all.collect());
    }
    let rows = picks.iter().flat_map(|p| p.rows().map(|row| (p.source, row as u32)));
    let sources = Arc::new(sources.iter().map(|s| s.ids.clone()).collect());
    Ids::Woven { sources, rows: rows.collect(), at: 0 }
}

fn column(columns: &[&Column], picks: &[Pick], len: usize) -> Result<Column> {
    let mut tensors = Vec::with_capacity(columns.len());
    for column in columns {
        if let Column::Uniform(t) = column {
            tensors.push(t);
        }
    }
    if let [first, rest @ ..] = &tensors[..]
        && tensors.len() == columns.len()
        && rest.iter().all(|t| t.dtype() == first.dtype() && t.dims()[1..] == first.dims()[1..])
    {
        return Ok(Column::Uniform(tensor(first, &tensors, picks, len)?));
    }
    let values: Vec<Value> =
        picks.iter().flat_map(|p| p.rows().map(|row| columns[p.source as usize].get(row))).collect();
    Ok(Column::from_values(values))
}

/// Rows of tensors that are alike but for their number; `first` is one of them.
fn tensor(first: &Tensor, tensors: &[&Tensor], picks: &[Pick], len: usize) -> Result<Tensor> {
    let shape = first.shape().row().prepend(len)?;
    let each = first.shape().row().count();
    if first.dtype() == DType::String {
        return Tensor::woven_strings(shape, tensors, picks, each);
    }
    let each = each * first.dtype().size();
    let mut buffer = Buffer::recycled(len * each);
    let mut at = 0;
    for p in picks {
        let (from, n) = (p.start as usize * each, p.len as usize * each);
        buffer.as_mut_slice()[at..at + n]
            .copy_from_slice(&tensors[p.source as usize].bytes()[from..from + n]);
        at += n;
    }
    Tensor::from_buffer(first.dtype(), shape, buffer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bytes, Id, Key, Origin, Shape, Strings};

    fn pick(source: u32, start: u32, len: u32) -> Pick {
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
    fn unlike_elements_vary() {
        let a = Block::new(1, vec![Column::Uniform(Tensor::vector(&[1i64]))], Ids::None);
        let b = Block::new(1, vec![numbers(0, 1)], Ids::None);
        let woven = Block::woven(&[Arc::new(a), Arc::new(b)], &[pick(1, 0, 1), pick(0, 0, 1)]).unwrap();
        assert!(matches!(&woven.columns[0], Column::Varied(v) if v.len() == 2));
        assert_eq!(woven.element(1), [Value::Tensor(Tensor::scalar(1i64))]);
        assert_eq!(woven.ids, Ids::None);
    }
}
