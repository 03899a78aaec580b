//! The C shim's functions. The one place of this crate that calls foreign code.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int};
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

// Links the static libjpeg-turbo that the shim calls.
use turbojpeg_sys as _;

/// `gm_decode_options` of `csrc/jpeg_shim.h`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct DecodeOptions {
    pub(super) channels: i32,
    pub(super) ratio: i32,
    pub(super) fancy_upscaling: i32,
    pub(super) recover: i32,
    pub(super) accurate_dct: i32,
    pub(super) crop: i32,
    pub(super) crop_y: i32,
    pub(super) crop_x: i32,
    pub(super) crop_height: i32,
    pub(super) crop_width: i32,
    pub(super) exact: i32,
    pub(super) limit: i64,
}

/// `gm_encode_options` of `csrc/jpeg_shim.h`.
#[repr(C)]
struct RawEncodeOptions {
    quality: i32,
    progressive: i32,
    optimize_size: i32,
    chroma_downsampling: i32,
    density_unit: i32,
    x_density: i32,
    y_density: i32,
    xmp: *const u8,
    xmp_length: usize,
}

/// What the encoder is told besides the pixels.
pub(super) struct EncodeOptions<'a> {
    pub(super) quality: i32,
    pub(super) progressive: bool,
    pub(super) optimize_size: bool,
    pub(super) chroma_downsampling: bool,
    pub(super) density_unit: i32,
    pub(super) x_density: u16,
    pub(super) y_density: u16,
    pub(super) xmp: &'a [u8],
}

#[repr(C)]
struct RawDecoder {
    _private: [u8; 0],
}

unsafe extern "C" {
    fn gm_decoder_new(data: *const u8, length: usize) -> *mut RawDecoder;
    fn gm_decoder_free(decoder: *mut RawDecoder);
    fn gm_decoder_message(decoder: *const RawDecoder) -> *const c_char;
    fn gm_decoder_shape(decoder: *mut RawDecoder, shape: *mut u32) -> c_int;
    fn gm_decoder_start(decoder: *mut RawDecoder, options: *const DecodeOptions, shape: *mut u32) -> c_int;
    fn gm_decoder_read(decoder: *mut RawDecoder, pixels: *mut u8, rows_read: *mut u32) -> c_int;
    fn gm_decoder_rows(decoder: *mut RawDecoder, pixels: *mut u8, rows: u32) -> c_int;
    fn gm_decoder_end(decoder: *mut RawDecoder) -> c_int;
    fn gm_encode(
        pixels: *const u8,
        height: u32,
        width: u32,
        channels: u32,
        options: *const RawEncodeOptions,
        bytes: *mut *mut u8,
        length: *mut usize,
        message: *mut c_char,
    ) -> c_int;
    fn gm_bytes_free(bytes: *mut u8);
    fn gm_version() -> c_int;
    fn gm_simd_in_use() -> c_int;
}

/// Why the shim stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Failure {
    /// libjpeg's own words.
    Library(String),
    /// Neither 1 nor 3 channels can be made of this file.
    Channels,
    /// No pixels or too many.
    Size,
    /// The crop window lies outside the image.
    Crop,
    /// Out of memory.
    Memory,
}

fn failure(code: c_int, message: &CStr) -> Failure {
    match code {
        2 => Failure::Channels,
        3 => Failure::Size,
        4 => Failure::Crop,
        5 => Failure::Memory,
        _ => Failure::Library(message.to_string_lossy().into_owned()),
    }
}

/// One JPEG being read. libjpeg's object is not kept for the next image: its tables would outlive theirs, and an
/// incomplete file would be decoded with the tables of the one before.
pub(super) struct Decoder<'a> {
    raw: NonNull<RawDecoder>,
    size: Option<usize>,
    data: PhantomData<&'a [u8]>,
}

impl<'a> Decoder<'a> {
    pub(super) fn new(data: &'a [u8]) -> Result<Self, Failure> {
        // SAFETY: the pointer and length are those of a slice that outlives the decoder.
        let raw = unsafe { gm_decoder_new(data.as_ptr(), data.len()) };
        Ok(Self { raw: NonNull::new(raw).ok_or(Failure::Memory)?, size: None, data: PhantomData })
    }

    fn result(&self, code: c_int) -> Result<(), Failure> {
        if code == 0 {
            return Ok(());
        }
        // SAFETY: the decoder is alive, and its message is a terminated string inside it.
        let message = unsafe { CStr::from_ptr(gm_decoder_message(self.raw.as_ptr())) };
        Err(failure(code, message))
    }

    /// Height, width and channels as the header says. Takes the decoder, which then can't be started.
    pub(super) fn shape(self) -> Result<[u32; 3], Failure> {
        let mut shape = [0; 3];
        // SAFETY: the decoder is fresh (this and `start` consume that state) and `shape` has three places.
        let code = unsafe { gm_decoder_shape(self.raw.as_ptr(), shape.as_mut_ptr()) };
        self.result(code)?;
        Ok(shape)
    }

    /// Reads the header, prepares decoding and tells height, width and channels of the output.
    pub(super) fn start(data: &'a [u8], options: &DecodeOptions) -> Result<(Self, [u32; 3]), Failure> {
        let mut decoder = Self::new(data)?;
        let mut shape = [0; 3];
        // SAFETY: the decoder is fresh, `options` has the layout of the header file, `shape` has three places.
        let code = unsafe { gm_decoder_start(decoder.raw.as_ptr(), options, shape.as_mut_ptr()) };
        decoder.result(code)?;
        decoder.size = Some(shape.iter().map(|&n| n as usize).product());
        Ok((decoder, shape))
    }

