//! The decoder of our own, which serves intact files of the usual kinds. Everything else it leaves to libjpeg-turbo,
//! which is slower and knows what to say.

use super::decode::{Crop, DctMethod, JpegOptions};
use crate::geometry::Window;
use crate::output::slot;
use crate::{Image, MAX_SAMPLES, Output, Result};
use gristmill_jpeg::{Dct, Decoder, Edges, Error, Header, Input, Options, Region, RestartIndex};
use std::cell::RefCell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Samples of images after which a thread's working memory is kept for the next.
const KEPT: usize = 1 << 24;

thread_local! {
    static DECODER: RefCell<Decoder> = RefCell::new(Decoder::new());
}

static OWN: AtomicU64 = AtomicU64::new(0);
static LIBJPEG: AtomicU64 = AtomicU64::new(0);

/// How many images each decoder has been given since the process began: our own, and libjpeg-turbo where that one
/// could not serve.
#[must_use]
pub fn served() -> (u64, u64) {
    (OWN.load(Relaxed), LIBJPEG.load(Relaxed))
}

/// Counts an image that libjpeg-turbo was given.
pub(super) fn left() {
    LIBJPEG.fetch_add(1, Relaxed);
}

/// Whether it is to be used: the environment variable `GRISTMILL_JPEG=turbo`, for tests and benchmarks, says no.
fn wanted() -> bool {
    static WANTED: OnceLock<bool> = OnceLock::new();
    *WANTED.get_or_init(|| std::env::var_os("GRISTMILL_JPEG").is_none_or(|v| v != "turbo"))
}

/// The same options, with `crop` as libjpeg-turbo crops; `None` where they do not fit the decoder.
pub(super) fn options(options: &JpegOptions<'_>) -> Option<Options> {
    let region = match options.crop {
        None => None,
        Some(Crop { y, x, height, width }) => {
            let sides = [y, x, height, width].map(usize::try_from);
            let [Ok(y), Ok(x), Ok(height), Ok(width)] = sides else { return None };
            Some(Region { x, y, width, height, edges: Edges::Cropped })
        }
    };
    let accurate = options.dct_method == DctMethod::IntegerAccurate;
    wanted().then_some(Options {
        channels: u8::try_from(options.channels).ok()?,
        ratio: u8::try_from(options.ratio).ok()?,
        fancy: options.fancy_upscaling,
        dct: if accurate { Dct::Accurate } else { Dct::Fast },
        region,
        max_samples: MAX_SAMPLES,
    })
}

/// The same options for a window with the pixels of the whole image.
pub(super) fn in_window(given: &JpegOptions<'_>, window: Window) -> Option<Options> {
    let Window { y, x, height, width } = window;
    let region = Some(Region { x, y, width, height, edges: Edges::Whole });
    Some(Options { region, ..options(given)? })
}

/// Height, width and components from the header.
pub(super) fn shape(contents: &[u8]) -> Option<[usize; 3]> {
    let header = gristmill_jpeg::read_header(contents).ok().filter(|_| wanted())?;
    Some([header.height(), header.width(), header.components()])
}

/// Decodes into the slot of `output`; false where the file is to be left to libjpeg-turbo.
pub(super) fn decode(
    contents: &[u8],
    index: Option<&[u8]>,
    options: Option<Options>,
    output: &mut (impl Output<u8> + ?Sized),
) -> Result<bool> {
    let Some(options) = options else { return Ok(false) };
    let Ok(header) = gristmill_jpeg::read_header(contents) else { return Ok(false) };
    let Ok(shape) = header.shape(&options) else { return Ok(false) };
    let pixels = slot(output, &shape)?;
    let index = read_index(index, &options);
    let file = Input { data: contents, index: index.as_ref() };
    let done = with_decoder(samples(&header), |decoder| decoder.decode_into(file, &options, pixels).is_ok());
    OWN.fetch_add(done.into(), Relaxed);
    Ok(done)
}

/// Decodes into rows from top to bottom. `None` where the file is to be left to libjpeg-turbo; an error is that of
/// `sink`, or the file turned out to be damaged after rows were handed over.
pub(super) fn decode_rows(
    contents: &[u8],
    index: Option<&[u8]>,
    options: Option<Options>,
    sink: &mut dyn FnMut(usize, &[u8]) -> Result<()>,
    damaged: impl FnOnce() -> crate::Error,
) -> Option<Result<()>> {
    let options = options?;
    let header = gristmill_jpeg::read_header(contents).ok()?;
    let index = read_index(index, &options);
    let file = Input { data: contents, index: index.as_ref() };
    let (mut told, mut said) = (false, Ok(()));
    let done = with_decoder(samples(&header), |decoder| {
        decoder.decode_bands(file, &options, &mut |first, rows| {
            told = true;
            if said.is_ok() {
                said = sink(first, rows);
            }
        })
    });
    match done {
        Ok(_) => {
            OWN.fetch_add(1, Relaxed);
            Some(said)
        }
        Err(_) if told => Some(said.and(Err(damaged()))),
        Err(_) => None,
    }
}

/// An index, where there is one and it is of use.
fn read_index(bytes: Option<&[u8]>, options: &Options) -> Option<RestartIndex> {
    options.region.and(bytes).and_then(RestartIndex::from_bytes)
}

