//! `image.random_brightness`, `_contrast`, `_saturation`, `_hue` and their stateless forms.

use super::adjust::Adjust;
use super::common::{IMAGE, MadeKernel, SEED, SEED_ATTR, Specs, check_seed, kernel_of, seed_of};
use gristmill_plan::{Arg, ArgDef, Attrs, Class, OpDef};
use gristmill_types::rng::{Philox, uniform_f32};
use gristmill_types::{Error, Kind, Result};

const MAX_DELTA: ArgDef =
    ArgDef { name: "max_delta", doc: "the delta is drawn from [-max_delta, max_delta)" };
const LOWER: ArgDef = ArgDef { name: "lower", doc: "smallest factor, not negative" };
const UPPER: ArgDef = ArgDef { name: "upper", doc: "factors are drawn below this" };

macro_rules! random_ops {
    ($($op:ident $stateless:ident $infer:ident $infer_stateless:ident $kernel:ident $kernel_stateless:ident $what:ident
       $name:literal $stateless_name:literal [$($attr:ident),*] $noun:literal;)*) => { $(
        pub(crate) static $op: OpDef = OpDef {
            name: $name,
            doc: concat!("Adjusts the ", $noun, " by an amount drawn anew for each element.\n\nShape and dtype stay."),
            inputs: &[IMAGE],
            attrs: &[$($attr,)* SEED_ATTR],
            class: Class::Random,
            total: false,
            elementwise: false,
            infer: $infer,
            kernel: $kernel,
        };

        pub(crate) static $stateless: OpDef = OpDef {
            name: $stateless_name,
            doc: concat!("Adjusts the ", $noun, " by an amount that the seed alone decides.\n\nShape and dtype stay."),
            inputs: &[IMAGE, SEED],
            attrs: &[$($attr),*],
            class: Class::Pure,
            total: false,
            elementwise: false,
            infer: $infer_stateless,
            kernel: $kernel_stateless,
        };

        fn $infer(args: &[Arg], attrs: &Attrs) -> Specs {
            range(Adjust::$what, attrs)?;
            Adjust::$what.infer(&args[0])
        }

        fn $infer_stateless(args: &[Arg], attrs: &Attrs) -> Specs {
            check_seed(&args[1])?;
            $infer(args, attrs)
        }

        fn $kernel(_: &[Arg], attrs: &Attrs) -> MadeKernel {
            let (range, seed) = (range(Adjust::$what, attrs)?, attrs.seed()?);
            kernel_of(move |cx, inputs, out| {
                let amount = draw(&mut cx.philox(seed), range);
                Adjust::$what.run(cx, inputs[0].tensor()?, amount, out)
            })
        }

        fn $kernel_stateless(_: &[Arg], attrs: &Attrs) -> MadeKernel {
            let range = range(Adjust::$what, attrs)?;
            kernel_of(move |cx, inputs, out| {
                let (a, b) = seed_of(&inputs[1])?;
                let amount = draw(&mut Philox::stateless(a, b), range);
                Adjust::$what.run(cx, inputs[0].tensor()?, amount, out)
            })
        }
    )* };
}

random_ops! {
    BRIGHTNESS STATELESS_BRIGHTNESS infer_brightness infer_stateless_brightness kernel_brightness kernel_stateless_brightness
        Brightness "image.random_brightness" "image.stateless_random_brightness" [MAX_DELTA] "brightness";
    CONTRAST STATELESS_CONTRAST infer_contrast infer_stateless_contrast kernel_contrast kernel_stateless_contrast
        Contrast "image.random_contrast" "image.stateless_random_contrast" [LOWER, UPPER] "contrast";
    SATURATION STATELESS_SATURATION infer_saturation infer_stateless_saturation kernel_saturation kernel_stateless_saturation
        Saturation "image.random_saturation" "image.stateless_random_saturation" [LOWER, UPPER] "saturation";
    HUE STATELESS_HUE infer_hue infer_stateless_hue kernel_hue kernel_stateless_hue
        Hue "image.random_hue" "image.stateless_random_hue" [MAX_DELTA] "hue";
}

/// The range that the amount is drawn from.
fn range(what: Adjust, attrs: &Attrs) -> Result<(f32, f32)> {
    let refuse = |message: String| Err(Error::new(Kind::Value, message));
    if matches!(what, Adjust::Brightness | Adjust::Hue) {
        let max = attrs.float("max_delta")?;
        if max.is_nan() || max < 0.0 {
            return refuse(format!("max_delta must be non-negative, found {max}"));
        }
        if what == Adjust::Hue && max > 0.5 {
            return refuse(format!("max_delta must be <= 0.5, found {max}"));
        }
        return Ok((-max as f32, max as f32));
    }
    let (lower, upper) = (attrs.float("lower")?, attrs.float("upper")?);
    if upper.is_nan() || lower.is_nan() || upper <= lower {
        return refuse(format!("upper must be > lower, found lower {lower} and upper {upper}"));
    }
    if lower < 0.0 {
        return refuse(format!("lower must be non-negative, found {lower}"));
    }
    Ok((lower as f32, upper as f32))
}

fn draw(philox: &mut Philox, (low, high): (f32, f32)) -> f32 {
    uniform_f32(philox.next_u32()) * (high - low) + low
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval, infer_err};
    use gristmill_plan::Attr;
    use gristmill_types::{Shape, Tensor, Value};

    #[test]
    fn the_amount_is_the_draw() {
        let x: Value = Tensor::from_vec(Shape::image(1, 1, 3), &[0f32, 0.25, 0.5]).unwrap().into();
        let seed = Attr::List(vec![Attr::Int(5), Attr::Int(6)]);
        let given = attrs(&[("max_delta", Attr::Float(0.5)), ("seed", seed)]);
        let delta = uniform_f32(Philox::seeded(5, 6).next_u32()) - 0.5;
        let out = eval(&BRIGHTNESS, std::slice::from_ref(&x), given).unwrap();
        let expect = [delta, 0.25 + delta, 0.5 + delta];
        assert_eq!(out[0].tensor().unwrap().as_slice::<f32>().unwrap(), expect);
        let given =
            attrs(&[("lower", Attr::Float(1.0)), ("upper", Attr::Float(1.0 + f64::from(f32::EPSILON)))]);
        let seed: Value = Tensor::vector(&[1i64, 2]).into();
        let out = eval(&STATELESS_CONTRAST, &[x.clone(), seed], given).unwrap();
        assert_eq!(out[0], x);
    }

    #[test]
    fn ranges_are_checked() {
        let x: Value = Tensor::from_vec(Shape::image(1, 1, 3), &[0f32; 3]).unwrap().into();
        let hue = attrs(&[("max_delta", Attr::Float(0.6))]);
        assert!(infer_err(&HUE, std::slice::from_ref(&x), hue).contains("max_delta must be <= 0.5"));
        let contrast = attrs(&[("lower", Attr::Float(1.0)), ("upper", Attr::Int(1))]);
        assert!(infer_err(&CONTRAST, &[x], contrast).contains("upper must be > lower"));
    }
}
