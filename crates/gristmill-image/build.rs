//! Compiles the C shim over libjpeg-turbo against the headers that `turbojpeg-sys` built.

use std::env;

fn main() {
    println!("cargo:rerun-if-changed=csrc");
    let include = env::var("DEP_TURBOJPEG_INCLUDE")
        .expect("turbojpeg-sys publishes the include folder of the libjpeg-turbo it built");
    let mut build = cc::Build::new();
    build.files(["csrc/jpeg_shim.c", "csrc/jpeg_encode.c", "csrc/jpeg_error.c"]).warnings(true);
    for path in include.split(',') {
        build.include(path);
    }
    // The library is linked by turbojpeg-sys; the shim comes before it on the linker's command line.
    build.compile("gristmill_jpeg_shim");
}
