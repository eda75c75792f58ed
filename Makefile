# Every step of development and CI is a target here; `make help` lists them.

CARGO ?= cargo
TARGET := $(or $(CARGO_TARGET_DIR),target)

# Tests run in a network namespace, so that they reach nothing and may use any port; each
# end-to-end test makes one of its own. Root may do that; other users get a user namespace in which
# to be root.
ifneq ($(shell id -u),0)
AS_ROOT := --user --map-root-user
endif
IN_NAMESPACE := unshare $(AS_ROOT) --net --mount -- sh -c 'ip link set lo up && exec "$$@"' --

# Tests and benchmarks write into memory, because nothing of theirs has to outlive them, and because a file system on a disk searches
# long for room where thousands of files were deleted moments ago. More tests run than there are processors, because most of their
# time they wait for something.
IN_MEMORY := sh -c 'mount -t tmpfs -o mode=1777 tests /dev/shm && export TMPDIR=/dev/shm; exec "$$@"' --
test: export RUST_TEST_THREADS ?= $(shell expr $$(nproc) + 4)

.DEFAULT_GOAL := help
.PHONY: help demo demo-check cluster test lint deny advisories rust-version fuzz bench generate packages checksums reproducible
.PHONY: test-packages test-boot requirements

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

requirements: # the distribution packages that the targets below need
	@tests/requirements

# The program as the tests have it. `cargo build` would compile most crates again, because without the tests fewer of their
# features are needed.
BUILD_FOR_TESTS := $(CARGO) test --locked --no-run --test command_line

# The profile of the demo's binary; `dev` is the program of the tests.
DEMO_PROFILE ?= demo
DEMO := $(TARGET)/$(DEMO_PROFILE:dev=debug)/ingressd demo
DEMO_BUILD := $(if $(filter dev,$(DEMO_PROFILE)),$(BUILD_FOR_TESTS),$(CARGO) build --locked --profile $(DEMO_PROFILE) --bin ingressd)

demo: requirements ## serve examples/demo with a private nginx on 127.0.0.1:8080 and :8443 until Ctrl-C
	$(DEMO_BUILD)
	$(DEMO)

demo-check: requirements ## the same without a terminal: request every URL, edit, break and mend a manifest
	$(DEMO_BUILD)
	$(DEMO) --check

cluster: requirements ## a Kubernetes API server, nginx and ingressd in network namespaces, to play with until Ctrl-C
	@tests/requirements namespaces
	@tests/cluster/build
	$(CARGO) test --locked --no-run --test playground
	$(IN_NAMESPACE) $(CARGO) test --locked --quiet --test playground

test: requirements ## unit, table, golden, property and end-to-end tests against the real nginx and API server
	@tests/requirements namespaces
	@tests/nginx-versions
	@tests/cluster/build
	$(CARGO) test --locked --workspace --no-run
	$(CARGO) test --locked --test live --no-run
	$(IN_NAMESPACE) $(IN_MEMORY) tests/side-by-side \
		"$(CARGO) test --locked --workspace --no-fail-fast" "$(CARGO) test --locked --test live"

lint: ## formatting, clippy and documentation, warnings denied
	$(CARGO) fmt --all --check
	$(CARGO) fmt --manifest-path fuzz/Cargo.toml --check
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings
	$(CARGO) clippy --locked --test live --test boot --test playground --test page -- -D warnings
	$(CARGO) clippy --locked --no-default-features --lib --bins --test licences -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --workspace --no-deps --document-private-items
	test -z "$$(gofmt -l tests/cluster | tee -a /dev/stderr)"

deny: ## licences, versions and sources of crates (deny.toml)
	tests/deny --locked check -D unmatched-skip bans licenses sources

advisories: ## what is known against crates; it fetches the database of advisories
	tests/deny --locked check advisories

.PHONY: test-page
test-page: export RUST_TEST_THREADS = 1
test-page: ## the status page in a headless Chromium; pictures in target/tmp/page, with UPDATE=1 also in docs/pictures
	@tests/requirements page
	@tests/requirements namespaces
	$(CARGO) test --locked --test page --no-run
	$(IN_NAMESPACE) $(IN_MEMORY) $(CARGO) test --locked --test page

MINIMUM = $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
rust-version: ## compile with the oldest Rust that Cargo.toml allows, which rustup has to have
	RUSTUP_TOOLCHAIN=$(MINIMUM) $(CARGO) check --locked --workspace --all-targets

fuzz: export FUZZ_SECONDS ?= 600
fuzz: export FUZZ_TARGETS ?= all
fuzz: export FUZZ_SANITIZER ?= address
fuzz: ## fuzz what reads text from outside, for FUZZ_SECONDS each of FUZZ_TARGETS, until the first finding
	fuzz/run

BENCHES ?= pipeline cluster requests page
bench: requirements ## measure speed and memory, over a folder, at an API server, for each request and in a browser; prints tables and JSON
	@tests/requirements namespaces
	@tests/cluster/build
	$(CARGO) bench --locked $(BENCHES:%=--bench %) --no-run
	$(IN_NAMESPACE) $(IN_MEMORY) $(CARGO) bench --locked --no-fail-fast $(BENCHES:%=--bench %)

generate: ## write again what is generated: man pages, completions, settings sample, references, golden files
	UPDATE=1 INSTA_UPDATE=always $(CARGO) test --locked

packages: ## the .deb and the .rpm, in target/packages (PACKAGE_REPOSITORY, PACKAGE_CONTACT)
	packaging/manifest >/dev/null
	CARGO=$(CARGO) packaging/compile
	packaging/build release

checksums: ## what a release has beside its packages: BUILD and SHA256SUMS
	packaging/checksums

reproducible: ## build the packages of the last commit twice, and compare them
	packaging/reproducible

# Packages of an unoptimised binary, in this version and in a higher one, and systems to install them on.
BOOT_RELEASES ?= bookworm trixie forky
.PHONY: boot-packages
boot-packages: export PACKAGE_REPOSITORY = https://packages.invalid/ingressd
boot-packages: export PACKAGE_CONTACT = Tests of packages <tests@packages.invalid>
boot-packages: requirements
	@tests/boot/roots $(BOOT_RELEASES)
	@tests/cluster/build
	$(BUILD_FOR_TESTS)
	PACKAGES=$(TARGET)/boot/packages packaging/build dev
	PACKAGES=$(TARGET)/boot/next-packages PACKAGE_VERSION=99.0.0 packaging/build dev
	$(CARGO) test --locked --no-run --test boot

# The tests have processes of their own as well: processes that they start end with them.
ON_A_HOST := unshare --net --mount --pid --fork --kill-child --mount-proc -- sh -c 'ip link set lo up && exec "$$@"' --

test-packages: boot-packages ## the packages as files: lintian, rpm, manual pages, units (root)
	$(ON_A_HOST) $(CARGO) test --locked --test boot package::

test-boot: boot-packages ## the packages on booted systems of Debian: install, run, upgrade, remove (root)
	$(ON_A_HOST) $(CARGO) test --locked --test boot -- package:: $(BOOT_RELEASES)
