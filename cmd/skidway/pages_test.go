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
	"skidway/distribute/chat"
	"skidway/distribute/chat/group"
	"skidway/internal/handle"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/ops"
	"skidway/ops/access"
	"skidway/ops/dash"
	"skidway/queue"
	"skidway/workers/stats"
)

// inDashboard has where the dashboard does what a command does: a page with a text that shows it, or with a form that
// changes it. Of several buttons of a form it is that of the command's last word; typed is what a person types.
// DELAYED, DEAD, ACTIVE and CHAT stand for ids.
var inDashboard = map[string]struct{ page, text, action, typed string }{
	"audit": {page: "/audit", text: "put schedule"}, "doctor": {page: "/redis", text: "What the doctor finds"},
	"enqueue": {page: "/enqueue", action: "/enqueue", typed: "queue=mail&kind=email.send&args={}"},

	"errors list": {page: "/errors", text: "1 group of failed attempts"}, "errors show": {page: "/errors", text: `title="connection refused"`},

	"queues list": {page: "/queues", text: ">mail<"}, "queues watch": {page: "/queues", text: `data-live="/live"`}, "queues show": {page: "/queues/mail", text: "Waiting by priority"}, "queues stats": {page: "/queues/mail?range=month", text: "last 30 days"},
	"queues pause": {page: "/queues/mail", action: "/queues/mail/pause"}, "queues resume": {page: "/queues/paused", action: "/queues/paused/resume"},
	"queues retention": {page: "/queues/mail", action: "/queues/mail/retention", typed: "dead_jobs=5&results_mib=20"},
	"queues purge":     {page: "/jobs/question?all=1&do=delete&queue=mail&state=delayed", action: "/jobs/change", typed: "name=mail"},

	"jobs list": {page: "/jobs?queue=mail&state=waiting", text: "email.send"}, "jobs show": {page: "/jobs/DELAYED", text: "email.send"}, "jobs logs": {page: "/jobs/ACTIVE", text: "Log lines"}, "jobs running": {page: "/workers", text: "ACTIVE"},
	"jobs retry": {page: "/jobs/DEAD", action: "/jobs/DEAD/retry"}, "jobs run-now": {page: "/jobs/DELAYED", action: "/jobs/DELAYED/run-now"}, "jobs reschedule": {page: "/jobs/DELAYED", action: "/jobs/DELAYED/reschedule", typed: "at=15m"}, "jobs cancel": {page: "/jobs/DELAYED", action: "/jobs/DELAYED/cancel"},
	"jobs priority": {page: "/jobs/DELAYED", action: "/jobs/DELAYED/priority", typed: "priority=high"}, "jobs copy": {page: "/jobs/DEAD/copy", action: "/jobs/DEAD/copy", typed: "queue=mail&priority=high&args={}"}, "jobs delete": {page: "/jobs/DELAYED", action: "/jobs/DELAYED/delete"},

	"operations list": {page: "/operations", text: "Delete waiting jobs"}, "operations show": {page: "/operations", text: "0 of 1"},
	"operations stop": {page: "/operations", action: "/operations/change"}, "operations continue": {page: "/operations", action: "/operations/change"},

	"workers list": {page: "/workers", text: ">worker-1<"}, "workers quiet": {page: "/workers", action: "/workers/signal"}, "workers stop": {page: "/workers", action: "/workers/signal"},

	"cron list": {page: "/schedules?queue=mail", text: ">paused<"}, "cron add": {page: "/schedules/edit", action: "/schedules/put", typed: "name=hourly&queue=mail&expr=@hourly&kind=email.send&args={}"},
	"cron run": {page: "/schedules?queue=mail", action: "/schedules/change"}, "cron remove": {page: "/schedules?queue=mail", action: "/schedules/change"},
	"cron pause": {page: "/schedules?queue=mail", action: "/schedules/change"}, "cron resume": {page: "/schedules?queue=mail", action: "/schedules/change"},

	"logs status": {page: "/channels", text: "1 channel."}, "logs report": {page: "/counts?channel=web&subscriber=countries&from=2026-11-01", text: "United States: 1 request<"}, "logs top": {page: "/counts?channel=web&subscriber=countries&from=2026-11-01", text: "Most requests"}, "logs window": {page: "/channels", action: "/channels/window", typed: "window=2GiB"}, "logs unsubscribe": {page: "/channels", action: "/channels/drop", typed: "name=countries"},

	"chat list": {page: "/chats?member=bob", text: "?chat=CHAT"}, "chat members": {page: "/chats?chat=CHAT", text: ">bob<"}, "chat info": {page: "/chats?chat=CHAT", text: "1 message is kept"}, "chat drop": {page: "/chats?chat=CHAT", action: "/chats/drop"},
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
	w := newPageWalk(t)
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, below := range c.Commands() {
			walk(below)
		}
		_, path, _ := strings.Cut(c.CommandPath(), " ")
		first, _, _ := strings.Cut(path, " ")
		w.commands[path], w.commands[first] = true, true
		if c.HasSubCommands() {
			return
		}
		where, reachable := inDashboard[path]
		reason := notInDashboard[path] + notInDashboard[first]
		w.renew()
		switch {
		case reachable == (reason != ""):
			t.Errorf("skidway %s: it is not in the dashboard, and no reason is given, or both: %q, %q", path, where, reason)
		case !reachable:
		case where.action != "":
			w.send(path, w.get(w.expand(where.page)), w.expand(where.action), where.typed)
			w.checkAction(c)
		default:
			if page, text := w.get(w.expand(where.page)), w.expand(where.text); text == "" || !strings.Contains(page, text) {
				t.Errorf("skidway %s: %s has no %q: %.3000s", path, where.page, text, page)
			}
		}
	}
	walk(w.root)
	for path := range inDashboard {
		if !w.commands[path] {
			t.Errorf("there is no command %s", path)
		}
	}
	for path := range notInDashboard {
		if !w.commands[path] {
			t.Errorf("there is no command %s", path)
		}
	}
	if len(w.shown) < 30 {
		t.Errorf("the pages show only %d commands: %v", len(w.shown), w.shown)
	}
}

