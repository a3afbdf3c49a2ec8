package dash_test

import (
	"context"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

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
