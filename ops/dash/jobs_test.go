package dash_test

import (
	"context"
	"fmt"
	"html"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"skidway/internal/redistest"
	"skidway/queue"
)

// bury makes the waiting jobs of a queue dead, with an error.
func (f *fixture) bury(name, reason string) {
	f.Helper()
	pool, err := f.queues.ForPool(name)
	f.must(err)
	lease, err := pool.NewLease("w.1", time.Hour) // a busy machine may take minutes for all actions
	f.must(err)
	fetched, err := lease.Fetch(f.Context(), queue.FetchLimits{Jobs: 100, Bytes: 1 << 20})
	f.must(err)
	var ends []queue.Completion
	for _, job := range fetched.Jobs {
		failure := &queue.Failure{Attempt: 1, Error: reason, Took: 41 * time.Millisecond, Stack: "example.com/shop.Tax()\n\t/src/tax.go:118\nskidway/workers.call()\n\t/run.go:57\n"}
		ends = append(ends, queue.Completion{Job: job, Disposition: queue.AttemptDead, Reason: reason, Failure: failure})
	}
	_, err = lease.Finish(f.Context(), ends)
	f.must(err)
}

// hidden returns the hidden fields of the form of a page that posts to a path.
func hidden(page, path string) url.Values {
	_, form, _ := strings.Cut(page, `action="`+path+`"`)
	form, _, _ = strings.Cut(form, "</form>")
	values := url.Values{}
	for _, field := range regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)"`).FindAllStringSubmatch(form, -1) {
		values.Add(field[1], unescape.Replace(field[2]))
	}
	return values
}

var unescape = strings.NewReplacer("&#34;", `"`, "&#39;", "'", "&amp;", "&", "&lt;", "<", "&gt;", ">", "&#43;", "+")

func TestJobsAreFoundSelectedAndChanged(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	var ids []string
	for i := range 4 {
		ids = append(ids, f.add("mail", "email.send", `{"to":"ada`+strconv.Itoa(i)+`@example.com"}`, queue.Options{}))
	}
	f.bury("mail", "connection refused")
	f.add("mail", "other", `{"n":9007199254740993}`, queue.Options{})
	f.add("docs", "pdf", `{}`, queue.Options{})
	list := f.get("/jobs?queue=mail&state=dead&error=REFUSED&text=ada")
	f.want(list, http.StatusOK, ids[0], ids[3], "connection refused", "4 shown. Looked at all 4 dead jobs.", "error has “REFUSED”", `<td class="n o2">1</td>`)
	f.want(list, http.StatusOK, `href="/jobs?error=REFUSED&amp;queue=mail&amp;state=waiting&amp;text=ada"`, `href="/jobs?queue=mail&amp;state=dead&amp;text=ada"`, `href="/jobs/export?error=REFUSED&amp;queue=mail&amp;state=dead&amp;text=ada&amp;format=csv"`)
	f.want(f.get("/jobs?queue=mail&state=dead&kind=none"), http.StatusOK, "No job matches", "Clear the filter")
	f.want(f.get("/jobs?state=waiting"), http.StatusOK, ">other in mail<", ">pdf in docs<", "Choose a queue")
	f.want(f.get("/jobs?queue=mail&state=gone"), http.StatusBadRequest)
	f.want(f.get("/jobs?queue=mail&state=dead&match="+url.QueryEscape("kind ==")), http.StatusBadRequest)
	if a := f.get("/jobs?q=" + url.QueryEscape(ids[1])); a.Header.Get("Location") != "/jobs/"+ids[1] {
		t.Errorf("a search for an id leads to %q", a.Header.Get("Location"))
	}
	for _, text := range []string{"panic: runtime error: index out of range", "mail:0:x", "mail: connection:refused"} {
		a := f.get("/jobs?q=" + url.QueryEscape(text))
		page := f.follow(a)
		f.want(page, http.StatusOK, "No job matches", "The other states are searched by the tabs above", `name="match" value="kind == &#34;`+text)
		waiting := regexp.MustCompile(`href="(/jobs[^"]*match=[^"]*state=waiting)"`).FindStringSubmatch(page.body)
		if waiting == nil {
			t.Fatalf("no tab has the search in it: %s", page.body)
		}
		f.want(f.get(html.UnescapeString(waiting[1])), http.StatusOK, "No job matches")
	}
	if a := f.get("/jobs?queue=mail&state=dead&within=1h"); !regexp.MustCompile(`since=20\d\d-`).MatchString(a.Header.Get("Location")) {
		t.Errorf("a time leads to %q", a.Header.Get("Location"))
	}

	// Two ticked jobs.
	question := f.get("/jobs/question?do=retry&state=dead&queue=mail&id=" + ids[0] + "&id=" + ids[1] + "&back=/jobs?queue=mail%26state=dead")
	f.want(question, http.StatusOK, "Retry 2 dead jobs?", "Retry 2 jobs</button>", "skidway jobs retry "+ids[0])
	a := f.post("/jobs/change", hidden(question.body, "/jobs/change"))
	if a.Header.Get("Location") != "/jobs?queue=mail&state=dead" {
		t.Errorf("it leads to %q", a.Header.Get("Location"))
	}
	f.want(f.follow(a), http.StatusOK, "2 jobs run again.", "2 shown.")
	f.want(f.follow(f.post("/jobs/change", hidden(question.body, "/jobs/change"))), http.StatusOK, "Not done:")

	// All that match.
	question = f.get("/jobs/question?all=1&do=delete&state=dead&queue=mail&match=" + url.QueryEscape(`kind == "email.send"`))
	f.want(question, http.StatusOK, "Delete 2 dead jobs?", `pattern="mail"`, "skidway jobs delete --queue mail")
	form := hidden(question.body, "/jobs/change")
	f.want(f.follow(f.post("/jobs/change", form)), http.StatusOK, "That is not the name of the queue.")
	form.Set("name", "mail")
	f.want(f.follow(f.post("/jobs/change", form)), http.StatusOK, "2 jobs are deleted.")
	f.want(f.get("/jobs?queue=mail&state=dead"), http.StatusOK, "No job is dead")
	form.Set("as_of", "1000")
	f.want(f.follow(f.post("/jobs/change", form)), http.StatusOK, "Not done:", "15 minutes ago")

	f.who = principal(t, "view:*", "operate:docs")
	form.Set("do", "retry")
	f.want(f.post("/jobs/change", form), http.StatusForbidden)
	f.want(f.post("/jobs/change", url.Values{"do": {"cancel"}, "state": {"waiting"}, "id": {ids[0]}}), http.StatusForbidden)
	f.want(f.get("/jobs/question?do=delete&state=waiting&id="+ids[0]), http.StatusForbidden)
}

