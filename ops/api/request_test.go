package api_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/internal/handle"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/ops"
	"skidway/ops/access"
	"skidway/ops/api"
	"skidway/queue"
)

func TestCheckOfABodyTakesTimeInProportionToItsSize(t *testing.T) {
	t.Parallel()
	f := setup(t)
	body := `{"kind":"k","args":{"` + strings.Repeat("a", 256<<10) + `":[` + strings.Repeat("1,", 64<<10) + `1]}}`
	fastest := time.Hour
	for tries := 0; tries < 3 && fastest > 5*time.Second; tries++ { // a busy machine may stand still for seconds
		began := time.Now()
		f.handler.ServeHTTP(httptest.NewRecorder(), f.request("POST", "/api/v1/queues/mail/jobs", body))
		fastest = min(fastest, time.Since(began))
	}
	if fastest > 5*time.Second { // 16 s if each element has its path
		t.Errorf("a body of %d bytes took %s", len(body), fastest)
	}
	for body, field := range map[string]string{
		`{"kind":"k","then":[{"kind":"k"},{"kind":"k","args":{"a":[{"b":1,"b":2}]}}]}`: "then[1].args.a[0].b",
		`{"kind":"k","nonsense":1}`: "nonsense",
		`{"kind":"k","args":{"a":` + strings.Repeat("[", 64) + `1` + strings.Repeat("]", 64) + `}}`: "args.a" + strings.Repeat("[0]", 62),
	} {
		if p := f.do("POST", "/queues/mail/jobs", body, 400).problem("invalid"); p.Field != field {
			t.Errorf("the field is %q, want %q", p.Field, field)
		}
	}
}

// A connection remembers the deadline for reading it.
type connection struct {
	*httptest.ResponseRecorder
	deadline time.Time
}

func (c *connection) SetReadDeadline(at time.Time) error { c.deadline = at; return nil }

func TestDeadlineForReadingEndsWithTheBody(t *testing.T) {
	t.Parallel()
	f := setup(t)
	id := f.add("mail", "news", `{}`)
	for _, r := range []*http.Request{
		f.request("GET", "/api/v1/jobs/"+id+"?wait=1ms", nil), f.request("POST", "/api/v1/jobs/"+id+"/cancel", nil), f.request("POST", "/api/v1/queues/mail/jobs", `{"kind":"news"}`),
	} {
		c := &connection{httptest.NewRecorder(), time.Time{}}
		if f.handler.ServeHTTP(c, r); c.Code > 299 || !c.deadline.IsZero() {
			t.Errorf("%s %s: %d, and reads end at %s", r.Method, r.URL, c.Code, c.deadline)
		}
	}
}

func TestOtherSitesChangeNothing(t *testing.T) {
	t.Parallel()
	f := setup(t)
	id := f.add("mail", "news", `{}`)
	for _, header := range []http.Header{{"Sec-Fetch-Site": {"cross-site"}}, {"Origin": {"https://evil.example"}}, {"Origin": {"null"}}} {
		for _, row := range api.Rows() {
			r := f.request(row.Method, strings.Replace(example.Replace(row.Path), "mail:0:n1-1", id, 1), nil)
			if r.Header = header; row.Method != "GET" {
				f.send(r, 403).problem("forbidden")
			}
		}
	}
	f.do("GET", "/jobs/"+id, nil, 200)
	r := f.request("POST", "/api/v1/jobs/"+id+"/cancel", nil)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	f.send(r, 200)
}

func TestTimesBeyondTheYear9999DoNotBreakLists(t *testing.T) {
	t.Parallel()
	f := setup(t)
	const late = "9999-12-31T23:59:59-12:00" // in the year 10000 by UTC
	f.do("POST", "/queues/mail/jobs", `{"kind":"news","deadline":"`+late+`"}`, 400).problem("invalid")
	f.do("POST", "/queues/mail/jobs", `{"kind":"news","then":[{"kind":"news","deadline":"`+late+`"}]}`, 400).problem("invalid")
	if at := api.UTC(time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)); !at.IsZero() {
		t.Errorf("%s is no time in JSON", at)
	}
}

// person returns a request of a user.
func (f *fixture) person(method, path string, body any) *http.Request {
	f.Helper()
	principal := f.principal()
	principal.Name, principal.ID, principal.Token = "ada", "", false
	return f.request(method, "/api/v1"+path, body).WithContext(access.NewContext(f.Context(), principal))
}