/// An index of where the file's rows begin, as bytes: about a hundredth of the file at most. None where it would be of no
/// use: progressive and small files, those with restart markers, and those that are left to libjpeg-turbo.
///
/// # Errors
///
/// As [`decode`](super::decode) of a baseline file that is damaged, and as [`shape`](super::shape) of others.
pub fn restart_index(contents: &[u8]) -> Result<Vec<u8>> {
    match build_index(contents) {
        Ok(bytes) => Ok(bytes),
        Err(Error::Unsupported(_)) => super::shape(contents).map(|_| Vec::new()),
        // Libjpeg-turbo may make do with the file, or says what is wrong.
        Err(_) => {
            super::decode(contents, &JpegOptions::default(), &mut Image::default()).map(|()| Vec::new())
        }
    }
}

/// [`restart_index`], and none for a damaged file, too. Takes about as much memory as the file has bytes.
#[must_use]
pub fn restart_index_or_none(contents: &[u8]) -> Vec<u8> {
    build_index(contents).unwrap_or_default()
}

fn build_index(contents: &[u8]) -> gristmill_jpeg::Result<Vec<u8>> {
    let index = RestartIndex::build(contents, None)?;
    Ok(if index.is_empty() { Vec::new() } else { index.to_bytes() })
}

/// Samples of the whole image, whose coefficients a progressive file keeps in memory.
fn samples(header: &Header) -> usize {
    header.width() * header.height() * header.components()
}

/// Uses the thread's decoder. What it took for a very large image is given back.
fn with_decoder<T>(samples: usize, work: impl FnOnce(&mut Decoder) -> T) -> T {
    DECODER.with(|decoder| {
        // A sink that decodes another image gets a decoder for that.
        let Ok(mut decoder) = decoder.try_borrow_mut() else { return work(&mut Decoder::new()) };
        let done = work(&mut decoder);
        if samples > KEPT {
            *decoder = Decoder::new();
        }
        done
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;
    use crate::jpeg::{EncodeOptions, decode, decode_rows, decode_with_libjpeg, encode};

    fn photo() -> Vec<u8> {
        let pixels: Vec<u8> = (0..70 * 90 * 3).map(|i| (i * 31 % 251) as u8).collect();
        encode(&pixels, 70, 90, 3, &EncodeOptions::default()).unwrap()
    }

    #[test]
    fn intact_files_are_ours_and_damaged_ones_are_not() {
        if !wanted() {
            return;
        }
        let (file, before) = (photo(), served());
        let (mut ours, mut theirs) = (Image::default(), Image::default());
        decode(&file, &JpegOptions::default(), &mut ours).unwrap();
        decode_with_libjpeg(&file, &JpegOptions::default(), &mut theirs).unwrap();
        assert_eq!(ours, theirs);
        assert!(served().0 > before.0);
        let before = served();
        let options = JpegOptions { try_recover_truncated: true, ..JpegOptions::default() };
        decode(&file[..file.len() / 2], &options, &mut ours).unwrap();
        assert!(served().1 > before.1);
        assert_eq!(ours.data[..90 * 3], theirs.data[..90 * 3]);
    }

    #[test]
    fn an_index_changes_no_pixel() {
        let file = photo();
        let index = restart_index(&file).unwrap();
        assert!(!index.is_empty() && index.len() < file.len() / 50, "{}", index.len());
        let crop = Some(crate::jpeg::Crop { y: 40, x: 20, height: 20, width: 30 });
        let options = JpegOptions { crop, ..JpegOptions::default() };
        let (mut without, mut with) = (Image::default(), Image::default());
        decode(&file, &options, &mut without).unwrap();
        for bytes in [&index[..], &index[..index.len() - 1], b"other"] {
            decode(&file, &JpegOptions { restart_index: Some(bytes), ..options }, &mut with).unwrap();
            assert_eq!(without, with);
        }
        let progressive = EncodeOptions { progressive: true, ..EncodeOptions::default() };
        let file = encode(&[9; 64 * 64], 64, 64, 1, &progressive).unwrap();
        assert_eq!(restart_index(&file), Ok(Vec::new()));
        let e = restart_index(&file[..20]).unwrap_err();
        assert!(e.to_string().contains("Invalid JPEG data"), "{e}");
        assert!(restart_index_or_none(&file[..20]).is_empty());
        assert!(restart_index(b"text").is_err() && restart_index(&photo()[..500]).is_err());
    }

    #[test]
    fn rows_end_with_the_error_of_their_sink_or_of_the_file() {
        let file = photo();
        let mut rows = 0;
        let mut sink = |_: usize, pixels: &[u8]| {
            rows += pixels.len() / 270;
            if rows > 20 { Err(Error::invalid("enough")) } else { Ok(()) }
        };
        let e = decode_rows(&file, &JpegOptions::default(), None, &mut Vec::new(), &mut sink).unwrap_err();
        assert!(e.to_string().contains("enough"), "{e}");
        let short = &file[..file.len() * 3 / 4];
        let e = decode_rows(short, &JpegOptions::default(), None, &mut Vec::new(), &mut |_, _| Ok(()));
        assert!(e.unwrap_err().to_string().contains("Invalid JPEG data"));
    }
}
