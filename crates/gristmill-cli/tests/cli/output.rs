//! Where results go: records on standard output, names that are none, waits that end, what is shown of tiny files.

use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use gristmill::record::Compression;
use serde_json::Value;

use super::folder::Folder;

#[test]
fn records_on_standard_output_are_alone_there() {
    let folder = Folder::new();
    folder.examples("a", 10, Compression::None);
    let expected = fs::read(folder.at("a")).unwrap();
    let cases: [&[&str]; 4] = [
        &["merge", "a", "-o", "/dev/stdout"],
        &["merge", "a", "-o", "/dev/stdout", "--json"],
        &["merge", "a", "-o", "/dev/fd/1"],
        &["salvage", "a", "/dev/stdout"],
    ];
    for args in cases {
        let mut command = folder.command(args);
        let done = command.stdout(Stdio::piped()).stderr(Stdio::piped()).output().unwrap();
        assert_eq!((done.status.code(), &done.stdout), (Some(0), &expected), "{args:?}");
        let told = String::from_utf8(done.stderr).unwrap();
        assert!(told.contains("10 records") || told.contains("\"records\": 10"), "{told}");
    }
    // Into a file, which has to be allowed to be replaced.
    let into = fs::File::create(folder.at("out")).unwrap();
    let run = folder.run_to(&["merge", "a", "-o", "/dev/stdout", "--overwrite"], into.into());
    assert_eq!((run.code, fs::read(folder.at("out")).unwrap()), (Some(0), expected));
    assert!(run.err.contains("10 records"), "{}", run.err);
    let run = folder.run(&["salvage", "a", "b", "--report", "/dev/stdout"]);
    assert_eq!(serde_json::from_str::<Value>(&run.out).unwrap()["output"]["records"], 10);
    assert!(run.err.contains("nothing was lost"), "{}", run.err);
}

#[test]
fn empty_names_are_code_2() {
    let folder = Folder::new();
    folder.examples("a", 3, Compression::None);
    fs::create_dir_all(folder.at("photos/red")).unwrap();
    let before = folder.names();
    let cases: [(&[&str], &str); 15] = [
        (&["info", ""], "the name of an input file is empty"),
        (&["head", ""], "the name of an input file is empty"),
        (&["verify", "a", ""], "the name of an input file is empty"),
        (&["bench", ""], "the name of an input file is empty"),
        (&["index", ""], "the name of an input file is empty"),
        (&["index", "a", "--into", ""], "the name of the directory of the indexes is empty"),
        (&["merge", "a", "-o", ""], "the name of the output is empty"),
        (&["salvage", "", "b"], "the name of the damaged file is empty"),
        (&["salvage", "a", ""], "the name of the output is empty"),
        (&["salvage", "a", "b", "--report", ""], "the name of the report is empty"),
        (&["split", "a", "-o", "", "-n", "2"], "expected what file names begin with, found ''"),
        (&["shuffle", "a", "-o", "x/"], "expected what file names begin with, found 'x/'"),
        (
            &["shuffle", "a", "-o", "x", "--temporary", ""],
            "the name of the directory for temporary files is empty",
        ),
        (&["pack", "", "out"], "a value is required for '<SOURCE>'"),
        (&["pack", "photos", ""], "a value is required for '<DIR>'"),
    ];
    for (args, words) in cases {
        folder.run(args).fails(2, &[words]);
    }
    assert_eq!(folder.names(), before);
}

#[test]
fn a_wait_for_a_pipe_ends_on_the_first_signal() {
    let folder = Folder::new();
    assert!(Command::new("mkfifo").arg(folder.at("pipe")).status().unwrap().success());
    let cases: [&[&str]; 6] = [
        &["info", "pipe"],
        &["head", "pipe"],
        &["verify", "pipe"],
        &["merge", "pipe", "-o", "out"],
        &["shuffle", "pipe", "-o", "out"],
        &["salvage", "pipe", "out"],
    ];
    for (args, signal) in cases.iter().zip(["-INT", "-TERM"].into_iter().cycle()) {
        let mut child = folder.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // Half of them have a writer that says nothing.
        let writer = (signal == "-TERM")
            .then(|| fs::OpenOptions::new().read(true).write(true).open(folder.at("pipe")).unwrap());
        std::thread::sleep(Duration::from_millis(400));
        assert!(child.try_wait().unwrap().is_none(), "{args:?} does not wait");
        assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
        let since = Instant::now();
        let code = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status.code();
            }
            if since.elapsed() > Duration::from_secs(10) {
                child.kill().unwrap();
                panic!("{args:?} does not end on {signal}");
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        drop(writer);
        let mut err = String::new();
        child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        assert_eq!(
            (code, err.as_str()),
            (Some(130), "gristmill: cancelled: stopped before the end\n"),
            "{args:?}"
        );
        assert_eq!(folder.names(), ["pipe"], "{args:?}");
    }
}

