package ops_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/ops"
	"skidway/queue"
)

// dies adds a job that fails for good with errors.
func (f *fixture) dies(kind, args string, headers map[string]string, errs ...string) string {
	f.Helper()
	id := f.add("q", kind, args, queue.Options{Priority: queue.High, Headers: headers})
	q, err := f.queues.ForPool("q")
	f.must(err)
	lease, err := q.NewLease(strings.ReplaceAll(id, ":", "-"), time.Minute)
	f.must(err)
	fetched, err := lease.Fetch(f.Context(), queue.FetchLimits{Jobs: 1, Bytes: 1 << 20})
	f.must(err)
	job := fetched.Jobs[0]
	job.Attempts = len(errs) - 1 // Finish counts this one
	for i, text := range errs {
		job.Errors = append(job.Errors, queue.Failure{Attempt: i + 1, Time: time.Now().UTC(), Error: text})
	}
	_, err = lease.Finish(f.Context(), []queue.Completion{{Job: job, Disposition: queue.AttemptDead, Reason: "no more attempts"}})
	f.must(err)
	_, err = lease.Close(f.Context())
	f.must(err)
	return id
}

// search returns the ids of all jobs that match, and the number of pages.
func (f *fixture) search(options ops.SearchOptions) (ids []string, pages int) {
	f.Helper()
	for {
		page, err := f.client.Search(f.Context(), "q", options)
		f.must(err)
		for _, job := range page.Jobs {
			ids = append(ids, job.ID)
		}
		pages++
		if options.Cursor = page.Next; options.Cursor == "" {
			return ids, pages
		}
	}
}

func TestSearchFindsJobsByTheirFields(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		f := setup(t, db)
		timeout := f.dies("email.send", `{"to":"ada@example.com","user":{"id":7}}`, map[string]string{"trace.id": "t1"}, `dial 10.0.0.1:25: Timeout after 30s`)
		unknown := f.dies("email.send", `{"to":"bob@example.com","user":{"id":8},"text":"`+strings.Repeat("long ", 1000)+`end"}`, nil, "temporary", `550 <bob@example.com>: "no such user"`)
		hook := f.dies("http.request", `not JSON`, nil, "500")
		for match, want := range map[string][]string{
			"": {hook, unknown, timeout},
			`kind == "email.send" && error contains "Timeout" && died >= "-12h"`: {timeout},
			`id == "` + hook + `"`:                                {hook},
			`died < "-12h" || enqueued > "1h"`:                    nil,
			`died >= "1h"`:                                        nil,
			`attempts == 2`:                                       {unknown},
			`error == "temporary"`:                                {unknown},
			`error contains "no more"`:                            {hook, unknown, timeout},
			`shape == "dial <address>: Timeout after <n>s"`:       {timeout},
			`text contains "long end"`:                            {unknown},
			`text startsWith "not"`:                               {hook},
			`args.user.id in [7, 9]`:                              {timeout},
			`args.user == nil`:                                    {hook},
			`headers["trace.id"] == "t1"`:                         {timeout},
			`headers.trace.id == "t1"`:                            {timeout},
			`headers.other != nil`:                                nil,
			`priority == "high" && state == "dead" && due == nil`: {hook, unknown, timeout},
			`state == "waiting"`:                                  nil,
		} {
			ids, _ := f.search(ops.SearchOptions{State: queue.Dead, Match: match})
			slices.Sort(ids)
			slices.Sort(want)
			if !slices.Equal(ids, want) {
				t.Errorf("%s: got %v, want %v", match, ids, want)
			}
		}
	})
}

