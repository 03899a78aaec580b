//! What an op is: everything about it said once.
//!
//! Registry, tracing, eager calls, explain, generated docs and the runtime all read [`OpDef`].

use crate::attrs::Attrs;
use gristmill_types::batch::RowsMut;
use gristmill_types::rng::{self, Philox};
use gristmill_types::{Column, DType, Element, Error, Key, Result, Shape, Spec, Tensor, Value, elements};
use std::any::{Any, TypeId};
use std::collections::HashMap;

/// What calling an op twice means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Equal inputs give equal outputs, and nothing else happens.
    Pure,
    /// Draws random numbers: never merged with an equal op.
    Random,
    /// Reads or changes the world outside: never merged, hoisted or dropped.
    Effect,
    /// Calls a function that lives outside the engine (see [`crate::foreign`]): as `Effect`, and besides it
    /// runs in its place, in order, and only for elements that are asked for.
    Foreign,
}

/// An attribute or input that an op takes, for checks and documentation.
#[derive(Clone, Copy, Debug)]
pub struct ArgDef {
    /// Its name, TensorFlow's where TensorFlow has the op.
    pub name: &'static str,
    /// Meaning, dtype and shape, unit and default in one line.
    pub doc: &'static str,
}

/// An input as known when the op is placed: its spec, and its value if that is a constant.
#[derive(Clone, Debug)]
pub struct Arg {
    /// What is known of it.
    pub spec: Spec,
    /// The value, if constant.
    pub value: Option<Value>,
}

impl Arg {
    /// The constant dense value.
    pub fn constant(&self) -> Option<&Tensor> {
        match &self.value {
            Some(Value::Tensor(t)) => Some(t),
            _ => None,
        }
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.spec.dtype()
    }
}

impl From<&Value> for Arg {
    fn from(v: &Value) -> Self {
        Self { spec: v.spec(), value: Some(v.clone()) }
    }
}

/// An op, described.
pub struct OpDef {
    /// Dotted name (`image.resize`).
    pub name: &'static str,
    /// What it does, with shapes, dtypes and errors; first line is a summary.
    pub doc: &'static str,
    /// Tensor inputs in order. A last name ending in `*` takes any number.
    pub inputs: &'static [ArgDef],
    /// Attributes; any other attribute is refused.
    pub attrs: &'static [ArgDef],
    /// What calling it twice means.
    pub class: Class,
    /// Whether it cannot fail on inputs that `infer` accepted: such ops let more rules fire.
    pub total: bool,
    /// Whether element `i` of the output depends on element `i` of the (equally shaped or scalar
    /// constant) inputs only, so that a whole column can go through one call.
    pub elementwise: bool,
    /// Output specs; refuses what can be refused before a value exists.
    pub infer: fn(&[Arg], &Attrs) -> Result<Vec<Spec>>,
    /// The kernel for these inputs and attributes, prepared once.
    pub kernel: fn(&[Arg], &Attrs) -> Result<Box<dyn Kernel>>,
}

impl std::fmt::Debug for OpDef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl OpDef {
    /// Checks the number of inputs and the attribute names.
    ///
    /// # Errors
    /// `InvalidArgument` naming the op and what it takes.
    pub fn check_call(&self, inputs: usize, attrs: &Attrs) -> Result<()> {
        let open = self.inputs.last().is_some_and(|a| a.name.ends_with('*'));
        let least = self.inputs.len() - usize::from(open);
        if inputs < least || (!open && inputs > least) {
            return Err(Error::invalid(format!("{} takes {least} inputs, found {inputs}", self.name)));
        }
        for name in attrs.names() {
            if !self.attrs.iter().any(|a| a.name == name) {
                let known: Vec<_> = self.attrs.iter().map(|a| a.name).collect();
                return Err(Error::new(
                    gristmill_types::Kind::Type,
                    format!("{} got an unexpected argument '{name}'", self.name),
                )
                .hint(format!("it takes {}", known.join(", "))));
            }
        }
        Ok(())
    }
}

