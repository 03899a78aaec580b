//! The decoding tables of a scan, kept for the next image: many files share theirs.

use std::sync::Arc;

use crate::Result;
use crate::huffman::{Codes, Spec};
use crate::simd::Level;
use crate::window;

/// What a table is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Use {
    #[default]
    Dc,
    Ac,
    /// AC coefficients of a colour plane: the fast reader looks at fewer bits at once.
    ColorAc,
}

/// A table and what is made of it.
#[derive(Default)]
pub(crate) struct Table {
    spec: Spec,
    for_what: Use,
    pub(crate) codes: Codes,
    /// Entries of the fast reader ([`window`]); empty without one.
    pub(crate) quick: Vec<u64>,
}

/// The tables of the last scans.
#[derive(Default)]
pub(crate) struct Cache {
    tables: Vec<Arc<Table>>,
}

/// Enough for two images of two pairs each in turn with the standard tables.
const KEPT: usize = 12;

impl Cache {
    /// The table of that content.
    ///
    /// # Errors
    ///
    /// When its codes are impossible.
    pub(crate) fn get(&mut self, spec: &Spec, for_what: Use, level: Level) -> Result<Arc<Table>> {
        let wanted = |t: &Arc<Table>| {
            t.for_what == for_what && t.spec == *spec && t.quick.is_empty() == level.is_plain()
        };
        if let Some(at) = self.tables.iter().position(wanted) {
            self.tables[..=at].rotate_right(1);
            return Ok(Arc::clone(&self.tables[0]));
        }
        // The memory of the one not used for longest, if nobody has it.
        let old = if self.tables.len() >= KEPT { self.tables.pop() } else { None };
        let mut table = old.filter(|t| Arc::strong_count(t) == 1).unwrap_or_default();
        let t = Arc::get_mut(&mut table).expect("nobody else has it");
        (t.spec, t.for_what) = (spec.clone(), for_what);
        t.codes.build(spec, for_what == Use::Dc)?;
        match (level.is_plain(), for_what) {
            (true, _) => t.quick.clear(),
            (false, Use::Dc) => window::build_dc(spec, &mut t.quick)?,
            (false, Use::Ac) => window::build_ac(spec, &mut t.quick, window::BITS)?,
            (false, Use::ColorAc) => window::build_ac(spec, &mut t.quick, window::NARROW)?,
        }
        self.tables.insert(0, Arc::clone(&table));
        Ok(table)
    }
}
