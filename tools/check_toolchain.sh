#!/usr/bin/env bash
# Checks for what pip and cargo cannot bring: rustc, a C compiler, nasm, Python's venv.
set -euo pipefail

readonly MIN_RUST=1.89

stop() {
  printf 'gristmill: %s\n' "$@" >&2
  exit 1
}

# The package `$2` gives the command `$1`: install it as root with apt, or say what is missing.
need() {
  command -v "$1" >/dev/null && return
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "gristmill: installing $2 (apt-get)"
    { apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y "$2"; } >/dev/null </dev/null ||
      stop "apt-get could not install the package $2"
    return
  fi
  stop "$1 is not installed; it comes with the package $2 (for example: sudo apt-get install $2)"
}

if ! command -v rustc >/dev/null; then
  stop "rustc is not installed, $MIN_RUST or newer is needed. With rustup:" \
    "  curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y"
fi
rust=$(rustc --version | cut -d' ' -f2)
if [ "$(printf '%s\n' "$MIN_RUST" "$rust" | sort -V | head -n1)" != "$MIN_RUST" ]; then
  stop "rustc is $rust, $MIN_RUST or newer is needed. With rustup:" "  rustup update stable"
fi

command -v cc >/dev/null || need gcc build-essential
# The SIMD code of libjpeg-turbo is nasm source on x86-64 alone.
[ "$(uname -m)" != x86_64 ] || need nasm nasm
python=${PYTHON:-python3}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
  stop "$python is older than 3.10; set PYTHON to a newer one"
"$python" -c 'import venv, ensurepip' 2>/dev/null ||
  stop "$python has no venv; on Debian and Ubuntu it comes with the package python3-venv"
