//! `shuffle`: TensorFlow's buffer order over columns kept in place.

mod order;
mod store;

use self::order::Order;
use self::store::Store;
use super::{BLOCK_BYTES, Stage, pass, position};
use crate::env::{Env, place};
use crate::state::{StateReader, StateWriter};
use crate::stats::{HeldBytes, StageStats};
use gristmill_plan::dataset::{Plan, Shuffle};
use gristmill_types::{Block, Column, Error, Id, Ids, Result};
use std::collections::HashMap;
use std::sync::Arc;

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

    /// Rows of the input's block that are not in the buffer yet, an error behind them not counted.
    fn waiting(&self) -> usize {
        self.block.as_ref().map_or(0, |(block, at)| block.len.saturating_sub(*at))
    }

    /// Names for `n` elements: slots that nothing is in.
    fn names(&mut self, n: usize) -> Vec<u32> {
        let missing = u32::try_from(n.saturating_sub(self.free.len())).unwrap_or(u32::MAX);
        self.free.extend(self.slots..self.slots + missing);
        self.slots += missing;
        self.free.split_off(self.free.len() - n)
    }

    /// Moves the next rows of the input's block to these slots.
    fn take(&mut self, names: &[u32]) {
        let Some((block, at)) = self.block.take() else { return };
        self.hold(names, &block, at);
        let at = at + names.len();
        if at < block.outcomes() {
            self.block = Some((block, at));
        }
        self.fed += names.len() as u64;
    }

    /// Puts rows of a block, from `at` on, into these slots.
    fn hold(&mut self, names: &[u32], block: &Block, at: usize) {
        while self.stores.len() < block.columns.len() {
            self.stores.push(Store::Empty);
        }
        for (store, column) in self.stores.iter_mut().zip(&block.columns) {
            store.put(names, column, at);
        }
        self.track |= !matches!(block.ids, Ids::None);
        if self.track {
            self.ids.resize(self.ids.len().max(self.slots as usize), Id::default());
            for (i, &name) in names.iter().enumerate() {
                self.ids[name as usize] = block.ids.get(at + i);
            }
        }
    }

    /// Takes the error behind the rows of the input's block, if there is one.
    fn take_error(&mut self) {
        let Some(e) = self.block.take().and_then(|(block, _)| block.failed) else { return };
        let name = self.names(1)[0];
        self.errors.insert(name, e);
        self.order.push(name);
        self.fed += 1;
    }

    fn fill(&mut self, want: usize) {
        let ahead = self.order.room().max(want).min(4096);
        while !self.ended && !self.order.is_full() && !self.env.shared.is_cancelled() {
            if self.block.is_none() {
                match self.input.next(ahead) {
                    Some(block) => {
                        self.stats.input(&block);
                        self.block = Some((block, 0));
                    }
                    None => self.ended = true,
                }
            }
            match self.waiting().min(self.order.room()) {
                0 => self.take_error(),
                n => {
                    let names = self.names(n);
                    self.take(&names);
                    names.iter().for_each(|&name| self.order.push(name));
                }
            }
        }
    }

    /// Draws `given` elements by number only, then reads just those that are still held.
    fn refill(&mut self, seeds: (u64, u64), given: u64, fed: u64) -> Result<()> {
        let mut numbers: Order<u64> = Order::new(seeds, self.capacity);
        let (mut next, mut drawn) = (0, Vec::new());
        let mut left = given;
        while left > 0 {
            let room = (fed - next).min(numbers.room() as u64);
            (next..next + room).for_each(|n| numbers.push(n));
            next += room;
            if numbers.held() == 0 {
                return Err(Error::invalid(
                    "the iterator state is damaged: a shuffle gave more than it held",
                ));
            }
            match left.min(fed - next).min(4096) {
                0 => {
                    numbers.draw();
                    left -= 1;
                }
                n => {
                    let fresh: Vec<u64> = (next..next + n).collect();
                    numbers.exchange(&fresh, &mut drawn);
                    drawn.clear();
                    next += n;
                    left -= n;
                }
            }
        }
        let room = (fed - next).min(numbers.room() as u64);
        (next..next + room).for_each(|n| numbers.push(n));
        let mut held: Vec<u64> = numbers.names().collect();
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
            let name = self.names(1);
            if block.len > 0 {
                self.hold(&name, &block, 0);
            } else if let Some(e) = block.failed {
                self.errors.insert(name[0], e);
            }
            slots.insert(number, name[0]);
        }
        pass(&mut *self.input, fed - at)?;
        self.order = numbers.rename(|number| slots.get(&number).copied().unwrap_or_default());
        (self.given, self.fed) = (given, fed);
        Ok(())
    }

    /// Elements to give at a time: a block of large ones would take as much memory as the buffer, or more.
    fn most(&self, want: usize) -> usize {
        let bytes: u64 = self.stores.iter().map(Store::bytes).sum();
        let each = bytes / self.order.held().max(1) as u64;
        want.min(4096).min((BLOCK_BYTES as u64 / each.max(1)).max(1) as usize)
    }

    fn emit(&mut self, slots: &[u32]) -> Block {
        let stores = &mut self.stores;
        let columns: Result<Vec<Column>> =
            self.stats.memory(|| stores.iter_mut().map(|s| s.gather(slots)).collect());
        self.held.set(self.stores.iter().map(Store::bytes).sum());
        let ids = if self.track {
            Ids::List(slots.iter().map(|&s| std::mem::take(&mut self.ids[s as usize])).collect())
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
        self.fill(want);
        let most = self.most(want);
        let (mut drawn, mut failed) = (Vec::with_capacity(most), None);
        while drawn.len() < most && failed.is_none() {
            self.fill(want);
            if self.order.held() == 0 {
                break;
            }
            let many = if self.errors.is_empty() && self.order.is_full() {
                self.waiting().min(most - drawn.len())
            } else {
                0
            };
            if many > 0 {
                let names = self.names(many);
                self.take(&names);
                self.order.exchange(&names, &mut drawn);
                self.given += many as u64;
                continue;
            }
            let name = self.order.draw();
            self.given += 1;
            match self.errors.remove(&name) {
                Some(e) => {
                    self.free.push(name);
                    failed = Some(e);
                }
                None => drawn.push(name),
            }
        }
        if drawn.is_empty() && failed.is_none() {
            return None;
        }
        let mut block =
            if drawn.is_empty() { Block::new(0, Vec::new(), Ids::None) } else { self.emit(&drawn) };
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
