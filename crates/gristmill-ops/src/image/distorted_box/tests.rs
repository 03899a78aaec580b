use super::*;
use crate::testing::{attrs, eval, infer_err};
use gristmill_plan::Attr;

type Case = ([i32; 2], &'static [[f32; 4]], [i64; 2], f32, [f64; 2], [f64; 2], i64, [i32; 2], [i32; 2]);

/// Height and width, objects, seed, min_object_covered, aspect_ratio_range, area_range, max_attempts; then begin and
/// size as TensorFlow 2.21 gives them.
const CASES: &[Case] = &[
    ([138, 583], &[], [1095513148, 10], 0.9, [0.75, 1.3333333333333333], [0.9, 1.0], 100, [0, 0], [138, 583]),
    (
        [215, 97],
        &[[0.03, 0.43, 0.84, 0.76], [0.0, 0.23, 0.45, 0.72], [0.9, 0.03, 0.95, 0.031]],
        [39534911, 43],
        0.1,
        [0.75, 1.3333333333333333],
        [0.05, 1.0],
        5,
        [13, 19],
        [74, 68],
    ),
    (
        [449, 508],
        &[[0.35, 0.76, 0.68, 0.95]],
        [92297589, 48],
        1.0,
        [0.75, 1.33],
        [0.08, 1.0],
        10,
        [2, 9],
        [379, 483],
    ),
    (
        [124, 341],
        &[[0.51, 0.19, 0.91, 0.28], [0.5, 0.39, 0.97, 0.94], [0.48, 0.4, 0.85, 0.74]],
        [743061144, 41],
        1.0,
        [1.0, 1.0],
        [0.05, 1.0],
        100,
        [9, 38],
        [110, 110],
    ),
    (
        [564, 599],
        &[[0.8, 0.8, 0.86, 0.82]],
        [1096479553, -1],
        0.0,
        [0.75, 1.33],
        [0.05, 1.0],
        100,
        [86, 29],
        [287, 349],
    ),
    (
        [519, 695],
        &[[0.22, 0.8, 0.54, 0.98], [0.22, 0.39, 0.52, 0.65], [0.32, 0.06, 0.58, 0.63]],
        [1282502805, 11],
        0.1,
        [0.75, 1.33],
        [0.3, 0.35],
        1,
        [86, 68],
        [304, 371],
    ),
    (
        [42, 87],
        &[[0.17, 0.21, 0.91, 0.76]],
        [1096467456, 42],
        0.5,
        [1.0, 1.0],
        [0.05, 1.0],
        10,
        [0, 24],
        [39, 39],
    ),
    (
        [241, 619],
        &[[0.14, 0.04, 0.55, 0.1], [0.07, 0.79, 0.87, 0.83], [0.34, 0.38, 0.62, 0.78]],
        [960844627, 67],
        0.0,
        [1.0, 1.0],
        [0.3, 0.35],
        10,
        [5, 359],
        [218, 218],
    ),
    ([578, 548], &[], [1966103991, 30], 0.0, [0.75, 1.33], [0.3, 0.35], 1, [87, 199], [313, 335]),
    ([629, 687], &[], [393776021, 47], 0.0, [0.75, 1.33], [0.08, 1.0], 5, [247, 190], [275, 358]),
    (
        [601, 432],
        &[[0.12, 0.24, 0.17, 0.74]],
        [441669301, 50],
        0.9,
        [1.0, 1.0],
        [0.3, 0.35],
        100,
        [46, 22],
        [295, 295],
    ),
    ([177, 628], &[], [1003002219, 57], 0.0, [0.5, 2.0], [0.3, 0.35], 100, [0, 14], [176, 201]),
    (
        [334, 449],
        &[[0.49, 0.21, 0.62, 0.43]],
        [1753309146, 10],
        0.5,
        [1.0, 1.0],
        [0.08, 1.0],
        100,
        [141, 40],
        [190, 190],
    ),
    (
        [556, 206],
        &[[0.31, 0.45, 0.76, 0.83], [0.86, 0.17, 0.861, 0.36]],
        [1803742556, 10],
        0.1,
        [0.75, 1.3333333333333333],
        [0.08, 1.0],
        10,
        [110, 1],
        [233, 186],
    ),
    (
        [587, 319],
        &[[0.36, 0.0, 0.5, 0.53], [0.44, 0.3, 0.45, 0.4], [0.68, 0.49, 0.78, 0.65]],
        [1621600183, 43],
        0.1,
        [0.75, 1.33],
        [0.3, 0.35],
        5,
        [134, 38],
        [257, 242],
    ),
    (
        [473, 616],
        &[[0.71, 0.7, 0.94, 0.99], [0.45, 0.2, 0.67, 0.53], [0.58, 0.34, 0.68, 0.97]],
        [290965683, 58],
        0.1,
        [1.0, 1.0],
        [0.05, 1.0],
        100,
        [11, 124],
        [436, 436],
    ),
];

fn numbers(values: [f64; 2]) -> Attr {
    Attr::List(values.map(Attr::Float).to_vec())
}

fn inputs(size: Value, boxes: &[[f32; 4]], covered: f32, seed: [i64; 2]) -> Vec<Value> {
    let boxes = Tensor::from_vec(Shape::new(&[1, boxes.len(), 4]).unwrap(), &boxes.concat()).unwrap();
    vec![size, boxes.into(), Tensor::scalar(covered).into(), Tensor::vector(&seed).into()]
}

fn ints(v: &Value) -> Vec<i64> {
    v.tensor().unwrap().to_i64s().unwrap()
}

#[test]
fn stateless_windows_are_tensorflows() {
    for case in CASES {
        let &([h, w], boxes, seed, covered, aspect, area, attempts, begin, size) = case;
        let given = attrs(&[
            ("aspect_ratio_range", numbers(aspect)),
            ("area_range", numbers(area)),
            ("max_attempts", Attr::Int(attempts)),
            ("use_image_if_no_bounding_boxes", Attr::Bool(true)),
        ]);
        let out = eval(&STATELESS, &inputs(Tensor::vector(&[h, w, 3]).into(), boxes, covered, seed), given)
            .unwrap();
        assert_eq!(ints(&out[0]), [i64::from(begin[0]), i64::from(begin[1]), 0], "{case:?}");
        assert_eq!(ints(&out[1]), [i64::from(size[0]), i64::from(size[1]), -1], "{case:?}");
        let edges = [begin[0], begin[1], begin[0] + size[0], begin[1] + size[1]];
        let shares: Vec<f32> = edges.iter().zip([h, w, h, w]).map(|(&e, n)| e as f32 / n as f32).collect();
        assert_eq!(out[2].tensor().unwrap().as_slice::<f32>().unwrap(), shares);
    }
}

#[test]
fn a_seed_pair_gives_tensorflows_window() {
    // tf.random.set_seed(5); tf.image.sample_distorted_bounding_box([40, 60, 3], zeros([1, 0, 4]), seed=3, ...).
    let given = attrs(&[
        ("seed", Attr::List(vec![Attr::Int(5), Attr::Int(3)])),
        ("use_image_if_no_bounding_boxes", Attr::Bool(true)),
    ]);
    let mut given_inputs = inputs(Tensor::vector(&[40i64, 60, 3]).into(), &[], 0.1, [0, 0]);
    given_inputs.pop();
    let out = eval(&OP, &given_inputs, given).unwrap();
    assert_eq!((ints(&out[0]), ints(&out[1])), (vec![2, 36, 0], vec![22, 20, -1]));
}

#[test]
fn outputs_have_the_dtype_of_the_size() {
    let whole = attrs(&[("use_image_if_no_bounding_boxes", Attr::Bool(true))]);
    let out =
        eval(&STATELESS, &inputs(Tensor::vector(&[40u8, 60, 3]).into(), &[], 0.1, [1, 2]), whole).unwrap();
    assert_eq!(out[0], Tensor::vector(&[0u8, 3, 0]).into());
    assert_eq!(out[1], Tensor::vector(&[39u8, 48, 255]).into());
}

#[test]
fn what_is_refused() {
    let size = || Value::from(Tensor::vector(&[40i32, 60, 3]));
    let fails = |boxes: &[[f32; 4]], covered, size: Value| {
        eval(&STATELESS, &inputs(size, boxes, covered, [1, 2]), Attrs::default()).unwrap_err().to_string()
    };
    assert!(fails(&[], 0.1, size()).contains("One must enable use_image_if_no_bounding_boxes"));
    let outside = "All bounding box coordinates must be in [0.0, 1.0]: 1.5";
    assert!(fails(&[[0.0, 0.0, 1.0, 1.5]], 0.1, size()).contains(outside));
    assert!(fails(&[[f32::NAN, 0.0, 1.0, 1.0]], 0.1, size()).contains("must be in [0.0, 1.0]: NaN"));
    let box_ = [[0.0, 0.0, 1.0, 1.0]];
    assert!(fails(&box_, -0.5, size()).contains("Min object covered must be non-negative: -0.5"));
    let two = Tensor::vector(&[40i32, 60]).into();
    assert!(fails(&box_, 0.1, two).contains("image_size must contain 3 elements"));
    let negative = Tensor::vector(&[-4i32, 60, 3]).into();
    assert!(fails(&box_, 0.1, negative).contains("image height cannot be >= int32 max"));
    let floats = Tensor::vector(&[40f32, 60.0, 3.0]).into();
    assert!(fails(&box_, 0.1, floats).contains("image_size must be uint8, int8, int16, int32 or int64"));
    let attr =
        |name: &str, v: Attr| infer_err(&STATELESS, &inputs(size(), &box_, 0.1, [1, 2]), attrs(&[(name, v)]));
    let pair = |a, b| numbers([a, b]);
    assert!(
        attr("aspect_ratio_range", pair(-1.0, 0.5))
            .contains("Aspect ratio range must be non-negative: [-1, 0.5]")
    );
    assert!(attr("area_range", pair(0.0, 1.0)).contains("Area range must be non-negative: [0, 1]"));
    assert!(
        attr("area_range", pair(0.1, 2.0)).contains("Area range must be less then or equal to 1.0: [0.1, 2]")
    );
    let one = Attr::List(vec![Attr::Float(1.0)]);
    assert!(attr("area_range", one).contains("Area range field must specify 2 dimensions"));
    assert!(attr("max_attempts", Attr::Int(0)).contains("Max attempts must be non-negative: 0"));
    let flat: Value = Tensor::from_vec(Shape::new(&[1, 4]).unwrap(), &[0f32, 0.0, 1.0, 1.0]).unwrap().into();
    let wrong = [size(), flat, Tensor::scalar(0.1f32).into(), Tensor::vector(&[1i64, 2]).into()];
    assert!(infer_err(&STATELESS, &wrong, Attrs::default()).contains("input boxes must be 3-dimensional"));
}

#[test]
fn a_backward_aspect_range_and_a_window_that_cannot_be() {
    let whole = |name: &str, v: Attr| {
        let given = attrs(&[(name, v), ("use_image_if_no_bounding_boxes", Attr::Bool(true))]);
        let out = eval(&STATELESS, &inputs(Tensor::vector(&[40i32, 60, 3]).into(), &[], 0.1, [1, 2]), given)
            .unwrap();
        (ints(&out[0]), ints(&out[1]))
    };
    assert_eq!(whole("aspect_ratio_range", numbers([1.0, 0.5])), (vec![0, 19, 0], vec![34, 20, -1]));
    assert_eq!(whole("area_range", numbers([0.5, 0.1])), (vec![0, 0, 0], vec![40, 60, -1]));
}
