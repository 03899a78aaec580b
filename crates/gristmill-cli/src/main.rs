//! The `gristmill` binary.

fn main() {
    std::process::exit(gristmill_cli::run(std::env::args_os()));
}
