package workers_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"skidway/internal/handle"
	"skidway/internal/redistest"
	"skidway/queue"
	"skidway/workers"
)

func TestPoolWithAnInvalidFieldDoesNotRun(t *testing.T) {
	t.Parallel()
	client, err := queue.NewClient(handle.New(redistest.Open(t, "embedded:")), nil)
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string]func(*workers.Config, int){
		"Concurrency":                    func(c *workers.Config, n int) { c.Concurrency = n },
		"MaxAttempts":                    func(c *workers.Config, n int) { c.MaxAttempts = n },
		"Crashes":                        func(c *workers.Config, n int) { c.Crashes = n },
		"Lease":                          func(c *workers.Config, n int) { c.Lease = time.Duration(n) },
		"Timeout":                        func(c *workers.Config, n int) { c.Timeout = time.Duration(n) },
		"Grace":                          func(c *workers.Config, n int) { c.Grace = time.Duration(n) },
		"Drain":                          func(c *workers.Config, n int) { c.Drain = time.Duration(n) },
		"Queues[1].Weight of mail":       func(c *workers.Config, n int) { c.Queues[1].Weight = n },
		"Queues[0].Concurrency of other": func(c *workers.Config, n int) { c.Queues[0].Concurrency = n },
	}
	rapid.Check(t, func(t *rapid.T) {
		config := workers.Config{Queues: []workers.Queue{{Name: "other"}, {Name: "mail"}}}
		field := rapid.SampledFrom(slices.Sorted(maps.Keys(fields))).Draw(t, "field")
		value := rapid.IntRange(-1_000_000, -1).Draw(t, "value")
		fields[field](&config, value)
		err := workers.NewPool(client, &config).Run(t.Context())
		if !errors.Is(err, queue.ErrInvalid) || !strings.Contains(err.Error(), field+" is -") {
			t.Fatalf("%s = %d: Run returns %v", field, value, err)
		}
	})
	for _, name := range []string{"", "no name", "a/b", "tenant-[", strings.Repeat("x", 129)} {
		config := workers.Config{Queues: []workers.Queue{{Name: name}}}
		pool := workers.NewPool(client, &config)
		if err := pool.Run(t.Context()); !errors.Is(err, queue.ErrInvalid) || !strings.Contains(err.Error(), "Queues[0].Name") {
			t.Errorf("a queue named %q: Run returns %v", name, err)
		}
		if _, err := pool.Attempt(t.Context(), &queue.Job{Kind: "k", Queue: "q"}); !errors.Is(err, queue.ErrInvalid) {
			t.Errorf("a queue named %q: Attempt returns %v", name, err)
		}
		if err := pool.Stop(t.Context()); err != nil {
			t.Errorf("a queue named %q: Stop returns %v", name, err)
		}
	}
}
