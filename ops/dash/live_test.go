package dash_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/delayed"
	"skidway/distribute"
	"skidway/distribute/chat"
	"skidway/distribute/chat/group"
	"skidway/internal/redistest"
	"skidway/ops/access"
	"skidway/ops/dash"
	"skidway/queue"
)

// stream opens a stream of a page, and returns its lines.
func (f *fixture) stream(server, page string) <-chan string {
	f.Helper()
	return f.streamFor(3*time.Minute, server, page) // pages that read Redis are drawn every 15 s at most on a busy machine
}

// streamFor returns the lines of a stream that ends after a time.
func (f *fixture) streamFor(length time.Duration, server, page string) <-chan string {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), length)
	f.Cleanup(cancel)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server+"/live?page="+url.QueryEscape(page), nil)
	f.must(err)
	response, err := http.DefaultClient.Do(request)
	f.must(err)
	f.Cleanup(func() { _ = response.Body.Close() })
	if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != "text/event-stream" {
		f.Fatalf("the answer is %d %s", response.StatusCode, response.Header)
	}
	lines := make(chan string, 1000)
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(response.Body); scanner.Scan(); {
			lines <- scanner.Text()
		}
	}()
	return lines
}

// await waits until lines have contained some texts; an empty text means the end.
func (f *fixture) await(lines <-chan string, texts ...string) {
	f.Helper()
	for line := range lines {
		texts = slices.DeleteFunc(texts, func(text string) bool { return text != "" && strings.Contains(line, text) })
		if len(texts) == 0 {
			return
		}
	}
	if texts[0] != "" {
		f.Errorf("the stream ended without %q", texts)
	}
}

func TestStreamsCarryWhatHasChanged(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	id := f.add("mail", "a", `{}`, queue.Options{})
	server := httptest.NewServer(f.dash)
	t.Cleanup(server.Close)
	overview, one, job := f.stream(server.URL, "/"), f.stream(server.URL, "/queues/mail?range=hour"), f.stream(server.URL, "/jobs/"+id)
	f.await(overview, `"waiting.mail":"1"`)
	f.await(one, `"waiting":"1"`)
	f.await(job, `"state":"waiting"`)
	f.add("mail", "a", `{}`, queue.Options{})
	f.await(overview, `"waiting.mail":"2"`)
	f.await(one, `"waiting":"2"`)
	f.bury("mail", "connection refused")
	f.await(job, `"page":"dead 1"`)
	f.want(f.follow(f.post("/jobs/"+id+"/delete", nil)), http.StatusOK, "is deleted.")
	f.await(job, `"why":"gone"`)
	for _, path := range []string{"/settings", "/none", "/jobs/export", "//example.com", ""} {
		f.want(f.get("/live?page="+url.QueryEscape(path)), http.StatusNotFound)
	}
	f.dash.EndStreams()
	f.await(overview, `"why":"end"`)
	f.await(one, "")
	f.want(f.getOnce("/live?page=/"), http.StatusTooManyRequests)
}

func TestEveryLivePageHasAStream(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	f.add("mail", "email.send", `{}`, queue.Options{})
	f.count("mail", "email.send", "connection refused", 40, 2)
	channel, err := distribute.Open(t.Context(), f.queues.DB(), "web")
	f.must(err)
	f.must(channel.Subscribe(t.Context(), "countries", ""))
	length := time.Minute
	beat := func(concurrency int) {
		t.Helper()
		_, err := f.queues.Beat(t.Context(), queue.PoolBeat{Pool: "worker-1", Length: length, Info: &queue.PoolInfo{Name: "worker-1", Queues: []string{"mail"}, Concurrency: concurrency}})
		f.must(err)
	}
	beat(2)
	server := httptest.NewServer(f.dash)
	t.Cleanup(server.Close)
	t.Cleanup(f.dash.EndStreams)
	workers := f.stream(server.URL, "/workers")
	f.await(workers, `"held worker-1":"0 of 2"`)
	f.await(f.stream(server.URL, "/errors"), `"count":"1 group of failed attempts`, `"time last mail `)
	f.await(f.stream(server.URL, "/channels"), `"before web countries":"0"`, `"time seen web countries":"`)
	f.await(f.stream(server.URL, "/operations"), `"as_of"`)
	beat(3)
	f.await(workers, `"held worker-1":"0 of 3"`)
	length = 2 * time.Minute
	beat(3)
	f.await(workers, `"time lease worker-1":"`) // it was renewed
	f.await(f.stream(server.URL, "/redis"), `"findings":["`)
	f.await(f.stream(server.URL, "/counts?channel=web&subscriber=countries"), `"total":"0"`)
}

