package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// startRedis starts a redis-server for one test and returns the URL of its database.
func startRedis(t *testing.T) (string, *redis.Client) {
	t.Helper()
	folder, err := os.MkdirTemp("", "peerbench-") // t.TempDir may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	socket := filepath.Join(folder, "redis.sock")
	server := exec.Command("redis-server", "--port", "0", "--unixsocket", socket, "--dir", folder,
		"--save", "", "--appendonly", "no", "--loglevel", "warning")
	if err := server.Start(); err != nil {
		t.Fatalf("these tests need redis-server: %v", err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	client := redis.NewClient(&redis.Options{Network: "unix", Addr: socket})
	t.Cleanup(func() { _ = client.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for client.Ping(ctx).Err() != nil {
		if err := pause(ctx, 5*time.Millisecond); err != nil {
			t.Fatalf("redis-server did not answer within 20 s: %v", err)
		}
	}
	return "unix://" + socket, client
}

// measure runs the command with JSON output and decodes it.
func measure(t *testing.T, args ...string) map[string]any {
	t.Helper()
	var out, progress bytes.Buffer
	if err := run(t.Context(), append(args, "--json"), &out, &progress); err != nil {
		t.Fatalf("%v\n%s", err, progress.String())
	}
	values := map[string]any{}
	if err := json.Unmarshal(out.Bytes(), &values); err != nil {
		t.Fatal(err)
	}
	return values
}

func TestEveryFigureIsMeasuredAndNothingIsLeft(t *testing.T) {
	t.Parallel()
	url, client := startRedis(t)
	values := measure(t, "--redis", url, "--jobs", "200", "--samples", "2", "--delayed", "50", "--rounds", "1", "--idle-for", "2s")
	for _, key := range []string{
		"enqueue_per_s", "drain_per_s", "steady_per_s", "pickup_ms_p50", "pickup_ms_p99",
		"late_ms_p99", "redis_bytes_per_job", "idle_commands_per_s",
	} {
		if value, ok := values[key].(float64); !ok || value <= 0 {
			t.Errorf("%s is %v, want a number above 0", key, values[key])
		}
	}
	if keys := client.DBSize(t.Context()).Val(); keys != 0 {
		t.Errorf("%d keys are left", keys)
	}
}

func TestOnlyChosenFiguresArePrinted(t *testing.T) {
	t.Parallel()
	url, _ := startRedis(t)
	values := measure(t, "--redis", url, "--jobs", "200", "--figures", "enqueue,memory")
	for key, want := range map[string]bool{"enqueue_per_s": true, "redis_bytes_per_job": true, "drain_per_s": false, "pickup_ms_p50": false} {
		if _, printed := values[key]; printed != want {
			t.Errorf("%s printed: %t, want %t", key, printed, want)
		}
	}
}

func TestDatabaseWithKeysIsRefusedAndKept(t *testing.T) {
	t.Parallel()
	url, client := startRedis(t)
	if err := client.Set(t.Context(), "precious", "1", 0).Err(); err != nil {
		t.Fatal(err)
	}
	err := run(t.Context(), []string{"--redis", url}, &bytes.Buffer{}, &bytes.Buffer{})
	if !errors.Is(err, errInUse) {
		t.Errorf("got %v, want %v", err, errInUse)
	}
	if client.Get(t.Context(), "precious").Val() != "1" {
		t.Error("the key is gone")
	}
}

func TestWrongUsageNamesTheFlag(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no redis":       {nil, "--redis"},
		"no jobs":        {[]string{"--redis", "redis://localhost", "--jobs", "0"}, "--jobs"},
		"unknown figure": {[]string{"--redis", "redis://localhost", "--figures", "enqueue,speed"}, `"speed"`},
		"unknown scheme": {[]string{"--redis", "http://localhost"}, "--redis"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := run(t.Context(), c.args, &bytes.Buffer{}, &bytes.Buffer{})
			var usage usageError
			if !errors.As(err, &usage) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want wrong usage that names %s", err, c.want)
			}
		})
	}
}

func TestPasswordIsNotInErrors(t *testing.T) {
	t.Parallel()
	err := run(t.Context(), []string{"--redis", "redis://:s3cret@localhost:port"}, &bytes.Buffer{}, &bytes.Buffer{})
	if err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("got %v, want an error without the password", err)
	}
}
