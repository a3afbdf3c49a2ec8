package dash_test

import (
	"context"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"skidway/internal/redistest"
	"skidway/queue"
)

func TestFormsWithWrongInputKeepWhatWasTyped(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	id := f.add("mail", "email.send", `{"to":"ada","password":"s3cret"}`, queue.Options{})
	f.post("/schedules/put", url.Values{"new": {"1"}, "name": {"nightly"}, "queue": {"mail"}, "expr": {"@daily"}, "kind": {"email.send"}, "args": {`{"password":"s3cret"}`}})
	for _, c := range []struct {
		path  string
		form  url.Values
		texts []string
	}{
		{"/enqueue", url.Values{"queue": {"mail"}, "kind": {"email.send"}, "args": {`{"to": <b>`}, "priority": {"low"}, "at": {"2h"}, "unique": {"one"}},
			[]string{"The args are not JSON.", `name="queue" value="mail"`, `name="kind" value="email.send"`, "{&#34;to&#34;: &lt;b&gt;</textarea>", "<option selected>low</option>", `name="at" value="2h"`, `name="unique" value="one"`, `href="/enqueue" aria-current="page"`}},
		{"/jobs/" + id + "/copy", url.Values{"queue": {"docs"}, "args": {`{"to": "bob"`}, "priority": {"high"}, "at": {"2h"}},
			[]string{"The args are not JSON.", `name="queue" value="docs"`, "{&#34;to&#34;: &#34;bob&#34;</textarea>", "<option selected>high</option>", `name="at" value="2h"`}},
		{"/jobs/" + id + "/copy", url.Values{"queue": {"docs"}, "args": {"{}"}, "at": {"soon"}}, []string{"soon is no time", "{}</textarea>"}},
		{"/jobs/" + id + "/copy", url.Values{"queue": {"{"}}, []string{"Not done:", "[hidden]"}},
		{"/schedules/put", url.Values{"new": {"1"}, "name": {"weekly"}, "queue": {"mail"}, "expr": {"61 * * * *"}, "zone": {"Europe/Rome"}, "kind": {"a"}, "args": {`{"n":1}`}, "catch_up": {"all"}},
			[]string{"Not done:", `name="new" value="1"`, `name="name" value="weekly" required>`, `name="queue" value="mail" required>`, `name="expr" value="61 * * * *"`, `name="zone" value="Europe/Rome"`, `name="kind" value="a"`, "{&#34;n&#34;:1}</textarea>", `value="all" selected`, "<h1>Add a schedule</h1>"}},
		{"/schedules/put", url.Values{"name": {"nightly"}, "queue": {"mail"}, "expr": {"@hourly"}, "zone": {"Mars/Olympus"}, "kind": {"b"}, "args": {`{"password":"[hidden]"}`}, "version": {"old"}},
			[]string{"Not done:", `name="version" value="old"`, `name="name" value="nightly" required readonly>`, `name="expr" value="@hourly"`, `name="zone" value="Mars/Olympus"`, `name="kind" value="b"`, "[hidden]"}},
		{"/schedules/put", url.Values{"name": {"nightly"}, "queue": {"mail"}, "expr": {"61 * * * *"}, "kind": {"email.send"}}, []string{"Not done:", "</textarea>"}},
	} {
		f.who = principal(t, "view:*", "operate:*", "enqueue:*", "enqueue:*:email.*", "admin:*", "reveal:*")
		a := f.post(c.path, c.form)
		if f.want(a, http.StatusUnprocessableEntity, c.texts...); strings.Contains(a.body, "s3cret") {
			t.Errorf("%s %v: a hidden value is shown: %s", c.path, c.form, a.body)
		}
		if len(a.Cookies()) != 0 {
			t.Errorf("%s %v: the message is also that of the next page: %v", c.path, c.form, a.Cookies())
		}
	}
	f.who = principal(t, "view:docs", "operate:mail")
	if a := f.post("/jobs/"+id+"/copy", url.Values{"queue": {"{"}}); strings.Contains(a.body, "ada") {
		t.Errorf("args are shown to who may not see the job: %s", a.body)
	}
}

