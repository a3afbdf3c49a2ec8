package remote_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"skidway"
	"skidway/cmd/skidway/internal/cli"
	"skidway/cmd/skidway/internal/remote"
	"skidway/internal/handle"
	"skidway/internal/redistest"
	"skidway/ops"
	"skidway/ops/access"
	"skidway/ops/api"
	"skidway/queue"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// A fixture is a server, and a client that may do everything but add jobs of the kind exec.run.
type fixture struct {
	*testing.T
	client *remote.Client
	queues *queue.Client
	drop   atomic.Int64 // answers to changes that are lost from now on
	proxy  atomic.Int64 // status of lost answers; zero closes the connection
	url    string
}

func setup(t *testing.T) *fixture {
	t.Parallel()
	db := handle.New(redistest.DB(t))
	f := &fixture{T: t}
	scopes, err := access.ParseScopes([]string{"view:*", "operate:*", "enqueue:*", "admin:*"})
	f.must(err)
	handler, err := api.New(db, api.Config{Authorize: func(r *http.Request) (*access.Principal, error) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			return nil, errors.New("the token is unknown")
		}
		return &access.Principal{Name: "robot", ID: "robot", Token: true, Proven: true, Scopes: scopes}, nil
	}})
	f.must(err)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && f.drop.Add(-1) >= 0 {
			handler.ServeHTTP(httptest.NewRecorder(), r)
			if status := f.proxy.Load(); status != 0 {
				http.Error(w, "<html>the proxy has no answer</html>", int(status))
				return
			}
			panic(http.ErrAbortHandler)
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { server.Close(); handler.Close() })
	f.url = server.URL
	f.client, err = remote.New(f.url+"/", "secret")
	f.must(err)
	f.queues, err = queue.NewClient(db, nil)
	f.must(err)
	return f
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func job(args string, o queue.Options) queue.NewJob {
	o.Queue = "mail"
	return queue.NewJob{Args: queue.Raw("news", []byte(args)), Options: o}
}

func TestLostAnswerAddsNoSecondJob(t *testing.T) {
	f := setup(t)
	one := job(`{}`, queue.Options{})
	f.drop.Store(2)
	id, err := f.client.Enqueue(t.Context(), one.Args, &one.Options)
	f.must(err)
	f.drop.Store(1)
	results := f.client.EnqueueMany(t.Context(), []queue.NewJob{one, one})
	f.must(errors.Join(results[0].Err, results[1].Err))
	page, err := f.client.Search(t.Context(), "mail", ops.SearchOptions{State: queue.Waiting})
	f.must(err)
	if len(page.Jobs) != 3 || !slices.ContainsFunc(page.Jobs, func(j *queue.Job) bool { return j.ID == id }) {
		t.Errorf("%d jobs wait", len(page.Jobs))
	}
	f.drop.Store(100)
	var unknown *skidway.OutcomeUnknownError
	if _, err := f.client.Enqueue(t.Context(), one.Args, &one.Options); !errors.As(err, &unknown) {
		t.Errorf("%v, want an OutcomeUnknownError", err)
	}
}

func TestLostAnswerOfAChangeLeavesItsOutcomeUnknown(t *testing.T) {
	f := setup(t)
	one := job(`{}`, queue.Options{})
	id, err := f.client.Enqueue(t.Context(), one.Args, &one.Options)
	f.must(err)
	for name, change := range map[string]func() error{
		"cancel": func() error { _, err := f.client.Cancel(t.Context(), id); return err },
		"delete": func() error { return f.client.Delete(t.Context(), id) },
		"pause":  func() error { _, err := f.client.Pause(t.Context(), "mail", ""); return err },
		"remove": func() error { return f.client.DeleteQueue(t.Context(), "mail") },
		"stop":   func() error { _, err := f.client.StopOperation(t.Context(), "mail:0:a"); return err },
	} {
		f.drop.Store(1)
		var unknown *skidway.OutcomeUnknownError
		if err := change(); !errors.As(err, &unknown) {
			t.Errorf("%s: %v, want an OutcomeUnknownError", name, err)
		}
	}
}

func TestErrorOfAProxyIsALostAnswer(t *testing.T) {
	f := setup(t)
	one := job(`{}`, queue.Options{})
	for _, status := range []int64{http.StatusBadGateway, http.StatusGatewayTimeout} {
		f.proxy.Store(status)
		f.drop.Store(1)
		id, err := f.client.Enqueue(t.Context(), one.Args, &one.Options)
		f.must(err)
		f.drop.Store(1)
		var unknown *skidway.OutcomeUnknownError
		if _, err := f.client.Cancel(t.Context(), id); !errors.As(err, &unknown) {
			t.Errorf("%d: %v, want an OutcomeUnknownError", status, err)
		}
	}
	page, err := f.client.Search(t.Context(), "mail", ops.SearchOptions{State: queue.Waiting})
	f.must(err)
	if len(page.Jobs) != 0 { // each was added once, and cancelled
		t.Errorf("%d jobs wait", len(page.Jobs))
	}
}

