//! What a PNG's first chunk tells.

use gristmill_image::MAX_SAMPLES;

use super::u32_be;

/// An empty `IEND` chunk, with which a whole file ends.
pub(crate) const END: &[u8] = b"\0\0\0\0IEND\xaeB`\x82";

/// The header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) height: usize,
    pub(crate) width: usize,
    /// Bits of a sample.
    depth: u8,
    /// Channels as stored; a palette has 1.
    stored: u64,
    palette: bool,
    /// Whether a chunk makes one colour transparent.
    transparent: bool,
}

impl Header {
    /// Bytes that decoding to `channels` takes at its peak, at most; `None` for the file's own channels.
    pub(crate) fn decoding_bytes(self, channels: Option<u64>) -> u64 {
        let own = if self.palette { 4 } else { self.stored + u64::from(self.transparent) };
        let to = channels.unwrap_or(own);
        let pixels = self.height as u64 * self.width as u64;
        let plain = self.depth == 8 && !self.palette && to == self.stored;
        let raw =
            if plain { 0 } else { pixels.saturating_mul(self.stored * u64::from(self.depth).max(8) / 8) };
        pixels.saturating_mul(to).saturating_add(raw)
    }
}

/// CRC-32 of a few bytes, as PNG has it (RFC 2083, appendix 15).
pub(crate) fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0u32, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |c, _| if c & 1 == 1 { (c >> 1) ^ 0xedb8_8320 } else { c >> 1 })
    })
}

/// Reads the header, the checksum of which must hold.
///
/// # Errors
/// What is wrong with it, in words.
pub(crate) fn header(contents: &[u8]) -> Result<Header, String> {
    let damaged = || "the PNG header is damaged or cut off".to_owned();
    let chunk: &[u8; 17] = contents.get(12..29).and_then(|c| c.try_into().ok()).ok_or_else(damaged)?;
    let stated = u32_be(contents, 29).ok_or_else(damaged)?;
    let [b'I', b'H', b'D', b'R', w @ .., depth, colour, _, _, _] = *chunk else { return Err(damaged()) };
    let (width, height) = (u32_be(&w, 0).unwrap_or(0), u32_be(&w, 4).unwrap_or(0));
    if stated as u32 != crc(chunk) || width == 0 || height == 0 {
        return Err(damaged());
    }
    if (width as u64).saturating_mul(height as u64) >= MAX_SAMPLES {
        return Err(format!("a PNG of {width} x {height} pixels is too large to be decoded"));
    }
    let stored = match colour {
        2 => 3,
        4 => 2,
        6 => 4,
        _ => 1,
    };
    let transparent = chunk_of(contents, b"tRNS").is_some();
    Ok(Header { height, width, depth, stored, palette: colour == 3, transparent })
}

/// The Exif data: the chunk `eXIf`.
pub(crate) fn exif(contents: &[u8]) -> Option<&[u8]> {
    chunk_of(contents, b"eXIf")
}

/// The data of the first chunk of a kind.
fn chunk_of<'a>(contents: &'a [u8], wanted: &[u8; 4]) -> Option<&'a [u8]> {
    let mut at = 8;
    loop {
        let length = u32_be(contents, at)?;
        let kind = contents.get(at + 4..at + 8)?;
        if kind == wanted {
            return contents.get(at + 8..(at + 8).checked_add(length)?);
        }
        at = at.checked_add(length)?.checked_add(12)?;
    }
}

#[cfg(test)]
mod tests {
    use gristmill_image::png::encode;

    #[test]
    fn headers_tell_size_and_memory() {
        let file = encode(&[7u8; 2 * 3 * 3], 2, 3, 3, -1).unwrap();
        let header = super::header(&file).unwrap();
        assert_eq!((header.height, header.width), (2, 3));
        assert_eq!((header.decoding_bytes(Some(3)), header.decoding_bytes(Some(1))), (18, 6 + 18));
        let deep = encode(&[7u16; 2 * 3 * 4], 2, 3, 4, -1).unwrap();
        assert_eq!(super::header(&deep).unwrap().decoding_bytes(None), 24 + 48);
        let mut damaged = file.clone();
        damaged[18] ^= 1;
        assert_eq!(super::header(&damaged).unwrap_err(), "the PNG header is damaged or cut off");
        assert!(super::header(&file[..32]).is_err());
    }
}
