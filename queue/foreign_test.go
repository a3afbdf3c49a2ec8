package queue_test

import (
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/queue"
)

func TestJobsCanBeAddedWithRedisCLI(t *testing.T) {
	t.Parallel()
	address := redistest.URL(t)
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	cli := func(words ...string) string {
		t.Helper()
		command := exec.Command("redis-cli", append([]string{"-s", u.Path, "-n", u.Query().Get("db")}, words...)...)
		output, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, output)
		}
		return strings.TrimSpace(string(output))
	}
	entry := cli("XADD", "skidway:{q:0}:2:normal:fresh", "*", "kind", "email.send", "args", `{"to":"a@example.com"}`)
	cli("XADD", "skidway:{q:0}:2:high:fresh", "*", "kind", "report", "max_attempts", "3", "timeout", "1500", "retain", "60000", "headers", `{"tenant":"7"}`)
	cli("SADD", "skidway:{queues}", "q")

	d := setup(t, redistest.Open(t, address))
	if names, err := d.client.Queues(t.Context()); err != nil || len(names) != 1 || names[0] != "q" {
		t.Errorf("the queues are %v: %v", names, err)
	}
	if job := d.get("q:0:n" + entry); job.Kind != "email.send" || job.State != queue.Waiting {
		t.Errorf("the job is %+v", job)
	}
	jobs := d.fetch(d.lease("w"), 2)
	if j := jobs[0]; j.Kind != "report" || j.MaxAttempts != 3 || j.Timeout != 1500*time.Millisecond || j.Retain != time.Minute || j.Headers["tenant"] != "7" || len(j.Args) != 0 {
		t.Errorf("the first is %+v", j)
	}
	if j := jobs[1]; j.Kind != "email.send" || string(j.Args) != `{"to":"a@example.com"}` || j.ID != "q:0:n"+entry || j.Enqueued.IsZero() {
		t.Errorf("the second is %+v", j)
	}
}

// bomb is compressed zeros.
func bomb(t testing.TB, size int) string {
	t.Helper()
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = encoder.Close() }()
	return string(encoder.EncodeAll(make([]byte, size), nil))
}

func TestMalformedEntriesAreDeadWithTheReason(t *testing.T) {
	var many []string
	for i := range 5000 {
		many = append(many, "name"+itoa(i), "value")
	}
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		for name, c := range map[string]struct {
			fields []string
			reason string
		}{
			"no kind":            {[]string{"args", "{}"}, "no kind"},
			"a bad kind":         {[]string{"kind", "a b", "args", "{}"}, "kind"},
			"unknown packing":    {[]string{"kind", "a", "args", "{}", "packing", "rot13"}, "rot13"},
			"not what it says":   {[]string{"kind", "a", "args", "{}", "packing", "zstd"}, "args"},
			"a bomb":             {[]string{"kind", "a", "args", bomb(t, queue.DefaultMaxPayload+1), "packing", "zstd"}, "limit"},
			"too large":          {[]string{"kind", "a", "args", strings.Repeat("x", queue.DefaultMaxPayload+1)}, "limit"},
			"5,000 fields":       {many, "no kind"},
			"record cut short":   {[]string{"job", "2n4:kind1:a4:args20:{}"}, "cut short"},
			"a huge length":      {[]string{"job", "2n999999999999999999999:kind"}, "cut short"},
			"a negative length":  {[]string{"job", "2n-3:"}, "cut short"},
			"a length in hex":    {[]string{"job", "2n0x4:kind1:a"}, "cut short"},
			"no record at all":   {[]string{"job", ""}, "0 bytes"},
			"of a later release": {[]string{"job", "3n4:kind1:a"}, "format"},
			"no number":          {[]string{"kind", "a", "max_attempts", "many"}, "max_attempts"},
			"no JSON":            {[]string{"kind", "a", "headers", "{"}, "headers"},
		} {
			t.Run(name, func(t *testing.T) {
				d := setup(t, db)
				before := d.add("good", queue.Options{})
				entry, err := db.XAdd(t.Context(), &redis.XAddArgs{Stream: d.key("2:normal:fresh"), Values: c.fields}).Result()
				d.must(err)
				after := d.add("good", queue.Options{})
				l := d.lease("w-" + itoa(len(name)) + "-" + entry)
				fetched, err := l.Fetch(t.Context(), queue.FetchLimits{Jobs: 10, Bytes: 8 << 20})
				if err != nil || fetched.Malformed != 1 || len(fetched.Jobs) != 2 || fetched.Jobs[0].ID != before || fetched.Jobs[1].ID != after {
					t.Errorf("fetched %+v: %v", fetched, err)
				}
				d.end(l, queue.AttemptSucceeded, fetched.Jobs...)
				job := d.get("q:0:n" + entry)
				if job.State != queue.Dead || !strings.HasPrefix(job.Reason, "malformed: ") || !strings.Contains(job.Reason, c.reason) {
					t.Errorf("it is %s with the reason %q", job.State, job.Reason)
				}
				if err := d.client.Retry(t.Context(), job.ID); err == nil {
					t.Error("it could be retried")
				}
				if n, err := d.changeAll("delete", queue.Dead); n != 1 || err != nil {
					t.Errorf("%d dead deleted: %v", n, err)
				}
			})
		}
	})
}

