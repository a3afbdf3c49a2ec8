package main

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

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
	"queues pause": {"/queues/mail", `action="/queues/mail/pause"`}, "queues resume": {"POST /queues/mail/resume", ""}, "queues purge": {"/queues/mail", `action="/queues/mail/purge"`},
	"jobs list": {"/jobs?queue=mail&state=waiting", "email.send"}, "jobs show": {"/jobs/ID", "email.send"}, "jobs logs": {"/jobs/ID", ""}, "jobs running": {"/workers", ""},
	"jobs retry": {"POST /jobs/ID/retry", ""}, "jobs run-now": {"POST /jobs/ID/run-now", ""}, "jobs cancel": {"POST /jobs/ID/cancel", ""},
	"jobs priority": {"/jobs/ID", `action="/jobs/ID/priority"`}, "jobs delete": {"/jobs/ID", `action="/jobs/ID/delete"`},
	"operations list": {"/operations", ""}, "operations show": {"/operations", ""}, "operations stop": {"POST /operations/change", ""}, "operations continue": {"POST /operations/change", ""},
	"workers list": {"/workers", ""}, "workers quiet": {"POST /workers/signal", ""}, "workers stop": {"POST /workers/signal", ""},
	"cron list": {"/schedules", ""}, "cron add": {"/schedules/edit", `action="/schedules/put"`}, "cron run": {"POST /schedules/change", ""}, "cron remove": {"POST /schedules/change", ""},
	"cron pause": {"POST /schedules/change", ""}, "cron resume": {"POST /schedules/change", ""},
	"logs status": {"/channels", ""}, "logs report": {"/counts", ""}, "logs unsubscribe": {"POST /channels/drop", ""},
	"chat list": {"/chats", `name="member"`}, "chat members": {"/chats", `name="chat"`}, "chat info": {"/chats", `name="chat"`}, "chat drop": {"POST /chats/drop", ""},
}

// notInDashboard has the reasons why the dashboard lacks commands, by their first words.
var notInDashboard = map[string]string{
	"bench": "it loads the Redis, and measures the machine on which it runs", "config": "it reads a file of the machine on which it runs", "debug": "it is for those who develop the scripts",
	"dash": "it is the dashboard", "serve": "it is the server of the dashboard", "worker": "it is a process of its own", "version": "the workers' versions are on their page",
	"queues delete": "a queue that is purged is as good as deleted; deleting also its statistics needs the Redis itself",
	"geoip":         "it reads a file of the machine on which it runs; the embedded database is on the page of the checks",
	"logs count":    "it reads files of the machine on which it runs", "logs explain": "likewise", "logs formats": "it is a reference", "logs sample": "it writes files", "logs ship": "it reads files", "logs work": "it is a process of its own",
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
		id, err := queues.Enqueue(t.Context(), queue.Raw("email.send", []byte("{}")), &queue.Options{Queue: "mail"})
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
	case !isForm && (w.Code != http.StatusOK || !strings.Contains(w.Body.String(), text)):
		t.Errorf("skidway %s: %s answers %d without %q: %.2000s", command, address, w.Code, text, w.Body)
	}
}
