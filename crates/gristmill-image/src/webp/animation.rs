//! Frames of an animation drawn on its canvas, with the values of libwebp's `WebPAnimDecoder`
//! (`src/demux/anim_decode.c`): the background is transparent whatever colour the file names.

use super::container::{Frame, Size};

/// What the next frame is drawn on.
pub(super) struct Canvas<'f, 'a> {
    size: Size,
    /// RGBA of what is left of the frames before.
    left: Vec<u8>,
    before: Option<Before<'f, 'a>>,
}

struct Before<'f, 'a> {
    frame: &'f Frame<'a>,
    key: bool,
}

impl<'f, 'a> Canvas<'f, 'a> {
    /// A transparent canvas of that size.
    pub(super) fn new(size: Size) -> Self {
        Self { size, left: Vec::new(), before: None }
    }

    /// Whether nothing of the frames before can be seen.
    fn is_key(&self, frame: &Frame<'_>) -> bool {
        let Some(before) = &self.before else {
            return true;
        };
        let covering = (!frame.picture.has_alpha || !frame.blend) && frame.picture.size == self.size;
        covering || before.frame.dispose && (before.key || before.frame.picture.size == self.size)
    }

    /// Draws a frame, whose RGBA pixels are `pixels`, and writes the canvas to `out`.
    pub(super) fn draw(&mut self, frame: &'f Frame<'a>, pixels: &[u8], out: &mut [u8]) {
        let key = self.is_key(frame);
        if key {
            out.fill(0);
        } else {
            out.copy_from_slice(&self.left);
        }
        // Where the frame before was removed there is nothing to blend with.
        let removed = self.before.as_ref().map(|b| b.frame).filter(|f| f.dispose);
        let (width, _) = frame.picture.size;
        for (y, row) in (frame.y..).zip(pixels.chunks_exact(width * 4)) {
            let at = (y * self.size.0 + frame.x) * 4;
            let out = out[at..at + width * 4].as_chunks_mut::<4>().0;
            for ((x, &pixel), out) in (frame.x..).zip(row.as_chunks::<4>().0).zip(out) {
                let blended = frame.blend && !key && !removed.is_some_and(|f| f.covers(x, y));
                *out = if blended { blend(pixel, *out) } else { pixel };
            }
        }
        self.left.clear();
        self.left.extend_from_slice(out);
        if frame.dispose {
            for y in frame.y..frame.y + frame.picture.size.1 {
                let at = (y * self.size.0 + frame.x) * 4;
                self.left[at..at + width * 4].fill(0);
            }
        }
        self.before = Some(Before { frame, key });
    }
}

/// `over` on `under`, neither multiplied by its alpha, in libwebp's integer arithmetic.
fn blend(over: [u8; 4], under: [u8; 4]) -> [u8; 4] {
    let alpha = u32::from(over[3]);
    match alpha {
        0 => return under,
        255 => return over,
        _ => {}
    }
    let rest = (u32::from(under[3]) * (256 - alpha)) >> 8;
    let sum = alpha + rest;
    let scale = (1 << 24) / sum;
    let mix = |o: u8, u: u8| (((u32::from(o) * alpha + u32::from(u) * rest) * scale) >> 24) as u8;
    [mix(over[0], under[0]), mix(over[1], under[1]), mix(over[2], under[2]), sum as u8]
}
