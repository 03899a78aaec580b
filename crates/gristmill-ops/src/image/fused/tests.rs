use super::OP;
use crate::testing::attrs;
use gristmill_image::jpeg::{EncodeOptions, encode};
use gristmill_plan::optimize::rules::FuseImageChain;
use gristmill_plan::{Attr, Attrs, Graph, GraphBuilder, Program, Ref, Run, Scratch, registry};
use gristmill_types::{Column, DType, Ids, Key, Shape, Spec, Tensor, Value};
use std::sync::Arc;

const FILES: &[&[u8]] = &[
    include_bytes!("../../../../gristmill-image/src/jpeg/region/data/420.jpg"),
    include_bytes!("../../../../gristmill-image/src/jpeg/region/data/422.jpg"),
    include_bytes!("../../../../gristmill-image/src/jpeg/region/data/440.jpg"),
    include_bytes!("../../../../gristmill-image/src/jpeg/region/data/grey.jpg"),
    include_bytes!("../../../../gristmill-image/src/jpeg/region/data/progressive.jpg"),
];

/// A function of one string, built call by call.
struct Function(GraphBuilder);

impl Function {
    fn call(&mut self, name: &str, inputs: &[Ref], given: &[(&str, Attr)]) -> Ref {
        self.all(name, inputs, given)[0]
    }

    fn all(&mut self, name: &str, inputs: &[Ref], given: &[(&str, Attr)]) -> Vec<Ref> {
        self.0.call(registry::lookup(name).unwrap(), inputs, attrs(given), Some(Arc::from("f.py:1"))).unwrap()
    }

    fn constant(&mut self, t: Tensor) -> Ref {
        self.0.constant(Value::from(t))
    }

    fn ints(&mut self, values: &[i32]) -> Ref {
        self.constant(Tensor::vector(values))
    }

    fn number(&mut self, n: i32) -> Ref {
        self.constant(Tensor::scalar(n))
    }

    fn decoded(&mut self) -> Ref {
        let x = self.0.input(0);
        self.call("io.decode_jpeg", &[x], &[("channels", Attr::Int(3))])
    }

    fn cast(&mut self, x: Ref, dtype: DType) -> Ref {
        self.call("cast", &[x], &[("dtype", Attr::DType(dtype))])
    }

    fn resized(&mut self, x: Ref, size: [i32; 2]) -> Ref {
        let size = self.ints(&size);
        self.call("image.resize", &[x, size], &[])
    }

    fn mean(&mut self) -> Ref {
        self.constant(Tensor::vector(&[123.68f32, 116.78, 103.94]))
    }
}

type Build = fn(&mut Function) -> Vec<Ref>;

fn graphs(build: Build) -> (Graph, Graph) {
    crate::register();
    let mut f = Function(GraphBuilder::new(vec![Spec::scalar(DType::String)]));
    let outputs = build(&mut f);
    let plain = f.0.finish(outputs).numbered(7);
    let mut fused = plain.clone();
    while let Some(next) = FuseImageChain::rewrite(&fused) {
        fused = next;
    }
    (plain, fused)
}

/// The names of a function's ops; a fused one with those that it stands for.
fn names(graph: &Graph) -> Vec<String> {
    let name = |op: &gristmill_plan::OpNode| match op.attrs.graph("graph") {
        Ok(inner) => inner.ops().map(|o| o.def.name).collect::<Vec<_>>().join("+"),
        Err(_) => op.def.name.to_string(),
    };
    graph.ops().map(name).collect()
}

/// What a function makes of each content: values or the error, with its places.
fn outcomes(graph: &Graph, contents: &[Vec<u8>]) -> Vec<Result<Vec<Value>, String>> {
    let program = Program::new(Arc::new(graph.clone()), &[]).unwrap();
    let mut scratch = Scratch::default();
    let run = |(i, bytes): (usize, &Vec<u8>)| {
        let column = Column::from_values(vec![Tensor::string(bytes.clone()).into()]);
        let ids = Ids::Run { root: Key::root(1, 2), first: i as u64 };
        let mut run = Run { scratch: &mut scratch, entropy: 5, copied: 0 };
        let mut rows: Vec<_> = graph.outputs.iter().map(|_| None).collect();
        let out = program.run(&mut run, &[column], 1, &ids, &mut rows).unwrap();
        match out.failed {
            Some(e) => Err(e.to_string()),
            None => Ok(out.columns.into_iter().map(|c| c.unwrap().get(0)).collect()),
        }
    };
    contents.iter().enumerate().map(run).collect()
}