func TestShortFormsSelectJobs(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	user := f.dies("mail", "", nil, `550 <a@b> says "No Such User"`)
	slow := f.dies("mail", "", nil, "Zeitüberschreitung after 30s")
	hook := f.dies("hook", "", nil, "5.0")
	waits := f.add("q", "mail", "", queue.Options{})
	for _, c := range []struct {
		short         ops.Short
		dead, waiting []string
	}{
		{ops.Short{}, []string{hook, slow, user}, []string{waits}},
		{ops.Short{Kind: "mail"}, []string{slow, user}, []string{waits}},
		{ops.Short{Error: "no such user"}, []string{user}, nil},
		{ops.Short{Error: `<a@b> says "no`}, []string{user}, nil},
		{ops.Short{Error: "ZEITüber"}, []string{slow}, nil},
		{ops.Short{Error: "5.0"}, []string{hook}, nil},
		{ops.Short{Error: "5?0"}, nil, nil},
		{ops.Short{Error: "more attempts", Kind: "hook"}, []string{hook}, nil},
		{ops.Short{OlderThan: time.Hour}, nil, nil},
		{ops.Short{NewerThan: time.Hour}, []string{hook, slow, user}, []string{waits}},
		{ops.Short{Kind: "mail", NewerThan: time.Hour, Error: "user"}, []string{user}, nil},
	} {
		for state, want := range map[queue.State][]string{queue.Dead: c.dead, queue.Waiting: c.waiting} {
			match, err := c.short.Match(state, "")
			f.must(err)
			if ids, _ := f.search(ops.SearchOptions{State: state, Match: match}); !slices.Equal(slices.Sorted(slices.Values(ids)), slices.Sorted(slices.Values(want))) {
				t.Errorf("%s %+v: got %v, want %v", state, c.short, ids, want)
			}
		}
	}
}

func TestExpressionStaysBesideItsShortForms(t *testing.T) {
	t.Parallel()
	short := ops.Short{Kind: "a", OlderThan: time.Hour}
	for match, want := range map[string]string{
		"":                                `kind == "a" && died <= "-1h0m0s"`,
		` kind == "b" || attempts > 1`:    `kind == "a" && died <= "-1h0m0s" && (kind == "b" || attempts > 1)`,
		`kind == "b" // || attempts > 1`:  `kind == "a" && died <= "-1h0m0s" && (kind == "b")`,
		`kind == "b") || (attempts > 1`:   "",
		`kind == "b") || true || (1 == 1`: "",
	} {
		joined, err := short.Match(queue.Dead, match)
		if joined != want || (err != nil) != (want == "") || err != nil && !errors.Is(err, queue.ErrInvalid) {
			t.Errorf("%s: %q, %v, want %q", match, joined, err, want)
		}
	}
}

