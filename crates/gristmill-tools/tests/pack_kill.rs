//! A process that packs is killed at random moments and started again each time: what comes out in the end is what an
//! undisturbed run makes, and at no moment is anything visible that is not whole.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that unwraps an error fails, which is what it should do")]

mod pack_support;

use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use gristmill_tools::pack::{PackOptions, pack, parse_splits};
use gristmill_tools::progress::Silent;
use pack_support::files;

const CHILD: &str = "GRISTMILL_TEST_PACK_CHILD";
const KILLS: usize = 50;
/// The whole test ends after this, whatever the machine.
const LIMIT: Duration = Duration::from_secs(60);

fn options() -> PackOptions {
    PackOptions {
        shards: Some(12),
        resize: Some((96, 96)),
        splits: parse_splits("train=0.75,validation=0.25").unwrap(),
        threads: Some(2),
        ..Default::default()
    }
}

/// What the child process runs: nothing in an ordinary test run.
#[test]
fn child() {
    if let Some(root) = std::env::var_os(CHILD) {
        let root = Path::new(&root);
        pack(&root.join("photos"), &root.join("out"), &options(), &Silent).unwrap();
    }
}

#[test]
fn killed_fifty_times() {
    let root = pack_support::tree_with(150, 150);
    let whole = root.path().join("whole");
    let started = Instant::now();
    pack(&root.path().join("photos"), &whole, &options(), &Silent).unwrap();
    let alone = started.elapsed();
    let expected = files(&whole);
    let out = root.path().join("out");
    let (mut kills, mut completions, mut resumed) = (0, 0, 0);
    let mut random = 1u64;
    while kills < KILLS && started.elapsed() < LIMIT {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child"])
            .env(CHILD, root.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        random = RandomState::new().hash_one(random);
        let wait = alone.mul_f64((random % 1000) as f64 / 1000.0 * 0.6).max(Duration::from_millis(2));
        std::thread::sleep(wait);
        let ended = child.try_wait().unwrap();
        if ended.is_none() {
            child.kill().unwrap();
            kills += 1;
        }
        let status = child.wait().unwrap();
        assert!(ended.is_none() || status.success(), "a run that was not killed succeeds: {status}");
        if !out.exists() {
            continue;
        }
        // Whatever is visible is whole.
        let found = files(&out);
        for (name, data) in found.iter().filter(|(name, _)| !name.starts_with(".gristmill-pack")) {
            assert!(expected.get(name) == Some(data), "{name} is not what it should be");
        }
        resumed += usize::from(found.keys().any(|name| name.ends_with(".tfrecord.json")));
        if found == expected {
            completions += 1;
            fs::remove_dir_all(&out).unwrap();
        }
    }
    // The last one is brought to its end.
    pack(&root.path().join("photos"), &out, &options(), &Silent).unwrap();
    assert!(files(&out) == expected);
    assert!(kills == KILLS || started.elapsed() >= LIMIT);
    assert!(resumed > 0, "some kills left finished shards");
    println!(
        "{kills} kills, {completions} completions between, {resumed} with finished shards, {:?}",
        started.elapsed()
    );
}
