package dash_test

import (
	"cmp"
	"context"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"skidway/internal/browsertest"
	"skidway/internal/redistest"
	"skidway/ops"
	"skidway/queue"
)

// An action is what a person does on a page, and what the next page says. Steps are selectors that are clicked, or
// "selector: text" for fields. shown is what only the next page has; empty for the message of a change.
type action struct {
	page  string
	steps []string
	said  string
	shown string
}

// actions are all actions of the pages, in their order. DEAD, DELAYED and CHAT stand for ids; those of delayed jobs are
// others each time.
var actions = []action{
	{"/queues/mail", []string{`[popovertarget=pause]`, `#pause [name=note]: it moves`, `#pause .pri`}, "Queue mail is paused.", ""},
	{"/queues/mail", []string{`.head form .btn`}, "Queue mail is resumed.", ""},
	{"/queues/mail", []string{`[popovertarget=retention]`, `#retention [name=dead_jobs]: 7`, `#retention .pri`}, "The limits of queue mail are set.", ""},
	{"/jobs/DEAD", []string{`[popovertarget=priority]`, `#priority .pri`}, "has another priority.", ""},
	{"/jobs/DEAD", []string{`form[action$="/reveal"] .btn`}, `"password": "x"`, `main:not(:has([action$="/reveal"]))`},
	{"/jobs/DEAD/copy", []string{`main form .pri`}, "is added.", ""},
	{"/jobs/DEAD", []string{`[popovertarget=retry]`, `#retry .pri`}, "runs again.", ""},
	{"/jobs/DELAYED", []string{`[popovertarget=reschedule]`, `#reschedule [name=at]: 2h`, `#reschedule .pri`}, "has another time.", ""},
	{"/jobs/DELAYED", []string{`[popovertarget=run-now]`, `#run-now .pri`}, "runs now.", ""},
	{"/jobs/DELAYED", []string{`[popovertarget=cancel]`, `#cancel .pri`}, "is cancelled.", ""},
	{"/jobs/DELAYED", []string{`[popovertarget=delete]`, `#delete .dng`}, "is deleted.", ""},
	{"/jobs?queue=mail&state=dead", []string{`tbody tr:first-child [type=checkbox]`, `#bulk [value=retry]`, `form[action$="/jobs/change"] .pri`}, "1 job runs again.", ""},
	{"/jobs?queue=mail&state=delayed", []string{`tbody tr:first-child [type=checkbox]`, `#bulk [value=priority]`, `form[action$="/jobs/change"] .pri`}, "1 job has another priority.", ""},
	{"/jobs?queue=mail&state=delayed", []string{`tbody tr:first-child [type=checkbox]`, `#bulk [value=cancel]`, `form[action$="/jobs/change"] .pri`}, "1 job is cancelled.", ""},
	{"/jobs?queue=mail&state=delayed", []string{`#all [value=delete]`, `main [name=name]: mail`, `main form .dng`}, "deleted.", ""},
	{"/errors", []string{`tbody tr:first-child td .btn`, `form[action$="/jobs/change"] .pri`}, "run again.", ""},
	{"/queues/mail", []string{`[popovertarget=purge]`, `#purge .dng`, `main [name=name]: mail`, `main form .dng`}, "deleted.", ""},
	{"/workers", []string{`[popovertarget=tell-0]`, `#tell-0 [value=quiet]`}, "is told to take no more jobs.", ""},
	{"/workers", []string{`[popovertarget=tell-0]`, `#tell-0 [value=stop]`}, "is told to stop.", ""},
	{"/schedules/edit", []string{`main [name=name]: hourly`, `main [name=queue]: mail`, `main [name=expr]: @hourly`, `main [name=kind]: email.send`, `main form .pri`}, "Schedule hourly is saved.", ""},
	{"/schedules/edit?queue=mail&name=hourly", []string{`main form .pri`}, "Schedule hourly is saved.", ""},
	{"/schedules?queue=mail", []string{`[popovertarget=run-0]`, `#run-0 [value=run]`}, "The job of schedule hourly is added.", ""},
	{"/schedules?queue=mail", []string{`[popovertarget=run-0]`, `#run-0 [value=pause]`}, "Schedule hourly is paused.", ""},
	{"/schedules?queue=mail", []string{`[popovertarget=run-0]`, `#run-0 [value=resume]`}, "Schedule hourly adds jobs again", ""},
	{"/schedules?queue=mail", []string{`[popovertarget=run-0]`, `#run-0 [value=remove]`}, "Schedule hourly is removed.", ""},
	{"/operations", []string{`tbody [value=stop]`}, "The operation is stopped.", ""},
	{"/operations", []string{`tbody [value=continue]`}, "The operation goes on.", ""},
	{"/enqueue", []string{`main [name=queue]: mail`, `main [name=kind]: email.send`, `main form .pri`}, "is added.", ""},
	{"/channels", []string{`[popovertarget=window-0]`, `#window-0 [name=window]: 2 GiB`, `#window-0 .pri`}, "The window of channel web is 2.0 GiB.", ""},
	{"/channels", []string{`[popovertarget=drop-0-0]`, `#drop-0-0 [name=name]: countries`, `#drop-0-0 .dng`}, "Subscriber countries of channel web is dropped.", ""},
	{"/chats?chat=CHAT", []string{`[popovertarget=drop-0]`, `#drop-0 .dng`}, "is dropped.", ""},
	{"/settings", []string{`main [value=dark]`, `main form .pri`}, "Your settings are saved.", ""},
	{"/", []string{`[popovertarget=me]`, `#me [value=light]`, `#me .btn`}, "Your settings are saved.", ""},
	{"/audit", []string{`[name=action]: reveal`, `main form .btn`}, "reveal", `[name=action][value=reveal]`},
}

// testActions does all actions in pages without script.
func testActions(t *testing.T, ctx context.Context) {
	f := setup(t, redistest.DB(t))
	f.who = principal(t, "view:*", "operate:*", "enqueue:*", "enqueue:*:email.*", "admin:*", "reveal:*")
	for range 3 {
		f.add("mail", "email.send", `{}`, queue.Options{})
	}
	dead := f.add("mail", "email.send", `{"password":"x"}`, queue.Options{})
	f.bury("mail", "connection refused")
	f.count("mail", "email.send", "connection refused", 4, 2)
	chat := f.gather()
	f.post("/schedules/change", url.Values{"queue": {"mail"}, "name": {"nightly"}, "do": {"remove"}})
	f.add("docs", "pdf", `{}`, queue.Options{})
	client, err := ops.NewClient(f.queues, nil)
	f.must(err)
	asked, err := client.Operations().Ask(t.Context(), ops.Change{Queue: "docs", Do: "cancel", State: queue.Waiting, By: "anna"})
	f.must(err)
	_, err = client.Operations().Begin(t.Context(), asked)
	f.must(err)

	b := f.open(ctx)
	b.Script(false)
	for _, a := range actions {
		delayed := f.add("mail", "email.send", `{}`, queue.Options{Delay: time.Hour})
		b.do(a, strings.NewReplacer("DEAD", dead, "DELAYED", delayed, "CHAT", url.QueryEscape(chat)).Replace(a.page))
	}
	b.Calm("actions")
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
	b.Do(chromedp.WaitVisible(chromedp.CSS(cmp.Or(a.shown, ".flash.ok"))))
	if text := browsertest.Value[string](b.Tab, `document.querySelector("main").innerText`); !strings.Contains(text, a.said) {
		b.Errorf("%s %q: it says %.300q, want %q", a.page, a.steps, text, a.said)
	}
}