func TestWaitSendsShortRequests(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if wait, err := time.ParseDuration(r.URL.Query().Get("wait")); err != nil || wait <= 0 || wait >= 30*time.Second {
			t.Errorf("a request waits %s, %v", wait, err)
		}
		state := map[bool]string{true: "active", false: "dead"}[requests.Add(1) == 1]
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"id":"mail:0:a","queue":"mail","kind":"news","priority":"normal","state":"` + state + `"}`))
	}))
	defer server.Close()
	client, err := remote.New(server.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	if found, err := client.Wait(t.Context(), "mail:0:a"); err != nil || found.State != queue.Dead || requests.Load() != 2 {
		t.Errorf("%+v, %v after %d requests", found, err, requests.Load())
	}
}

func TestUnknownOutcomeStaysSoWhenTheServerIsGone(t *testing.T) {
	t.Parallel()
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = server.Listener.Close()
		w.Header().Set("Retry-After", "2")
		w.Header().Set("Connection", "close")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte(`{"type":"urn:skidway:problem:outcome-unknown","title":"Redis did not confirm the change","status":503}`))
	}))
	defer server.Close()
	c, err := remote.New(server.URL, "secret")
	if err != nil {
		t.Fatal(err)
	}
	one := job(`{}`, queue.Options{})
	var unknown *skidway.OutcomeUnknownError
	if results := c.EnqueueMany(t.Context(), []queue.NewJob{one, one}); !errors.As(results[0].Err, &unknown) || !errors.As(results[1].Err, &unknown) {
		t.Errorf("%+v, want OutcomeUnknownErrors", results)
	}
}

func TestErrorsAreThoseOfRedis(t *testing.T) {
	f := setup(t)
	one := job(`{}`, queue.Options{Unique: queue.Unique{Key: "k"}})
	id, err := f.client.Enqueue(t.Context(), one.Args, &one.Options)
	f.must(err)
	var duplicate *queue.DuplicateError
	if _, err := f.client.Enqueue(t.Context(), one.Args, &one.Options); !errors.As(err, &duplicate) || duplicate.Owner != id {
		t.Errorf("%v", err)
	}
	if results := f.client.EnqueueMany(t.Context(), []queue.NewJob{one, job(`1`, queue.Options{})}); !errors.As(results[0].Err, &duplicate) || results[1].ID == "" {
		t.Errorf("%+v", results)
	}
	var none *ops.NoQueueError
	if _, err := f.client.Report(t.Context(), "nope"); !errors.As(err, &none) || !slices.Equal(none.Known, []string{"mail"}) {
		t.Errorf("%v", err)
	}
	if _, _, err := f.client.Job(t.Context(), "mail:0:n1-1"); !errors.Is(err, queue.ErrNoJob) {
		t.Errorf("%v", err)
	}
	if err := f.client.RunNow(t.Context(), id); !errors.Is(err, queue.ErrState) {
		t.Errorf("%v", err)
	}
	if _, err := f.client.Search(t.Context(), "mail", ops.SearchOptions{State: queue.Waiting, Match: "nonsense"}); !errors.Is(err, queue.ErrInvalid) {
		t.Errorf("%v", err)
	}
	forbidden := queue.NewJob{Args: queue.Raw("exec.run", []byte("{}")), Options: queue.Options{Queue: "mail"}}
	if _, err := f.client.Enqueue(t.Context(), forbidden.Args, &forbidden.Options); err == nil || !strings.Contains(err.Error(), "enqueue:mail:exec.run") {
		t.Errorf("%v", err)
	}
	stranger, err := remote.New(f.url, "other")
	f.must(err)
	if _, err := stranger.Queues(t.Context()); err == nil || !strings.Contains(err.Error(), "the token is unknown") {
		t.Errorf("%v", err)
	}
	away, err := remote.New("http://127.0.0.1:1", "secret")
	f.must(err)
	var unreachable *cli.UnreachableServerError
	if _, err := away.Enqueue(t.Context(), one.Args, &one.Options); !errors.As(err, &unreachable) || cli.ExitCode(err) == cli.ExitDone {
		t.Errorf("%v", err)
	}
}

func TestWaitAndOperations(t *testing.T) {
	f := setup(t)
	one := job(`{}`, queue.Options{Retain: time.Hour})
	id, err := f.client.Enqueue(t.Context(), one.Args, &one.Options)
	f.must(err)
	asked, err := f.client.Ask(t.Context(), ops.Change{Queue: "mail", Do: "cancel", State: queue.Waiting})
	f.must(err)
	run, err := f.client.Begin(t.Context(), asked)
	f.must(err)
	reports := 0
	f.must(run.Run(t.Context(), func(queue.Operation) { reports++ }))
	if op := run.Operation(); op.Changed != 1 || op.Status != "done" || reports == 0 {
		t.Errorf("%+v", op)
	}
	ended, err := f.client.Wait(t.Context(), id)
	f.must(err)
	if ended.Outcome != queue.Cancelled || ended.Retain != time.Hour {
		t.Errorf("%+v", ended)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.client.Wait(ctx, id); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestRetentionThatHasChangedIsNotReplaced(t *testing.T) {
	f := setup(t)
	one := job(`{}`, queue.Options{})
	_, err := f.client.Enqueue(t.Context(), one.Args, &one.Options)
	f.must(err)
	read, err := f.client.Retention(t.Context(), "mail")
	f.must(err)
	read.Dead = queue.RetentionLimit{Jobs: 5, Bytes: 1 << 20, Age: time.Hour}
	f.must(f.client.SetRetention(t.Context(), "mail", read))
	now, err := f.client.Retention(t.Context(), "mail")
	if err != nil || now.Dead != read.Dead || now.IfVersion == read.IfVersion || now.IfVersion == "" {
		t.Errorf("%+v, %v", now, err)
	}
	read.Dead.Jobs = 7
	if err := f.client.SetRetention(t.Context(), "mail", read); !errors.Is(err, queue.ErrChanged) {
		t.Errorf("%v, want ErrChanged", err)
	}
	var unknown *ops.NoQueueError
	if _, err := f.client.Retention(t.Context(), "nope"); !errors.As(err, &unknown) {
		t.Errorf("%v, want a NoQueueError", err)
	}
}

func TestAllPagesOfRunningJobsAreRead(t *testing.T) {
	t.Parallel()
	pages := map[string]string{
		"":  `{"items":[{"id":"a"},{"id":"b"}],"next":"2","more":3,"silent":["w"]}`,
		"2": `{"items":[{"id":"c"}],"next":"","more":3,"silent":["w"]}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(pages[r.URL.Query().Get("cursor")]))
	}))
	defer server.Close()
	client, err := remote.New(server.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	running, err := client.Running(t.Context(), "")
	if err != nil || len(running.Jobs) != 3 || running.Jobs[2].ID != "c" || running.More != 3 || !slices.Equal(running.Silent, []string{"w"}) {
		t.Errorf("%+v, %v", running, err)
	}
}

