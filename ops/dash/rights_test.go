package dash_test

import (
	"cmp"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"skidway/internal/redistest"
	"skidway/ops/access"
	"skidway/ops/dash"
	"skidway/queue"
)

// A rightCase is a request of a route and the scopes that it needs, for example "view:mail"; "view:?" means on any
// queue. An empty path is that of the pattern.
type rightCase struct{ path, form, needs string }

// rightCases has a request for each route. JOB stands for the id of a dead job of the queue mail. The forms change as
// little as they can.
var rightCases = map[string]rightCase{
	"GET /{$}": {"/", "", "view:?"}, "GET /queues": {"", "", "view:?"}, "GET /queues/{queue}": {"/queues/mail", "", "view:mail"},
	"GET /jobs": {"", "", "view:?"}, "GET /jobs/export": {"/jobs/export?queue=mail&format=csv", "", "view:mail"},
	"GET /jobs/question": {"/jobs/question?do=retry&state=dead&id=JOB", "", "view:mail operate:mail"},
	"GET /jobs/{id}":     {"/jobs/JOB", "", "view:mail"}, "GET /jobs/{id}/copy": {"/jobs/JOB/copy", "", "view:mail"},
	"GET /errors": {"", "", "view:?"}, "GET /workers": {"", "", "view:?"}, "GET /operations": {"", "", "view:?"}, "GET /schedules": {"", "", "view:?"},
	"GET /schedules/edit": {"/schedules/edit?queue=mail&name=nightly", "", "view:mail"}, "GET /enqueue": {"", "", "enqueue:?"},
	"GET /channels": {"", "", "view:*"}, "GET /counts": {"", "", "view:*"}, "GET /chats": {"", "", "view:*"}, "GET /redis": {"", "", "view:*"},
	"GET /audit": {"", "", "admin:*"}, "GET /settings": {"", "", "view:?"},

	"POST /queues/{queue}/pause": {"/queues/mail/pause", "", "operate:mail"}, "POST /queues/{queue}/resume": {"/queues/mail/resume", "", "operate:mail"},
	"POST /queues/{queue}/retention": {"/queues/mail/retention", "dead_jobs=x", "admin:mail"},
	"POST /jobs/change":              {"", "do=retry&state=active&id=JOB", "view:mail operate:mail"},
	"POST /jobs/{id}/retry":          {"/jobs/JOB/retry", "", "operate:mail"}, "POST /jobs/{id}/run-now": {"/jobs/JOB/run-now", "", "operate:mail"},
	"POST /jobs/{id}/cancel": {"/jobs/JOB/cancel", "", "operate:mail"}, "POST /jobs/{id}/reschedule": {"/jobs/JOB/reschedule", "at=x", "operate:mail"},
	"POST /jobs/{id}/priority": {"/jobs/JOB/priority", "", "operate:mail"}, "POST /jobs/{id}/reveal": {"/jobs/JOB/reveal", "", "reveal:mail"},
	"POST /jobs/{id}/delete": {"/jobs/JOB/delete", "state=active", "admin:mail"}, "POST /jobs/{id}/copy": {"/jobs/JOB/copy", "args=x", "view:mail operate:mail"},
	"POST /workers/signal": {"", "worker=w1&do=quiet", "view:? operate:mail"}, "POST /operations/change": {"", "id=mail:0:x&do=stop", "view:? operate:mail"},
	"POST /enqueue": {"", "queue=mail&kind=a&args=x", "enqueue:?"}, "POST /schedules/put": {"", "queue=mail&name=nightly&args=x", "view:mail admin:mail"},
	"POST /schedules/change": {"", "queue=mail&name=none&do=run", "view:? operate:mail"}, "POST /channels/window": {"", "channel=none", "operate:*"},
	"POST /channels/drop": {"", "channel=none", "admin:*"}, "POST /chats/drop": {"", "chat=none", "admin:*"}, "POST /settings": {"", "theme=dark", "view:?"},
}

