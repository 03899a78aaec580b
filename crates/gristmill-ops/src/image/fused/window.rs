//! The window that a cropping op takes, from the image's shape alone.

use super::compile::Given;
use crate::array::{slice, strided_slice};
use crate::image::common::seed_of;
use crate::image::{bounding_box, random_crop, resize_with_crop_or_pad};
use gristmill_image::geometry::{self, Window};
use gristmill_plan::{Attrs, OpCx, OpNode};
use gristmill_types::rng::Philox;
use gristmill_types::{Shape, Value};

#[derive(Clone, Copy, Debug)]
enum Kind {
    Slice,
    StridedSlice,
    BoundingBox,
    Central(f64),
    CropOrPad,
    Random(Option<(u64, u64)>),
    Stateless,
}

/// An op that keeps a window.
#[derive(Clone, Debug)]
pub(super) struct WindowOp {
    kind: Kind,
    attrs: Attrs,
    others: Vec<Given>,
    op_id: u64,
}

/// The op, if it is one of those; `others` are its inputs but the image.
pub(super) fn window_op(op: &OpNode, others: Vec<Given>) -> Option<WindowOp> {
    let kind = match op.def.name {
        "slice" => Kind::Slice,
        "strided_slice" => Kind::StridedSlice,
        "image.crop_to_bounding_box" => Kind::BoundingBox,
        "image.central_crop" => Kind::Central(op.attrs.float("central_fraction").ok()?),
        "image.resize_with_crop_or_pad" => Kind::CropOrPad,
        "random.random_crop" => Kind::Random(op.attrs.seed().ok()?),
        "random.stateless_random_crop" => Kind::Stateless,
        _ => return None,
    };
    Some(WindowOp { kind, attrs: op.attrs.clone(), others, op_id: op.op_id })
}

impl WindowOp {
    /// What it keeps of an image of that height, width and channels; `None` where that is no window, or an error.
    pub(super) fn window(&self, dims: [usize; 3], cx: &mut OpCx<'_>, inputs: &[Value]) -> Option<Window> {
        let [h, w, channels] = dims;
        // The ops look for their numbers after the image, which is not there.
        let mut given = Vec::with_capacity(self.others.len() + 1);
        given.push(self.others.first().map_or_else(|| inputs.first(), |o| Some(o.get(inputs)))?.clone());
        given.extend(self.others.iter().map(|o| o.get(inputs).clone()));
        let window = match self.kind {
            Kind::Slice => of_parts(&slice::parts(&dims, &given).ok()?, channels)?,
            Kind::StridedSlice => {
                of_parts(&strided_slice::parts(&dims, &given, &self.attrs).ok()??, channels)?
            }
            Kind::BoundingBox => bounding_box::crop_window(&given, (h, w)).ok()?,
            Kind::Central(fraction) => geometry::central_crop(h, w, fraction).ok()?,
            Kind::CropOrPad => {
                let to = resize_with_crop_or_pad::target(&given).ok()?;
                let (window, _) = geometry::crop_or_pad((h, w), to);
                ((window.height, window.width) == to).then_some(window)?
            }
            Kind::Random(seed) => {
                let cx = OpCx { scratch: &mut *cx.scratch, draw: cx.draw, op_id: self.op_id };
                drawn(dims, &given, cx.philox(seed))?
            }
            Kind::Stateless => {
                let (a, b) = seed_of(&given[2]).ok()?;
                drawn(dims, &given, Philox::stateless(a, b))?
            }
        };
        window.fits(h, w).then_some(window)
    }
}

fn drawn(dims: [usize; 3], given: &[Value], philox: Philox) -> Option<Window> {
    let shape = Shape::new(&dims).ok()?;
    let (at, to) = random_crop::parts(&shape, given[1].tensor().ok()?, philox).ok()?;
    of_parts(&at.into_iter().zip(to).collect::<Vec<_>>(), dims[2])
}

/// The window of a start and size along three dimensions, if all channels stay.
fn of_parts(parts: &[(usize, usize)], channels: usize) -> Option<Window> {
    match *parts {
        [(y, height), (x, width), (0, c)] if c == channels => Some(Window { y, x, height, width }),
        _ => None,
    }
}
