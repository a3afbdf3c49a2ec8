package distribute_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"skidway/distribute"
	"skidway/internal/handle"
	"skidway/internal/processtest"
	"skidway/internal/rdb"
)

// open opens a channel for one test.
func open(t testing.TB, db *rdb.DB) *distribute.Channel {
	t.Helper()
	channel, err := distribute.Open(context.Background(), handle.New(db), "web")
	if err != nil {
		t.Fatal(err)
	}
	return channel
}

// testCuts are what the tests count by: more than one cut, so that crashes may part them.
var testCuts = &distribute.CountingConfig{By: [][]string{{"day", "country"}, {"month", "status"}, {"day"}}, Visitors: []string{"day", "country"}}

// countryDay is the aggregation that the tests use, with the embedded country
// database.
func countryDay(t testing.TB) *distribute.Counting {
	t.Helper()
	aggregation, err := distribute.NewCounting(testCuts)
	if err != nil {
		t.Fatal(err)
	}
	return aggregation
}

// packed has the results of pack, by the extension and the digest of the content: to compress takes a tenth of
// the tests' time with the race detector, and most contents are written many times.
var packed sync.Map

// pack returns content, compressed by the extension of a name: into many members for .members.gz.
func pack(t testing.TB, name string, content []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	switch filepath.Ext(name) {
	case ".gz":
		members := [][]byte{content}
		if strings.HasSuffix(name, ".members.gz") {
			members = slices.Collect(slices.Chunk(content, 30_000))
		}
		w := gzip.NewWriter(&out)
		for _, member := range members {
			w.Reset(&out)
			_, _ = w.Write(member)
			_ = w.Close()
		}
	case ".zst":
		w, err := zstd.NewWriter(&out)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = w.Write(content)
		_ = w.Close()
	default:
		return content
	}
	return out.Bytes()
}

// write writes a file into the test's folder, compressed as [pack] does.
func write(t testing.TB, folder, name string, content []byte) string {
	t.Helper()
	_, extension, _ := strings.Cut(name, ".")
	key := [2]any{extension, sha256.Sum256(content)}
	text, found := packed.Load(key)
	if !found {
		text = pack(t, name, content)
		if n := len(text.([]byte)); n < len(content) && n < 1<<20 {
			packed.Store(key, text)
		}
	}
	path := filepath.Join(folder, name)
	if err := os.WriteFile(path, text.([]byte), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// ship ships files and fails the test if one is not shipped.
func ship(t testing.TB, channel *distribute.Channel, paths ...string) []distribute.ShippedFile {
	t.Helper()
	results, err := distribute.NewShipper(channel, nil).Ship(context.Background(), paths)
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
	return workFor(t, channel, subscriber, countryDay(t))
}

// workFor is work with an aggregation.
func workFor(t testing.TB, channel *distribute.Channel, subscriber string, aggregation distribute.Aggregation) distribute.WorkResult {
	t.Helper()
	worker, err := distribute.NewWorker(context.Background(), channel, subscriber, aggregation, &distribute.WorkerConfig{UntilDone: true, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	result, err := worker.Work(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// testLease is short, so that what dead processes hold is free soon.
const testLease = 300 * time.Millisecond

func TestMain(m *testing.M) { processtest.Main(m, shipOrWork) }

// A processPlan is the configuration of a shipper or worker process.
type processPlan struct {
	Role   string // "ship", "ship beside workers", "work", "work in parts", or "work on" until it is killed; "import" or "reset" of s
	URL    string
	Args   []string // the files, or the subscribers; with "import" and "reset" first the prefix of keys
	Signal processtest.CommandSignal
}

// shipOrWork is the program of such a process.
func shipOrWork() error {
	var plan processPlan
	if err := json.Unmarshal([]byte(os.Args[1]), &plan); err != nil {
		return err
	}
	ctx := context.Background()
	var options rdb.Options
	if plan.Role == "import" || plan.Role == "reset" {
		options.Prefix = plan.Args[0]
	}
	db, err := rdb.Open(ctx, plan.URL, options)
	if err != nil {
		return err
	}
	db.AddHook(plan.Signal.Hook())
	channel, err := distribute.Open(ctx, handle.New(db), "web")
	if err != nil {
		return err
	}
	switch plan.Role {
	case "import":
		text, err := os.ReadFile(plan.Args[1])
		if err == nil {
			_, _, err = channel.Import(ctx, "s", bytes.NewReader(text))
		}
		return err
	case "reset":
		return channel.Reset(ctx, "s")
	}
	if plan.Role == "ship" || plan.Role == "ship beside workers" {
		config := &distribute.ShipperConfig{Lease: testLease}
		if plan.Role != "ship" { // a pause of the machine must not end the lease: workers until all is done would give up
			config.Lease = distribute.DefaultLease
		}
		results, err := distribute.NewShipper(channel, config).Ship(ctx, plan.Args)
		for _, r := range results {
			err = errors.Join(err, r.Err)
		}
		return err
	}
	aggregation, err := distribute.NewCounting(testCuts)
	if err != nil {
		return err
	}
	filtered, err := distribute.NewCounting(filteredCuts)
	if err != nil {
		return err
	}
	wide, err := dimensionCuts()
	if err != nil {
		return err
	}
	dimensions, err := distribute.NewCounting(wide)
	if err != nil {
		return err
	}
	of := func(subscriber string) distribute.Aggregation {
		switch subscriber {
		case filteredName:
			return filtered
		case dimensionsName:
			return dimensions
		}
		return aggregation
	}
	config := &distribute.WorkerConfig{Lease: testLease, UntilDone: plan.Role != "work on", Workers: 2}
	if plan.Role == "work in parts" {
		runtime.GOMAXPROCS(8) // more than files need
		config.CommitBytes = partSize
	}
	worker, err := distribute.NewWorker(ctx, channel, plan.Args[0], of(plan.Args[0]), config)
	for _, subscriber := range plan.Args[1:] {
		if err == nil {
			err = worker.AddSubscriber(ctx, subscriber, of(subscriber))
		}
	}
	if err != nil {
		return err
	}
	_, err = worker.Work(ctx)
	return err
}

// start starts a process.
func start(t testing.TB, plan processPlan) *processtest.Process {
	t.Helper()
	text, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	return processtest.Start(t, processtest.Command(t, string(text)))
}

// run runs a process to its end, which must be a good one.
func run(t testing.TB, url, role string, args ...string) {
	t.Helper()
	if start(t, processPlan{Role: role, URL: url, Args: args}).Check() {
		t.Error("the process was killed")
	}
}
