SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help demo example example-check test test-race soak lint fmt generate check bench fuzz ci images clean

# The packages to test: make test PKG=./fcall/... ARGS='-run Reply -v'
PKG ?= ./...
ARGS ?=

help: ## say what each target does
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile

demo: ## show the limiters at work, on the embedded engine (ARGS='--redis URL' for a real one)
	go run ./cmd/rlfunc demo $(ARGS)

example: ## start examples/chat with a Redis of its own, or that of REDIS_URL, and say where it is
	@examples/chat/start $(ARGS)

example-check: ## start examples/chat with a Redis of its own, drive it over HTTP, and check the counts
	@go test -c -o bin/example-check ./examples/chat/check
	@cd examples/chat/check && RLFUNC_REQUIRE_ENGINES=$${RLFUNC_REQUIRE_ENGINES:-redis} ../../../bin/example-check -test.v -test.timeout=3m $(ARGS)

test: ## run the tests on every engine that can be reached, and say which those were (PKG=, ARGS=)
	@.ci/test $(ARGS) $(PKG)

test-race: ## the same under the race detector
	@.ci/test -race $(ARGS) $(PKG)

soak: ## hold every engine against the models for RLFUNC_SOAK (5m), or so many histories each (100000)
	@RLFUNC_SOAK=$${RLFUNC_SOAK:-5m} .ci/test -C lua_test -count=1 -timeout=0 -run '^Test(Property|Linearizable)_' $(ARGS)

lint: ## go vet, staticcheck, gofumpt, shellcheck
	@.ci/lint

fmt: ## format the Go files with gofumpt
	go tool -modfile=.ci/tools/go.mod gofumpt -w .

generate: ## make gen/ anew from functions/
	go run ./cmd/rlfunc generate

check: ## fail if gen/ is not what functions/ make
	go run ./cmd/rlfunc generate --check

bench: ## measure what a call costs, at the server and at the caller, beside other limiters
	go run ./bench $(ARGS)

fuzz: ## run each fuzz test for FUZZTIME (10s)
	@.ci/fuzz

ci: ## all that CI checks, setting up what it needs (root on Debian installs packages)
	@.ci/run

images: ## put the server images of the tests on this Docker engine: pulled, or made from Debian's packages
	@.ci/images

clean: ## remove built files
	git clean -qfdX -- bin '*.test' '*.prof' '*.out'