func TestJobPageShowsTheJobAndChangesIt(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	id := f.add("mail", "email.send", `{"account":9007199254740993,"to":{"name":"Ada"}}`, queue.Options{Headers: map[string]string{"tenant": "nordkai"}, Then: []queue.NewJob{{Args: queue.Raw("report", []byte("{}"))}}})
	f.bury("mail", "panic: <script>alert(1)</script>")
	f.want(f.get("/jobs/"+id), http.StatusOK, `  &#34;account&#34;: 9007199254740993,`, "panic: &lt;script&gt;", "<mark>example.com/shop.Tax()", `<span class="dim">skidway/workers.call()`, "41 ms", "tenant", "nordkai", "report", "Retry this job?", "skidway jobs retry "+id)
	f.want(f.get("/jobs/mail:0:n1-0"), http.StatusNotFound)
	f.want(f.get("/jobs/mail:x"), http.StatusBadRequest)
	f.want(f.follow(f.post("/jobs/"+id+"/priority", url.Values{"priority": {"high"}})), http.StatusOK, "has another priority", `data-v="priority">high<`)
	f.want(f.follow(f.post("/jobs/"+id+"/retry", nil)), http.StatusOK, "runs again.", "Cancel this job?")
	f.want(f.follow(f.post("/jobs/"+id+"/retry", nil)), http.StatusOK, "Not done:")

	form := f.get("/jobs/" + id + "/copy")
	f.want(form, http.StatusOK, "<textarea", "9007199254740993")
	a := f.post("/jobs/"+id+"/copy", url.Values{"queue": {"docs"}, "args": {`{"account": 9007199254740995}`}, "priority": {"low"}, "at": {"2h"}})
	copied := f.follow(a)
	f.want(copied, http.StatusOK, "is added.", "9007199254740995", "delayed", `data-v="priority">low<`, "Run this job now?")
	other := strings.TrimPrefix(a.Header.Get("Location"), "/jobs/")
	f.want(f.post("/jobs/"+id+"/copy", url.Values{"queue": {"docs"}, "args": {`{`}}), http.StatusUnprocessableEntity, "The args are not JSON.")
	f.want(f.follow(f.post("/jobs/"+other+"/reschedule", url.Values{"at": {"soon"}})), http.StatusOK, "soon is no time")
	f.want(f.follow(f.post("/jobs/"+other+"/reschedule", url.Values{"at": {"30m"}})), http.StatusOK, "has another time")
	f.want(f.follow(f.post("/jobs/"+other+"/run-now", nil)), http.StatusOK, "runs now", "waiting")
	f.want(f.post("/jobs/"+id+"/cancel", nil), http.StatusSeeOther)
	f.want(f.follow(f.post("/jobs/"+other+"/delete", nil)), http.StatusOK, "is deleted.")

	f.who = principal(t, "view:*", "operate:*", "enqueue:mail:report")
	f.want(f.follow(f.post("/jobs/"+other+"/retry", nil)), http.StatusNotFound)
	third := f.add("docs", "email.send", `{}`, queue.Options{})
	f.want(f.post("/jobs/"+third+"/copy", url.Values{"queue": {"docs"}, "args": {`{}`}}), http.StatusUnprocessableEntity, "not allowed: it needs the scope enqueue:docs:email.send")
	f.want(f.post("/jobs/"+third+"/delete", nil), http.StatusForbidden)
}

