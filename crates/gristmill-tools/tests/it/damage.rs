//! Damaged files: what verify, info, head and salvage say of them, and what they save.

use std::fs;
use std::ops::ControlFlow;

use gristmill_example::Feature;
use gristmill_image::png;
use gristmill_record::Compression;
use gristmill_tools::OutOptions;
use gristmill_tools::head::{HeadOptions, head};
use gristmill_tools::info::{InfoOptions, infer_spec, info};
use gristmill_tools::progress::Silent;
use gristmill_tools::reshape::{SplitBy, merge, split};
use gristmill_tools::salvage::{LostBytes, check_report, salvage, write_report};
use gristmill_tools::shuffle::{ShuffleOptions, shuffle};
use gristmill_tools::verify::{ProblemKind, VerifyOptions, verify};
use gristmill_types::Kind;
use serde_json::json;

use super::{example, names, payloads, read, text, write};

#[test]
fn every_bad_record_is_named_and_the_rest_is_saved() {
    let dir = tempfile::tempdir().unwrap();
    let records: Vec<Vec<u8>> = (0..10u8).map(|i| vec![i; 100]).collect();
    let path = write(&dir.path().join("a"), &records, Compression::None);
    let mut bytes = fs::read(&path).unwrap();
    bytes[116 * 2 + 50] ^= 1; // payload of record 2
    bytes[116 * 5 + 3] ^= 1; // length of record 5
    bytes.truncate(116 * 9 + 60); // record 9 is cut
    fs::write(&path, &bytes).unwrap();
    let report = verify(std::slice::from_ref(&path), &VerifyOptions::default(), &Silent).unwrap();
    let file = &report.files[0];
    assert!(!report.ok);
    assert_eq!((file.records, file.problem_count, file.lost_bytes), (7, 3, 116 + 116 + 60));
    let seen: Vec<_> = file.problems.iter().map(|p| (p.kind, p.record, p.offset, p.lost_until)).collect();
    assert_eq!(
        seen,
        [
            (ProblemKind::PayloadChecksum, Some(2), Some(232), Some(348)),
            (ProblemKind::LengthChecksum, Some(5), Some(580), Some(696)),
            (ProblemKind::Truncated, Some(9), Some(1044), Some(1104)),
        ]
    );
    let stored = u32::from_le_bytes(bytes[344..348].try_into().unwrap());
    assert_eq!(file.problems[0].stored, Some(format!("{stored:#010x}")));
    let computed = gristmill_record::masked_crc32c(&bytes[244..344]);
    assert_eq!(file.problems[0].computed, Some(format!("{computed:#010x}")));

    let out = dir.path().join("out").into_os_string();
    let saved = salvage(&path, &out, &OutOptions::default(), &Silent).unwrap();
    assert_eq!((saved.output.records, saved.lost_bytes, saved.lost_stretches), (7, 292, 3));
    assert_eq!(saved.lost[1], LostBytes { start: 580, end: 696, after_records: 4 });
    let kept: Vec<_> = [0, 1, 3, 4, 6, 7, 8].iter().map(|&i| records[i].clone()).collect();
    assert_eq!(read(&out), kept);
    assert!(verify(&[out], &VerifyOptions::default(), &Silent).unwrap().ok);

    let looked = info(std::slice::from_ref(&path), &InfoOptions::default(), &Silent).unwrap();
    assert_eq!(looked.files[0].records, 2);
    assert!(looked.files[0].error.as_ref().unwrap().contains("corrupted record at 244"), "{looked:?}");
    let mut seen = 0;
    let error = head(&[path], &HeadOptions::default(), &Silent, &mut |_| {
        seen += 1;
        Ok(ControlFlow::Continue(()))
    });
    let error = error.unwrap_err();
    assert_eq!(
        (seen, error.kind(), error.record_index(), error.offset()),
        (2, Kind::DataLoss, Some(2), Some(232))
    );
}