func TestRegularExpressionThatTakesTooLongIsRefused(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	f.add("q", "small", "", queue.Options{})
	f.add("q", "large", strings.Repeat("a", 1<<20-1), queue.Options{})
	f.client.SetPath(0)
	hostile := `text matches "(a?){400}b"`
	began := time.Now()
	page, err := f.client.Search(t.Context(), "q", ops.SearchOptions{State: queue.Waiting, Match: hostile})
	f.must(err)
	if page.Examined != 1 || page.Next == "" {
		t.Errorf("%s, cursor %q: want a page that ends before the large job", page, page.Next)
	}
	_, err = f.client.Search(t.Context(), "q", ops.SearchOptions{State: queue.Waiting, Match: hostile, Cursor: page.Next})
	if !errors.Is(err, queue.ErrInvalid) || !strings.Contains(err.Error(), "take too long") {
		t.Errorf("a page that begins with the large job: %v", err)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
}

func TestPageEndsWithinARead(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	for range 100 {
		f.add("q", "a", "", queue.Options{})
	}
	calls := 0
	f.client.SetClock(func() time.Time { calls++; return time.Unix(2, 0).Add(time.Duration(calls) * 30 * time.Millisecond) })
	f.client.SetPath(0)
	ids, pages := f.search(ops.SearchOptions{State: queue.Waiting, Match: `kind == "a"`})
	if len(ids) != 100 || len(slices.Compact(slices.Sorted(slices.Values(ids)))) != 100 || pages < 20 {
		t.Errorf("%d jobs in %d pages", len(ids), pages)
	}
}

func TestPagesAreLongOnASlowPath(t *testing.T) {
	t.Parallel()
	proxy := redistest.StartProxy(t, redistest.URL(t))
	f := setup(t, redistest.Open(t, proxy.URL))
	const jobs = 900 // a millisecond each
	for range jobs {
		f.add("q", "a", "", queue.Options{})
	}
	at := time.Unix(3, 0)
	f.client.SetClock(func() time.Time { at = at.Add(time.Millisecond); return at })
	f.client.SetPath(30 * time.Millisecond)
	search := func() int {
		page, err := f.client.Search(t.Context(), "q", ops.SearchOptions{State: queue.Waiting, Match: `kind == "none"`})
		f.must(err)
		return page.Examined
	}
	proxy.Slow(20_000) // a read takes more than 30 ms
	if n := search(); n < 100 {
		t.Errorf("%d jobs were looked at, though most of the time was on the path", n)
	}
	proxy.Slow(0)
	f.client.SetPath(time.Hour)
	if n := search(); n == jobs {
		t.Errorf("all jobs were looked at, though only a PING had been slow")
	}
}

func TestPageEndsBeforeAReadThatWouldEndLate(t *testing.T) {
	t.Parallel()
	proxy := redistest.StartProxy(t, redistest.URL(t))
	f := setup(t, redistest.Open(t, proxy.URL))
	for range 300 {
		f.add("q", "a", "", queue.Options{})
	}
	search := func() int {
		page, err := f.client.Search(t.Context(), "q", ops.SearchOptions{State: queue.Waiting, Match: `kind == "none"`})
		f.must(err)
		return page.Examined
	}
	f.client.SetPath(0)
	search()           // the scripts are known
	proxy.Slow(20_000) // the first read, of 8 jobs, takes 50 of 80 ms, and the next one 100 ms
	if n := search(); n > 8 {
		t.Errorf("%d jobs were looked at", n)
	}
	f.client.SetPath(time.Hour) // so each read is all path
	proxy.Slow(1_400)           // the first read ends after 750 ms of a second, and the next one takes longer than the rest
	if n := search(); n > 8 {
		t.Errorf("%d jobs of a far Redis were looked at", n)
	}
}

func TestPagesOfASearchAreBounded(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	const many = 10_300
	var jobs []queue.NewJob
	for i := range many {
		kind := "many"
		if i%100 == 7 {
			kind = "some"
		}
		jobs = append(jobs, queue.NewJob{Args: queue.Raw(kind, []byte(`{}`)), Options: queue.Options{Queue: "q"}})
	}
	for _, result := range f.queues.EnqueueMany(t.Context(), jobs) {
		f.must(result.Err)
	}
	f.client.SetClock(func() time.Time { return time.Unix(1, 0) })
	search := func(match, cursor string, limit int) *ops.SearchPage {
		page, err := f.client.Search(t.Context(), "q", ops.SearchOptions{State: queue.Waiting, Match: match, Cursor: cursor, Limit: limit})
		f.must(err)
		return page
	}
	page := search(`kind == "none"`, "", 0)
	if page.Examined != 10_000 || page.Total != many || page.Next == "" || page.String() != "searched 10,000 of 10,300" {
		t.Errorf("a page without jobs: %s, cursor %q", page, page.Next)
	}
	if page = search(`kind == "none"`, page.Next, 0); page.Examined != many-10_000 || page.Next != "" {
		t.Errorf("the page after it: %s, cursor %q", page, page.Next)
	}
	found, pages := f.search(ops.SearchOptions{State: queue.Waiting, Match: `kind == "some"`, Limit: 40})
	if unique := slices.Compact(slices.Sorted(slices.Values(found))); len(found) != 103 || len(unique) != 103 || pages < 3 {
		t.Errorf("%d jobs, %d different ones, in %d pages", len(found), len(unique), pages)
	}
	if page = search("", "", 50); len(page.Jobs) != 50 || page.Examined != 50 {
		t.Errorf("a page without a filter: %d jobs, %s", len(page.Jobs), page)
	}
	calls := 0
	f.client.SetClock(func() time.Time { calls++; return time.Unix(2, 0).Add(time.Duration(calls) * 10 * time.Millisecond) })
	if page = search(`kind == "none"`, "", 0); page.Examined == 0 || page.Examined > 2000 || page.Next == "" {
		t.Errorf("a page that takes long: %s, cursor %q", page, page.Next)
	}
}

func TestPageEndsAfterFourMiB(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	for range 80 {
		f.add("q", "a", strings.Repeat("x", 64<<10), queue.Options{})
	}
	f.client.SetClock(func() time.Time { return time.Unix(1, 0) })
	page, err := f.client.Search(t.Context(), "q", ops.SearchOptions{State: queue.Waiting, Match: `kind == "none"`})
	f.must(err)
	if page.Examined < 64 || page.Examined > 68 || page.Next == "" {
		t.Errorf("%s, cursor %q", page, page.Next)
	}
}

func TestSearchReadsNoDeadJobsBeforeItsTime(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	for i := range 50 {
		f.dies("a", "", nil, fmt.Sprint(i))
	}
	page, err := f.client.Search(t.Context(), "q", ops.SearchOptions{State: queue.Dead, Match: `died > "1h" && kind == "a"`})
	f.must(err)
	if page.Examined != 1 || page.Next != "" || len(page.Jobs) != 0 {
		t.Errorf("%s, cursor %q", page, page.Next)
	}
}

func TestInvalidSearchesAreRefused(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	for name, options := range map[string]ops.SearchOptions{
		"filter": {State: queue.Dead, Match: `len(kind) > 3`},
		"field":  {State: queue.Dead, Match: `knd == "a"`},
		"limit":  {State: queue.Dead, Limit: 501},
		"cursor": {State: queue.Dead, Cursor: "6 1-1 2-2"},
		"score":  {State: queue.Dead, Cursor: "1-e d1"},
		"entry":  {State: queue.Waiting, Cursor: "6 99999999999999999999-1 2-2"},
		"state":  {State: "asleep"},
	} {
		if _, err := f.client.Search(t.Context(), "q", options); !errors.Is(err, queue.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.client.Search(ctx, "q", ops.SearchOptions{State: queue.Dead}); !errors.Is(err, context.Canceled) {
		t.Errorf("a search whose request has ended: %v", err)
	}
}

func TestFilterNamesTheStatesToSearch(t *testing.T) {
	t.Parallel()
	for match, want := range map[string]string{
		"":                                   "[active waiting delayed dead finished]",
		`state == "dead" && attempts > 1`:    "[dead]",
		`state in ["delayed", "waiting"]`:    "[waiting delayed]",
		`state == "dead" || kind == "a"`:     "[active waiting delayed dead finished]",
		`state == "dead" && state != "dead"`: "[]",
	} {
		if states, err := ops.States(match); err != nil || fmt.Sprint(states) != want {
			t.Errorf("%s: got %v, want %s: %v", match, states, want, err)
		}
	}
}

func TestSearchRepeatsReadsWhoseRepliesAreLost(t *testing.T) {
	t.Parallel()
	proxy := redistest.StartProxy(t, redistest.URL(t))
	f := setup(t, redistest.Open(t, proxy.URL))
	for range 3 {
		f.add("mail", "a", "{}", queue.Options{})
	}
	for n := 1; ; n++ {
		client, err := ops.NewClient(f.queues, nil)
		f.must(err)
		client.SetClock(func() time.Time { return time.Time{} }) // a page does not end early on a busy machine
		sent := proxy.Commands()
		proxy.DropReply(n)
		page, err := client.Search(t.Context(), "mail", ops.SearchOptions{State: queue.Waiting})
		if err != nil || len(page.Jobs) != 3 {
			t.Errorf("without the reply to command %d: %+v, %v", n, page, err)
		}
		if proxy.Commands()-sent < n {
			break // it sends no such command
		}
	}
}
