package dash_test

import (
	"fmt"
	"html"
	"io"
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

func TestQueuePageShowsItsStateAndChangesIt(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	for range 3 {
		f.add("mail", "email.send", `{}`, queue.Options{Priority: queue.High})
	}
	f.add("mail", "email.send", `{}`, queue.Options{Delay: time.Hour})
	for _, r := range []string{"hour", "day", "month"} {
		f.want(f.get("/queues/mail?range="+r), http.StatusOK, `<a href="/queues">Queues</a>`, "Pause mail?", "No worker serves it", "skidway worker --queue mail", `data-v="waiting">3<`)
	}
	f.want(f.get("/queues/mail?range=year"), http.StatusBadRequest)
	f.want(f.get("/queues/none"), http.StatusNotFound, "There is no queue none.")

	a := f.post("/queues/mail/pause", url.Values{"note": {`<b>moves</b>`}})
	f.want(a, http.StatusSeeOther)
	f.want(f.follow(a), http.StatusOK, "Queue mail is paused.", "is paused by anna: “&lt;b&gt;moves&lt;/b&gt;”. 3 wait.", "/queues/mail/resume")
	f.want(f.follow(f.post("/queues/mail/resume", nil)), http.StatusOK, "Queue mail is resumed.", "Pause…")
	f.want(f.follow(f.post("/queues/mail/retention", url.Values{"dead_jobs": {"10"}, "dead_days": {"2"}})), http.StatusOK, "The limits of queue mail are set.", `name="dead_days" value="2"`, "10 jobs, 2d", "as by default")
	pool, err := f.queues.ForPool("mail")
	f.must(err)
	exact := queue.Retention{Dead: queue.RetentionLimit{Jobs: 10, Bytes: 1000, Age: 36 * time.Hour}}
	f.must(pool.SetRetention(t.Context(), exact))
	f.post("/queues/mail/retention", url.Values{"dead_jobs": {"20"}, "dead_days": {"1"}})
	exact.Dead.Jobs = 20
	if kept, _, err := pool.Retention(t.Context()); err != nil || kept != exact {
		t.Errorf("it keeps %+v, %v", kept, err)
	}
	f.want(f.follow(f.post("/queues/mail/retention", url.Values{"dead_jobs": {"1"}, "version": {"0.0.0.0.0.0"}})), http.StatusOK, "Not done:", `name="dead_jobs" value="20"`, `name="version" value="20.1000.129600000.0.0.0"`)
	f.want(f.follow(f.post("/queues/mail/retention", url.Values{"dead_jobs": {"many"}})), http.StatusOK, "Not done: many is no number.")

	f.want(f.get("/queues/mail"), http.StatusOK, `action="/jobs/question"><input type="hidden" name="all" value="1"><input type="hidden" name="do" value="delete">`)
	question := f.get("/jobs/question?all=1&do=delete&queue=mail&state=waiting&back=/queues/mail")
	f.want(question, http.StatusOK, "Delete 3 waiting jobs? (mail)")
	late := f.add("mail", "a", `{}`, queue.Options{Delay: time.Millisecond}) // after the question
	form := hidden(question.body, "/jobs/change")
	form.Set("do", "delete")
	form.Set("name", "mial")
	f.want(f.follow(f.post("/jobs/change", form)), http.StatusOK, "That is not the name of the queue.")
	form.Set("name", "mail")
	f.want(f.follow(f.post("/jobs/change", form)), http.StatusOK, "3 jobs are deleted.")
	f.want(f.get("/jobs/"+late), http.StatusOK)
	form.Set("state", "active")
	f.want(f.follow(f.post("/jobs/change", form)), http.StatusOK, "Not done:")
	entries, _, err := f.audit.List(t.Context(), "", 100)
	f.must(err)
	actions := map[string]int{}
	for _, e := range entries {
		actions[e.Action+" by "+e.Who]++
	}
	for action, n := range map[string]int{"pause": 2, "resume": 2, "retention": 6, "purge": 4} {
		if actions[action+" by anna"] != n {
			t.Errorf("the audit has %v", actions)
		}
	}
}

func TestRolesChangeOnlyWhatTheyMay(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	f.add("mail", "a", `{}`, queue.Options{})
	for _, role := range []struct {
		scopes []string
		may    string
	}{
		{[]string{"view:*"}, ""},
		{[]string{"view:*", "operate:other"}, ""},
		{[]string{"view:mail", "operate:mail"}, "pause resume"},
		{[]string{"view:*", "operate:*", "admin:*"}, "pause resume retention"},
		{[]string{"view:other"}, "nothing"},
	} {
		f.who = principal(t, role.scopes...)
		page := f.get("/queues/mail")
		for _, action := range []string{"pause", "resume", "retention"} {
			want := http.StatusForbidden
			if strings.Contains(role.may, action) {
				want = http.StatusSeeOther
			}
			if a := f.post("/queues/mail/"+action, url.Values{"name": {"other"}}); a.StatusCode != want {
				t.Errorf("%q: %s: %d, want %d", role.scopes, action, a.StatusCode, want)
			}
			disabled := strings.Contains(page.body, `disabled title="Your role may not`)
			if page.StatusCode == http.StatusOK && disabled == strings.Contains(role.may, "retention") {
				t.Errorf("%q: buttons are disabled: %t", role.scopes, disabled)
			}
		}
		if (page.StatusCode == http.StatusForbidden) != (role.may == "nothing") {
			t.Errorf("%q: the page: %d", role.scopes, page.StatusCode)
		}
	}
	f.who = principal(t, "view:*")
	f.who.ReadOnly = true
	if page := f.get("/queues/mail"); strings.Count(page.body, "This dashboard is read-only") < 2 || strings.Contains(page.body, "Your role") {
		t.Error("the page and its buttons do not say that the dashboard is read-only")
	}
}

// A countedBody counts what is read of a body.
type countedBody struct {
	io.Reader
	read int
}

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	b.read += n
	return n, err
}

