package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"skidway/internal/redistest"
	"skidway/ops/api"
)

func names(list api.List[api.Queue]) (names []string) {
	for _, q := range list.Items {
		names = append(names, q.Name)
	}
	return names
}

func TestListsHaveOnlyVisibleQueuesPageByPage(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for _, name := range []string{"a1", "a2", "a3", "b1", "mail"} {
		f.add(name, "news", `{}`)
	}
	first := into[api.List[api.Queue]](f.as("view:a*").do("GET", "/queues?limit=2", nil, 200))
	if got := names(first); !slices.Equal(got, []string{"a1", "a2"}) || first.Complete || first.LookedAt != 2 || first.Items[0].Waiting != 1 || first.AsOf.IsZero() {
		t.Errorf("%+v", first)
	}
	second := into[api.List[api.Queue]](f.as("view:a*").do("GET", "/queues?limit=2&cursor="+first.Next, nil, 200))
	if got := names(second); !slices.Equal(got, []string{"a3"}) || !second.Complete || second.Next != "" {
		t.Errorf("%+v", second)
	}
	if none := into[api.List[api.Queue]](f.as("view:nothing").do("GET", "/queues", nil, 200)); len(none.Items) != 0 || none.AsOf.IsZero() {
		t.Errorf("%+v", none)
	}
	f.do("GET", "/operations?cursor="+first.Next, nil, 400).problem("bad-cursor")
	f.do("GET", "/queues?cursor=x", nil, 400).problem("bad-cursor")
	f.do("GET", "/queues?limit=501", nil, 400).problem("invalid")
	f.do("GET", "/queues?nonsense=1", nil, 400).problem("invalid")
	f.do("GET", "/queues?limit=1&limit=2", nil, 400).problem("invalid")
}

func TestErrorsDoNotNameOtherQueues(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.add("secret", "news", `{}`)
	for _, path := range []string{"/queues/mail", "/queues/mail/stats", "/queues/mail/errors", "/queues/mail/jobs", "/queues/mail/schedules", "/running?queue=mail", "/workers?queue=mail"} {
		p := f.as("view:mail").do("GET", path, nil, 404).problem("no-queue")
		if p.Detail != "there is no queue mail" {
			t.Errorf("%s: %q", path, p.Detail)
		}
		f.as("view:mail").do("GET", fmt.Sprintf("%.7s/secret", path), nil, map[bool]int{true: 403, false: 404}[path[:7] == "/queues"])
	}
}

func TestQueueIsShownPausedAndDeleted(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.add("mail", "news", `{}`)
	report := into[api.QueueReport](f.do("GET", "/queues/mail", nil, 200))
	if report.Waiting != 1 || len(report.Findings) == 0 || len(report.Days) == 0 {
		t.Errorf("%+v", report)
	}
	paused := into[api.Queue](f.do("POST", "/queues/mail/pause", `{"note":"the provider is away"}`, 200))
	if !paused.Paused || paused.PausedBy != "token robot" || paused.Note != "the provider is away" || paused.PausedAt.IsZero() {
		t.Errorf("%+v", paused)
	}
	if resumed := into[api.Queue](f.do("POST", "/queues/mail/resume", nil, 200)); resumed.Paused {
		t.Errorf("%+v", resumed)
	}
	f.do("DELETE", "/queues/mail", nil, 409).problem("not-empty")
	f.do("DELETE", "/queues/none", nil, 404).problem("no-queue")
	f.do("GET", "/queues/mail/stats?range=year", nil, 400).problem("invalid")
	if stats := into[api.Statistics](f.do("GET", "/queues/mail/stats?range=day", nil, 200)); len(stats.Buckets) != 96 {
		t.Errorf("%d buckets", len(stats.Buckets))
	}
	into[api.List[api.ErrorGroup]](f.do("GET", "/queues/mail/errors", nil, 200))
}