// The answer of a fetch has short forms for some entries, lookups have none.
func TestFetchedJobIsTheJobThatIsListed(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		rapid.Check(t, func(t *rapid.T) {
			d.must(empty(db, d.key("")))
			text := rapid.SampledFrom([]string{"kind", "args", "job", "d1", "a", "{}", "a b", "scope", "waiting", "2n4:kind1:a", "\x00\xff"})
			entry := rapid.Custom(func(t *rapid.T) []string {
				fields := []string{"id", "d" + text.Draw(t, "id"), "kind", "a", "args", text.Draw(t, "args")}
				if rapid.Bool().Draw(t, "no id") {
					fields = fields[2:]
				}
				for range rapid.IntRange(0, 2).Draw(t, "changes") {
					fields[rapid.IntRange(0, len(fields)-1).Draw(t, "place")] = text.Draw(t, "text")
				}
				return append(fields, rapid.SampledFrom([][]string{nil, nil, {"max_attempts", "3"}, {"x", ""}}).Draw(t, "more")...)
			})
			line := lineNames[rapid.IntRange(1, 9).Draw(t, "line")]
			for _, fields := range rapid.SliceOfN(entry, 1, 9).Draw(t, "entries") {
				d.must(db.XAdd(ctx, &redis.XAddArgs{Stream: d.key(line), Values: fields}).Err())
			}
			page, err := d.queue.List(ctx, queue.Waiting, nil)
			d.must(err)
			l, err := d.queue.NewLease("w", time.Minute)
			d.must(err)
			fetched, err := l.Fetch(ctx, queue.FetchLimits{Jobs: 10, Bytes: 1 << 20})
			d.must(err)
			listed := slices.DeleteFunc(page.Jobs, func(job *queue.Job) bool { return strings.HasPrefix(job.Reason, "malformed") })
			if len(fetched.Jobs) != len(listed) {
				t.Fatalf("fetched are %d jobs, want %d", len(fetched.Jobs), len(listed))
			}
			for i, got := range fetched.Jobs {
				want := listed[i]
				if got.ID != want.ID || got.Kind != want.Kind || string(got.Args) != string(want.Args) || got.MaxAttempts != want.MaxAttempts || !got.Enqueued.Equal(want.Enqueued) || got.Priority != want.Priority {
					t.Fatalf("fetched is %+v, want %+v", got, want)
				}
			}
		})
	})
}

func TestCompressedArgsAreNotDecompressedBeyondTheLimit(t *testing.T) {
	d := setup(t, redistest.DB(t))
	packed := bomb(t, 128<<20)
	d.must(d.db.XAdd(t.Context(), &redis.XAddArgs{Stream: d.key("2:normal:fresh"), Values: []string{"kind", "a", "args", packed, "packing", "zstd"}}).Err())
	var page queue.Page
	allocated := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var err error
			page, err = d.queue.List(t.Context(), queue.Waiting, nil)
			d.must(err)
		}
	}).AllocedBytesPerOp()
	if len(page.Jobs) != 1 || !strings.Contains(page.Jobs[0].Reason, "limit") {
		t.Errorf("listed are %+v", page.Jobs)
	}
	if allocated > 32<<20 {
		t.Errorf("%d bytes of packed args took %d bytes of memory", len(packed), allocated)
	}
}

