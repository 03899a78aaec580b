# One line per target over cargo, maturin, ruff, mypy and pytest. `make help` lists them.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:

PYTHON ?= python3
VENV := .venv
VENV_TF := .venv-tf
STAMPS := build/stamps
PY := $(VENV)/bin/python
# In continuous integration the lock file has to be the one that is committed.
LOCKED := $(if $(CI),--locked)
RUST_SOURCES := Cargo.toml $(wildcard Cargo.lock) $(shell find crates -type f -not -path '*/tests/*' 2>/dev/null)

# cmake comes from PyPI into the environment; cargo may live where rustup puts it.
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH):$(HOME)/.cargo/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1
export MATURIN_NO_MISSING_BUILD_BACKEND_WARNING := 1
# pip and maturin must see one environment only, whatever shell this is started from.
unexport CONDA_PREFIX
export VIRTUAL_ENV := $(CURDIR)/$(VENV)

.PHONY: help
help: ## Lists the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "%-14s %s\n", $$1, $$2 }'

# Setting up ---------------------------------------------------------------------------------------

.PHONY: toolchain
toolchain: ## Checks (and, where root may, installs) compilers and nasm
	@tools/check_toolchain.sh

$(STAMPS)/venv: tools/requirements-dev.txt tools/make_venv.sh
	tools/make_venv.sh $(VENV) $< $(PYTHON)
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/venv-tf: tools/requirements-tf.txt tools/make_venv.sh
	tools/make_venv.sh $(VENV_TF) $< $(PYTHON)
	@mkdir -p $(STAMPS) && touch $@

.PHONY: venv
venv: $(STAMPS)/venv ## Creates .venv with the pinned development tools

$(STAMPS)/native: $(STAMPS)/venv pyproject.toml $(RUST_SOURCES)
	$(VENV)/bin/maturin develop --profile quick $(LOCKED)
	@mkdir -p $(STAMPS) && touch $@

.PHONY: native
native: toolchain $(STAMPS)/native ## Builds the extension into .venv

.PHONY: wheel
wheel: toolchain $(STAMPS)/venv ## Builds an optimised wheel into build/wheels and tries it out
	$(VENV)/bin/maturin build --release $(LOCKED) --out build/wheels
	$(PY) tools/check_wheel.py build/wheels

.PHONY: wheel-test
wheel-test: native ## Tries out a wheel in a fresh environment, of another Python where there is one
	rm -rf build/wheels-quick
	$(VENV)/bin/maturin build --profile quick $(LOCKED) --out build/wheels-quick
	$(PY) tools/check_wheel.py build/wheels-quick

# Checking -----------------------------------------------------------------------------------------

.PHONY: test
test: toolchain fmt layers sizes notices ruff clippy rust-test native mypy py-test wheel-test ## Everything that has to hold

.PHONY: lint
lint: fmt layers sizes notices ruff clippy mypy ## All checks that run nothing

.PHONY: fmt
fmt: ## rustfmt
	cargo fmt --all --check

.PHONY: clippy
clippy: toolchain $(STAMPS)/venv ## clippy, warnings are errors
	cargo clippy --workspace --all-targets $(LOCKED) -- -D warnings

.PHONY: rust-test
rust-test: toolchain $(STAMPS)/venv ## Unit, integration and documentation tests of the crates
	cargo test --workspace --exclude gristmill-python $(LOCKED)

.PHONY: jpeg-exact
jpeg-exact: toolchain $(STAMPS)/venv ## Every pixel of our JPEG decoder against libjpeg-turbo's: 24,000 images, minutes
	cargo test --profile quick $(LOCKED) --package gristmill-jpeg --test exact -- --include-ignored --nocapture

AARCH64 := aarch64-unknown-linux-gnu
.PHONY: jpeg-neon
jpeg-neon: toolchain $(STAMPS)/venv ## The NEON code of our JPEG decoder under an emulator, where there is one
	@skip() { echo "jpeg-neon: skipped, $$1"; exit 0; }; \
	command -v aarch64-linux-gnu-gcc > /dev/null || skip "aarch64-linux-gnu-gcc is missing (Debian: gcc-aarch64-linux-gnu)"; \
	command -v qemu-aarch64 > /dev/null || skip "qemu-aarch64 is missing (Debian: qemu-user)"; \
	[ -d "$$(rustc --print target-libdir --target $(AARCH64))" ] || skip "rustup target add $(AARCH64)"; \
	export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc; \
	export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64 -L /usr/aarch64-linux-gnu"; \
	cargo test $(LOCKED) --package gristmill-jpeg --target $(AARCH64) --lib --test vector --test exact

.PHONY: layers
layers: ## Which crate may depend on which
	cargo run --quiet $(LOCKED) --package xtask -- layers

.PHONY: sizes
sizes: ## No source file over the limit
	cargo run --quiet $(LOCKED) --package xtask -- sizes

.PHONY: notices
notices: ## Whether THIRD-PARTY-NOTICES.txt fits Cargo.lock
	cargo run --quiet $(LOCKED) --package xtask -- notices --check

.PHONY: ruff
ruff: $(STAMPS)/venv ## ruff, lints and format
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .

.PHONY: mypy
mypy: $(STAMPS)/venv ## Types of the Python package
	$(VENV)/bin/mypy --strict python/gristmill

.PHONY: py-test
py-test: native ## Python tests; PYTEST_ARGS selects some
	$(PY) -m pytest $(PYTEST_ARGS)

.PHONY: parity
parity: native $(STAMPS)/venv-tf ## The same scripts and cases through TensorFlow itself
	TF=tensorflow $(VENV_TF)/bin/python tools/parity.py --gristmill-python $(PY)

.PHONY: deny
deny: ## Licences and advisories of the dependencies (needs cargo-deny)
	cargo deny check

.PHONY: format
format: $(STAMPS)/venv ## Formats Rust and Python
	cargo fmt --all
	$(VENV)/bin/ruff check --fix --exit-zero .
	$(VENV)/bin/ruff format .

# Showing ------------------------------------------------------------------------------------------

.PHONY: demo
demo: native ## Packs photos (IMAGES=folder of class folders), streams them and trains a classifier
	$(VENV)/bin/pip install --quiet --requirement tools/requirements-demo.txt
	$(PY) tools/demo.py $(if $(IMAGES),--images "$(IMAGES)") $(DEMO_ARGS)

.PHONY: bench
bench: native ## Times this package against TensorFlow where .venv-tf has it (BENCH_ARGS)
	$(VENV)/bin/pip install --quiet --requirement tools/requirements-demo.txt
	$(PY) bench/run.py $(BENCH_ARGS)

.PHONY: bench-kernels
bench-kernels: toolchain $(STAMPS)/venv ## Times kernels and stages one by one (BENCH_ARGS: a filter, or criterion's options)
	cargo bench --profile quick $(LOCKED) --workspace --exclude gristmill-python --bench '*' -- $(BENCH_ARGS)

.PHONY: clean
clean: ## Removes what was built, not the environments
	cargo clean
	rm -rf build python/gristmill/*.so
