//! The command as a user runs it: exit codes, messages, what is printed and what is written.

// The whole file is tests, helpers too.
#![allow(clippy::unwrap_used, missing_docs)]

mod folder;
#[cfg(target_os = "linux")]
mod memory;
mod output;

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use gristmill::record::Compression;
use serde_json::{Value, json};

use folder::Folder;

/// The reading commands, each with a file to be put behind it.
const READERS: [&[&str]; 6] =
    [&["info"], &["head"], &["verify"], &["index"], &["bench", "--seconds", "1"], &["info", "--spec"]];

/// The writing commands: arguments before and behind the input.
const WRITERS: [(&[&str], &[&str]); 5] = [
    (&["salvage"], &["out"]),
    (&["merge"], &["-o", "out"]),
    (&["split"], &["-o", "out", "-n", "2"]),
    (&["split"], &["-o", "out", "-n", "2", "--by", "round-robin"]),
    (&["shuffle"], &["-o", "out", "-n", "2"]),
];

#[test]
fn info_tells_what_is_there() {
    let folder = Folder::new();
    folder.examples("a.tfrecord", 6, Compression::None);
    let report = folder.run(&["info", "a.tfrecord", "--json"]).json(0);
    assert_eq!((&report["records"], &report["kind"]), (&json!(6), &json!("example")));
    assert_eq!(report["files"][0]["compression"], "NONE");
    assert_eq!(report["features"][0]["name"], "label");
    assert_eq!(report["features"][0]["labels"]["values"][2], json!({"value": 2, "count": 2}));
    let text = folder.run(&["info", "a.tfrecord"]).quietly(0);
    for words in [
        "a.tfrecord: 6 records, ",
        "labels in 'label', 3 different values:",
        "gm.io.FixedLenFeature([], gm.int64)",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let spec = folder.run(&["info", "a.tfrecord", "--spec"]).quietly(0);
    assert!(spec.starts_with("import gristmill as gm\n\nfiles = [\n    \"a.tfrecord\",\n]\n"), "{spec}");
}

#[test]
fn head_prints_a_line_for_each_record() {
    let folder = Folder::new();
    folder.examples("a.gz", 6, Compression::Gzip);
    let lines = folder.run(&["head", "a.gz", "-n", "2", "--json"]).quietly(0);
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[1]["record"], 1);
    assert_eq!(lines[1]["features"]["text"], json!({"kind": "bytes", "count": 1, "values": ["record 1"]}));
    let text = folder.run(&["head", "a.gz"]).quietly(0);
    assert!(text.contains("  label  int64  1\n  text   bytes  \"record 4\"\n"), "{text}");
}

#[test]
fn verify_names_bad_records_and_salvage_saves_the_others() {
    let folder = Folder::new();
    let path = folder.examples("a", 10, Compression::None);
    let all_good = folder.run(&["verify", "a"]).quietly(0);
    assert_eq!(all_good, "1 file, 10 intact records: all good\n");
    let mut bytes = fs::read(&path).unwrap();
    let frame = bytes.len() / 10;
    bytes[frame * 4 + 20] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let report = folder.run(&["verify", "a", "--json"]).json(1);
    let problem = &report["files"][0]["problems"][0];
    assert_eq!(
        (&report["ok"], &problem["record"], &problem["offset"]),
        (&json!(false), &json!(4), &json!(frame * 4))
    );
    assert_eq!(problem["kind"], "payload_checksum");
    let text = folder.run(&["verify", "a"]).quietly(1);
    assert!(text.starts_with(&format!("a: record 4 at byte {}: corrupted record", frame * 4)), "{text}");
    let report = folder.run(&["salvage", "a", "b", "--json", "--report", "lost.json"]).json(1);
    assert_eq!(report["output"]["records"], 9);
    assert_eq!(report["lost"], json!([{"start": frame * 4, "end": frame * 5, "after_records": 4}]));
    let written: Value = serde_json::from_slice(&fs::read(folder.at("lost.json")).unwrap()).unwrap();
    assert_eq!(written, report);
    assert_eq!(folder.run(&["verify", "b"]).quietly(0), "1 file, 9 intact records: all good\n");
    let text = folder.run(&["salvage", "b", "c"]).quietly(0);
    assert!(text.ends_with("nothing was lost\n"), "{text}");
}

