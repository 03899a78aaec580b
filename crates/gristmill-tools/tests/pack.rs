//! Packing from end to end: the values of the records, what does not change them, bad input.

#![allow(clippy::unwrap_used, reason = "a test that unwraps an error fails, which is what it should do")]

mod pack_support;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use gristmill_image::jpeg;
use gristmill_tools::Compression;
use gristmill_tools::pack::{Exif, OnError, PackOptions, PackReport, pack, parse_splits};
use gristmill_tools::progress::Silent;
use gristmill_types::Kind;
use pack_support::{bytes, files, int, ints, photo, records, text, tree, with_orientation, write};

fn run(source: &Path, out: &Path, options: &PackOptions) -> PackReport {
    pack(source, out, options, &Silent).unwrap()
}

fn fails(source: &Path, out: &Path, options: &PackOptions) -> gristmill_types::Error {
    pack(source, out, options, &Silent).unwrap_err()
}

fn sharded(shards: u32) -> PackOptions {
    PackOptions { shards: Some(shards), ..Default::default() }
}

#[test]
fn records_hold_the_files() {
    let root = tree(23);
    let (source, out) = (root.path().join("photos"), root.path().join("out"));
    let report = run(&source, &out, &sharded(4));
    let found = records(&out, "photos");
    assert_eq!((found.len(), report.dataset.records), (23, 23));
    let mut names = BTreeSet::new();
    for record in &found {
        let name = text(record, "filename");
        let file = fs::read(source.join(&name)).unwrap();
        assert_eq!(bytes(record, "image"), file, "{name}");
        let class = name.split('/').next().unwrap();
        assert_eq!(text(record, "label_name"), class);
        assert_eq!(
            int(record, "label"),
            ["daisy", "rose", "tulip"].iter().position(|c| *c == class).unwrap() as i64
        );
        let [height, width, _] = jpeg::shape(&file).unwrap();
        assert_eq!((int(record, "height"), int(record, "width")), (height as i64, width as i64));
        assert_eq!(record.len(), 6);
        names.insert(name);
    }
    assert_eq!(names.len(), 23);
    assert_eq!(
        files(&out).into_keys().collect::<Vec<_>>(),
        [
            "dataset.json",
            "photos-00000-of-00004.tfrecord",
            "photos-00001-of-00004.tfrecord",
            "photos-00002-of-00004.tfrecord",
            "photos-00003-of-00004.tfrecord"
        ]
    );
    let json: serde_json::Value =
        serde_json::from_slice(&fs::read(out.join("dataset.json")).unwrap()).unwrap();
    assert_eq!(json["class_names"], serde_json::json!(["daisy", "rose", "tulip"]));
    assert_eq!(json["records"], 23);
    let shard = &json["splits"][0]["shards"][1];
    let data = fs::read(out.join("photos-00001-of-00004.tfrecord")).unwrap();
    assert_eq!(shard["bytes"], data.len());
    assert_eq!(shard["crc32c"], format!("{:08x}", gristmill_record::crc::crc32c(&data)));
    assert_eq!(json["features"][2]["name"], "image");
    assert_eq!(json["features"][2]["dtype"], "string");
    assert!(!fs::read_to_string(out.join("dataset.json")).unwrap().contains(root.path().to_str().unwrap()));
}

#[test]
fn images_of_all_sizes_stand_side_by_side() {
    let root = tempfile::tempdir().unwrap();
    let source = root.path().join("photos");
    // One and two bytes for a side, below and above what is a chunk of its own, turned and as they are.
    let sides = [(20, 20), (127, 128), (128, 127), (300, 200), (1000, 1100), (16, 1500)];
    for (i, (height, width)) in sides.into_iter().enumerate() {
        let image = photo(height, width, i as u32);
        write(&source.join(format!("a/{i}.jpg")), &image);
        write(&source.join(format!("a/{i}-turned.jpg")), &with_orientation(&image, 6));
    }
    assert!(fs::metadata(source.join("a/4.jpg")).unwrap().len() > 600 << 10);
    for exif in [Exif::Ignore, Exif::Apply] {
        let out = root.path().join(format!("out-{exif:?}"));
        run(&source, &out, &PackOptions { exif, ..sharded(1) });
        let found = records(&out, "photos");
        assert_eq!(found.len(), 12);
        for record in &found {
            let (name, image) = (text(record, "filename"), bytes(record, "image"));
            let [height, width, _] = jpeg::shape(&image).unwrap();
            assert_eq!(
                (int(record, "height"), int(record, "width")),
                (height as i64, width as i64),
                "{name}"
            );
            let file = fs::read(source.join(&name)).unwrap();
            if exif == Exif::Ignore || !name.contains("turned") {
                assert_eq!(image, file, "{name}");
            } else {
                let [h, w, _] = jpeg::shape(&file).unwrap();
                assert_eq!((height, width), (w, h), "{name}");
            }
        }
        let json: serde_json::Value =
            serde_json::from_slice(&fs::read(out.join("dataset.json")).unwrap()).unwrap();
        let data = fs::read(out.join("photos-00000-of-00001.tfrecord")).unwrap();
        let sum = format!("{:08x}", gristmill_record::crc::crc32c(&data));
        assert_eq!(json["splits"][0]["shards"][0]["crc32c"], sum);
    }
}

