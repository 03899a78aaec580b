//! Blocks of 64 coefficients, kept in zigzag order.

/// The coefficients of one block in zigzag order.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Block(pub(crate) [i16; 64]);

pub(crate) const EMPTY: Block = Block([0; 64]);

/// The natural (row by row) place of each zigzag position.
pub(crate) const ZIGZAG: [u8; 64] = zigzag();

const fn zigzag() -> [u8; 64] {
    let mut order = [0; 64];
    let (mut row, mut column, mut up) = (0usize, 0usize, true);
    let mut i = 0;
    while i < 64 {
        order[i] = (row * 8 + column) as u8;
        match (up, row, column) {
            (true, _, 7) => (row, up) = (row + 1, false),
            (true, 0, _) => (column, up) = (column + 1, false),
            (true, _, _) => (row, column) = (row - 1, column + 1),
            (false, 7, _) => (column, up) = (column + 1, true),
            (false, _, 0) => (row, up) = (row + 1, true),
            (false, _, _) => (row, column) = (row + 1, column - 1),
        }
        i += 1;
    }
    order
}

/// How many positions from the front may be other than zero: 1, 16 or 64.
pub(crate) fn extent(block: &Block) -> u8 {
    let c = &block.0;
    let tail = c[16..].iter().fold(0, |a, &b| a | b);
    let head = c[1..16].iter().fold(0, |a, &b| a | b);
    if tail != 0 {
        64
    } else if head != 0 {
        16
    } else {
        1
    }
}
