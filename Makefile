# `make help` lists what there is to do.
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

# The binary tells its version; a tree without history says "devel".
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
LDFLAGS := -X main.version=$(VERSION)
BUILDFLAGS ?= -trimpath

# A process with the race detector sleeps for a second before it ends, and tests start many.
export GORACE ?= atexit_sleep_ms=20

# How long each fuzz target runs: a few seconds in CI, longer by hand.
FUZZTIME ?= 60s

# How long each of the tests that go on with other random numbers does so in make chaos.
CHAOS ?= 5m

.PHONY: help build demo test oldest race race-libraries race-command s3 lint bench bench-peer bench-compare fuzz chaos mutate geoip crawlers worldmap ci redis chromium

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build bin/skidway
	go build $(BUILDFLAGS) -ldflags '$(LDFLAGS)' -o bin/skidway ./cmd/skidway

demo: build ## count made-up logs with the embedded Redis, and write a page; needs nothing but Go
	@./scripts/demo.sh

redis:
	@./internal/redistest/install.sh

chromium:
	@./scripts/chromium.sh

test: redis chromium ## run all tests against real Redis servers that they start
	go test ./...

oldest: redis chromium ## run all tests with the Go release that go.mod names
	GOTOOLCHAIN=go$$(sed -n 's/^go //p' go.mod) go test ./...

race: redis chromium ## run all tests with the race detector
	go build -race ./... # once, for both
	@$(MAKE) --no-print-directory -j 2 race-libraries race-command

# They are not vetted: lint does that.
RACE = go test -race -vet=off -timeout 30m $(if $(KEEP),-count 1 -exec $(CURDIR)/scripts/keeptest.sh)

race-libraries:
	$(RACE) $$(go list ./... | grep -v /cmd/skidway)

race-command: # most of its tests wait for processes
	$(RACE) -parallel 6 ./cmd/skidway/...

# versitygw takes minutes to build the first time; afterwards Go's cache has it.
s3: build ## test the reading of buckets against a versitygw that it builds
	go build -C distribute/s3/versitygw -o ../../../bin/versitygw github.com/versity/versitygw/cmd/versitygw
	go test -race -timeout 5m -tags versitygw -run Gateway ./distribute/s3

# With -race it reads what the race tests compile. Compilers collect garbage less often: a fifth of their time.
lint: export GOGC ?= 400
lint: ## formatting, vet, staticcheck, luacheck of the scripts
	@test -z "$$(gofmt -l .)" || { echo "gofmt would change:"; gofmt -l .; exit 1; }
	go vet -race ./...
	go vet -C cmd/peerbench -race ./...
	go vet -race -tags versitygw ./distribute/s3
	@bin=$$(mktemp -d) && trap 'rm -rf "$$bin"' EXIT && \
		GOBIN=$$bin go install $(STATICCHECK) && GOFLAGS=-race $$bin/staticcheck ./...
	@./internal/rdb/luacheck.sh

bench: build redis ## measure this machine: logs, the queue and chats, beside bare loops
	@./scripts/bench.sh

bench-peer: build redis ## measure the queue and asynq in turn (20 minutes)
	@./scripts/benchpeer.sh

bench-compare: redis ## fail if a figure lost MAX_LOSS (5) % since BASE=COMMIT, in PAIRS (10) of runs (half an hour)
	go run ./scripts/benchcompare -base '$(BASE)' $(if $(MAX_LOSS),-max-loss $(MAX_LOSS)) $(if $(PAIRS),-pairs $(PAIRS))

fuzz: ## run every fuzz target for FUZZTIME (60s)
	@./scripts/fuzz.sh $(FUZZTIME)

chaos: export SKIDWAY_CHAOS = $(CHAOS)
chaos: redis ## strike workers, Redis and the network: CHAOS (5m) a test, 90 minutes in all (SKIDWAY_CHAOS_SEED=N)
	go test -race -timeout 2h -run 'Killed|Stopped|LostReply' ./distribute
	go test -race -timeout 2h -run EveryJob ./queue
	go test -race -timeout 2h -run 'Model|EachTimeFires' ./distribute/... ./delayed
	go test -race -timeout 2h -run 'EachDueSecond|Nightly' ./cmd/skidway
	go test -race -timeout 2h -parallel 6 -run 'Chaos|Failover|Outage|Killed|Stopped|Blocked|Poison|LostReply|SlowConnection|OnACluster|OfACluster' ./workers
	go test -race -timeout 2h -run ManyQueuesStart ./workers # times, which others would change

mutate: redis ## break each rule in a copy of the tree: a test must fail (ONLY=ID,... TESTS=REGEXP JOBS=N)
	go run ./scripts/mutate $(if $(ONLY),-only $(ONLY)) $(if $(TESTS),-tests '$(TESTS)') $(if $(JOBS),-jobs $(JOBS))

crawlers: ## build the embedded list of crawlers anew (needs npm)
	go run ./distribute/accesslog/agents/generate

worldmap: ## build the embedded map of the world anew (needs npm)
	go run ./distribute/worldmap/generate

geoip: ## build the embedded country database anew (needs npm)
	go run ./distribute/geo/generate

ci: lint ## all that a change must pass
	rm -rf kept.test && mkdir -p kept.test
	$(MAKE) --no-print-directory race KEEP=$(CURDIR)/kept.test
	./scripts/fuzz.sh -tests kept.test 2s
	rm -rf kept.test
	$(MAKE) demo BUILDFLAGS=-race