#[test]
fn reshaping_keeps_every_record() {
    let folder = Folder::new();
    folder.examples("a", 10, Compression::None);
    folder.run(&["split", "a", "-o", "part", "-n", "3"]).quietly(0);
    let report = folder.run(&["merge", "part-*", "-o", "b", "--json"]).json(0);
    assert_eq!((&report["records"], &report["inputs"]), (&json!(10), &json!(3)));
    assert_eq!(fs::read(folder.at("a")).unwrap(), fs::read(folder.at("b")).unwrap());
    let report = folder.run(&["shuffle", "a", "-o", "mixed", "-n", "2", "--seed", "5", "--json"]).json(0);
    assert_eq!((&report["records"], &report["seed"]), (&json!(10), &json!(5)));
    let bytes = |name: &str| fs::read(folder.at(name)).unwrap();
    let mixed = [bytes("mixed-00000-of-00002.tfrecord"), bytes("mixed-00001-of-00002.tfrecord")].concat();
    assert_ne!(mixed, bytes("a"));
    assert_eq!(mixed.len(), bytes("a").len());
    let report = folder.run(&["index", "a", "--json"]).json(0);
    assert_eq!((&report["records"], &report["files"][0]["index"]), (&json!(10), &json!("a.idx")));
    assert_eq!(fs::read_to_string(folder.at("a.idx")).unwrap().lines().count(), 10);
}

#[test]
fn bench_measures_reading_and_parsing() {
    let folder = Folder::new();
    folder.examples("a", 1000, Compression::None);
    let report = folder.run(&["bench", "a", "--seconds", "1", "--json"]).json(0);
    let levels: Vec<_> = report.as_array().unwrap().iter().map(|level| &level["what"]).collect();
    assert_eq!(levels, [&json!("read"), &json!("read, parse")]);
    for level in report.as_array().unwrap() {
        assert!(level["records"].as_u64().unwrap() >= 1000, "{level}");
        let [with, without] =
            ["records_per_second", "records_per_second_without"].map(|name| level[name].as_f64().unwrap());
        assert!(with <= without * 1.001 && level["busy_seconds"].as_f64().unwrap() > 0.0, "{level}");
    }
}

#[test]
fn what_is_not_there_is_code_3() {
    let folder = Folder::new();
    fs::create_dir(folder.at("empty")).unwrap();
    for (input, words) in [
        ("none", "none; No such file or directory"),
        ("*.none", "no files matched pattern: *.none"),
        ("empty", "no record file in the directory empty"),
        ("gs://bucket/a", "scheme \"gs\" is not supported"),
    ] {
        let code = if input.starts_with("gs") { 2 } else { 3 };
        for command in READERS {
            folder.run(&[command, &[input]].concat()).fails(code, &[words]);
        }
        for (before, behind) in WRITERS {
            let words = if before == ["salvage"] && input != "none" { "" } else { words };
            let run = folder.run(&[before, &[input], behind].concat());
            run.fails(if before == ["salvage"] && code == 3 { 3 } else { code }, &[words]);
        }
    }
    assert_eq!(folder.names(), ["empty"]);
}

#[test]
fn damaged_files_are_code_1_and_leave_nothing() {
    let folder = Folder::new();
    let good = fs::read(folder.examples("good", 5, Compression::None)).unwrap();
    let mut length = good.clone();
    length[3] ^= 1;
    let mut payload = good.clone();
    payload[14] ^= 1;
    let cases: [(&str, Vec<u8>, &str); 4] = [
        ("cut", good[..good.len() - 3].to_vec(), "truncated record at"),
        ("length", length, "checksum of the length is 0x"),
        ("payload", payload, "payload bytes is 0x"),
        ("png", b"\x89PNG\r\n\x1a\nnot a record file at all".to_vec(), "a PNG picture"),
    ];
    for (name, bytes, words) in cases {
        fs::write(folder.at(name), bytes).unwrap();
        let before = folder.names();
        let report = folder.run(&["verify", name, "--json"]).json(1);
        let message = report["files"][0]["problems"][0]["message"].as_str().unwrap();
        assert!(message.contains(words), "{name}: {message}");
        let report = folder.run(&["info", name, "--json"]).json(1);
        assert!(report["files"][0]["error"].as_str().unwrap().contains(words), "{name}: {report}");
        let run = folder.run(&["head", name]);
        assert!(
            run.code == Some(1) && run.err.contains(words) && run.err.contains(&format!("in {name}")),
            "{}",
            run.err
        );
        folder.run(&["info", "--spec", name]).fails(1, &[words]);
        if name != "payload" {
            folder.run(&["index", name]).fails(1, &[words]);
        }
        for (command, behind) in &WRITERS[1..] {
            folder.run(&[*command, &[name], *behind].concat()).fails(1, &[words, name]);
        }
        assert_eq!(folder.names(), before);
    }
    fs::write(folder.at("junk"), [7; 500]).unwrap();
    let before = folder.names();
    folder.run(&["salvage", "junk", "out"]).fails(1, &["no intact record in 500 bytes", "in junk"]);
    assert_eq!(folder.names(), before);
}

