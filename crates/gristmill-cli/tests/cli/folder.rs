//! A folder in which commands run.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use gristmill::example::{Example, Feature};
use gristmill::record::{Compression, RecordWriter};
use gristmill::types::Bytes;
use serde_json::Value;

pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A file of small Examples: `label` counts to 3, `text` names the record.
    pub(crate) fn examples(&self, name: &str, count: i64, compression: Compression) -> PathBuf {
        let records: Vec<Vec<u8>> = (0..count).map(example).collect();
        self.records(name, &records, compression)
    }

    pub(crate) fn records(&self, name: &str, records: &[Vec<u8>], compression: Compression) -> PathBuf {
        let mut writer = RecordWriter::new(Vec::new(), compression, None);
        records.iter().for_each(|record| writer.write(record).unwrap());
        fs::write(self.at(name), writer.finish().unwrap()).unwrap();
        self.at(name)
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Runs `gristmill` in this folder.
    pub(crate) fn run(&self, args: &[&str]) -> Run {
        self.run_to(args, Stdio::piped())
    }

    pub(crate) fn run_to(&self, args: &[&str], stdout: Stdio) -> Run {
        let mut command = self.command(args);
        let Output { status, stdout, stderr } =
            command.stdout(stdout).stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Run { code: status.code(), out: text(stdout), err: text(stderr) }
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gristmill"));
        command.args(args).current_dir(self.0.path()).stdin(Stdio::null());
        command
    }
}

pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Run {
    /// The output of a run that ended with this code and complained about nothing.
    pub(crate) fn quietly(self, code: i32) -> String {
        assert_eq!((self.code, self.err.as_str()), (Some(code), ""), "{}", self.out);
        self.out
    }

    pub(crate) fn json(self, code: i32) -> Value {
        serde_json::from_str(&self.quietly(code)).unwrap()
    }

    /// Asserts that the run failed with this code, printed nothing and complained in these words.
    pub(crate) fn fails(&self, code: i32, words: &[&str]) {
        assert_eq!((self.code, self.out.as_str()), (Some(code), ""), "{}", self.err);
        for word in words {
            assert!(self.err.contains(word), "expected {word:?} in: {}", self.err);
        }
    }
}

fn example(i: i64) -> Vec<u8> {
    let text = Feature::Bytes(vec![Bytes::copy_from(format!("record {i}").as_bytes())]);
    let features = [("label".to_owned(), Feature::Ints(vec![i % 3])), ("text".to_owned(), text)];
    Example { features: Some(features.into_iter().collect()) }.encode()
}
