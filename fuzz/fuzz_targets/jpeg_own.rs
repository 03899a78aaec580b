//! Our own JPEG decoder: what it decodes, libjpeg-turbo decodes to the same; vector code and plain code agree.
#![no_main]

use std::num::NonZeroUsize;

use gristmill_fuzz::Room;
use gristmill_image::Output;
use gristmill_image::jpeg::{self, Crop, DctMethod, JpegOptions};
use gristmill_jpeg::{Dct, Decoder, Edges, Input, Job, Options, Region, RestartIndex, read_header};
use libfuzzer_sys::fuzz_target;

/// Pixels that an image may have here.
const MOST_PIXELS: usize = 1 << 18;

/// Room that keeps the shape.
#[derive(Default)]
struct Shaped(Room<u8>, Vec<usize>, Vec<u8>);

impl Output<u8> for Shaped {
    fn slot(&mut self, shape: &[usize]) -> gristmill_image::Result<&mut [u8]> {
        let size = self.0.slot(shape)?.len();
        self.1 = shape.to_vec();
        self.2 = vec![0; size];
        Ok(&mut self.2)
    }
}

fn theirs(data: &[u8], options: &Options) -> Option<(Vec<usize>, Vec<u8>)> {
    let crop = options.region.map(|r| Crop {
        y: r.y as i32,
        x: r.x as i32,
        height: r.height as i32,
        width: r.width as i32,
    });
    let accurate = options.dct == Dct::Accurate;
    let theirs = JpegOptions {
        channels: options.channels.into(),
        ratio: options.ratio.into(),
        fancy_upscaling: options.fancy,
        dct_method: if accurate { DctMethod::IntegerAccurate } else { DctMethod::IntegerFast },
        crop,
        ..JpegOptions::default()
    };
    let mut room = Shaped::default();
    jpeg::decode_with_libjpeg(data, &theirs, &mut room).ok()?;
    Some((room.1, room.2))
}

fuzz_target!(|data: &[u8]| {
    // Any bytes may be taken for an index.
    let _ = RestartIndex::from_bytes(data);
    let Ok(header) = read_header(data) else {
        return;
    };
    if header.width() * header.height() > MOST_PIXELS {
        return;
    }
    let (mut fast, mut plain) = (Decoder::new(), Decoder::plain());
    let usual = Options::default();
    let other =
        Options { dct: Dct::Accurate, fancy: false, ratio: [2, 4, 8][data.len() % 3], channels: 1, ..usual };
    let (width, height) = (header.width(), header.height());
    let region = Region {
        x: width / 3,
        y: height / 3,
        width: width.div_ceil(2),
        height: height.div_ceil(3),
        edges: Edges::Cropped,
    };
    let cropped = Options { region: Some(region), ..usual };
    for options in [usual, other, cropped] {
        let ours = fast.decode(data, &options);
        match (&ours, plain.decode(data, &options)) {
            (Ok(a), Ok(b)) => assert!(*a == b, "vector code and plain code differ: {options:?}"),
            (Err(_), Err(_)) => {}
            (a, b) => panic!(
                "only one of vector code and plain code decodes it: {:?} {:?} {options:?}",
                a.as_ref().err(),
                b.err()
            ),
        }
        let Ok(image) = ours else { continue };
        // Built for other processors, libjpeg-turbo gives other pixels for coefficients that no encoder makes.
        if cfg!(target_arch = "x86_64") {
            let (shape, pixels) = theirs(data, &options).expect("libjpeg-turbo decodes it too");
            assert_eq!(image.shape[..], shape[..]);
            assert!(image.data == pixels, "libjpeg-turbo's pixels differ: {options:?}");
        }
        let pixels = image.data;
        // With an index of where its rows begin, also after that was written and read.
        if let Ok(index) = RestartIndex::build(data, NonZeroUsize::new(1 + data.len() % 3)) {
            let again = RestartIndex::from_bytes(&index.to_bytes());
            assert_eq!(again.as_ref(), Some(&index));
            let with = fast.decode(Input { data, index: Some(&index) }, &options);
            assert!(with.is_ok_and(|with| with.data == pixels), "an index changes pixels: {options:?}");
        }
        // The same file twice at a time.
        let (mut first, mut second) = (vec![0; pixels.len()], vec![0; pixels.len()]);
        let job = |out| Job { file: data.into(), options, out };
        let results = fast.decode_batch(&mut [job(&mut first), job(&mut second)]);
        assert!(results.iter().all(Result::is_ok) && first == pixels && second == pixels);
    }
});
