# Everything a contributor types. `make check` is what CI runs.
GOLANGCI := go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
FUZZTIME ?= 10s

.PHONY: build test test-python race lint layering tidy check test-e2e bench fuzz

build: ## the command, in ./bin
	go build -o bin/harness ./cmd/harness

test: ## every test
	go test ./...

test-python: ## the Python client's wheel against the real server; skips where python3 has no pip
	./clients/python/test.sh

race: ## every test under the race detector, heavy sweeps shortened
	go test -race -short -timeout 40m ./...

lint:
	$(GOLANGCI) run ./...

layering:
	go test -count=1 -run TestLayering ./internal

tidy:
	go mod tidy -diff

check: tidy layering lint test race

test-e2e: build ## every test and the heavy checks: soak, real models, services, libraries; lists what was skipped and why
	@status=0; \
	go run ./scripts/e2e -- -timeout 60m || status=1; \
	HARNESS_E2E=1 HARNESS_TORCH=install ./clients/python/test.sh || status=1; \
	exit $$status

bench: ## the table in docs/performance.md
	go run ./scripts/mkbench

fuzz: ## each fuzz target for FUZZTIME
	./scripts/fuzz.sh $(FUZZTIME)
