use super::*;
use crate::jpeg::DctMethod;

/// 61 x 83 pixels of noise in every kind of subsampling, and what else changes the way of decoding.
const FILES: &[(&str, &[u8])] = &[
    ("444", include_bytes!("data/444.jpg")),
    ("422", include_bytes!("data/422.jpg")),
    ("420", include_bytes!("data/420.jpg")),
    ("440", include_bytes!("data/440.jpg")),
    ("411", include_bytes!("data/411.jpg")),
    ("grey", include_bytes!("data/grey.jpg")),
    ("cmyk", include_bytes!("data/cmyk.jpg")),
    ("progressive", include_bytes!("data/progressive.jpg")),
    ("restarts", include_bytes!("data/restarts.jpg")),
];

fn whole(contents: &[u8], options: &JpegOptions) -> Result<Image<u8>> {
    let mut image = Image::default();
    decode(contents, options, &mut image).map(|()| image)
}

fn part(contents: &[u8], options: &JpegOptions, window: Window) -> Result<Image<u8>> {
    let mut image = Image::default();
    decode_region(contents, options, window, &mut image).map(|()| image)
}

fn cut_out(image: &Image<u8>, w: Window) -> Image<u8> {
    let (width, channels) = (image.shape[1], image.shape[2]);
    let row = |y: usize| {
        let at = ((w.y + y) * width + w.x) * channels;
        image.data[at..at + w.width * channels].to_vec()
    };
    Image { shape: vec![w.height, w.width, channels], data: (0..w.height).flat_map(row).collect() }
}

/// Windows of all phases against the blocks of 8 and 16 (and 32 for 4:1:1), of odd and even sizes, at all edges.
fn windows(height: usize, width: usize) -> impl Iterator<Item = Window> {
    let spans = |side: usize| {
        let starts = (0..side).filter(move |s| *s < 35 || *s + 3 > side);
        starts.flat_map(move |at| {
            [1, 2, 7, 16, 17, side - at].into_iter().filter(move |n| at + n <= side).map(move |n| (at, n))
        })
    };
    // Each row span with some column spans and the reverse, so that every one occurs.
    let (rows, columns): (Vec<_>, Vec<_>) = (spans(height).collect(), spans(width).collect());
    (0..rows.len().max(columns.len()) * 2).map(move |i| {
        let ((y, height), (x, width)) = (rows[i * 7 % rows.len()], columns[i % columns.len()]);
        Window { y, x, height, width }
    })
}

fn by_bands(contents: &[u8], options: &JpegOptions, window: Option<Window>) -> Result<Vec<u8>> {
    let [_, width, channels] = output_shape(contents, options)?;
    let crop = options.crop.map(|c| c.width as usize);
    let row = window.map(|w| w.width).or(crop).unwrap_or(width) * channels;
    let mut all = Vec::new();
    let mut next = 0;
    decode_rows(contents, options, window, &mut Vec::new(), &mut |first, rows| {
        assert_eq!((first, rows.len() % row), (next, 0));
        next += rows.len() / row;
        all.extend_from_slice(rows);
        Ok(())
    })?;
    Ok(all)
}

#[test]
fn bands_are_the_whole_or_the_crop_and_find_damage() {
    let options = JpegOptions::default();
    let crop = Some(Crop { y: 9, x: 21, height: 33, width: 40 });
    for (name, contents) in FILES {
        for options in [options, JpegOptions { crop, ..options }] {
            assert_eq!(
                by_bands(contents, &options, None).unwrap(),
                whole(contents, &options).unwrap().data,
                "{name}"
            );
            for cut in (0..contents.len()).step_by(11) {
                let short = &contents[..cut];
                match (by_bands(short, &options, None), whole(short, &options)) {
                    (Ok(found), Ok(expected)) => assert_eq!(found, expected.data, "{name} cut at {cut}"),
                    (Err(_), Err(_)) => {}
                    // A crop makes do with rows that libjpeg only said it passed over.
                    (Err(_), Ok(_)) if options.crop.is_some() => {}
                    (found, expected) => {
                        panic!("{name} cut at {cut}: {} and {}", found.is_ok(), expected.is_ok())
                    }
                }
            }
        }
    }
}