func TestListsAnnounceWhatIsNew(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	f.add("mail", "a", `{}`, queue.Options{})
	chats := group.NewClient(f.queues.DB())
	room, err := chats.Create(t.Context(), "", &group.CreateOptions{Members: []string{"ada", "bob"}})
	f.must(err)
	schedule := queue.CronSchedule{Name: "nightly", Queue: "mail", Expr: "30 2 * * *", Kind: "report", Args: []byte("{}")}
	_, err = delayed.AddSchedule(t.Context(), f.queues, schedule)
	f.must(err)
	server := httptest.NewServer(f.dash)
	t.Cleanup(server.Close)
	t.Cleanup(f.dash.EndStreams)
	jobs, audit := f.stream(server.URL, "/jobs?queue=mail&state=waiting"), f.stream(server.URL, "/audit")
	conversation, schedules := f.stream(server.URL, "/chats?chat="+room), f.stream(server.URL, "/schedules?queue=mail")
	f.await(jobs, `"count.waiting":"1"`)
	f.await(audit, `"as_of"`)
	f.await(conversation, `"unread bob":"0"`)
	f.await(schedules, `"badge schedule mail nightly"`)

	id := f.add("mail", "a", `{}`, queue.Options{})
	_, err = chats.Send(t.Context(), room, "ada", chat.Content{Body: []byte("hello")})
	f.must(err)
	f.must(f.audit.Record(t.Context(), access.Entry{Who: "tom", Action: "pause", Queue: "mail", Outcome: "done"}))
	entries, _, err := f.audit.List(t.Context(), "", 1)
	f.must(err)
	schedule.Expr = "45 3 * * *"
	_, err = delayed.AddSchedule(t.Context(), f.queues, schedule)
	f.must(err)
	q, err := f.queues.ForPool("mail")
	f.must(err)
	_, err = q.RunSchedule(t.Context(), "nightly", "")
	f.must(err)
	f.await(jobs, id)
	f.await(conversation, `"unread bob":"1"`)
	f.await(audit, `"rows":{"audit":["`+entries[0].ID+`"]}`)
	f.await(schedules, `03:45`, `"rows":{"firings":["mail nightly `)
	f.dash.EndStreams()
}

func TestAFifthStreamOfASessionEndsTheOldest(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	server := httptest.NewServer(f.dash)
	t.Cleanup(server.Close)
	t.Cleanup(f.dash.EndStreams)
	oldest := f.stream(server.URL, "/")
	var others []<-chan string
	for range 4 {
		others = append(others, f.stream(server.URL, "/queues"))
	}
	f.await(oldest, `"why":"many"`)
	for _, lines := range others {
		f.await(lines, "event: change")
	}
}

