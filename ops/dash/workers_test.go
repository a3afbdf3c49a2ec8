package dash_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"skidway/internal/redistest"
	"skidway/queue"
)

// serve makes a worker known that serves queues, and that holds the waiting jobs of the first one.
func (f *fixture) serve(info queue.PoolInfo, length time.Duration) {
	f.Helper()
	q, err := f.queues.ForPool(info.Queues[0])
	f.must(err)
	lease, err := q.NewLease(info.Name+".1", time.Minute)
	f.must(err)
	_, err = lease.Fetch(f.Context(), queue.FetchLimits{Jobs: 100, Bytes: 1 << 20})
	f.must(err)
	_, err = f.queues.Beat(f.Context(), queue.PoolBeat{Pool: info.Name, Length: length, Info: &info})
	f.must(err)
}

func TestWorkersAreListedInPages(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	for i := range 201 {
		info := queue.PoolInfo{Name: fmt.Sprintf("app-%03d", i), Host: "app", Concurrency: 1, Queues: []string{"mail"}, State: "running"}
		_, err := f.queues.Beat(t.Context(), queue.PoolBeat{Pool: info.Name, Length: time.Minute, Info: &info})
		f.must(err)
	}
	seen := map[string]bool{}
	rows := regexp.MustCompile(`<tr data-row="(app-[^"]+)"`)
	for address, c := range map[string]struct {
		rows        int
		shown, link string
	}{
		"/workers":        {200, "1 to 200 of 201 workers", `href="/workers?name=&amp;page=2">Next`},
		"/workers?page=2": {1, "201 to 201 of 201 workers", `href="/workers?name=&amp;page=1">Previous`},
	} {
		page := f.get(address)
		f.want(page, http.StatusOK, "201 are alive, with 0 jobs in 201 slots", c.shown, c.link)
		found := rows.FindAllStringSubmatch(page.body, -1)
		if n := strings.Count(page.body, `popover role="dialog" id="tell-`); len(found) != c.rows || n != c.rows {
			t.Errorf("%s has %d workers and %d questions, want %d", address, len(found), n, c.rows)
		}
		for _, row := range found {
			seen[row[1]] = true
		}
	}
	if len(seen) != 201 {
		t.Errorf("the pages list %d workers, want 201", len(seen))
	}
}

func TestWorkersAreShownAndTold(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	id := f.add("mail", "email.send", `{}`, queue.Options{})
	f.add("docs", "pdf", `{}`, queue.Options{})
	f.serve(queue.PoolInfo{Name: "mta-1", Host: attack, Concurrency: 1, Queues: []string{"mail"}, State: "running", Version: "v1.1", Started: time.Now()}, time.Minute)
	f.serve(queue.PoolInfo{Name: "app-1", Host: "app", Concurrency: 4, Queues: []string{"docs", "mail"}, State: "quiet", Version: "v1.2" + attack, Stuck: 2}, time.Minute)
	f.serve(queue.PoolInfo{Name: "app-2", Host: "app", Concurrency: 4, Queues: []string{"rare"}, State: "a later state", Version: "v1.1"}, time.Minute)
	f.serve(queue.PoolInfo{Name: "gone-1", Host: "gone", Concurrency: 9, Queues: []string{"rare"}, State: "running"}, time.Millisecond)

	page := f.get("/workers")
	for !strings.Contains(page.body, "gone-1") && t.Context().Err() == nil { // until the lease of the last one is over
		page = f.get("/workers")
	}
	f.want(page, http.StatusOK, "3 are alive, with 2 jobs in 9 slots, as of ", "all slots held", "quiet", "a later state", "2 handlers ignore their timeout", "Workers run several versions", "not the version of most workers",
		"1 × pdf", `href="/jobs/`+id+`"`, "vanished", "gone-1", `popovertarget="tell-0"`)
	if strings.Contains(page.body, "<img") {
		t.Errorf("a name is in the page as HTML: %s", page.body)
	}
	f.want(f.follow(f.post("/workers/signal", url.Values{"worker": {"mta-1"}, "do": {"quiet"}})), http.StatusOK, "Worker mta-1 is told to take no more jobs.")
	f.want(f.follow(f.post("/workers/signal", url.Values{"worker": {"app-1"}, "do": {"stop"}})), http.StatusOK, "Worker app-1 is told to stop.")
	f.want(f.follow(f.post("/workers/signal", url.Values{"worker": {"none"}, "do": {"stop"}})), http.StatusOK, "No worker none is running.")
	f.want(f.post("/workers/signal", url.Values{"worker": {"app-1"}, "do": {"kill"}}), http.StatusBadRequest)
	q, err := f.queues.ForPool("mail")
	f.must(err)
	sent, _, err := q.Signals(t.Context(), queue.StreamCursor{ID: "0"})
	f.must(err)
	if len(sent) != 2 || sent[0].Worker != "mta-1" || sent[0].Kind != queue.SignalQuiet || sent[1].Kind != queue.SignalStop {
		t.Errorf("the signals are %+v", sent)
	}
	if entries, _, err := f.audit.List(t.Context(), "", 10); err != nil || len(entries) != 4 || entries[0].Action != "stop worker" || entries[0].Filter != "app-1" {
		t.Errorf("the audit has %+v, %v", entries, err)
	}

	f.who = principal(t, "view:mail", "operate:mail")
	page = f.get("/workers")
	f.want(page, http.StatusOK, "mta-1", ">a worker<", `disabled title="Your role may not operate all queues`)
	for _, hidden := range []string{"docs", "app-2", "pdf", "app-1", ">app<"} {
		if strings.Contains(page.body, hidden) {
			t.Errorf("%s is shown, of queues of others: %s", hidden, page.body)
		}
	}
	page = f.get("/queues/mail")
	f.want(page, http.StatusOK, ">mta-1</dt>", ">a worker</dt>")
	if strings.Contains(page.body, "app-1") || strings.Contains(page.body, ">app<") {
		t.Errorf("a worker that also serves queues of others is named: %s", page.body)
	}
	f.want(f.post("/workers/signal", url.Values{"worker": {"app-1"}, "do": {"stop"}}), http.StatusForbidden)
	f.want(f.post("/workers/signal", url.Values{"worker": {"none"}, "do": {"stop"}}), http.StatusForbidden)
	f.want(f.follow(f.post("/workers/signal", url.Values{"worker": {"mta-1"}, "do": {"stop"}})), http.StatusOK, "is told to stop")

	f.who = principal(t, "view:mail", "view:docs") // all queues of both, but only to look at
	for _, path := range []string{"/workers", "/queues/mail"} {
		if page = f.get(path); strings.Contains(page.body, "mta-1") || strings.Contains(page.body, "app-1") || strings.Contains(page.body, ">app<") {
			t.Errorf("%s names workers to a user who may not tell them anything: %s", path, page.body)
		}
	}
	f.who = principal(t, "view:*")
	f.want(f.get("/workers"), http.StatusOK, "mta-1", "app-1", ">app<")
}
