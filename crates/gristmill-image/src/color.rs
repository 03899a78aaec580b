//! Colour and contrast on `f32` images (`tf.image.adjust_*`, `rgb_to_hsv`, ...). Other types are converted before and
//! after, as TensorFlow does ([`convert_image`](crate::convert::convert_image), back with `saturate`).

use crate::{Error, Result};

fn check(src: usize, from: usize, dst: usize, to: usize) -> Result<()> {
    if src.is_multiple_of(from) && src / from * to == dst {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "{src} samples of {from} channels do not become {dst} samples of {to} channels"
    )))
}

fn pixels(src: &[f32], dst: &mut [f32], convert: impl Fn([f32; 3]) -> [f32; 3]) -> Result<()> {
    check(src.len(), 3, dst.len(), 3)?;
    for (s, d) in src.chunks_exact(3).zip(dst.chunks_exact_mut(3)) {
        d.copy_from_slice(&convert([s[0], s[1], s[2]]));
    }
    Ok(())
}

fn samples(src: &[f32], dst: &mut [f32], convert: impl Fn(f32) -> f32) -> Result<()> {
    check(src.len(), 1, dst.len(), 1)?;
    for (s, d) in src.iter().zip(dst) {
        *d = convert(*s);
    }
    Ok(())
}

/// Grey from RGB with the weights .2989, .5870 and .1140; `dst` has one channel.
///
/// # Errors
///
/// [`Error::InvalidArgument`] when the lengths do not fit, as in all functions here.
pub fn rgb_to_grayscale(src: &[f32], dst: &mut [f32]) -> Result<()> {
    check(src.len(), 3, dst.len(), 1)?;
    for (s, d) in src.chunks_exact(3).zip(dst) {
        *d = s[0] * 0.2989 + s[1] * 0.5870 + s[2] * 0.1140;
    }
    Ok(())
}

/// Repeats a sample three times; any type.
///
/// # Errors
///
/// As [`rgb_to_grayscale`].
pub fn grayscale_to_rgb<T: Copy>(src: &[T], dst: &mut [T]) -> Result<()> {
    check(src.len(), 1, dst.len(), 3)?;
    for (s, d) in src.iter().zip(dst.chunks_exact_mut(3)) {
        d.fill(*s);
    }
    Ok(())
}

fn hsv_of([r, g, b]: [f32; 3]) -> [f32; 3] {
    let v = r.max(g).max(b);
    let range = v - r.min(g).min(b);
    let s = if v > 0.0 { range / v } else { 0.0 };
    if range <= 0.0 {
        return [0.0, s, v];
    }
    let norm = (1.0 / range) * (1.0 / 6.0);
    let h = if r == v {
        norm * (g - b)
    } else if g == v {
        norm * (b - r) + 2.0 / 6.0
    } else {
        norm * (r - g) + 4.0 / 6.0
    };
    [if h < 0.0 { h + 1.0 } else { h }, s, v]
}

fn rgb_of([h, s, v]: [f32; 3]) -> [f32; 3] {
    let h = h * 6.0;
    let part = [(h - 3.0).abs() - 1.0, 2.0 - (h - 2.0).abs(), 2.0 - (h - 4.0).abs()];
    part.map(|p| ((1.0 - s) + s * p.clamp(0.0, 1.0)) * v)
}

/// Hue, saturation and value, each 0 to 1, of RGB.
///
/// # Errors
///
/// As [`rgb_to_grayscale`].
pub fn rgb_to_hsv(src: &[f32], dst: &mut [f32]) -> Result<()> {
    pixels(src, dst, hsv_of)
}

/// RGB of hue, saturation and value.
///
/// # Errors
///
/// As [`rgb_to_grayscale`].
pub fn hsv_to_rgb(src: &[f32], dst: &mut [f32]) -> Result<()> {
    pixels(src, dst, rgb_of)
}

/// Adds `delta`.
///
/// # Errors
///
/// As [`rgb_to_grayscale`].
pub fn adjust_brightness(src: &[f32], delta: f32, dst: &mut [f32]) -> Result<()> {
    samples(src, dst, |v| v + delta)
}

/// `(v - mean) * factor + mean`, the mean being that of the channel over the image.
///
/// # Errors
///
/// As [`rgb_to_grayscale`]; also for 0 channels.
pub fn adjust_contrast(src: &[f32], channels: usize, factor: f32, dst: &mut [f32]) -> Result<()> {
    if channels == 0 {
        return Err(Error::invalid("an image needs at least one channel"));
    }
    check(src.len(), channels, dst.len(), channels)?;
    let count = (src.len() / channels) as f64;
    for c in 0..channels {
        let mean = (src.iter().skip(c).step_by(channels).map(|&v| f64::from(v)).sum::<f64>() / count) as f32;
        let from = src.iter().skip(c).step_by(channels);
        for (s, d) in from.zip(dst.iter_mut().skip(c).step_by(channels)) {
            *d = (s - mean) * factor + mean;
        }
    }
    Ok(())
}

/// Multiplies the saturation by `factor`, at most to 1.
///
/// # Errors
///
/// As [`rgb_to_grayscale`].
pub fn adjust_saturation(src: &[f32], factor: f32, dst: &mut [f32]) -> Result<()> {
    pixels(src, dst, |rgb| {
        let [h, s, v] = hsv_of(rgb);
        rgb_of([h, (s * factor).clamp(0.0, 1.0), v])
    })
}

