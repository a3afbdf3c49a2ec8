package dash_test

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"skidway/internal/browsertest"
	"skidway/internal/redistest"
	"skidway/ops"
	"skidway/ops/dash"
	"skidway/queue"
)

// An action is what a person does on a page, and what the next page says.
type action struct {
	route string // of the request in which it ends; its row of rightCases has the scopes that it needs
	page  string
	steps []string // selectors that are clicked, or "selector: text" for fields
	said  string
	with  actionCase
}

// An actionCase is what is particular to an action.
type actionCase struct {
	button string    // the text of what is disabled for others, or several; empty if all may do it, or their page is not shown
	shown  string    // what only the next page has; empty for the message of a change
	direct rightCase // its request and its scopes, where they are not those of the route
}

// button returns the actionCase of an action whose button has a text.
func button(text string) actionCase { return actionCase{button: text} }

// deletesAll is a request that deletes all jobs of a state.
var deletesAll = rightCase{"/jobs/change", "do=delete&state=delayed&queue=mail&name=mail&count=1&as_of=1", "view:mail admin:mail"}

// actions are all actions of the pages, in their order. DEAD, DELAYED and CHAT stand for ids; those of delayed jobs are
// others each time. No action needs that another one was done.
var actions = []action{
	{"POST /queues/{queue}/pause", "/queues/mail", []string{`[popovertarget=pause]`, `#pause [name=note]: it moves`, `#pause .pri`}, "Queue mail is paused.", button("Pause…")},
	{"POST /queues/{queue}/resume", "/queues/still", []string{`.head form .btn`}, "Queue still is resumed.", button("Resume")},
	{"POST /queues/{queue}/retention", "/queues/mail", []string{`[popovertarget=retention]`, `#retention [name=dead_jobs]: 7`, `#retention .pri`}, "The limits of queue mail are set.", button("Retention…")},
	{"POST /jobs/{id}/priority", "/jobs/DEAD", []string{`[popovertarget=priority]`, `#priority .pri`}, "has another priority.", button("Priority…")},
	{"POST /jobs/{id}/reveal", "/jobs/DEAD", []string{`form[action$="/reveal"] .btn`}, `"password": "x"`, actionCase{button: "Reveal hidden values", shown: `main:not(:has([action$="/reveal"]))`}},
	{"POST /jobs/{id}/copy", "/jobs/DEAD/copy", []string{`main form .pri`}, "is added.", actionCase{button: "Add the job", direct: rightCase{"/jobs/JOB/copy", "queue=mail&args={}", "operate:mail enqueue:mail"}}},
	{"POST /jobs/{id}/retry", "/jobs/DEAD", []string{`[popovertarget=retry]`, `#retry .pri`}, "runs again.", button("Retry…")},
	{"POST /jobs/{id}/reschedule", "/jobs/DELAYED", []string{`[popovertarget=reschedule]`, `#reschedule [name=at]: 2h`, `#reschedule .pri`}, "has another time.", button("Reschedule…")},
	{"POST /jobs/{id}/run-now", "/jobs/DELAYED", []string{`[popovertarget=run-now]`, `#run-now .pri`}, "runs now.", button("Run now…")},
	{"POST /jobs/{id}/cancel", "/jobs/DELAYED", []string{`[popovertarget=cancel]`, `#cancel .pri`}, "is cancelled.", button("Cancel…")},
	{"POST /jobs/{id}/delete", "/jobs/DELAYED", []string{`[popovertarget=delete]`, `#delete .dng`}, "is deleted.", button("Delete…")},
	{"POST /jobs/change", "/jobs?queue=mail&state=dead", []string{`tbody tr:first-child [type=checkbox]`, `#bulk [value=retry]`, `form[action$="/jobs/change"] .pri`}, "1 job runs again.", button("Retry…")},
	{"POST /jobs/change", "/jobs?queue=mail&state=delayed", []string{`tbody tr:first-child [type=checkbox]`, `#bulk [value=priority]`, `form[action$="/jobs/change"] .pri`}, "1 job has another priority.", button("Move…")},
	{"POST /jobs/change", "/jobs?queue=mail&state=delayed", []string{`tbody tr:first-child [type=checkbox]`, `#bulk [value=cancel]`, `form[action$="/jobs/change"] .pri`}, "1 job is cancelled.", button("Cancel…")},
	{"POST /jobs/change", "/jobs?queue=mail&state=delayed", []string{`#all [value=delete]`, `main [name=name]: mail`, `main form .dng`}, "deleted.", actionCase{button: "All: Delete…", direct: deletesAll}},
	{"POST /jobs/change", "/errors", []string{`tbody tr:first-child td .btn`, `form[action$="/jobs/change"] .pri`}, "run again.", button("Retry…")},
	{"POST /jobs/change", "/queues/mail", []string{`[popovertarget=purge]`, `#purge .dng`, `main [name=name]: mail`, `main form .dng`}, "deleted.", actionCase{button: "Purge…", direct: deletesAll}},
	{"POST /workers/signal", "/workers", []string{`[popovertarget=tell-0]`, `#tell-0 [value=quiet]`}, "is told to take no more jobs.", button("Quiet, stop…")},
	{"POST /workers/signal", "/workers", []string{`[popovertarget=tell-0]`, `#tell-0 [value=stop]`}, "is told to stop.", button("Quiet, stop…")},
	{"POST /schedules/put", "/schedules/edit", []string{`main [name=name]: hourly`, `main [name=queue]: mail`, `main [name=expr]: @hourly`, `main [name=kind]: email.send`, `main form .pri`}, "Schedule hourly is saved.", button("Save the schedule")},
	{"POST /schedules/put", "/schedules/edit?queue=mail&name=nightly", []string{`main form .pri`}, "Schedule nightly is saved.", button("Save the schedule")},
	{"POST /schedules/change", "/schedules?queue=mail", []string{`tr[data-row="mail nightly"] .btn`, `:popover-open [value=run]`}, "The job of schedule nightly is added.", button("Run, pause…")},
	{"POST /schedules/change", "/schedules?queue=mail", []string{`tr[data-row="mail nightly"] .btn`, `:popover-open [value=pause]`}, "Schedule nightly is paused.", button("Run, pause…")},
	{"POST /schedules/change", "/schedules?queue=still", []string{`tr[data-row="still paused"] .btn`, `:popover-open [value=resume]`}, "Schedule paused adds jobs again", button("Run, pause…")},
	{"POST /schedules/change", "/schedules?queue=mail", []string{`tr[data-row="mail nightly"] .btn`, `:popover-open [value=remove]`}, "Schedule nightly is removed.", actionCase{button: "Run, pause…|Remove the schedule", direct: rightCase{"/schedules/change", "queue=mail&name=nightly&do=remove", "view:? admin:mail"}}},
	{"POST /operations/change", "/operations", []string{`tbody [value=stop]`}, "The operation is stopped.", button("Stop")},
	{"POST /operations/change", "/operations", []string{`tbody [value=continue]`}, "The operation goes on.", button("Continue")},
	{"POST /enqueue", "/enqueue", []string{`main [name=queue]: mail`, `main [name=kind]: email.send`, `main form .pri`}, "is added.", actionCase{}},
	{"POST /channels/window", "/channels", []string{`[popovertarget=window-0]`, `#window-0 [name=window]: 2 GiB`, `#window-0 .pri`}, "The window of channel web is 2.0 GiB.", button("Window…")},
	{"POST /channels/drop", "/channels", []string{`[popovertarget=drop-0-0]`, `#drop-0-0 [name=name]: countries`, `#drop-0-0 .dng`}, "Subscriber countries of channel web is dropped.", button("Drop…")},
	{"POST /chats/drop", "/chats?chat=CHAT", []string{`[popovertarget=drop-0]`, `#drop-0 .dng`}, "is dropped.", button("Drop…")},
	{"POST /settings", "/settings", []string{`main [value=dark]`, `main form .pri`}, "Your settings are saved.", actionCase{}},
	{"POST /settings", "/", []string{`[popovertarget=me]`, `#me [value=light]`, `#me .btn`}, "Your settings are saved.", actionCase{}},
	{"GET /audit", "/audit", []string{`[name=action]: resume`, `main form .btn`}, "resume", actionCase{shown: `[name=action][value=resume]`}},
}

