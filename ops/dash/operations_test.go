package dash_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/ops"
	"skidway/ops/access"
	"skidway/ops/dash"
	"skidway/queue"
)

func TestOperationsAreListedStoppedAndContinued(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	client, err := ops.NewClient(f.queues, nil)
	f.must(err)
	for range 3 {
		f.add("mail", "email.send", `{"to":"ada"}`, queue.Options{})
	}
	asked, err := client.Operations().Ask(t.Context(), ops.Change{Queue: "mail", Do: "delete", State: queue.Waiting, Match: `text contains "<script>" || kind == "email.send"`, By: attack})
	f.must(err)
	run, err := client.Operations().Begin(t.Context(), asked)
	f.must(err)
	id := run.Operation.ID
	f.want(f.get("/operations"), http.StatusOK, "Delete waiting jobs in", "0 of 3", "running", "&lt;script&gt;alert(1)", `value="stop">Stop`)

	f.who = principal(t, "view:*", "operate:*")
	f.want(f.get("/operations"), http.StatusOK, `disabled title="Your role may not administrate here"`)
	f.want(f.post("/operations/change", url.Values{"id": {id}, "do": {"stop"}}), http.StatusForbidden)
	f.who = principal(t, "view:docs", "operate:docs")
	if a := f.get("/operations"); strings.Contains(a.body, "Delete waiting") {
		t.Errorf("an operation of another queue is shown: %s", a.body)
	}
	f.want(f.post("/operations/change", url.Values{"id": {id}, "do": {"stop"}}), http.StatusForbidden)

	f.who = principal(t, "view:*", "operate:*", "admin:*")
	f.want(f.follow(f.post("/operations/change", url.Values{"id": {id}, "do": {"stop"}})), http.StatusOK, "The operation is stopped. It has changed 0 jobs.", "stopped", `value="continue">Continue`)
	f.want(f.post("/operations/change", url.Values{"id": {id}, "do": {"burn"}}), http.StatusBadRequest)
	f.want(f.follow(f.post("/operations/change", url.Values{"id": {id}, "do": {"continue"}})), http.StatusOK, "The operation goes on.")
	f.must(f.dash.Close()) // it waits for a step at least, or interrupts the operation
	f.want(f.follow(f.post("/operations/change", url.Values{"id": {"mail:none"}, "do": {"stop"}})), http.StatusOK, "Not done:")
}

