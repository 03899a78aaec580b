//! Processors without vector code here: never used, and the plain code if it were.

use super::{Strip, lane::Lane};
use crate::block::Block;
use crate::color::Convert;
use crate::idct::Kind;
use crate::simd::Level;
use crate::{Error, Result, unstuff, upsample};

pub(super) fn available() -> bool {
    false
}

pub(super) fn copy_unstuffed(data: &[u8], out: &mut Vec<u8>) -> usize {
    unstuff::copy_plain(data, out)
}

pub(super) fn nonzero(block: &Block) -> u64 {
    Level::Plain.nonzero(block)
}

pub(super) fn read(lane: &mut Lane<'_>) -> Result<()> {
    lane.read_plain()
}

pub(super) fn read_two(a: &mut Lane<'_>, b: &mut Lane<'_>) -> std::result::Result<bool, (bool, Error)> {
    Level::Plain.read_two(a, b)
}

pub(super) fn transform(
    kind: Kind,
    multipliers: &[i16; 64],
    blocks: &mut [Block],
    extents: &[u8],
    strip: Strip,
    out: &mut [u8],
    stride: usize,
) {
    Level::Plain.transform(kind, multipliers, (blocks, extents), strip, out, stride);
}

pub(super) fn both(near: &[u8], far: &[u8], n: usize, sums: &mut [i16], out: &mut [u8]) {
    Level::Plain.both(near, far, n, sums, out);
}

pub(super) fn wide(row: &[u8], n: usize, out: &mut [u8]) {
    upsample::wide(&row[..n], out);
}

pub(super) fn ycc_to_rgb(y: &[u8], cb: &[u8], cr: &[u8], out: &mut [u8]) {
    Convert::YccToRgb.row([y, cb, cr, &[]], out);
}
