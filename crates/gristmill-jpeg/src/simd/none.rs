//! Processors without vector code here: the plain code under the names of the others.

use super::{Strip, lane::Lane};
use crate::block::Block;
use crate::color::Convert;
use crate::idct::Kind;
use crate::simd::Level;
use crate::{Error, Result, unstuff, upsample};

pub(super) fn detect() -> Level {
    Level::Plain
}

#[cfg(test)]
pub(super) fn usable() -> Vec<Level> {
    Vec::new()
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
    _: bool,
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

pub(super) fn both(_: bool, near: &[u8], far: &[u8], n: usize, sums: &mut [i16], out: &mut [u8]) {
    Level::Plain.both(near, far, n, sums, out);
}

pub(super) fn wide(row: &[u8], n: usize, out: &mut [u8]) {
    upsample::wide(&row[..n], out);
}

pub(super) fn ycc_to_rgb(_: bool, y: &[u8], cb: &[u8], cr: &[u8], out: &mut [u8]) {
    Convert::YccToRgb.row([y, cb, cr, &[]], out);
}
