//! The peak of memory of `pack`, whatever the input and the options.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use gristmill::image::jpeg::{EncodeOptions, encode};

use super::folder::Folder;

/// Runs `pack photos out` with these arguments; gives the exit code, what was told and the peak in kB.
fn pack(folder: &Folder, more: &[&str]) -> (Option<i32>, String, u64) {
    let args = [&["pack", "photos", "out", "--overwrite"], more].concat();
    let mut child = folder.command(&args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let (status, mut peak) = (format!("/proc/{}/status", child.id()), 0);
    while child.try_wait().unwrap().is_none() {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0 kB");
        peak = peak.max(line.trim().trim_end_matches(" kB").parse().unwrap());
        std::thread::sleep(Duration::from_millis(2));
    }
    let done = child.wait_with_output().unwrap();
    (done.status.code(), String::from_utf8(done.stderr).unwrap(), peak)
}

fn photo(height: usize, width: usize, progressive: bool) -> Vec<u8> {
    let pixels: Vec<u8> = (0..height * width).map(|i| (i / 97 % 251) as u8).collect();
    let rgb: Vec<u8> = pixels.iter().flat_map(|&v| [v, v / 2, 255 - v]).collect();
    encode(&rgb, height, width, 3, &EncodeOptions { progressive, ..Default::default() }).unwrap()
}

fn put(folder: &Folder, name: &str, bytes: &[u8]) {
    fs::create_dir_all(folder.at("photos/red")).unwrap();
    fs::write(folder.at("photos/red").join(name), bytes).unwrap();
}

#[test]
fn many_shards_take_little() {
    let folder = Folder::new();
    (0..10).for_each(|i| put(&folder, &format!("{i}.jpg"), &photo(8, 8, false)));
    let (code, err, few) = pack(&folder, &["--shards", "10"]);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    let (code, err, many) = pack(&folder, &["--shards", "4000"]);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    assert!(many < few + 8_000, "{many} kB with 4000 shards, {few} kB with 10");
}

#[test]
fn large_images_wait_for_each_other() {
    let folder = Folder::new();
    let large = photo(5000, 7600, false);
    (0..4).for_each(|i| put(&folder, &format!("{i}.jpg"), &large));
    let (code, err, peak) = pack(&folder, &["--resize", "64x64", "--threads", "4"]);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    assert!(peak < 300_000, "{peak} kB");
}

#[test]
fn images_that_do_not_fit_are_named_with_the_limit() {
    let folder = Folder::new();
    put(&folder, "good.jpg", &photo(20, 20, false));
    for (name, progressive) in [("bomb.jpg", false), ("several.jpg", true)] {
        let mut bomb = photo(16, 16, progressive);
        let frame = bomb.windows(2).position(|pair| pair == [0xff, 0xc0] || pair == [0xff, 0xc2]).unwrap();
        // 10000 x 17000 would be below what a decoder takes.
        let side: u16 = if progressive { 6_000 } else { 13_000 };
        bomb[frame + 5..frame + 7].copy_from_slice(&side.to_be_bytes());
        bomb[frame + 7..frame + 9].copy_from_slice(&side.to_be_bytes());
        put(&folder, name, &bomb);
    }
    let (code, err, peak) = pack(&folder, &["--resize", "64x64"]);
    assert_eq!(code, Some(1), "{err}");
    assert!(err.contains("2 of 3 images cannot be read"), "{err}");
    assert!(err.contains("red/bomb.jpg: an image of 13000 x 13000 pixels takes "), "{err}");
    assert!(err.contains("red/several.jpg: an image of 6000 x 6000 pixels takes "), "{err}");
    assert!(err.contains("more than the 201 MB that there are for one"), "{err}");
    assert!(peak < 60_000, "{peak} kB");
    let (code, err, _) = pack(&folder, &["--resize", "16384x16384"]);
    assert_eq!(code, Some(2), "{err}");
    assert!(
        err.contains("expected at most 201 MB") && err.contains("hint: width times height may be"),
        "{err}"
    );
    // A picture as long as that would be scaled to 192 x 300000.
    fs::remove_dir_all(folder.at("photos")).unwrap();
    put(&folder, "long.jpg", &photo(8, 12_500, false));
    let (code, err, _) = pack(&folder, &["--resize", "192x192", "--fit", "crop"]);
    assert_eq!(code, Some(1), "{err}");
    assert!(err.contains("an image of 12500 x 8 pixels takes"), "{err}");
}
