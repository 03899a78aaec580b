//! The segments between a file's scans.

use crate::few::Few;
use crate::frame::{Component, Frame};
use crate::huffman::Spec;
use crate::{Error, Result};

/// A quantisation table in zigzag order.
pub(crate) type Quant = [u16; 64];

/// What an SOS segment says.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Scan {
    /// How many of `parts` there are.
    pub(crate) count: usize,
    /// Component index, DC table, AC table.
    pub(crate) parts: [(usize, usize, usize); 4],
    /// First and last zigzag position.
    pub(crate) band: (usize, usize),
    /// Bit positions of successive approximation: before and after this scan.
    pub(crate) bits: (u32, u32),
}

/// Reads a file's segments one after the other.
pub(crate) struct Reader<'a> {
    pub(crate) data: &'a [u8],
    pub(crate) pos: usize,
    pub(crate) quant: [Option<Quant>; 4],
    pub(crate) dc: [Option<Spec>; 4],
    pub(crate) ac: [Option<Spec>; 4],
    /// MCUs between restart markers, 0 without.
    pub(crate) restart: usize,
    pub(crate) frame: Option<Frame>,
    jfif: bool,
    adobe: Option<u8>,
}

const SHORT: Error = Error::Corrupt("a segment is shorter than its contents");
const ENDS: Error = Error::Corrupt("the file ends early");

fn u16_at(bytes: &[u8], at: usize) -> Result<usize> {
    match bytes.get(at..at + 2) {
        Some(b) => Ok(usize::from(b[0]) << 8 | usize::from(b[1])),
        None => Err(SHORT),
    }
}

fn u8_at(bytes: &[u8], at: usize) -> Result<u8> {
    bytes.get(at).copied().ok_or(SHORT)
}

impl<'a> Reader<'a> {
    /// # Errors
    ///
    /// [`Error::Corrupt`] when `data` does not start as a JPEG.
    pub(crate) fn new(data: &'a [u8]) -> Result<Self> {
        if !data.starts_with(b"\xff\xd8") {
            return Err(Error::Corrupt("it does not start with FF D8"));
        }
        let (quant, dc, ac) = ([None; 4], [const { None }; 4], [const { None }; 4]);
        Ok(Self { data, pos: 2, quant, dc, ac, restart: 0, frame: None, jfif: false, adobe: None })
    }

    /// Reads up to the next scan, after which `pos` is at its data, or up to the end of the image.
    pub(crate) fn next_scan(&mut self) -> Result<Option<Scan>> {
        loop {
            // Stray bytes are passed over, as libjpeg does.
            let rest = self.data.get(self.pos..).ok_or(ENDS)?;
            self.pos += rest.iter().position(|&b| b == 0xFF).ok_or(ENDS)?;
            while self.data.get(self.pos) == Some(&0xFF) {
                self.pos += 1;
            }
            let marker = *self.data.get(self.pos).ok_or(ENDS)?;
            self.pos += 1;
            match marker {
                0xD9 => return Ok(None),
                0xD0..=0xD7 | 0x01 | 0x00 => continue,
                0xD8 => return Err(Error::Corrupt("a marker is out of place")),
                _ => {}
            }
            let length = u16_at(self.data, self.pos).map_err(|_| ENDS)?;
            if length < 2 {
                return Err(SHORT);
            }
            let body = self.data.get(self.pos + 2..self.pos + length).ok_or(ENDS)?;
            self.pos += length;
            match marker {
                0xC0..=0xC2 => self.frame_header(body, marker == 0xC2)?,
                0xC4 => self.huffman_tables(body)?,
                0xDA => return self.scan_header(body).map(Some),
                0xDB => self.quant_tables(body)?,
                0xDD => {
                    self.restart = u16_at(body, 0)?;
                    if body.len() != 2 {
                        return Err(SHORT);
                    }
                }
                // Libjpeg passes over DNL too: the height must be in the frame header.
                0xDC | 0xFE | 0xE1..=0xED | 0xEF => {}
                0xE0 => self.jfif |= body.len() >= 14 && body.starts_with(b"JFIF\0"),
                0xEE if body.len() >= 12 && body.starts_with(b"Adobe") => self.adobe = Some(body[11]),
                0xEE => {}
                0xC3 | 0xC5..=0xC7 | 0xCB | 0xCD..=0xCF => {
                    return Err(Error::Unsupported("lossless or hierarchical coding"));
                }
                0xC9 | 0xCA | 0xCC => return Err(Error::Unsupported("arithmetic coding")),
                _ => return Err(Error::Corrupt("a marker is unknown")),
            }
        }
    }

