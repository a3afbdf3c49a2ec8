package api_test

import (
	"bufio"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"skidway/internal/handle"
	"skidway/internal/redistest"
	"skidway/ops"
	"skidway/ops/access"
	"skidway/ops/api"
	"skidway/queue"
)

// TestHiddenValuesComeOutByNoRoute has secrets in the args, headers and the error of a job, and reads all that the
// API has: lists, exports, problems, the audit and a stream of events.
func TestHiddenValuesComeOutByNoRoute(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	queues, err := queue.NewClient(handle.New(db), nil)
	if err != nil {
		t.Fatal(err)
	}
	client, err := ops.NewClient(queues, &ops.Config{Redact: ops.Redact{Keys: ops.DefaultRedactKeys, Values: []string{`card-\d+`}}})
	if err != nil {
		t.Fatal(err)
	}
	f := setupOn(t, db, api.Config{Ops: client}).as(append(admin, "scale:*")...)
	const args = `{"to":"ada","token":"hush-1","deep":[{"password":"hush-2"}],"pays":"card-77"}`
	q, err := f.queues.Queue("mail")
	f.must(err)
	f.must(q.KeepEvents(t.Context(), 100))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.handler.ServeHTTP(w, r.WithContext(access.NewContext(r.Context(), f.principal())))
	}))
	defer server.Close()
	defer f.handler.Close() // before: the server waits for its streams
	stream, err := http.Get(server.URL + "/api/v1/events?queue=mail")
	f.must(err)
	defer func() { _ = stream.Body.Close() }()
	id := into[api.Added](f.do("POST", "/queues/mail/jobs", `{"kind":"news","unique":"k","args":`+args+`,"headers":{"authorization":"hush-3","note":"card-78"}}`, 201)).ID
	f.do("POST", "/jobs", fmt.Sprintf(`{"jobs":[{"queue":"mail","kind":"news","unique":"k","args":%s}]}`, args), 200) // a problem
	pool, err := f.queues.ForPool("mail")
	f.must(err)
	lease, err := pool.NewLease("w-"+rand.Text(), time.Minute)
	f.must(err)
	fetched, err := lease.Fetch(t.Context(), queue.FetchLimits{Jobs: 1, Bytes: 1 << 20})
	f.must(err)
	_, err = lease.Finish(t.Context(), []queue.Completion{{Job: fetched.Jobs[0], Disposition: queue.AttemptDead, Reason: "refused card-79"}})
	f.must(err)
	f.do("PUT", "/queues/mail/schedules/s", fmt.Sprintf(`{"expression":"@daily","kind":"news","args":%s}`, args), 200)
	f.do("POST", "/queues/mail/pause", `{"note":"maintenance"}`, 200)
	f.do("POST", "/jobs/"+id+"/priority", `{"priority":"high"}`, 200)
	f.do("POST", "/jobs/"+id+"/copy", `{}`, 403)
	f.do("POST", "/queues/mail/jobs", `{"kind":"news","args":{"token":"hush-4"},"max_attempts":-1}`, 400)
	f.do("POST", "/queues/mail/operations", `{"action":"retry","state":"dead","ids":["`+id+`"]}`, 400)
	answers := map[string]string{}
	lines := bufio.NewScanner(stream.Body)
	for last := f.add("mail", "news", args); lines.Scan(); {
		answers["the stream"] += lines.Text() + "\n"
		if strings.Contains(lines.Text(), last) {
			break
		}
	}
	if strings.Count(answers["the stream"], "event: ") < 3 {
		t.Errorf("the stream has no events: %s", answers["the stream"])
	}
	for _, row := range api.Rows() {
		if row.Method != "GET" || strings.Contains(row.Path, "chan") || strings.Contains(row.Path, "chat") || strings.HasSuffix(row.Path, "/events") {
			continue
		}
		path := strings.NewReplacer("{id}", id, "{queue}", "mail", "{schedule}", "s").Replace(row.Path)
		if strings.HasSuffix(path, "/scale") {
			path += "?queue=mail"
		}
		for _, accept := range []string{"application/json", "text/csv", "application/x-ndjson"} {
			r := f.request("GET", path, nil)
			r.Header.Set("Accept", accept)
			recorder := httptest.NewRecorder()
			f.handler.ServeHTTP(recorder, r)
			answers[path+" as "+accept] = recorder.Body.String()
		}
	}
	answers["the log"] = f.log.String()
	hidden := 0
	for what, text := range answers {
		if strings.Contains(text, "hush") || strings.Contains(text, "card-") && !strings.Contains(what, "openapi") {
			t.Errorf("%s has hidden values: %s", what, text)
		}
		hidden += strings.Count(text, ops.Hidden)
	}
	if hidden < 20 {
		t.Errorf("only %d values are hidden in %d answers", hidden, len(answers))
	}
}
