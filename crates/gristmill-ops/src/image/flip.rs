//! `image.flip_left_right`, `image.flip_up_down` and their random forms.

use super::common::{
    IMAGE, Images, MadeKernel, SEED, SEED_ATTR, Specs, check_seed, kernel_of, same_spec, seed_of,
};
use gristmill_image::geometry;
use gristmill_image::resize::Size;
use gristmill_plan::{Arg, Attrs, Class, OpDef, Outs};
use gristmill_types::rng::{Philox, uniform_f32};
use gristmill_types::{Error, Result, Tensor};

type Flip = fn(&[u8], Size, &mut [u8]) -> gristmill_image::Result<()>;

macro_rules! flips {
    ($($op:ident $random:ident $stateless:ident $kernel:ident $random_kernel:ident $stateless_kernel:ident
       $name:literal $random_name:literal $stateless_name:literal $what:literal $flip:path;)*) => { $(
        pub(crate) static $op: OpDef = OpDef {
            name: $name,
            doc: concat!($what, " every image.\n\nShape and dtype stay; the samples are moved, not changed."),
            inputs: &[IMAGE],
            attrs: &[],
            class: Class::Pure,
            total: false,
            elementwise: false,
            infer: same_spec,
            kernel: $kernel,
        };

        pub(crate) static $random: OpDef = OpDef {
            name: $random_name,
            doc: concat!($what, " with probability 1/2, every image of a batch on its own.\n\nShape and dtype stay."),
            inputs: &[IMAGE],
            attrs: &[SEED_ATTR],
            class: Class::Random,
            total: false,
            elementwise: false,
            infer: same_spec,
            kernel: $random_kernel,
        };

        pub(crate) static $stateless: OpDef = OpDef {
            name: $stateless_name,
            doc: concat!($what, " with probability 1/2, as the seed alone decides.\n\nShape and dtype stay."),
            inputs: &[IMAGE, SEED],
            attrs: &[],
            class: Class::Pure,
            total: false,
            elementwise: false,
            infer: infer_stateless,
            kernel: $stateless_kernel,
        };

        fn $kernel(_: &[Arg], _: &Attrs) -> MadeKernel {
            kernel_of(|_, inputs, out| flip(inputs[0].tensor()?, out, $flip, |_| true))
        }

        fn $random_kernel(_: &[Arg], attrs: &Attrs) -> MadeKernel {
            let seed = attrs.seed()?;
            kernel_of(move |cx, inputs, out| random(inputs[0].tensor()?, out, $flip, cx.philox(seed)))
        }

        fn $stateless_kernel(_: &[Arg], _: &Attrs) -> MadeKernel {
            kernel_of(|_, inputs, out| {
                let (a, b) = seed_of(&inputs[1])?;
                random(inputs[0].tensor()?, out, $flip, Philox::stateless(a, b))
            })
        }
    )* };
}

flips! {
    LEFT_RIGHT RANDOM_LEFT_RIGHT STATELESS_LEFT_RIGHT left_right random_left_right stateless_left_right
        "image.flip_left_right" "image.random_flip_left_right" "image.stateless_random_flip_left_right"
        "Mirrors the rows of" geometry::flip_left_right;
    UP_DOWN RANDOM_UP_DOWN STATELESS_UP_DOWN up_down random_up_down stateless_up_down
        "image.flip_up_down" "image.random_flip_up_down" "image.stateless_random_flip_up_down"
        "Turns the order of the rows of" geometry::flip_up_down;
}

fn infer_stateless(args: &[Arg], attrs: &Attrs) -> Specs {
    check_seed(&args[1])?;
    same_spec(args, attrs)
}

/// One draw decides for a single image. In a batch TensorFlow rounds the draws instead of comparing
/// them, so that the other half of the range flips.
fn random(t: &Tensor, out: &mut Outs<'_>, flip_one: Flip, mut philox: Philox) -> Result<()> {
    if t.shape().rank() == 3 {
        if uniform_f32(philox.next_u32()) < 0.5 {
            return flip(t, out, flip_one, |_| true);
        }
        out.put(0, t.clone());
        return Ok(());
    }
    flip(t, out, flip_one, |_| uniform_f32(philox.next_u32()) > 0.5)
}

/// Flips the images that `wanted` names by their position and copies the others.
fn flip(t: &Tensor, out: &mut Outs<'_>, flip_one: Flip, mut wanted: impl FnMut(usize) -> bool) -> Result<()> {
    let images = Images::of(t, "image")?;
    if !t.dtype().is_plain() {
        return Err(Error::invalid("an image must hold numbers, found string"));
    }
    let size = images.bytes_size(t.dtype());
    let mut i = 0;
    images.each(t.bytes(), out.plain(0, t.dtype(), *t.shape()), |src, dst| {
        i += 1;
        if size.samples() == Some(0) {
            return Ok(());
        }
        if wanted(i - 1) {
            return flip_one(src, size, dst);
        }
        dst.copy_from_slice(src);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval, infer_err};
    use gristmill_plan::Attr;
    use gristmill_types::{Shape, Value};

    fn image(values: &[u16]) -> Value {
        Tensor::from_vec(Shape::image(2, values.len() / 2, 1), values).unwrap().into()
    }

    #[test]
    fn moves_samples() {
        let x = image(&[1, 2, 3, 4, 5, 6]);
        assert_eq!(
            eval(&LEFT_RIGHT, std::slice::from_ref(&x), Attrs::default()).unwrap(),
            [image(&[3, 2, 1, 6, 5, 4])]
        );
        assert_eq!(eval(&UP_DOWN, &[x], Attrs::default()).unwrap(), [image(&[4, 5, 6, 1, 2, 3])]);
        assert!(
            infer_err(&LEFT_RIGHT, &[Tensor::vector(&[1u8]).into()], Attrs::default())
                .contains("3 or 4 dimensions")
        );
    }

    #[test]
    fn a_draw_below_one_half_flips() {
        let x = image(&[1, 2, 3, 4]);
        for seed in 0..20 {
            let flips = uniform_f32(Philox::seeded(1, seed).next_u32()) < 0.5;
            let given = attrs(&[("seed", Attr::List(vec![Attr::Int(1), Attr::Int(seed as i64)]))]);
            let out = eval(&RANDOM_LEFT_RIGHT, std::slice::from_ref(&x), given).unwrap();
            assert_eq!(out[0], if flips { image(&[2, 1, 4, 3]) } else { x.clone() });
        }
    }

    #[test]
    fn stateless_draws_depend_on_the_seed_alone() {
        let x = image(&[1, 2, 3, 4]);
        let seed: Value = Tensor::vector(&[3i32, 4]).into();
        let once = eval(&STATELESS_UP_DOWN, &[x.clone(), seed.clone()], Attrs::default()).unwrap();
        assert_eq!(eval(&STATELESS_UP_DOWN, &[x.clone(), seed], Attrs::default()).unwrap(), once);
        let bad = [x, Tensor::vector(&[1i32]).into()];
        assert!(infer_err(&STATELESS_UP_DOWN, &bad, Attrs::default()).contains("shape [2]"));
    }
}
