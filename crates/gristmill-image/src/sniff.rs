//! Which format a file has, by its first bytes.

/// An image format that can be told from its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// JPEG: `FF D8 FF`.
    Jpeg,
    /// JPEG XL: a bare codestream (`FF 0A`) or its container.
    JpegXl,
    /// PNG.
    Png,
    /// GIF 87a or 89a.
    Gif,
    /// Windows bitmap.
    Bmp,
    /// WebP in its RIFF container.
    WebP,
}

impl Format {
    /// The format's usual name, as error messages have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Jpeg => "JPEG",
            Self::JpegXl => "JPEG XL",
            Self::Png => "PNG",
            Self::Gif => "GIF",
            Self::Bmp => "BMP",
            Self::WebP => "WebP",
        }
    }
}

/// The format of `contents` by its magic bytes, or `None` when they are no image known here.
///
/// The same bytes decide as in TensorFlow's `decode_image` (`tensorflow/core/kernels/image/decode_image_op.cc`), so a
/// file with junk before the start of a JPEG is unknown.
#[must_use]
pub fn sniff(contents: &[u8]) -> Option<Format> {
    const JXL_CONTAINER: &[u8] = b"\x00\x00\x00\x0cJXL \x0d\x0a\x87\x0a";
    if contents.starts_with(b"\xff\xd8\xff") {
        Some(Format::Jpeg)
    } else if contents.starts_with(b"\x89PNG\r\n\x1a\n") {
        Some(Format::Png)
    } else if contents.starts_with(b"GIF8") {
        Some(Format::Gif)
    } else if contents.starts_with(b"BM") {
        Some(Format::Bmp)
    } else if contents.len() > 12 && contents.starts_with(b"RIFF") && contents[8..].starts_with(b"WEBP") {
        Some(Format::WebP)
    } else if contents.starts_with(b"\xff\x0a") || contents.starts_with(JXL_CONTAINER) {
        Some(Format::JpegXl)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_bytes_decide() {
        assert_eq!(sniff(b"\xff\xd8\xff\xe0"), Some(Format::Jpeg));
        assert_eq!(sniff(b"\xff\xd8"), None);
        assert_eq!(sniff(b"\x89PNG\r\n\x1a\n...."), Some(Format::Png));
        assert_eq!(sniff(b"GIF89a"), Some(Format::Gif));
        assert_eq!(sniff(b"GIF"), None);
        assert_eq!(sniff(b"BM"), Some(Format::Bmp));
        assert_eq!(sniff(b"RIFF\x10\0\0\0WEBPVP8 "), Some(Format::WebP));
        assert_eq!(sniff(b"RIFF\x10\0\0\0WEBP"), None);
        assert_eq!(sniff(b"RIFF\x10\0\0\0WAVEfmt "), None);
        assert_eq!(sniff(b"\xff\x0a\x00"), Some(Format::JpegXl));
        assert_eq!(sniff(b"\0\0\0\x0cJXL \r\n\x87\n"), Some(Format::JpegXl));
        assert_eq!(sniff(b""), None);
    }
}