func TestErrorsOfFormsSayWhatToDo(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	id := f.add("mail", "a", "{}", queue.Options{})
	f.gather()
	schedule := "new=1&name=x&queue=mail&kind=email.send&args={}&expr="
	f.add("mail", "a", "{}", queue.Options{Unique: queue.Unique{Key: "k"}})
	for _, c := range []struct{ path, form, said string }{
		{"/enqueue", "queue=mail&kind=email send&args={}", `kind "email send": use 1 to 128 letters, digits, '.', '_', '-' or '/'`},
		{"/enqueue", "queue=mail&kind=email.send&args={}&priority=x", `priority "x": want high, normal or low`},
		{"/enqueue", "queue=mail&kind=email.send&args={}&unique=k", "the unique key “k” is held by job mail:0:"},
		{"/schedules/put", schedule + "61 * * * *", `“61 * * * *” is no expression of times: end of range (61) above maximum (59): "61". Write five fields such as 30 6 * * 1-5, or @daily.`},
		{"/schedules/put", schedule + "30 2 30 2 *", "“30 2 30 2 *” is no expression of times: it never fires: no month has such a day. Write"},
		{"/schedules/put", schedule + "@daily&zone=Mars", "There is no time zone Mars."},
		{"/schedules/put", schedule + "@daily&zone=Local", "There is no time zone Local."},
		{"/schedules/put", strings.Replace(schedule, "=x&", "=x y&", 1) + "@daily", `schedule "x y": use 1 to 128 letters`},
		{"/schedules/change", "queue=mail&name=none&do=run", "There is no such schedule."},
		{"/queues/mail/retention", "version=x&dead_jobs=3", "it was changed since it was read: load the page again, and make your change anew."},
		{"/jobs/" + id + "/retry", "", "the job is in another state by now: it is waiting."},
		{"/jobs/change", "do=retry&state=dead&queue=mail&match=(&count=1&as_of=1", "The filter can’t be read at character 1: "},
		{"/jobs/change", "do=retry&state=dead&queue=mail&count=1&as_of=1&rate=999999999", "999999999 jobs in a second: want up to 100000"},
		{"/channels/window", "channel=none&window=1GiB", "there is no such channel any more."},
		{"/channels/window", "channel=web&window=1KiB", "a window has at least 1 MiB."},
		{"/channels/drop", "channel=web&subscriber=none&name=none", "the channel has no such subscriber any more."},
		{"/chats/drop", "chat=1&member=none", "it is not a member of this chat any more."},
		{"/chats/drop", "chat=none&member=x", "There is no chat with this id."},
	} {
		form, err := url.ParseQuery(c.form)
		f.must(err)
		a := f.post(c.path, form)
		if a.StatusCode == http.StatusSeeOther {
			a = f.follow(a)
		}
		if body := html.UnescapeString(a.body); !strings.Contains(body, "Not done: "+c.said) && !strings.Contains(body, "Not done: schedule x y: "+c.said) || strings.Contains(body, "not valid") {
			_, flash, _ := strings.Cut(body, "Not done: ")
			t.Errorf("%s %s: it says %.200q, want %q", c.path, c.form, flash, c.said)
		}
	}
}

func TestFormKeepsWhatWasTypedWhileRedisIsAway(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	ctx, cancel := context.WithTimeout(t.Context(), -1) // as if it had waited for Redis
	defer cancel()
	form := url.Values{"queue": {"mail"}, "kind": {"email.send"}, "args": {`{"to": "bob"}`}}
	f.want(send(t, f.dash, formRequest(ctx, "/enqueue", form)), http.StatusServiceUnavailable, "Not done:", "{&#34;to&#34;: &#34;bob&#34;}</textarea>")
}

func TestFormsShowTheCommandOfTheirValues(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	id := f.add("mail", "email.send", `{"password":"s3cret"}`, queue.Options{})
	command := func(a answer) string {
		t.Helper()
		found := regexp.MustCompile(`<code class="cmd" tabindex="0">(skidway (?:enqueue|jobs copy|cron add)[^<]*)<`).FindAllStringSubmatch(a.body, -1)
		if len(found) != 1 {
			t.Fatalf("%d commands in %s", len(found), a.body)
		}
		return html.UnescapeString(found[0][1])
	}
	bad := func(path string, form url.Values) answer { // a form that is drawn again
		t.Helper()
		a := f.post(path, form)
		f.want(a, http.StatusUnprocessableEntity)
		return a
	}
	for want, a := range map[string]answer{
		"skidway enqueue QUEUE KIND '{}'":                     f.get("/enqueue"),
		"skidway enqueue mail email.send '{}'":                f.get("/enqueue?queue=mail&kind=email.send"),
		`skidway enqueue 'it'\''s;rm' email.send '{}'`:        f.get("/enqueue?queue=it%27s%3Brm&kind=email.send"),
		"skidway cron add NAME EXPR QUEUE KIND '{}' --tz UTC": f.get("/schedules/edit"),
		"skidway enqueue mail email.send '[1' --priority low --in 2h --unique 'a b'": bad("/enqueue", url.Values{
			"queue": {"mail"}, "kind": {"email.send"}, "args": {"[1"}, "priority": {"low"}, "at": {"2h"}, "unique": {"a b"}}),
		"skidway enqueue mail email.send - --at 2026-11-30T08:00:00Z < args.json": bad("/enqueue", url.Values{
			"queue": {"mail"}, "kind": {"email.send"}, "args": {"-1 " + strings.Repeat("x", 300)}, "priority": {"normal"}, "at": {"2026-11-30 08:00"}}),
		"skidway jobs copy " + id + " - --queue docs --priority high --in 5m < args.json": bad("/jobs/"+id+"/copy", url.Values{
			"queue": {"docs"}, "args": {"{"}, "priority": {"high"}, "at": {"5m"}}),
		"skidway jobs copy " + id + " - --queue mail < args.json": f.get("/jobs/" + id + "/copy"),
		"skidway cron add weekly '61 * * * *' mail a '[1]' --tz Europe/Rome --catch-up all": bad("/schedules/put", url.Values{
			"new": {"1"}, "name": {"weekly"}, "queue": {"mail"}, "expr": {"61 * * * *"}, "zone": {"Europe/Rome"}, "kind": {"a"}, "args": {"[1]"}, "catch_up": {"all"}}),
		"skidway cron add weekly '61 * * * *' mail a - < args.json": bad("/schedules/put", url.Values{
			"new": {"1"}, "name": {"weekly"}, "queue": {"mail"}, "expr": {"61 * * * *"}, "zone": {""}, "kind": {"a"}, "args": {`{"password":"[hidden]"}`}, "catch_up": {"none"}}),
	} {
		if got := command(a); got != want {
			t.Errorf("the command is %s, want %s", got, want)
		}
	}
	reveal := "Commands that talk to Redis hide nothing:"
	if page := f.get("/jobs/" + id); strings.Contains(page.body, reveal) {
		t.Error("who may not reveal is shown the command")
	}
	f.who = principal(t, "view:*", "reveal:*")
	f.want(f.get("/jobs/"+id), http.StatusOK, reveal, "skidway jobs show "+id+"</code>")
}

