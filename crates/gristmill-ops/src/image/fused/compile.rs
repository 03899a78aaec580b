//! A chain of ops read as steps of the fast way.

use super::window::{self, WindowOp};
use crate::image::resize::How;
use crate::io::{decode_image, decode_jpeg};
use gristmill_image::chain::{Half, Operation};
use gristmill_image::decode_any::{self, DecodeOptions};
use gristmill_image::resize::Method;
use gristmill_plan::{Graph, Node, OpNode, Ref};
use gristmill_types::{DType, Value};
use half::{bf16, f16};

/// Where a value comes from.
#[derive(Clone, Debug)]
pub(super) enum Given {
    /// Input of the fused op.
    Input(usize),
    /// A constant of the chain.
    Const(Value),
}

impl Given {
    pub(super) fn get<'a>(&'a self, inputs: &'a [Value]) -> &'a Value {
        match self {
            Self::Input(i) => &inputs[*i],
            Self::Const(v) => v,
        }
    }
}

/// When an image is mirrored.
#[derive(Clone, Debug)]
pub(super) enum When {
    Always,
    /// By a draw of the op with that number.
    Random(Option<(u64, u64)>, u64),
    /// By the seed.
    Stateless(Given),
}

/// One op of a chain.
#[derive(Clone, Debug)]
pub(super) enum Link {
    Window(WindowOp),
    Flip {
        up_down: bool,
        when: When,
    },
    Resize {
        how: How,
        preserve: bool,
        size: Given,
    },
    Step {
        operation: Operation,
        operand: Given,
    },
    /// Times a constant of the type that samples have.
    Scale(f32),
    Round(Half),
}

/// What a chain works on.
#[derive(Clone, Debug)]
pub(super) enum Origin {
    /// An encoded image, and the window and the restart index of `io.decode_and_crop_jpeg`.
    Encoded {
        contents: Given,
        options: DecodeOptions<'static>,
        window: Option<Given>,
        index: Option<Box<Given>>,
    },
    /// A tensor.
    Image(Given),
}

/// What is wanted of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Wanted {
    /// Samples of that dtype.
    Pixels(DType),
    /// The shape of the origin, as integers of that dtype.
    Shape(DType),
}

/// A chain that the fast way knows.
#[derive(Clone, Debug)]
pub(super) struct Compiled {
    pub(super) origin: Origin,
    pub(super) links: Vec<Link>,
    pub(super) wanted: Wanted,
    /// Whether a photo may be decoded smaller.
    pub(super) reduced: bool,
}

/// The chain of a graph whose ops follow each other; `None` where the fast way does not know one of them.
pub(super) fn compile(graph: &Graph) -> Option<Compiled> {
    let mut reader = Reader { graph, links: Vec::new(), dtype: DType::U8, resized: false, cut: false };
    let ops = || {
        graph
            .nodes
            .iter()
            .enumerate()
            .filter_map(|(i, n)| if let Node::Op(op) = n { Some((i, op)) } else { None })
    };
    let (first, head) = ops().next()?;
    let (last, _) = ops().next_back()?;
    if graph.outputs.as_slice() != [Ref { node: last, output: 0 }] {
        return None;
    }
    let mut previous = Ref { node: first, output: 0 };
    let origin = match reader.decoder(head) {
        Some(origin) => origin?,
        None => {
            let image = head.inputs.first()?;
            reader.dtype = graph.spec(*image).dtype();
            if !matches!(reader.dtype, DType::U8 | DType::F32) {
                return None;
            }
            reader.link(head, *image)?;
            Origin::Image(reader.given(*image)?)
        }
    };
    let mut wanted = None;
    for (node, op) in ops().skip(1) {
        if wanted.is_some() {
            return None;
        }
        if op.def.name == "shape" && op.inputs == [previous] && reader.links.is_empty() {
            wanted = Some(Wanted::Shape(op.specs[0].dtype()));
        } else {
            reader.link(op, previous)?;
        }
        previous = Ref { node, output: 0 };
    }
    let dtype = graph.spec(previous).dtype();
    let wanted = wanted.unwrap_or(Wanted::Pixels(dtype));
    (wanted != Wanted::Pixels(dtype) || reader.dtype == dtype).then_some(Compiled {
        origin,
        links: reader.links,
        wanted,
        reduced: false,
    })
}

struct Reader<'a> {
    graph: &'a Graph,
    links: Vec<Link>,
    /// Dtype of the samples so far.
    dtype: DType,
    resized: bool,
    /// Whether floats became uint8: samples stay floats here and are cut when they are written, so that nothing but
    /// moving may follow.
    cut: bool,
}

fn half_of(dtype: DType) -> Option<Half> {
    match dtype {
        DType::F16 => Some(Half::F16),
        DType::BF16 => Some(Half::BF16),
        _ => None,
    }
}

