//! The steps of a chain: arithmetic on rows of `f32`, each rounded as it is alone.

use crate::resize::simd::{self, Operator};
use crate::{Error, Result};

/// A 16-bit float type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Half {
    /// IEEE half precision.
    F16,
    /// The upper half of an `f32`.
    BF16,
}

/// One operation on every sample `x`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// `x + c`
    Add,
    /// `x - c`
    Subtract,
    /// `c - x`
    SubtractFrom,
    /// `x * c`
    Multiply,
    /// `x / c`
    Divide,
    /// `c / x`
    DivideInto,
    /// To the nearest value of a 16-bit type, ties to even.
    Round(Half),
}

/// An operation with its operand.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step<'a> {
    /// What is done.
    pub operation: Operation,
    /// `c`: one number, or one a channel; not looked at by [`Operation::Round`].
    pub operand: &'a [f32],
}

/// Steps made ready for rows of a length: operands repeated over the row.
#[derive(Debug, Default)]
pub(super) struct Steps {
    operations: Vec<(Operation, f32, Vec<f32>)>,
    used: usize,
}

impl Steps {
    /// Makes ready for rows of `width` pixels.
    pub(super) fn set(&mut self, steps: &[Step<'_>], channels: usize, width: usize) -> Result<()> {
        self.used = 0;
        for step in steps {
            if self.used == self.operations.len() {
                self.operations.push((step.operation, 0.0, Vec::new()));
            }
            let (operation, one, many) = &mut self.operations[self.used];
            *operation = step.operation;
            many.clear();
            match step.operand {
                _ if matches!(step.operation, Operation::Round(_)) => {}
                &[c] => *one = c,
                operand if operand.len() == channels => {
                    many.reserve(width * channels);
                    (0..width).for_each(|_| many.extend_from_slice(operand));
                }
                operand => {
                    return Err(Error::invalid(format!(
                        "a step has {} numbers for {channels} channels",
                        operand.len()
                    )));
                }
            }
            self.used += 1;
        }
        Ok(())
    }

    /// Whether there is nothing to do.
    pub(super) fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// Applies all to a row of the length that was set.
    pub(super) fn apply(&self, row: &mut [f32]) {
        for (operation, one, many) in &self.operations[..self.used] {
            let operator = match operation {
                Operation::Add => Operator::Add,
                Operation::Subtract => Operator::Subtract,
                Operation::SubtractFrom => Operator::SubtractFrom,
                Operation::Multiply => Operator::Multiply,
                Operation::Divide => Operator::Divide,
                Operation::DivideInto => Operator::DivideInto,
                Operation::Round(Half::BF16) => {
                    simd::round_bf16(row);
                    continue;
                }
                Operation::Round(Half::F16) => {
                    row.iter_mut().for_each(|v| *v = half::f16::from_f32(*v).to_f32());
                    continue;
                }
            };
            if many.is_empty() {
                simd::with_one(operator, *one, row);
            } else {
                simd::with_many(operator, many, row);
            }
        }
    }
}