func TestHiddenValuesStayHidden(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	id := f.add("mail", "a", `{"to":"ada","token":"s3cret"}`, queue.Options{})
	for _, path := range []string{"/jobs/" + id, "/jobs/" + id + "/copy", "/jobs?queue=mail", "/jobs/export?queue=mail&format=csv", "/jobs/export?queue=mail&format=ndjson", "/jobs?queue=mail&text=s3cre"} {
		a := f.get(path)
		f.want(a, http.StatusOK)
		if strings.Contains(strings.ReplaceAll(a.body, "s3cre&", ""), "s3cret") {
			t.Errorf("%s shows it: %s", path, a.body)
		}
	}
	f.want(f.get("/jobs?queue=mail&text=s3cret"), http.StatusOK, "No job matches")
	f.want(f.post("/jobs/"+id+"/reveal", nil), http.StatusForbidden)
	edited := url.Values{"queue": {"mail"}, "args": {`{"to":"bob","token":"[hidden]"}`}}
	f.want(f.post("/jobs/"+id+"/copy", edited), http.StatusUnprocessableEntity, "your role may not reveal them")
	f.who = principal(t, "view:*", "operate:*", "enqueue:*", "reveal:*")
	f.want(f.post("/jobs/"+id+"/reveal", nil), http.StatusOK, "s3cret")
	entries, _, err := f.audit.List(t.Context(), "", 1)
	f.must(err)
	if len(entries) != 1 || entries[0].Action != "reveal" || entries[0].Who != "anna" {
		t.Errorf("the audit has %+v", entries)
	}
	copied := strings.TrimPrefix(f.post("/jobs/"+id+"/copy", edited).Header.Get("Location"), "/jobs/")
	job, err := f.queues.Get(t.Context(), copied)
	f.must(err)
	if string(job.Args) != `{"to":"bob","token":"s3cret"}` {
		t.Errorf("the args are %s", job.Args)
	}
}

func TestThePageOfAnErrorIsNotLive(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	f.add("mail", "a", `{}`, queue.Options{})
	f.want(f.get("/queues/mail"), http.StatusOK, `data-live="`)
	f.who = principal(t, "view:docs")
	for _, path := range []string{"/queues/none", "/queues/mail"} {
		if a := f.get(path); a.StatusCode < http.StatusBadRequest || strings.Contains(a.body, "data-live") {
			t.Errorf("%s: status %d with a stream", path, a.StatusCode)
		}
	}
}

func TestOpenPagesSayThatRedisIsAwayAndBack(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	f := setup(t, redistest.Open(t, server.URL(0)))
	f.add("mail", "a", `{}`, queue.Options{})
	pages := httptest.NewServer(f.dash)
	t.Cleanup(pages.Close)
	t.Cleanup(f.dash.EndStreams)
	overview, one := f.stream(pages.URL, "/"), f.stream(pages.URL, "/queues/mail")
	f.await(overview, `"waiting.mail":"1"`)
	f.await(one, `"waiting":"1"`)
	server.Kill()
	f.await(overview, `"away":"Redis at `)
	f.await(one, `"away":"Redis at `)
	f.want(f.get("/"), http.StatusOK, `id="away">`, "does not answer since", `data-v="waiting.mail">1<`)
	f.must(server.Restart())
	f.await(overview, `"away":""`)
}

func TestPagesHaveTheirLastFiguresWhileRedisIsAway(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	f := setup(t, redistest.Open(t, server.URL(0)))
	job := f.add("docs", "a", `{"page":1}`, queue.Options{})
	f.add("mail", "email.send", `{}`, queue.Options{})
	f.count("mail", "email.send", "connection refused", 40, 2)
	f.serve(queue.PoolInfo{Name: "w1", Queues: []string{"mail"}, State: "running", Concurrency: 3}, time.Minute)
	f.add("mail", "email.send", `{}`, queue.Options{})
	q, err := f.queues.Queue("mail")
	f.must(err)
	f.post("/queues/mail/pause", url.Values{"note": {"a note"}})
	f.must(q.Resume(t.Context()))
	pages := map[string]string{
		"/": `data-v="waiting.mail">1<`, "/queues": `data-v="waiting.mail">1<`, "/queues/mail?range=day": "connection refused", "/jobs?queue=mail&state=waiting": `data-row="mail:0:`, "/jobs/" + job: "&#34;page&#34;: 1",
		"/errors": "connection refused", "/workers": ">w1<", "/operations": "operations", "/audit": "a note", "/schedules": "There is no schedule", "/channels": "Log channels", "/redis": "nothing is written to disk",
	}
	f.awaitQueues()
	for path, text := range pages {
		f.want(f.get(path), http.StatusOK, text)
	}
	server.Kill()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for !strings.Contains(f.get("/").body, "does not answer since") {
		if ctx.Err() != nil {
			t.Fatal("the first page does not say that Redis is away")
		}
	}
	for path, text := range pages {
		f.want(f.get(path), http.StatusOK, "does not answer since", text)
	}
	// What was not shown before has the figures of the sampler, or says that there are none.
	f.want(f.get("/queues/docs"), http.StatusOK, "does not answer since", `data-v="waiting">1<`, "Not known while Redis does not answer.")
	f.want(f.get("/workers?of=now"), http.StatusOK, "does not answer since", ">w1<", "1 of 3")
	for _, path := range []string{"/jobs?queue=docs", "/queues/none", "/jobs/question?do=retry&all=1&queue=mail&state=dead"} {
		a := f.get(path)
		f.want(a, http.StatusServiceUnavailable, "does not answer since")
		if strings.Contains(a.body, "There are no earlier figures") != (path != "/jobs/question?do=retry&all=1&queue=mail&state=dead") {
			t.Errorf("%s: %s", path, a.body)
		}
	}
	f.who = principal(t, "view:docs")
	f.want(f.get("/queues/mail?range=day"), http.StatusForbidden)
	f.want(f.get("/jobs?queue=docs&state=waiting"), http.StatusServiceUnavailable)
	if a := f.get("/workers"); strings.Contains(a.body, "w1") {
		t.Errorf("another viewer sees what the first one has seen: %s", a.body)
	}
}

