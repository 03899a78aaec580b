//! Opening record files, also the next one before its turn.

use super::ahead::{Ahead, Room};
use crate::env::Env;
use crate::io::{self, Reading, Threads};
use crate::stats::StageStats;
use gristmill_plan::dataset::{Compression, TfRecord};
use gristmill_record::frame::{HEADER_BYTES, parse_header};
use gristmill_storage::{Source, Stores};
use gristmill_types::{Bytes, Result};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

/// A file that has just been opened.
pub(super) enum Opened {
    /// To be read from its beginning to its end, whatever it is.
    Plain(Box<dyn Source>),
    /// Several parts at a time, as long as all is in order.
    Ahead(Ahead),
}

/// How the files of a dataset are opened.
#[derive(Clone)]
pub(super) struct Opener {
    stores: Stores,
    pub(super) compression: Compression,
    pub(super) verify: bool,
    /// Whether nothing is read ahead of the reader.
    direct: bool,
    room: Room,
    stats: Arc<StageStats>,
}

impl Opener {
    pub(super) fn new(op: &TfRecord, env: &Env, stats: &Arc<StageStats>) -> Self {
        Self {
            stores: Stores::default(),
            compression: op.compression,
            verify: op.verify,
            direct: env.shared.direct,
            room: Room::of(env),
            stats: Arc::clone(stats),
        }
    }

    pub(super) fn source(&self, file: &Bytes) -> Result<Box<dyn Source>> {
        let path = OsStr::from_bytes(file);
        Ok(self.stores.of(path)?.open(path)?)
    }

    /// Opens a file of which the frame at `offset` is wanted first.
    pub(super) fn open(&self, file: &Bytes, offset: u64) -> Result<Opened> {
        let source = self.source(file)?;
        let plain = match self.compression {
            Compression::None => true,
            Compression::Gzip | Compression::Zlib => false,
            // A frame's header at the place in question may be chance inside compressed data.
            Compression::Detect => offset == 0 || is_plain(&*source),
        };
        if self.direct || !plain {
            return Ok(Opened::Plain(source));
        }
        let ahead = Ahead::open(source, offset, self.verify, self.room.clone(), &self.stats);
        Ok(ahead.map_or_else(Opened::Plain, Opened::Ahead))
    }

    /// Opens a file on a thread that may wait for it, and begins to read it if that is done ahead.
    pub(super) fn begin(&self, file: &Bytes) -> Reading<Result<Opened>> {
        let (opener, file) = (self.clone(), file.clone());
        io::submit(Threads::short(), move || opener.open(&file, 0))
    }
}

/// Whether a file begins with a frame's header.
fn is_plain(source: &dyn Source) -> bool {
    let mut head = [0; HEADER_BYTES];
    matches!(source.read_at(0, &mut head), Ok(HEADER_BYTES)) && parse_header(&head, 0).is_ok()
}
