package api_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/ops/access"
	"skidway/ops/api"
)

// keyed returns a request with an Idempotency-Key.
func (f *fixture) keyed(path, key string, body any) *http.Request {
	f.Helper()
	r := f.request("POST", "/api/v1"+path, body)
	r.Header.Set("Idempotency-Key", key)
	return r
}

// replayed reports whether an answer is that of an earlier request.
func (a answer) replayed() bool { return a.Header.Get("Idempotency-Replayed") == "true" }

func TestRepeatedRequestAddsNoSecondJob(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		f := setupOn(t, db, api.Config{})
		const path, job = "/queues/mail/jobs", `{"kind":"news","args":{"to":"ada"},"in":"1h"}`
		first := f.send(f.keyed(path, "k", job), 201)
		again := f.send(f.keyed(path, "k", job), 200)
		if first.replayed() || !again.replayed() || again.text != first.text || again.Header.Get("Location") != first.Header.Get("Location") {
			t.Errorf("%q, then %q with %v", first.text, again.text, again.Header)
		}
		f.send(f.keyed(path, "k", `{"kind":"news"}`), 422).problem("other-request")
		f.send(f.keyed("/jobs", "k", `{"jobs":[{"kind":"news","queue":"mail"}]}`), 422).problem("other-request")
		f.send(f.keyed("/queues/web/jobs", "k", job), 201) // the key is one of a queue
		other := f.keyed(path, "k", job)
		f.send(other.WithContext(f.person("POST", path, nil).Context()), 201) // and of a token
		if depth := f.depth("mail"); depth.Delayed != 2 || depth.Waiting != 0 {
			t.Errorf("%+v", depth)
		}
		unique := into[api.Added](f.do("POST", path, `{"kind":"news","unique":"u"}`, 201)).ID
		f.send(f.keyed(path, "d", `{"kind":"news","unique":"u"}`), 409).problem("duplicate")
		f.must(f.queues.Delete(t.Context(), unique))
		f.send(f.keyed(path, "d", `{"kind":"news","unique":"u"}`), 201) // nothing was added before
	})
}

func TestRepeatedBatchAddsTheMissingJobs(t *testing.T) {
	t.Parallel()
	f := setup(t)
	var jobs []string
	for i := range 130 { // delayed jobs with options are sent in several chunks
		jobs = append(jobs, fmt.Sprintf(`{"queue":"mail","kind":"news","args":%d,"in":"1h","max_attempts":3}`, i))
	}
	batch := `{"jobs":[` + strings.Join(jobs, ",") + `]}`
	first := into[api.BatchResults](f.send(f.keyed("/jobs", "k", batch), 200))
	base := f.db.Prefix() + ":{mail:0}:idem"
	records := f.db.ZRange(t.Context(), base+":expiry", 0, -1).Val()
	if len(records) < 3 {
		t.Fatalf("%d records", len(records))
	}
	lost := records[len(records)-1] // as if the server had ended before it sent this chunk
	f.must(f.db.ZRem(t.Context(), base+":expiry", lost).Err())
	before := f.depth("mail").Delayed
	again := f.send(f.keyed("/jobs", "k", batch), 200)
	results := into[api.BatchResults](again).Results
	same := 0
	for i, result := range results {
		if result.ID == first.Results[i].ID {
			same++
		}
	}
	if added := f.depth("mail").Delayed - before; !again.replayed() || same == 0 || same+added != 130 {
		t.Errorf("%d jobs are the same, %d were added", same, added)
	}
	for _, body := range []string{`{"jobs":[{"queue":"mail","kind":"news"},{"queue":"web","kind":"news"}]}`, `{"jobs":[{"kind":"news"},{"queue":"web","kind":"news"}]}`} {
		if p := f.send(f.keyed("/jobs", "two", body), 400).problem("invalid"); p.Field != "Idempotency-Key" {
			t.Errorf("%+v", p)
		}
	}
	f.send(f.keyed("/jobs", "k", `{"jobs":[{"queue":"mail","kind":"other"}]}`), 422).problem("other-request")
}

