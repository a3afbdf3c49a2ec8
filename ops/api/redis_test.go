package api_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/ops/api"
)

// Queues of these names are on three masters of the cluster of the tests.
var spread = []string{"mail", "web", "reports", "logs"}

func TestEveryBackendAnswersTheSame(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		f := setupOn(t, db, api.Config{})
		results := into[api.BatchResults](f.do("POST", "/jobs", `{"jobs":[{"queue":"mail","kind":"news"},{"queue":"web","kind":"news"},{"queue":"reports","kind":"news"},{"queue":"logs","kind":"news"}]}`, 200)).Results
		for i, name := range spread {
			if results[i].ID == "" || !strings.HasPrefix(results[i].ID, name+":") {
				t.Fatalf("%+v", results)
			}
			f.changesOf(name)
			f.operationsOf(name)
		}
		var names []string
		for cursor, more := "", true; more; more = cursor != "" {
			page := into[api.List[api.Queue]](f.do("GET", "/queues?limit=3&cursor="+cursor, nil, 200))
			for _, q := range page.Items {
				names = append(names, q.Name)
			}
			cursor = page.Next
		}
		if want := slices.Sorted(slices.Values(spread)); !slices.Equal(names, want) {
			t.Errorf("queues %v, want %v", names, want)
		}
		if all := into[api.List[api.Operation]](f.do("GET", "/operations", nil, 200)).Items; len(all) != len(spread) {
			t.Errorf("%d operations are listed: %+v", len(all), all)
		}
		if entries := into[api.List[api.AuditEntry]](f.do("GET", "/audit?limit=500", nil, 200)).Items; len(entries) < 10*len(spread) {
			t.Errorf("the audit has %d entries", len(entries))
		}
		for _, path := range []string{"/workers", "/running", "/channels", "/chats?member=ada"} {
			f.do("GET", path, nil, 200)
		}
	})
}

// changesOf adds, reads and changes jobs, a schedule and the retention of a queue.
func (f *fixture) changesOf(name string) {
	f.Helper()
	path := "/queues/" + name
	r := f.keyed(path+"/jobs", "key", `{"kind":"news","in":"1h"}`)
	id := into[api.Added](f.send(r, 201)).ID
	if again := f.send(f.keyed(path+"/jobs", "key", `{"kind":"news","in":"1h"}`), 200); into[api.Added](again).ID != id {
		f.Errorf("%s: another job was added", id)
	}
	f.do("POST", "/jobs/"+id+"/reschedule", `{"in":"2h"}`, 200)
	if job := into[api.Job](f.do("GET", "/jobs/"+id, nil, 200)); job.State != "delayed" || job.Due.Sub(job.Enqueued).Round(time.Minute) != 2*time.Hour {
		f.Errorf("%+v", job)
	}
	f.do("POST", "/jobs/"+id+"/priority", `{"priority":"high"}`, 200)
	f.do("POST", "/jobs/"+id+"/copy", nil, 201)
	f.do("POST", "/jobs/"+id+"/run-now", nil, 200)
	f.do("POST", "/jobs/"+id+"/cancel", nil, 200)
	f.do("POST", path+"/pause", `{"note":"maintenance"}`, 200)
	if q := into[api.QueueReport](f.do("GET", path, nil, 200)); !q.Paused || q.Note != "maintenance" {
		f.Errorf("%+v", q)
	}
	f.do("POST", path+"/resume", nil, 200)
	f.do("PUT", path+"/schedules/nightly", `{"expression":"@daily","kind":"news"}`, 200)
	f.do("POST", path+"/schedules/nightly/run", nil, 201)
	f.do("DELETE", path+"/schedules/nightly", nil, 204)
	f.do("PUT", path+"/retention", `{"dead":{"jobs":1000},"results":{}}`, 200)
	for _, read := range []string{"/stats", "/errors", "/schedules"} {
		f.do("GET", path+read, nil, 200)
	}
	f.as("scale:*").do("GET", "/scale?queue="+name, nil, 200)
}

// operationsOf retries dead jobs of a queue by an operation.
func (f *fixture) operationsOf(name string) {
	f.Helper()
	f.die(name, "news", `1`, `2`)
	op := into[api.Operation](f.do("POST", "/queues/"+name+"/operations", `{"action":"retry","state":"dead","match":"kind == \"news\""}`, 202))
	if op = f.ended(op.ID); op.Status != "done" || op.Changed != 2 {
		f.Errorf("%+v", op)
	}
}

func TestFullRedisRefusesWhatNeedsRoomAndCanBeEmptied(t *testing.T) {
	t.Parallel()
	f := setupOn(t, redistest.Open(t, redistest.Start(t, "--maxmemory-policy", "noeviction").URL(0)), api.Config{})
	dead := f.die("mail", "news", `1`, `2`)
	waiting := f.add("mail", "news", `3`)
	f.add("mail", "news", `4`)
	slow := into[api.Operation](f.do("POST", "/queues/mail/operations", `{"action":"delete","state":"dead","rate":1}`, 202))
	f.must(f.db.ConfigSet(f.Context(), "maxmemory", "1").Err())
	slow = into[api.Operation](f.do("POST", "/operations/"+slow.ID+"/stop", nil, 200))
	for path, body := range map[string]any{
		"/queues/mail/jobs": `{"kind":"news"}`, "/jobs/" + waiting + "/copy": nil,
		"/jobs/" + dead[1] + "/retry": nil, "/queues/mail/operations": `{"action":"retry","state":"dead"}`,
	} {
		a := f.do("POST", path, body, 503)
		if p := a.problem("redis-full"); a.Header.Get("Retry-After") == "" {
			t.Errorf("%s: no Retry-After: %+v", path, p)
		}
	}
	for _, result := range into[api.BatchResults](f.do("POST", "/jobs", `{"jobs":[{"queue":"mail","kind":"news"},{"queue":"mail","kind":"news"}]}`, 200)).Results {
		if result.Problem == nil || result.Problem.Name() != "redis-full" {
			t.Errorf("%+v", result)
		}
	}
	f.do("PUT", "/queues/mail/schedules/s", `{"expression":"@daily","kind":"news"}`, 503).problem("redis-full")
	f.do("PUT", "/queues/mail/retention", `{"dead":{"jobs":5},"results":{}}`, 503).problem("redis-full")
	for _, path := range []string{"/queues", "/queues/mail", "/queues/mail/jobs", "/jobs/" + waiting, "/operations", "/audit"} {
		f.do("GET", path, nil, 200)
	}
	f.do("DELETE", "/jobs/"+waiting, nil, 204)
	op := into[api.Operation](f.do("POST", "/queues/mail/purge", `{"all":true}`, 202))
	if op = f.ended(op.ID); op.Status != "done" || op.Changed != 1 {
		t.Errorf("%+v", op)
	}
	if slow.Status == "stopped" { // not done before
		f.do("POST", "/operations/"+slow.ID+"/continue", nil, 202)
	}
	if slow = f.ended(slow.ID); slow.Status != "done" || f.depth("mail").Dead != 0 {
		t.Errorf("%+v", slow)
	}
}
