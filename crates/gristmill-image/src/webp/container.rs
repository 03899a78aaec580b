//! The RIFF container of a WebP file: which bitstreams it holds, and where they go.
//!
//! The layout is that of RFC 9649; what is accepted follows libwebp's `WebPGetFeatures` and `WebPDemux`.

/// Width and height in pixels.
pub(super) type Size = (usize, usize);

/// One bitstream with its alpha plane.
#[derive(Debug, Clone, Copy)]
pub(super) struct Picture<'a> {
    /// The payload of the `VP8 ` or `VP8L` chunk.
    pub(super) bitstream: &'a [u8],
    /// Whether it is `VP8L`.
    pub(super) lossless: bool,
    /// The payload of the `ALPH` chunk that goes with a `VP8 ` one.
    pub(super) alpha: Option<&'a [u8]>,
    /// What the bitstream declares.
    pub(super) size: Size,
    /// Whether pixels may be other than opaque.
    pub(super) has_alpha: bool,
    /// Whether the file holds as many bytes as the chunks declare.
    pub(super) whole: bool,
}

/// One step of an animation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame<'a> {
    pub(super) picture: Picture<'a>,
    /// Left edge on the canvas in pixels.
    pub(super) x: usize,
    /// Upper edge on the canvas in pixels.
    pub(super) y: usize,
    /// Whether it is blended with what it covers, not put in its place.
    pub(super) blend: bool,
    /// Whether its rectangle is transparent before the next frame is drawn.
    pub(super) dispose: bool,
}

/// What a file holds.
#[derive(Debug)]
pub(super) enum File<'a> {
    /// One image.
    Still(Picture<'a>),
    /// An animation on a canvas of that size, with the chunks behind the header; none if the file is cut off.
    Animated(Size, Chunks<'a>),
}

/// Walks over chunks.
#[derive(Debug, Clone)]
pub(super) struct Chunks<'a> {
    rest: &'a [u8],
}

/// A piece of a file.
pub(super) struct Chunk<'a> {
    name: [u8; 4],
    payload: &'a [u8],
    whole: bool,
}

impl<'a> Iterator for Chunks<'a> {
    type Item = Chunk<'a>;

    fn next(&mut self) -> Option<Chunk<'a>> {
        let (name, rest) = self.rest.split_first_chunk::<4>()?;
        let (size, rest) = rest.split_first_chunk::<4>()?;
        let size = u32::from_le_bytes(*size) as usize;
        let payload = &rest[..size.min(rest.len())];
        self.rest = rest.get(size.saturating_add(size % 2)..).unwrap_or_default();
        Some(Chunk { name: *name, payload, whole: payload.len() == size })
    }
}

fn u24(bytes: &[u8]) -> usize {
    usize::from(bytes[0]) | usize::from(bytes[1]) << 8 | usize::from(bytes[2]) << 16
}

fn lossy_size(bitstream: &[u8]) -> Option<Size> {
    let head = bitstream.first_chunk::<10>()?;
    let side = |at: usize| usize::from(u16::from_le_bytes([head[at], head[at + 1]]) & 0x3FFF);
    let key_frame = head[0] & 1 == 0 && head[3..6] == [0x9D, 0x01, 0x2A];
    let size = (side(6), side(8));
    (key_frame && size.0 > 0 && size.1 > 0).then_some(size)
}

/// The size and whether alpha is used.
fn lossless_size(bitstream: &[u8]) -> Option<(Size, bool)> {
    let head = bitstream.first_chunk::<5>()?;
    let bits = u32::from_le_bytes([head[1], head[2], head[3], head[4]]);
    let side = |bits: u32| (bits & 0x3FFF) as usize + 1;
    (head[0] == 0x2F && bits >> 29 == 0).then_some(((side(bits), side(bits >> 14)), bits >> 28 & 1 == 1))
}

