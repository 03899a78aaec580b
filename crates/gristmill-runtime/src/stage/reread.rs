//! An input of which outcomes may be put back, to be read again.

use super::{Stage, pass, position};
use crate::state::{StateReader, StateWriter};
use gristmill_types::{Block, Result};
use std::collections::VecDeque;
use std::sync::Arc;

/// Consecutive outcomes of the input and the position at which they were read.
pub(super) struct Piece {
    pub(super) block: Block,
    before: Arc<Vec<u8>>,
    used: u64,
}

impl Piece {
    /// The outcomes from `n` on; `None` if there are no more than those.
    pub(super) fn after(mut self, n: usize) -> Option<Self> {
        let all = self.block.outcomes();
        (n < all).then(|| {
            self.block = self.block.outcome_slice(n, all - n);
            self.used += n as u64;
            self
        })
    }
}

/// See the module.
pub(super) struct Reread {
    input: Box<dyn Stage>,
    again: VecDeque<Piece>,
    ended: bool,
}

impl Reread {
    pub(super) fn new(input: Box<dyn Stage>) -> Self {
        Self { input, again: VecDeque::new(), ended: false }
    }

    /// Whether the end was found and nothing is to be read again.
    pub(super) fn is_over(&self) -> bool {
        self.ended && self.again.is_empty()
    }

    /// The next outcomes, at most `want`.
    pub(super) fn read(&mut self, want: usize) -> Option<Piece> {
        if let Some(mut piece) = self.again.pop_front() {
            if piece.block.outcomes() > want {
                let head = piece.block.outcome_slice(0, want);
                let (before, used) = (Arc::clone(&piece.before), piece.used);
                if let Some(rest) = piece.after(want) {
                    self.again.push_front(rest);
                }
                piece = Piece { block: head, before, used };
            }
            return Some(piece);
        }
        if self.ended {
            return None;
        }
        let before = Arc::new(position(&*self.input));
        let block = self.input.next(want);
        self.ended = block.is_none();
        block.map(|block| Piece { block, before, used: 0 })
    }

    /// Has at least one outcome wait to be read, with up to `want` where none does; says whether there is one.
    pub(super) fn fetch(&mut self, want: usize) -> bool {
        if self.again.is_empty() {
            let piece = self.read(want);
            self.again.extend(piece);
        }
        !self.again.is_empty()
    }

    /// Has pieces read again, in front of all others.
    pub(super) fn put_back(&mut self, pieces: Vec<Piece>) {
        for piece in pieces.into_iter().rev() {
            self.again.push_front(piece);
        }
    }

    /// Writes the position before a piece that was read, or else of the next one.
    pub(super) fn save(&self, before: Option<&Piece>, to: &mut StateWriter) {
        match before.or(self.again.front()) {
            Some(piece) => {
                to.bytes(&piece.before);
                to.u64(piece.used);
            }
            None => {
                to.bytes(&position(&*self.input));
                to.u64(0);
            }
        }
    }

    /// Sets the position.
    pub(super) fn restore(&mut self, from: &mut StateReader<'_>) -> Result<()> {
        let at = from.bytes()?;
        let used = from.u64()?;
        self.input.restore(&mut StateReader::new(at))?;
        pass(&mut *self.input, used)
    }
}
