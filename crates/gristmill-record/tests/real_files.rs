//! Files that other programs wrote, from the folder that `GRISTMILL_TESTDATA` names.

// The whole file is a test, helpers too.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::fs::{self, File};
use std::path::PathBuf;

use gristmill_record::{Compression, Event, ReaderOptions, RecordReader, RecordWriter, Salvager, Span};

/// The record files of the test data; `None` (with a message) without them.
fn files() -> Option<Vec<PathBuf>> {
    let Some(root) = std::env::var_os("GRISTMILL_TESTDATA") else {
        println!("skipped: GRISTMILL_TESTDATA does not name the folder of test data");
        return None;
    };
    let folder = PathBuf::from(root).join("data/tfrecords");
    let entries = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    Some(files)
}

fn read_all(path: &PathBuf) -> Option<(Compression, Vec<Vec<u8>>)> {
    let file = File::open(path).unwrap();
    let size = Some(file.metadata().unwrap().len());
    let options = ReaderOptions { size, ..ReaderOptions::default() };
    let mut reader = RecordReader::open(file, &options).unwrap();
    let (mut buffer, mut spans, mut records) = (Vec::new(), Vec::<Span>::new(), Vec::new());
    loop {
        match reader.next_chunk(&mut buffer, usize::MAX, &mut spans) {
            Ok(Some(_)) => records.extend(spans.iter().map(|span| span.of(&buffer).to_vec())),
            Ok(None) => break,
            Err(error) => {
                println!("{}: after {} records: {error}", path.display(), records.len());
                return None;
            }
        }
    }
    println!("{}: {} records, end {:?}", path.display(), records.len(), reader.end());
    Some((reader.compression(), records))
}

#[test]
fn written_again_they_are_the_same_bytes() {
    let Some(files) = files() else { return };
    let (mut plain, mut compressed) = (0, 0);
    for path in files {
        let Some((compression, records)) = read_all(&path) else {
            continue;
        };
        let mut writer = RecordWriter::new(Vec::new(), Compression::None, None);
        for record in &records {
            writer.write(record).unwrap();
        }
        let again = writer.finish().unwrap();
        if compression == Compression::None {
            let original = fs::read(&path).unwrap();
            // All but a tail shorter than a header.
            assert!(original.starts_with(&again) && original.len() - again.len() < 12, "{}", path.display());
            plain += 1;
        } else {
            compressed += 1;
        }
        let mut salvager = Salvager::of_bytes(&again);
        for record in &records {
            let Some(Event::Record { payload, .. }) = salvager.next_event() else {
                panic!("{}", path.display())
            };
            assert!(payload == record);
        }
        assert_eq!(salvager.next_event(), None);
    }
    assert!(plain >= 20 && compressed >= 5, "{plain} plain, {compressed} compressed");
}
