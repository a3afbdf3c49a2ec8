package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"skidway/cmd/skidway/internal/cli"
	"skidway/internal/redistest"
)

// benchServer starts a server for one test: a server counts memory and commands of all
// its clients.
func benchServer(t *testing.T) (url string, client redis.UniversalClient) {
	t.Helper()
	url = redistest.Start(t).URL(0)
	return url, redistest.Open(t, url)
}

func TestQueueBenchMeasuresEveryFigureAndLeavesNothing(t *testing.T) {
	t.Parallel()
	url, client := benchServer(t)
	// Idle for longer than it is between two heartbeats.
	o := mustRun(t, t.TempDir(), "bench", "queue", "--redis", url, "--jobs", "2000", "--runs", "1",
		"--idle-for", "5s", "--aof", "--json")
	values := map[string]any{}
	put(t, json.Unmarshal([]byte(o.stdout), &values))
	golden(t, "bench_queue", keys(t, o.stdout))
	for _, key := range []string{
		"lone_enqueue_us", "bare_lone_xadd_us", "lone_enqueue_vs_xadd",
		"callers16_per_s", "bare_callers16_per_s", "callers16_vs_xadd",
		"callers64_per_s", "bare_callers64_per_s", "callers64_vs_xadd",
		"enqueue_per_s", "enqueue_batch_per_s", "drain_per_s", "drain_vs_bare", "steady_per_s",
		"delayed_enqueue_per_s", "delayed_drain_per_s", "delayed_bytes_per_job",
		"delayed_random_enqueue_per_s", "delayed_random_drain_per_s", "delayed_random_bytes_per_job",
		"pickup_ms_p50", "pickup_ms_p99", "pickup_8_pools_ms_p50", "pickup_8_pools_ms_p99",
		"pickup_20_pools_ms_p50", "pickup_20_pools_ms_p99", "late_ms_p50", "late_ms_p99",
		"redis_bytes_per_job", "pinned_bytes_per_job", "idle_commands_per_s",
		"bare_enqueue_batch_per_s", "bare_drain_per_s", "bare_fetchers",
		"enqueue_aof_per_s", "enqueue_batch_aof_per_s", "drain_aof_per_s",
		"jobs", "payload_bytes", "producers", "concurrency", "runs", "processors",
	} {
		if value, ok := values[key].(float64); !ok || value <= 0 {
			t.Errorf("%s is %v, want a number above 0", key, values[key])
		}
	}
	if keys := client.Keys(t.Context(), "*").Val(); len(keys) != 0 {
		t.Errorf("keys are left: %v", keys)
	}
	if was := client.ConfigGet(t.Context(), "appendonly").Val(); was["appendonly"] != "no" {
		t.Errorf("appendonly is %q, want it as it was", was["appendonly"])
	}
}

func TestStoppedQueueBenchLeavesNothing(t *testing.T) {
	t.Parallel()
	url, client := benchServer(t)
	p := start(t, t.TempDir(), "bench", "queue", "--redis", url)
	p.Await("run 1 of 5")
	p.Signal(interrupt)
	output, code := p.End()
	if code != cli.ExitFailed {
		t.Errorf("exit code %d", code)
	}
	hasLine(t, output, "stopped before the end, so there are no figures")
	if keys := client.Keys(t.Context(), "*").Val(); len(keys) != 0 {
		t.Errorf("keys are left: %v", keys)
	}
}

func TestChatBenchMeasuresEveryFigureAndLeavesNothing(t *testing.T) {
	t.Parallel()
	url, client := benchServer(t)
	o := mustRun(t, t.TempDir(), "bench", "chat", "--redis", url, "--members", "2,600", "--messages", "300", "--runs", "1", "--json")
	values := map[string]any{}
	put(t, json.Unmarshal([]byte(o.stdout), &values))
	positive := func(values map[string]any, key string) {
		t.Helper()
		if value, ok := values[key].(float64); !ok || value <= 0 {
			t.Errorf("%s is %v, want a number above 0", key, values[key])
		}
	}
	for key := range values {
		if strings.HasSuffix(key, "_per_s") {
			positive(values, key)
		}
	}
	groups, _ := values["groups"].([]any)
	if len(groups) != 2 {
		t.Fatalf("got %d groups", len(groups))
	}
	for _, group := range groups {
		for key := range group.(map[string]any) {
			positive(group.(map[string]any), key)
		}
	}
	if keys := client.Keys(t.Context(), "*").Val(); len(keys) != 0 {
		t.Errorf("keys are left: %v", keys)
	}
}

func TestChatBenchPrintsATable(t *testing.T) {
	t.Parallel()
	url, _ := benchServer(t)
	o := mustRun(t, t.TempDir(), "bench", "chat", "--redis", url, "--members", "2", "--messages", "100", "--runs", "1")
	hasLine(t, o.stdout, "SKIDWAY", "STREAM", "RATIO")
	hasLine(t, o.stdout, "group of 2")
	hasLine(t, o.stdout, "room: sent/s")
}

func TestBenchRefusesWhatItCannotMeasure(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"queue --redis embedded:": "embedded", "queue --jobs 99": "--jobs", "queue --payload 7": "--payload", "queue --runs 0": "--runs",
		"chat --redis embedded:": "embedded", "chat --messages 99": "--messages", "chat --runs 0": "--runs",
		"chat --members 2,1": "numbers of 2 and more", "chat --payload 65537": "--payload",
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			o := skidway(t, t.TempDir(), append([]string{"bench"}, strings.Fields(args)...)...)
			if o.code != cli.ExitUsage {
				t.Errorf("exit code %d", o.code)
			}
			hasLine(t, o.stderr, "skidway: ", want)
		})
	}
}