#[test]
fn tails_and_cut_streams_are_reported() {
    let dir = tempfile::tempdir().unwrap();
    let path = write(&dir.path().join("a"), &payloads(3), Compression::None);
    let whole = fs::read(&path).unwrap();
    fs::write(&path, [&whole[..], b"tail"].concat()).unwrap();
    let report = verify(&[path], &VerifyOptions::default(), &Silent).unwrap();
    let problem = &report.files[0].problems[0];
    assert_eq!((problem.kind, problem.offset), (ProblemKind::Tail, Some(whole.len() as u64)));
    assert!(problem.message.contains("ends with 4 bytes"), "{}", problem.message);
    let gz = write(&dir.path().join("a.gz"), &payloads(300), Compression::Gzip);
    let bytes = fs::read(&gz).unwrap();
    fs::write(&gz, &bytes[..bytes.len() - 4]).unwrap();
    let report = verify(std::slice::from_ref(&gz), &VerifyOptions::default(), &Silent).unwrap();
    let file = &report.files[0];
    assert_eq!((file.records, file.compression, file.problems[0].kind), (300, "GZIP", ProblemKind::CutShort));
    let mut bytes = bytes;
    let middle = bytes.len() / 2;
    bytes[middle..middle + 8].fill(0xff);
    fs::write(&gz, &bytes).unwrap();
    let report = verify(std::slice::from_ref(&gz), &VerifyOptions::default(), &Silent).unwrap();
    assert!(!report.ok && report.files[0].records < 300);
    let out = dir.path().join("out").into_os_string();
    let saved = salvage(&gz, &out, &OutOptions::default(), &Silent).unwrap();
    assert!(!saved.ok() && saved.compression == "GZIP");
    let good = read(&out);
    assert!(payloads(300).starts_with(&good[..good.len().min(20)]));
}

#[test]
fn what_ends_too_early_is_neither_rewritten_nor_called_whole() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).into_os_string();
    let whole = fs::read(write(&dir.path().join("a"), &payloads(300), Compression::None)).unwrap();
    fs::write(at("tail"), [&whole[..], b"tail"].concat()).unwrap();
    let gz = write(&dir.path().join("a.gz"), &payloads(300), Compression::Gzip);
    let bytes = fs::read(&gz).unwrap();
    // All records are there, only the check value is not.
    fs::write(at("cut"), &bytes[..bytes.len() - 4]).unwrap();
    let before = names(dir.path());
    let cases = [
        ("tail", "4 bytes behind the last record are no record"),
        ("cut", "the compressed data end before their trailer: records may be missing after the first 300"),
    ];
    for (name, words) in cases {
        let inputs = [at(name)];
        let out = OutOptions::default();
        let errors = [
            merge(&inputs, &at("out"), &out, &Silent).unwrap_err(),
            split(&inputs, &at("out"), 2, SplitBy::RoundRobin, &out, &Silent).unwrap_err(),
            shuffle(&inputs, &at("out"), &ShuffleOptions::default(), &Silent).unwrap_err(),
        ];
        for error in errors {
            assert_eq!((error.kind(), error.message()), (Kind::DataLoss, words));
        }
        assert!(!info(&inputs, &InfoOptions::default(), &Silent).unwrap().ok());
    }
    assert_eq!(names(dir.path()), before);
    let saved = salvage(&at("cut"), &at("out"), &OutOptions::default(), &Silent).unwrap();
    assert_eq!((saved.ok(), saved.output.records, saved.lost_stretches), (false, 300, 0));
    assert_eq!(saved.stream_error.as_deref(), Some("the compressed data end before their trailer"));
}

#[test]
fn a_report_never_replaces_what_it_tells_of() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).into_os_string();
    let path = write(&dir.path().join("a"), &payloads(3), Compression::None);
    write(&dir.path().join("there"), &payloads(1), Compression::None);
    std::os::unix::fs::symlink("a", at("link")).unwrap();
    let kind = |report: &str, overwrite| {
        check_report(&at(report), &path, &at("out"), overwrite).err().map(|e| e.kind())
    };
    for report in ["a", "link", "./a", "out", "./out"] {
        assert_eq!(kind(report, true), Some(Kind::InvalidArgument), "{report}");
    }
    assert_eq!(kind("there", false), Some(Kind::AlreadyExists));
    assert_eq!((kind("there", true), kind("new", false)), (None, None));
    let report = salvage(&path, &at("out"), &OutOptions::default(), &Silent).unwrap();
    write_report(&report, &at("new/report.json")).unwrap();
    let text = fs::read(at("new/report.json")).unwrap();
    assert_eq!(serde_json::from_slice::<serde_json::Value>(&text).unwrap()["output"]["records"], 3);
}

