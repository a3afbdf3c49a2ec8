package main

import (
	"html"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/internal/handle"
	"skidway/internal/redistest"
	"skidway/ops/access"
	"skidway/ops/dash"
	"skidway/queue"
)

// inDashboard has where the dashboard does what a command does: a page, with a text that it must contain, or the
// address of a form.
var inDashboard = map[string]struct{ address, text string }{
	"audit": {"/audit", ""}, "doctor": {"/redis", ""}, "enqueue": {"/enqueue", `action="/enqueue"`},
	"errors list": {"/errors", ""}, "errors show": {"/errors", ""},
	"queues list": {"/queues", ">mail<"}, "queues watch": {"/queues", "data-v="}, "queues show": {"/queues/mail", ""}, "queues stats": {"/queues/mail?range=month", ""},
	"queues pause": {"/queues/mail", `action="/queues/mail/pause"`}, "queues resume": {"/queues/paused", `action="/queues/paused/resume"`}, "queues purge": {"/queues/mail", `action="/queues/mail/purge"`},
	"jobs list": {"/jobs?queue=mail&state=waiting", "email.send"}, "jobs show": {"/jobs/ID", "email.send"}, "jobs logs": {"/jobs/ID", ""}, "jobs running": {"/workers", ""},
	"jobs retry": {"POST /jobs/ID/retry", ""}, "jobs run-now": {"/jobs/ID", `action="/jobs/ID/run-now"`}, "jobs cancel": {"/jobs/ID", `action="/jobs/ID/cancel"`},
	"jobs priority": {"/jobs/ID", `action="/jobs/ID/priority"`}, "jobs delete": {"/jobs/ID", `action="/jobs/ID/delete"`},
	"operations list": {"/operations", ""}, "operations show": {"/operations", ""}, "operations stop": {"POST /operations/change", ""}, "operations continue": {"POST /operations/change", ""},
	"workers list": {"/workers", ""}, "workers quiet": {"/workers", `action="/workers/signal"`}, "workers stop": {"/workers", `action="/workers/signal"`},
	"cron list": {"/schedules", ""}, "cron add": {"/schedules/edit", `action="/schedules/put"`}, "cron run": {"/schedules?queue=mail", `action="/schedules/change"`}, "cron remove": {"/schedules?queue=mail", `action="/schedules/change"`},
	"cron pause": {"/schedules?queue=mail", `action="/schedules/change"`}, "cron resume": {"/schedules?queue=mail", `action="/schedules/change"`},
	"logs status": {"/channels", ""}, "logs top": {"/counts", ""}, "logs report": {"/counts", ""}, "logs unsubscribe": {"POST /channels/drop", ""},
	"chat list": {"/chats", `name="member"`}, "chat members": {"/chats", `name="chat"`}, "chat info": {"/chats", `name="chat"`}, "chat drop": {"POST /chats/drop", ""},
}

// notInDashboard has the reasons why the dashboard lacks commands, by their first words.
var notInDashboard = map[string]string{
	"bench": "it loads the Redis, and measures the machine on which it runs", "config": "it reads a file of the machine on which it runs", "debug": "it is for those who develop the scripts",
	"dash": "it is the dashboard", "serve": "it is the server of the dashboard", "worker": "it is a process of its own", "version": "the workers' versions are on their page",
	"queues delete": "a queue that is purged is as good as deleted; deleting also its statistics needs the Redis itself",
	"geoip":         "it reads a file of the machine on which it runs; the embedded database is on the page of the checks",
	"logs count":    "it reads files of the machine on which it runs", "logs explain": "likewise", "logs formats": "it is a reference", "logs sample": "it writes files", "logs ship": "it reads files", "logs work": "it is a process of its own",
	"logs export": "its output is for 'logs import'", "logs import": "it reads files of the machine on which it runs",
	"logs reset":           "what was counted is lost, and the files of the machine of the logs are to be shipped again",
	"logs channels delete": "all that was counted is lost, which needs the Redis itself; subscribers are dropped one by one",
	"chat create":          "members of chats are users of a program, not of the dashboard", "chat join": "likewise", "chat leave": "likewise", "chat limit": "likewise", "chat read": "messages are for their readers", "chat send": "likewise",
	"dm": "messages are for their readers", "mail": "messages are for their readers", "room": "messages are for their readers, and rooms expire",
	"token": "users and tokens are not managed by those whom they let in", "user": "likewise",
}