/// Good files, other formats, and damage of all kinds.
fn contents() -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = FILES.iter().map(|f| f.to_vec()).collect();
    all.extend(FILES.iter().map(|f| f[..f.len() / 2].to_vec()));
    all.extend(FILES.iter().map(|f| f[..f.len() - 2].to_vec()));
    all.push(encode(&[90; 20 * 16 * 3], 20, 16, 3, &EncodeOptions::default()).unwrap());
    let png = Tensor::from_vec(
        Shape::image(61, 83, 3),
        &(0..61 * 83 * 3).map(|i| (i % 251) as u8).collect::<Vec<_>>(),
    );
    let png = crate::testing::eval(
        registry::lookup("io.encode_png").unwrap(),
        &[png.unwrap().into()],
        Attrs::default(),
    );
    all.push(png.unwrap()[0].tensor().unwrap().as_strings()[0].to_vec());
    all.extend([Vec::new(), b"not an image".to_vec(), b"\xff\xd8\xff".to_vec()]);
    all
}

fn same(build: Build, expected: &[&str]) {
    let (plain, fused) = graphs(build);
    assert_eq!(names(&fused), expected);
    assert_eq!(fused.impure_ops(), plain.impure_ops());
    assert_eq!(fused.output_specs(), plain.output_specs());
    let contents = contents();
    let (a, b) = (outcomes(&plain, &contents), outcomes(&fused, &contents));
    assert!(a.iter().any(Result::is_err));
    for (i, (a, b)) in a.iter().zip(&b).enumerate() {
        assert_eq!(a, b, "content {i} of {expected:?}");
    }
}

fn train(f: &mut Function, dtype: DType) -> Vec<Ref> {
    let x = f.decoded();
    let size = f.ints(&[30, 40, 3]);
    let seed = Attr::List(vec![Attr::Int(1), Attr::Int(2)]);
    let x = f.call("random.random_crop", &[x, size], &[("seed", seed)]);
    let x = f.resized(x, [24, 20]);
    let x = f.call("image.random_flip_left_right", &[x], &[]);
    let mean = f.mean();
    let x = f.call("math.subtract", &[x, mean], &[]);
    let deviation = f.constant(Tensor::vector(&[58.4f32, 57.12, 57.38]));
    let x = f.call("math.truediv", &[x, deviation], &[]);
    vec![f.cast(x, dtype)]
}

#[test]
fn a_training_chain_is_one_op() {
    let chain = "io.decode_jpeg+random.random_crop+image.resize+image.random_flip_left_right+math.subtract+math.truediv+cast";
    same(|f| train(f, DType::F32), &[chain]);
    same(|f| train(f, DType::BF16), &[chain]);
    same(|f| train(f, DType::F16), &[chain]);
}

#[test]
fn a_slice_by_the_shape_of_the_image() {
    same(
        |f| {
            let x = f.decoded();
            let shape = f.call("shape", &[x], &[]);
            let three = f.ints(&[3, 3, 1]);
            let begin = f.call("math.floordiv", &[shape, three], &[]);
            let zero = f.ints(&[1, 1, 0]);
            let begin = f.call("math.multiply", &[begin, zero], &[]);
            let size = f.ints(&[7, -1, -1]);
            vec![f.call("slice", &[x, begin, size], &[]), shape]
        },
        &["io.decode_jpeg+shape", "math.floordiv", "math.multiply", "io.decode_jpeg+slice"],
    );
}

#[test]
fn python_slices() {
    same(
        |f| {
            let x = f.decoded();
            let (begin, end, strides) = (f.ints(&[-30, 10]), f.ints(&[-5, 40]), f.ints(&[1, 1]));
            vec![f.call("strided_slice", &[x, begin, end, strides], &[])]
        },
        &["io.decode_jpeg+strided_slice"],
    );
    // A stride, a single row: no window, but the same values.
    for (step, shrink) in [(2, 0), (1, 1)] {
        let build: Build = match (step, shrink) {
            (2, _) => |f| {
                let x = f.decoded();
                let (begin, end, strides) = (f.ints(&[3, 10]), f.ints(&[20, 40]), f.ints(&[2, 1]));
                vec![f.call("strided_slice", &[x, begin, end, strides], &[])]
            },
            _ => |f| {
                let x = f.decoded();
                let (begin, end, strides) = (f.ints(&[3]), f.ints(&[4]), f.ints(&[1]));
                vec![f.call(
                    "strided_slice",
                    &[x, begin, end, strides],
                    &[("shrink_axis_mask", Attr::Int(1))],
                )]
            },
        };
        let expected: &[&str] = if shrink == 1 {
            &["io.decode_jpeg", "strided_slice"]
        } else {
            &["io.decode_jpeg+strided_slice"]
        };
        same(build, expected);
    }
}

