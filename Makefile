SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help demo example example-check quick test test-all test-race redis-suite soak lint fmt generate check bench fuzz ci images release clean

# The packages to test, the longest first: make test PKG=./fcall/... ARGS='-run Reply -v'
PKG ?= ./lua_test/steps ./lua_test/internal/faults ./cmd/rlfunc ./guard ./examples ./lua_test/property ./loader ./...
ARGS ?=

help: ## say what each target does
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile

demo: ## show the limiters at work, on the embedded engine
	@. .ci/env && go run ./cmd/rlfunc/internal/demo/play

example: ## start examples/chat with its own Redis, or that of REDIS_URL, and print its address
	@examples/chat/start $(ARGS)

example-check: ## start examples/chat with its own Redis, send it requests, and check the counts
	@. .ci/env && go test -c -o bin/example-check ./examples/chat/check
	@cd examples/chat/check && RLFUNC_REQUIRE_ENGINES=$${RLFUNC_REQUIRE_ENGINES:-redis} ../../../bin/example-check -test.v -test.timeout=3m $(ARGS)

quick: ## run the tests on the embedded engine only
	@RLFUNC_ENGINES=embedded .ci/test -short $(ARGS) $(PKG)

test: ## run all but the longest tests on the embedded engine and one real server, and say what did not run (PKG=, ARGS=)
	@.ci/test -short $(ARGS) $(PKG)

test-all: ## run all tests on every server that this machine can start; make images gets them (PKG=, ARGS=)
	@RLFUNC_ENGINES=$${RLFUNC_ENGINES:-all} .ci/test $(ARGS) $(PKG)

test-race: ## run the same as make test under the race detector
	@.ci/test -race -short $(ARGS) $(PKG)

redis-suite: ## run Redis's own tests against the embedded engine (SUITE=source tree of Redis 7.0.15)
	@. .ci/env && RLFUNC_REDIS_SUITE=$(abspath $(SUITE)) go test -count=1 -timeout=0 -v $(ARGS) ./embedded/redissuite

soak: ## compare every engine with the models for RLFUNC_SOAK (5m), or for a number of histories (100000), and call functions by new sequences (RLFUNC_SEED)
	@export RLFUNC_SEED=$${RLFUNC_SEED:-$$(date +%s)} RLFUNC_SOAK=$${RLFUNC_SOAK:-5m} RLFUNC_ENGINES=$${RLFUNC_ENGINES:-all}; echo "soak: RLFUNC_SEED=$$RLFUNC_SEED"; \
	.ci/test -count=1 -timeout=0 -run '^Test(Property|Linearizable|Contract)_' $(ARGS) ./lua_test/property ./lua_test/steps

lint: ## run go vet, staticcheck, gofumpt and shellcheck
	@.ci/lint

fmt: ## format the Go files with gofumpt
	go tool -modfile=.ci/tools/go.mod gofumpt -w .

generate: ## generate gen/ from functions/
	@. .ci/env && go run ./cmd/rlfunc generate

check: ## fail if gen/ differs from what functions/ generates, or functions do not keep what their headers say
	@. .ci/env && go build -o bin/rlfunc ./cmd/rlfunc && bin/rlfunc generate --check && bin/rlfunc vet --run

bench: ## measure what a call costs the server and the client, compared with other limiters
	go -C bench run . $(ARGS)

fuzz: ## run each fuzz test, and compare the embedded engine with real servers, for FUZZTIME (10s) each
	@.ci/fuzz

ci: ## run all checks of CI, and install what they need (root on Debian installs packages)
	@.ci/run

images: ## put the server images of the tests on this Docker engine: pulled, or made from Debian's packages
	@.ci/images

release: ## build the binaries and notes of VERSION into bin/release
	@.ci/release $(VERSION)

clean: ## remove built files
	git clean -qfdX -- bin '*.test' '*.prof' '*.out'