// checkAction fails the test unless the latest entry of the audit has the action of a command, if that is a change.
func (w *pageWalk) checkAction(c *cobra.Command) {
	w.Helper()
	if !cli.IsChange(c) {
		return
	}
	entries, _, err := access.NewAudit(w.queues.DB(), slog.New(slog.DiscardHandler)).List(w.Context(), "", 1)
	w.must(err)
	if want := cli.ActionOf(c, []string{"ID", "MEMBER"}); entries[0].Action != want {
		w.Errorf("the audit has %q for the form, and %q for %s", entries[0].Action, want, c.CommandPath())
	}
}

// A pageWalk is a dashboard whose pages are read, and whose forms are sent, for one command after the other.
type pageWalk struct {
	*testing.T
	root     *cobra.Command
	pages    http.Handler
	queues   *queue.Client
	ids      map[string]string // of the table, by their names
	commands map[string]bool   // by their paths
	shown    map[string]bool   // command lines in pages
}

func newPageWalk(t *testing.T) *pageWalk {
	t.Helper()
	w := &pageWalk{T: t, root: root(&cli.App{Console: &cli.Console{}}), commands: map[string]bool{}, shown: map[string]bool{}}
	address := redistest.URL(t)
	db := handle.New(redistest.Open(t, address))
	var err error
	w.queues, err = queue.NewClient(db, nil)
	w.must(err)
	scopes, err := access.ParseScopes([]string{"view:*", "operate:*", "enqueue:*", "enqueue:*:email.*", "admin:*"})
	w.must(err)
	who := &access.Principal{Name: "anna", Proven: true, Scopes: scopes}
	pages, err := dash.New(db, dash.Config{Logger: slog.New(slog.DiscardHandler), Authorize: func(*http.Request) (*access.Principal, error) { return who, nil }})
	w.must(err)
	t.Cleanup(func() { _ = pages.Close() })
	w.pages = pages
	w.fill(address)
	return w
}

func (w *pageWalk) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// add adds a job, and returns its id.
func (w *pageWalk) add(name string, options queue.Options) string {
	w.Helper()
	options.Queue = name
	id, err := w.queues.Enqueue(w.Context(), queue.Raw("email.send", []byte("{}")), &options)
	w.must(err)
	return id
}