func TestRetentionIsReplacedByVersion(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.add("mail", "news", `{}`)
	const path = "/queues/mail/retention"
	put := func(body, version string, status int) answer {
		t.Helper()
		r := f.request("PUT", "/api/v1"+path, body)
		if version != "" {
			r.Header.Set("If-Match", version)
		}
		return f.send(r, status)
	}
	first := f.do("GET", path, nil, 200).Header.Get("ETag")
	const body = `{"dead":{"jobs":500,"bytes":1048576,"age":"24h"},"results":{}}`
	second := put(body, first, 200).Header.Get("ETag")
	shown := f.as("view:mail").do("GET", path, nil, 200)
	if r := into[api.Retention](shown); r.Dead != (api.Limits{Jobs: 500, Bytes: 1 << 20, Age: api.Duration(24 * time.Hour)}) || r.Results != (api.Limits{}) || shown.Header.Get("ETag") != second {
		t.Errorf("the retention is %s", shown.text)
	}
	put(`{"dead":{},"results":{}}`, first, 412).problem("changed")
	put(`{"dead":{"jobs":-1},"results":{}}`, "", 400).problem("invalid")
	put(`{"dead":{"age":"1us"},"results":{}}`, "", 400).problem("invalid")
	put(`{"dead":{},"results":{}}`, "", 200)
	if again := f.do("GET", path, nil, 200).Header.Get("ETag"); again != first {
		t.Errorf("with the defaults again the version is %s, not %s", again, first)
	}
	f.do("PUT", "/queues/none/retention", body, 404).problem("no-queue")
}

func TestChangesAreInTheAudit(t *testing.T) {
	t.Parallel()
	f := setup(t)
	id := f.add("mail", "news", `{}`)
	f.do("POST", "/queues/mail/pause", nil, 200)
	f.do("POST", "/jobs/"+id+"/retry", nil, 409).problem("wrong-state")
	f.do("DELETE", "/jobs/"+id, nil, 204)
	list := into[api.List[api.AuditEntry]](f.do("GET", "/audit", nil, 200))
	var rows []string
	for _, e := range list.Items {
		rows = append(rows, fmt.Sprint(e.Who, " ", e.Proven, " ", e.Action, " ", e.Queue, " ", e.Filter, " ", e.Outcome))
	}
	slices.Reverse(rows)
	want := []string{
		"token robot true pause mail  ", "token robot true pause mail  done",
		"token robot true retry mail id == " + id + " ", "token robot true retry mail id == " + id + " the job is in another state",
		"token robot true delete mail id == " + id + " ", "token robot true delete mail id == " + id + " done",
	}
	if len(rows) != len(want) {
		t.Fatalf("%q", rows)
	}
	for i := range rows {
		if rows[i] != want[i] && i != 3 {
			t.Errorf("row %d: %q, want %q", i, rows[i], want[i])
		}
	}
	if newer := into[api.List[api.AuditEntry]](f.do("GET", "/audit?newer_than=1h", nil, 200)); len(newer.Items) != len(want) {
		t.Errorf("newer than an hour are %+v", newer.Items)
	}
	f.do("GET", "/audit?newer_than=soon", nil, 400)
	next := into[api.List[api.AuditEntry]](f.do("GET", "/audit?limit=2", nil, 200)).Next
	if rest := into[api.List[api.AuditEntry]](f.do("GET", "/audit?limit=10&cursor="+next, nil, 200)); len(rest.Items) != 4 || !rest.Complete {
		t.Errorf("%+v", rest)
	}
}

func TestRedisAwayIsNeverAnEmptyList(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	f := setupOn(t, redistest.OpenOnce(t, server.URL(0)), api.Config{})
	f.add("mail", "news", `{}`)
	server.Kill()
	f = f.as("view:*", "operate:*", "enqueue:*", "admin:*", "scale:*")
	for _, row := range api.Rows() {
		if row.Everyone || row.Body != nil {
			continue
		}
		path := strings.ReplaceAll(example.Replace(row.Path), "operations/mail:0:n1-1", "operations/mail:0:j3kq5wa7bd")
		path += map[string]string{"/api/v1/channels/c/counts": "?subscriber=s", "/api/v1/chats": "?member=m", "/api/v1/events": "?queue=mail", "/api/v1/scale": "?queue=mail"}[path]
		a := f.send(f.request(row.Method, path, nil), 503)
		a.problem("redis-unavailable")
		if a.Header.Get("Retry-After") == "" {
			t.Errorf("%s %s: no Retry-After", row.Method, path)
		}
	}
	f.do("POST", "/queues/mail/jobs", `{"kind":"news"}`, 503)
	f.do("POST", "/jobs", `{"jobs":[{"queue":"mail","kind":"news"},{"queue":"web","kind":"news"}]}`, 503)
}