func TestBodyOfAChangeThatIsRefusedIsNotRead(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	f.who = principal(t, "view:*")
	for _, path := range []string{"/queues/-/pause?queue=..", "/queues/mail/pause"} {
		body := &countedBody{Reader: strings.NewReader("--x\r\nContent-Disposition: form-data; name=\"queue\"; filename=\"a\"\r\n\r\n" + strings.Repeat("a", 8<<20) + "\r\n--x--\r\n")}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, body)
		r.Header.Set("Content-Type", "multipart/form-data; boundary=x")
		f.want(send(t, f.dash, r), http.StatusForbidden)
		if body.read > 0 {
			t.Errorf("%s: %d bytes were read", path, body.read)
		}
	}
}

func TestTokenIsNotShownAsAUser(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	f.add("mail", "a", `{}`, queue.Options{})
	f.who = principal(t, "view:*", "operate:*", "admin:*")
	f.who.Token, f.who.ID = true, "4f1a09c2be77"
	f.want(f.follow(f.post("/queues/mail/pause", nil)), http.StatusOK, "is paused by token 4f1a09c2be77 (anna)")
}

func TestNamesOfOtherQueuesAreInNoMessage(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	f.add("secret", "a", `{}`, queue.Options{})
	f.who = principal(t, "view:team-*", "operate:team-*", "admin:team-*")
	for _, action := range []string{"pause", "resume", "retention"} {
		a := f.post("/queues/team-none/"+action, url.Values{"name": {"team-none"}, "state": {"waiting"}})
		if next := f.follow(a); strings.Contains(next.body, "secret") || !strings.Contains(next.body, "There is no queue team-none.") {
			t.Errorf("%s: the page is %s", action, next.body)
		}
	}
	a := f.get("/jobs/question?all=1&do=retry&state=dead&queue=team-none")
	if f.want(a, http.StatusNotFound); strings.Contains(a.body, "secret") || strings.Contains(a.body, f.queues.DB().String()) {
		t.Errorf("the page is %s", a.body)
	}
}

