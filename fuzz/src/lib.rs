//! What the fuzz targets share.

use gristmill_image::{Error, Output};
use gristmill_plan::op::run_one;
use gristmill_plan::{Arg, Attrs, Draw, OpCx, Scratch};
use gristmill_types::{Result, Value};

/// Samples that an image may have here: decoders refuse more only far above this, and filling so
/// much memory again and again would find nothing.
const MOST_SAMPLES: usize = 1 << 22;

/// Room for a decoded image of moderate size.
#[derive(Default)]
pub struct Room<T>(Vec<T>);

impl<T: Clone + Default> Output<T> for Room<T> {
    fn slot(&mut self, shape: &[usize]) -> gristmill_image::Result<&mut [T]> {
        let samples = shape.iter().product::<usize>();
        if samples > MOST_SAMPLES {
            return Err(Error::Output("too large to be fuzzed".into()));
        }
        self.0.clear();
        self.0.resize(samples, T::default());
        Ok(&mut self.0)
    }
}

/// Runs the op of that name once.
///
/// # Errors
/// The op's.
///
/// # Panics
/// If there is no such op.
pub fn run_op(name: &str, inputs: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
    let op = gristmill_ops::all()
        .into_iter()
        .find(|op| op.name == name)
        .expect("the op exists");
    let args: Vec<Arg> = inputs.iter().map(Arg::from).collect();
    let outputs = (op.infer)(&args, attrs)?.len();
    let kernel = (op.kernel)(&args, attrs)?;
    let mut scratch = Scratch::default();
    let mut cx = OpCx {
        scratch: &mut scratch,
        draw: Draw::Eager { entropy: 0 },
        op_id: 0,
    };
    run_one(&*kernel, &mut cx, inputs, outputs)
}