func TestJobsThatHaveLeftTheirStateAreNotChanged(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	var ids []string
	for range 2 {
		ids = append(ids, f.add("mail", "email.send", `{}`, queue.Options{}))
	}
	f.bury("mail", "connection refused")
	page := f.get("/jobs/" + ids[0])
	questions := map[string]answer{"one": f.get("/jobs/question?do=delete&state=dead&id=" + ids[0])}
	for _, do := range []string{"delete", "priority"} {
		questions[do] = f.get("/jobs/question?do=" + do + "&state=dead&id=" + ids[0] + "&id=" + ids[1])
	}
	f.must(f.queues.Retry(t.Context(), ids[0]))
	f.want(f.follow(f.post("/jobs/"+ids[0]+"/delete", hidden(page.body, "/jobs/"+ids[0]+"/delete"))), http.StatusOK, "Not done:", "it is waiting")
	f.want(f.follow(f.post("/jobs/change", hidden(questions["one"].body, "/jobs/change"))), http.StatusOK, "Not done:", "it is waiting")
	form := hidden(questions["priority"].body, "/jobs/change")
	form.Set("priority", "high")
	f.want(f.follow(f.post("/jobs/change", form)), http.StatusOK, "1 job has another priority of 2.", "it is waiting")
	f.want(f.follow(f.post("/jobs/change", hidden(questions["delete"].body, "/jobs/change"))), http.StatusOK, "1 job is deleted of 2.", "it is waiting")
	f.want(f.get("/jobs/"+ids[0]), http.StatusOK, "waiting", `data-v="priority">normal<`)
	f.want(f.follow(f.post("/jobs/"+ids[0]+"/cancel", nil)), http.StatusOK, "is cancelled.", "No job is waiting")
}

func TestTickedJobsOfOtherQueuesAreChangedThoughOneQueueHasNone(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	var ids []string
	for _, name := range []string{"mail", "other", "reports"} {
		for range 2 {
			ids = append(ids, f.add(name, "email.send", `{}`, queue.Options{}))
		}
		f.bury(name, "connection refused")
	}
	form := hidden(f.get("/jobs/question?"+url.Values{"do": {"retry"}, "state": {"dead"}, "id": ids}.Encode()).body, "/jobs/change")
	for _, id := range []string{ids[0], ids[1], ids[2]} {
		f.must(f.queues.Retry(t.Context(), id))
	}
	f.want(f.follow(f.post("/jobs/change", form)), http.StatusOK, "3 jobs run again of 6.", "it is waiting")
	entries, _, err := f.audit.List(t.Context(), "", 6)
	f.must(err)
	ends := map[string]string{}
	for _, e := range entries {
		if e.Outcome != "" {
			ends[e.Queue] = fmt.Sprint(e.Count, " ", e.Outcome == "done")
		}
	}
	if want := map[string]string{"mail": "0 false", "other": "1 false", "reports": "2 true"}; !maps.Equal(ends, want) {
		t.Errorf("the audit has %v, want %v", ends, want)
	}
}