#[test]
fn usage_is_code_2() {
    let folder = Folder::new();
    folder.examples("a", 3, Compression::None);
    folder.examples("a.gz", 3, Compression::Gzip);
    folder.examples("there", 1, Compression::None);
    let before = folder.names();
    let cases: [(&[&str], &str); 15] = [
        (&[], "Usage: gristmill"),
        (&["nonsense"], "unrecognized subcommand 'nonsense'"),
        (&["info"], "<FILE>..."),
        (&["info", "a", "--nonsense"], "unexpected argument '--nonsense'"),
        (&["head", "a", "-n", "x"], "invalid value 'x'"),
        (&["split", "a", "-o", "b", "-n", "0"], "0 is not in 1..=99999"),
        (&["merge", "a", "-o", "a", "--overwrite"], "the output a is an input too"),
        (&["salvage", "a", "./a", "--overwrite"], "is an input too"),
        (&["salvage", "a", "there"], "there exists already\n  hint: --overwrite replaces it"),
        (&["merge", "a", "-o", "there"], "there exists already"),
        (&["index", "a.gz"], "an index points into a file as it is, this one is GZIP"),
        (&["man", "nonsense"], "no command 'nonsense'"),
        (&["pack", "a", "b", "--seed", "-1"], "invalid value '-1' for '--seed <SEED>'"),
        (&["salvage", "a", "b", "--report", "a"], "the report a is the damaged file too"),
        (&["salvage", "a", "b", "--report", "there"], "there exists already"),
    ];
    for (args, words) in cases {
        folder.run(args).fails(2, &[words]);
    }
    assert_eq!(folder.names(), before);
    folder.run(&["merge", "a", "-o", "there", "--overwrite"]).quietly(0);
    assert_eq!(fs::read(folder.at("there")).unwrap(), fs::read(folder.at("a")).unwrap());
}

#[test]
fn what_cannot_be_packed_or_written_is_code_2() {
    let folder = Folder::new();
    folder.examples("a", 3, Compression::None);
    fs::create_dir_all(folder.at("photos/empty")).unwrap();
    fs::create_dir(folder.at("void")).unwrap();
    fs::write(folder.at("void.csv"), "path,label\n").unwrap();
    let before = folder.names();
    folder.run(&["pack", "void", "out"]).fails(2, &["no class folders", "void"]);
    folder.run(&["pack", "photos", "out"]).fails(2, &["the class folder holds no image", "photos"]);
    folder.run(&["pack", "void.csv", "out"]).fails(2, &["the manifest has no rows"]);
    folder.run(&["pack", "photos", "a"]).fails(2, &["the target is a file"]);
    folder.run(&["merge", "a", "-o", "void"]).fails(2, &["the output void is a directory"]);
    assert_eq!(folder.names(), before);
}

#[test]
fn a_full_disk_is_code_3() {
    let folder = Folder::new();
    folder.examples("a", 1000, Compression::None);
    folder.run(&["merge", "a", "-o", "/dev/full"]).fails(3, &["/dev/full", "No space left on device"]);
    folder.run(&["salvage", "a", "/dev/full"]).fails(3, &["/dev/full", "No space left on device"]);
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let run = folder.run_to(&["head", "a", "-n", "1000", "--json"], full.into());
    assert_eq!(run.code, Some(3));
    assert!(run.err.contains("cannot write the output: No space left on device"), "{}", run.err);
    folder.run(&["merge", "a", "-o", "none/../../../../../../dev/null/x"]).fails(3, &[]);
    assert_eq!(folder.names().len(), 1 + usize::from(folder.at("none").exists()));
}

