//! Windows bitmaps, by TensorFlow's rules (`tensorflow/core/kernels/image/decode_image_op.cc`): no compression, no
//! palette (8-bit samples are taken as they are), 8, 24 or 32 bits per pixel, the file's size must fit exactly.

use crate::output::slot;
use crate::{Error, Output, Result};

/// TensorFlow's bound on `width * height`, `(2^31 - 1) / 8`.
const MAX_PIXELS: u64 = (i32::MAX / 8) as u64;

fn i32_at(contents: &[u8], at: usize) -> i32 {
    i32::from_le_bytes([contents[at], contents[at + 1], contents[at + 2], contents[at + 3]])
}

/// Decodes a bitmap into the `[height, width, channels]` slot of `output`; `channels` is 0 (as in the file: 1, 3 or 4),
/// 3 or 4. Values as `tf.io.decode_bmp`.
///
/// # Errors
///
/// [`Error::InvalidArgument`] when the header or the size of the file does not fit; what `output` says.
pub fn decode(contents: &[u8], channels: u32, output: &mut (impl Output<u8> + ?Sized)) -> Result<()> {
    if !matches!(channels, 0 | 3 | 4) {
        return Err(Error::invalid(format!("`channels` must be 0, 3 or 4 for BMP, but got {channels}")));
    }
    if contents.len() < 32 {
        return Err(Error::invalid(format!(
            "Incomplete bmp content, requires at least 32 bytes to find the header size, width, height, and bpp, got {} bytes",
            contents.len()
        )));
    }
    let header = i32_at(contents, 10);
    let width = i32_at(contents, 18);
    let height = i32_at(contents, 22);
    let bits = i16::from_le_bytes([contents[28], contents[29]]);
    let inherent = bits / 8;
    if !matches!(inherent, 1 | 3 | 4) {
        return Err(Error::invalid(format!(
            "Number of channels inherent in the image must be 1, 3 or 4, was {inherent}"
        )));
    }
    if width <= 0 {
        return Err(Error::invalid(format!("Width must be positive, was {width}")));
    }
    if height == 0 {
        return Err(Error::invalid("Height must be nonzero"));
    }
    if header < 0 {
        return Err(Error::invalid(format!("header size must be nonnegative, was {header}")));
    }
    let (w, h) = (width.unsigned_abs() as u64, u64::from(height.unsigned_abs()));
    if w * h >= MAX_PIXELS {
        return Err(Error::invalid(format!(
            "Total possible pixel bytes must be less than 2^30, found {w} x {h} pixels"
        )));
    }
    let from = inherent as usize;
    let row_bytes = (from as u64 * w).div_ceil(4) * 4;
    let difference = contents.len() as i64 - i64::from(header) - (row_bytes * h) as i64;
    if difference != 0 {
        return Err(Error::invalid(format!(
            "Input size should match (header_size + row_size * abs_height) but they differ by {difference}"
        )));
    }

    let (w, h, row_bytes) = (w as usize, h as usize, row_bytes as usize);
    let to = if channels == 0 { from } else { channels as usize };
    let pixels = slot(output, &[h, w, to])?;
    let rows = contents[header as usize..].chunks_exact(row_bytes);
    let out = pixels.chunks_exact_mut(w * to);
    let convert = |(row, out): (&[u8], &mut [u8])| {
        for (p, q) in row.chunks_exact(from).zip(out.chunks_exact_mut(to)) {
            if from == 1 {
                q.fill(p[0]);
            } else {
                q[0] = p[2];
                q[1] = p[1];
                q[2] = p[0];
            }
            if to == 4 {
                q[3] = if from == 4 { p[3] } else { 255 };
            }
        }
    };
    if height < 0 {
        rows.zip(out).for_each(convert)
    } else {
        rows.rev().zip(out).for_each(convert)
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Image;

    fn bmp(width: i32, height: i32, bits: i16, rows: &[u8]) -> Vec<u8> {
        let mut b = vec![0; 54];
        b[..2].copy_from_slice(b"BM");
        b[10..14].copy_from_slice(&54i32.to_le_bytes());
        b[18..22].copy_from_slice(&width.to_le_bytes());
        b[22..26].copy_from_slice(&height.to_le_bytes());
        b[28..30].copy_from_slice(&bits.to_le_bytes());
        b.extend_from_slice(rows);
        b
    }

    fn decoded(contents: &[u8], channels: u32) -> Result<Image<u8>> {
        let mut image = Image::default();
        decode(contents, channels, &mut image)?;
        Ok(image)
    }

    #[test]
    fn bottom_up_and_top_down() {
        let rows = [1, 2, 3, 0, 4, 5, 6, 0];
        assert_eq!(decoded(&bmp(1, 2, 24, &rows), 0).unwrap().data, [6, 5, 4, 3, 2, 1]);
        assert_eq!(decoded(&bmp(1, -2, 24, &rows), 0).unwrap().data, [3, 2, 1, 6, 5, 4]);
        let four = decoded(&bmp(1, -2, 24, &rows), 4).unwrap();
        assert_eq!((four.shape, four.data), (vec![2, 1, 4], vec![3, 2, 1, 255, 6, 5, 4, 255]));
    }

    #[test]
    fn one_and_four_channels() {
        assert_eq!(decoded(&bmp(2, 1, 8, &[7, 9, 0, 0]), 0).unwrap().data, [7, 9]);
        assert_eq!(decoded(&bmp(2, 1, 8, &[7, 9, 0, 0]), 4).unwrap().data, [7, 7, 7, 255, 9, 9, 9, 255]);
        assert_eq!(decoded(&bmp(1, 1, 32, &[1, 2, 3, 4]), 0).unwrap().data, [3, 2, 1, 4]);
        assert_eq!(decoded(&bmp(1, 1, 32, &[1, 2, 3, 4]), 3).unwrap().data, [3, 2, 1]);
    }

    #[test]
    fn sizes_are_checked() {
        let words = |b: &[u8]| decoded(b, 0).unwrap_err().to_string();
        assert!(words(b"BM").contains("Incomplete bmp content"));
        assert!(words(&bmp(1, 1, 24, &[0; 6])).contains("they differ by 2"));
        assert!(words(&bmp(i32::MAX, i32::MIN, 32, &[])).contains("less than 2^30"));
        assert!(words(&bmp(1, 0, 24, &[])).contains("Height"));
        assert!(words(&bmp(1, 1, 16, &[0; 4])).contains("must be 1, 3 or 4, was 2"));
    }
}