#[test]
fn records_come_through_a_pipe() {
    let folder = Folder::new();
    let path = folder.examples("a", 50, Compression::Gzip);
    for args in [
        &["head", "pipe", "-n", "1"][..],
        &["info", "pipe"],
        &["salvage", "pipe", "out", "--overwrite"],
        &["merge", "pipe", "-o", "out", "--overwrite"],
        &["shuffle", "pipe", "-o", "out"],
    ] {
        let _ = fs::remove_file(folder.at("pipe"));
        assert!(Command::new("mkfifo").arg(folder.at("pipe")).status().unwrap().success());
        let (to, bytes) = (folder.at("pipe"), fs::read(&path).unwrap());
        let writer = std::thread::spawn(move || fs::write(to, bytes));
        let text = folder.run(args).quietly(0);
        assert!(text.contains("record 0 at byte 0") || text.contains("50 records"), "{text}");
        writer.join().unwrap().unwrap();
    }
    assert_eq!(fs::read(folder.at("out")).unwrap()[..2], [0x1f, 0x8b], "compressed as the input");
    for args in [&["bench", "pipe"][..], &["split", "pipe", "-o", "x", "-n", "2"]] {
        folder.run(args).fails(2, &["expected a file that can be read twice, found a pipe or a device"]);
    }
}

#[test]
fn pictures_are_answered_shortly_and_in_words_of_the_shell() {
    let folder = Folder::new();
    let jpeg = gristmill::image::jpeg::encode(&[9; 8 * 6 * 3], 8, 6, 3, &Default::default()).unwrap();
    fs::create_dir_all(folder.at("photos/red")).unwrap();
    for i in 0..300 {
        fs::write(folder.at(&format!("photos/red/{i:03}.jpg")), &jpeg).unwrap();
    }
    let hint = "hint: 'gristmill pack' makes record files of a folder of pictures";
    for args in [&["info", "photos"][..], &["info", "photos/red/000.jpg"]] {
        let text = folder.run(args).quietly(1);
        assert!(
            text.contains("no record file: it looks like a JPEG picture") && text.contains(hint),
            "{text}"
        );
        assert!(text.lines().count() <= 5, "{text}");
        assert!(!text.contains("read_file"), "{text}");
    }
    for args in [&["head", "photos/red/000.jpg"][..], &["bench", "photos"], &["info", "--spec", "photos"]] {
        folder.run(args).fails(1, &["it looks like a JPEG picture", hint]);
    }
    let text = folder.run(&["verify", "photos/red/000.jpg"]).quietly(1);
    assert!(text.contains("it looks like a JPEG picture") && !text.contains("read_file"), "{text}");
}

#[test]
fn tiny_files_are_measured_long_enough() {
    let folder = Folder::new();
    folder.examples("a", 10, Compression::None);
    let report = folder.run(&["bench", "a", "--json"]).json(0);
    for level in report.as_array().unwrap() {
        assert!(level["passes"].as_u64().unwrap() > 5, "{level}");
        assert!(level["seconds"].as_f64().unwrap() >= 0.9, "{level}");
        assert_eq!(level["records"].as_u64(), level["passes"].as_u64().map(|n| n * 10));
    }
    assert!(folder.run(&["bench", "a"]).quietly(0).contains(" passes)"));
}

#[test]
fn json_is_offered_where_it_means_something() {
    let folder = Folder::new();
    folder.examples("a", 1, Compression::None);
    for command in ["man", "completions"] {
        assert!(!folder.run(&[command, "--help"]).quietly(0).contains("--json"), "{command}");
        assert!(!folder.run(&["man", command]).quietly(0).contains("json"), "{command}");
        folder.run(&[command, "bash", "--json"]).fails(2, &["unexpected argument '--json'"]);
    }
    for args in [&["info", "a", "--json"][..], &["--json", "info", "a"]] {
        assert_eq!(folder.run(args).json(0)["records"], 1);
    }
    for command in
        ["pack", "info", "head", "verify", "salvage", "index", "merge", "split", "shuffle", "bench"]
    {
        assert!(folder.run(&[command, "--help"]).quietly(0).contains("--json"), "{command}");
    }
    assert!(folder.run(&["pack", "--help"]).quietly(0).contains("exit code is 1"));
}

#[test]
fn one_of_a_thing_is_no_plural() {
    let folder = Folder::new();
    folder.examples("a", 1, Compression::None);
    for args in [&["info", "a"][..], &["verify", "a"], &["index", "a"], &["merge", "a", "-o", "b"]] {
        let text = folder.run(args).quietly(0);
        assert!(text.contains("1 record") || text.contains("1 intact record"), "{text}");
        assert!(
            !text.contains("1 records") && !text.contains("1 intact records") && !text.contains("1 files"),
            "{text}"
        );
    }
}