func TestJobsThatPeopleAddAreInTheAudit(t *testing.T) {
	t.Parallel()
	f := setup(t)
	id := into[api.Added](f.send(f.person("POST", "/queues/mail/jobs", `{"kind":"news"}`), 201)).ID
	f.send(f.person("POST", "/jobs", `{"jobs":[{"queue":"mail","kind":"news"},{"queue":"web","kind":"news"}]}`), 200)
	f.send(f.person("POST", "/jobs/"+id+"/copy", nil), 201)
	f.do("POST", "/queues/mail/jobs", `{"kind":"news"}`, 201) // by a token
	var rows []string
	for _, e := range into[api.List[api.AuditEntry]](f.do("GET", "/audit", nil, 200)).Items {
		if e.Outcome != "" {
			rows = append(rows, e.Action+" "+e.Queue+" "+e.Filter+" "+e.Outcome)
		}
	}
	want := "copy mail id == " + id + " done; enqueue * queue in [mail web] done; enqueue mail kind == news done"
	if got := strings.Join(rows, "; "); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestRequestWithoutSpecialWorkHasTheUsualTime(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]time.Duration{
		"/queues/mail/jobs": 10 * time.Second, "/jobs/mail:0:n1-1": 10 * time.Second, "/jobs/mail:0:n1-1?wait=20s": 30 * time.Second,
	} {
		if got := api.TimeOf(httptest.NewRequest("GET", "/api/v1"+path, nil)); got != want {
			t.Errorf("%s has %s, want %s", path, got, want)
		}
	}
	r := httptest.NewRequest("GET", "/api/v1/queues/mail/jobs", nil)
	r.Header.Set("Accept", "text/csv")
	if got := api.TimeOf(r); got != 70*time.Second {
		t.Errorf("an export has %s", got)
	}
}

func TestErrorsOfARedisThatCanNotServeAre503(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"LOADING Redis is loading the dataset in memory", "CLUSTERDOWN The cluster is down", "MASTERDOWN Link with MASTER is down"} {
		if p := api.ProblemOf(redisError(text)); p == nil || p.Name() != "redis-unavailable" {
			t.Errorf("%s: %v", text, p)
		}
	}
	if p := api.ProblemOf(context.DeadlineExceeded); p == nil || p.Name() != "redis-unavailable" {
		t.Errorf("%v", p)
	}
}

type redisError string

func (e redisError) Error() string { return string(e) }
func (e redisError) RedisError()   {}

// A breaker is a hook that refuses commands after some entries of the audit.
type breaker struct {
	entries atomic.Int64 // that are still possible
}

func (b *breaker) DialHook(next redis.DialHook) redis.DialHook { return next }

func (b *breaker) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if b.entries.Load() == 0 {
			cmd.SetErr(redisError("ERR broken"))
			return cmd.Err()
		}
		if strings.Contains(fmt.Sprint(cmd.Args()...), ":audit") {
			b.entries.Add(-1)
		}
		return next(ctx, cmd)
	}
}

func (b *breaker) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, commands []redis.Cmder) error {
		if b.entries.Load() == 0 {
			return redisError("ERR broken")
		}
		return next(ctx, commands)
	}
}

func TestChangeIsDoneThoughItsResultCanNotBeRead(t *testing.T) {
	t.Parallel()
	f := setup(t)
	id := f.add("mail", "news", `{}`)
	b := &breaker{}
	b.entries.Store(2) // before and after the change
	f.db.AddHook(b)
	if state := into[api.JobState](f.do("POST", "/jobs/"+id+"/priority", `{"priority":"low"}`, 200)); state.State != "" {
		t.Errorf("%+v", state)
	}
	b.entries.Store(2)
	if q := into[api.Queue](f.do("POST", "/queues/mail/pause", nil, 200)); q.Name != "mail" || q.Error == "" {
		t.Errorf("%+v", q)
	}
	b.entries.Store(2)
	if r := into[api.Retention](f.do("PUT", "/queues/mail/retention", `{"dead":{"jobs":5},"results":{}}`, 200)); r.Dead.Jobs != 5 {
		t.Errorf("%+v", r)
	}
	b.entries.Store(2)
	if s := into[api.Schedule](f.do("PUT", "/queues/mail/schedules/s", `{"expression":"@daily","kind":"news"}`, 200)); s.Expression != "@daily" || s.Kind != "news" {
		t.Errorf("%+v", s)
	}
}

func TestUnknownErrorOfADeletionIsNoConflict(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.add("mail", "news", `{}`)
	f.do("DELETE", "/queues/mail", nil, 409).problem("not-empty")
	b := &breaker{}
	b.entries.Store(1)
	f.db.AddHook(b)
	f.do("DELETE", "/queues/mail", nil, 500).problem("internal")
}

func TestLostReplyOfAChangeIsNoRefusal(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]string{
		context.DeadlineExceeded: "outcome-unknown", &rdb.UnreachableError{Name: "r", Err: io.EOF}: "outcome-unknown",
		redisError("LOADING Redis is loading"): "redis-unavailable", queue.ErrState: "wrong-state",
	} {
		if p := api.ProblemOf(api.Sent(err)); p == nil || p.Name() != want {
			t.Errorf("%v: %v, want %s", err, p, want)
		}
	}
	if err := api.Sent(nil); err != nil {
		t.Error(err)
	}
}

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