/// Runs an op. Closures `Fn(&mut OpCx, &[Value], &mut Outs) -> Result<()>` are kernels.
pub trait Kernel: Send + Sync {
    /// Computes one element.
    ///
    /// # Errors
    /// What is wrong with the inputs, without places: the caller adds them.
    fn run(&self, cx: &mut OpCx<'_>, inputs: &[Value], out: &mut Outs<'_>) -> Result<()>;

    /// The form that takes whole columns, if there is one.
    fn block(&self) -> Option<&dyn BlockKernel> {
        None
    }
}

impl<F> Kernel for F
where
    F: Fn(&mut OpCx<'_>, &[Value], &mut Outs<'_>) -> Result<()> + Send + Sync,
{
    fn run(&self, cx: &mut OpCx<'_>, inputs: &[Value], out: &mut Outs<'_>) -> Result<()> {
        self(cx, inputs, out)
    }
}

/// An input of a block kernel.
#[derive(Clone, Debug)]
pub enum Lane {
    /// The same value for every element.
    Const(Value),
    /// One value per element.
    Column(Column),
}

impl Lane {
    /// The value for element `i`.
    pub fn get(&self, i: usize) -> Value {
        match self {
            Self::Const(v) => v.clone(),
            Self::Column(c) => c.get(i),
        }
    }
}

/// What a block kernel gives back.
pub struct BlockOut {
    /// Per output the column of the first `done` elements; `None` where it was written into the
    /// rows that were given.
    pub columns: Vec<Option<Column>>,
    /// Elements computed.
    pub done: usize,
    /// The error of element `done`, if that is why it stopped.
    pub failed: Option<Error>,
}

/// Runs an op over whole columns.
pub trait BlockKernel: Send + Sync {
    /// Computes elements `0..n`, up to the first that fails. `rows[k]`, where given, is where
    /// output `k` goes if dtype and row shape fit; otherwise a column is returned.
    ///
    /// # Errors
    /// Faults that belong to no single element.
    fn run(
        &self,
        cx: &mut OpCx<'_>,
        inputs: &[Lane],
        n: usize,
        rows: &mut [Option<RowsMut<'_>>],
    ) -> Result<BlockOut>;
}

/// Reusable working memory of one thread, by type.
#[derive(Default)]
pub struct Scratch(HashMap<TypeId, Box<dyn Any + Send>>);

impl Scratch {
    /// The thread's working memory of that type, made on first use.
    pub fn get<T: Any + Send + Default>(&mut self) -> &mut T {
        self.0
            .entry(TypeId::of::<T>())
            .or_insert_with(|| Box::<T>::default())
            .downcast_mut()
            .expect("entries are stored under their own type")
    }
}

/// Where a random op's numbers come from.
#[derive(Clone, Copy, Debug)]
pub enum Draw {
    /// A call outside a pipeline: TensorFlow's own stream for the seed pair; `entropy` where there
    /// is no seed.
    Eager {
        /// From the operating system.
        entropy: u64,
    },
    /// An element of a pipeline.
    Element {
        /// Seed of the run where the op has none of its own.
        entropy: u64,
        /// The element.
        key: Key,
    },
}

/// What a kernel may use besides its inputs.
pub struct OpCx<'a> {
    /// Working memory of the thread.
    pub scratch: &'a mut Scratch,
    /// Source of random numbers.
    pub draw: Draw,
    /// The op's number in the plan as the user wrote it; random ops differ by it.
    pub op_id: u64,
}

