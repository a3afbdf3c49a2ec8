package api_test

import (
	"context"
	"crypto/rand"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/ops/api"
	"skidway/queue"
)

func TestJobIsAddedAndShown(t *testing.T) {
	t.Parallel()
	f := setup(t)
	a := f.do("POST", "/queues/mail/jobs", `{"kind":"news","args":{"to":"ada","big":12345678901234567890},"priority":"high","retain":"1h","then":[{"kind":"next"}]}`, 201)
	id := into[api.Added](a).ID
	if location := a.Header.Get("Location"); location != "/api/v1/jobs/"+id {
		t.Errorf("Location %q", location)
	}
	job := into[api.Job](f.do("GET", "/jobs/"+id, nil, 200))
	if job.Kind != "news" || job.Priority != "high" || string(job.Args) != `{"to":"ada","big":12345678901234567890}` || job.State != "waiting" || len(job.Then) != 1 {
		t.Errorf("%+v", job)
	}
	if lines := into[api.JobLog](f.do("GET", "/jobs/"+id+"/log", nil, 200)).Lines; len(lines) != 0 {
		t.Errorf("%q", lines)
	}
	if result := into[api.JobResult](f.do("GET", "/jobs/"+id+"/result", nil, 200)); result.State != "waiting" {
		t.Errorf("%+v", result)
	}
	f.do("GET", "/jobs/mail:0:n1-1", nil, 404).problem("no-job")
	f.do("GET", "/jobs/mail:0:nonsense", nil, 400).problem("invalid")
	f.as("view:mail").do("GET", "/jobs/other:0:n1-1", nil, 403).problem("forbidden")
}