func TestRepeatedCopyAddsNoSecondJob(t *testing.T) {
	t.Parallel()
	f := setup(t)
	ids := f.die("mail", "news", `1`, `2`)
	path, other := "/jobs/"+ids[0]+"/copy", "/jobs/"+ids[1]+"/copy"
	for i, body := range []any{nil, `{"queue":"mail","in":"1h"}`} {
		key := fmt.Sprint("k", i)
		first := f.send(f.keyed(path, key, body), 201)
		again := f.send(f.keyed(path, key, body), 200)
		if first.replayed() || !again.replayed() || again.text != first.text || again.Header.Get("Location") != first.Header.Get("Location") {
			t.Errorf("%q, then %q with %v", first.text, again.text, again.Header)
		}
		f.send(f.keyed(other, key, body), 422).problem("other-request")
	}
	f.send(f.keyed(path, "k0", `{"priority":"high"}`), 422).problem("other-request")
	if depth := f.depth("mail"); depth.Waiting != 1 || depth.Delayed != 1 {
		t.Errorf("%+v", depth)
	}
}

func TestRepeatedOperationBeginsOnce(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.die("mail", "news", `1`, `2`)
	const path, body = "/queues/mail/operations", `{"action":"retry","state":"dead"}`
	op := into[api.Operation](f.send(f.keyed(path, "k", body), 202))
	f.ended(op.ID)
	f.die("mail", "news", `3`)
	again := f.send(f.keyed(path, "k", body), 200)
	if got := into[api.Operation](again); got.ID != op.ID || got.Status != "done" || got.Changed != 2 || !again.replayed() || !strings.HasSuffix(again.Header.Get("Location"), op.ID) {
		t.Errorf("%+v with %v", got, again.Header)
	}
	f.send(f.keyed(path, "k", `{"action":"delete","state":"dead"}`), 422).problem("other-request")
	f.send(f.keyed(path, "k", `{"action":"retry","state":"dead","dry_run":true}`), 400).problem("invalid")
	if depth := f.depth("mail"); depth.Waiting != 2 || depth.Dead != 1 {
		t.Errorf("%+v", depth)
	}
}

func TestOperationWhoseBeginHadNoAnswerRuns(t *testing.T) {
	t.Parallel()
	proxy := redistest.StartProxy(t, redistest.URL(t))
	f := setupOn(t, redistest.OpenOnce(t, proxy.URL), api.Config{})
	const path, body = "/queues/mail/operations", `{"action":"cancel","state":"waiting"}`
	f.add("mail", "news", `{}`)
	f.ended(into[api.Operation](f.send(f.keyed(path, "first", body), 202)).ID) // the scripts are known
	f.add("mail", "news", `{}`)
	held := proxy.HoldReply("evalsha", "began")
	go func() { <-held.Held(); held.Drop() }()
	f.send(f.keyed(path, "k", body), 503).problem("outcome-unknown")
	op := into[api.Operation](f.send(f.keyed(path, "k", body), 200))
	if op = f.ended(op.ID); op.Status != "done" || op.Changed != 1 {
		t.Errorf("%+v", op)
	}
}

func TestRepeatedRequestContinuesAnInterruptedOperation(t *testing.T) {
	t.Parallel()
	f := setup(t)
	const path, body = "/queues/mail/operations", `{"action":"cancel","state":"waiting"}`
	f.add("mail", "news", `{}`)
	op := into[api.Operation](f.send(f.keyed(path, "k", body), 202))
	f.ended(op.ID)
	base := f.db.Prefix() + ":{mail:0}:operation"
	f.must(f.db.HSet(t.Context(), base+":"+op.ID[len("mail:0:"):], "status", "running", "count", 2).Err()) // as if the process had ended before
	f.must(f.db.Del(t.Context(), base).Err())
	f.add("mail", "news", `{}`)
	if again := f.send(f.keyed(path, "k", body), 200); !again.replayed() || into[api.Operation](again).Status != "running" {
		t.Errorf("%q with %v", again.text, again.Header)
	}
	if op = f.ended(op.ID); op.Status != "done" {
		t.Errorf("%+v", op)
	}
}