#[test]
fn a_reader_that_goes_away_ends_the_command_quietly() {
    let folder = Folder::new();
    folder.examples("a", 20_000, Compression::None);
    let mut command = folder.command(&["head", "a", "-n", "20000", "--json"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let mut out = BufReader::with_capacity(64, child.stdout.take().unwrap());
    out.read_line(&mut line).unwrap();
    drop(out);
    assert!(line.starts_with("{\"file\":\"a\",\"record\":0,"), "{line}");
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert_eq!((child.wait().unwrap().code(), err.as_str()), (Some(0), ""));
}

#[test]
fn ctrl_c_removes_temporary_files() {
    let folder = Folder::new();
    let big: Vec<Vec<u8>> = (0..64u8).map(|i| vec![i; 1 << 20]).collect();
    folder.records("a", &big, Compression::None);
    let inputs = vec!["a"; 40];
    let args = [&["merge", "-o", "out", "--compression", "gzip"], &inputs[..]].concat();
    let mut child = folder.command(&args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let waited = std::time::Instant::now();
    while folder.names().len() < 2 {
        assert!(waited.elapsed().as_secs() < 60, "no temporary file appears");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let interrupted = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(interrupted.success());
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{err}");
    assert_eq!(err, "gristmill: cancelled: stopped before the end\n");
    assert_eq!(folder.names(), ["a"]);
}

#[test]
fn help_completions_and_manual() {
    let folder = Folder::new();
    let help = folder.run(&["--help"]).quietly(0);
    let commands = [
        "pack",
        "info",
        "head",
        "verify",
        "salvage",
        "index",
        "merge",
        "split",
        "shuffle",
        "bench",
        "completions",
        "man",
    ];
    for command in commands {
        assert!(help.contains(&format!("\n  {command} ")), "{command}: {help}");
        let own = folder.run(&[command, "--help"]).quietly(0);
        assert!(own.contains("Examples:\n  gristmill "), "{command}: {own}");
        let page = folder.run(&["man", command]).quietly(0);
        assert!(page.contains(".SH NAME") && page.contains(&format!("gristmill\\-{command}")), "{page}");
    }
    for shell in ["bash", "zsh", "fish"] {
        assert!(folder.run(&["completions", shell]).quietly(0).contains("salvage"), "{shell}");
    }
    assert!(folder.run(&["--version"]).quietly(0).starts_with("gristmill 0."));
}

#[test]
fn a_folder_is_packed_and_verified() {
    let folder = Folder::new();
    for (class, value) in [("blue", 3u8), ("red", 9)] {
        fs::create_dir_all(folder.at("photos").join(class)).unwrap();
        for i in 0..5u8 {
            let pixels = vec![value + i; 8 * 6 * 3];
            let png = gristmill::image::png::encode(&pixels, 8, 6, 3, -1).unwrap();
            fs::write(folder.at("photos").join(class).join(format!("{i}.png")), png).unwrap();
        }
    }
    let report = folder.run(&["pack", "photos", "packed", "--shards", "2", "--json", "--quiet"]).json(0);
    assert_eq!((&report["records"], &report["class_names"]), (&json!(10), &json!(["blue", "red"])));
    let report = folder.run(&["verify", "packed", "--decode", "--json"]).json(0);
    assert_eq!((&report["images"], &report["datasets"][0]["shards"]), (&json!(10), &json!(2)));
    let shard = first_shard(&folder.at("packed"));
    let report = folder.run(&["info", shard.to_str().unwrap(), "--json"]).json(0);
    assert_eq!(report["features"].as_array().unwrap().len(), 6);
    let whole = fs::read(&shard).unwrap();
    fs::write(&shard, &whole[..0]).unwrap();
    let problems = &folder.run(&["verify", "packed", "--json"]).json(1)["datasets"][0]["problems"];
    assert!(problems[0].as_str().unwrap().contains("has 0 bytes, expected"), "{problems}");
    fs::remove_file(&shard).unwrap();
    let problems = &folder.run(&["verify", "packed", "--json"]).json(1)["datasets"][0]["problems"];
    assert!(problems[0].as_str().unwrap().ends_with("is missing"), "{problems}");
    folder.run(&["pack", "none", "packed2"]).fails(3, &["none"]);
    folder.run(&["pack", "photos", "packed2", "--resize", "0x3"]).fails(2, &["expected WIDTHxHEIGHT"]);
    fs::write(folder.at("photos/red/bad.jpg"), b"no image").unwrap();
    folder.run(&["pack", "photos", "packed2", "--quiet"]).fails(1, &["red/bad.jpg"]);
    folder.run(&["pack", "photos", "packed2"]).fails(1, &["hint: --on-error skip leaves them out"]);
    folder.run(&["pack", "photos", "packed", "--shards", "3"]).fails(2, &["hint: --overwrite replaces it"]);
    // What the summary says is not said twice.
    let text = folder.run(&["pack", "photos", "packed3", "--on-error", "skip"]).quietly(1);
    assert!(text.contains("10 records of 2 classes in 1 shard, "), "{text}");
    assert!(text.contains("\n1 unreadable image was skipped\n  red/bad.jpg: "), "{text}");
    let report =
        folder.run(&["pack", "photos", "packed2", "--on-error", "skip", "--json", "--quiet"]).json(1);
    assert_eq!(report["source"]["skipped"]["files"][0]["path"], "red/bad.jpg");
}

fn first_shard(folder: &Path) -> PathBuf {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut shards: Vec<_> =
        entries.filter(|path| path.extension().is_some_and(|e| e == "tfrecord")).collect();
    shards.sort();
    shards.remove(0)
}
