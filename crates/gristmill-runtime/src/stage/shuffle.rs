//! `shuffle`: TensorFlow's buffer order over columns kept in place.

mod store;

use self::store::Store;
use super::{Stage, pass, position};
use crate::env::{Env, place};
use crate::state::{StateReader, StateWriter};
use crate::stats::{HeldBytes, StageStats};
use gristmill_plan::dataset::{Plan, Shuffle};
use gristmill_types::rng::Philox;
use gristmill_types::{Block, Column, Error, Id, Ids, Result};
use std::collections::HashMap;
use std::sync::Arc;

/// The circular buffer of TensorFlow's shuffle, over names of elements.
struct Order<T> {
    random: Philox,
    ring: Vec<T>,
    start: usize,
    end: usize,
    capacity: usize,
}

impl<T: Copy> Order<T> {
    fn new(seeds: (u64, u64), capacity: usize) -> Self {
        Self { random: Philox::seeded(seeds.0, seeds.1), ring: Vec::new(), start: 0, end: 0, capacity }
    }

    fn held(&self) -> usize {
        self.end - self.start
    }

    fn push(&mut self, name: T) {
        let at = self.end % self.capacity;
        if at == self.ring.len() {
            self.ring.push(name);
        } else {
            self.ring[at] = name;
        }
        self.end += 1;
    }

    /// Draws one of those held; there is at least one.
    fn draw(&mut self) -> T {
        let held = self.held();
        let i = (self.start + self.random.next_u32() as usize % held) % self.capacity;
        let name = self.ring[i];
        self.ring[i] = self.ring[self.start];
        self.start += 1;
        if self.start == self.capacity {
            self.start = 0;
            self.end -= self.capacity;
        }
        name
    }

    /// The same order with other names.
    fn rename<U: Copy + Default>(&self, mut name: impl FnMut(T) -> U) -> Order<U> {
        let mut ring = vec![U::default(); self.ring.len()];
        for at in self.start..self.end {
            let at = at % self.capacity;
            ring[at] = name(self.ring[at]);
        }
        Order { random: self.random.clone(), ring, start: self.start, end: self.end, capacity: self.capacity }
    }
}

/// See the module.
pub(crate) struct ShuffleStage {
    input: Box<dyn Stage>,
    env: Env,
    place: u64,
    round: u64,
    seeds: (u64, u64),
    reshuffle: bool,
    capacity: usize,
    order: Order<u32>,
    stores: Vec<Store>,
    ids: Vec<Id>,
    track: bool,
    errors: HashMap<u32, Error>,
    /// Outcomes taken from the input and given to the reader in this pass.
    fed: u64,
    given: u64,
    ended: bool,
    block: Option<(Block, usize)>,
    free: Vec<u32>,
    slots: u32,
    begin: Vec<u8>,
    stats: Arc<StageStats>,
    held: HeldBytes,
}

impl ShuffleStage {
    pub(crate) fn new(input: Box<dyn Stage>, op: &Shuffle, plan: &Plan, env: &Env) -> Result<Self> {
        let buffer = op.buffer.as_int()?;
        let capacity = usize::try_from(buffer).ok().filter(|&n| n > 0).ok_or_else(|| {
            Error::invalid(format!(
                "buffer_size must be greater than zero or UNKNOWN_CARDINALITY, found {buffer}"
            ))
        })?;
        // Slot numbers are 32 bits wide; a buffer beyond that could not be held anyway.
        let capacity = capacity.min(u32::MAX as usize);
        let place = place(plan, env.path);
        let round = env.draws.start(place);
        let seeds = env.draws.seeds().get(op);
        let epoch = env.draws.epoch(place, round);
        let stats = env.stats("shuffle");
        Ok(Self {
            begin: position(&*input),
            input,
            place,
            round,
            seeds,
            reshuffle: op.reshuffle,
            capacity,
            order: Order::new(Shuffle::epoch_seeds(seeds, op.reshuffle, epoch), capacity),
            stores: Vec::new(),
            ids: Vec::new(),
            track: false,
            errors: HashMap::new(),
            fed: 0,
            given: 0,
            ended: false,
            block: None,
            free: Vec::new(),
            slots: 0,
            held: HeldBytes::new(&stats),
            stats,
            env: env.clone(),
        })
    }

    /// Takes one outcome of the input into the buffer.
    fn feed(&mut self, ahead: usize) {
        if self.block.is_none() {
            match self.input.next(ahead) {
                Some(block) => {
                    self.stats.input(&block);
                    self.block = Some((block, 0));
                }
                None => {
                    self.ended = true;
                    return;
                }
            }
        }
        let slot = self.slot();
        if let Some((block, i)) = self.block.take() {
            self.hold(slot, &block, i);
            if i + 1 < block.outcomes() {
                self.block = Some((block, i + 1));
            }
        }
        self.order.push(slot);
        self.fed += 1;
    }

