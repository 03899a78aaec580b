//! `shuffle`, `repeat`, `take`, `skip`, `shard`.

use super::{Cardinality, ElementSpec, Operand, Plan, Shape, Transformation, same};
use gristmill_types::rng::Philox;
use gristmill_types::{Error, Result, Value};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// The epochs that a shuffle has drawn, shared by every dataset that derives from it.
#[derive(Debug, Default)]
pub struct ShuffleCounter(AtomicU64);

impl ShuffleCounter {
    /// Takes `n` epochs; gives the first.
    pub fn take(&self, n: u64) -> u64 {
        self.0.fetch_add(n, SeqCst)
    }

    /// Makes sure that epochs before `n` are not drawn again.
    pub fn raise(&self, n: u64) {
        self.0.fetch_max(n, SeqCst);
    }

    /// Sets the next epoch, as a restored state says.
    pub fn set(&self, n: u64) {
        self.0.store(n, SeqCst);
    }

    /// The next epoch.
    pub fn get(&self) -> u64 {
        self.0.load(SeqCst)
    }
}

/// Order drawn at random from a buffer, as TensorFlow draws it.
///
/// An error of the input takes a place in the buffer and comes out where it is drawn, so that
/// shuffling before or after a function that may fail gives the same order.
#[derive(Clone, Debug)]
pub struct Shuffle {
    /// Elements held at a time.
    pub buffer: Operand,
    /// The pair that TensorFlow makes of global and op seed.
    pub seeds: (u64, u64),
    /// Whether the pair was drawn by the operating system because nobody gave a seed.
    pub unseeded: bool,
    /// Whether each pass has an order of its own.
    pub reshuffle: bool,
    /// Epochs drawn so far.
    pub counter: Arc<ShuffleCounter>,
}

impl Shuffle {
    /// The pair that seeds the order of that epoch.
    pub fn epoch_seeds(seeds: (u64, u64), reshuffle: bool, epoch: u64) -> (u64, u64) {
        if !reshuffle {
            return seeds;
        }
        let mut words = Philox::seeded(seeds.0, seeds.1);
        words.skip(2 * epoch);
        (u64::from(words.next_u32()), u64::from(words.next_u32()))
    }
}

impl Transformation for Shuffle {
    fn name(&self) -> &'static str {
        "shuffle"
    }
    fn spec(&self, inputs: &[&ElementSpec]) -> Result<ElementSpec> {
        if let Some(n) = self.buffer.known_int()?
            && n <= 0
        {
            return Err(Error::invalid(format!(
                "buffer_size must be greater than zero or UNKNOWN_CARDINALITY, found {n}"
            )));
        }
        Ok(inputs[0].clone())
    }
    fn cardinality(&self, inputs: &[&Plan]) -> Cardinality {
        same(inputs)
    }
    fn describe(&self) -> String {
        let seed = if self.unseeded { String::new() } else { format!(", seeds={:?}", self.seeds) };
        let fixed = if self.reshuffle { "" } else { ", reshuffle_each_iteration=false" };
        format!("{}{seed}{fixed}", self.buffer)
    }
    fn has_params(&self) -> bool {
        self.buffer.is_param()
    }
    fn bind(&self, params: &[Value]) -> Result<Self> {
        Ok(Self { buffer: self.buffer.bind(params)?, ..self.clone() })
    }
}

macro_rules! counted {
    ($(#[$doc:meta])* $t:ident, $name:literal, $cardinality:expr) => {
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub struct $t {
            /// How many; negative means all.
            pub count: Operand,
        }

        impl Transformation for $t {
            fn name(&self) -> &'static str {
                $name
            }
            fn spec(&self, inputs: &[&ElementSpec]) -> Result<ElementSpec> {
                self.count.known_int()?;
                Ok(inputs[0].clone())
            }
            fn cardinality(&self, inputs: &[&Plan]) -> Cardinality {
                match self.count.known_int() {
                    Ok(Some(n)) => $cardinality(n, same(inputs)),
                    _ => Cardinality::Unknown,
                }
            }
            fn describe(&self) -> String {
                self.count.to_string()
            }
            fn has_params(&self) -> bool {
                self.count.is_param()
            }
            fn bind(&self, params: &[Value]) -> Result<Self> {
                Ok(Self { count: self.count.bind(params)? })
            }
        }
    };
}

counted!(
    /// The whole dataset, several times over.
    Repeat, "repeat", |n: i64, c| match (u64::try_from(n), c) {
        (Ok(0), _) | (_, Cardinality::Known(0)) => Cardinality::Known(0),
        (Err(_), _) | (_, Cardinality::Infinite) => Cardinality::Infinite,
        (Ok(n), Cardinality::Known(k)) => Cardinality::Known(k.saturating_mul(n)),
        _ => Cardinality::Unknown,
    }
);
counted!(
    /// The first elements. Errors are passed on and not counted.
    Take, "take", |n: i64, c| match (u64::try_from(n), c) {
        (Err(_), c) => c,
        (Ok(0), _) => Cardinality::Known(0),
        (Ok(n), Cardinality::Infinite) => Cardinality::Known(n),
        (Ok(n), c) => c.map(|k| k.min(n)),
    }
);
counted!(
    /// All but the first elements. Errors among those are passed on.
    Skip, "skip", |n: i64, c: Cardinality| match (u64::try_from(n), c) {
        (Err(_), _) => Cardinality::Known(0),
        (Ok(n), c) => c.map(|k| k.saturating_sub(n)),
    }
);

/// Every `count`-th element, from the `index`-th.
#[derive(Clone, Debug)]
pub struct Shard {
    /// Number of shards.
    pub count: i64,
    /// Which one this is, from 0.
    pub index: i64,
}

impl Transformation for Shard {
    fn name(&self) -> &'static str {
        "shard"
    }
    fn spec(&self, inputs: &[&ElementSpec]) -> Result<ElementSpec> {
        if self.count < 1 {
            return Err(Error::invalid(format!(
                "Number of shards must be greater than zero (currently num_shards = {})",
                self.count
            )));
        }
        if !(0..self.count).contains(&self.index) {
            return Err(Error::invalid(format!(
                "Index must be between 0 and {} (currently index = {})",
                self.count - 1,
                self.index
            )));
        }
        Ok(inputs[0].clone())
    }
    fn cardinality(&self, inputs: &[&Plan]) -> Cardinality {
        let (n, i) = (self.count.max(1) as u64, self.index.max(0) as u64);
        same(inputs).map(|k| k / n + u64::from(i < k % n))
    }
    fn describe(&self) -> String {
        format!("{}, {}", self.count, self.index)
    }
    fn shape(&self) -> Shape {
        Shape::Other
    }
}