// choiceCases has requests of the other choices of routes whose form has several.
var choiceCases = map[string][]rightCase{
	"GET /jobs/question": {
		{"/jobs/question?do=delete&state=dead&id=JOB", "", "view:mail admin:mail"}, {"/jobs/question?do=delete&all=1&state=dead&queue=mail", "", "view:mail admin:mail"},
		{"/jobs/question?do=priority&state=waiting&id=JOB", "", "view:mail operate:mail"}, {"/jobs/question?do=cancel&all=1&state=waiting&queue=mail&match=kind%20%3D%3D%20%22none%22", "", "view:mail operate:mail"},
	},
	"POST /jobs/change": {
		{"", "do=delete&state=active&id=JOB", "view:mail admin:mail"}, {"", "do=delete&state=dead&queue=mail&count=1&as_of=1", "view:mail admin:mail"},
		{"", "do=priority&state=active&priority=low&id=JOB", "view:mail operate:mail"}, {"", "do=cancel&state=dead&id=JOB", "view:mail operate:mail"},
		{"", "do=retry&state=dead&queue=mail&match=kind%20%3D%3D%20%22none%22&count=1&as_of=1", "view:mail operate:mail"},
	},
	"POST /workers/signal":    {{"", "worker=w1&do=stop", "view:? operate:mail"}},
	"POST /operations/change": {{"", "id=mail:0:x&do=continue", "view:? operate:mail"}},
	"POST /schedules/change":  {{"", "queue=mail&name=none&do=pause", "view:? operate:mail"}, {"", "queue=mail&name=none&do=resume", "view:? operate:mail"}, {"", "queue=mail&name=none&do=remove", "view:? admin:mail"}},
}

// covered reports whether scopes cover what a request needs.
func covered(scopes, needs string) bool {
	return !slices.ContainsFunc(strings.Fields(needs), func(need string) bool {
		action, name, _ := strings.Cut(need, ":")
		return !slices.ContainsFunc(strings.Fields(scopes), func(scope string) bool {
			parts := strings.Split(scope, ":")
			return parts[0] == action && (name == "?" || parts[1] == "*" || parts[1] == name)
		})
	})
}

func TestEachRouteIsForThoseWhoMay(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	job := f.add("mail", "a", `{}`, queue.Options{})
	f.add("other", "a", `{}`, queue.Options{})
	f.serve(queue.PoolInfo{Name: "w1", Queues: []string{"mail"}, State: "running"}, time.Minute)
	f.post("/schedules/put", url.Values{"new": {"1"}, "name": {"nightly"}, "queue": {"mail"}, "expr": {"@daily"}, "kind": {"email.send"}, "args": {"{}"}})
	patterns := dash.Patterns()
	for pattern := range maps.Keys(rightCases) {
		if !slices.Contains(patterns, pattern) {
			t.Errorf("there is no route %s", pattern)
		}
	}
	var whos []*access.Principal
	var rights []string // of whos
	for _, scopes := range []string{
		"view:*", "view:mail", "view:other", "view:* operate:*", "view:mail operate:mail", "view:other operate:mail", "view:mail enqueue:mail:email.*",
		"view:mail admin:mail", "view:other admin:mail", "view:mail reveal:mail", "admin:* reveal:*", "scale:*",
		"view:* operate:* enqueue:* admin:* reveal:*",
	} {
		whos, rights = append(whos, principal(t, strings.Fields(scopes)...)), append(rights, scopes)
	}
	for _, c := range []struct {
		user access.User
		may  string
	}{
		{access.User{Role: "view"}, "view:*"},
		{access.User{Role: "view", Queues: []string{"mail"}, Reveal: true, Scale: true}, "view:mail reveal:mail"},
		{access.User{Role: "operate", Queues: []string{"ma*"}, Kinds: []string{"email.*"}}, "view:mail operate:mail enqueue:mail"},
		{access.User{Role: "operate", Queues: []string{"other"}, Reveal: true}, "view:other operate:other enqueue:other reveal:other"},
		{access.User{Role: "admin"}, "view:* operate:* enqueue:* admin:*"},
		{access.User{Role: "admin", Queues: []string{"mail", "other"}, Kinds: []string{"*", "exec.run"}}, "view:mail view:other operate:mail operate:other enqueue:mail enqueue:other admin:mail admin:other"},
	} {
		c.user.Name = "anna"
		whos, rights = append(whos, c.user.Principal()), append(rights, c.may)
	}
	for i, scopes := range rights {
		f.who = whos[i]
		_, rail, _ := strings.Cut(f.get("/settings").body, `class="rail"`)
		rail, _, _ = strings.Cut(rail, "</nav>")
		for _, pattern := range patterns {
			c, found := rightCases[pattern]
			if !found {
				t.Fatalf("there is no case for %s", pattern)
			}
			method, path, _ := strings.Cut(pattern, " ")
			if method == http.MethodGet && rail != "" && !covered(scopes, c.needs) && strings.Contains(rail, `href="`+path+`"`) {
				t.Errorf("%q: the list of pages has %s", scopes, path)
			}
			for _, c := range append(choiceCases[pattern], c) {
				address := cmp.Or(strings.ReplaceAll(c.path, "JOB", job), path)
				form, err := url.ParseQuery(strings.ReplaceAll(c.form, "JOB", job))
				f.must(err)
				var a answer
				if method == http.MethodPost {
					a = f.post(address, form)
				} else {
					a = f.get(address)
				}
				if may := covered(scopes, c.needs); a.StatusCode >= 500 || may != (a.StatusCode != http.StatusForbidden) {
					t.Errorf("%q: %s %s %s: %d, want it allowed: %t", scopes, method, address, c.form, a.StatusCode, may)
				}
			}
		}
	}
}

