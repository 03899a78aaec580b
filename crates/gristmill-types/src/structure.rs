//! Nested tuples, lists and dicts, as `tf.nest` has them.

/// How the components of an element are nested. Leaves are numbered as `tf.nest.flatten` does it:
/// dict values in ascending key order, everything else as written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Structure<T> {
    /// A component.
    Leaf(T),
    /// A tuple.
    Tuple(Vec<Self>),
    /// A list.
    List(Vec<Self>),
    /// A dict; entries in insertion order.
    Dict(Vec<(String, Self)>),
    /// A named tuple: type name, then fields in order.
    Named(String, Vec<(String, Self)>),
    /// No component.
    None,
}

impl<T> Structure<T> {
    /// Indices of a dict's entries in flattening order.
    fn sorted(entries: &[(String, Self)]) -> Vec<usize> {
        let mut order: Vec<usize> = (0..entries.len()).collect();
        order.sort_by(|&a, &b| entries[a].0.cmp(&entries[b].0));
        order
    }

    /// The leaves in flattening order.
    pub fn leaves(&self) -> Vec<&T> {
        fn walk<'a, T>(s: &'a Structure<T>, out: &mut Vec<&'a T>) {
            match s {
                Structure::Leaf(t) => out.push(t),
                Structure::Tuple(items) | Structure::List(items) => items.iter().for_each(|i| walk(i, out)),
                Structure::Dict(entries) => {
                    Structure::sorted(entries).into_iter().for_each(|i| walk(&entries[i].1, out));
                }
                Structure::Named(_, entries) => entries.iter().for_each(|e| walk(&e.1, out)),
                Structure::None => {}
            }
        }
        let mut out = Vec::new();
        walk(self, &mut out);
        out
    }

    /// Number of leaves.
    pub fn count(&self) -> usize {
        self.leaves().len()
    }

    /// The same nesting over other leaves, taken from `next` in flattening order.
    ///
    /// # Errors
    /// What `next` returns.
    pub fn try_map<U, E>(&self, next: &mut impl FnMut(&T) -> Result<U, E>) -> Result<Structure<U>, E> {
        Ok(match self {
            Self::Leaf(t) => Structure::Leaf(next(t)?),
            Self::Tuple(items) => {
                Structure::Tuple(items.iter().map(|i| i.try_map(next)).collect::<Result<_, E>>()?)
            }
            Self::List(items) => {
                Structure::List(items.iter().map(|i| i.try_map(next)).collect::<Result<_, E>>()?)
            }
            Self::Dict(entries) => {
                let mut made: Vec<Option<Structure<U>>> = entries.iter().map(|_| None).collect();
                for i in Self::sorted(entries) {
                    made[i] = Some(entries[i].1.try_map(next)?);
                }
                Structure::Dict(
                    entries.iter().zip(made).filter_map(|(e, m)| m.map(|m| (e.0.clone(), m))).collect(),
                )
            }
            Self::Named(name, entries) => Structure::Named(
                name.clone(),
                entries.iter().map(|(k, v)| Ok((k.clone(), v.try_map(next)?))).collect::<Result<_, E>>()?,
            ),
            Self::None => Structure::None,
        })
    }

    /// The same nesting over other leaves.
    pub fn map<U>(&self, mut f: impl FnMut(&T) -> U) -> Structure<U> {
        let made: Result<_, std::convert::Infallible> = self.try_map(&mut |t| Ok(f(t)));
        match made {
            Ok(s) => s,
            Err(never) => match never {},
        }
    }

    /// Whether both nest alike (dict order apart), whatever the leaves.
    pub fn same_nesting<U>(&self, other: &Structure<U>) -> bool {
        match (self, other) {
            (Self::Leaf(_), Structure::Leaf(_)) | (Self::None, Structure::None) => true,
            (Self::Tuple(a), Structure::Tuple(b)) | (Self::List(a), Structure::List(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x.same_nesting(y))
            }
            (Self::Dict(a), Structure::Dict(b)) => {
                a.len() == b.len()
                    && a.iter().all(|(k, x)| b.iter().any(|(l, y)| k == l && x.same_nesting(y)))
            }
            (Self::Named(n, a), Structure::Named(m, b)) => {
                n == m
                    && a.len() == b.len()
                    && a.iter().zip(b).all(|(x, y)| x.0 == y.0 && x.1.same_nesting(&y.1))
            }
            _ => false,
        }
    }
}

impl<T: std::fmt::Display> std::fmt::Display for Structure<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        fn list<T: std::fmt::Display>(
            f: &mut std::fmt::Formatter<'_>,
            items: &[Structure<T>],
        ) -> std::fmt::Result {
            for (i, item) in items.iter().enumerate() {
                write!(f, "{}{item}", if i > 0 { ", " } else { "" })?;
            }
            Ok(())
        }
        match self {
            Self::Leaf(t) => write!(f, "{t}"),
            Self::Tuple(items) => {
                f.write_str("(")?;
                list(f, items)?;
                f.write_str(if items.len() == 1 { ",)" } else { ")" })
            }
            Self::List(items) => {
                f.write_str("[")?;
                list(f, items)?;
                f.write_str("]")
            }
            Self::Dict(entries) | Self::Named(_, entries) => {
                f.write_str("{")?;
                for (i, (k, v)) in entries.iter().enumerate() {
                    write!(f, "{}{k}: {v}", if i > 0 { ", " } else { "" })?;
                }
                f.write_str("}")
            }
            Self::None => f.write_str("None"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dicts_flatten_by_key_and_keep_their_order() {
        let s = Structure::Dict(vec![
            ("b".into(), Structure::Leaf(1)),
            ("a".into(), Structure::Tuple(vec![Structure::Leaf(2), Structure::Leaf(3)])),
        ]);
        assert_eq!(s.leaves(), vec![&2, &3, &1]);
        let mut n = 0;
        let numbered = s.map(|_| {
            n += 1;
            n
        });
        assert_eq!(numbered.to_string(), "{b: 3, a: (1, 2)}");
        assert!(s.same_nesting(&numbered));
        assert!(!s.same_nesting(&Structure::Leaf(0)));
    }
}