// A readHook is called before each command and pipeline that a page sends to Redis. The sampler's are not among
// them.
type readHook func() error

func (readHook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h readHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if access.FromContext(ctx) != nil {
			if err := h(); err != nil {
				cmd.SetErr(err)
				return err
			}
		}
		return next(ctx, cmd)
	}
}

func (h readHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, commands []redis.Cmder) error {
		if access.FromContext(ctx) != nil {
			if err := h(); err != nil {
				return err
			}
		}
		return next(ctx, commands)
	}
}

// countReads returns the number of reads of pages from now on.
func (f *fixture) countReads() *atomic.Int64 {
	var reads atomic.Int64
	f.redis.AddHook(readHook(func() error {
		reads.Add(1)
		return nil
	}))
	return &reads
}

// viewers returns the address of a dashboard that takes each request for that of another viewer.
func (f *fixture) viewers() string {
	f.Helper()
	var viewer atomic.Int64
	pages, err := dash.New(f.queues.DB(), dash.Config{Logger: slog.New(slog.DiscardHandler), Authorize: func(*http.Request) (*access.Principal, error) {
		who := *f.who
		who.Name = fmt.Sprint("viewer ", viewer.Add(1))
		return &who, nil
	}})
	f.must(err)
	f.Cleanup(func() { f.must(pages.Close()) })
	server := httptest.NewServer(pages)
	f.Cleanup(server.Close)
	f.Cleanup(pages.EndStreams)
	return server.URL
}

func TestFiftyViewersReadWhatOneReads(t *testing.T) {
	t.Parallel()
	for path, every := range map[string]time.Duration{"/": 0, "/queues": 0, "/queues/mail": 2 * time.Second, "/workers": 2 * time.Second, "/errors": 10 * time.Second, "/jobs?queue=mail&state=waiting": 5 * time.Second, "/schedules?queue=mail": 5 * time.Second} {
		f := setup(t, redistest.DB(t))
		f.add("mail", "email.send", `{}`, queue.Options{})
		address, reads := f.viewers(), f.countReads()
		f.await(f.stream(address, path), "event: change")
		of1, began := reads.Load(), time.Now()
		if every == 0 && of1 != 0 || every > 0 && of1 == 0 {
			t.Errorf("%s: one viewer makes %d reads beside those of the sampler", path, of1)
		}
		for range 49 {
			f.await(f.stream(address, path), "event: change")
		}
		drawings := int64(2) // the first, and one that has begun
		if every > 0 {
			drawings += int64(time.Since(began) / every)
		}
		if all := reads.Load(); all > drawings*of1 {
			t.Errorf("%s: fifty viewers make %d reads, one %d", path, all, of1)
		}
	}
}

