package queue

import (
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func FuzzRecord(f *testing.F) {
	f.Add("1n4:kind10:email.send4:args2:{}12:max_attempts1:3")
	f.Add("1n-3:")
	f.Add("1h999999999999999999999:")
	f.Add("1l3:job10:1n4:kind1:a")
	f.Add("1n7:headers15:{\"a\":\"b\",\"c\":1}6:errors2:[]")
	f.Add("1n8:deadline16:9007199254740992")
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
			Forgiven: rapid.IntRange(0, 9).Draw(t, "forgiven"), SharedCrashes: rapid.IntRange(0, 9).Draw(t, "suspected"), SoloCrashes: rapid.IntRange(0, 9).Draw(t, "crashes"),
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

// Nested records could be read without end.
func TestRecordsDoNotNest(t *testing.T) {
	t.Parallel()
	record := []byte("1n")
	for range 1000 {
		record = appendField([]byte("1n"), "job", record)
	}
	record = appendField(record, "kind", "a")
	record = appendField(record, "id", "n1-1")
	var job Job
	if err := job.setRecord(string(record)); err != nil || job.Kind != "a" || job.local != "" {
		t.Errorf("read %+v: %v", job, err)
	}
}
