package api_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/ops/api"
)

func TestScheduleIsPausedAndReplacedByVersion(t *testing.T) {
	t.Parallel()
	f := setup(t)
	const path = "/queues/mail/schedules/nightly"
	put := func(body, version string, status int) answer {
		t.Helper()
		r := f.request("PUT", "/api/v1"+path, body)
		if version != "" {
			r.Header.Set("If-Match", version)
		}
		return f.send(r, status)
	}
	const daily, hourly = `{"expression":"@daily","kind":"news"}`, `{"expression":"@hourly","kind":"news"}`
	put(daily, `"none"`, 412).problem("changed")
	first := put(daily, "", 200).Header.Get("ETag")
	second := put(hourly, first, 200).Header.Get("ETag")
	if shown := f.do("GET", path, nil, 200).Header.Get("ETag"); first == "" || second == first || shown != second {
		t.Errorf("the versions are %s, %s and %s", first, second, shown)
	}
	put(daily, first, 412).problem("changed")
	for _, wrong := range []string{"x", `"`, `""`, `"*"`, `"a", "b"`} {
		put(daily, wrong, 400).problem("invalid")
	}
	operator := f.as("operate:mail") // may not see it
	for change, paused := range map[string]bool{"/pause": true, "/resume": false} {
		if a := operator.do("POST", path+change, nil, 200); into[api.ScheduleState](a) != (api.ScheduleState{Name: "nightly", Queue: "mail", Paused: paused}) || a.Header.Get("ETag") != "" {
			t.Errorf("%s: %s", change, a.text)
		}
	}
	operator.do("POST", path+"/pause", nil, 200)
	put(daily, second, 412).problem("changed") // it is paused meanwhile
	if s := into[api.Schedule](put(daily, "", 200)); !s.Paused || !s.Next.IsZero() || s.Expression != "@daily" {
		t.Errorf("changed while it is paused it is %+v", s)
	}
	f.do("POST", path+"/run", nil, 201)
	f.do("POST", path+"/resume", nil, 200)
	if s := into[api.Schedule](f.do("GET", path, nil, 200)); s.Paused || !s.Next.After(time.Now()) {
		t.Errorf("resumed it is %+v", s)
	}
	f.do("POST", "/queues/mail/schedules/none/pause", nil, 404).problem("not-found")
	f.do("POST", "/queues/mail/schedules/none/resume", nil, 404).problem("not-found")
}

// with sends a request with a header.
func (f *fixture) with(name, value, method, path string, body any, status int) answer {
	f.Helper()
	r := f.request(method, "/api/v1"+path, body)
	r.Header.Set(name, value)
	return f.send(r, status)
}

func TestConditionsBindEveryChangeOfASchedule(t *testing.T) {
	t.Parallel()
	f := setup(t)
	const path, daily = "/queues/mail/schedules/nightly", `{"expression":"@daily","kind":"news"}`
	f.with("If-Match", "*", "PUT", path, daily, 412).problem("changed") // there is none
	f.with("If-None-Match", "*", "PUT", path, daily, 200)
	f.with("If-None-Match", "*", "PUT", path, `{"expression":"@hourly","kind":"news"}`, 412).problem("changed")
	for path, method := range map[string]string{path: "DELETE", path + "/pause": "POST", path + "/resume": "POST", path + "/run": "POST"} {
		f.with("If-Match", `"old"`, method, path, nil, 412).problem("changed")
	}
	shown := f.do("GET", path, nil, 200)
	if s := into[api.Schedule](shown); s.Paused || len(s.Last) > 0 || s.Expression != "@daily" {
		t.Errorf("%s", shown.text)
	}
	f.with("If-Match", shown.Header.Get("ETag"), "DELETE", path, nil, 204)
	f.with("If-Match", `"a"`, "POST", "/queues/mail/jobs", `{"kind":"news"}`, 400).problem("invalid")
	f.add("mail", "news", `{}`)
	f.with("If-None-Match", "*", "PUT", "/queues/mail/retention", `{"dead":{},"results":{}}`, 412).problem("changed")
	f.with("If-Match", "*", "PUT", "/queues/mail/retention", `{"dead":{"jobs":5},"results":{}}`, 200)
}

func TestVersionOfAScheduleTellsNothingOfHiddenValues(t *testing.T) {
	t.Parallel()
	const path, body = "/queues/mail/schedules/nightly", `{"expression":"@daily","kind":"news","args":{"password":"hunter2"}}`
	f, other := setup(t), setup(t)
	tag := f.do("PUT", path, body, 200).Header.Get("ETag")
	if guessed := other.do("PUT", path, body, 200).Header.Get("ETag"); guessed == tag {
		t.Errorf("another Redis has the same version %s of the same schedule", tag)
	}
	if same := f.do("PUT", path+"2", body, 200).Header.Get("ETag"); same == tag {
		t.Errorf("another schedule with the same content has the version %s", tag)
	}
}

