# Bare `make` prints the targets.
GO      ?= go
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null)
LDFLAGS := -s -w $(if $(VERSION),-X main.version=$(VERSION))
# Debian packages that the tests need: a C compiler for the race detector, and the programs and headers for the guests.
PACKAGES := gcc libc6-dev $(shell cat integration/guest/packages.txt integration/siw/packages.txt integration/servers/packages.txt integration/smb/packages.txt integration/rxe/packages.txt)

# Building the provider for RDMA devices needs rdma-core's headers. The provider opens the libraries when it runs, so
# the binary also serves without them. CGO_ENABLED=0 builds without the provider.
RDMACORE := $(if $(filter 0,$(CGO_ENABLED)),,$(shell printf '%s\n' '\#include <infiniband/verbs.h>' '\#include <rdma/rdma_cma.h>' | $(CC) -E -x c - >/dev/null 2>&1 && echo yes))
# netgo and osusergo look up names in Go, as a build without cgo does.
TAGS := $(if $(RDMACORE),-tags 'rdmacore netgo osusergo')

.DEFAULT_GOAL := help
.PHONY: help build run test unit cover guest race fuzz vulncheck lint bench bench-guest packages kernel

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build bin/fileserver, with the provider for RDMA devices if rdma-core's headers are installed
	CGO_ENABLED=$(if $(RDMACORE),1,0) $(GO) build -trimpath $(TAGS) -ldflags '$(LDFLAGS)' -o bin/fileserver ./cmd/fileserver
	@$(if $(RDMACORE),echo 'bin/fileserver has the provider for RDMA devices',\
	  echo 'bin/fileserver is pure Go and serves RDMA in software (iWARP). For RDMA devices install gcc libibverbs-dev librdmacm-dev, then make build')

run: build ## serve ./data over NFS, on TCP and iWARP, to this machine
	@# The directory is sticky and open to all, so that clients' root users, who are mapped to nobody, can write.
	@[ -d data ] || mkdir -m 1777 data
	bin/fileserver serve --share data=./data

test: packages unit cover guest ## run all tests; as root, first install the Debian packages they need

unit: ## run the tests that need no guest, under the race detector, and the lint
	$(GO) test -race -short -timeout 20m ./...

cover: ## run them without the race detector: checks allocations, prints coverage per package
	$(GO) test -short -timeout 20m $(TAGS) -cover $$($(GO) list ./... | grep -v -e /integration -e /internal/lint)

guest: kernel ## run the tests with real clients in Linux guests
	$(GO) test -p 2 -timeout 60m ./integration/...

race: ## run the tests that need no guest, under the race detector, repeatedly
	$(GO) test -race -short -count 5 ./...

FUZZTIME ?= 30s
fuzz: ## fuzz every target for FUZZTIME (30s), one per processor at a time; print a table
	$(GO) run ./integration/fuzz -time $(FUZZTIME) $(FUZZFLAGS)

vulncheck: ## look for known vulnerabilities in the code that the server calls; needs the network
	@$(GO) tool -modfile=internal/tools/go.mod govulncheck $(TAGS) ./... || { rc=$$?; \
	  [ $$rc = 3 ] || echo 'vulncheck: nothing was checked: https://vuln.go.dev must be reachable; or set GOVULNDB to the address of a copy'; exit $$rc; }

lint: ## check formatting, vet, staticcheck, imports and the house rules
	$(GO) test -count 1 ./internal/lint

bench: ## measure against plain TCP and, as root, Samba; print the ratios
	$(GO) run ./integration/bench $(BENCHFLAGS)

bench-guest: kernel ## measure against the kernel's servers in a Linux guest; needs root (BENCHFLAGS="-beside FILE": also against another build)
	$(GO) run ./integration/bench guest $(BENCHFLAGS)

# As root on Debian, installs the missing packages. Otherwise it prints them, and the
# tests that need them fail with messages of their own.
packages:
	@command -v dpkg-query >/dev/null || { echo "not Debian: the tests need the programs of these packages: $(PACKAGES)"; exit 0; }; \
	missing=; for p in $(PACKAGES); do \
	  dpkg-query -W -f '$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || missing="$$missing $$p"; \
	done; \
	[ -n "$$missing" ] || exit 0; \
	if [ "$$(id -u)" = 0 ]; then \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing; \
	else \
	  echo "missing for some tests; install with: sudo apt-get install$$missing"; \
	fi

# Builds the guests' kernel once, unless one is named or already built.
kernel:
	@$(GO) run ./integration/guest/cmd/guestkernel -missing
