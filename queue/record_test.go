package queue

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func FuzzRecord(f *testing.F) {
	f.Add("2n4:kind10:email.send4:args2:{}12:max_attempts1:3")
	f.Add("2n-3:")
	f.Add("2h999999999999999999999:")
	f.Add("2l3:job10:2n4:kind1:a")
	f.Add("2n7:headers15:{\"a\":\"b\",\"c\":1}6:errors2:[]")
	f.Add("2n8:deadline16:9007199254740992")
	f.Add(`2n6:errors57:[{"attempt":1,"time":"2026-11-20T10:00:00Z","error":"no"}]8:failures75:[{"attempt":1,"worker":"w.1","started":1700000000000,"took":5,"stack":"main"}]`)
	f.Fuzz(func(t *testing.T, record string) {
		var job Job
		if job.setRecord(record) != nil {
			return
		}
		// A record that was read is the same after writing and reading it.
		again := Job{}
		if err := again.setRecord(string(job.record())); err != nil {
			t.Fatalf("%q was read, its record %q is not: %v", record, job.record(), err)
		}
		if want := stored(job); !reflect.DeepEqual(again, want) {
			t.Fatalf("%+v came back as %+v", want, again)
		}
	})
}

// stored returns the fields of a job that a record has.
func stored(job Job) Job {
	job.Ended, job.Outcome, job.Reason, job.Result = time.Time{}, "", "", nil
	if job.Unique.Key == "" {
		job.Unique = Unique{}
	}
	if len(job.Headers) == 0 {
		job.Headers = nil
	}
	if len(job.Errors) == 0 {
		job.Errors = nil
	}
	return job
}

func TestRecordKeepsEveryField(t *testing.T) {
	t.Parallel()
	millis := rapid.Int64Range(1, 1<<41)
	instant := rapid.Custom(func(t *rapid.T) time.Time { return time.UnixMilli(millis.Draw(t, "ms")) })
	rapid.Check(t, func(t *rapid.T) {
		job := Job{
			Kind: rapid.String().Draw(t, "kind"), packed: string(rapid.SliceOf(rapid.Byte()).Draw(t, "args")),
			Priority: rapid.SampledFrom([]Priority{Low, Normal, High}).Draw(t, "priority"),
			packing:  rapid.SampledFrom([]string{"", zstdPacking}).Draw(t, "packing"),
			Deadline: instant.Draw(t, "deadline"), Enqueued: instant.Draw(t, "enqueued"),
			MaxAttempts: rapid.IntRange(0, 1<<30).Draw(t, "max"), Attempts: rapid.IntRange(0, 1<<30).Draw(t, "attempts"),
			Forgiven: rapid.IntRange(0, 9).Draw(t, "forgiven"), Quarantines: rapid.IntRange(0, 9).Draw(t, "suspected"), Crashes: rapid.IntRange(0, 9).Draw(t, "crashes"),
			Timeout: time.Duration(millis.Draw(t, "timeout")) * time.Millisecond, Retain: time.Duration(millis.Draw(t, "retain")) * time.Millisecond,
			Unique:  Unique{Key: "k", Scope: ForDuration, For: time.Duration(millis.Draw(t, "for")) * time.Millisecond},
			Headers: map[string]string{"name": rapid.StringMatching(`[ -~]*`).Draw(t, "header")},
		}
		var again Job
		if err := again.setRecord(string(job.record())); err != nil || !reflect.DeepEqual(again, job) {
			t.Fatalf("%+v came back as %+v: %v", job, again, err)
		}
	})
}

func TestRecordKeepsDetailsOfFailuresBesideTheirErrors(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli(1_700_000_000_000).UTC()
	job := Job{Kind: "k", Attempts: 2, Errors: []Failure{
		{Attempt: 1, Time: at, Error: "no"},
		{Attempt: 2, Time: at, Error: "panic: no", Worker: "w.1", Started: time.UnixMilli(at.UnixMilli()), Took: 5 * time.Millisecond, Stack: "main.go:1"},
	}}
	record := string(job.record())
	var again Job
	if err := again.setRecord(record); err != nil || !reflect.DeepEqual(again.Errors, job.Errors) {
		t.Errorf("%+v came back as %+v: %v", job.Errors, again.Errors, err)
	}
	// Filters search the field errors.
	if !strings.Contains(record, `"error":"panic: no"}]8:failures`) {
		t.Errorf("the record is %s", record)
	}
	for _, damaged := range []string{"", "x", `{}`, `[{"attempt":2,"took":-1,"stack":"x"}]`, `[{"attempt":2,"started":9e18}]`, `[{"attempt":3,"stack":"x"}]`} {
		var job Job
		if err := job.setRecord(string(appendField([]byte(strings.Split(record, "8:failures")[0]), "failures", damaged))); err != nil || len(job.Errors) != 2 || job.Errors[1].Stack != "" || job.Errors[1].Took != 0 {
			t.Errorf("%s: %+v, %v", damaged, job.Errors, err)
		}
	}
}

// Nested records could be read without end.
func TestRecordsDoNotNest(t *testing.T) {
	t.Parallel()
	record := []byte("2n")
	for range 1000 {
		record = appendField([]byte("2n"), "job", record)
	}
	record = appendField(record, "kind", "a")
	record = appendField(record, "id", "n1-1")
	var job Job
	if err := job.setRecord(string(record)); err != nil || job.Kind != "a" || job.local != "" {
		t.Errorf("read %+v: %v", job, err)
	}
}

// offlineQueue returns a queue of a client without a Redis.
func offlineQueue(t testing.TB) *PoolQueue {
	t.Helper()
	c := &Client{config: Config{MaxPayload: DefaultMaxPayload, PackFrom: 100}, queues: map[string]*Queue{}}
	q, err := c.ForPool("q")
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
	f.Add("2n4:kind1:k4:expr1:*4:zone3:UTC8:catch_up4:some")
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
				t.Fatalf("%q is parsed as %+v", text, firing)
			}
		}
	})
}

func TestSizeOfASmallRecordIsThatOfTheScripts(t *testing.T) {
	script, err := os.ReadFile("lua/record.lua")
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("local SMALL, largest = %d, nil\n", smallRecord); !strings.Contains(string(script), want) {
		t.Errorf("record.lua does not have %q", want)
	}
}
