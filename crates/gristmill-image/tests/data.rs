//! Real files against TensorFlow's results, when `GRISTMILL_TESTDATA` names a folder that has them.
// Helpers outside of #[test] functions fail tests as well.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod common;

use std::fs;
use std::path::Path;

use common::{sha256, testdata};
use gristmill_image::decode_any::{DecodeOptions, Op, Target, decode};
use gristmill_image::jpeg::{DctMethod, JpegOptions};
use gristmill_image::{Image, Result};
use serde_json::Value;

fn options(name: &str) -> DecodeOptions<'static> {
    let jpeg = JpegOptions::default();
    let of_jpeg = |jpeg| DecodeOptions { op: Op::DecodeJpeg, channels: 3, jpeg, ..Default::default() };
    match name {
        "decode_image" => DecodeOptions::default(),
        "decode_image_c3_noanim" => {
            DecodeOptions { channels: 3, expand_animations: false, ..Default::default() }
        }
        "decode_jpeg_c3" => of_jpeg(jpeg),
        "decode_jpeg_c3_accurate" => of_jpeg(JpegOptions { dct_method: DctMethod::IntegerAccurate, ..jpeg }),
        "decode_jpeg_c3_recover" => of_jpeg(JpegOptions { try_recover_truncated: true, ..jpeg }),
        _ => panic!("no such way of decoding: {name}"),
    }
}

fn decoded(contents: &[u8], options: &DecodeOptions<'_>) -> Result<Image<u8>> {
    let mut image = Image::default();
    decode(contents, options, Target::U8(&mut image)).map(|()| image)
}

fn expected(folder: &Path) -> Value {
    serde_json::from_slice(&fs::read(folder.join("expected.json")).unwrap()).unwrap()
}

fn numbers(shape: &Value) -> Vec<usize> {
    shape.as_array().unwrap().iter().map(|n| n.as_u64().unwrap() as usize).collect()
}

/// What differs between an image and what is expected of it.
fn difference(got: Result<Image<u8>>, expected: &Value) -> Option<String> {
    match (got, expected.get("message")) {
        (Err(error), Some(message)) => {
            // The expectation keeps only the start of a long message.
            let words = message.as_str().unwrap();
            (!error.to_string().starts_with(words)).then(|| format!("'{error}' instead of '{words}'"))
        }
        (Ok(image), None) if image.shape != numbers(&expected["shape"]) => {
            Some(format!("shape {:?}", image.shape))
        }
        (Ok(image), None) => (sha256(&image.data) != expected["sha256"]).then(|| "other pixels".to_owned()),
        (Ok(_), Some(message)) => Some(format!("decoded instead of {message}")),
        (Err(error), None) => Some(error.to_string()),
    }
}

#[test]
fn odd_files() {
    let Some(folder) = testdata().map(|t| t.join("data/images")) else {
        return;
    };
    let mut wrong = Vec::new();
    for (file, ways) in expected(&folder).as_object().unwrap() {
        let contents = fs::read(folder.join(file)).unwrap();
        for (way, expected) in ways.as_object().unwrap().iter().filter(|(_, e)| e.is_object()) {
            let got = decoded(&contents, &options(way));
            if let Some(difference) = difference(got, expected) {
                wrong.push(format!("{file} {way}: {difference}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn flowers() {
    let Some(folder) = testdata().map(|t| t.join("data/flowers")) else {
        return;
    };
    let mut wrong = Vec::new();
    let all = expected(&folder);
    // A fifth of the images suffices; every other one of those with the accurate DCT as well.
    for (i, (file, expected)) in all["files"].as_object().unwrap().iter().enumerate().step_by(5) {
        let contents = fs::read(folder.join(file)).unwrap();
        if let Some(difference) =
            difference(decoded(&contents, &options("decode_jpeg_c3")), &expected["decode_jpeg_c3"])
        {
            wrong.push(format!("{file}: {difference}"));
        }
        if i % 10 == 0 {
            let accurate = decoded(&contents, &options("decode_jpeg_c3_accurate")).unwrap();
            if sha256(&accurate.data) != expected["decode_jpeg_c3_accurate_sha256"] {
                wrong.push(format!("{file}: other pixels with the accurate DCT"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn sha256_of_known_texts() {
    assert_eq!(sha256(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_eq!(sha256(&[b'a'; 119]), "31eba51c313a5c08226adf18d4a359cfdfd8d2e816b13f4af952f7ea6584dcfb");
}
