# `make help` lists what there is. Every target does its own set-up.
SHELL := /bin/sh
GO ?= go
# The race detector needs a C compiler; without one the tests run without it.
RACE := $(if $(shell command -v $${CC:-gcc} cc 2>/dev/null),-race,)
ARGS ?=
FUZZTIME ?= 30s

.DEFAULT_GOAL := help
.PHONY: help run dev test clients check lint generated fuzz bench update clean setup build portal screenshots

# The portal is built again when something it is made of is newer.
PORTAL := web/dist/app/index.html
PORTAL_SOURCES := $(shell find web/src web/public -type f) $(wildcard web/*.json web/*.ts web/index.html) docs/clients.md

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## install what running and testing need and this machine lacks
	@command -v $(GO) >/dev/null 2>&1 || { echo "install Go 1.26 or later: https://go.dev/dl" >&2; exit 1; }
	@sh dev/install-postgres.sh

$(PORTAL): $(PORTAL_SOURCES)
	@sh web/install.sh
	cd web && npm run --silent build -- --logLevel warn
	@touch $@

portal: $(PORTAL) ## build the portal that the binary embeds

build: portal ## build bin/spillway
	@mkdir -p bin
	$(GO) build -trimpath -o bin/spillway ./cmd/spillway

run: setup build ## run the whole product; flags in ARGS, e.g. make run ARGS="--nodes 2"
	@exec bin/spillway dev $(ARGS)

dev: setup build ## like run, and say all that happens
	@exec bin/spillway dev --log-level debug $(ARGS)

test: setup portal ## run every test
	@sh web/browser.sh >/dev/null
	cd web && npm run --silent types && npm test --silent
	@GO="$(GO)" RACE="$(RACE)" sh dev/test.sh

clients: setup portal ## run Claude Code, Codex and opencode against the whole product, cut off from the network
	@sh test/clients/tools/install.sh
	@sh web/browser.sh >/dev/null
	SPILLWAY_TEST_CLIENTS=1 $(GO) test -timeout 20m -count=1 ./test/clients

screenshots: setup portal ## take a picture of every page of the portal, into web/screenshots or SHOTS
	SPILLWAY_SCREENSHOTS="$(or $(SHOTS),$(CURDIR)/web/screenshots)" $(GO) test -count=1 -timeout 20m -run TestPortalScreenshots ./test/e2e

lint: ## format, vet, staticcheck, generated code, go.mod
	@out=$$(gofmt -l $$(git ls-files '*.go')); [ -z "$$out" ] || { echo "gofmt these:" >&2; echo "$$out" >&2; exit 1; }
	$(GO) vet ./...
	$(GO) tool staticcheck ./...
	@sh web/install.sh
	cd web && npm run --silent lint && npm run --silent types
	@$(MAKE) --no-print-directory generated

generated: ## prove that generated code and go.mod are current
	@sh web/install.sh
	@$(GO) generate ./openapi
	@cd web && npm run --silent generate >/dev/null
	@git diff --exit-code --stat -- api/admin web/src/api/schema.d.ts || { echo "generated code is not current: run make update and commit" >&2; exit 1; }
	@$(GO) mod tidy -diff >/dev/null || { echo "go.mod is not tidy: run make update and commit" >&2; exit 1; }

check: lint test clients ## all that CI runs

fuzz: ## run every fuzzer for FUZZTIME (30s), after the inputs that are checked in
	@GO="$(GO)" sh dev/fuzz.sh $(FUZZTIME)

bench: setup build ## compare with the baseline of test/bench; flags in ARGS
	$(GO) run ./test/bench -spillway bin/spillway $(ARGS)

update: ## generate code again and tidy go.mod
	$(GO) generate ./openapi
	$(GO) mod tidy
	@sh web/install.sh
	cd web && npm run --silent generate && npm run --silent format

clean: ## remove what the targets made; the data in ./var stays
	rm -rf bin .tools web/dist/app web/node_modules web/screenshots test/e2e/clients/node_modules test/clients/tools/node_modules