// request returns the action's request without the page, and the scopes that it needs.
func (a action) request() rightCase {
	c := cmp.Or(a.with.direct, rightCases[a.route])
	_, path, _ := strings.Cut(a.route, " ")
	c.path = cmp.Or(c.path, path)
	return c
}

func TestEveryRouteOfAFormIsAnAction(t *testing.T) {
	t.Parallel()
	for _, route := range dash.Patterns() {
		if strings.HasPrefix(route, "POST ") && !slices.ContainsFunc(actions, func(a action) bool { return a.route == route }) {
			t.Errorf("no action ends in %s", route)
		}
	}
}

// everyRight has the scopes of an administrator of all.
const everyRight = "view:* operate:* enqueue:* enqueue:*:email.* admin:* reveal:*"

// stage adds what the actions change, and returns what replaces the ids in them.
func (f *fixture) stage() *strings.Replacer {
	f.Helper()
	f.who = principal(f, strings.Fields(everyRight)...)
	for range 3 {
		f.add("mail", "email.send", `{}`, queue.Options{})
	}
	dead := f.add("mail", "email.send", `{"password":"x"}`, queue.Options{})
	f.bury("mail", "connection refused")
	f.count("mail", "email.send", "connection refused", 4, 2)
	chat := f.gather()
	f.post("/schedules/put", url.Values{"new": {"1"}, "name": {"paused"}, "queue": {"still"}, "expr": {"@daily"}, "kind": {"email.send"}, "args": {"{}"}})
	f.post("/schedules/change", url.Values{"queue": {"still"}, "name": {"paused"}, "do": {"pause"}})
	client, err := ops.NewClient(f.queues, nil)
	f.must(err)
	for _, name := range []string{"docs", "still"} {
		f.add(name, "pdf", `{}`, queue.Options{})
		asked, err := client.Operations().Ask(f.Context(), ops.Change{Queue: name, Do: "cancel", State: queue.Waiting, By: "anna"})
		f.must(err)
		run, err := client.Operations().Begin(f.Context(), asked)
		f.must(err)
		if name == "still" {
			f.post("/queues/still/pause", url.Values{})
			f.post("/queues/still/resume", url.Values{}) // for the audit
			f.post("/queues/still/pause", url.Values{})
			_, err = client.Operations().Stop(f.Context(), run.Operation.ID)
			f.must(err)
		}
	}
	f.add("mail", "email.send", `{}`, queue.Options{Delay: time.Hour})
	f.awaitPage("/channels", func(body string) bool { return strings.Contains(body, "<h2>web</h2>") })
	return strings.NewReplacer("DEAD", dead, "JOB", dead, "CHAT", url.QueryEscape(chat))
}