#[test]
fn threads_and_times_change_nothing() {
    let root = tree(40);
    let source = root.path().join("photos");
    for options in [
        sharded(3),
        PackOptions { compression: Compression::Gzip, ..sharded(2) },
        PackOptions { resize: Some((16, 12)), splits: parse_splits("a=0.5,b=0.5").unwrap(), ..sharded(4) },
    ] {
        let mut seen: Option<BTreeMap<String, Vec<u8>>> = None;
        for threads in [1, 2, 7] {
            let out = root.path().join("out");
            run(&source, &out, &PackOptions { threads: Some(threads), ..options.clone() });
            let found = files(&out);
            assert_eq!(*seen.get_or_insert_with(|| found.clone()), found, "{threads} threads");
            fs::remove_dir_all(&out).unwrap();
        }
        let copy = root.path().join("copy/photos");
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        pack_support::copy(&source, &copy);
        let out = root.path().join("out");
        run(&copy, &out, &options);
        assert_eq!(seen.unwrap(), files(&out), "a copied source");
        fs::remove_dir_all(&out).unwrap();
        fs::remove_dir_all(root.path().join("copy")).unwrap();
    }
}

#[test]
fn seeds_mix_differently() {
    let root = tree(40);
    let source = root.path().join("photos");
    let order = |seed| {
        let out = root.path().join(format!("out{seed}"));
        run(&source, &out, &PackOptions { seed, ..sharded(1) });
        records(&out, "photos").iter().map(|r| text(r, "filename")).collect::<Vec<_>>()
    };
    let (one, two) = (order(1), order(2));
    assert_ne!(one, two);
    assert_eq!(one.iter().collect::<BTreeSet<_>>(), two.iter().collect::<BTreeSet<_>>());
    let sorted = {
        let mut sorted = one.clone();
        sorted.sort();
        sorted
    };
    assert_ne!(one, sorted);
    let out = root.path().join("plain");
    run(&source, &out, &PackOptions { shuffle: false, ..sharded(2) });
    assert_eq!(records(&out, "photos").iter().map(|r| text(r, "filename")).collect::<Vec<_>>(), sorted);
}

#[test]
fn splits_are_stratified_and_apart() {
    let root = tree(60);
    let (source, out) = (root.path().join("photos"), root.path().join("out"));
    let options = PackOptions { splits: parse_splits("train=0.8,validation=0.2").unwrap(), ..sharded(5) };
    let report = run(&source, &out, &options);
    let names = |split| records(&out, split).iter().map(|r| text(r, "filename")).collect::<BTreeSet<_>>();
    let (train, validation) = (names("train"), names("validation"));
    assert_eq!((train.len(), validation.len()), (48, 12));
    assert!(train.is_disjoint(&validation));
    for class in &report.dataset.classes {
        assert_eq!((class.records, class.by_split.as_slice()), (20, &[16, 4][..]), "{}", class.name);
    }
    assert!(out.join("train-00003-of-00004.tfrecord").exists());
    assert!(out.join("validation-00000-of-00001.tfrecord").exists());
}