func TestIDInAFreshEntryIsIgnored(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		victim := d.add("victim", queue.Options{Delay: time.Hour, Unique: queue.Unique{Key: "k"}})
		local := strings.TrimPrefix(victim, "q:0:")
		entry, err := db.XAdd(t.Context(), &redis.XAddArgs{Stream: d.key("2:normal:fresh"),
			Values: []string{"kind", "a", "id", local, "unique", "k", "job", "2n2:id" + itoa(len(local)) + ":" + local}}).Result()
		d.must(err)
		l := d.lease("w")
		job := d.fetch(l, 1)[0]
		if job.ID != "q:0:n"+entry {
			t.Errorf("its id is %s", job.ID)
		}
		d.end(l, queue.AttemptSucceeded, job)
		if job := d.get(victim); job.State != queue.Delayed || job.Kind != "victim" {
			t.Errorf("the victim is %+v", job)
		}
		if _, err := d.client.Enqueue(t.Context(), queue.Raw("a", nil), &queue.Options{Queue: "q", Unique: queue.Unique{Key: "k"}}); err == nil {
			t.Error("the victim has lost its unique key")
		}
	})
}

func TestDelayedJobWithoutARecordIsDead(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		d.must(db.ZAdd(t.Context(), d.key("delayed"), redis.Z{Score: 1, Member: "d000000000000001"}, redis.Z{Score: 2, Member: "d000000000000002"}).Err())
		d.must(db.HSet(t.Context(), d.key("delayed:jobs"), "d000000000000002", "rubbish").Err())
		for _, local := range []string{"d000000000000001", "d000000000000002"} {
			if job := d.get("q:0:" + local); job.State != queue.Delayed || !strings.HasPrefix(job.Reason, "malformed") {
				t.Errorf("before: %+v", job)
			}
		}
		if _, err := d.queue.MoveDue(t.Context(), "me"); err != nil {
			t.Fatal(err)
		}
		for _, local := range []string{"d000000000000001", "d000000000000002"} {
			if job := d.get("q:0:" + local); job.State != queue.Dead || !strings.HasPrefix(job.Reason, "malformed") {
				t.Errorf("after: %+v", job)
			}
		}
	})
}

// Redis has lost the list of all queues. Producers that go on use it again within a minute.
func TestQueueIsListedAgainAfterRedisHasLostTheList(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		d.add("a", queue.Options{})
		d.must(db.Del(t.Context(), db.Prefix()+":{queues}").Err())
		d.add("a", queue.Options{})
		if names, err := d.client.Queues(t.Context()); err != nil || len(names) > 0 {
			t.Fatalf("at once: the queues are %v, %v", names, err)
		}
		d.queue.AgeRegistration(time.Minute)
		d.add("a", queue.Options{})
		if names, err := d.client.Queues(t.Context()); err != nil || len(names) != 1 || names[0] != "q" {
			t.Errorf("after a minute: the queues are %v, %v", names, err)
		}
	})
}

// The list of all queues is on a node of its own of a Redis Cluster.
func TestKnownQueueIsUsedThoughTheListCannotBeReached(t *testing.T) {
	t.Parallel()
	d, proxy := setupProxied(t)
	d.add("a", queue.Options{})
	lost := proxy.LoseCommands(":{queues}")
	for _, age := range []time.Duration{time.Minute, -time.Hour} { // the second is a clock that was set back
		d.queue.AgeRegistration(age)
		d.add("a", queue.Options{})
		select {
		case <-lost:
		default:
			t.Errorf("the queue was not registered again after %s", age)
		}
	}
}

func TestSaltIsThatOfTheQueueInThisRedis(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d, other := setup(t, db), setup(t, db)
		salt := func(d *fixture) string {
			t.Helper()
			salt, err := d.queue.Salt(t.Context())
			d.must(err)
			return salt
		}
		first := salt(d)
		if second := salt(other); first == "" || first != second {
			t.Errorf("two clients have the salts %q and %q", first, second)
		}
		d.must(db.Del(t.Context(), d.key("meta")).Err()) // Redis has lost it
		if later := salt(other); later == first || salt(d) != later {
			t.Errorf("the salts are %q and %q after %q was lost", later, salt(d), first)
		}
	})
}