impl Reader<'_> {
    fn given(&self, r: Ref) -> Option<Given> {
        match &self.graph.nodes[r.node] {
            Node::Capture(i) => Some(Given::Input(*i)),
            Node::Const(v) => Some(Given::Const(v.clone())),
            _ => None,
        }
    }

    /// `None` where the op does not decode.
    fn decoder(&self, op: &OpNode) -> Option<Option<Origin>> {
        let kind = match op.def.name {
            "io.decode_jpeg" => decode_any::Op::DecodeJpeg,
            "io.decode_and_crop_jpeg" => decode_any::Op::DecodeAndCropJpeg,
            "io.decode_png" | "io.decode_image" => {
                let options = decode_image::uint8_options(op.def, &op.attrs).ok().flatten();
                return Some(options.and_then(|o| self.encoded(op, o)));
            }
            _ => return None,
        };
        Some(decode_jpeg::options(&op.attrs, kind).ok().and_then(|o| self.encoded(op, o)))
    }

    fn encoded(&self, op: &OpNode, options: DecodeOptions<'static>) -> Option<Origin> {
        let mut given = op.inputs.iter().map(|r| self.given(*r)).collect::<Option<Vec<_>>>()?.into_iter();
        Some(Origin::Encoded {
            contents: given.next()?,
            options,
            window: given.next(),
            index: given.next().map(Box::new),
        })
    }

    /// Adds an op that works on `image`.
    fn link(&mut self, op: &OpNode, image: Ref) -> Option<()> {
        let others = op.inputs.iter().filter(|r| **r != image).map(|r| self.given(*r));
        let others: Vec<Given> = others.collect::<Option<_>>()?;
        // A chain reads each result once.
        if others.len() + 1 != op.inputs.len() {
            return None;
        }
        match op.def.name {
            "image.resize" => self.resize(op, others)?,
            "cast" => self.cast(op.attrs.dtype("dtype").ok()?)?,
            "image.convert_image_dtype" => self.convert(op.attrs.dtype("dtype").ok()?)?,
            "math.add" | "math.subtract" | "math.multiply" | "math.truediv" => {
                let operation = arithmetic(op.def.name, op.inputs[0] == image);
                let operand = others.into_iter().next()?;
                if self.dtype != DType::F32 && half_of(self.dtype).is_none() {
                    return None;
                }
                self.links.push(Link::Step { operation, operand });
                self.round();
            }
            name if name.contains("flip_") => {
                let up_down = name.ends_with("up_down");
                let when = if name.contains("stateless") {
                    When::Stateless(others.into_iter().next()?)
                } else if name.contains("random") {
                    When::Random(op.attrs.seed().ok()?, op.op_id)
                } else {
                    When::Always
                };
                self.links.push(Link::Flip { up_down, when });
            }
            _ => {
                let place = op.inputs.iter().position(|r| *r == image)?;
                if place != 0 {
                    return None;
                }
                self.links.push(Link::Window(window::window_op(op, others)?));
            }
        }
        Some(())
    }

    /// After arithmetic in a 16-bit type.
    fn round(&mut self) {
        self.links.extend(half_of(self.dtype).map(Link::Round));
    }

    fn cast(&mut self, to: DType) -> Option<()> {
        if to == self.dtype {
            return Some(());
        }
        match to {
            _ if self.cut => return None,
            DType::F32 => {}
            DType::F16 | DType::BF16 => self.links.extend(half_of(to).map(Link::Round)),
            DType::U8 => self.cut = true,
            _ => return None,
        }
        self.dtype = to;
        Some(())
    }

    fn convert(&mut self, to: DType) -> Option<()> {
        if to == DType::U8 && self.dtype != DType::U8 {
            return None;
        }
        let scaled = self.dtype == DType::U8 && to != DType::U8;
        self.cast(to)?;
        if scaled {
            let share = 1.0 / 255.0f64;
            let scale = match to {
                DType::F16 => f16::from_f64(share).to_f32(),
                DType::BF16 => bf16::from_f64(share).to_f32(),
                _ => share as f32,
            };
            self.links.push(Link::Scale(scale));
            self.round();
        }
        Some(())
    }

    fn resize(&mut self, op: &OpNode, others: Vec<Given>) -> Option<()> {
        let how = How::of(&op.attrs).ok()?;
        if self.resized || self.cut || how.method == Method::Nearest {
            return None;
        }
        self.resized = true;
        self.dtype = DType::F32;
        let preserve = op.attrs.bool_or("preserve_aspect_ratio", false).ok()?;
        self.links.push(Link::Resize { how, preserve, size: others.into_iter().next()? });
        Some(())
    }
}

fn arithmetic(name: &str, image_first: bool) -> Operation {
    match (name, image_first) {
        ("math.add", _) => Operation::Add,
        ("math.multiply", _) => Operation::Multiply,
        ("math.subtract", true) => Operation::Subtract,
        ("math.subtract", false) => Operation::SubtractFrom,
        (_, true) => Operation::Divide,
        (_, false) => Operation::DivideInto,
    }
}
