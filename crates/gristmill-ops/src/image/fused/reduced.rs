//! A photo that is decoded smaller, where that is permitted and saves work.

use super::compile::Compiled;
use super::run::{Work, with_chain};
use gristmill_image::chain::{Operation, Reduced, ratio};
use gristmill_image::geometry::Window;
use gristmill_image::jpeg::{self, Crop, JpegOptions};
use gristmill_image::resize::{Method, Size};
use gristmill_plan::Outs;

/// Components of a file whose colours are products of two of them: the mean of products is not the product of means.
const CMYK: usize = 4;

/// Runs a chain on `window` (within the crop of the options) of a photo with that many channels. `None`, with nothing
/// of use written, where the exact way has to: a photo that is not large enough, CMYK, another resize, or damage.
pub(super) fn run(
    chain: &Compiled,
    bytes: &[u8],
    options: &JpegOptions<'_>,
    (window, channels): (Window, usize),
    out: &mut Outs<'_>,
    work: &mut Work,
) -> Option<()> {
    let resize = work.geometry.resize.filter(|r| r.method == Method::Bilinear)?;
    let ratio = ratio((window.height, window.width), resize.to).filter(|_| options.ratio == 1)?;
    let linear = work.geometry.before.iter().all(|(operation, _)| *operation != Operation::DivideInto);
    let [height, width, components] = jpeg::shape(bytes).ok()?;
    if !linear || components == CMYK {
        return None;
    }
    let window = match options.crop {
        None => window,
        Some(crop) => place(crop).filter(|crop| crop.fits(height, width))?.part(window),
    };
    let options = JpegOptions { ratio, crop: None, ..*options };
    let [height, width, _] = jpeg::output_shape(bytes, &options).ok()?;
    let (pixels, geometry, scratch) = work.parts();
    let size = Size::new(window.height, window.width, channels);
    with_chain(chain, (size, Window::whole(size.height, size.width)), out, geometry, |all, dst| {
        let mut rows = Reduced::new(ratio, window, channels, all, dst, scratch)?;
        let part = Some(rows.part()).filter(|part| *part != Window::whole(height, width));
        jpeg::decode_rows(bytes, &options, part, &mut pixels.data, &mut |first, samples| {
            rows.band(first, samples);
            Ok(())
        })
    })
}

fn place(crop: Crop) -> Option<Window> {
    let [y, x, height, width] = [crop.y, crop.x, crop.height, crop.width].map(usize::try_from);
    Some(Window { y: y.ok()?, x: x.ok()?, height: height.ok()?, width: width.ok()? })
}
