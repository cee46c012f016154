# SPDX-License-Identifier: MIT
# Packages, and the cluster of the examples. PROGRAM=… packs another program than this build's.

packed = $(or $(PROGRAM),.build/release/refrain)
# The best program that is there, for trials.
present = $(or $(PROGRAM),$(firstword $(wildcard .build/release/refrain .build/debug/refrain)))
built := $(if $(PROGRAM),,release)
# Tools, as Debian packages; elsewhere a message names them.
PACKING := dpkg-dev debhelper lintian
TESTING := mmdebstrap systemd-container
CLUSTER := haproxy nginx curl python3
# What `make check-packaging` checks with.
CHECKING := groff zsh fish desktop-file-utils systemd $(CLUSTER)

.PHONY: install deb deb-test dist dist-test cluster cluster-test \
  cluster-throughput upgrade-test check-packaging checking-tools

install: ## Install what `make release` built, to PREFIX (/usr/local).
	@packaging/install '$(packed)'

deb: $(built) ## Pack the program for Debian and Ubuntu: .build/deb/*.deb.
	$(call install,$(PACKING))
	@packaging/deb '$(packed)'

deb-test: ## Install, run, upgrade and remove the package of `make deb` in a fresh system (as root).
	$(call install,$(TESTING))
	@packaging/deb-test .build/deb/*.deb

dist: $(built) ## Pack the program as a tarball: .build/dist/*.tar.xz, with a checksum.
	@packaging/dist '$(packed)'

dist-test: deps ## Build and pack twice from nothing; the checksums must be equal. Slow.
	@SWIFT='$(SWIFT)' packaging/dist-test $(RELEASE)

checking-tools: ## Install the tools of check-packaging.
	$(call install,$(CHECKING))

check-packaging: ## Check manual, completions, units and examples, with the program of `make build`.
	@packaging/check '$(or $(PROGRAM),.build/debug/refrain)'

cluster: ## Run three nodes behind HAProxy here, for ORIGIN=https://… or files of its own.
	$(call install,$(CLUSTER))
	@examples/cluster/run '$(present)' $(ORIGIN)

cluster-test: ## Try the cluster: a catalogue, the loss of a node, its return.
	$(call install,$(CLUSTER))
	@examples/cluster/try '$(present)'

cluster-throughput: ## Compare three nodes with one, and show what limits them.
	$(call install,$(CLUSTER) wrk)
	@examples/cluster/throughput '$(present)'

upgrade-test: ## Replace a running node again and again under wrk for a minute: no request may fail.
	$(call install,wrk curl python3)
	@examples/cluster/upgrade '$(present)'