    /// Decodes into `pixels` and tells how many rows were read.
    ///
    /// # Panics
    ///
    /// When `pixels` has not the size that `start` told.
    pub(super) fn read(self, pixels: &mut [u8]) -> Result<u32, Failure> {
        assert_eq!(Some(pixels.len()), self.size, "the pixels have the size that the header gave");
        let mut rows = 0;
        // SAFETY: `start` succeeded (only then is `size` set) and the slice has room for every row, as just checked.
        let code = unsafe { gm_decoder_read(self.raw.as_ptr(), pixels.as_mut_ptr(), &raw mut rows) };
        self.result(code)?;
        Ok(rows)
    }
}

/// A started decoder that gives its rows in bands.
pub(super) struct Bands<'a> {
    decoder: Decoder<'a>,
    row: usize,
    left: usize,
}

impl<'a> Bands<'a> {
    /// Of a decoder that was started and told this shape.
    pub(super) fn new(decoder: Decoder<'a>, shape: [u32; 3]) -> Self {
        let [height, width, channels] = shape.map(|n| n as usize);
        assert_eq!(Some(height * width * channels), decoder.size, "the shape is the one that `start` told");
        Self { decoder, row: width * channels, left: height }
    }

    /// Decodes the next rows, as many as fit exactly into `pixels`.
    ///
    /// # Panics
    ///
    /// When `pixels` is no whole number of rows, or more than are left.
    pub(super) fn next(&mut self, pixels: &mut [u8]) -> Result<(), Failure> {
        let rows = pixels.len() / self.row;
        assert!(
            rows * self.row == pixels.len() && rows <= self.left,
            "whole rows, and not more than there are"
        );
        self.left -= rows;
        // SAFETY: the decoder was started, is not past its end, and `pixels` has room for that many rows.
        let code = unsafe { gm_decoder_rows(self.decoder.raw.as_ptr(), pixels.as_mut_ptr(), rows as u32) };
        if code != 0 {
            self.left = 0;
        }
        self.decoder.result(code)
    }

    /// After the last row: whether the rest of the file is sound.
    ///
    /// # Panics
    ///
    /// When rows are left.
    pub(super) fn end(self) -> Result<(), Failure> {
        assert_eq!(self.left, 0, "all rows were read");
        // SAFETY: the decoder was started and its rows are read.
        let code = unsafe { gm_decoder_end(self.decoder.raw.as_ptr()) };
        self.decoder.result(code)
    }
}

impl Drop for Decoder<'_> {
    fn drop(&mut self) {
        // SAFETY: the pointer came from `gm_decoder_new` and is freed once.
        unsafe { gm_decoder_free(self.raw.as_ptr()) }
    }
}

/// Encodes `pixels` (`height x width x channels`, checked by the caller to have that many bytes).
pub(super) fn encode(
    pixels: &[u8],
    height: u32,
    width: u32,
    channels: u32,
    options: &EncodeOptions<'_>,
) -> Result<Vec<u8>, Failure> {
    assert_eq!(
        Some(pixels.len() as u64),
        (u64::from(height) * u64::from(width)).checked_mul(u64::from(channels)),
        "the pixels have the size of their shape"
    );
    let raw = RawEncodeOptions {
        quality: options.quality,
        progressive: options.progressive.into(),
        optimize_size: options.optimize_size.into(),
        chroma_downsampling: options.chroma_downsampling.into(),
        density_unit: options.density_unit,
        x_density: options.x_density.into(),
        y_density: options.y_density.into(),
        xmp: options.xmp.as_ptr(),
        xmp_length: options.xmp.len(),
    };
    let mut bytes = ptr::null_mut();
    let mut length = 0;
    let mut message = [0 as c_char; 200];
    // SAFETY: `pixels` has height * width * channels bytes, as just checked; the options borrow `options`; `message`
    // has the 200 places that the header file names and is terminated by `snprintf` (or still zero).
    let code = unsafe {
        gm_encode(
            pixels.as_ptr(),
            height,
            width,
            channels,
            &raw const raw,
            &raw mut bytes,
            &raw mut length,
            message.as_mut_ptr(),
        )
    };
    if code != 0 {
        // SAFETY: `message` is a terminated string, see above.
        return Err(failure(code, unsafe { CStr::from_ptr(message.as_ptr()) }));
    }
    // SAFETY: on success `bytes` points to `length` bytes that belong to us until they are freed.
    let copy = unsafe { std::slice::from_raw_parts(bytes, length) }.to_vec();
    // SAFETY: as above; freed once.
    unsafe { gm_bytes_free(bytes) };
    Ok(copy)
}

/// libjpeg-turbo's version as one number, 3001000 for 3.1.0.
pub(super) fn version() -> u32 {
    // SAFETY: returns a constant.
    unsafe { gm_version() }.unsigned_abs()
}

/// Whether libjpeg-turbo uses vector instructions here.
pub(super) fn simd_in_use() -> bool {
    // SAFETY: reads the processor's features.
    unsafe { gm_simd_in_use() != 0 }
}