/// Turns the hue by `delta` (1 is once around), keeping the largest and the smallest of the three samples.
///
/// # Errors
///
/// As [`rgb_to_grayscale`].
pub fn adjust_hue(src: &[f32], delta: f32, dst: &mut [f32]) -> Result<()> {
    pixels(src, dst, |[r, g, b]| {
        let (low, high) = (r.min(g).min(b), r.max(g).max(b));
        let range = high - low;
        if range <= 0.0 {
            return [r, g, b];
        }
        let hue = if r == high {
            (g - b) / range
        } else if g == high {
            (b - r) / range + 2.0
        } else {
            (r - g) / range + 4.0
        };
        let hue = (hue + delta * 6.0).rem_euclid(6.0);
        let sector = hue.floor();
        let ratio = if sector % 2.0 == 0.0 { hue - sector } else { 1.0 - (hue - sector) };
        let middle = low + ratio * range;
        match sector as u32 {
            1 => [middle, high, low],
            2 => [low, high, middle],
            3 => [low, middle, high],
            4 => [middle, low, high],
            5 => [high, low, middle],
            _ => [high, middle, low],
        }
    })
}

/// `gain * v^gamma`.
///
/// # Errors
///
/// As [`rgb_to_grayscale`]; also for a negative `gamma`.
pub fn adjust_gamma(src: &[f32], gamma: f32, gain: f32, dst: &mut [f32]) -> Result<()> {
    if gamma < 0.0 {
        return Err(Error::invalid(format!("Gamma should be a non-negative real number, got {gamma}")));
    }
    samples(src, dst, |v| gain * v.powf(gamma))
}

/// `(v - mean) / max(stddev, 1 / sqrt(n))` over all `n` samples of one image.
///
/// # Errors
///
/// As [`rgb_to_grayscale`].
pub fn per_image_standardization(src: &[f32], dst: &mut [f32]) -> Result<()> {
    let n = src.len().max(1) as f64;
    let mean = src.iter().map(|&v| f64::from(v)).sum::<f64>() / n;
    let variance = src.iter().map(|&v| (f64::from(v) - mean).powi(2)).sum::<f64>() / n;
    let deviation = variance.sqrt().max(1.0 / n.sqrt()) as f32;
    let mean = mean as f32;
    samples(src, dst, |v| (v - mean) / deviation)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(got: &[f32], expected: &[f32]) {
        assert_eq!(got.len(), expected.len());
        assert!(got.iter().zip(expected).all(|(g, e)| (g - e).abs() <= 1e-5), "{got:?} is not {expected:?}");
    }

    fn run(n: usize, f: impl FnOnce(&mut [f32]) -> Result<()>) -> Vec<f32> {
        let mut out = vec![0.0; n];
        f(&mut out).unwrap();
        out
    }

    #[test]
    fn hsv() {
        let rgb = [1.0, 0.0, 0.0, 0.0, 0.5, 0.25, 0.2, 0.2, 0.2, 0.5, 0.0, 1.0];
        let hsv = [0.0, 1.0, 1.0, 5.0 / 12.0, 1.0, 0.5, 0.0, 0.0, 0.2, 0.75, 1.0, 1.0];
        close(&run(12, |d| rgb_to_hsv(&rgb, d)), &hsv);
        close(&run(12, |d| hsv_to_rgb(&hsv, d)), &rgb);
        close(&run(12, |d| adjust_hue(&rgb, 1.0, d)), &rgb);
        close(&run(3, |d| adjust_hue(&[1.0, 0.0, 0.0], 1.0 / 3.0, d)), &[0.0, 1.0, 0.0]);
        close(&run(3, |d| adjust_saturation(&[0.8, 0.4, 0.4], 0.0, d)), &[0.8, 0.8, 0.8]);
    }

    #[test]
    fn samples_and_channels() {
        close(&run(1, |d| rgb_to_grayscale(&[1.0, 1.0, 1.0], d)), &[0.9999]);
        close(&run(2, |d| adjust_brightness(&[0.1, 0.2], 0.5, d)), &[0.6, 0.7]);
        close(&run(4, |d| adjust_contrast(&[0.0, 1.0, 1.0, 1.0], 2, 0.5, d)), &[0.25, 1.0, 0.75, 1.0]);
        close(&run(2, |d| adjust_gamma(&[0.5, 1.0], 2.0, 3.0, d)), &[0.75, 3.0]);
        close(&run(2, |d| per_image_standardization(&[1.0, 3.0], d)), &[-1.0, 1.0]);
        close(&run(4, |d| per_image_standardization(&[5.0; 4], d)), &[0.0; 4]);
        assert_eq!(run(3, |d| grayscale_to_rgb(&[7.0], d)), [7.0; 3]);
        assert!(adjust_gamma(&[1.0], -1.0, 1.0, &mut [0.0]).is_err());
        assert!(rgb_to_hsv(&[1.0; 4], &mut [0.0; 4]).is_err());
        assert!(adjust_contrast(&[1.0], 0, 1.0, &mut [0.0]).is_err());
    }
}