#[test]
fn boxes_and_centres() {
    same(
        |f| {
            let x = f.decoded();
            let n = [9, 3, 22, 31].map(|n| f.number(n));
            let x = f.call("image.crop_to_bounding_box", &[x, n[0], n[1], n[2], n[3]], &[]);
            let x = f.call("image.central_crop", &[x], &[("central_fraction", Attr::Float(0.6))]);
            vec![f.call("image.flip_up_down", &[x], &[])]
        },
        &["io.decode_jpeg+image.crop_to_bounding_box+image.central_crop+image.flip_up_down"],
    );
    same(
        |f| {
            let x = f.decoded();
            let x = f.resized(x, [40, 50]);
            let (h, w) = (f.number(32), f.number(32));
            let x = f.call("image.resize_with_crop_or_pad", &[x, h, w], &[]);
            let scale = f.constant(Tensor::scalar(255f32));
            vec![f.call("math.truediv", &[x, scale], &[])]
        },
        &["io.decode_jpeg+image.resize+image.resize_with_crop_or_pad+math.truediv"],
    );
    // Padding is no window.
    same(
        |f| {
            let x = f.decoded();
            let (h, w) = (f.number(100), f.number(40));
            vec![f.call("image.resize_with_crop_or_pad", &[x, h, w], &[])]
        },
        &["io.decode_jpeg+image.resize_with_crop_or_pad"],
    );
}

#[test]
fn conversions_before_the_resize() {
    same(
        |f| {
            let x = f.decoded();
            let x = f.call("image.convert_image_dtype", &[x], &[("dtype", Attr::DType(DType::F32))]);
            let x = f.call("image.flip_left_right", &[x], &[]);
            let x = f.resized(x, [33, 21]);
            let mean = f.mean();
            vec![f.call("math.subtract", &[mean, x], &[])]
        },
        &["io.decode_jpeg+image.convert_image_dtype+image.flip_left_right+image.resize+math.subtract"],
    );
    same(
        |f| {
            let x = f.decoded();
            let x = f.call("image.convert_image_dtype", &[x], &[("dtype", Attr::DType(DType::BF16))]);
            let half = f.constant(Tensor::vector(&[half::bf16::from_f32(0.45)]));
            let x = f.call("math.subtract", &[x, half], &[]);
            vec![f.cast(x, DType::F16)]
        },
        &["io.decode_jpeg+image.convert_image_dtype+math.subtract+cast"],
    );
}

#[test]
fn whole_numbers_end_a_chain() {
    same(
        |f| {
            let x = f.decoded();
            let x = f.resized(x, [33, 21]);
            let x = f.cast(x, DType::U8);
            let x = f.cast(x, DType::F32);
            let mean = f.mean();
            vec![f.call("math.subtract", &[x, mean], &[])]
        },
        &["io.decode_jpeg+image.resize+cast", "cast", "math.subtract"],
    );
}

#[test]
fn what_has_other_readers_stays() {
    // The image itself is returned.
    same(
        |f| {
            let x = f.decoded();
            vec![f.resized(x, [9, 9]), x]
        },
        &["io.decode_jpeg", "image.resize"],
    );
    // The resized image is read twice.
    same(
        |f| {
            let x = f.decoded();
            let x = f.resized(x, [9, 9]);
            vec![f.call("math.multiply", &[x, x], &[])]
        },
        &["io.decode_jpeg+image.resize", "math.multiply"],
    );
    // An operand of more channels than the image would widen it.
    same(
        |f| {
            let x = f.0.input(0);
            let x = f.call("io.decode_jpeg", &[x], &[]);
            let x = f.resized(x, [9, 9]);
            let mean = f.mean();
            vec![f.call("math.add", &[x, mean], &[])]
        },
        &["io.decode_jpeg+image.resize+math.add"],
    );
    // Nearest keeps the dtype, and a window of a mirrored image is not worked out.
    same(
        |f| {
            let x = f.decoded();
            let x = f.call("image.flip_left_right", &[x], &[]);
            let x = f.call("image.central_crop", &[x], &[("central_fraction", Attr::Float(0.5))]);
            let size = f.ints(&[8, 8]);
            vec![f.call("image.resize", &[x, size], &[("method", Attr::Str("nearest".into()))])]
        },
        &["io.decode_jpeg+image.flip_left_right", "image.central_crop", "image.resize"],
    );
}

