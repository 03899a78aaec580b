//! The programs in `examples/`, run as a user runs them.

use gristmill::FileWriter;
use gristmill::example::{Example, Feature};
use gristmill::image::jpeg::{EncodeOptions, encode};
use gristmill::record::codec::Compression;

#[allow(dead_code, unreachable_pub, reason = "it is a program of its own")]
#[path = "../../examples/stream_batches.rs"]
mod stream_batches;

#[test]
fn stream_batches_reads_shards() {
    let dir = tempfile::tempdir().unwrap();
    for shard in 0..2 {
        let mut writer =
            FileWriter::create(dir.path().join(format!("s-{shard}.tfrecord")), Compression::None, None)
                .unwrap();
        for i in 0..24u8 {
            let pixels: Vec<u8> = (0..20 * 30 * 3).map(|k| (k as u8).wrapping_mul(i + 1)).collect();
            let jpeg = encode(&pixels, 20, 30, 3, &EncodeOptions::default()).unwrap();
            let features = [
                ("image".to_owned(), Feature::Bytes(vec![jpeg.into()])),
                ("label".to_owned(), Feature::Ints(vec![i64::from(i % 3)])),
            ];
            let example = Example { features: Some(features.into_iter().collect()) };
            writer.write(&example.encode()).unwrap();
        }
        writer.finish().unwrap();
    }
    let pattern = dir.path().join("*.tfrecord").to_string_lossy().into_owned();
    let mut out = Vec::new();
    stream_batches::run([pattern, "2".to_owned()].into_iter(), &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    assert!(
        lines[0].starts_with("epoch 1: 48 images") && lines[1].starts_with("epoch 2: 48 images"),
        "{text}"
    );
    assert!(lines[1].ends_with("labels {0: 16, 1: 16, 2: 16}"), "{text}");
    assert!(lines[2].ends_with("goes on with the same batch: true"), "{text}");
}