    /// A slot that nothing is in.
    fn slot(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.slots += 1;
            self.slots - 1
        })
    }

    fn hold(&mut self, slot: u32, block: &Block, i: usize) {
        if i >= block.len {
            if let Some(e) = &block.failed {
                self.errors.insert(slot, e.clone());
            }
            return;
        }
        while self.stores.len() < block.columns.len() {
            self.stores.push(Store::Empty);
        }
        for (store, column) in self.stores.iter_mut().zip(&block.columns) {
            store.put(slot as usize, column, i);
        }
        if !matches!(block.ids, Ids::None) {
            self.track = true;
            if self.ids.len() <= slot as usize {
                self.ids.resize(slot as usize + 1, Id::default());
            }
            self.ids[slot as usize] = block.ids.get(i);
        }
    }

    fn fill(&mut self, want: usize) {
        let ahead = (self.capacity - self.order.held().min(self.capacity)).max(want).min(4096);
        while !self.ended && self.order.held() < self.capacity && !self.env.shared.is_cancelled() {
            self.feed(ahead);
        }
    }

    /// Draws `given` elements by number only, then reads just those that are still held.
    fn refill(&mut self, seeds: (u64, u64), given: u64, fed: u64) -> Result<()> {
        let mut numbers: Order<u64> = Order::new(seeds, self.capacity);
        let mut next = 0;
        for _ in 0..given {
            while next < fed && numbers.held() < self.capacity {
                numbers.push(next);
                next += 1;
            }
            if numbers.held() == 0 {
                return Err(Error::invalid(
                    "the iterator state is damaged: a shuffle gave more than it held",
                ));
            }
            numbers.draw();
        }
        while next < fed && numbers.held() < self.capacity {
            numbers.push(next);
            next += 1;
        }
        let mut held: Vec<u64> =
            (numbers.start..numbers.end).map(|at| numbers.ring[at % self.capacity]).collect();
        held.sort_unstable();
        let mut slots = HashMap::with_capacity(held.len());
        let mut at = 0;
        for number in held {
            pass(&mut *self.input, number - at)?;
            let block = self.input.next(1).ok_or_else(|| {
                Error::invalid(format!(
                    "the iterator state needs element {number} of an input that has fewer"
                ))
            })?;
            at = number + 1;
            let slot = self.slot();
            self.hold(slot, &block, 0);
            slots.insert(number, slot);
        }
        pass(&mut *self.input, fed - at)?;
        self.order = numbers.rename(|number| slots.get(&number).copied().unwrap_or_default());
        (self.given, self.fed) = (given, fed);
        Ok(())
    }

    fn emit(&mut self, slots: &[usize]) -> Block {
        let stores = &mut self.stores;
        let columns: Result<Vec<Column>> =
            self.stats.memory(|| stores.iter_mut().map(|s| s.gather(slots)).collect());
        self.held.set(self.stores.iter().map(Store::bytes).sum());
        let ids = if self.track {
            Ids::List(slots.iter().map(|&s| std::mem::take(&mut self.ids[s])).collect())
        } else {
            Ids::None
        };
        match columns {
            Ok(columns) => Block::new(slots.len(), columns, ids),
            Err(e) => Block::error(e),
        }
    }
}

impl Stage for ShuffleStage {
    fn stats(&self) -> &Arc<StageStats> {
        &self.stats
    }

    fn next(&mut self, want: usize) -> Option<Block> {
        if self.given == 0 {
            self.env.draws.commit(self.place, self.round);
        }
        let most = want.min(4096);
        let (mut slots, mut drawn, mut failed) = (Vec::with_capacity(most), Vec::with_capacity(most), None);
        while drawn.len() < most && failed.is_none() {
            self.fill(want);
            if self.order.held() == 0 {
                break;
            }
            let slot = self.order.draw();
            self.given += 1;
            drawn.push(slot);
            match self.errors.remove(&slot) {
                Some(e) => failed = Some(e),
                None => slots.push(slot as usize),
            }
        }
        if slots.is_empty() && failed.is_none() {
            return None;
        }
        let mut block =
            if slots.is_empty() { Block::new(0, Vec::new(), Ids::None) } else { self.emit(&slots) };
        block.failed = block.failed.or(failed);
        // Slots drawn here are used again only now that they were copied out.
        self.free.extend(drawn);
        self.stats.block(&block);
        Some(block)
    }

    fn save(&self, to: &mut StateWriter) {
        to.u64(self.round);
        to.u64(self.given);
        to.u64(self.fed);
        to.bool(self.ended);
        to.bytes(&self.begin);
    }

    fn restore(&mut self, from: &mut StateReader<'_>) -> Result<()> {
        self.round = from.u64()?;
        self.env.draws.set_started(self.place, self.round + 1);
        let (given, fed, ended) = (from.u64()?, from.u64()?, from.bool()?);
        self.begin = from.bytes()?.to_vec();
        self.input.restore(&mut StateReader::new(&self.begin))?;
        if given > fed {
            return Err(Error::invalid("the iterator state is damaged: a shuffle gave more than it took"));
        }
        let epoch = self.env.draws.epoch(self.place, self.round);
        self.refill(Shuffle::epoch_seeds(self.seeds, self.reshuffle, epoch), given, fed)?;
        self.ended = ended;
        Ok(())
    }
}