/// The first bitstream, with the alpha plane before it. `flag` is the container's word for alpha, which counts for
/// lossy images only.
fn picture<'a>(chunks: &mut Chunks<'a>, flag: bool) -> Option<Picture<'a>> {
    let mut alpha: Option<Chunk<'a>> = None;
    for chunk in chunks {
        let bitstream = chunk.payload;
        match &chunk.name {
            b"ALPH" => alpha = Some(chunk),
            b"VP8 " => {
                return Some(Picture {
                    bitstream,
                    lossless: false,
                    size: lossy_size(bitstream)?,
                    has_alpha: flag || alpha.is_some(),
                    whole: chunk.whole && alpha.as_ref().is_none_or(|a| a.whole),
                    alpha: alpha.map(|a| a.payload),
                });
            }
            b"VP8L" => {
                let (size, has_alpha) = lossless_size(bitstream)?;
                let whole = chunk.whole;
                return Some(Picture { bitstream, lossless: true, alpha: None, size, has_alpha, whole });
            }
            _ => {}
        }
    }
    None
}

impl<'a> File<'a> {
    /// Reads the header; `None` if it is none.
    pub(super) fn read(contents: &'a [u8]) -> Option<Self> {
        let head = contents.first_chunk::<12>()?;
        let size = u32::from_le_bytes([head[4], head[5], head[6], head[7]]) as usize;
        if !head.starts_with(b"RIFF") || !head.ends_with(b"WEBP") || size < 12 {
            return None;
        }
        let body = &contents[12..contents.len().min(size.saturating_add(8))];
        let whole = contents.len() - 8 >= size;
        let still = |picture: Picture<'a>| Self::Still(Picture { whole: picture.whole && whole, ..picture });
        let mut chunks = Chunks { rest: body };
        let first = chunks.next()?;
        if &first.name != b"VP8X" {
            return picture(&mut Chunks { rest: body }, false).map(still);
        }
        let header = first.payload.first_chunk::<10>()?;
        let canvas = (u24(&header[4..]) + 1, u24(&header[7..]) + 1);
        if header[0] & 2 != 0 {
            return Some(Self::Animated(canvas, if whole { chunks } else { Chunks { rest: &[] } }));
        }
        picture(&mut chunks, header[0] & 16 != 0).filter(|p| p.size == canvas).map(still)
    }
}

/// The frames of an animation; `None` if there are none, or one is cut off, damaged or not inside of the canvas.
pub(super) fn frames(canvas: Size, chunks: Chunks<'_>) -> Option<Vec<Frame<'_>>> {
    let mut announced = false;
    let mut frames = Vec::new();
    for chunk in chunks {
        match &chunk.name {
            b"ANIM" => announced = chunk.payload.len() >= 6,
            b"ANMF" => frames.push(frame(&chunk).filter(|f| announced && f.is_inside(canvas))?),
            b"VP8 " | b"VP8L" | b"ALPH" => return None,
            _ => {}
        }
    }
    (!frames.is_empty()).then_some(frames)
}

fn frame<'a>(chunk: &Chunk<'a>) -> Option<Frame<'a>> {
    let (head, rest) = chunk.payload.split_first_chunk::<16>()?;
    let picture = picture(&mut Chunks { rest }, false)?;
    let size = (u24(&head[6..]) + 1, u24(&head[9..]) + 1);
    (chunk.whole && picture.whole && picture.size == size).then_some(Frame {
        picture,
        x: u24(head) * 2,
        y: u24(&head[3..]) * 2,
        blend: head[15] & 2 == 0,
        dispose: head[15] & 1 != 0,
    })
}

impl Frame<'_> {
    fn is_inside(&self, (width, height): Size) -> bool {
        self.x + self.picture.size.0 <= width && self.y + self.picture.size.1 <= height
    }

    /// Whether the pixel `x`, `y` of the canvas is in the frame's rectangle.
    pub(super) fn covers(&self, x: usize, y: usize) -> bool {
        let (width, height) = self.picture.size;
        (self.x..self.x + width).contains(&x) && (self.y..self.y + height).contains(&y)
    }
}