// FuzzRequests sends requests with any path, query and form. No answer may be a panic or an error of the server.
func FuzzRequests(f *testing.F) {
	s := setup(f, redistest.DB(f))
	id := s.add("mail", "email.send", `{"to":"ada"}`, queue.Options{})
	for _, address := range []string{
		"/", "/queues/mail?range=century", "/queues/-?queue=..", "/queues/%2e%2e", "/queues/{}", "/jobs?queue=mail&state=none&text=%ff", "/jobs?match=)(", "/jobs?cursor=x&queue=mail", "/jobs?since=yesterday&within=-1h",
		"/jobs/" + id, "/jobs/:0:", "/jobs/a:b:c-d", "/jobs/" + id + "/copy", "/jobs/question?all=1&do=none&state=dead&queue=mail&match=1", "/jobs/question?do=retry&id=x", "/jobs/export?format=xml&queue=mail", "/errors?queue=none&kind=%00&text=[", "/errors?to=9999-12-31T23:59:59Z", "/queues/mail?to=2001-01-01T00:00:00Z&range=hour", "/queues/mail?to=%00",
		"/workers?x", "/operations", "/schedules/edit?queue=mail&name=none", "/schedules/edit?queue={&name=", "/enqueue?queue=*&kind=", "/channels", "/counts?channel={x}&subscriber=&from=1&to=0", "/chats?chat={}&member=%ff", "/chats?member=", "/audit?cursor=x&before=-1", "/redis", "/settings", "/assets/..", "/none",
	} {
		f.Add(false, address, "")
	}
	for address, form := range map[string]string{
		"/queues/mail/pause": "note=%ff", "/queues/{/resume": "", "/queues/mail/retention": "dead_jobs=-1&results_days=9223372036854775807",
		"/jobs/change": "do=delete&state=dead&queue=mail&match=(&as_of=x&count=-1", "/jobs/" + id + "/reschedule": "in=x&at=y", "/jobs/" + id + "/priority": "priority=9", "/jobs/" + id + "/copy": "queue={}&args={", "/jobs/x/delete": "",
		"/workers/signal": "worker=&do=stop", "/operations/change": "id=x&do=y", "/enqueue": "queue=&kind=&args=%00&delay=x", "/schedules/put": "name=&queue={&expr=x&zone=../..", "/schedules/change": "queue=mail&name=&do=run",
		"/channels/window": "channel={&window=9e99EB", "/channels/drop": "channel=&subscriber=&name=", "/chats/drop": "chat={}&member=", "/settings": "zone=Local&theme=x&keys=&back=/%5C",
	} {
		f.Add(true, address, form)
	}
	f.Fuzz(func(t *testing.T, post bool, address, form string) {
		target, err := url.ParseRequestURI(address)
		if err != nil || !strings.HasPrefix(address, "/") || target.Path == "/live" {
			return // no server would get it; streams have no end
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		r := formRequest(ctx, "/", nil)
		if post {
			r = httptest.NewRequestWithContext(ctx, http.MethodPost, "/", strings.NewReader(form))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		} else {
			r.Method = http.MethodGet
		}
		r.URL, r.RequestURI = target, address
		w := httptest.NewRecorder()
		s.dash.ServeHTTP(w, r)
		if w.Code == http.StatusInternalServerError {
			t.Errorf("POST %t %q with %q: %.600s", post, address, form, w.Body)
		}
	})
}
