//! Resizing with TensorFlow's values (`tf.image.resize`): half-pixel centres, `f32` arithmetic in TensorFlow's order.
//!
//! All methods but nearest give `f32`. One image is `height x width x channels`; a batch is resized image by image
//! with the same [`Scratch`].

mod area;
mod bicubic;
mod bilinear;
mod kernels;
mod nearest;
pub(crate) mod rgb8;
mod sample;
mod scale;
pub(crate) mod simd;

pub use area::resize_area;
pub use bicubic::resize_bicubic;
pub use bilinear::resize_bilinear;
pub(crate) use bilinear::{PADDING, tap};
pub use kernels::Kernel;
pub use nearest::resize_nearest;
pub use sample::Sample;
pub(crate) use scale::Spans;
pub use scale::resize_scale;

use crate::{Error, Result};

/// A method of `tf.image.resize`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Method {
    /// `"bilinear"`
    #[default]
    Bilinear,
    /// `"nearest"`: keeps the type of the samples; see [`resize_nearest`].
    Nearest,
    /// `"area"`
    Area,
    /// `"bicubic"`
    Bicubic,
    /// `"lanczos3"`
    Lanczos3,
    /// `"lanczos5"`
    Lanczos5,
    /// `"gaussian"`
    Gaussian,
    /// `"mitchellcubic"`
    MitchellCubic,
}

impl Method {
    /// The method of TensorFlow's name.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] for any other name.
    pub fn from_name(name: &str) -> Result<Self> {
        Ok(match name {
            "bilinear" => Self::Bilinear,
            "nearest" => Self::Nearest,
            "area" => Self::Area,
            "bicubic" => Self::Bicubic,
            "lanczos3" => Self::Lanczos3,
            "lanczos5" => Self::Lanczos5,
            "gaussian" => Self::Gaussian,
            "mitchellcubic" => Self::MitchellCubic,
            _ => {
                return Err(Error::invalid(format!(
                    "Resize method is not implemented: {name}; one of bilinear, nearest, area, bicubic, lanczos3, \
                     lanczos5, gaussian, mitchellcubic"
                )));
            }
        })
    }
}

/// Height, width and channels of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Size {
    /// Rows.
    pub height: usize,
    /// Columns.
    pub width: usize,
    /// Samples a pixel.
    pub channels: usize,
}

impl Size {
    /// From its three numbers.
    #[must_use]
    pub fn new(height: usize, width: usize, channels: usize) -> Self {
        Self { height, width, channels }
    }

    /// `height * width * channels`, or `None` when that overflows.
    #[must_use]
    pub fn samples(&self) -> Option<usize> {
        self.height.checked_mul(self.width)?.checked_mul(self.channels)
    }
}

/// Working memory of the resizers, kept from image to image so that a steady state allocates nothing.
#[derive(Debug, Default)]
pub struct Scratch {
    columns: Vec<Tap>,
    rows: [Vec<f32>; 3],
    spans: [Spans; 2],
    cubic: Vec<bicubic::Cubic>,
    table: Option<(usize, usize, usize)>,
}

/// Where a bilinear sample comes from: two source positions (times channels) and the share of the second.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Tap {
    pub(crate) low: u32,
    pub(crate) high: u32,
    pub(crate) fraction: f32,
}

/// TensorFlow's `size_in / float(size_out)`.
pub(crate) fn step(from: usize, to: usize) -> f32 {
    from as f32 / to as f32
}

/// Checks sizes and slices: `src` is `from`, `dst` is `to` x `to_width` with the same channels.
fn check(src: usize, from: Size, dst: usize, to: (usize, usize)) -> Result<()> {
    let fail = |what: &str| {
        Err(Error::invalid(format!(
            "{what} (image [{},{},{}] to [{},{}])",
            from.height, from.width, from.channels, to.0, to.1
        )))
    };
    if from.height == 0 || from.width == 0 || from.channels == 0 {
        return fail("input image must be of non-zero size");
    }
    if to.0 == 0 || to.1 == 0 {
        return fail("output dimensions must be positive");
    }
    // Positions are kept in 32 bits.
    if from.width.saturating_mul(from.channels) > u32::MAX as usize / 2 || from.height > u32::MAX as usize / 2
    {
        return fail("input sizes must be between 0 and max int32");
    }
    if from.samples() != Some(src) {
        return fail(&format!("the input has {src} samples instead of its shape's"));
    }
    if Size::new(to.0, to.1, from.channels).samples() != Some(dst) {
        return fail(&format!("the output has room for {dst} samples instead of its shape's"));
    }
    Ok(())
}

/// Resizes `src` of size `from` to `to` (height, width) in `dst` by any method but [`Method::Nearest`].
///
/// `antialias` widens the kernel when an image is made smaller; area and nearest don't know it. TensorFlow's Python
/// function skips the work when an image of statically known size keeps its size: that is the caller's to decide (it
/// matters for the Gaussian and Mitchell kernels, which change the values even then).
///
/// # Errors
///
/// [`Error::InvalidArgument`] when a size is 0 or does not fit its slice, or for [`Method::Nearest`].
pub fn resize<T: Sample>(
    method: Method,
    antialias: bool,
    src: &[T],
    from: Size,
    dst: &mut [f32],
    to: (usize, usize),
    scratch: &mut Scratch,
) -> Result<()> {
    let kernel = match (method, antialias) {
        (Method::Bilinear, false) => return resize_bilinear(src, from, dst, to, scratch),
        (Method::Bicubic, false) => return resize_bicubic(src, from, dst, to, scratch),
        (Method::Area, _) => return resize_area(src, from, dst, to),
        (Method::Nearest, _) => {
            return Err(Error::invalid("nearest keeps the type of the samples and does not give float32"));
        }
        (Method::Bilinear, true) => Kernel::Triangle,
        (Method::Bicubic, true) => Kernel::KeysCubic,
        (Method::Lanczos3, _) => Kernel::Lanczos3,
        (Method::Lanczos5, _) => Kernel::Lanczos5,
        (Method::Gaussian, _) => Kernel::Gaussian,
        (Method::MitchellCubic, _) => Kernel::MitchellCubic,
    };
    resize_scale(kernel, antialias, src, from, dst, to, scratch)
}

#[cfg(test)]
mod tests;
