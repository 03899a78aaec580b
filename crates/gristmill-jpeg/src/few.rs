//! A list of at most four, without an allocation: there are no more components.

use std::ops::{Deref, DerefMut};

/// Up to four values.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Few<T> {
    all: [T; 4],
    count: usize,
}

impl<T> Deref for Few<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.all[..self.count]
    }
}

impl<T> DerefMut for Few<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.all[..self.count]
    }
}

impl<T: Default> FromIterator<T> for Few<T> {
    /// The first four.
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut few = Self { all: Default::default(), count: 0 };
        for (to, value) in few.all.iter_mut().zip(values) {
            *to = value;
            few.count += 1;
        }
        few
    }
}