func TestOperationWhoseBeginHadNoAnswerRunsAfterThePage(t *testing.T) {
	t.Parallel()
	proxy := redistest.StartProxy(t, redistest.URL(t))
	db, err := rdb.Open(t.Context(), proxy.URL, rdb.Options{Patience: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	f := setup(t, db)
	change := func() {
		question := f.get("/jobs/question?all=1&do=cancel&state=waiting&queue=mail&match=" + url.QueryEscape(`kind == "news"`))
		f.post("/jobs/change", hidden(question.body, "/jobs/change"))
	}
	f.add("mail", "news", `1`, queue.Options{})
	change() // the scripts are known
	f.add("mail", "news", `2`, queue.Options{})
	held := proxy.HoldReply("eval", "began")
	go func() { <-held.Held(); held.Drop() }()
	change()
	q, err := f.queues.Queue("mail")
	f.must(err)
	for depth, deadline := (queue.Depth{Waiting: 1}), time.Now().Add(20*time.Second); depth.Waiting > 0; {
		if depth, err = q.Depth(t.Context()); err != nil || time.Now().After(deadline) {
			t.Fatalf("%+v, %v", depth, err)
		}
	}
}

func TestOperationThatIsCutShortLeadsToItsRest(t *testing.T) {
	t.Parallel()
	proxy := redistest.StartProxy(t, redistest.URL(t))
	f := setup(t, redistest.OpenOnce(t, proxy.URL))
	for name, c := range map[string]struct{ reply, said string }{
		"read":  {`"ada"`, "0 jobs are cancelled of 1, then: "},             // the job that the operation reads
		"begun": {"began", "Whether the operation has begun is not known:"}, // the reply to its beginning
	} {
		f.add(name, "news", `{"to":"ada"}`, queue.Options{})
		question := f.get("/jobs/question?all=1&do=cancel&state=waiting&queue=" + name + "&match=" + url.QueryEscape(`kind == "news"`))
		held := proxy.HoldReply("", c.reply)
		var a answer
		for left, reached := time.Second, false; !reached && left < time.Minute; left *= 3 { // on a busy machine the time may be over before
			ctx, cancel := context.WithTimeout(t.Context(), left)
			a = send(t, f.dash, formRequest(ctx, "/jobs/change", hidden(question.body, "/jobs/change")))
			cancel()
			select {
			case <-held.Held():
				reached = true
			default:
			}
		}
		held.Release()
		f.want(f.follow(a), http.StatusOK, c.said, `href="/operations">Show operations</a>`)
	}
}

func TestAuditIsForAdministratorsAndFiltered(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	f.must(f.audit.Record(t.Context(), access.Entry{Who: attack, From: attack, Action: "retry", Queue: "mail", Filter: attack, Outcome: attack}))
	f.must(f.audit.Record(t.Context(), access.Entry{Who: "tom", Proven: true, Action: "pause", Queue: "docs", Outcome: "done", Count: 12000}))
	page := f.get("/audit")
	f.want(page, http.StatusOK, "Looked at 2 entries.", "&lt;img", "12,000", "(not signed in)", `data-key="a"`)
	if strings.Contains(page.body, "<img") {
		t.Errorf("an entry is in the page as HTML: %s", page.body)
	}
	page = f.get("/audit?who=tom&action=pause&queue=docs")
	if f.want(page, http.StatusOK, "12,000"); strings.Contains(page.body, "onerror") {
		t.Errorf("the filter is not used: %s", page.body)
	}
	f.want(page, http.StatusOK, "skidway audit --who tom --action pause --queue docs<")
	f.want(f.get("/audit?who=none"), http.StatusOK, "No entry matches")
	for _, scopes := range [][]string{{"view:*", "operate:*"}, {"view:mail", "admin:mail"}} {
		f.who = principal(t, scopes...)
		f.want(f.get("/audit"), http.StatusForbidden)
		if strings.Contains(f.get("/queues").body, "/audit") {
			t.Error("the audit is in the list of pages of who may not see it")
		}
	}
}

func TestRedisPageShowsWhatTheDoctorFinds(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	f.want(f.get("/redis"), http.StatusOK, "eviction", "persistence", "skidway doctor", "What the doctor finds")
	f.who = principal(t, "view:mail")
	f.want(f.get("/redis"), http.StatusForbidden)
}

func TestPagesAndActionsOnACluster(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.ClusterDB(t))
	names := []string{"mail", "docs", "reports", "web"} // of several masters
	ids := map[string]string{}
	for _, name := range names {
		ids[name] = f.add(name, "email.send", `{"to":"ada"}`, queue.Options{})
		f.bury(name, "connection refused")
		f.count(name, "email.send", "connection refused", 3, 1)
		f.add(name, "email.send", `{"to":"ada"}`, queue.Options{Delay: time.Hour})
		f.serve(queue.PoolInfo{Name: "worker-" + name, Queues: []string{name}, Concurrency: 2, State: "running"}, time.Minute)
	}
	f.awaitQueues()
	f.want(f.get("/"), http.StatusOK, names...)
	f.want(f.get("/queues"), http.StatusOK, names...)
	f.want(f.get("/errors"), http.StatusOK, names...)
	f.want(f.get("/workers"), http.StatusOK, "worker-mail", "worker-docs", "worker-reports", "worker-web")
	f.want(f.get("/jobs?state=delayed"), http.StatusOK, "4 shown. Looked at all 4 delayed jobs.")
	for _, path := range []string{"/operations", "/channels", "/counts", "/chats", "/redis", "/settings", "/enqueue"} {
		f.want(f.get(path), http.StatusOK)
	}

	server := httptest.NewServer(f.dash)
	t.Cleanup(server.Close)
	t.Cleanup(f.dash.EndStreams)
	overview := f.stream(server.URL, "/")
	for _, name := range names {
		f.want(f.follow(f.post("/queues/"+name+"/pause", url.Values{"note": {"it moves"}})), http.StatusOK, "it moves")
		f.await(overview, name)
		question := f.get("/jobs/question?all=1&do=retry&state=dead&queue=" + name)
		f.want(f.follow(f.post("/jobs/change", hidden(question.body, "/jobs/change"))), http.StatusOK, "1 job runs again.")
		f.want(f.follow(f.post("/schedules/put", url.Values{"new": {"1"}, "name": {"nightly"}, "queue": {name}, "expr": {"@daily"}, "kind": {"email.send"}, "args": {"{}"}})), http.StatusOK, "Schedule nightly is saved.")
		f.want(f.follow(f.post("/jobs/"+ids[name]+"/cancel", nil)), http.StatusOK)
	}
	f.want(f.get("/schedules"), http.StatusOK, names...)
	f.want(f.get("/audit"), http.StatusOK, append(names, "retry", "put schedule", "cancel")...)
}

func TestQuestionSaysWhatWasSearched(t *testing.T) {
	t.Parallel()
	for want, asked := range map[string]ops.Question{
		"Retry 1 dead job? (mail); Retry 1 job; ":     {Count: 1, Looked: 7, Of: 7},
		"No dead job of mail matches; Retry 0 jobs; ": {Looked: 7, Of: 7},
		"Retry the dead jobs that match? (mail); Retry all that match; None was found in the first 3,000 of 1,000,000 dead jobs. The others are read while the change runs.":           {AtLeast: true, Looked: 3000, Of: 1e6},
		"Retry at least 12 dead jobs? (mail); Retry all that match (at least 12); 12 were found in the first 3,000 of 1,000,000 dead jobs. The others are read while the change runs.": {AtLeast: true, Count: 12, Looked: 3000, Of: 1e6},
		"Retry at least 1 dead job? (mail); Retry all that match (at least 1); 1 was found in the first 3,000 of 3,000 dead jobs. The others are read while the change runs.":          {AtLeast: true, Count: 1, Looked: 3000, Of: 10}, // jobs have come
	} {
		asked.Do, asked.Queue, asked.State = "retry", "mail", queue.Dead
		title, button, looked := dash.Words(&asked)
		if got := title + "; " + button + "; " + looked; got != want {
			t.Errorf("%+v: it says %q, want %q", asked, got, want)
		}
	}
	for want, op := range map[string]queue.Operation{
		"3 of 7": {Changed: 3, Count: 7}, "3 of at least 7": {Changed: 3, Count: 7, AtLeast: true}, "9 of at least 9": {Changed: 9, Count: 7, AtLeast: true},
		"3": {Changed: 3, AtLeast: true}, "9": {Changed: 9, Count: 7, AtLeast: true, Status: "done"},
	} {
		if got := dash.Progress(op); got != want {
			t.Errorf("%+v: it says %q, want %q", op, got, want)
		}
	}
}