func TestReadsOfAPageDoNotGrowWithQueuesAndJobs(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	id := f.add("mail", "email.send", `{}`, queue.Options{})
	f.bury("mail", "refused")
	for i := range 40 {
		f.add("mail", "email.send", `{}`, queue.Options{})
		f.add(fmt.Sprintf("queue-%d", i), "email.send", `{}`, queue.Options{})
	}
	f.awaitQueues()
	reads := f.countReads()
	const ofOne = 20
	limits := map[string]int64{"/errors": 4 * 50, "/redis": 15 * ofOne} // at most fifty queues are read, and the checks of the doctor are many
	for _, path := range []string{
		"/", "/queues", "/queues/mail", "/queues/mail?range=month", "/jobs?queue=mail&state=waiting", "/jobs?queue=mail&state=dead", "/jobs/" + id, "/jobs/" + id + "/copy", "/errors", "/workers", "/operations",
		"/schedules", "/enqueue", "/channels", "/counts", "/chats", "/audit", "/redis", "/settings",
	} {
		before := reads.Load()
		f.want(f.get(path), http.StatusOK)
		if n := reads.Load() - before; n > max(ofOne, limits[path]) {
			t.Errorf("%s: %d reads", path, n)
		}
	}
}

func TestStreamOutlivesADrawingThatFails(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	f.add("mail", "a", `{}`, queue.Options{})
	var broken atomic.Bool
	f.redis.AddHook(readHook(func() error {
		if broken.Load() {
			return errors.New("ERR broken")
		}
		return nil
	}))
	broken.Store(true)
	lines := f.stream(f.viewers(), "/queues/mail")
	f.await(lines, `"away":""`)
	broken.Store(false)
	f.await(lines, `"waiting":"1"`)
}

func TestStreamOfAViewerOfTheContextIsOpenedAgain(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	pages, err := dash.New(f.queues.DB(), dash.Config{Logger: slog.New(slog.DiscardHandler)})
	f.must(err)
	t.Cleanup(func() { f.must(pages.Close()) })
	pages.SetCheckEvery(0)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		pages.ServeHTTP(w, r.WithContext(access.NewContext(r.Context(), f.who)))
	}))
	t.Cleanup(server.Close)
	f.await(f.stream(server.URL, "/"), `"why":"check"`)
}

func TestFiguresTurnToProblemsAndBack(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	f.add("mail", "a", `{}`, queue.Options{})
	lines := f.stream(f.viewers(), "/queues")
	f.await(lines, `"class workers.mail":"bad"`)
	f.serve(queue.PoolInfo{Name: "w1", Queues: []string{"mail"}, State: "running"}, time.Minute)
	f.await(lines, `"class workers.mail":""`)
	f.must(f.redis.HSet(t.Context(), f.redis.Prefix()+":{mail:0}:meta", "format", "99").Err())
	f.await(lines, `"shape state mail":"bad\n`)
}

func TestStreamGoesOnWhileItsReaderCannotBeFoundOut(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	f.add("mail", "a", `{}`, queue.Options{})
	var away atomic.Bool
	asked := make(chan struct{}, 1000)
	pages, err := dash.New(f.queues.DB(), dash.Config{Logger: slog.New(slog.DiscardHandler), Authorize: func(*http.Request) (*access.Principal, error) {
		if away.Load() {
			asked <- struct{}{}
			return nil, errors.New("Redis does not answer")
		}
		return f.who, nil
	}})
	f.must(err)
	t.Cleanup(func() { f.must(pages.Close()) })
	pages.SetCheckEvery(0)
	server := httptest.NewServer(pages)
	t.Cleanup(server.Close)
	t.Cleanup(pages.EndStreams)
	lines := f.stream(server.URL, "/")
	f.await(lines, `"waiting.mail":"1"`)
	away.Store(true)
	f.add("mail", "a", `{}`, queue.Options{})
	<-asked
	f.await(lines, `"waiting.mail":"2"`)
	f.want(send(t, pages, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)), http.StatusServiceUnavailable, "can’t be found out")
}
