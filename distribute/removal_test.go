package distribute

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"skidway/internal/handle"
	"skidway/internal/redistest"
)

// A process that completes a removal late does not touch a new subscriber of the name.
func TestRemovalThatIsCompleteSparesTheNextSubscriber(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c, err := Open(ctx, handle.New(redistest.DB(t)), "web")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Subscribe(ctx, "s", "words"); err != nil {
		t.Fatal(err)
	}
	removal, err := c.files.beginRemoval(ctx, "s")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Subscribe(ctx, "s", "words"); err != nil { // completes it first
		t.Fatal(err)
	}
	if err := c.files.completeRemoval(ctx, removal); err != nil {
		t.Fatal(err)
	}
	if _, err := c.chat.Pending(ctx, c.chatID(), memberName("s"), 0, 1); err != nil {
		t.Error(err)
	}
}

// A process that ends after any of its commands is one that was killed.
func TestReportHasAllOrNothingOfAResetWheneverAProcessIsKilled(t *testing.T) {
	t.Parallel()
	url := redistest.URL(t)
	s := newScriptRunner(t, redistest.Open(t, url))
	begun := 0
	for n, done := 1, false; !done; n += 3 {
		s.do([]any{"FLUSHDB"}, []any{"HSET", s.k.channel(), "v", formatVersion, "window", testWindow})
		countedFile(s)
		s.fold("US")
		s.do([]any{"SET", s.k.subscriber("s").visitorsOf("2026-11-01"), "sketch"}, []any{"ZADD", s.k.subscriber("s").visitors(), 0, "2026-11-01"})
		killed, kill := context.WithCancel(t.Context())
		db, left := redistest.Open(t, url), n
		db.AddHook(afterEach{func() {
			if left--; left <= 0 {
				kill()
			}
			at, err := s.c.totals("s").snapshot(t.Context(), time.Millisecond)
			if !errors.Is(err, errReset) && (err != nil || at.fields["lines"] != "5" && at.fields["epoch"] != "1") {
				t.Errorf("command %d: %v %v", n-left, at.fields, err)
			}
			if err == nil && at.fields["epoch"] == "1" {
				s.isReset(1)
			}
		}})
		done = newChannel(db, "web").Reset(killed, "s") == nil
		kill()
		epoch := s.field(s.k.subscriber("s").record(), "epoch")
		report, err := s.c.Report(t.Context(), "s", nil)
		switch {
		case err != nil:
			t.Fatal(err)
		case epoch == "1":
			s.isReset(1)
			begun++
			if report.Subscriber.Tally != (Tally{}) || len(report.Tables[0].Rows) != 0 {
				t.Errorf("%d: %+v", n, report)
			}
		case report.Subscriber.Tally.Lines != 5 || done:
			t.Errorf("%d: %+v", n, report.Subscriber.Tally)
		}
	}
	if begun < 3 {
		t.Errorf("killed %d times after the reset began", begun)
	}
}

// isReset fails the test unless nothing is left of an earlier epoch.
func (s scriptRunner) isReset(resets int) {
	s.t.Helper()
	if left := s.c.db.Keys(s.t.Context(), s.k.subscriber("s").record()+":*").Val(); len(left) > 1 || len(left) == 1 && left[0] != s.k.subscriber("s").readers() {
		s.t.Errorf("left: %s", left)
	}
	if fields := s.c.db.HKeys(s.t.Context(), s.k.file("f")).Val(); slices.ContainsFunc(fields, func(f string) bool { return strings.HasSuffix(f, ":s") }) {
		s.t.Errorf("left: %s", fields)
	}
	if got, err := s.c.files.completeResets(s.t.Context()); err != nil || got != int64(resets) {
		s.t.Errorf("%d resets, %v", got, err)
	}
}