impl OpCx<'_> {
    /// The random stream of this op for this element. `seed` is the pair (graph seed, op seed) that
    /// the op was given, if any.
    pub fn philox(&self, seed: Option<(u64, u64)>) -> Philox {
        match self.draw {
            Draw::Eager { entropy } => {
                let (a, b) = seed.unwrap_or((entropy, self.op_id));
                Philox::seeded(a, b)
            }
            Draw::Element { entropy, key } => {
                let (a, b) = seed.unwrap_or((entropy, u64::MAX));
                let k = key.child(self.op_id).0;
                let words = [k as u32, (k >> 32) as u32, (k >> 64) as u32, (k >> 96) as u32];
                let m = rng::philox_block([a as u32 ^ (b >> 32) as u32, (a >> 32) as u32 ^ b as u32], words);
                Philox::new([m[0], m[1]], [0, 0, m[2], m[3]])
            }
        }
    }
}

/// One output of an element kernel.
pub struct Out<'a> {
    /// Where the value should go if dtype and shape fit: a slot of a batch or block.
    pub slot: Option<(DType, Shape, &'a mut [u8])>,
    /// The value, where it did not go into the slot.
    pub value: Option<Value>,
    /// Whether it went into the slot.
    pub in_slot: bool,
    fresh: Option<(DType, Shape, gristmill_types::Buffer)>,
}

impl<'a> Out<'a> {
    /// An output with or without a slot.
    pub fn new(slot: Option<(DType, Shape, &'a mut [u8])>) -> Self {
        Self { slot, value: None, in_slot: false, fresh: None }
    }
}

/// The outputs of an element kernel.
pub struct Outs<'a> {
    outs: Vec<Out<'a>>,
}

impl<'a> Outs<'a> {
    /// These outputs.
    pub fn new(outs: Vec<Out<'a>>) -> Self {
        Self { outs }
    }

    /// Memory for plain output `k` of that dtype and shape: its slot if that fits, fresh memory
    /// (with arbitrary contents) otherwise. The kernel writes all of it.
    pub fn plain(&mut self, k: usize, dtype: DType, shape: Shape) -> &mut [u8] {
        let out = &mut self.outs[k];
        if out.slot.as_ref().is_some_and(|(d, s, _)| *d == dtype && *s == shape) {
            out.in_slot = true;
            return out.slot.as_mut().map(|s| &mut *s.2).expect("just seen");
        }
        let buffer = gristmill_types::Buffer::recycled(shape.count() * dtype.size());
        out.fresh.insert((dtype, shape, buffer)).2.as_mut_slice()
    }

    /// As [`Outs::plain`] for the dtype of `T`, as elements.
    pub fn typed<T: Element>(&mut self, k: usize, shape: Shape) -> &mut [T] {
        elements::cast_slice_mut(self.plain(k, T::DTYPE, shape)).expect("slots and buffers are aligned")
    }

    /// Gives output `k` a value that exists already.
    pub fn put(&mut self, k: usize, value: impl Into<Value>) {
        self.outs[k].value = Some(value.into());
    }

    /// The finished outputs: `None` where the value lies in its slot.
    ///
    /// # Errors
    /// `Internal` if the kernel left one out.
    pub fn finish(self) -> Result<Vec<Option<Value>>> {
        self.outs
            .into_iter()
            .map(|out| match (out.value, out.fresh) {
                (Some(v), _) => Ok(Some(v)),
                (None, Some((dtype, shape, buffer))) => {
                    Ok(Some(Tensor::from_buffer(dtype, shape, buffer)?.into()))
                }
                (None, None) if out.in_slot => Ok(None),
                _ => Err(Error::internal("a kernel left an output out")),
            })
            .collect()
    }
}

/// Runs a kernel on one element outside any block.
///
/// # Errors
/// The kernel's.
pub fn run_one(
    kernel: &dyn Kernel,
    cx: &mut OpCx<'_>,
    inputs: &[Value],
    outputs: usize,
) -> Result<Vec<Value>> {
    let mut outs = Outs::new((0..outputs).map(|_| Out::new(None)).collect());
    kernel.run(cx, inputs, &mut outs)?;
    outs.finish()?
        .into_iter()
        .map(|v| v.ok_or_else(|| Error::internal("an output went into a slot that is not there")))
        .collect()
}