func TestEachRouteIsForTheHostsOfTheServer(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	gate, err := access.NewGate(f.queues.DB(), access.GateConfig{Hosts: []string{"jobs.example.com"}, NoLogin: true, LoginPage: func(http.ResponseWriter, *http.Request, access.LoginForm) {}})
	f.must(err)
	handler := gate.Handler(f.dash)
	for _, pattern := range append(dash.Patterns(), "GET /healthz", "GET /readyz", "GET /assets/none.css", "GET /login", "POST /login", "POST /logout", "GET /no/such/page") {
		method, path, _ := strings.Cut(pattern, " ")
		path = strings.NewReplacer("{$}", "", "{queue}", "mail", "{id}", "mail:0:n1-1").Replace(path)
		for host, known := range map[string]bool{
			"127.0.0.1:8470": true, "localhost": true, "[::1]:1": true, "jobs.example.com": true,
			"evil.example": false, "127.0.0.1.evil.example:8470": false, "192.0.2.1": false, "": false,
		} {
			r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
			r.Host = host
			exempt := path == "/healthz" || path == "/readyz"
			if a := send(t, handler, r); (a.StatusCode == http.StatusMisdirectedRequest) == (known || exempt) {
				t.Errorf("%s of host %q: %d", pattern, host, a.StatusCode)
			}
		}
	}
}

// buttonsOf returns how often a part of a page has buttons and links that look like them, by their texts. A disabled one
// without its reason fails the test.
func buttonsOf(t *testing.T, part string) map[string]int {
	t.Helper()
	found := map[string]int{}
	for _, match := range regexp.MustCompile(`(?s)<(?:button|a)\b([^>]*\bclass="btn\b[^>]*)>(.*?)</(?:button|a)>`).FindAllStringSubmatch(part, -1) {
		text, reason, _ := strings.Cut(match[2], `<span class="vh">: `)
		found[text]++
		if _, title, disabled := strings.Cut(match[1], ` disabled title="`); disabled != (reason != "") || disabled && !strings.HasPrefix(title, strings.TrimSuffix(reason, "</span>")+`"`) {
			t.Errorf("the button is %s", match[0])
		}
	}
	return found
}

// questionsOf divides the main part of a page into what stands before its questions, by the empty id, and the questions.
func questionsOf(page string) map[string]string {
	_, main, _ := strings.Cut(page, `<main id="main">`)
	main, _, _ = strings.Cut(main, "</main>")
	parts := strings.Split(main, "<div popover ")
	found := map[string]string{"": parts[0]}
	for _, part := range parts[1:] {
		_, id, _ := strings.Cut(part, ` id="`)
		id, _, _ = strings.Cut(id, `"`)
		found[id] = part
	}
	return found
}

func TestButtonsThatARoleMayNotUseAreThereDisabled(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	dead := f.add("mail", "email.send", `{"token":"secret"}`, queue.Options{})
	f.bury("mail", "refused")
	later := f.add("mail", "email.send", `{}`, queue.Options{Delay: time.Hour})
	f.add("other", "email.send", `{}`, queue.Options{})
	chat := f.gather()
	f.serve(queue.PoolInfo{Name: "w1", Queues: []string{"mail"}, State: "running"}, time.Minute)
	f.awaitQueues()
	admin := f.who
	for _, path := range []string{
		"/", "/queues", "/queues/mail", "/jobs?queue=mail&state=dead", "/jobs?queue=mail&state=delayed", "/jobs?state=dead", "/jobs/" + dead, "/jobs/" + later, "/jobs/" + dead + "/copy",
		"/errors", "/workers", "/operations", "/schedules?queue=mail", "/schedules/edit", "/schedules/edit?queue=mail&name=nightly", "/channels", "/counts", "/chats?chat=" + url.QueryEscape(chat), "/redis", "/settings",
	} {
		f.who = admin
		whole := questionsOf(f.get(path).body)
		for _, scopes := range []string{"view:*", "view:* operate:*", "view:mail", "view:mail operate:mail", "view:* operate:* enqueue:*"} {
			f.who = principal(t, strings.Fields(scopes)...)
			a := f.get(path)
			if a.StatusCode == http.StatusForbidden && !strings.Contains(scopes, "view:*") {
				continue // a page of all queues
			}
			f.want(a, http.StatusOK)
			for id, part := range questionsOf(a.body) {
				if has, want := buttonsOf(t, part), buttonsOf(t, whole[id]); !maps.Equal(has, want) {
					t.Errorf("%q: %s %s: the buttons are %v, those of an administrator %v", scopes, path, id, has, want)
				}
			}
		}
	}
}