#[test]
fn salvage_refuses_what_it_must() {
    let dir = tempfile::tempdir().unwrap();
    let path = write(&dir.path().join("a"), &payloads(3), Compression::None);
    let kind = |input: &std::ffi::OsStr, output: &std::ffi::OsStr, overwrite| {
        let options = OutOptions { overwrite, ..OutOptions::default() };
        salvage(input, output, &options, &Silent).unwrap_err().kind()
    };
    assert_eq!(kind(&path, &path, true), Kind::InvalidArgument);
    let there = write(&dir.path().join("b"), &payloads(1), Compression::None);
    assert_eq!(kind(&path, &there, false), Kind::AlreadyExists);
    assert_eq!(read(&there), payloads(1));
    let junk = dir.path().join("junk").into_os_string();
    fs::write(&junk, [7; 1000]).unwrap();
    assert_eq!(kind(&junk, &dir.path().join("new").into_os_string(), false), Kind::DataLoss);
    assert_eq!(kind(&dir.path().join("none").into_os_string(), &there, true), Kind::NotFound);
    assert_eq!(kind(&path, "/dev/full".as_ref(), false), Kind::ResourceExhausted);
    assert_eq!(names(dir.path()), ["a", "b", "junk"]);
}

#[test]
fn bad_images_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let good = png::encode::<u8>(&[9; 4 * 5 * 3], 4, 5, 3, -1).unwrap();
    let mut cut = good.clone();
    cut.truncate(good.len() - 20);
    let record =
        |image: &[u8], label| example(&[("image", text(&[image])), ("label", Feature::Ints(vec![label]))]);
    let records =
        [record(&good, 0), record(&cut, 1), record(&good, 1), record(b"no image", 2), record(&good, 1)];
    let path = write(&dir.path().join("a"), &records, Compression::None);
    assert!(verify(std::slice::from_ref(&path), &VerifyOptions::default(), &Silent).unwrap().ok);
    let report = verify(std::slice::from_ref(&path), &VerifyOptions { decode: true }, &Silent).unwrap();
    let file = &report.files[0];
    assert_eq!((file.images, file.problem_count, report.records), (3, 2, 5));
    let seen: Vec<_> = file.problems.iter().map(|p| (p.kind, p.record, p.feature.as_deref())).collect();
    assert_eq!(
        seen,
        [(ProblemKind::Image, Some(1), Some("image")), (ProblemKind::Image, Some(3), Some("image"))]
    );
    assert!(file.problems[1].message.starts_with("8 bytes are no image"), "{}", file.problems[1].message);

    let looked = info(std::slice::from_ref(&path), &InfoOptions::default(), &Silent).unwrap();
    assert_eq!(looked.features[0].images["PNG"], 4);
    let labels = looked.features[1].labels.as_ref().unwrap();
    assert_eq!(
        serde_json::to_value(&labels.values).unwrap(),
        json!([
            {"value": 0, "count": 1}, {"value": 1, "count": 3}, {"value": 2, "count": 1}
        ])
    );
    let spec = infer_spec(std::slice::from_ref(&path), None, &Silent).unwrap().parse_spec.unwrap();
    assert!(spec.contains("    \"image\": gm.io.FixedLenFeature([], gm.string),\n"), "{spec}");
    assert!(spec.contains("    \"label\": gm.io.FixedLenFeature([], gm.int64),\n"), "{spec}");
    let mut shown = Vec::new();
    let options = HeadOptions { records: 1, ..HeadOptions::default() };
    head(&[path], &options, &Silent, &mut |record| {
        shown.push(serde_json::to_value(&record.features).unwrap());
        Ok(ControlFlow::Continue(()))
    })
    .unwrap();
    let image = json!({"format": "PNG", "height": 4, "width": 5, "bytes": good.len()});
    assert_eq!(
        shown,
        [json!({
            "image": {"kind": "bytes", "count": 1, "values": [image]},
            "label": {"kind": "int64", "count": 1, "values": [0]},
        })]
    );
}

