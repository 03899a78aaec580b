//! What an error of a whole pipeline says.

use gristmill::plan::Attr;
use gristmill::plan::dataset::Options;
use gristmill::record::codec::Compression;
use gristmill::types::Kind;
use gristmill::{DType, Dataset, FileWriter, f};

/// Batches of four of the bytes of records, run with the rules on or off.
fn batches(path: &std::path::Path, optimize: bool) -> Dataset {
    let options = Options { optimize: Some(optimize), ..Options::default() };
    let bytes = vec![("out_type", Attr::DType(DType::U8))];
    Dataset::tfrecord(&[path])
        .unwrap()
        .map(|x| f::call("io.decode_raw", &[&x[0]], bytes))
        .unwrap()
        .batch(4, false)
        .unwrap()
        .with_options(options)
        .unwrap()
}

#[test]
fn unlike_shapes_name_file_and_record_of_both_and_take_one_batch() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("a.tfrecord");
    let mut writer = FileWriter::create(&path, Compression::None, None).unwrap();
    for i in 0..16 {
        writer.write(if i == 6 { b"unlike" } else { b"same" }).unwrap();
    }
    writer.finish().unwrap();
    let name = path.to_str().unwrap();
    for optimize in [true, false] {
        let mut it = batches(&path, optimize).iter().unwrap();
        let mut outcomes = Vec::new();
        while let Some(outcome) = it.next_element() {
            outcomes.push(outcome.map(|v| v[0].tensor().unwrap().dims().to_vec()));
        }
        assert_eq!(outcomes.len(), 4, "rules {optimize}: {outcomes:?}");
        let e = outcomes.remove(1).unwrap_err();
        assert!(outcomes.iter().all(|o| *o == Ok(vec![4, 4])), "rules {optimize}: {outcomes:?}");
        assert_eq!(e.kind(), Kind::InvalidArgument);
        assert!(e.message().contains("number of elements does not match"), "{e}");
        assert!(e.message().contains("[tensor 2]: [6], [batch]: [4]"), "{e}");
        assert!(e.message().contains(&format!("record 4 of {name}")), "rules {optimize}: {e}");
        assert_eq!((e.path(), e.record_index()), (Some(name), Some(6)), "rules {optimize}: {e}");
    }
}
