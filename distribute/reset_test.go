package distribute_test

import (
	"errors"
	"testing"

	"skidway/distribute"
	"skidway/internal/redistest"
)

func TestFilesAreCountedAgainAfterAReset(t *testing.T) {
	t.Parallel()
	channel, content := open(t, redistest.DB(t)), content(1, 500)
	file := write(t, t.TempDir(), "a.log", content)
	for _, subscriber := range []string{"s", "other"} {
		if err := channel.Subscribe(t.Context(), subscriber, ""); err != nil {
			t.Fatal(err)
		}
	}
	ship(t, channel, file)
	work(t, channel, "s")
	if err := channel.Reset(t.Context(), "s"); !errors.Is(err, distribute.ErrFilesInRedis) {
		t.Errorf("while another subscriber has not counted it: %v", err)
	}
	same(t, counted(t, channel, "s"), reference(t, content))
	work(t, channel, "other")
	for range 2 {
		if err := channel.Reset(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
		same(t, counted(t, channel, "s"), reference(t))
		ship(t, channel, file)
		work(t, channel, "s")
		work(t, channel, "other")
		same(t, counted(t, channel, "s"), reference(t, content))
		sameVisitors(t, channel, "s", reference(t, content))
		same(t, counted(t, channel, "other"), reference(t, content))
	}
	if err := channel.Reset(t.Context(), "none"); !errors.Is(err, distribute.ErrNoSubscriber) {
		t.Error(err)
	}
}

// The shipper has read that the subscriber has counted the first lines, when it is reset.
func TestShipperThatPlannedBeforeAResetShipsTheWholeFile(t *testing.T) {
	t.Parallel()
	url, folder := redistest.URL(t), t.TempDir()
	channel, first, rest := open(t, redistest.Open(t, url)), content(1, 500), content(2, 100)
	if err := channel.Subscribe(t.Context(), "s", ""); err != nil {
		t.Fatal(err)
	}
	ship(t, channel, write(t, folder, "a.log", first))
	work(t, channel, "s")
	hook := &recordHook{call: func() {
		if err := channel.Reset(t.Context(), "s"); err != nil {
			t.Error(err)
		}
	}}
	hook.armed.Store(true)
	db := redistest.Open(t, url)
	db.AddHook(hook)
	ship(t, open(t, db), write(t, folder, "a.log", append(first, rest...)))
	work(t, channel, "s")
	same(t, counted(t, channel, "s"), reference(t, append(first, rest...)))
	if hook.armed.Load() {
		t.Error("the shipper read no record")
	}
}
