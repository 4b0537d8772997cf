# The workshop. Every target installs or names what it lacks; nothing needs to be set up first but Go.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
SHELL := /bin/bash

LINT := .bin/golangci-lint
FUZZTIME ?= 10s

.PHONY: help
help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: ensure-postgres ensure-font ## run the service with its own database, sandboxed providers and sample books
	@scripts/build .bin/stayledger && exec .bin/stayledger demo

.PHONY: install
install: ## build stayledger into Go's folder of programs
	@bin=$$(go env GOBIN); bin=$${bin:-$$(go env GOPATH)/bin}; scripts/build "$$bin/stayledger" && \
	{ command -v stayledger >/dev/null || echo "put it on the PATH:  export PATH=\"\$$PATH:$$bin\""; }

.PHONY: test
test: ensure-tools ## run every test
	@scripts/test

.PHONY: quick
quick: ensure-lint ensure-tools ## vet, lint and test only what differs from main, and test what imports it
	@scripts/quick

.PHONY: race
race: ensure-tools ## run every test under the race detector (slow)
	@go test -race ./...

.PHONY: check
check: fmt-check lint openapi-lint test ## all that must hold before a change lands

.PHONY: fmt
fmt: ensure-lint ## format the code and sort the imports
	@$(LINT) fmt ./...
	@cd bench && ../$(LINT) fmt ./...
	@cd clients/go && ../../$(LINT) fmt ./...

.PHONY: fmt-check
fmt-check: ensure-lint
	@$(LINT) fmt --diff ./... && (cd bench && ../$(LINT) fmt --diff ./...) && cd clients/go && ../../$(LINT) fmt --diff ./... || { echo 'not formatted: run make fmt' >&2; exit 1; }

.PHONY: lint
lint: ensure-lint ## run the linters
	@$(LINT) run ./...
	@cd bench && ../$(LINT) run ./...
	@cd clients/go && ../../$(LINT) run ./...

.PHONY: books
books: ensure-postgres ensure-hledger ## let hledger recompute the demo team's books and compare
	@go test -count=1 -run Hledger ./test/books

.PHONY: nightly
nightly: ensure-postgres ensure-hledger ## the property tests of the books with 10000 cases, a year of statements of 200 listings, and 3000 histories of two systems
	@BOOKS_CASES=10000 go test -count=1 -timeout 5h ./test/books
	@PMS_HISTORIES=3000 go test -count=1 -timeout 5h -run TestBooksFollowTheWorldBehindTwoSystems ./test/pms

CHAOS ?= 10m

.PHONY: chaos
chaos: ensure-postgres ## kill processes, crash the database, take the provider away and fill the disk for ten minutes, then look for what is missing
	@CHAOS=$(CHAOS) go test -count=1 -timeout 60m -v -run TestChaos ./test/e2e

.PHONY: bench
bench: ensure-postgres ## measure against the limits, in half an hour, and keep the figures in bench/results.json; one section: make bench ONLY=posting; against another ledger: make bench ONLY=pgledger PGLEDGER=uuid-to-ulid.sql,pgledger.sql
	@cd bench && go run . $(if $(ONLY),-only $(ONLY)) $(if $(PGLEDGER),-pgledger $(PGLEDGER))

.PHONY: bench-large
bench-large: ensure-postgres ## the same with a million rows and more, which takes hours, into bench/results-large.json
	@cd bench && go run . -large $(if $(ONLY),-only $(ONLY))

.PHONY: bench-clean
bench-clean: ## remove the database of the bench with its seeds, which the next run makes anew
	@rm -rf .bench

# The packages with rules that are worth it: domain/books/ledger, domain/activity/fee, domain/settlement/statement, domain/settlement/payout, platform/money, platform/page, platform/api.
.PHONY: mutate
mutate: ensure-tools ensure-gremlins ## break the rules of PKG one by one and name those that its tests do not see: make mutate PKG=platform/money
	@test -n '$(PKG)' || { echo 'say which package: make mutate PKG=platform/money' >&2; exit 2; }
	@.bin/gremlins unleash --workers 2 --timeout-coefficient 20 --output-statuses lt './$(PKG)'

.PHONY: fuzz
fuzz: ## fuzz every parser for FUZZTIME (10s) each
	@scripts/fuzz $(FUZZTIME)

.PHONY: golden
golden: ensure-tools ## rewrite the golden files from the output of the code now; read the diff before committing
	@UPDATE_GOLDEN=1 go test -count=1 $$(git grep -l 'golden\.File(' -- '*_test.go' ':!platform/golden' | xargs -n1 dirname | sort -u | sed 's,^,./,')

.PHONY: openapi
openapi: ## write docs/openapi from the endpoints
	@go run ./cmd/stayledger openapi --by-tag docs/openapi

.PHONY: openapi-lint
openapi-lint: ## hold the description, in 3.1 and 3.0, to the rules of Redocly and Spectral, where Node is there
	@scripts/openapi-lint

.PHONY: image
image: ## build the image of the service with podman or docker, and push nothing
	@scripts/image

.PHONY: surface
surface: ## record what callers hold on to, for the newest section of the changelog, before the next one begins
	@UPDATE_SURFACE=1 go test -count=1 -run TestTheChangelogNamesWhatCallersHoldOnTo ./app

.PHONY: clients
clients: ## write the generated files of the Go and TypeScript clients from the endpoints
	@scripts/clients

.PHONY: clients-check
clients-check: ## generate clients with five generators, compile them, and print sizes and times
	@scripts/clients-check

.PHONY: migration
migration: ## start the next migration: make migration NAME=guest_deposit
	@scripts/migration '$(NAME)'

# Other programs that the tests drive: the databases, an object store, an independent accounting program, readers of PDFs, a browser.
.PHONY: ensure-tools
ensure-tools:
	@scripts/ensure postgres pgbouncer versitygw hledger poppler qpdf font chromium client-packages

.PHONY: ensure-postgres ensure-lint ensure-hledger ensure-font ensure-gremlins
ensure-postgres ensure-lint ensure-hledger ensure-font ensure-gremlins: ensure-%:
	@scripts/ensure $*