// testActions does all actions in pages without script, each with the rights of an administrator.
func testActions(t *testing.T, ctx context.Context) {
	f := setup(t, redistest.DB(t))
	ids := f.stage()
	b := f.open(ctx)
	b.Script(false)
	for _, a := range actions {
		b.do(a, f.replaced(ids, a.page))
	}
	b.Calm("actions")
}

// replaced returns the address of a page with ids, and adds the delayed job of which it may be.
func (f *fixture) replaced(ids *strings.Replacer, page string) string {
	f.Helper()
	if strings.Contains(page, "DELAYED") {
		page = strings.ReplaceAll(page, "DELAYED", f.add("mail", "email.send", `{}`, queue.Options{Delay: time.Hour}))
	} else if strings.Contains(page, "state=delayed") {
		f.add("mail", "email.send", `{}`, queue.Options{Delay: time.Hour})
	}
	return ids.Replace(page)
}

// testRoles does the actions with script, each as the role with the fewest rights that may do it. For the roles before
// that one its button is disabled and says why, or its page is not in the list of pages; and its request is refused.
func testRoles(t *testing.T, ctx context.Context) {
	done := map[string]bool{}
	for _, scopes := range []string{"view:*", "view:* operate:*", everyRight} {
		f := setup(t, redistest.DB(t))
		ids := f.stage()
		f.who = principal(t, strings.Fields(scopes)...)
		b := f.open(ctx)
		b.theme("light")
		shown := ""
		for _, a := range actions {
			c, name := a.request(), a.route+a.page+strings.Join(a.steps, "")
			if covered(scopes, c.needs) {
				if !done[name] {
					b.do(a, f.replaced(ids, a.page))
				}
				done[name], shown = true, ""
				continue
			}
			if page := f.replaced(ids, a.page); page != shown && a.with.button != "" {
				b.Do(chromedp.Navigate(b.server + page))
				shown = page
			}
			b.refuses(a)
			if refused := f.direct(c, ids); refused.StatusCode != http.StatusForbidden && !strings.Contains(refused.body, "not allowed: it needs the scope") {
				t.Errorf("%q: %s: %d", scopes, c.path, refused.StatusCode)
			}
		}
		b.Calm(scopes)
	}
}

