//! Functions of a traced pipeline: calls on symbolic values add ops to a graph.

use gristmill_plan::{Attr, Attrs, Graph, GraphBuilder, Ref, registry};
use gristmill_types::{DType, Error, PartialShape, Result, Spec, Value};
use std::cell::RefCell;
use std::rc::Rc;

/// A value that an element will have: what a function given to [`crate::Dataset::map`] works on.
#[derive(Clone)]
pub struct Sym {
    graph: Rc<RefCell<GraphBuilder>>,
    at: Ref,
}

impl Sym {
    /// What is known of the value.
    pub fn spec(&self) -> Spec {
        self.graph.borrow().spec(self.at)
    }

    /// A constant in the same graph.
    pub fn constant(&self, value: impl Into<Value>) -> Self {
        let at = self.graph.borrow_mut().constant(value);
        Self { graph: Rc::clone(&self.graph), at }
    }
}

/// Traces a function over an element with these components.
///
/// # Errors
/// What the function returns.
pub fn trace(inputs: Vec<Spec>, function: impl FnOnce(&[Sym]) -> Result<Vec<Sym>>) -> Result<Graph> {
    crate::init();
    let n = inputs.len();
    let graph = Rc::new(RefCell::new(GraphBuilder::new(inputs)));
    let args: Vec<Sym> =
        (0..n).map(|i| Sym { at: graph.borrow().input(i), graph: Rc::clone(&graph) }).collect();
    let outputs = function(&args)?;
    if outputs.iter().any(|o| !Rc::ptr_eq(&o.graph, &graph)) {
        return Err(Error::invalid("the function returned a value of another function"));
    }
    let outputs = outputs.iter().map(|o| o.at).collect();
    Ok(graph.take().finish(outputs))
}

/// Calls any op by name, e.g. `call("image.resize", &[&image, &size], attrs)`.
///
/// # Errors
/// `Unimplemented` for an unknown op; what its inference refuses.
#[track_caller]
pub fn call(name: &str, inputs: &[&Sym], attrs: Vec<(&str, Attr)>) -> Result<Vec<Sym>> {
    let first =
        inputs.first().ok_or_else(|| Error::invalid(format!("{name} needs at least one symbolic input")))?;
    if inputs.iter().any(|s| !Rc::ptr_eq(&s.graph, &first.graph)) {
        return Err(Error::invalid(format!("the inputs of {name} belong to different functions")));
    }
    let def = registry::lookup(name)?;
    let attrs = Attrs::new(attrs.into_iter().map(|(k, v)| (k.to_string(), v)).collect());
    let place = std::panic::Location::caller();
    let site = format!("{}:{}", place.file(), place.line());
    let refs: Vec<Ref> = inputs.iter().map(|s| s.at).collect();
    let outputs = first.graph.borrow_mut().call(def, &refs, attrs, Some(site.into()))?;
    Ok(outputs.into_iter().map(|at| Sym { graph: Rc::clone(&first.graph), at }).collect())
}

fn one(mut outputs: Vec<Sym>) -> Result<Sym> {
    outputs.pop().ok_or_else(|| Error::internal("an op has no output"))
}

macro_rules! binary {
    ($($(#[$doc:meta])* $name:ident => $op:literal;)*) => { $(
        $(#[$doc])*
        ///
        /// # Errors
        /// Unlike dtypes or shapes that do not broadcast.
        #[track_caller]
        pub fn $name(a: &Sym, b: &Sym) -> Result<Sym> {
            one(call($op, &[a, b], Vec::new())?)
        }
    )* };
}
binary! {
    /// `a + b`, elementwise.
    add => "math.add";
    /// `a - b`, elementwise.
    subtract => "math.subtract";
    /// `a * b`, elementwise.
    multiply => "math.multiply";
    /// `a % b`, elementwise, with the sign of `b`.
    floormod => "math.floormod";
    /// `a < b`, elementwise.
    less => "math.less";
    /// `a == b`, elementwise.
    equal => "math.equal";
}

/// Converts elements to another dtype.
///
/// # Errors
/// Strings.
#[track_caller]
pub fn cast(x: &Sym, dtype: DType) -> Result<Sym> {
    one(call("cast", &[x], vec![("dtype", Attr::DType(dtype))])?)
}

/// The bytes of the file at that path.
///
/// # Errors
/// A path that is not a string scalar.
#[track_caller]
pub fn read_file(path: &Sym) -> Result<Sym> {
    one(call("io.read_file", &[path], Vec::new())?)
}

/// JPEG (also PNG, GIF) bytes to uint8 `[height, width, channels]`.
///
/// # Errors
/// Contents that are not a string scalar, another number of channels than 0, 1 or 3.
#[track_caller]
pub fn decode_jpeg(contents: &Sym, channels: i64) -> Result<Sym> {
    one(call("io.decode_jpeg", &[contents], vec![("channels", Attr::Int(channels))])?)
}

/// Bilinear resize to float32 `[height, width, channels]`, TensorFlow's default.
///
/// # Errors
/// Images that are not 3-D or 4-D.
#[track_caller]
pub fn resize(image: &Sym, height: i32, width: i32) -> Result<Sym> {
    let size = image.constant(gristmill_types::Tensor::vector(&[height, width]));
    one(call("image.resize", &[image, &size], Vec::new())?)
}

/// Dense features of a serialized `tf.train.Example`, each under its name with dtype (int64, float32 or
/// string) and shape; the results come in the order given. Other kinds of feature: [`call`] with
/// `"io.parse_single_example"`.
///
/// # Errors
/// No features, a name given twice, another dtype, a record that is not a string scalar.
#[track_caller]
pub fn parse_single_example(record: &Sym, features: &[(&str, DType, &[usize])]) -> Result<Vec<Sym>> {
    let spec = |(name, dtype, shape): &(&str, DType, &[usize])| {
        let entries = vec![
            ("kind".to_owned(), Attr::Str("FixedLenFeature".to_owned())),
            ("dtype".to_owned(), Attr::DType(*dtype)),
            ("shape".to_owned(), Attr::Shape(PartialShape::new(shape.iter().map(|&n| Some(n)).collect()))),
        ];
        ((*name).to_owned(), Attr::Dict(entries))
    };
    let specs = Attr::Dict(features.iter().map(spec).collect());
    let made = call("io.parse_single_example", &[record], vec![("features", specs)])?;
    // The op gives them sorted by name.
    let mut sorted: Vec<usize> = (0..features.len()).collect();
    sorted.sort_by_key(|&i| features[i].0);
    let mut out = vec![None; features.len()];
    for (i, value) in sorted.into_iter().zip(made) {
        out[i] = Some(value);
    }
    out.into_iter().map(|v| v.ok_or_else(|| Error::internal("a feature without a result"))).collect()
}
