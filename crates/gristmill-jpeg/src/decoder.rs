//! The decoder object, which keeps its memory and tables from file to file.

use crate::input::Input;
use crate::multi;
use crate::open::{Header, Open};
use crate::options::{Options, Region};
use crate::simd::Level;
use crate::single::{Room, Single};
use crate::tables::Cache;
use crate::target::Target;
use crate::{Error, Result};

/// `[height, width, channels]`.
pub type Shape = [usize; 3];

/// A decoded image, row by row, channels interleaved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// `[height, width, channels]`.
    pub shape: Shape,
    /// The samples.
    pub data: Vec<u8>,
}

/// One file of a batch.
pub struct Job<'a> {
    /// The file.
    pub file: Input<'a>,
    /// How it is decoded.
    pub options: Options,
    /// Room for the image: as many bytes as [`Header::shape`] tells.
    pub out: &'a mut [u8],
}

/// Decodes files one after the other, or two at a time, with memory and tables that are kept between them.
pub struct Decoder {
    level: Level,
    cache: Cache,
    rooms: [Room; 2],
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new()
    }
}

impl Decoder {
    /// A decoder that uses the best instructions of this processor.
    #[must_use]
    pub fn new() -> Self {
        Self { level: Level::detect(), cache: Cache::default(), rooms: Default::default() }
    }

    /// A decoder without vector code, which is much slower and gives the same.
    #[must_use]
    pub fn plain() -> Self {
        Self { level: Level::Plain, ..Self::new() }
    }

    /// Decodes into a new image.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] or [`Error::Corrupt`] when the file is to be left to libjpeg, [`Error::Options`] when the
    /// options do not suit it.
    pub fn decode<'d>(&mut self, file: impl Into<Input<'d>>, options: &Options) -> Result<Image> {
        let open = Open::new(file.into())?;
        let layout = open.layout(options)?;
        let shape = [layout.height, layout.width, layout.channels];
        let mut out = vec![0; shape.iter().product()];
        self.run(open, options, Target::Whole(&mut out))?;
        Ok(Image { shape, data: out })
    }

    /// Decodes into `out`, which must have the size of the image, and returns the image's shape. After an error the
    /// contents of `out` are of no use.
    ///
    /// # Errors
    ///
    /// As [`Decoder::decode`], and [`Error::Size`] when `out` has another size.
    pub fn decode_into<'d>(
        &mut self,
        file: impl Into<Input<'d>>,
        options: &Options,
        out: &mut [u8],
    ) -> Result<Shape> {
        self.run(Open::new(file.into())?, options, Target::Whole(out))
    }

    /// Decodes a part of the image: [`Options::region`] as an argument.
    ///
    /// # Errors
    ///
    /// As [`Decoder::decode`].
    pub fn decode_region<'d>(
        &mut self,
        file: impl Into<Input<'d>>,
        options: &Options,
        region: Region,
    ) -> Result<Image> {
        self.decode(file, &Options { region: Some(region), ..*options })
    }

    /// Decodes and tells `on_rows` of some rows at a time, from top to bottom: the number of the first and the rows
    /// themselves. The image is never in memory as a whole. Returns its shape.
    ///
    /// # Errors
    ///
    /// As [`Decoder::decode`]; rows may have been told before.
    pub fn decode_bands<'d>(
        &mut self,
        file: impl Into<Input<'d>>,
        options: &Options,
        on_rows: &mut dyn FnMut(usize, &[u8]),
    ) -> Result<Shape> {
        self.run(Open::new(file.into())?, options, Target::Rows(on_rows, Vec::new()))
    }

    fn run(&mut self, open: Open<'_>, options: &Options, target: Target<'_>) -> Result<Shape> {
        let room = &mut self.rooms[0];
        match start(open, options, target, room, &mut self.cache, self.level)? {
            Started::Done(shape) => Ok(shape),
            Started::Single(mut single) => {
                loop {
                    self.level.read(&mut single.lane(room))?;
                    if single.next(room, self.level)? {
                        break;
                    }
                }
                Ok(shape_of(&single))
            }
        }
    }

    /// Decodes several files, two at a time in one thread, which keeps the processor busier than one after the other.
    /// The results are in the order of `jobs`; after an error the contents of that job's `out` are of no use.
    pub fn decode_batch(&mut self, jobs: &mut [Job<'_>]) -> Vec<Result<Shape>> {
        let mut results: Vec<Result<Shape>> =
            jobs.iter().map(|_| Err(Error::Corrupt("it was not read"))).collect();
        let mut queue = jobs.iter_mut().enumerate();
        let Self { level, cache, rooms } = self;
        let level = *level;
        let [first, second] = rooms;
        let mut next = |room: &mut Room, results: &mut [Result<Shape>]| {
            for (at, job) in queue.by_ref() {
                let target = Target::Whole(job.out);
                let opened = Open::new(job.file);
                match opened.and_then(|open| start(open, &job.options, target, room, cache, level)) {
                    Ok(Started::Single(single)) => return Some((at, single)),
                    Ok(Started::Done(shape)) => results[at] = Ok(shape),
                    Err(error) => results[at] = Err(error),
                }
            }
            None
        };
        let mut a = next(first, &mut results);
        let mut b = next(second, &mut results);
        loop {
            // Which of the two is at the end of a stretch, or has failed.
            let (is_b, read) = match (&mut a, &mut b) {
                (None, None) => return results,
                (Some((_, a)), None) => (false, level.read(&mut a.lane(first))),
                (None, Some((_, b))) => (true, level.read(&mut b.lane(second))),
                (Some((_, a)), Some((_, b))) => {
                    match level.read_two(&mut a.lane(first), &mut b.lane(second)) {
                        Ok(is_b) => (is_b, Ok(())),
                        Err((is_b, error)) => (is_b, Err(error)),
                    }
                }
            };
            let (slot, room) = if is_b { (&mut b, &mut *second) } else { (&mut a, &mut *first) };
            let Some((at, single)) = slot else { continue };
            match read.and_then(|()| single.next(room, level)) {
                Ok(false) => {}
                Ok(true) => {
                    results[*at] = Ok(shape_of(single));
                    *slot = next(room, &mut results);
                }
                Err(error) => {
                    results[*at] = Err(error);
                    *slot = next(room, &mut results);
                }
            }
        }
    }
}

fn shape_of(single: &Single<'_>) -> Shape {
    [single.layout.height, single.layout.width, single.layout.channels]
}

/// A file that is done, or whose only scan can be read.
enum Started<'a> {
    Done(Shape),
    Single(Box<Single<'a>>),
}

fn start<'a>(
    open: Open<'_>,
    options: &Options,
    target: Target<'a>,
    room: &mut Room,
    cache: &mut Cache,
    level: Level,
) -> Result<Started<'a>> {
    let layout = open.layout(options)?;
    if open.header.single_scan() {
        return Ok(Started::Single(Box::new(Single::new(open, layout, target, room, cache, level)?)));
    }
    let shape = [layout.height, layout.width, layout.channels];
    multi::decode(open, layout, target, room, cache, level)?;
    Ok(Started::Done(shape))
}

/// Reads the headers before the first scan.
///
/// # Errors
///
/// [`Error::Corrupt`] when they are damaged, [`Error::Unsupported`] when the file is of a kind that is left to libjpeg.
pub fn read_header(data: &[u8]) -> Result<Header> {
    Open::new(data.into()).map(|open| open.header)
}