// direct sends the request of an action without its page.
func (f *fixture) direct(c rightCase, ids *strings.Replacer) answer {
	f.Helper()
	if c.path == "/audit" {
		return f.get(c.path)
	}
	form, err := url.ParseQuery(ids.Replace(c.form))
	f.must(err)
	return f.post(ids.Replace(c.path), form)
}

// refuses fails the test unless the page that is shown has the action's button disabled, with the reason, or has no link to
// a page without such a button.
func (b *browser) refuses(a action) {
	b.Helper()
	if a.with.button == "" {
		if browsertest.Value[bool](b.Tab, `document.querySelector('.rail a[href$="`+a.page+`"]') !== null`) {
			b.Errorf("the list of pages has %s", a.page)
		}
		return
	}
	const find = `[...document.querySelectorAll("button, a.btn")].filter(b => b.firstChild?.textContent === text)
		.map(b => b.disabled && b.title && b.textContent === text + ": " + b.title ? "disabled" : b.outerHTML).join(" ")`
	var found []string
	for text := range strings.SplitSeq(a.with.button, "|") {
		found = append(found, browsertest.Value[string](b.Tab, `(text => `+find+`)("`+text+`")`))
	}
	if last := strings.Fields(found[len(found)-1]); len(last) > 0 { // it is in the question behind the first one
		found = found[len(found)-1:]
	}
	for _, word := range strings.Fields(found[0]) {
		if word != "disabled" {
			b.Errorf("%s: the button is %s", a.page, found[0])
			break
		}
	}
	if found[0] == "" {
		b.Errorf("%s: there is no button %s", a.page, a.with.button)
	}
}

// do does an action, and fails the test if the next page does not say that it is done.
func (b *browser) do(a action, page string) {
	b.Helper()
	b.Logf("%s %q", page, a.steps)
	b.Do(chromedp.Navigate(b.server + page))
	for _, step := range a.steps {
		selector, text, isField := strings.Cut(step, ": ")
		if isField {
			b.Do(chromedp.SetValue(chromedp.CSS(selector), text))
		} else {
			b.Do(chromedp.Click(chromedp.CSS(selector)))
		}
	}
	b.Do(chromedp.WaitVisible(chromedp.CSS(cmp.Or(a.with.shown, ".flash.ok"))))
	if text := browsertest.Value[string](b.Tab, `document.querySelector("main").innerText`); !strings.Contains(text, a.said) {
		b.Errorf("%s %q: it says %.300q, want %q", a.page, a.steps, text, a.said)
	}
}
