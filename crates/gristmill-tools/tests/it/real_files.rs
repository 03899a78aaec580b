//! Files that other programs wrote, from the folder that `GRISTMILL_TESTDATA` names.

use std::ffi::OsString;
use std::ops::ControlFlow;
use std::path::PathBuf;

use gristmill_tools::head::{HeadOptions, head};
use gristmill_tools::info::{FeatureInfo, InfoOptions, info};
use gristmill_tools::progress::Silent;
use gristmill_tools::verify::{ProblemKind, VerifyOptions, verify};
use serde_json::Value;

/// The files with what is expected of them; `None` (with a message) without them.
fn files() -> Option<Vec<(String, OsString, Value)>> {
    let Some(root) = std::env::var_os("GRISTMILL_TESTDATA") else {
        println!("skipped: GRISTMILL_TESTDATA does not name the folder of test data");
        return None;
    };
    let folder = PathBuf::from(root).join("data/tfrecords");
    let expected = std::fs::read(folder.join("expected.json")).unwrap();
    let Value::Object(expected) = serde_json::from_slice(&expected).unwrap() else { panic!("an object") };
    let file = |(name, value): (String, Value)| (name.clone(), folder.join(name).into_os_string(), value);
    Some(expected.into_iter().map(file).collect())
}

fn agrees(name: &str, found: &[FeatureInfo], expected: &Value) {
    let expected = expected.as_object().unwrap();
    let names: Vec<_> = found.iter().map(|feature| feature.name.as_str()).collect();
    let mut wanted: Vec<_> = expected.keys().map(String::as_str).collect();
    wanted.sort_unstable();
    assert_eq!(names, wanted, "{name}");
    for feature in found {
        let wanted = &expected[&feature.name];
        let at = format!("{name}: {}", feature.name);
        assert_eq!(feature.kind, wanted["kind"], "{at}");
        if let Some(missing) = wanted.get("missing") {
            assert_eq!(
                (feature.min_len, feature.max_len),
                (number(wanted, "min_len"), number(wanted, "max_len")),
                "{at}"
            );
            assert_eq!(feature.missing, *missing, "{at}");
        }
        if wanted.get("min_steps").is_some() {
            assert_eq!(feature.min_steps, wanted["min_steps"].as_u64(), "{at}");
            assert_eq!(feature.max_steps, wanted["max_steps"].as_u64(), "{at}");
        }
    }
}

fn number(value: &Value, key: &str) -> u64 {
    value[key].as_u64().unwrap()
}

#[test]
fn info_agrees_with_what_is_known() {
    let Some(files) = files() else { return };
    assert!(files.len() >= 45, "{}", files.len());
    for (name, path, expected) in files {
        let report = info(&[path], &InfoOptions::default(), &Silent).unwrap();
        let file = &report.files[0];
        assert_eq!(file.records, expected["records"], "{name}");
        assert_eq!(file.file_bytes, expected["file_bytes"], "{name}");
        assert_eq!(file.payload_bytes, expected["payload_bytes"], "{name}");
        assert_eq!(file.min_record, expected["min_record"].as_u64(), "{name}");
        assert_eq!(file.max_record, expected["max_record"].as_u64(), "{name}");
        assert_eq!(file.compression, expected["compression"], "{name}");
        assert_eq!(file.error.is_some(), !expected["error"].is_null(), "{name}: {:?}", file.error);
        let kind = serde_json::to_value(report.kind).unwrap();
        let kind = if report.records == 0 { "empty".into() } else { kind };
        if expected["error"].is_null() {
            assert_eq!(kind, expected["kind"], "{name}");
        }
        agrees(&name, &report.features, &expected["features"]);
        if let Some(lists) = expected.get("feature_lists") {
            agrees(&name, &report.feature_lists, lists);
        }
        let parsable = matches!(expected["kind"].as_str(), Some("example" | "sequence_example"));
        assert_eq!(report.parse_spec.is_some(), parsable, "{name}");
    }
}

#[test]
fn verify_agrees_with_what_is_known() {
    let Some(files) = files() else { return };
    let (mut images, mut tailed) = (0, 0);
    for (name, path, expected) in files {
        let report = verify(&[path], &VerifyOptions { decode: true }, &Silent).unwrap();
        let file = &report.files[0];
        images += file.images;
        if expected["error"].is_null() {
            assert_eq!(file.records, expected["records"], "{name}");
            // TensorFlow passes over a tail in silence.
            let tails = file.problems.iter().filter(|p| p.kind == ProblemKind::Tail).count() as u64;
            assert_eq!(file.problem_count, tails, "{name}: {:?}", file.problems);
            tailed += tails;
        } else {
            assert!(!report.ok, "{name}");
            let kind = file.problems[0].kind;
            assert!(matches!(kind, ProblemKind::LengthChecksum | ProblemKind::Format), "{name}: {kind:?}");
            assert_eq!(file.problems[0].offset.unwrap_or(0), 0, "{name}");
        }
    }
    assert!(images > 40, "{images}");
    assert_eq!(tailed, 1, "hello.txt.gz holds five bytes");
}

#[test]
fn head_agrees_with_what_is_known() {
    let Some(files) = files() else { return };
    for (name, path, expected) in files {
        let options = HeadOptions { records: u64::MAX, ..HeadOptions::default() };
        let mut seen = 0;
        let result = head(&[path], &options, &Silent, &mut |record| {
            assert_eq!(record.record, seen, "{name}");
            seen += 1;
            for (key, feature) in &record.features {
                let known = &expected["features"][key];
                let kind = feature["kind"].as_str().unwrap();
                assert!(kind == known["kind"] || kind == "unset", "{name}: {key}: {kind}");
                let count = number(feature, "count");
                assert!(
                    count >= number(known, "min_len") && count <= number(known, "max_len"),
                    "{name}: {key}"
                );
                let shown = feature["values"].as_array().unwrap().len() as u64;
                assert_eq!(shown, count.min(options.values as u64), "{name}: {key}");
            }
            Ok(ControlFlow::Continue(()))
        });
        assert_eq!(seen, expected["records"], "{name}");
        assert_eq!(result.is_err(), !expected["error"].is_null(), "{name}: {result:?}");
    }
}
