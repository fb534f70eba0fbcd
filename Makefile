# Two commands for everybody:
#   make run    install what is missing, build, run the default suite, show the table
#   make test   the same for the tests
# For a board with a debug probe, make board builds rtmark with probe-rs.
# For developers: make quick, make lint, make bench, make lockstep, make rtl, make sets, make soak,
# make silicon, make pictures, make site, make clean. For releases: make dist, make deb, make image,
# scripts/package.

CARGO ?= cargo
RTMARK = target/release/rtmark
# Builds firmware from this checkout's sources, so that changing them does not rebuild rtmark.
HERE = --no-default-features --features native-code
CORES = cortex-m0 cortex-m0plus cortex-m3 cortex-m4 cortex-m4f cortex-m7 cortex-m33

.PHONY: run test quick bench board lint lockstep rtl sets soak silicon pictures site build clean dist deb image

run:
	@scripts/setup run $(CARGO) build --quiet --release -p rtmark $(HERE)
	@$(RTMARK) run $(ARGS)

board:
	@scripts/setup run
	$(CARGO) build --release -p rtmark $(HERE) --features board

build:
	@$(CARGO) build --release --workspace

test:
	@scripts/setup test
	@CARGO='$(CARGO)' scripts/test

# After each change: formatting, lints, and the tests that need neither firmware nor QEMU, but for the slowest.
quick:
	@scripts/quick

lint:
	$(CARGO) fmt --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS='-D warnings' $(CARGO) doc --quiet --workspace --no-deps
	$(CARGO) fmt --all --check --manifest-path firmware/Cargo.toml

bench:
	@scripts/setup test
	$(CARGO) build --quiet --release -p rtmark-bench
	@target/release/rtmark-bench

# Runs random programs on the simulator and on QEMU: 100 million instructions for each core, 20 million for
# the Cortex-R5, whose short programs each start QEMU anew.
lockstep:
	@scripts/setup test
	$(CARGO) build --quiet --release -p rtmark-judge
	@for core in $(CORES); do \
		target/release/rtmark-judge lockstep --core $$core --instructions 100000000 || exit 1; \
	done
	@target/release/rtmark-judge arm-r --instructions 20000000
	@target/release/rtmark-judge risc-v --instructions 100000000

# Runs random programs on the simulator and on the RTL of an Ibex, which comes as a package: a million
# instructions, compared cycle by cycle, with wait states, traps and interrupts.
rtl:
	@scripts/rtl
	$(CARGO) build --quiet --release -p rtmark-judge
	@target/release/rtmark-judge rtl $(ARGS)

# Runs a thousand random task sets for each kernel on a Cortex-M4F and an M0+: does any exceed its bound?
sets:
	@scripts/setup test
	RTMARK_SETS=1000 $(CARGO) test -p rtmark-taskset --test sets no_run -- --nocapture

# Injects a million interrupts at random moments under real kernels' load: does any exceed the worst case?
soak:
	@scripts/setup test
	RTMARK_SAMPLES=1000000 $(CARGO) test -p rtmark --test loads random

# Compares the timing models with cycles measured on chips (in the folder RTMARK_SILICON).
silicon:
	$(CARGO) build --quiet --release -p rtmark-silicon
	@target/release/rtmark-silicon $(ARGS)

# Builds a static site that simulates a chip in the browser: target/site.
site:
	@scripts/setup run
	@$(CARGO) build --quiet --release -p rtmark
	@scripts/site

# Makes README.md's pictures from results measured here.
pictures:
	@scripts/setup test
	$(CARGO) build --quiet --release -p rtmark $(HERE)
	@scripts/pictures

# Builds the release: a static program with manual pages, completions and licences; as a Debian package; and
# as a container image.
dist:
	@scripts/dist $(TARGET)

deb: dist
	cargo deb --no-build --no-strip -p rtmark -o dist/

image: dist
	$(or $(shell command -v podman || command -v docker),buildah) build -t rtmark -f packaging/Containerfile .

clean:
	$(CARGO) clean
	$(CARGO) clean --manifest-path firmware/Cargo.toml
	@echo "firmware is built elsewhere: rtmark cache prune --days 0"
