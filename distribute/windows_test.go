package distribute

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

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
	worker, err := NewWorker(t.Context(), channel, "s", newCountryDay(t, nil), &WorkerConfig{UntilDone: true, Workers: 1, MaxWindow: 15 << 20})
	if err != nil {
		t.Fatal(err)
	}
	packed, err := os.ReadFile(zstdFile(t, "c.log", line))
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
	for range 2 { // it can be claimed again
		claims, err := worker.next(t.Context())
		if err != nil || len(claims) != 1 {
			t.Fatalf("%d claims, %v", len(claims), err)
		}
		if err := worker.process(t.Context(), claims); !errors.Is(err, stream.ErrWindowsInUse) {
			t.Errorf("beside another file: %v", err)
		}
	}
	worker.detoured.Store(0)
	if err := worker.detour(t.Context(), 0, nil); err != nil {
		t.Errorf("counted in between: %v", err)
	}
	_ = other.Close()
	if result, err := worker.Work(t.Context()); err != nil || result.Tally.Lines != 3000 || result.Tally.Files != 2 {
		t.Errorf("%+v, %v", result.Tally, err)
	}
}