// fill adds what pages show and have forms for.
func (w *pageWalk) fill(address string) {
	w.Helper()
	folder := w.TempDir()
	write(w.T, folder, "a.log", line("8.8.8.8", "01"))
	mustRun(w.T, folder, "logs", "ship", "a.log", "--channel", "web", "--subscriber", "countries", "--redis", address)
	mustRun(w.T, folder, "logs", "work", "--channel", "web", "--subscriber", "countries", "--until-done", "--redis", address)
	w.add("mail", queue.Options{})
	w.add("paused", queue.Options{})
	paused, err := w.queues.Queue("paused")
	w.must(err)
	w.must(paused.Pause(w.Context(), "anna", ""))
	for _, name := range []string{"nightly", "paused"} {
		w.post("/schedules/put", url.Values{"new": {"1"}, "name": {name}, "queue": {"mail"}, "expr": {"@daily"}, "kind": {"email.send"}, "args": {"{}"}})
	}
	w.post("/schedules/change", url.Values{"name": {"paused"}, "queue": {"mail"}, "do": {"pause"}})
	_, err = w.queues.Beat(w.Context(), queue.PoolBeat{Pool: "worker-1", Length: time.Minute, Info: &queue.PoolInfo{Name: "worker-1", Queues: []string{"held"}, Concurrency: 1}})
	w.must(err)
	client, err := ops.NewClient(w.queues, nil)
	w.must(err)
	for _, name := range []string{"runs", "stopped"} {
		w.add(name, queue.Options{})
		asked, err := client.Operations().Ask(w.Context(), ops.Change{Queue: name, Do: "delete", State: queue.Waiting, By: "anna"})
		w.must(err)
		run, err := client.Operations().Begin(w.Context(), asked)
		w.must(err)
		if name == "stopped" {
			_, err = client.Operations().Stop(w.Context(), run.Operation.ID)
			w.must(err)
		}
	}
	mail, err := w.queues.Queue("mail")
	w.must(err)
	collector := stats.NewCollector(stats.Config{Client: w.queues, Pool: "worker-1"})
	collector.Counter(mail).Add(func(yield func(stats.End) bool) {
		yield(stats.End{Job: &queue.Job{ID: "mail:0:n1-0", Kind: "email.send"}, Disposition: queue.AttemptDead, Error: "connection refused"})
	})
	w.must(collector.Flush(w.Context()))
	w.fillJobs()
}

// fillJobs adds a dead and an active job, for the ids of the table.
func (w *pageWalk) fillJobs() {
	w.Helper()
	held, err := w.queues.ForPool("held")
	w.must(err)
	lease, err := held.NewLease("worker-1.1", time.Minute)
	w.must(err)
	fetch := func() *queue.Job {
		w.Helper()
		w.add("held", queue.Options{})
		fetched, err := lease.Fetch(w.Context(), queue.FetchLimits{Jobs: 1, Bytes: 1 << 20})
		w.must(err)
		return fetched.Jobs[0]
	}
	dead := fetch()
	_, err = lease.Finish(w.Context(), []queue.Completion{{Job: dead, Disposition: queue.AttemptDead, Reason: "connection refused"}})
	w.must(err)
	w.ids = map[string]string{"DEAD": dead.ID, "ACTIVE": fetch().ID}
}

// renew adds another delayed job and another chat: a form may have changed the last ones.
func (w *pageWalk) renew() {
	w.Helper()
	chats := group.NewClient(w.queues.DB())
	id, err := chats.Create(w.Context(), "", &group.CreateOptions{Members: []string{"ada", "bob"}})
	w.must(err)
	_, err = chats.Send(w.Context(), id, "ada", chat.Content{Body: []byte("words")})
	w.must(err)
	w.ids["CHAT"], w.ids["DELAYED"] = id, w.add("mail", queue.Options{Delay: time.Hour})
}

// expand replaces the names of ids by ids.
func (w *pageWalk) expand(text string) string {
	for name, id := range w.ids {
		text = strings.ReplaceAll(text, name, id)
	}
	return text
}