fn compare(contents: &[u8], options: &JpegOptions, name: &str) {
    let all = whole(contents, options).unwrap();
    assert_eq!(output_shape(contents, options).unwrap().as_slice(), all.shape, "{name}");
    let mut decoded_in_part = 0;
    for window in windows(all.shape[0], all.shape[1]) {
        let mut direct = Image::default();
        decoded_in_part += usize::from(region(contents, options, window, &mut direct).unwrap());
        assert_eq!(
            part(contents, options, window).unwrap(),
            cut_out(&all, window),
            "{name} {options:?} {window:?}"
        );
        assert_eq!(direct, cut_out(&all, window), "{name} {options:?} {window:?}, in part");
        assert_eq!(by_bands(contents, options, Some(window)).unwrap(), direct.data, "{name} {window:?}");
    }
    assert!(decoded_in_part > 100, "{name} {options:?}: decoded in part {decoded_in_part} times");
}

#[test]
fn every_window_has_the_pixels_of_the_whole() {
    for (name, contents) in FILES {
        for dct_method in [DctMethod::IntegerFast, DctMethod::IntegerAccurate] {
            for fancy_upscaling in [true, false] {
                compare(contents, &JpegOptions { dct_method, fancy_upscaling, ..Default::default() }, name);
            }
        }
        for ratio in [2, 4] {
            compare(contents, &JpegOptions { ratio, ..Default::default() }, name);
        }
        if *name != "cmyk" {
            compare(contents, &JpegOptions { channels: 1, ..Default::default() }, name);
        }
        compare(contents, &JpegOptions { channels: 3, ..Default::default() }, name);
    }
}

#[test]
fn a_file_that_fails_whole_fails_in_part() {
    let top = Window { y: 0, x: 3, height: 9, width: 40 };
    let options = JpegOptions::default();
    for (name, contents) in FILES {
        for cut in 0..contents.len() {
            let short = &contents[..cut];
            let expected = whole(short, &options).map(|i| cut_out(&i, top));
            assert_eq!(part(short, &options, top), expected, "{name} cut at {cut}");
        }
    }
    // With what makes damaged files pass.
    let lenient = JpegOptions { try_recover_truncated: true, acceptable_fraction: 0.3, ..options };
    for (name, contents) in FILES {
        for cut in (0..contents.len()).step_by(7) {
            let short = &contents[..cut];
            for options in [lenient, JpegOptions { try_recover_truncated: false, ..lenient }] {
                let expected = whole(short, &options).map(|i| cut_out(&i, top));
                assert_eq!(part(short, &options, top), expected, "{name} cut at {cut}, {options:?}");
            }
        }
    }
}

#[test]
fn damage_anywhere_means_the_same_in_part() {
    let middle = Window { y: 17, x: 20, height: 15, width: 30 };
    let options = JpegOptions::default();
    for (name, contents) in FILES {
        let mut broken = contents.to_vec();
        for at in (0..contents.len()).step_by(5) {
            for value in [0xFF, 0x00, 0xD9, contents[at] ^ 0x10] {
                broken[at] = value;
                let expected = whole(&broken, &options).and_then(|i| {
                    if middle.fits(i.shape[0], i.shape[1]) { Ok(cut_out(&i, middle)) } else { cut_error() }
                });
                match (part(&broken, &options, middle), expected) {
                    (Ok(found), Ok(expected)) => {
                        assert_eq!(found.shape, expected.shape, "{name}: byte {at} is {value}");
                        // Elsewhere libjpeg-turbo gives other pixels than we do for coefficients that no encoder makes.
                        let same = found == expected || cfg!(not(target_arch = "x86_64"));
                        assert!(same, "{name}: byte {at} is {value}");
                    }
                    (Err(found), Err(expected)) => assert!(
                        found == expected || expected == cut_error().unwrap_err(),
                        "{name}: byte {at} is {value}: {found}, {expected}"
                    ),
                    (found, expected) => panic!(
                        "{name}: byte {at} is {value}: {:?} instead of {:?}",
                        found.map(|i| i.shape),
                        expected.map(|i| i.shape)
                    ),
                }
                broken[at] = contents[at];
            }
        }
    }
}

/// Stands for a window outside of an image that the damage made smaller.
fn cut_error() -> Result<Image<u8>> {
    Err(Error::invalid("outside"))
}

#[test]
fn windows_are_checked() {
    let contents = FILES[0].1;
    for window in [
        Window { y: 60, x: 0, height: 2, width: 4 },
        Window { y: 0, x: 0, height: 0, width: 4 },
        Window { y: usize::MAX, x: 0, height: 2, width: 4 },
    ] {
        let error = part(contents, &JpegOptions::default(), window).unwrap_err();
        assert!(error.to_string().contains("must lie inside the image of 61 x 83"), "{error}");
    }
    let crop = Some(Crop { y: 0, x: 0, height: 1, width: 1 });
    let options = JpegOptions { crop, ..Default::default() };
    assert!(part(contents, &options, Window::whole(61, 83)).is_err());
}