func TestQueueWithTheNameOfADash(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	f.add("-", "a", `{}`, queue.Options{})
	f.want(f.get("/queues/-"), http.StatusOK, "Pause -?", `action="/queues/-/pause"`)
	f.want(f.follow(f.post("/queues/-/pause", nil)), http.StatusOK, "Queue - is paused.")
}

func TestLinksToCountsShowTheSameLater(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	f.add("mail", "email.send", `{}`, queue.Options{})
	f.count("mail", "email.send", "refused", 3, 1)
	link := func(path string) string {
		t.Helper()
		found := regexp.MustCompile(`href="([^"]*)">Link to these`).FindStringSubmatch(f.get(path).body)
		if found == nil {
			t.Fatalf("%s has no link to its counts", path)
		}
		return html.UnescapeString(found[1])
	}
	month := link("/queues/mail?range=month")
	if !regexp.MustCompile(`^/queues/mail\?range=month&to=\d{4}-\d\d-\d\dT\d\d%3A\d\d%3A\d\dZ$`).MatchString(month) {
		t.Errorf("the link is %s", month)
	}
	f.want(f.get(month), http.StatusOK, "All other figures are those of now.", `<a href="/queues/mail?range=month">Show the counts of now</a>`, `href="/queues/mail?range=hour&amp;to=`)
	past := func(path string, ago time.Duration) string {
		return path + "&to=" + time.Now().Add(-ago).UTC().Format(time.RFC3339)
	}
	f.want(f.get(past("/queues/mail?range=hour", 30*time.Hour)), http.StatusOK, ", in steps of 4h, because smaller ones are no longer kept.", "No attempt")
	errors := link("/errors?queue=mail&order=first")
	f.want(f.get(errors), http.StatusOK, "1 group of", `type="hidden" name="to" value="`, `<a href="/errors?order=first&amp;queue=mail">Show the counts of now</a>`)
	f.want(f.get(past("/errors?queue=mail", 2*time.Hour)), http.StatusOK, "0 groups of")
	f.want(f.get(past("/errors?queue=mail", 72*time.Hour)), http.StatusOK, "Those of the time in the address are no longer kept.")
	for _, path := range []string{"/queues/mail?to=yesterday", "/errors?to=1"} {
		f.want(f.get(path), http.StatusBadRequest, "The end of the time")
	}
}

func TestPageOfAQueueListsSomeOfManyWorkers(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	f.add("mail", "a", `{}`, queue.Options{})
	for i := range 60 {
		info := queue.PoolInfo{Name: fmt.Sprintf("worker-%d", i), Queues: []string{"mail"}, Concurrency: 2, State: "running"}
		_, err := f.queues.Beat(t.Context(), queue.PoolBeat{Pool: info.Name, Length: time.Hour, Info: &info})
		f.must(err)
	}
	page := f.get("/queues/mail")
	f.want(page, http.StatusOK, ">60 serve it<", ">10 more are not listed.<")
	if n := strings.Count(page.body, `<dt data-row="worker `); n != 50 {
		t.Errorf("the page lists %d workers", n)
	}
	lines := f.stream(f.viewers(), "/queues/mail")
	for line := range lines {
		if strings.HasPrefix(line, "data: ") {
			if len(line) > 16<<10 {
				t.Errorf("the first event has %d bytes", len(line))
			}
			break
		}
	}
	info := queue.PoolInfo{Name: "worker-0", Queues: []string{"mail"}, Concurrency: 9, State: "running"}
	_, err := f.queues.Beat(t.Context(), queue.PoolBeat{Pool: info.Name, Length: time.Hour, Info: &info})
	f.must(err)
	for line := range lines {
		if strings.Contains(line, "0 of 9 slots") {
			if strings.Contains(line, "0 of 2 slots") || len(line) > 1<<10 {
				t.Errorf("an event has what did not change: %s", line)
			}
			return
		}
	}
	t.Error("the stream has ended")
}