func TestTheDashboardDoesWhatCommandsDoOrAReasonIsGiven(t *testing.T) {
	t.Parallel()
	db := handle.New(redistest.DB(t))
	queues, err := queue.NewClient(db, nil)
	if err != nil {
		t.Fatal(err)
	}
	add := func() string {
		id, err := queues.Enqueue(t.Context(), queue.Raw("email.send", []byte("{}")), &queue.Options{Queue: "mail", Delay: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	scopes, err := access.ParseScopes([]string{"view:*", "operate:*", "enqueue:*", "admin:*"})
	if err != nil {
		t.Fatal(err)
	}
	who := &access.Principal{Name: "anna", Proven: true, Scopes: scopes}
	pages, err := dash.New(db, dash.Config{Logger: slog.New(slog.DiscardHandler), Authorize: func(*http.Request) *access.Principal { return who }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pages.Close() })
	fillForForms(t, queues, pages)
	commands := map[string]bool{}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, below := range c.Commands() {
			walk(below)
		}
		if c.HasSubCommands() {
			return
		}
		_, path, _ := strings.Cut(c.CommandPath(), " ")
		first, _, _ := strings.Cut(path, " ")
		commands[path], commands[first] = true, true
		where, reachable := inDashboard[path]
		if reason := notInDashboard[path] + notInDashboard[first]; reachable == (reason != "") {
			t.Errorf("skidway %s: it is not in the dashboard, and no reason is given, or both: %q, %q", path, where, reason)
		}
		if reachable {
			id := add() // a form may change the last one
			has(t, pages, path, strings.ReplaceAll(where.address, "ID", id), strings.ReplaceAll(where.text, "ID", id))
		}
	}
	walk(root(&cli.App{Console: &cli.Console{}}))
	for path := range inDashboard {
		if !commands[path] {
			t.Errorf("there is no command %s", path)
		}
	}
	for path := range notInDashboard {
		if !commands[path] {
			t.Errorf("there is no command %s", path)
		}
	}
}

// fillForForms adds what pages have forms for.
func fillForForms(t *testing.T, queues *queue.Client, pages http.Handler) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"mail", "paused"} {
		_, err := queues.Enqueue(t.Context(), queue.Raw("email.send", []byte("{}")), &queue.Options{Queue: name})
		must(err)
		post(t, pages, "/schedules/put", url.Values{"new": {"1"}, "name": {name}, "queue": {"mail"}, "expr": {"@daily"}, "kind": {"report"}, "args": {"{}"}})
	}
	post(t, pages, "/schedules/change", url.Values{"name": {"paused"}, "queue": {"mail"}, "do": {"pause"}})
	paused, err := queues.Queue("paused")
	must(err)
	must(paused.Pause(t.Context(), "anna", ""))
	_, err = queues.Beat(t.Context(), queue.PoolBeat{Pool: "worker-1", Length: time.Minute, Info: &queue.PoolInfo{Name: "worker-1", Queues: []string{"mail"}, Concurrency: 1}})
	must(err)
}

// post sends a form, and fails the test if it is refused.
func post(t *testing.T, pages http.Handler, path string, values url.Values) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(values.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	if pages.ServeHTTP(w, r); w.Code != http.StatusSeeOther {
		t.Errorf("the form %s with %v is answered %d", path, values, w.Code)
	}
}

var (
	hiddenFields = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)"`)
	doButtons    = regexp.MustCompile(`name="do" value="([^"]*)"`)
)

// send sends the form of a page that does what a command does, with its own fields, and fails the test if there is none
// or it is refused. Of several changes the last word of the command is the one.
func send(t *testing.T, pages http.Handler, command, page, action string) {
	t.Helper()
	last := command[strings.LastIndexByte(command, ' ')+1:]
	for _, form := range strings.Split(page, "<form")[1:] {
		form, _, _ = strings.Cut(form, "</form>")
		values := url.Values{}
		for _, field := range hiddenFields.FindAllStringSubmatch(form, -1) {
			values.Add(field[1], html.UnescapeString(field[2]))
		}
		buttons := doButtons.FindAllStringSubmatch(form, -1)
		if !strings.Contains(form, action) || len(buttons) > 0 && !slices.ContainsFunc(buttons, func(b []string) bool { return b[1] == last }) {
			continue
		}
		if len(buttons) > 0 {
			values.Set("do", last)
		}
		if !values.Has("queue") {
			values.Set("queue", "mail") // that a person fills in
		}
		post(t, pages, strings.TrimSuffix(strings.TrimPrefix(action, `action="`), `"`), values)
		return
	}
	t.Errorf("skidway %s: the page has no form with %s: %.2000s", command, action, page)
}

// has fails the test unless the dashboard has a page with a text, or takes a form.
func has(t *testing.T, pages http.Handler, command, address, text string) {
	t.Helper()
	method, path, isForm := strings.Cut(address, " ")
	if !isForm {
		method, path = http.MethodGet, address
	}
	r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	w := httptest.NewRecorder()
	pages.ServeHTTP(w, r)
	switch {
	case isForm && (w.Code == http.StatusNotFound || w.Code == http.StatusMethodNotAllowed):
		t.Errorf("skidway %s: there is no form of %s: %d", command, path, w.Code)
	case strings.HasPrefix(text, `action="`):
		send(t, pages, command, w.Body.String(), text)
	case !isForm && (w.Code != http.StatusOK || !strings.Contains(w.Body.String(), text)):
		t.Errorf("skidway %s: %s answers %d without %q: %.2000s", command, address, w.Code, text, w.Body)
	}
}
