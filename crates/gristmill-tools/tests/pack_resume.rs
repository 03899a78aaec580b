//! Jobs that were interrupted: they go on, or say why not.

#![allow(clippy::unwrap_used, reason = "a test that unwraps an error fails, which is what it should do")]

mod pack_support;

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use gristmill_tools::pack::{PackOptions, PackReport, pack};
use gristmill_tools::progress::{Progress, Silent};
use gristmill_types::Kind;
use pack_support::{files, tree, tree_with, write};

fn run(source: &Path, out: &Path, options: &PackOptions) -> PackReport {
    pack(source, out, options, &Silent).unwrap()
}

fn fails(source: &Path, out: &Path, options: &PackOptions) -> gristmill_types::Error {
    pack(source, out, options, &Silent).unwrap_err()
}

fn sharded(shards: u32) -> PackOptions {
    PackOptions { shards: Some(shards), ..Default::default() }
}

/// Asks to stop after some steps.
struct Stopper(AtomicU64);

impl Progress for Stopper {
    fn phase(&self, _: &str, _: Option<u64>) {}
    fn advance(&self, _: u64, _: u64) {}
    fn note(&self, _: &str) {}
    fn cancelled(&self) -> bool {
        self.0.fetch_sub(1, Ordering::SeqCst) == 1
    }
}

#[test]
fn a_stopped_job_goes_on() {
    let root = tree(60);
    let (source, out, whole) =
        (root.path().join("photos"), root.path().join("out"), root.path().join("whole"));
    let options = PackOptions { threads: Some(2), ..sharded(20) };
    run(&source, &whole, &options);
    let mut kept = 0;
    for steps in 1..30 {
        match pack(&source, &out, &options, &Stopper(AtomicU64::new(steps))) {
            Err(error) => assert_eq!(error.kind(), Kind::Cancelled),
            Ok(report) => {
                kept = kept.max(report.resumed_shards);
                assert_eq!(files(&out), files(&whole), "{steps} steps");
                fs::remove_dir_all(&out).unwrap();
            }
        }
        let visible = fs::read_dir(&out).into_iter().flatten().flatten();
        assert!(visible.filter(|e| e.file_name() != ".gristmill-pack").count() == 0);
        let hidden = fs::read_dir(out.join(".gristmill-pack")).into_iter().flatten().flatten();
        assert!(hidden.filter(|e| e.file_name().to_string_lossy().ends_with(".tmp")).count() == 0);
    }
    assert!(kept > 0, "some shards were kept");
    let other = PackOptions { seed: 4, ..options.clone() };
    let _ = pack(&source, &out, &options, &Stopper(AtomicU64::new(12)));
    let words = fails(&source, &out, &other).to_string();
    assert!(words.contains("the unfinished pack of another job: seed is 4, was 0"), "{words}");
    run(&source, &out, &PackOptions { overwrite: true, ..other });
}

#[test]
fn every_state_a_dead_process_leaves_is_finished() {
    let root = tree_with(30, 10);
    let (source, whole) = (root.path().join("photos"), root.path().join("whole"));
    let options = sharded(3);
    run(&source, &whole, &options);
    let expected = files(&whole);
    // The folder as it is right before publishing, made by stopping at the very end is not possible from outside, so
    // it is put together: a stopped job gives plan and accounts.
    let staged = root.path().join("staged");
    let mut steps = 4;
    while !staged.join(".gristmill-pack/photos-00001-of-00003.tfrecord.json").exists() {
        let _ = fs::remove_dir_all(&staged);
        steps += 1;
        assert!(steps < 500);
        let one = PackOptions { threads: Some(1), ..options.clone() };
        assert!(pack(&source, &staged, &one, &Stopper(AtomicU64::new(steps))).is_err());
    }
    let shard = |i: usize| format!("photos-0000{i}-of-00003.tfrecord");
    let states: [(&str, &dyn Fn(&Path)); 9] = [
        ("nothing but the folder", &|out| {
            fs::remove_dir_all(out.join(".gristmill-pack")).unwrap();
            fs::create_dir(out.join(".gristmill-pack")).unwrap();
        }),
        ("a plan cut short", &|out| write(&out.join(".gristmill-pack/plan.json"), b"{\"gri")),
        ("temporary files", &|out| {
            write(&out.join(".gristmill-pack/plan.json.99.0123456789abcdef.tmp"), b"x");
            write(&out.join(format!(".gristmill-pack/{}.99.0123456789abcdef.tmp", shard(2))), b"x");
        }),
        ("a shard without its account", &|out| {
            fs::remove_file(out.join(format!(".gristmill-pack/{}.json", shard(1)))).unwrap();
        }),
        ("an account without its shard", &|out| {
            fs::remove_file(out.join(format!(".gristmill-pack/{}", shard(1)))).unwrap();
        }),
        ("a shard whose bytes did not reach the disk", &|out| {
            let path = out.join(format!(".gristmill-pack/{}", shard(0)));
            let size = fs::metadata(&path).unwrap().len() as usize;
            write(&path, &vec![0; size]);
        }),
        ("one shard published", &|out| {
            fs::rename(out.join(format!(".gristmill-pack/{}", shard(0))), out.join(shard(0))).unwrap();
        }),
        ("complete but for the folder", &|out| {
            expected.iter().for_each(|(name, data)| write(&out.join(name), data));
        }),
        ("a finished description not yet renamed", &|out| {
            write(&out.join(".gristmill-pack/dataset.json"), &expected["dataset.json"]);
        }),
    ];
    for (name, make) in states {
        let out = root.path().join("out");
        pack_support::copy(&staged, &out);
        make(&out);
        run(&source, &out, &options);
        assert_eq!(files(&out), expected, "{name}");
        fs::remove_dir_all(&out).unwrap();
    }
}

#[test]
fn a_changed_source_is_not_mixed_in() {
    let root = tree(30);
    let (source, out) = (root.path().join("photos"), root.path().join("out"));
    let options = PackOptions { threads: Some(1), ..sharded(10) };
    assert!(pack(&source, &out, &options, &Stopper(AtomicU64::new(12))).is_err());
    assert!(out.join(".gristmill-pack").exists());
    let file = source.join("rose/1.jpg");
    let data = fs::read(&file).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(20));
    write(&file, &data);
    let words = fails(&source, &out, &options).to_string();
    assert!(words.contains("files of the source were modified"), "{words}");
}
