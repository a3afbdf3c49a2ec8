package main

import (
	"encoding/json"
	"strings"
	"testing"

	"skidway/cmd/skidway/internal/cli"
)

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

func TestChatBenchRefusesWhatItCannotMeasure(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ args, want string }{
		"embedded":     {"--redis embedded:", "embedded"},
		"few messages": {"--messages 99", "--messages"},
		"no runs":      {"--runs 0", "--runs"},
		"one member":   {"--members 2,1", "numbers of 2 and more"},
		"big payload":  {"--payload 65537", "--payload"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := skidway(t, t.TempDir(), append([]string{"bench", "chat"}, strings.Fields(c.args)...)...)
			if o.code != cli.ExitUsage {
				t.Errorf("exit code %d", o.code)
			}
			hasLine(t, o.stderr, "skidway: ", c.want)
		})
	}
}