    fn frame_header(&mut self, body: &[u8], progressive: bool) -> Result<()> {
        if self.frame.is_some() {
            return Err(Error::Corrupt("there are two frames"));
        }
        let (precision, count) = (u8_at(body, 0)?, usize::from(u8_at(body, 5)?));
        let (height, width) = (u16_at(body, 1)?, u16_at(body, 3)?);
        if body.len() != 6 + 3 * count {
            return Err(SHORT);
        }
        if precision != 8 {
            return Err(Error::Unsupported("samples of other than 8 bits"));
        }
        if !matches!(count, 1 | 3 | 4) {
            return Err(Error::Unsupported("a number of components other than 1, 3 and 4"));
        }
        let parts = body[6..].chunks_exact(3).map(|c| (c[0], c[1] >> 4, c[1] & 15, c[2]));
        let components = parts.map(|(id, h, v, table)| Component::new(id, h, v, table)).collect();
        self.frame = Some(Frame::new(width, height, progressive, components)?);
        Ok(())
    }

    fn quant_tables(&mut self, mut body: &[u8]) -> Result<()> {
        while let [head, rest @ ..] = body {
            let (wide, index) = (head >> 4 != 0, usize::from(head & 15));
            let slot = self.quant.get_mut(index).ok_or(Error::Corrupt("there are more than 4 tables"))?;
            let size = if wide { 128 } else { 64 };
            let values = rest.get(..size).ok_or(SHORT)?;
            let mut table = [0; 64];
            for (i, value) in table.iter_mut().enumerate() {
                *value = if wide {
                    u16::from_be_bytes([values[2 * i], values[2 * i + 1]])
                } else {
                    u16::from(values[i])
                };
            }
            *slot = Some(table);
            body = &rest[size..];
        }
        Ok(())
    }

    fn huffman_tables(&mut self, mut body: &[u8]) -> Result<()> {
        while let [head, rest @ ..] = body {
            let (ac, index) = (head >> 4, usize::from(head & 15));
            if ac > 1 || index > 3 {
                return Err(Error::Corrupt("there are more than 4 tables"));
            }
            let (spec, used) = Spec::read(rest)?;
            if ac == 1 {
                self.ac[index] = Some(spec);
            } else {
                self.dc[index] = Some(spec);
            }
            body = &rest[used..];
        }
        Ok(())
    }

    fn scan_header(&mut self, body: &[u8]) -> Result<Scan> {
        let frame = self.frame.as_ref().ok_or(Error::Corrupt("a scan comes before the frame"))?;
        let count = usize::from(u8_at(body, 0)?);
        if !(1..=4).contains(&count) || body.len() != 4 + 2 * count {
            return Err(SHORT);
        }
        let mut scan = Scan { count, ..Scan::default() };
        for i in 0..count {
            let (id, tables) = (body[1 + 2 * i], body[2 + 2 * i]);
            let component = frame.components.iter().position(|c| c.id == id);
            let component = component.ok_or(Error::Corrupt("a scan is of an unknown component"))?;
            // Libjpeg looks for a component only among those that the places before have not used up.
            if component < i || scan.parts[..i].iter().any(|p| p.0 == component) {
                return Err(Error::Corrupt("a scan names its components twice or out of order"));
            }
            scan.parts[i] = (component, usize::from(tables >> 4), usize::from(tables & 15));
        }
        let tail = &body[1 + 2 * count..];
        scan.band = (usize::from(tail[0]), usize::from(tail[1]));
        scan.bits = (u32::from(tail[2] >> 4), u32::from(tail[2] & 15));
        Ok(scan)
    }

    /// The colour space by libjpeg's rules.
    pub(crate) fn space(&self, frame: &Frame) -> Space {
        let ids: Few<u8> = frame.components.iter().map(|c| c.id).collect();
        match (ids.len(), self.adobe) {
            (1, _) => Space::Gray,
            (3, _) if self.jfif => Space::YCbCr,
            (3, Some(0)) => Space::Rgb,
            (3, Some(_)) => Space::YCbCr,
            (3, None) if ids[..] == *b"RGB" => Space::Rgb,
            (3, None) => Space::YCbCr,
            (_, Some(0)) | (_, None) => Space::Cmyk,
            (_, Some(_)) => Space::Ycck,
        }
    }

    /// Whether there is an Adobe segment, which means inverted CMYK.
    pub(crate) fn inverted(&self) -> bool {
        self.adobe.is_some()
    }
}

/// The colour space of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Space {
    /// One component.
    Gray,
    /// The usual colour photo.
    YCbCr,
    /// Red, green and blue as they are.
    Rgb,
    /// Four inks.
    Cmyk,
    /// Four inks, three of them as luma and chroma.
    Ycck,
}