func TestScheduleOfAConfigurationIsReadChangedAndWritten(t *testing.T) {
	t.Parallel()
	f := setup(t)
	const path, hourly = "/queues/mail/schedules/nightly", `{"expression":"@hourly","kind":"news","revision":3}`
	first := f.do("PUT", path, `{"expression":"@daily","kind":"news","revision":3}`, 200).Header.Get("ETag")
	f.do("PUT", path, hourly, 412).problem("changed") // by another configuration
	for range 2 {                                     // the answer to the first may have been lost
		if s := into[api.Schedule](f.with("If-Match", first, "PUT", path, hourly, 200)); s.Expression != "@hourly" || s.Revision != 3 {
			t.Errorf("%+v", s)
		}
	}
	f.with("If-Match", first, "PUT", path, `{"expression":"@weekly","kind":"news"}`, 412).problem("changed")
}

func TestOneScheduleIsReadAlone(t *testing.T) {
	t.Parallel()
	f := setup(t)
	const path = "/queues/mail/schedules/nightly"
	f.do("PUT", path, `{"expression":"@daily","kind":"news"}`, 200)
	f.db.AddHook(refuse{"hkeys"})
	for request, body := range map[string]string{"GET " + path: "", "PUT " + path: `{"expression":"@hourly","kind":"news"}`, "POST " + path + "/pause": "", "POST " + path + "/resume": ""} {
		method, path, _ := strings.Cut(request, " ")
		f.do(method, path, body, 200)
	}
	f.do("GET", "/queues/mail/schedules", nil, 500)
}

// refuse is a hook that refuses a command.
type refuse struct{ name string }

func (h refuse) DialHook(next redis.DialHook) redis.DialHook { return next }
func (h refuse) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
func (h refuse) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == h.name {
			cmd.SetErr(redisError("ERR " + h.name))
			return cmd.Err()
		}
		return next(ctx, cmd)
	}
}

func TestDamagedScheduleIsNotAnErrorOfTheServer(t *testing.T) {
	t.Parallel()
	f := setup(t)
	const path = "/queues/mail/schedules/nightly"
	f.do("PUT", path, `{"expression":"@daily","kind":"news"}`, 200)
	f.must(f.db.HSet(t.Context(), f.db.Prefix()+":{mail:0}:schedules", "nightly", "garbage").Err())
	for _, change := range []string{"pause", "resume", "run"} {
		if p := f.do("POST", path+"/"+change, nil, 400).problem("invalid"); !strings.Contains(p.Detail, "malformed") {
			t.Errorf("%s: %+v", change, p)
		}
	}
	if s := into[api.Schedule](f.do("GET", path, nil, 200)); s.Error == "" {
		t.Errorf("%+v", s)
	}
}

func TestOperatorSeesNoFilterOfAnOperation(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.die("mail", "news", `1`)
	op := into[api.Operation](f.do("POST", "/queues/mail/operations", `{"action":"retry","state":"dead","match":"text contains \"ada\""}`, 202))
	f.ended(op.ID)
	if shown := into[api.Operation](f.as("operate:mail").do("POST", "/operations/"+op.ID+"/stop", nil, 200)); shown.Match != "" || op.Match == "" {
		t.Errorf("%+v shows the filter %q", shown, op.Match)
	}
}

func TestCopiesAndSchedulesNeedTheirKinds(t *testing.T) {
	t.Parallel()
	f := setup(t)
	id := f.add("mail", "exec.run", `{}`)
	token := f.as("view:mail", "operate:mail", "admin:mail", "enqueue:mail", "enqueue:mail:news")
	token.do("POST", "/jobs/"+id+"/copy", nil, 403).problem("forbidden")
	token.do("POST", "/jobs/"+f.add("mail", "news", `{}`)+"/copy", `{"queue":"other"}`, 403).problem("forbidden")
	for _, job := range []string{
		`"kind":"exec.run"`, `"kind":"news","then":[{"kind":"news","then":[{"kind":"exec.run"}]}]`, `"kind":"skidway.forward","args":{"job":{"kind":"news","queue":"mail"}}`,
	} {
		token.do("PUT", "/queues/mail/schedules/s", `{"expression":"@daily",`+job+`}`, 403).problem("forbidden")
	}
	token.do("PUT", "/queues/mail/schedules/s", `{"expression":"@daily","kind":"news"}`, 200)
	if depth := f.depth("mail"); depth.Waiting != 2 {
		t.Errorf("%d wait: a copy was added", depth.Waiting)
	}
}