func TestEveryFieldOfAJobIsTakenAndKept(t *testing.T) {
	t.Parallel()
	f := setup(t)
	const job = `{"queue":"mail","kind":"news","args":{},"priority":"low","at":"2030-01-02T03:04:05Z","unique":"k","unique_scope":"waiting","max_attempts":3,` +
		`"timeout":"1m0s","deadline":"2031-01-02T03:04:05Z","retain":"2h0m0s","headers":{"tenant":"x"},"then":[{"queue":"mail","kind":"next","args":{}}]}`
	id := into[api.Added](f.do("POST", "/queues/mail/jobs", job, 201)).ID
	var sent, kept map[string]any
	f.must(json.Unmarshal([]byte(job), &sent))
	f.must(json.Unmarshal([]byte(f.do("GET", "/jobs/"+id, nil, 200).text), &kept))
	sent["due"] = sent["at"]
	delete(sent, "at")
	for name, value := range sent {
		got, _ := json.Marshal(kept[name])
		want, _ := json.Marshal(value)
		if string(got) != string(want) {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	f.do("POST", "/queues/mail/jobs", `{"kind":"news","unique":"k"}`, 409).problem("duplicate")
	f.do("POST", "/queues/mail/jobs", `{"kind":"news","queue":"other"}`, 400).problem("invalid")
	f.do("POST", "/queues/../jobs", `{"kind":"news"}`, 400).problem("invalid")
}

func TestBodiesAreStrict(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for name, body := range map[string]string{
		"unknown field": `{"kind":"news","nonsense":1}`, "other letters": `{"kind":"news","KIND":"exec.run"}`, "twice": `{"kind":"news","kind":"exec.run"}`,
		"unknown in then": `{"kind":"news","then":[{"Kind":"exec.run"}]}`, "twice in args": `{"kind":"news","args":{"a":1,"a":2}}`,
		"no JSON": `{`, "two values": `{"kind":"news"}{}`, "a list": `[]`, "a number": `1`, "wrong type": `{"kind":7}`, "no kind": `{}`, "wrong duration": `{"kind":"news","in":"soon"}`,
		"too deep": `{"kind":"news","args":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`, "escaped twice": `{"kind":"news","\u006bind":"exec.run"}`, "not UTF-8": "{\"kind\":\"n\xff\"}",
	} {
		r := f.request("POST", "/api/v1/queues/mail/jobs", body)
		if p := f.send(r, 400).problem("invalid"); p.Detail == "" {
			t.Errorf("%s: %+v", name, p)
		}
	}
	f.do("POST", "/queues/mail/jobs", `{"kind":"news","args":`+strings.Repeat("[", 63)+strings.Repeat("]", 63)+`}`, 201)
	r := f.request("POST", "/api/v1/queues/mail/jobs", `kind=news`)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	f.send(r, 415).problem("wrong-type")
	r = f.request("POST", "/api/v1/queues/mail/jobs", `{"kind":"news"}`)
	r.Header.Set("Content-Encoding", "gzip")
	f.send(r, 415).problem("wrong-type")
	large := `{"kind":"news","args":"` + strings.Repeat("a", queue.DefaultMaxPayload) + `"}`
	f.do("POST", "/queues/mail/jobs", large, 400).problem("invalid") // the payload
	f.do("POST", "/queues/mail/jobs", large[:len(large)-2]+strings.Repeat("a", 70<<10)+`"}`, 413).problem("too-large")
}

func TestTokenThatMayEnqueueCanDoNothingElse(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.add("mail", "news", `{}`)
	token := f.as("enqueue:mail:email.send")
	const job = `{"kind":"email.send","args":{"to":"a@example.com"}}`
	id := into[api.Added](token.do("POST", "/queues/mail/jobs", job, 201)).ID
	for _, body := range []string{
		`{"kind":"exec.run"}`, `{"kind":"news"}`, `{"kind":"email.send","then":[{"kind":"exec.run"}]}`, `{"kind":"email.send","then":[{"queue":"other","kind":"email.send"}]}`,
		`{"kind":"email.send","then":[{"kind":"email.send","then":[{"kind":"exec.run"}]}]}`,
	} {
		if p := token.do("POST", "/queues/mail/jobs", body, 403).problem("forbidden"); !strings.HasPrefix(p.Needs, "enqueue:") {
			t.Errorf("%s: %+v", body, p)
		}
	}
	token.do("POST", "/jobs", `{"jobs":[`+strings.Replace(job, "{", `{"queue":"mail",`, 1)+`,{"queue":"mail","kind":"exec.run"}]}`, 403).problem("forbidden")
	if depth := f.depth("mail"); depth.Waiting != 2 {
		t.Errorf("%d wait: a job of a refused batch was added", depth.Waiting)
	}
	for _, row := range api.Rows() {
		if row.Everyone || row.Method == "POST" && (row.Path == "/api/v1/jobs" || row.Path == "/api/v1/queues/{queue}/jobs") {
			continue
		}
		path := strings.NewReplacer("{id}", id, "{queue}", "mail", "{worker}", "w", "{schedule}", "s", "{channel}", "c", "{chat}", "g").Replace(row.Path)
		token.send(token.request(row.Method, path, nil), 403).problem("forbidden")
	}
	token.do("GET", "/whoami", nil, 200)
	token.do("GET", "/openapi.json", nil, 200)
}

func (f *fixture) depth(name string) queue.Depth {
	f.Helper()
	q, err := f.queues.Queue(name)
	f.must(err)
	depth, err := q.Depth(f.Context())
	f.must(err)
	return depth
}

func TestWrongTypesAreNamedAsInJSON(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for body, want := range map[string]string{
		`[]`: "/the body is a list: want an object", `3`: "/the body is a number: want an object", `{"kind":3}`: "kind/it is a number: want a string", `{"kind":"a","at":3}`: "at/it is a number: want a string",
		`{"kind":"a","in":3}`: "in/it is a number: want a string", `{"kind":"a","max_attempts":"x"}`: "max_attempts/it is a string: want a number", `{"kind":"a","max_attempts":1.5}`: "max_attempts/it can't be number 1.5",
		`{"kind":"a","headers":{"a":1}}`: "headers.a/it is a number: want a string", `{"kind":"a","then":{}}`: "then/it is an object: want a list", `{"kind":"a","then":[{"kind":[]}]}`: "then[0].kind/it is a list: want a string",
		`{"kind":"a","durable":1}`: "durable/it is a number: want true or false",
	} {
		if p := f.do("POST", "/queues/mail/jobs", body, 400).problem("invalid"); p.Field+"/"+p.Detail != want {
			t.Errorf("%s: %q, want %q", body, p.Field+"/"+p.Detail, want)
		}
	}
	if p := f.do("POST", "/jobs", `{"jobs":[{"queue":"mail","kind":3}]}`, 400).problem("invalid"); p.Field != "jobs[0].kind" {
		t.Errorf("%+v", p)
	}
}

func TestBodyOfARequestThatHasNoneIsRefused(t *testing.T) {
	t.Parallel()
	f := setup(t).as(append(admin, "scale:*")...)
	f.add("mail", "news", `{}`)
	q, err := f.queues.Queue("mail")
	f.must(err)
	f.must(q.Pause(t.Context(), "ada", ""))
	for _, row := range api.Rows() {
		if row.Body != nil {
			continue
		}
		path := strings.NewReplacer("{id}", "mail:0:n1-0", "{queue}", "mail", "{worker}", "w", "{schedule}", "s", "{channel}", "c", "{chat}", "g").Replace(row.Path)
		if params := map[string]string{"/api/v1/events": "?queue=mail", "/api/v1/chats": "?member=a", "/api/v1/channels/{channel}/counts": "?subscriber=s"}; params[row.Path] != "" {
			path += params[row.Path]
		}
		recorder := httptest.NewRecorder()
		f.handler.ServeHTTP(recorder, f.request(row.Method, path, `{"note":"x"}`))
		if recorder.Code != 400 || !strings.Contains(recorder.Body.String(), "this request has no body") {
			t.Errorf("%s %s: %d %s", row.Method, row.Path, recorder.Code, recorder.Body)
		}
	}
	if depth := f.depth("mail"); !depth.Paused {
		t.Error("a request that was refused resumed the queue")
	}
	for _, body := range []any{` {} `, " ", nil} {
		f.do("POST", "/queues/mail/resume", body, 200)
	}
}

func TestJobOfABatchWithoutAKindIsRefusedAlone(t *testing.T) {
	t.Parallel()
	f := setup(t)
	lines := []string{`{"queue":"mail","kind":""}`, `{"queue":"mail","kind":"news"}`, `{"queue":"mail"}`, `{"queue":"mail","kind":"news","max_attempts":1.5}`, `{"queue":"mail","kind":"news","in":"soon"}`, `{"queue":"mail","kind":"news"}`}
	check := func(form, body string, wanted ...bool) {
		t.Helper()
		r := f.request("POST", "/api/v1/jobs", body)
		r.Header.Set("Content-Type", form)
		results := into[api.BatchResults](f.send(r, 200)).Results
		for i, want := range wanted {
			if p := results[i].Problem; (p == nil) != want || (results[i].ID != "") != want || !want && (p.Name() != "invalid" || strings.Contains(p.Detail, "Go ")) {
				t.Errorf("%s: %s: %+v", form, lines[i], results[i])
			}
		}
	}
	check("application/x-ndjson", strings.Join(lines, "\n"), false, true, false, false, false, true)
	check("application/json", `{"jobs":[`+lines[0]+`,`+lines[1]+`]}`, false, true)
	r := f.request("POST", "/api/v1/jobs", lines[0]+"\n"+`{"queue":"mail","kind":"exec.run"}`)
	r.Header.Set("Content-Type", "application/x-ndjson")
	f.send(r, 403).problem("forbidden")
	f.do("POST", "/jobs", `{"jobs":[`+lines[0]+`]}`, 200)
	if depth := f.depth("mail"); depth.Waiting != 3 {
		t.Errorf("%+v", depth)
	}
}

func TestBatchHasAResultForEachJob(t *testing.T) {
	t.Parallel()
	f := setup(t)
	const first, second, third = `{"queue":"mail","kind":"news","unique":"k"}`, `{"queue":"web","kind":"news","unique":"k"}`, `{"queue":"mail","kind":"news","unique":"k"}`
	results := into[api.BatchResults](f.do("POST", "/jobs", `{"jobs":[`+first+","+second+","+third+`]}`, 200)).Results
	if len(results) != 3 || results[0].ID == "" || results[1].ID == "" || results[2].Problem == nil || results[2].Problem.Holder != results[0].ID {
		t.Errorf("%+v", results)
	}
	r := f.request("POST", "/api/v1/jobs", `{"queue":"web","kind":"a"}`+"\n\n"+`{"queue":"web","kind":"b"}`+"\n")
	r.Header.Set("Content-Type", "application/x-ndjson")
	if results := into[api.BatchResults](f.send(r, 200)).Results; len(results) != 2 || results[1].ID == "" {
		t.Errorf("%+v", results)
	}
	f.do("POST", "/jobs", `{"jobs":[]}`, 400).problem("invalid")
	f.do("POST", "/jobs", `{"jobs":[`+strings.Repeat(`{"kind":"a"},`, 1000)+`{"kind":"a"}]}`, 400).problem("invalid")
	f.do("POST", "/jobs", `{"jobs":[{"kind":"a","nonsense":1}]}`, 400).problem("invalid")
	f.do("POST", "/jobs", `{"jobs":["`+strings.Repeat("a", 8<<20)+`"]}`, 413).problem("too-large")
}

// die adds jobs and makes them dead, each with an error.
func (f *fixture) die(name, kind string, args ...string) (ids []string) {
	f.Helper()
	for _, text := range args {
		ids = append(ids, f.add(name, kind, text))
	}
	q, err := f.queues.ForPool(name)
	f.must(err)
	lease, err := q.NewLease("killer-"+rand.Text(), time.Minute)
	f.must(err)
	fetched, err := lease.Fetch(f.Context(), queue.FetchLimits{Jobs: len(args), Bytes: 1 << 20})
	f.must(err)
	var ends []queue.Completion
	for _, job := range fetched.Jobs {
		ends = append(ends, queue.Completion{Job: job, Disposition: queue.AttemptDead, Reason: "timeout of " + string(job.Args)})
	}
	_, err = lease.Finish(f.Context(), ends)
	f.must(err)
	_, err = lease.Close(f.Context())
	f.must(err)
	return ids
}

func TestJobsAreListedFilteredAndExported(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.die("mail", "news", `1`, `2`, `3`)
	f.add("mail", "other", `"=cmd()"`)
	var seen []string
	cursor, pages := "", 0
	for {
		list := into[api.List[api.Job]](f.do("GET", "/queues/mail/jobs?limit=2&cursor="+cursor, nil, 200))
		for _, job := range list.Items {
			seen = append(seen, job.State+" "+string(job.Args))
		}
		if list.Total != 4 {
			t.Errorf("page %d has a total of %d, want 4", pages, list.Total)
		}
		if cursor, pages = list.Next, pages+1; list.Complete {
			break
		}
	}
	if want := []string{`waiting "=cmd()"`, "dead 3", "dead 2", "dead 1"}; !slices.Equal(seen, want) || pages > 3 {
		t.Errorf("%d pages: %q, want %q", pages, seen, want)
	}
	found := into[api.List[api.Job]](f.do("GET", "/queues/mail/jobs?"+url.Values{"match": {`error contains "timeout of 2"`}, "state": {"dead"}}.Encode(), nil, 200))
	if len(found.Items) != 1 || string(found.Items[0].Args) != "2" || found.LookedAt != 3 || found.Total != 3 || !found.Complete {
		t.Errorf("%+v", found)
	}
	if p := f.do("GET", "/queues/mail/jobs?match=nonsense", nil, 400).problem("invalid"); p.Field != "match" {
		t.Errorf("%+v", p)
	}
	f.do("GET", "/queues/mail/jobs?state=dead&cursor="+into[api.List[api.Job]](f.do("GET", "/queues/mail/jobs?limit=2", nil, 200)).Next, nil, 400).problem("bad-cursor")
	r := f.request("GET", "/api/v1/queues/mail/jobs", nil)
	r.Header.Set("Accept", "text/csv")
	rows, err := csv.NewReader(strings.NewReader(f.send(r, 200).text)).ReadAll()
	f.must(err)
	if len(rows) != 5 || rows[0][0] != "id" || rows[1][13] != `"=cmd()"` {
		t.Errorf("%q", rows)
	}
	r = f.request("GET", "/api/v1/queues/mail/jobs?state=dead", nil)
	r.Header.Set("Accept", "application/x-ndjson")
	if lines := strings.Split(strings.TrimSpace(f.send(r, 200).text), "\n"); len(lines) != 3 || !json.Valid([]byte(lines[2])) {
		t.Errorf("%q", lines)
	}
}

func TestPagesGoOnBehindLongIDsOfOtherPrograms(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.die("mail", "news", `1`)
	f.add("mail", "news", `2`)
	key := f.db.Prefix() + ":{mail:0}:"
	for i := range 4 {
		id := fmt.Sprint(i) + strings.Repeat("\x00é", 1000)
		for _, state := range []string{"dead", "delayed"} {
			f.must(f.db.HSet(f.Context(), key+state+":jobs", id, "2nonsense").Err())
			f.must(f.db.ZAdd(f.Context(), key+state, redis.Z{Score: 1, Member: id}).Err())
		}
	}
	for state, want := range map[string]int{"dead": 5, "delayed": 4} {
		seen := map[string]bool{}
		for cursor, more := "", true; more; more = cursor != "" {
			page := into[api.List[api.Job]](f.do("GET", "/queues/mail/jobs?limit=1&state="+state+"&cursor="+cursor, nil, 200))
			for _, job := range page.Items {
				if seen[job.ID] {
					t.Fatalf("%s: %.20q is listed twice", state, job.ID)
				}
				seen[job.ID] = true
			}
			if cursor = page.Next; len(cursor) > 200 {
				t.Errorf("a cursor of %d bytes", len(cursor))
			}
		}
		if len(seen) != want {
			t.Errorf("%s: %d jobs are listed, want %d", state, len(seen), want)
		}
	}
}

func TestExportQuotesFormulasAndEndsAfter10000(t *testing.T) {
	t.Parallel()
	f := setup(t)
	var jobs []queue.NewJob
	for range 10_001 {
		jobs = append(jobs, queue.NewJob{Args: queue.Raw("news", []byte("=cmd|' /C calc'!A0")), Options: queue.Options{Queue: "mail"}})
	}
	for _, result := range f.queues.EnqueueMany(f.Context(), jobs) {
		f.must(result.Err)
	}
	r := f.request("GET", "/api/v1/queues/mail/jobs?state=waiting", nil)
	r.Header.Set("Accept", "text/csv")
	a := f.send(r, 200)
	rows, err := csv.NewReader(strings.NewReader(a.text)).ReadAll()
	f.must(err)
	if len(rows) != 10_001 || rows[1][13] != "'=cmd|' /C calc'!A0" {
		t.Errorf("%d rows, %q", len(rows), rows[1])
	}
	if rest := into[api.List[api.Job]](f.send(f.request("GET", f.rest(a), nil), 200)); len(rest.Items) != 1 || !rest.Complete {
		t.Errorf("%+v", rest)
	}
}

// rest returns the path of the rest of an export.
func (f *fixture) rest(a answer) string {
	f.Helper()
	link := a.Trailer.Get("Link")
	path, found := strings.CutPrefix(link, "<")
	path, _, _ = strings.Cut(path, ">")
	if !found {
		f.Fatalf("Link %q", link)
	}
	return path
}

func TestExportEndsInTimeWithTheRest(t *testing.T) {
	t.Parallel()
	f := setup(t)
	var jobs []queue.NewJob
	for range 501 {
		jobs = append(jobs, queue.NewJob{Args: queue.Raw("news", []byte("1")), Options: queue.Options{Queue: "mail"}})
	}
	f.queues.EnqueueMany(f.Context(), jobs)
	r := f.request("GET", "/api/v1/queues/mail/jobs?state=waiting", nil)
	ctx, cancel := context.WithTimeout(r.Context(), api.ExportMargin) // no time is left after the first page
	defer cancel()
	r = r.WithContext(ctx)
	r.Header.Set("Accept", "application/x-ndjson")
	a := f.send(r, 200)
	first := strings.Count(a.text, "\n") // fewer than 500 where reading them takes long
	r = f.request("GET", f.rest(a), nil)
	r.Header.Set("Accept", "application/x-ndjson")
	if rest := strings.Count(f.send(r, 200).text, "\n"); first > 500 || first+rest != 501 {
		t.Errorf("%d jobs and %d", first, rest)
	}
}

func TestRequestWaitsForTheEndOfAJob(t *testing.T) {
	t.Parallel()
	f := setup(t)
	id := into[api.Added](f.do("POST", "/queues/mail/jobs", `{"kind":"news","retain":"1h"}`, 201)).ID
	if job := into[api.Job](f.do("GET", "/jobs/"+id+"?wait=1ms", nil, 200)); job.State != "waiting" {
		t.Errorf("%+v", job)
	}
	f.do("GET", "/jobs/"+id+"?wait=61s", nil, 400).problem("invalid")
	done := make(chan answer, 1)
	go func() { done <- f.do("GET", "/jobs/"+id+"?wait=30s", nil, 200) }()
	_, err := f.queues.Cancel(f.Context(), id)
	f.must(err)
	// The request began before or after the cancellation.
	select {
	case a := <-done:
		if job := into[api.Job](a); job.Outcome != "cancelled" {
			t.Errorf("%+v", job)
		}
	case <-time.After(20 * time.Second):
		t.Error("the request waits still")
	}
}

func TestWaitsForManyQueuesAreRefused(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for i := range 2 * api.MaxWaitQueues {
		f.do("GET", fmt.Sprintf("/jobs/none%d:0:n1-1?wait=1ms", i), nil, 404).problem("no-job") // waits for nothing
	}
	for i := range api.MaxWaitQueues {
		f.do("GET", "/jobs/"+f.add(fmt.Sprint("q", i), "news", `1`)+"?wait=1ms", nil, 200)
	}
	f.do("GET", "/jobs/"+f.add("other", "news", `1`)+"?wait=1ms", nil, 429).problem("busy")
	f.do("GET", "/jobs/"+f.add("q0", "news", `1`)+"?wait=1ms", nil, 200)
}

func TestJobsAreChanged(t *testing.T) {
	t.Parallel()
	f := setup(t)
	dead := f.die("mail", "news", `{"to":"ada"}`)[0]
	if p := f.do("POST", "/jobs/"+dead+"/run-now", nil, 409).problem("wrong-state"); p.Detail != "run now "+dead+": the job is in another state: it is dead, and needs a retry" {
		t.Errorf("%+v", p)
	}
	f.do("POST", "/jobs/"+dead+"/retry", `{"if_state":"delayed"}`, 409).problem("wrong-state")
	copied := into[api.Added](f.do("POST", "/jobs/"+dead+"/copy", `{"queue":"web","priority":"high"}`, 201)).ID
	if job := into[api.Job](f.do("GET", "/jobs/"+copied, nil, 200)); job.Queue != "web" || job.Priority != "high" || string(job.Args) != `{"to":"ada"}` {
		t.Errorf("%+v", job)
	}
	f.as("operate:*", "enqueue:mail").do("POST", "/jobs/"+dead+"/copy", `{"queue":"web"}`, 403).problem("forbidden")
	f.as("operate:*").do("POST", "/jobs/"+dead+"/copy", nil, 403).problem("forbidden")
	if state := into[api.JobState](f.do("POST", "/jobs/"+dead+"/retry", `{"if_state":"dead"}`, 200)); state.State != "waiting" {
		t.Errorf("%+v", state)
	}
	if state := into[api.JobState](f.do("POST", "/jobs/"+dead+"/priority", `{"priority":"low"}`, 200)); state.State != "waiting" {
		t.Errorf("%+v", state)
	}
	f.do("POST", "/jobs/"+dead+"/priority", `{"priority":"top"}`, 400).problem("invalid")
	f.do("POST", "/jobs/"+dead+"/reschedule", `{"in":"1h"}`, 409).problem("wrong-state")
	later := into[api.Added](f.do("POST", "/queues/mail/jobs", `{"kind":"news","in":"1h"}`, 201)).ID
	f.do("POST", "/jobs/"+later+"/reschedule", `{"in":"2h"}`, 200)
	if job := into[api.Job](f.do("GET", "/jobs/"+later, nil, 200)); time.Until(job.Due) < 90*time.Minute {
		t.Errorf("due %s", job.Due)
	}
	f.do("POST", "/jobs/"+later+"/reschedule", `{}`, 400).problem("invalid")
	f.do("POST", "/jobs/"+later+"/run-now", nil, 200)
	if state := into[api.JobState](f.do("POST", "/jobs/"+later+"/cancel", nil, 200)); state.State != "finished" {
		t.Errorf("%+v", state)
	}
	f.as("operate:*").do("DELETE", "/jobs/"+dead, nil, 403).problem("forbidden")
	f.do("DELETE", "/jobs/"+dead, nil, 204)
	f.do("DELETE", "/jobs/"+dead, nil, 404).problem("no-job")
}

func TestCopyNeedsAViewOfTheJob(t *testing.T) {
	t.Parallel()
	f := setup(t)
	id := f.add("theirs", "news", `{"a":1}`)
	scopes := []string{"operate:*", "enqueue:mine", "view:mine"}
	f.as(scopes...).do("POST", "/jobs/"+id+"/copy", `{"queue":"mine"}`, 403)
	f.as(append(scopes, "view:theirs")...).do("POST", "/jobs/"+id+"/copy", `{"queue":"mine"}`, 201)
}