func TestIdempotencyKeyOfOtherRequestsIsRefused(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for _, row := range api.Rows() {
		if row.Method == "GET" || row.Repeatable {
			continue
		}
		r := f.request(row.Method, example.Replace(row.Path), nil)
		r.Header.Set("Idempotency-Key", "k")
		if p := f.send(r, 400).problem("invalid"); p.Field != "Idempotency-Key" {
			t.Errorf("%s %s: %+v", row.Method, row.Path, p)
		}
	}
	for _, key := range []string{"", strings.Repeat("k", 256)} {
		f.send(f.keyed("/queues/mail/jobs", key, `{"kind":"news"}`), 400).problem("invalid")
	}
	f.send(f.keyed("/queues/mail/jobs", strings.Repeat("k", 255), `{"kind":"news"}`), 201)
}

func TestKeyOfAPrincipalWithoutANameIsRefused(t *testing.T) {
	t.Parallel()
	f := setup(t)
	nameless := f.principal()
	nameless.Name, nameless.ID = "", ""
	r := f.keyed("/queues/mail/jobs", "k", `{"kind":"news"}`)
	if p := f.send(r.WithContext(access.NewContext(r.Context(), nameless)), 400).problem("invalid"); p.Field != "Idempotency-Key" {
		t.Errorf("%+v", p)
	}
}

func TestSameRequestAtTheSameTimeIsRefused(t *testing.T) {
	t.Parallel()
	proxy := redistest.StartProxy(t, redistest.URL(t))
	f := setupOn(t, redistest.Open(t, proxy.URL), api.Config{})
	f.add("mail", "news", `{}`)
	f.add("web", "news", `{}`)
	held := proxy.HoldReply("EVALSHA", "")
	first, done := httptest.NewRecorder(), make(chan struct{})
	request := f.keyed("/queues/mail/jobs", "k", `{"kind":"news"}`)
	go func() {
		defer close(done)
		f.handler.ServeHTTP(first, request)
	}()
	<-held.Held()
	a := f.send(f.keyed("/queues/mail/jobs", "k", `{"kind":"news"}`), 409)
	if a.problem("still-running"); a.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	f.send(f.keyed("/queues/web/jobs", "k", `{"kind":"news"}`), 201) // the key is one of a queue
	held.Release()
	<-done
	if again := f.send(f.keyed("/queues/mail/jobs", "k", `{"kind":"news"}`), 200); again.text != first.Body.String() {
		t.Errorf("%q, want %q", again.text, first.Body)
	}
}

func TestLostReplyOfARequestWithAKeyAddsNoSecondJob(t *testing.T) {
	t.Parallel()
	proxy := redistest.StartProxy(t, redistest.URL(t))
	f := setupOn(t, redistest.OpenOnce(t, proxy.URL), api.Config{Timeout: 5 * time.Second})
	const path, body = "/queues/mail/jobs", `{"kind":"news"}`
	f.send(f.keyed(path, "first", body), 201) // the scripts are known, and the queue registered
	lost := proxy.DropReply(1)
	p := f.send(f.keyed(path, "k", body), 503).problem("outcome-unknown")
	if command := <-lost; !strings.HasPrefix(command, "evalsha") || !strings.Contains(p.Detail, "same Idempotency-Key") {
		t.Fatalf("the reply to %s was lost: %+v", command, p)
	}
	f.send(f.keyed(path, "k", body), 200)
	const batch = `{"jobs":[{"queue":"mail","kind":"news"},{"queue":"mail","kind":"news"}]}`
	lost = proxy.DropReply(1)
	f.send(f.keyed("/jobs", "b", batch), 503).problem("outcome-unknown")
	<-lost
	if again := f.send(f.keyed("/jobs", "b", batch), 200); !again.replayed() {
		t.Errorf("%q with %v", again.text, again.Header)
	}
	if depth := f.depth("mail"); depth.Waiting != 4 {
		t.Errorf("%d jobs wait", depth.Waiting)
	}
}
