//! Constants of the transforms: from zigzag order to rows.

use crate::block::ZIGZAG;

/// Shuffles of vectors whose halves have an eighth of the zigzag order each.
#[repr(align(32))]
pub(super) struct Masks(pub(super) [[[i8; 32]; 8]; 8]);

const fn zigzag_masks() -> ([[[i8; 32]; 8]; 8], [[bool; 8]; 8]) {
    let (mut masks, mut any) = ([[[-1i8; 32]; 8]; 8], [[false; 8]; 8]);
    let mut i = 0;
    while i < 64 {
        let (row, column) = (ZIGZAG[i] as usize / 8, ZIGZAG[i] as usize % 8);
        let mask = &mut masks[row][i / 8];
        let mut half = 0;
        while half < 32 {
            mask[half + 2 * column] = (2 * (i % 8)) as i8;
            mask[half + 2 * column + 1] = (2 * (i % 8) + 1) as i8;
            half += 16;
        }
        any[row][i / 8] = true;
        i += 1;
    }
    (masks, any)
}

/// For each row and each eighth of the zigzag order: where the row's coefficients are in it.
pub(super) static MASKS: Masks = Masks(zigzag_masks().0);
/// Whether there are any.
pub(super) const ANY: [[bool; 8]; 8] = zigzag_masks().1;

/// Masks of vectors whose halves have an eighth of the zigzag order each.
#[repr(align(32))]
pub(super) struct Below(pub(super) [[i16; 16]; 8]);

const fn below(rows: u32) -> Below {
    let mut masks = [[0; 16]; 8];
    let mut i = 0;
    while i < 64 {
        let mask = if rows >> (ZIGZAG[i] / 8) & 1 != 0 { 0 } else { -1 };
        masks[i / 8][i % 8] = mask;
        masks[i / 8][i % 8 + 8] = mask;
        i += 1;
    }
    Below(masks)
}

/// All ones for the zigzag positions that are not in the first row; and for those that are not in the first or in the
/// fifth, which the half transform does not use.
pub(super) static BELOW: [Below; 2] = [below(0b1), below(0b1_0001)];
