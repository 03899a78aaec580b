//! Reading serialized tensors; what is accepted comes back the same.
#![no_main]

use gristmill_fuzz::run_op;
use gristmill_plan::{Attr, Attrs};
use gristmill_types::{DType, Tensor};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    for dtype in [
        DType::F32,
        DType::I64,
        DType::U8,
        DType::Bool,
        DType::String,
    ] {
        let attrs = Attrs::default().with("out_type", Attr::DType(dtype));
        if let Ok(read) = run_op("io.parse_tensor", &[Tensor::string(data).into()], &attrs) {
            let written = run_op("io.serialize_tensor", &read, &Attrs::default())
                .expect("any tensor is written");
            let again = run_op("io.parse_tensor", &written, &attrs).expect("own bytes are read");
            assert_eq!(again, read);
        }
    }
});