#[test]
fn resized_images_are_what_a_loop_makes() {
    let root = tree(6);
    let (source, out) = (root.path().join("photos"), root.path().join("out"));
    let options = PackOptions { resize: Some((24, 16)), quality: 80, ..sharded(2) };
    run(&source, &out, &options);
    for record in records(&out, "photos") {
        let file = fs::read(source.join(text(&record, "filename"))).unwrap();
        let mut pixels = gristmill_image::Image::<u8>::default();
        jpeg::decode(&file, &jpeg::JpegOptions { channels: 3, ..Default::default() }, &mut pixels).unwrap();
        let from = gristmill_image::resize::Size::new(pixels.shape[0], pixels.shape[1], 3);
        let mut floats = vec![0.0; 16 * 24 * 3];
        gristmill_image::resize::resize_bilinear(
            &pixels.data,
            from,
            &mut floats,
            (16, 24),
            &mut Default::default(),
        )
        .unwrap();
        let cast: Vec<u8> = floats.iter().map(|&v| v as u8).collect();
        let options = jpeg::EncodeOptions { quality: 80, ..Default::default() };
        assert_eq!(bytes(&record, "image"), jpeg::encode(&cast, 16, 24, 3, &options).unwrap());
        assert_eq!((int(&record, "height"), int(&record, "width")), (16, 24));
    }
}

