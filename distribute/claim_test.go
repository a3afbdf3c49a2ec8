package distribute

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"skidway/internal/handle"
	"skidway/internal/redistest"
)

// A worker that gave up a file for an older one claims that one next, even if it has not read the
// announcement of it and has just looked at the open files.
func TestFileThatWasGivenUpIsNotClaimedBeforeTheOlderOne(t *testing.T) {
	t.Parallel()
	c, err := Open(t.Context(), handle.New(redistest.DB(t)), "web")
	if err == nil {
		err = c.Subscribe(t.Context(), "s", "words")
	}
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for _, name := range []string{"older", "newer"} {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(name+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := NewShipper(c, nil).Ship(t.Context(), []string{path}); err != nil {
			t.Fatal(err)
		}
	}
	queue := claimQueue{channel: c, subscriber: "s", lease: time.Minute, lookInterval: time.Hour, looked: time.Now()}
	next := func() *claim {
		found, err := queue.next(t.Context(), math.MaxInt64)
		if err != nil || len(found.claims) != 1 {
			t.Fatalf("%+v, %v", found, err)
		}
		if err := release(t.Context(), found.claims); err != nil {
			t.Fatal(err)
		}
		return found.claims[0]
	}
	older := next()
	queue.open = slices.DeleteFunc(queue.open, func(a announced) bool { return a.File == older.id })
	queue.older.Store(true)
	if again := next(); again.id != older.id {
		t.Error("the newer file was claimed")
	}
}

func TestChannelWhoseChatIsLostIsGone(t *testing.T) {
	t.Parallel()
	c, err := Open(t.Context(), handle.New(redistest.DB(t)), "web")
	if err == nil {
		err = c.Delete(t.Context(), true)
	}
	if err != nil {
		t.Fatal(err)
	}
	queue := claimQueue{channel: c, subscriber: "s", lastRead: 1}
	if err := queue.acknowledge(t.Context()); !errors.Is(err, ErrNoChannel) {
		t.Errorf("acknowledge: %v", err)
	}
	if err := c.announce(t.Context(), "shipper", announcement{}); !errors.Is(err, ErrNoChannel) {
		t.Errorf("announce: %v", err)
	}
	if _, err := queue.read(t.Context()); !errors.Is(err, ErrNoChannel) {
		t.Errorf("read: %v", err)
	}
}
