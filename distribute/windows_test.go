package distribute

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/distribute/stream"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

func TestWindowsAreComparedWithTheMasterThatHoldsThem(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	server := rdb.Server{Addr: "a:1", UsedMemory: 60 * mib, MaxMemory: 100 * mib}
	for name, c := range map[string]struct {
		channels []ChannelInfo
		full     bool
	}{
		"no channel":   {nil, false},
		"fits":         {[]ChannelInfo{{Window: 40 * mib}}, false},
		"partly used":  {[]ChannelInfo{{Window: 60 * mib, Bytes: 30 * mib}}, false},
		"too large":    {[]ChannelInfo{{Window: 41 * mib}}, true},
		"two together": {[]ChannelInfo{{Window: 30 * mib}, {Window: 30 * mib}}, true},
	} {
		got := compareWindows(server, c.channels)
		if (got != nil) != c.full || got != nil && (got.Server != "a:1" || got.Channels != len(c.channels) || got.MaxMemory != 100*mib || got.Used != 60*mib) {
			t.Errorf("%s: %+v, want an error: %t", name, got, c.full)
		}
	}
	server.MaxMemory = 0
	if got := compareWindows(server, []ChannelInfo{{Window: 1 << 40}}); got != nil {
		t.Errorf("without maxmemory: %v", got)
	}
}

func TestKeysOfAChannelLieOnOneOfTheServers(t *testing.T) {
	t.Parallel()
	for name, db := range map[string]*rdb.DB{"redis": redistest.DB(t), "cluster": redistest.ClusterDB(t)} {
		servers, err := db.Servers(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		addr, err := db.MasterOf(t.Context(), channelKeys(db.Prefix(), "web").channel())
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, server := range servers {
			if server.Addr == addr {
				found++
			}
		}
		if found != 1 || (addr == "") != (name == "redis") {
			t.Errorf("%s: the channel is on %q, which %d of %d servers are", name, addr, found, len(servers))
		}
	}
}

// zstdFile writes a file whose frame needs a window of 8 MiB.
func zstdFile(t *testing.T, name string, content []byte) string {
	t.Helper()
	frame := []byte("\x28\xb5\x2f\xfd\x00\x68")
	for block := range slices.Chunk(content, 64<<10) {
		header := len(block) << 3 // not compressed
		frame = append(append(frame, byte(header), byte(header>>8), byte(header>>16)), block...)
	}
	frame = append(frame, 1, 0, 0) // the last block
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, frame, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFileWithoutRoomForItsWindowIsCountedLater(t *testing.T) {
	t.Parallel()
	channel := openWeb(t, redistest.URL(t))
	line := []byte("8.8.8.8 2026-11-01\n")
	shipped(t, channel, nil, zstdFile(t, "a.log", bytes.Repeat(line, 1000)))
	shipped(t, channel, nil, zstdFile(t, "b.log", bytes.Repeat([]byte("8.8.4.4 2026-11-01\n"), 2000)))
	small := logFile(t, "c.log", 1)
	shipped(t, channel, nil, small)
	events := make(chan Event, 10)
	config := &WorkerConfig{UntilDone: true, Workers: 1, MaxWindow: 15 << 20, Notify: func(e Event) { events <- e }}
	worker, err := NewWorker(t.Context(), channel, "s", newCounting(t, nil), config)
	if err != nil {
		t.Fatal(err)
	}
	packed, err := os.ReadFile(zstdFile(t, "d.log", line))
	if err != nil {
		t.Fatal(err)
	}
	other, err := stream.Zstd.Inflate(bytes.NewReader(packed), stream.Decoding{Windows: worker.windows})
	if err == nil {
		_, err = io.Copy(io.Discard, other)
	}
	if err != nil {
		t.Fatal(err)
	}
	tries := &fetchHook{}
	channel.db.AddHook(tries)
	var working sync.WaitGroup
	working.Go(func() {
		if result, err := worker.Work(t.Context()); err != nil || result.Tally.Lines != 3002 || result.Tally.Files != 3 {
			t.Errorf("%+v, %v", result.Tally, err)
		}
	})
	select {
	case e := <-events:
		if e.Kind != EventCounted || e.File != small {
			t.Errorf("%+v, want the small file behind the others to be counted", e)
		}
	case <-time.After(20 * time.Second):
		t.Error("the small file behind the others is not counted")
		worker.Stop()
	}
	if n := tries.n.Load(); n > 10 {
		t.Errorf("%d fetches: files without room are tried again and again", n)
	}
	_ = other.Close()
	working.Wait()
}

// A fetchHook counts the parts of segments that are fetched.
type fetchHook struct{ n atomic.Int64 }

func (h *fetchHook) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (h *fetchHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (h *fetchHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, commands []redis.Cmder) error {
		for _, command := range commands {
			if command.Name() == "getrange" {
				h.n.Add(1)
			}
		}
		return next(ctx, commands)
	}
}

// The oldest file may always hold its reserve: what is left of it is no room for others.
func TestStatusHasTheShippersThatWaitForRoom(t *testing.T) {
	t.Parallel()
	s := newScriptRunner(t, redistest.DB(t))
	look := func(wantFull bool, wantWaiting int) {
		t.Helper()
		if status, err := s.c.Status(t.Context()); err != nil || status.Full() != wantFull || status.ShippersWaiting != wantWaiting {
			t.Errorf("full %t, %d waiting, want %t, %d; %v", status.Full(), status.ShippersWaiting, wantFull, wantWaiting, err)
		}
	}
	for _, shipper := range []string{"a", "b", "dead"} {
		s.begin(shipper)
	}
	const cost, left = 1 << 20, testWindow - 1<<20
	s.admitReserve("a", "f", "", 0, cost, 1<<21)
	look(false, 0)
	s.do([]any{"HSET", s.k.channel(), "used", testWindow - cost*3/2}) // room for a segment, but not beside the reserve
	look(true, 0)
	if answer := s.admitFile("b", "g", "f", 0, cost); answer != fmt.Sprintf("[full %d]", testWindow-cost*3/2) {
		t.Fatal(answer)
	}
	look(true, 1)
	s.do([]any{"ZADD", s.k.line(), 5, "dead"}, []any{"ZADD", s.k.leases(), 1, "dead"})
	look(true, 1)
	s.do([]any{"HSET", s.k.channel(), "used", testWindow})
	if answer := s.book("a", 1, left); answer != fmt.Sprintf("[full %d]", testWindow) {
		t.Fatal(answer)
	}
	look(true, 2)
}