// operationServer returns a client of a server that answers the first requests for its operation with an error
// of a proxy.
func operationServer(t *testing.T, failures int64) (*remote.Client, string) {
	t.Helper()
	t.Parallel()
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status := "running"
		if r.Method == http.MethodGet {
			if status = "done"; requests.Add(1) <= failures {
				http.Error(w, "<html>the proxy has no answer</html>", http.StatusBadGateway)
				return
			}
		}
		_, _ = w.Write([]byte(`{"id":"mail:0:a","queue":"mail","status":"` + status + `"}`))
	}))
	t.Cleanup(server.Close)
	client, err := remote.New(server.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	return client, server.URL
}

func TestOperationOutlivesAFailedRequest(t *testing.T) {
	client, _ := operationServer(t, 2)
	run, err := client.Begin(t.Context(), &ops.Question{Change: ops.Change{Queue: "mail"}})
	if err == nil {
		err = run.Run(t.Context(), func(queue.Operation) {})
	}
	if err != nil || run.Operation().Status != "done" {
		t.Errorf("%+v, %v", run, err)
	}
}

func TestAdviceAboutAnOperationNeedsNoRedis(t *testing.T) {
	client, url := operationServer(t, 1000)
	run, err := client.Begin(t.Context(), &ops.Question{Change: ops.Change{Queue: "mail"}})
	if err != nil {
		t.Fatal(err)
	}
	var away *cli.UnreachableServerError
	if err := run.Run(t.Context(), func(queue.Operation) {}); !errors.As(err, &away) {
		t.Errorf("%v, want an UnreachableServerError", err)
	}
	if got, want := run.Advice(), "the operation may go on in the server: GET "+url+"/api/v1/operations/mail:0:a shows it"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestRedisOfAServerThatIsAwayIsNotThatOfTheCommand(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte(`{"type":"urn:skidway:problem:redis-unavailable","title":"Redis does not answer","status":503,"detail":"Redis did not answer in time","instance":"/api/v1/queues"}`))
	}))
	defer server.Close()
	client, err := remote.New(server.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.Queues(t.Context())
	if err == nil || !cli.Unreachable(err) || cli.WithHint(err) != "the Redis of the server is not reachable: Redis did not answer in time" {
		t.Errorf("%q", cli.WithHint(err))
	}
}