#[test]
fn restart_indexes_go_along() {
    let root = tree(6);
    let (source, out) = (root.path().join("photos"), root.path().join("out"));
    let noise: Vec<u8> = (0..900 * 900 * 3u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let large = jpeg::encode(&noise, 900, 900, 3, &Default::default()).unwrap();
    assert!(large.len() > 512 << 10, "one that is read straight into its place: {}", large.len());
    write(&source.join("rose/large.jpg"), &large);
    write(
        &source.join("rose/other.png"),
        &gristmill_image::png::encode(&noise[..300], 10, 10, 3, -1).unwrap(),
    );
    let plain = PackOptions { restart_index: true, ..sharded(2) };
    for (at, options) in
        [plain.clone(), PackOptions { resize: Some((120, 96)), ..plain }].into_iter().enumerate()
    {
        let out = out.join(at.to_string());
        let report = run(&source, &out, &options);
        let feature = report.dataset.features.iter().find(|f| f.name == "restart_index").unwrap();
        assert_eq!(
            (feature.dtype.as_str(), &feature.shape, feature.optional),
            ("string", &Some(vec![]), false)
        );
        let (mut seen, mut full) = (0, 0);
        for record in records(&out, "photos") {
            let (image, index) = (bytes(&record, "image"), bytes(&record, "restart_index"));
            let name = text(&record, "filename");
            let is_jpeg = jpeg::is_jpeg(&image);
            assert_eq!(is_jpeg, at == 1 || !name.ends_with("png"), "{name}");
            let expected = if is_jpeg { jpeg::restart_index(&image).unwrap() } else { Vec::new() };
            assert_eq!(index, expected, "{name}");
            full += usize::from(!index.is_empty());
            seen += 1;
        }
        assert_eq!(seen, 8);
        assert!(full > at * 6, "{full}");
        run(&source, &out, &options);
        assert!(fails(&source, &out, &sharded(2)).to_string().contains("restart_index is false, was true"));
    }
    let manifest = source.join("table.csv");
    write(&manifest, b"path,label,restart_index\nrose/large.jpg,1,x\n");
    let error = fails(&manifest, &out, &PackOptions { restart_index: true, ..sharded(1) }).to_string();
    assert!(error.contains("'restart_index' has the name of a feature"), "{error}");
}

#[test]
fn gzip_holds_the_same_records() {
    let root = tree(12);
    let source = root.path().join("photos");
    let (plain, gzip) = (root.path().join("plain"), root.path().join("gzip"));
    run(&source, &plain, &sharded(2));
    let report = run(&source, &gzip, &PackOptions { compression: Compression::Gzip, ..sharded(2) });
    assert_eq!(report.dataset.compression, "GZIP");
    assert_eq!(records(&plain, "photos"), records(&gzip, "photos"));
    assert!(fs::read(gzip.join("photos-00000-of-00002.tfrecord")).unwrap().starts_with(&[0x1f, 0x8b]));
}

#[test]
fn bad_images_are_named_together() {
    let root = tree(10);
    let (source, out) = (root.path().join("photos"), root.path().join("out"));
    let good = photo(20, 20, 9);
    write(&source.join("rose/text.jpg"), b"hello");
    write(&source.join("rose/cut.jpg"), &good[..good.len() / 2]);
    write(&source.join("tulip/empty.png"), b"");
    write(&source.join("tulip/a.png"), &good);
    write(&source.join("notes.txt"), b"notes");
    let error = fails(&source, &out, &sharded(3));
    let words = error.to_string();
    assert_eq!(error.kind(), Kind::DataLoss);
    assert!(words.contains("3 of 14 images cannot be read:"), "{words}");
    for part in [
        "rose/text.jpg: not an image but text: it begins with 'hello'",
        "rose/cut.jpg: ",
        "tulip/empty.png: the file is empty",
        "hint: on_error='skip'",
    ] {
        assert!(words.contains(part), "{part} in {words}");
    }
    assert!(!out.exists(), "nothing is published");
    let report = run(&source, &out, &PackOptions { on_error: OnError::Skip, ..sharded(3) });
    let source_info = &report.dataset.source;
    assert_eq!((report.dataset.records, source_info.skipped.total), (11, 3));
    assert_eq!(source_info.misnamed.files[0].path, "tulip/a.png");
    assert_eq!(source_info.misnamed.files[0].reason, "it is a JPEG");
    assert_eq!(source_info.not_images.files[0].path, "notes.txt");
    assert_eq!(records(&out, "photos").len(), 11);
    let summary = report.summary(10);
    assert!(summary.contains("3 unreadable images were skipped\n  "), "{summary}");
    assert!(summary.contains("1 image is of another format"), "{summary}");
}

#[test]
fn orientations_are_counted_and_applied() {
    let root = tree(4);
    let (source, out) = (root.path().join("photos"), root.path().join("out"));
    write(&source.join("rose/turned.jpg"), &with_orientation(&photo(20, 30, 5), 6));
    let turned = |out: &Path| {
        let found = records(out, "photos");
        found.into_iter().find(|r| text(r, "filename") == "rose/turned.jpg").unwrap()
    };
    let report = run(&source, &out, &sharded(1));
    assert_eq!(report.dataset.source.exif.by_orientation, BTreeMap::from([(6, 1)]));
    assert!(report.summary(3).contains("1 image has an Exif orientation, which decoders ignore"));
    assert_eq!((int(&turned(&out), "height"), int(&turned(&out), "width")), (20, 30));
    let out = root.path().join("upright");
    let report = run(&source, &out, &PackOptions { exif: Exif::Apply, ..sharded(1) });
    assert!(report.dataset.source.exif.applied);
    let record = turned(&out);
    assert_eq!((int(&record, "height"), int(&record, "width")), (30, 20));
    assert_eq!(jpeg::shape(&bytes(&record, "image")).unwrap(), [30, 20, 3]);
}

#[test]
fn manifests_give_features() {
    let root = tree(3);
    let source = root.path().join("photos");
    let names: Vec<_> = ["daisy/0.jpg", "rose/1.jpg", "tulip/2.jpg"].into();
    let table = format!(
        "path,label,age,score,note\nphotos/{},cat,3,0.5,x\nphotos/{},ant,,2,\nphotos/{},cat,7,1e3,\"y, z\"\n",
        names[0], names[1], names[2]
    );
    let manifest = root.path().join("table.csv");
    write(&manifest, table.as_bytes());
    let out = root.path().join("out");
    let report = run(&manifest, &out, &PackOptions { shuffle: false, ..sharded(1) });
    let found = records(&out, "table");
    assert_eq!(text(&found[0], "filename"), format!("photos/{}", names[0]));
    assert_eq!(bytes(&found[1], "image"), fs::read(source.join(names[1])).unwrap());
    let labels: Vec<_> = found.iter().map(|r| (int(r, "label"), text(r, "label_name"))).collect();
    assert_eq!(labels, [(1, "cat".into()), (0, "ant".into()), (1, "cat".into())]);
    assert_eq!((int(&found[0], "age"), int(&found[2], "age")), (3, 7));
    assert!(!found[1].contains_key("age"));
    assert_eq!(pack_support::floats(&found[2], "score"), [1000.0]);
    assert_eq!((text(&found[1], "note"), text(&found[2], "note")), (String::new(), "y, z".into()));
    let age = report.dataset.features.iter().find(|f| f.name == "age").unwrap();
    assert_eq!((age.dtype.as_str(), age.shape.as_deref(), age.optional), ("int64", Some(&[][..]), true));

    let lines = root.path().join("table.jsonl");
    let row = |i: usize, label: i32| {
        format!("{{\"path\":\"photos/{}\",\"label\":{label},\"box\":[{i},2]}}\n", names[i])
    };
    write(&lines, [row(0, 5), row(1, -2)].concat().as_bytes());
    let out = root.path().join("lines");
    let report = run(&lines, &out, &PackOptions { shuffle: false, ..sharded(1) });
    let found = records(&out, "table");
    assert_eq!((int(&found[0], "label"), int(&found[1], "label")), (5, -2));
    assert_eq!((ints(&found[1], "box"), text(&found[1], "label_name")), (vec![1, 2], "-2".into()));
    assert!(report.dataset.class_names.is_empty());

    write(&manifest, b"path,label\nphotos/nowhere.jpg,a\n");
    let words = fails(&manifest, &root.path().join("none"), &sharded(1)).to_string();
    assert!(words.contains("photos/nowhere.jpg: No such file or directory"), "{words}");
    assert!(!root.path().join("none").exists());
}

#[test]
fn equal_files_in_two_splits_are_told() {
    let root = tree(30);
    let (source, out) = (root.path().join("photos"), root.path().join("out"));
    for i in 0..20 {
        write(&source.join(format!("rose/copy{i}.jpg")), &photo(10, 10, 77));
    }
    let options = PackOptions { splits: parse_splits("a=0.5,b=0.5").unwrap(), ..sharded(2) };
    let report = run(&source, &out, &options);
    assert_eq!(report.dataset.source.identical, 19);
    assert_eq!(report.dataset.source.identical_across_splits, 1);
}

#[test]
fn impossible_sources_and_targets_are_answered() {
    let root = tree(3);
    let (source, out) = (root.path().join("photos"), root.path().join("out"));
    let check = |source: &Path, out: &Path, kind: Kind, part: &str| {
        let error = fails(source, out, &sharded(1));
        assert!(error.to_string().contains(part), "'{part}' in {error}");
        assert_eq!(error.kind(), kind, "{error}");
        assert!(!out.join(".gristmill-pack").exists());
    };
    check(&root.path().join("nowhere"), &out, Kind::NotFound, "nowhere; No such file or directory");
    check(&root.path().join("pho*"), &out, Kind::NotFound, "not a pattern");
    write(&root.path().join("a.zip"), b"PK");
    check(&root.path().join("a.zip"), &out, Kind::InvalidArgument, "found another file");
    fs::create_dir(root.path().join("void")).unwrap();
    check(&root.path().join("void"), &out, Kind::InvalidArgument, "it is empty");
    write(&root.path().join("void.csv"), b"path,label\n");
    check(&root.path().join("void.csv"), &out, Kind::InvalidArgument, "the manifest has no rows");
    check(&source, &source.join("rose/out"), Kind::InvalidArgument, "inside the source");
    check(&source, &root.path().join("a.zip"), Kind::InvalidArgument, "the target is a file");
    check(&source, &root.path().join("a.zip/x"), Kind::FailedPrecondition, "Not a directory");
    assert!(!out.exists());
    if Path::new("/dev/full").exists() && !pack_support::is_root() {
        use std::os::unix::fs::PermissionsExt;
        let closed = root.path().join("closed");
        fs::create_dir(&closed).unwrap();
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o500)).unwrap();
        check(&source, &closed.join("out"), Kind::PermissionDenied, "Permission denied");
    }
}

