//! The order of TensorFlow's shuffle, over names of elements.

use gristmill_types::rng::Philox;

/// Most words drawn ahead.
const AHEAD: usize = 512;

/// TensorFlow's circular buffer: an element is drawn from those held, the oldest one takes its place.
pub(super) struct Order<T> {
    random: Philox,
    /// Words drawn ahead, and how many of them are used.
    words: Vec<u32>,
    used: usize,
    ring: Vec<T>,
    start: usize,
    held: usize,
    capacity: usize,
    /// `2^64 / capacity`, rounded up: remainders by multiplication (Lemire, Kaser, Kurz 2019).
    inverse: u64,
}

impl<T: Copy> Order<T> {
    /// An empty buffer; `capacity` is in `1..=u32::MAX`.
    pub(super) fn new(seeds: (u64, u64), capacity: usize) -> Self {
        Self {
            random: Philox::seeded(seeds.0, seeds.1),
            words: Vec::new(),
            used: 0,
            ring: Vec::new(),
            start: 0,
            held: 0,
            capacity,
            inverse: (u64::MAX / capacity as u64).wrapping_add(1),
        }
    }

    pub(super) fn held(&self) -> usize {
        self.held
    }

    pub(super) fn is_full(&self) -> bool {
        self.held == self.capacity
    }

    /// How many more there is room for.
    pub(super) fn room(&self) -> usize {
        self.capacity - self.held
    }

    pub(super) fn push(&mut self, name: T) {
        let at = self.wrapped(self.start + self.held);
        if at == self.ring.len() {
            self.ring.push(name);
        } else {
            self.ring[at] = name;
        }
        self.held += 1;
    }

    /// Draws one of those held; there is at least one.
    pub(super) fn draw(&mut self) -> T {
        if self.used == self.words.len() {
            self.more_words();
        }
        let word = self.words[self.used];
        self.used += 1;
        let at = self.wrapped(self.start + word as usize % self.held);
        let name = self.ring[at];
        self.ring[at] = self.ring[self.start];
        self.start = self.wrapped(self.start + 1);
        self.held -= 1;
        name
    }

    /// Of a full buffer: draws one for each of `fresh`, which takes the room at once.
    pub(super) fn exchange(&mut self, fresh: &[T], drawn: &mut Vec<T>) {
        let mut rest = fresh;
        while !rest.is_empty() {
            if self.used == self.words.len() {
                self.more_words();
            }
            let words = &self.words[self.used..];
            let n = words.len().min(rest.len());
            let (now, later) = rest.split_at(n);
            let ring = &mut self.ring[..self.capacity];
            let (capacity, mut start) = (ring.len(), self.start);
            let before = drawn.len();
            drawn.extend_from_slice(now);
            for (out, &word) in drawn[before..].iter_mut().zip(words) {
                let low = self.inverse.wrapping_mul(u64::from(word));
                let nth = ((u128::from(low) * capacity as u128) >> 64) as usize;
                let past = start + nth;
                let at = if past >= capacity { past - capacity } else { past };
                // The oldest takes the place of the one drawn, the new one that of the oldest.
                let oldest = ring[start];
                let name = std::mem::replace(&mut ring[at], oldest);
                ring[start] = std::mem::replace(out, name);
                start = if start + 1 == capacity { 0 } else { start + 1 };
            }
            self.start = start;
            self.used += n;
            rest = later;
        }
    }

    /// Those held, oldest first.
    pub(super) fn names(&self) -> impl Iterator<Item = T> + '_ {
        (self.start..self.start + self.held).map(|at| self.ring[self.wrapped(at)])
    }

    /// The same order with other names.
    pub(super) fn rename<U: Copy + Default>(&self, mut name: impl FnMut(T) -> U) -> Order<U> {
        let mut ring = vec![U::default(); self.ring.len()];
        for at in self.start..self.start + self.held {
            let at = self.wrapped(at);
            ring[at] = name(self.ring[at]);
        }
        Order {
            random: self.random.clone(),
            words: self.words.clone(),
            used: self.used,
            ring,
            start: self.start,
            held: self.held,
            capacity: self.capacity,
            inverse: self.inverse,
        }
    }

    fn wrapped(&self, at: usize) -> usize {
        if at >= self.capacity { at - self.capacity } else { at }
    }

    fn more_words(&mut self) {
        let n = (self.words.len() * 2).clamp(16, AHEAD);
        self.words.resize(n, 0);
        self.random.fill(&mut self.words);
        self.used = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Draws and pushes one by one, as TensorFlow does.
    fn slowly(seeds: (u64, u64), capacity: usize, inputs: u64) -> Vec<u64> {
        let mut random = Philox::seeded(seeds.0, seeds.1);
        let (mut held, mut next, mut out) = (std::collections::VecDeque::new(), 0, Vec::new());
        loop {
            while held.len() < capacity && next < inputs {
                held.push_back(next);
                next += 1;
            }
            if held.is_empty() {
                return out;
            }
            let i = random.next_u32() as usize % held.len();
            let oldest = held.pop_front().unwrap();
            out.push(if i == 0 { oldest } else { std::mem::replace(&mut held[i - 1], oldest) });
        }
    }

    #[test]
    fn exchanging_many_at_once_is_drawing_and_pushing_each() {
        for capacity in [1, 2, 3, 7, 64, 100, 1000] {
            let mut order = Order::new((7, capacity as u64), capacity);
            let names: Vec<u64> = (0..2000).collect();
            let (first, rest) = names.split_at(capacity);
            first.iter().for_each(|&n| order.push(n));
            assert!(order.is_full());
            let mut drawn = Vec::new();
            for part in rest.chunks(333) {
                order.exchange(part, &mut drawn);
            }
            let mut order = order.rename(|n| n);
            while order.held() > 0 {
                drawn.push(order.draw());
            }
            assert_eq!(drawn, slowly((7, capacity as u64), capacity, 2000), "capacity {capacity}");
        }
    }

    #[test]
    fn remainders_by_multiplication_are_exact() {
        let words = [0, 1, 2, 999, 1000, 1001, 0x7fff_ffff, 0x8000_0000, 0xffff_fffe, 0xffff_ffffu32];
        for capacity in [1u64, 2, 3, 5, 1000, 10_000, 65_537, 0x8000_0001, u64::from(u32::MAX)] {
            let inverse = (u64::MAX / capacity).wrapping_add(1);
            for word in words {
                let low = inverse.wrapping_mul(u64::from(word));
                let rest = ((u128::from(low) * u128::from(capacity)) >> 64) as u64;
                assert_eq!(rest, u64::from(word) % capacity, "{word} % {capacity}");
            }
        }
    }
}