// get returns a page as soon as it shows what has been read, and checks the commands in it.
func (w *pageWalk) get(path string) string {
	w.Helper()
	for deadline := time.Now().Add(waitLimit); ; {
		a := httptest.NewRecorder()
		w.pages.ServeHTTP(a, httptest.NewRequestWithContext(w.Context(), http.MethodGet, path, nil))
		page := a.Body.String()
		unread := a.Code == http.StatusServiceUnavailable || strings.Contains(page, "being read") // on a busy machine
		switch {
		case unread && time.Now().Before(deadline):
			w.must(rdb.Sleep(w.Context(), 20*time.Millisecond))
		case unread || a.Code != http.StatusOK:
			w.Fatalf("%s is answered %d: %s", path, a.Code, page)
		default:
			w.checkCommands(path, page)
			return page
		}
	}
}

var (
	shownCommands = regexp.MustCompile(`<code class="cmd"[^>]*>([^<]*)</code>`)
	shellWords    = regexp.MustCompile(`'[^']*'|"[^"]*"|\S+`)
)

// checkCommands fails the test if a page shows a command line whose command or flags do not exist.
func (w *pageWalk) checkCommands(path, page string) {
	w.Helper()
	for _, found := range shownCommands.FindAllStringSubmatch(page, -1) {
		for line := range strings.Lines(html.UnescapeString(found[1])) {
			w.shown[line] = true
			args := shellWords.FindAllString(line, -1)
			c, rest, err := w.root.Find(args[1:])
			if err != nil || args[0] != "skidway" || c.HasSubCommands() {
				w.Errorf("%s shows %q, which is no command: %v", path, line, err)
				continue
			}
			for _, arg := range rest {
				if name, isFlag := strings.CutPrefix(arg, "--"); isFlag && c.Flag(name) == nil {
					w.Errorf("%s shows %q: there is no flag --%s", path, line, name)
				}
			}
		}
	}
}

// post sends a form, and fails the test unless the next page says that it is done.
func (w *pageWalk) post(path string, values url.Values) {
	w.Helper()
	r := httptest.NewRequestWithContext(w.Context(), http.MethodPost, path, strings.NewReader(values.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	a := httptest.NewRecorder()
	w.pages.ServeHTTP(a, r)
	if a.Code != http.StatusSeeOther {
		w.Errorf("the form %s with %v is answered %d: %.3000s", path, values, a.Code, a.Body)
		return
	}
	next := httptest.NewRequestWithContext(w.Context(), http.MethodGet, a.Header().Get("Location"), nil)
	for _, cookie := range a.Result().Cookies() {
		next.AddCookie(cookie)
	}
	b := httptest.NewRecorder()
	w.pages.ServeHTTP(b, next)
	if !strings.Contains(b.Body.String(), `<div class="flash ok"`) {
		w.Errorf("the form %s with %v leads to %.3000s", path, values, b.Body)
	}
}

var (
	hiddenFields = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)"`)
	doButtons    = regexp.MustCompile(`<button[^>]* name="do" value="([^"]*)"`)
)

// send sends the form of a page that does what a command does, with its own fields and what a person types.
func (w *pageWalk) send(command, page, action, typed string) {
	w.Helper()
	last := command[strings.LastIndexByte(command, ' ')+1:]
	for _, form := range strings.Split(page, "<form")[1:] {
		form, _, _ = strings.Cut(form, "</form>")
		buttons := doButtons.FindAllStringSubmatch(form, -1)
		if !strings.Contains(form, "<button") || !strings.Contains(form, `action="`+action+`"`) || len(buttons) > 0 && !slices.ContainsFunc(buttons, func(b []string) bool { return b[1] == last }) {
			continue
		}
		values, err := url.ParseQuery(typed)
		w.must(err)
		for name := range values {
			if !strings.Contains(form, `name="`+name+`"`) {
				w.Errorf("skidway %s: the form has no field %s: %s", command, name, form)
			}
		}
		for _, field := range hiddenFields.FindAllStringSubmatch(form, -1) {
			values.Add(field[1], html.UnescapeString(field[2]))
		}
		if len(buttons) > 0 {
			values.Set("do", last)
		}
		w.post(action, values)
		return
	}
	w.Errorf("skidway %s: the page has no form of %s: %.3000s", command, action, page)
}