#[test]
fn specs_are_inferred_from_examples_only() {
    let dir = tempfile::tempdir().unwrap();
    let other = write(&dir.path().join("other"), &payloads(3), Compression::None);
    let error = infer_spec(&[other], None, &Silent).unwrap_err();
    assert_eq!(
        (error.kind(), error.message()),
        (Kind::InvalidArgument, "expected Examples or SequenceExamples, found other")
    );
    let records = [
        example(&[
            ("v", Feature::Floats(vec![1.0, 2.0])),
            ("w", Feature::Ints(vec![1, 2])),
            ("x", Feature::Unset),
        ]),
        example(&[
            ("v", Feature::Floats(vec![1.0, 2.0])),
            ("w", Feature::Ints(vec![])),
            ("x", Feature::Unset),
        ]),
    ];
    let path = write(&dir.path().join("a.gz"), &records, Compression::Gzip);
    let spec = infer_spec(&[path], None, &Silent).unwrap().parse_spec.unwrap();
    assert!(spec.contains("\"v\": gm.io.FixedLenFeature([2], gm.float32),"), "{spec}");
    assert!(spec.contains("\"w\": gm.io.VarLenFeature(gm.int64),"), "{spec}");
    assert!(spec.contains("# \"x\" has no value in any record"), "{spec}");
    assert!(spec.contains("compression_type=\"GZIP\""), "{spec}");
}

#[test]
fn a_dataset_is_compared_with_its_description() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    write(&at("d-0.tfrecord"), &payloads(3), Compression::None);
    write(&at("d-1.tfrecord"), &payloads(4), Compression::None);
    let shard = |name: &str| {
        let path = at(name).into_os_string();
        let file = &verify(&[path], &VerifyOptions::default(), &Silent).unwrap().files[0];
        json!({"file": name, "records": file.records, "bytes": file.file_bytes, "crc32c": file.crc32c})
    };
    let shards = [shard("d-0.tfrecord"), shard("d-1.tfrecord")];
    let described = json!({"format": "gristmill-dataset", "splits": [{"name": "d", "shards": shards}]});
    fs::write(at("dataset.json"), described.to_string()).unwrap();
    let problems = || {
        let report = verify(&[dir.path().into()], &VerifyOptions::default(), &Silent).unwrap();
        assert_eq!((report.datasets.len(), report.datasets[0].shards), (1, 2));
        assert_eq!(report.ok, report.datasets[0].problems.is_empty());
        report.datasets[0].problems.clone()
    };
    assert_eq!(problems(), [] as [&str; 0]);
    // As many records of as many bytes, but others.
    let mut other = payloads(4);
    other[0] = b"RECORD 0 ".to_vec();
    assert_eq!(other[0].len(), payloads(1)[0].len());
    write(&at("d-1.tfrecord"), &other, Compression::None);
    let found = problems();
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with("shard d-1.tfrecord has the CRC32C "), "{found:?}");
    write(&at("d-1.tfrecord"), &payloads(2), Compression::None);
    let found = problems();
    assert_eq!(found.len(), 3);
    assert_eq!(found[1], "shard d-1.tfrecord has 2 intact records, expected 4");
    fs::remove_file(at("d-1.tfrecord")).unwrap();
    assert_eq!(problems(), ["shard d-1.tfrecord is missing"]);
    fs::write(at("dataset.json"), "{").unwrap();
    let report = verify(&[dir.path().into()], &VerifyOptions::default(), &Silent).unwrap();
    assert_eq!(report.datasets[0].problems, ["it is no JSON"]);
}
