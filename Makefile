# SPDX-License-Identifier: MIT
# Targets for users and developers; `make help` lists them.

SWIFT ?= swift
UNAME := $(shell uname -s)
# Libraries that the build needs, by their names in pkg-config, and their packages.
LIBRARIES := libcurl
DEPS := libcurl4-openssl-dev pkg-config
# Programs that tests run against, and libraries that are loaded at run time.
CLIENTS := ffmpeg nginx rclone python3 curl openssl mpv vlc chromium tmux tinyproxy microsocks \
  promtool
ifeq ($(UNAME),Linux)
CLIENTS += libmpv.so.2 libsystemd.so.0 dbus-daemon playerctl busctl Xvfb xdotool import convert
endif
# The packages that contain them. VLC without its windows. pip for the scripts.
PACKAGES := python3-pip $(patsubst vlc,vlc-bin vlc-plugin-base,\
  $(patsubst tinyproxy,tinyproxy-bin,$(patsubst libmpv.so.2,libmpv2,\
  $(patsubst libsystemd.so.0,libsystemd0,$(patsubst dbus-daemon,dbus,\
  $(patsubst busctl,systemd,$(patsubst promtool,prometheus,$(patsubst Xvfb,xvfb,\
  $(patsubst import,imagemagick,$(filter-out convert,$(CLIENTS)))))))))))
# Players of HLS and DASH in web pages, which tests run in Chromium.
SCRIPTS := hls.js video.js
# Programs that benchmarks compare with or measure with.
RACE := nginx wrk curl ffmpeg mpv libmpv2 xvfb
# The release build. On Linux it contains Swift's libraries: the program starts a third faster and
# runs on machines without Swift. Without references to compiled C modules, whose checksums contain
# the dates of their headers, two builds are equal.
RELEASE := -c release --product refrain -Xswiftc -Xfrontend -Xswiftc -no-clang-module-breadcrumbs
ifeq ($(UNAME),Linux)
RELEASE += --static-swift-stdlib
endif
# The media that `make play` plays; the sample tune by default.
URL ?= --sample

# Limits parallel tests: each has its own origin and threads, and a time limit against hanging.
WIDTH := --experimental-maximum-parallelization-width 8

# Optimises the core and the player in builds for debugging too (see Package.swift).
export REFRAIN_OPTIMIZED ?= 1

# Everything that is formatted by swift-format.
SOURCES := Package.swift Sources Snippets Tests Benchmarks/Package.swift Benchmarks/Sources packaging

.DEFAULT_GOAL := help
.PHONY: help build release play test test-bare test-tsan test-asan soak bench docs format lint deps sound clients clean

help: ## List the targets.
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

build: deps ## Build everything, for debugging.
	$(SWIFT) build

play: sound build ## Play the sample tune cold and warm, or URL=https://… through the cache.
	@.build/debug/refrain play '$(URL)'

test: deps ## Run all tests; tests whose client is not installed are skipped and listed.
	@./.ci/clients $(CLIENTS) $(SCRIPTS)
	@SWIFT='$(SWIFT)' ./.ci/test -- $(WIDTH)

# The suites that start programs of the system, or load its libmpv. All is built where this runs.
CLIENT_SUITES := ^(RealOrigin|RealClient|RefrainCLI|RefrainPlayer|RefrainAVFoundation)Tests\.

test-bare: deps ## The suites that need clients, as on a machine that has none of them.
	@REFRAIN_HIDE_CLIENTS=1 ./.ci/clients $(CLIENTS) $(SCRIPTS)
	REFRAIN_HIDE_CLIENTS=1 SWIFT='$(SWIFT)' ./.ci/test -- $(WIDTH) --filter '$(CLIENT_SUITES)'

test-tsan: deps ## All tests under the thread sanitizer.
	REFRAIN_THREAD_SANITIZER=1 TSAN_OPTIONS=suppressions=$(CURDIR)/Tests/thread-sanitizer.supp \
	  SWIFT='$(SWIFT)' ./.ci/test --scratch-path .build-tsan --sanitize=thread -- $(WIDTH)

# Not for leaks: references that Swift keeps in tagged pointers, and the stacks of tasks that run when
# a program exits, are leaks to the sanitizer. Tests count what readers leave behind instead.
test-asan: deps ## All tests under the address sanitizer.
	REFRAIN_ADDRESS_SANITIZER=1 \
	  ASAN_OPTIONS=detect_leaks=0:suppressions=$(CURDIR)/Tests/address-sanitizer.supp \
	  SWIFT='$(SWIFT)' ./.ci/test --scratch-path .build-asan --sanitize=address -- $(WIDTH)

soak: deps ## The long tests: many seeds, many kills; NAME=MixedLoadTests selects a suite.
	REFRAIN_SOAK=1 SWIFT='$(SWIFT)' ./.ci/test -- $(WIDTH) $(if $(NAME),--filter '$(NAME)')

release: deps ## Build the program for use: .build/release/refrain.
	$(SWIFT) build $(RELEASE)

# Its own package, to which this one is a dependency.
bench: export REFRAIN_OPTIMIZED := 0
bench: deps ## Measure speed, memory and cost against goals; NAME=proxy selects one benchmark.
	$(call install,$(RACE))
	@test -n "$$REFRAIN_BENCH_PROGRAM" || $(SWIFT) build $(RELEASE)
	$(SWIFT) run --package-path Benchmarks -c release refrain-bench $(NAME)

docs: deps ## Build the documentation of the libraries in .build/docs; broken links fail.
	$(SWIFT) package dump-symbol-graph --minimum-access-level public >/dev/null
	@rm -rf .build/docs && mkdir -p .build/docs
	@for name in Refrain RefrainStreams RefrainAVFoundation RefrainPlayer RefrainProxy RefrainServer; do \
	  rm -rf .build/graphs && mkdir .build/graphs && \
	  cp "$$($(SWIFT) build --show-bin-path)/../symbolgraph/$$name.symbols.json" .build/graphs && \
	  docc convert Sources/$$name/$$name.docc --warnings-as-errors --additional-symbol-graph-dir .build/graphs \
	    --fallback-display-name $$name --fallback-bundle-identifier $$name --output-dir .build/docs/$$name || exit 1; \
	done
	@echo "Written to .build/docs. Serve that folder with a web server to read it."

format: ## Format all sources.
	$(SWIFT) format --in-place --parallel --recursive $(SOURCES)

lint: ## Check the format of all sources.
	$(SWIFT) format lint --strict --parallel --recursive $(SOURCES)

ifeq ($(UNAME),Linux)
define install
	@./.ci/install $(1)
endef

deps: ## Install missing build dependencies.
	$(if $(shell pkg-config --exists $(LIBRARIES) 2>/dev/null || echo missing),$(call install,$(DEPS)),@:)

sound: ## Install libmpv, which playing needs, if it is missing.
	@./.ci/has libmpv.so.2 || ./.ci/install libmpv2

clients: ## Install the programs that tests run against, libmpv, and players for web pages.
	$(call install,$(PACKAGES))
	@./.ci/install-scripts $(SCRIPTS)
else
define install
	@echo "Needed, and not installed by this: $(1)"
endef

deps sound:
	@:

clients:
	@echo "For the tests against real programs: brew install $(CLIENTS)"
	@./.ci/install-scripts $(SCRIPTS)
endif

include packaging/targets.mk

clean: ## Remove build products.
	rm -rf .build .build-tsan .build-asan
