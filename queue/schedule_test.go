package queue

import (
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// offlineQueue returns a queue of a client without a Redis.
func offlineQueue(t testing.TB) *Queue {
	t.Helper()
	c := &Client{config: Config{MaxPayload: DefaultMaxPayload, PackFrom: 100}, queues: map[string]*Queue{}}
	q, err := c.Queue("q")
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func TestScheduleRecordKeepsEveryField(t *testing.T) {
	t.Parallel()
	q := offlineQueue(t)
	rapid.Check(t, func(t *rapid.T) {
		want := CronSchedule{
			Name: rapid.StringMatching(`[a-z.]{1,9}`).Draw(t, "name"), Expr: rapid.StringN(1, 40, maxScheduleExpr).Draw(t, "expr"),
			Zone: rapid.SampledFrom([]string{"UTC", "Europe/Berlin"}).Draw(t, "zone"), Queue: "q", Kind: "k",
			Args:    rapid.SliceOfN(rapid.Byte(), 1, 300).Draw(t, "args"),
			CatchUp: rapid.SampledFrom([]CatchUp{CatchUpNone, CatchUpLast, CatchUpAll}).Draw(t, "policy"),
			Options: Options{
				Priority: rapid.SampledFrom([]Priority{Low, Normal, High}).Draw(t, "priority"), MaxAttempts: rapid.IntRange(0, 9).Draw(t, "attempts"),
				Timeout: time.Duration(rapid.IntRange(0, 9000).Draw(t, "timeout")) * time.Millisecond,
				Retain:  time.Duration(rapid.IntRange(0, 9000).Draw(t, "retain")) * time.Millisecond,
			},
			Revision: rapid.IntRange(0, 1<<30).Draw(t, "revision"),
		}
		record, err := q.encodeSchedule(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := q.decodeSchedule(want.Name, record)
		if err != nil || !got.sameContent(want) || got.Revision != want.Revision {
			t.Fatalf("%+v came back as %+v, %v", want, got, err)
		}
	})
}

func FuzzScheduleRecord(f *testing.F) {
	q := offlineQueue(f)
	record, err := q.encodeSchedule(CronSchedule{Name: "a", Expr: "* * * * *", Queue: "q", Kind: "k", Revision: 3})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(record)
	f.Add("1n4:kind1:k4:expr1:*4:zone3:UTC8:catch_up4:some")
	f.Add("2n")
	f.Fuzz(func(t *testing.T, record string) {
		s, err := q.decodeSchedule("a", record)
		if err != nil {
			return
		}
		// A schedule that was read is the same after storing and reading it.
		again, err := q.encodeSchedule(s)
		if err != nil {
			if errors.Is(err, ErrInvalid) {
				return // a job in Redis may break rules that Enqueue has
			}
			t.Fatal(err)
		}
		other, err := q.decodeSchedule("a", again)
		if err != nil {
			t.Fatalf("%q was read, its record %q is not: %v", record, again, err)
		}
		third, err := q.encodeSchedule(other)
		if err != nil || third != again {
			t.Fatalf("%q became %q and then %q (%v)", record, again, third, err)
		}
	})
}

func FuzzFirings(f *testing.F) {
	f.Add("1795299599000 1795299599002 n1795299599002-0\n1795299598000 1795299598001 =n5-0\n1 2 n3-0 TOKEN")
	f.Fuzz(func(t *testing.T, text string) {
		for _, firing := range parseFirings("q", text) {
			if (firing.JobID == "") == (firing.HeldBy == "") {
				t.Fatalf("%q gave %+v", text, firing)
			}
		}
	})
}