#[test]
fn an_op_that_draws_keeps_its_place_among_others() {
    same(
        |f| {
            let x = f.decoded();
            let x = f.call("image.random_flip_left_right", &[x], &[]);
            let y = f.decoded();
            let y = f.call("image.random_flip_left_right", &[y], &[]);
            vec![f.resized(x, [9, 9]), y]
        },
        &[
            "io.decode_jpeg",
            "image.random_flip_left_right",
            "io.decode_jpeg+image.random_flip_left_right",
            "image.resize",
        ],
    );
}

#[test]
fn other_methods_and_stateless_draws() {
    same(
        |f| {
            let x = f.decoded();
            let size = f.ints(&[20, 30, 3]);
            let seed = f.ints(&[4, 5]);
            let x = f.call("random.stateless_random_crop", &[x, size, seed], &[]);
            let size = f.ints(&[16, 50]);
            let given = [
                ("method", Attr::Str("bicubic".into())),
                ("antialias", Attr::Bool(true)),
                ("preserve_aspect_ratio", Attr::Bool(true)),
            ];
            let x = f.call("image.resize", &[x, size], &given);
            let x = f.call("image.stateless_random_flip_up_down", &[x, seed], &[]);
            vec![f.cast(x, DType::U8)]
        },
        &[
            "io.decode_jpeg+random.stateless_random_crop+image.resize+image.stateless_random_flip_up_down+cast",
        ],
    );
}

#[test]
fn the_sampled_window_of_a_photo() {
    same(
        |f| {
            let x = f.0.input(0);
            let size = f.call("io.extract_jpeg_shape", &[x], &[]);
            let boxes = f.constant(Tensor::zeros(DType::F32, Shape::new(&[1, 0, 4]).unwrap()));
            let covered = f.constant(Tensor::scalar(0.1f32));
            let whole = [("use_image_if_no_bounding_boxes", Attr::Bool(true))];
            let drawn = f.all("image.sample_distorted_bounding_box", &[size, boxes, covered], &whole);
            let x = f.decoded();
            let x = f.call("slice", &[x, drawn[0], drawn[1]], &[]);
            let x = f.resized(x, [12, 12]);
            vec![f.call("image.random_flip_left_right", &[x], &[])]
        },
        &[
            "io.extract_jpeg_shape",
            "image.sample_distorted_bounding_box",
            "io.decode_jpeg+slice+image.resize+image.random_flip_left_right",
        ],
    );
}

#[test]
fn the_crop_of_the_decoder_has_its_own_edges() {
    same(
        |f| {
            let (x, window) = (f.0.input(0), f.ints(&[9, 17, 30, 41]));
            let x = f.call("io.decode_and_crop_jpeg", &[x, window], &[("channels", Attr::Int(3))]);
            let x = f.resized(x, [22, 22]);
            vec![f.cast(x, DType::F16)]
        },
        &["io.decode_and_crop_jpeg+image.resize+cast"],
    );
    same(
        |f| {
            let (x, window) = (f.0.input(0), f.ints(&[9, 17, 30, 41]));
            let x = f.call("io.decode_and_crop_jpeg", &[x, window], &[]);
            let x = f.call("image.central_crop", &[x], &[("central_fraction", Attr::Float(0.5))]);
            vec![f.resized(x, [22, 22])]
        },
        &["io.decode_and_crop_jpeg+image.central_crop+image.resize"],
    );
    // An index of where rows begin goes along.
    same(
        |f| {
            let (x, window) = (f.0.input(0), f.ints(&[9, 17, 30, 41]));
            let index = f.call("io.jpeg_restart_index", &[x], &[]);
            let x = f.call("io.decode_and_crop_jpeg", &[x, window, index], &[]);
            vec![f.resized(x, [22, 22])]
        },
        &["io.jpeg_restart_index", "io.decode_and_crop_jpeg+image.resize"],
    );
    // A window outside fails as the op does.
    same(
        |f| {
            let (x, window) = (f.0.input(0), f.ints(&[9, 17, 30, 60]));
            let x = f.call("io.decode_and_crop_jpeg", &[x, window], &[]);
            let y = f.0.input(0);
            let y = f.call("io.is_jpeg", &[y], &[]);
            vec![f.resized(x, [22, 22]), y]
        },
        &["io.is_jpeg", "io.decode_and_crop_jpeg+image.resize"],
    );
}

#[test]
fn the_op_is_registered() {
    crate::register();
    assert!(std::ptr::eq(registry::lookup("image.fused").unwrap(), &OP));
}
