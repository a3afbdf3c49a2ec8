package distribute_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"skidway/distribute"
	"skidway/internal/rdb"
)

// open opens a channel for one test.
func open(t testing.TB, db *rdb.DB) *distribute.Channel {
	t.Helper()
	channel, err := distribute.Open(context.Background(), db, "web")
	if err != nil {
		t.Fatal(err)
	}
	return channel
}

// countryDay is the aggregation that the tests use, with the embedded country
// database.
func countryDay(t testing.TB) *distribute.CountryDay {
	t.Helper()
	aggregation, err := distribute.NewCountryDay(distribute.CountryDayConfig{})
	if err != nil {
		t.Fatal(err)
	}
	return aggregation
}

// write writes a file into the test's folder, compressed as its name says.
func write(t testing.TB, folder, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(folder, name)
	var packed bytes.Buffer
	switch filepath.Ext(name) {
	case ".gz":
		w := gzip.NewWriter(&packed)
		_, _ = w.Write(content)
		_ = w.Close()
	case ".zst":
		w, err := zstd.NewWriter(&packed)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = w.Write(content)
		_ = w.Close()
	default:
		packed.Write(content)
	}
	if err := os.WriteFile(path, packed.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// ship ships files and fails the test if one is not shipped.
func ship(t testing.TB, channel *distribute.Channel, paths ...string) []distribute.ShippedFile {
	t.Helper()
	results, err := distribute.NewShipper(channel, distribute.ShipperConfig{}).Ship(context.Background(), paths)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	return results
}

// work counts until all is done.
func work(t testing.TB, channel *distribute.Channel, subscriber string) distribute.WorkResult {
	t.Helper()
	worker, err := distribute.NewWorker(context.Background(), channel, subscriber, countryDay(t), distribute.WorkerConfig{UntilDone: true, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	result, err := worker.Work(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return result
}