#[test]
fn other_data_are_not_replaced() {
    let root = tree(9);
    let (source, out) = (root.path().join("photos"), root.path().join("out"));
    run(&source, &out, &sharded(3));
    let before = files(&out);
    let again = run(&source, &out, &sharded(3));
    assert!(again.complete_before && again.summary(1).contains("nothing to do"));
    let other = PackOptions { seed: 1, ..sharded(2) };
    let error = fails(&source, &out, &other);
    assert_eq!(error.kind(), Kind::AlreadyExists);
    assert!(error.to_string().contains("seed is 1, was 0"), "{error}");
    assert!(error.to_string().contains("shards is 2, was 3"), "{error}");
    assert_eq!(files(&out), before);
    write(&out.join("mine.txt"), b"mine");
    run(&source, &out, &PackOptions { overwrite: true, ..other });
    let names: Vec<_> = files(&out).into_keys().collect();
    assert_eq!(
        names,
        ["dataset.json", "mine.txt", "photos-00000-of-00002.tfrecord", "photos-00001-of-00002.tfrecord"]
    );
    write(&source.join("rose/new.jpg"), &photo(8, 8, 3));
    let words = fails(&source, &out, &PackOptions { seed: 1, ..sharded(2) }).to_string();
    assert!(words.contains("the source has 10 files of"), "{words}");
    let foreign = root.path().join("foreign");
    write(&foreign.join("photos-00001-of-00002.tfrecord"), b"theirs");
    let error = fails(&source, &foreign, &sharded(2));
    assert_eq!(error.kind(), Kind::AlreadyExists);
    assert_eq!(files(&foreign).len(), 1);
}