func TestExportThatIsNotCompleteSaysSo(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	for range 3 {
		f.add("mail", "email.send", `{}`, queue.Options{})
	}
	const note = "Not complete: these are the first 2 jobs that match."
	f.want(f.get("/jobs/export?queue=mail&format=ndjson&limit=2"), http.StatusOK, `{"note":"`+note+`"}`)
	f.want(f.get("/jobs/export?queue=mail&format=csv&limit=2"), http.StatusOK, "\n"+note+",,,,,,,,,,\n")
	for _, format := range []string{"csv", "ndjson"} {
		if a := f.get("/jobs/export?queue=mail&limit=3&format=" + format); strings.Contains(a.body, "Not complete") || strings.Count(a.body, "email.send") != 3 {
			t.Errorf("a file with all jobs: %s", a.body)
		}
	}
	for _, limit := range []string{"0", "10001", "many"} {
		f.want(f.get("/jobs/export?queue=mail&format=csv&limit="+limit), http.StatusBadRequest)
	}
}

func TestExportWaitsForOtherSearches(t *testing.T) {
	t.Parallel()
	proxy := redistest.StartProxy(t, redistest.URL(t))
	f := setup(t, redistest.OpenOnce(t, proxy.URL))
	id := f.add("mail", "email.send", `{}`, queue.Options{})
	export := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/jobs/export?queue=mail&format=ndjson", nil)
	var searches sync.WaitGroup
	defer searches.Wait()
	var held []*redistest.HeldReply
	for range 2 { // as many as may run at once
		h := proxy.HoldReply("", "email.send")
		held = append(held, h)
		searches.Go(func() {
			send(t, f.dash, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/jobs?queue=mail", nil))
		})
		<-h.Held()
	}
	exported := make(chan answer, 1)
	go func() { exported <- send(t, f.dash, export) }()
	f.want(f.getOnce("/jobs?queue=mail"), http.StatusTooManyRequests) // the export could not begin either
	for _, h := range held {
		h.Release()
	}
	f.want(<-exported, http.StatusOK, id)
}

func TestExportWhoseTimeIsOverSaysSo(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	jobs := make([]queue.NewJob, 501) // more than are read at once
	for i := range jobs {
		jobs[i] = queue.NewJob{Args: queue.Raw("email.send", nil), Options: queue.Options{Queue: "mail"}}
	}
	for _, result := range f.queues.EnqueueMany(t.Context(), jobs) {
		f.must(result.Err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second) // as if it had waited for other searches for a minute
	defer cancel()
	a := send(t, f.dash, httptest.NewRequestWithContext(ctx, http.MethodGet, "/jobs/export?queue=mail&format=ndjson", nil))
	f.want(a, http.StatusOK, `{"note":"Not complete: these are the first `)
}

func TestExportThatFailsCutsTheConnection(t *testing.T) {
	t.Parallel()
	proxy := redistest.StartProxy(t, redistest.URL(t))
	f := setup(t, redistest.OpenOnce(t, proxy.URL))
	for range 40 { // more than the buffers of a connection hold
		f.add("mail", "email.send", `"`+strings.Repeat("a", 1<<19)+`"`, queue.Options{})
	}
	server := httptest.NewServer(f.dash)
	t.Cleanup(server.Close)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/jobs/export?queue=mail&format=ndjson", nil)
	f.must(err)
	answer, err := http.DefaultClient.Do(r)
	f.must(err)
	proxy.LoseCommands("mail")
	if n, err := io.Copy(io.Discard, answer.Body); err == nil {
		t.Errorf("a part of %d bytes looks like the whole file", n)
	}
}

func TestEnqueueFormAddsOnlyAllowedKinds(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	f.want(f.get("/enqueue?queue="+url.QueryEscape(attack)), http.StatusOK, "Enqueue a job", "&lt;img")
	form := url.Values{"queue": {"mail"}, "kind": {"email.send"}, "args": {`{"n": 9007199254740993}`}, "priority": {"high"}, "at": {"2h"}, "unique": {"one"}}
	f.want(f.follow(f.post("/enqueue", form)), http.StatusOK, "is added.", "9007199254740993", `data-v="priority">high<`, "delayed", "<code>one</code>")
	f.want(f.post("/enqueue", form), http.StatusUnprocessableEntity, "Not done:")
	form.Set("args", "{")
	f.want(f.post("/enqueue", form), http.StatusUnprocessableEntity, "The args are not JSON.")
	form.Set("args", "{}")
	form.Set("kind", "exec.run")
	f.want(f.post("/enqueue", form), http.StatusUnprocessableEntity, "not allowed: it needs the scope enqueue:mail:exec.run")
	if entries, _, err := f.audit.List(t.Context(), "", 10); err != nil || len(entries) != 4 || entries[3].Action != "enqueue" || entries[3].Who != "anna" {
		t.Errorf("the audit has %+v, %v", entries, err)
	}
	f.who = principal(t, "view:*", "operate:*")
	f.want(f.post("/enqueue", form), http.StatusForbidden)
	if page := f.get("/queues"); strings.Contains(page.body, `href="/enqueue"`) {
		t.Error("the form is in the list of pages of who may not enqueue")
	}
}

func TestRetryingJobsAndTheirWorkersAreShown(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	fresh, dead := f.add("mail", "a", `{}`, queue.Options{Delay: time.Hour}), f.add("mail", "a", `{}`, queue.Options{})
	f.bury("mail", "connection refused")
	list := f.get("/jobs?queue=mail&state=delayed&match=" + url.QueryEscape("attempts > 0"))
	f.want(list, http.StatusOK, `href="/jobs?match=attempts&#43;%3E&#43;0&amp;queue=mail&amp;state=delayed" aria-current="true"`, "Retrying")
	if strings.Contains(list.body, fresh) {
		t.Error("a job that waits for its first attempt is listed as retrying")
	}
	f.want(f.get("/jobs/"+dead), http.StatusOK, "attempt 1", ` · w</span>`)
	f.who = principal(t, "view:mail")
	if a := f.get("/jobs/" + dead); strings.Contains(a.body, ` · w</span>`) {
		t.Error("the name of a worker is shown to who may not see all queues")
	}
}

func TestMessageOfAnyLengthIsShown(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	id := f.add("mail", "a", `{}`, queue.Options{Delay: time.Hour})
	a := f.post("/jobs/"+id+"/reschedule", url.Values{"at": {strings.Repeat("<", 5000)}})
	if size := len(a.Header.Get("Set-Cookie")); size > 4000 {
		t.Errorf("the cookie has %d bytes", size)
	}
	f.want(f.follow(a), http.StatusOK, "Not done: &lt;&lt;&lt;")
}

func TestQuestionOfTickedJobsLooksAtThem(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	calm := f.add("docs", "pdf", `{}`, queue.Options{})
	f.bury("docs", "disk full")
	var ids []string
	for range 3 {
		ids = append(ids, f.add("mail", "email.send", `{}`, queue.Options{}))
	}
	f.bury("mail", "connection to 10.0.0.7 refused")
	f.count("mail", "email.send", "connection to 10.0.0.8 refused", 1, 0) // of the same cause
	f.count("docs", "pdf", "another error", 1, 0)
	f.must(f.queues.Retry(t.Context(), ids[0]))
	f.must(f.queues.Delete(t.Context(), ids[1]))
	ask := func(do, state string, picked ...string) answer {
		return f.get("/jobs/question?" + url.Values{"do": {do}, "state": {state}, "back": {"/jobs?state=" + state}, "id": picked}.Encode())
	}

	question := ask("retry", "dead", ids...)
	f.want(question, http.StatusOK, "Retry 1 dead job?", "Retry 1 job</button>", "2 of the 3 selected jobs are no longer dead. They are left alone.", "Attempts still fail, the last one <time", "skidway jobs retry "+ids[2]+"<")
	if asked := hidden(question.body, "/jobs/change")["id"]; len(asked) != 1 || asked[0] != ids[2] {
		t.Errorf("the form has the ids %v", asked)
	}
	question = ask("delete", "dead", ids[2])
	if f.want(question, http.StatusOK, "Delete 1 dead job?"); strings.Contains(question.body, "left alone") || strings.Contains(question.body, "Attempts still fail") {
		t.Errorf("the question is %s", question.body)
	}
	gone := ask("delete", "waiting", ids[1], ids[2])
	if f.want(f.follow(gone), http.StatusOK, "Not done: no selected job is waiting any more."); gone.Header.Get("Location") != "/jobs?state=waiting" {
		t.Errorf("it leads to %q", gone.Header.Get("Location"))
	}
	f.want(f.follow(ask("cancel", "waiting", ids[1])), http.StatusOK, "Not done: no selected job is waiting any more.")
	f.want(ask("retry", "dead", make([]string, 51)...), http.StatusBadRequest)

	f.want(f.get("/jobs/"+ids[2]), http.StatusOK, "Retry this job?", "Attempts still fail, the last one <time")
	for _, a := range []answer{f.get("/jobs/" + calm), ask("retry", "dead", calm)} {
		if f.want(a, http.StatusOK, "Retry "); strings.Contains(a.body, "Attempts still fail") {
			t.Errorf("attempts fail, but not of what this job died of: %s", a.body)
		}
	}
}
