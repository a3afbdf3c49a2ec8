package dash_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"skidway/delayed"
	"skidway/internal/redistest"
	"skidway/ops/access"
	"skidway/queue"
)

func TestSchedulesAreShownAddedChangedAndRun(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	f.add("reports", "logs.report", `{}`, queue.Options{})
	f.want(f.get("/schedules"), http.StatusOK, "There is no schedule", "skidway cron add")
	form := url.Values{"new": {"1"}, "name": {"nightly"}, "queue": {"reports"}, "expr": {"30 2 * * 1-5"}, "zone": {"Europe/Berlin"}, "kind": {"report"}, "args": {`{"x":"` + strings.ReplaceAll(attack, `"`, `'`) + `"}`}, "catch_up": {"last"}}
	f.want(f.follow(f.post("/schedules/put", form)), http.StatusOK, "Schedule nightly is saved.", "02:30, Monday to Friday", "Europe/Berlin", "on time", "What is to be done with nightly?")
	edit := f.get("/schedules/edit?queue=reports&name=nightly")
	f.want(edit, http.StatusOK, `value="30 2 * * 1-5"`, `<option value="last" selected>`, "readonly")
	if strings.Contains(edit.body, "<img") {
		t.Errorf("args are in the page as HTML: %s", edit.body)
	}
	form.Del("new")
	form.Set("expr", "*/5 * * * *")
	f.want(f.follow(f.post("/schedules/put", form)), http.StatusOK, "every 5 minutes")
	secret := url.Values{"new": {"1"}, "name": {"secret"}, "queue": {"reports"}, "expr": {"@hourly"}, "kind": {"report"}, "args": {`{"password":"abc123"}`}}
	f.want(f.follow(f.post("/schedules/put", secret)), http.StatusOK, "Schedule secret is saved.")
	if a := f.get("/schedules/edit?queue=reports&name=secret"); strings.Contains(a.body, "abc123") || !strings.Contains(a.body, "[hidden]") {
		t.Errorf("a hidden value is shown: %s", a.body)
	}
	secret.Del("new")
	secret.Set("args", "{\r\n  \"password\": \"[hidden]\"\r\n}")
	secret.Set("expr", "@daily")
	f.want(f.follow(f.post("/schedules/put", secret)), http.StatusOK, "Schedule secret is saved.", "@daily")
	pool, err := f.queues.ForPool("reports")
	f.must(err)
	stored, err := pool.Schedules(t.Context())
	f.must(err)
	if len(stored) != 2 || string(stored[1].Args) != `{"password":"abc123"}` {
		t.Errorf("the hidden value was replaced: %+v", stored)
	}
	secret.Set("kind", "other")
	f.want(f.post("/schedules/put", secret), http.StatusForbidden)
	edited := url.Values{"queue": {"reports"}, "name": {"secret"}, "expr": {"@daily"}, "kind": {"report"}, "args": {`{"password":"[hidden]","to":"bob"}`}}
	_, version, _ := strings.Cut(f.get("/schedules/edit?queue=reports&name=secret").body, `name="version" value="`)
	version, _, _ = strings.Cut(version, `"`)
	edited.Set("version", version)
	f.want(f.post("/schedules/put", edited), http.StatusUnprocessableEntity, "your role may not reveal them")
	f.who.Scopes = append(f.who.Scopes, access.Scope{Action: access.Reveal, Queue: access.All})
	f.want(f.follow(f.post("/schedules/put", edited)), http.StatusOK, "Schedule secret is saved.")
	if found, err := pool.Schedule(t.Context(), "secret"); err != nil || string(found.Args) != `{"password":"abc123","to":"bob"}` {
		t.Errorf("the args are %s, %v", found.Args, err)
	}
	f.who.Scopes = f.who.Scopes[:len(f.who.Scopes)-1]
	form.Set("expr", "61 * * * *")
	f.want(f.post("/schedules/put", form), http.StatusUnprocessableEntity, "Not done:", "61 * * * *")
	f.want(f.get("/schedules/edit?queue=reports&name=nightly"), http.StatusOK, "*/5 * * * *")
	f.want(f.get("/schedules/edit?queue=reports&name=none"), http.StatusNotFound)

	stale := url.Values{"name": {"nightly"}, "queue": {"reports"}, "expr": {"@weekly"}, "kind": {"report"}, "args": {"{}"}, "version": {"old"}}
	f.want(f.post("/schedules/put", stale), http.StatusUnprocessableEntity, "Not done:", "it was changed since it was read")
	stale.Set("new", "1")
	f.want(f.post("/schedules/put", stale), http.StatusUnprocessableEntity, "Not done:")
	_, err = delayed.AddSchedule(t.Context(), f.queues, queue.CronSchedule{Name: "configured", Queue: "reports", Expr: "@daily", Kind: "report", Args: []byte("{}"), Revision: 3})
	f.must(err)
	_, version, _ = strings.Cut(f.get("/schedules/edit?queue=reports&name=configured").body, `name="version" value="`)
	version, _, _ = strings.Cut(version, `"`)
	f.want(f.follow(f.post("/schedules/put", url.Values{"name": {"configured"}, "queue": {"reports"}, "expr": {"@hourly"}, "kind": {"report"}, "args": {"{}"}, "version": {version}})), http.StatusOK, "Schedule configured is saved.")
	if found, err := pool.Schedule(t.Context(), "configured"); err != nil || found.Expr != "@hourly" || found.Revision != 3 {
		t.Errorf("%+v, %v", found, err)
	}
	f.must(pool.RemoveSchedule(t.Context(), "configured", ""))

	change := url.Values{"queue": {"reports"}, "name": {"nightly"}, "do": {"run"}}
	f.want(f.follow(f.post("/schedules/change", change)), http.StatusOK, "The job of schedule nightly is added.", `href="/jobs/reports:0:`)
	f.want(f.get("/schedules?queue=reports"), http.StatusOK, `aria-label="last firings, the latest at the end: run by hand"`)
	pause := url.Values{"queue": {"reports"}, "name": {"nightly"}, "do": {"pause"}}
	f.want(f.follow(f.post("/schedules/change", pause)), http.StatusOK, "Schedule nightly is paused.", "Resume the schedule", "<span>paused</span>")
	pause.Set("do", "resume")
	f.want(f.follow(f.post("/schedules/change", pause)), http.StatusOK, "Schedule nightly adds jobs again", "Pause the schedule", "every 5 minutes")
	for _, role := range []struct {
		scopes []string
		form   url.Values
		path   string
	}{
		{[]string{"view:*"}, change, "/schedules/change"},
		{[]string{"view:*"}, pause, "/schedules/change"},
		{[]string{"view:*", "operate:*"}, url.Values{"queue": {"reports"}, "name": {"nightly"}, "do": {"remove"}}, "/schedules/change"},
		{[]string{"view:*", "operate:*", "enqueue:*"}, form, "/schedules/put"},
		{[]string{"view:docs", "admin:docs"}, form, "/schedules/put"},
	} {
		f.who = principal(t, role.scopes...)
		f.want(f.post(role.path, role.form), http.StatusForbidden)
		f.want(f.get("/schedules/edit?queue=reports&name=nightly"), map[bool]int{true: 200, false: 403}[role.scopes[0] == "view:*"])
	}
	f.who = principal(t, "view:*", "admin:*")
	form.Set("expr", "1 * * * *")
	f.want(f.post("/schedules/put", form), http.StatusUnprocessableEntity, "not allowed: it needs the scope enqueue:reports:report")
	change.Set("do", "remove")
	f.want(f.follow(f.post("/schedules/change", change)), http.StatusOK, "Schedule nightly is removed.")
}

func TestScheduleIsListedAtOnce(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	f.add("reports", "a", `{}`, queue.Options{})
	f.awaitQueues()
	f.want(f.get("/schedules"), http.StatusOK, "There is no schedule")
	f.post("/schedules/put", url.Values{"new": {"1"}, "name": {"nightly"}, "queue": {"reports"}, "expr": {"@daily"}, "kind": {"email.send"}, "args": {"{}"}})
	f.want(f.get("/schedules"), http.StatusOK, `data-row="reports nightly"`)
	_, err := delayed.AddSchedule(t.Context(), f.queues, queue.CronSchedule{Name: "elsewhere", Queue: "new", Expr: "@daily", Kind: "report", Args: []byte("{}")}) // as another process does
	f.must(err)
	f.want(f.get("/schedules"), http.StatusOK, `data-row="reports nightly"`, `data-row="new elsewhere"`)
	f.must(f.redis.SAdd(t.Context(), f.redis.Prefix()+":{queues}", "no queue").Err())
	f.want(f.get("/schedules"), http.StatusOK, `data-row="new elsewhere"`)
	f.who = principal(t, "view:other")
	if a := f.get("/schedules"); strings.Contains(a.body, "data-row") {
		t.Errorf("a schedule is shown to who may not see its queue: %s", a.body)
	}
}

// spoilSchedules makes the schedules of a queue unreadable, by a key of another type.
func (f *fixture) spoilSchedules(name string) {
	f.Helper()
	f.must(f.redis.Set(f.Context(), f.redis.Prefix()+":{"+name+":0}:schedules", "x", 0).Err())
}

func TestUnreadableSchedulesDoNotHideThoseOfOtherQueues(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	f.add("damaged", "a", `{}`, queue.Options{})
	f.spoilSchedules("damaged")
	const warning = "queue damaged: list schedules: WRONGTYPE"
	a := f.get("/schedules")
	f.want(a, http.StatusOK, `class="flash warn"`, warning)
	if strings.Contains(a.body, "There is no schedule") {
		t.Errorf("the page claims that there is no schedule: %s", a.body)
	}
	_, err := delayed.AddSchedule(t.Context(), f.queues, queue.CronSchedule{Name: "nightly", Queue: "reports", Expr: "@daily", Kind: "report", Args: []byte("{}")})
	f.must(err)
	f.want(f.get("/schedules"), http.StatusOK, `class="flash warn"`, warning, `data-row="reports nightly"`)
	f.who = principal(t, "view:reports")
	if a := f.get("/schedules"); strings.Contains(a.body, "damaged") || !strings.Contains(a.body, `data-row="reports nightly"`) {
		t.Errorf("a principal who may see queue reports alone gets %s", a.body)
	}
}

func TestOverviewNamesTheQueueWhoseSchedulesCannotBeRead(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	f.add("damaged", "a", `{}`, queue.Options{})
	f.spoilSchedules("damaged")
	const trouble = "has schedules that can&#39;t be read: queue damaged: list schedules: WRONGTYPE"
	for path, texts := range map[string][]string{
		"/":               {trouble, `data-row="schedules Queue damaged"`, `href="/schedules">Show schedules</a>`, "Not all schedules can be read", `data-v="mark.schedules">1<`},
		"/queues/damaged": {trouble},
	} {
		for _, text := range texts {
			f.awaitPage(path, func(body string) bool { return strings.Contains(body, text) })
		}
	}
}

func TestLastFiringsOfASchedule(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.Open(t, "embedded:"))
	at := time.Date(2026, 11, 20, 9, 0, 30, 0, time.UTC)
	f.must(f.redis.SetEmbeddedTime(at))
	f.add("reports", "a", `{}`, queue.Options{})
	_, err := delayed.AddSchedule(t.Context(), f.queues, queue.CronSchedule{Name: "hourly", Queue: "reports", Expr: "@hourly", Kind: "report", Args: []byte("{}"), CatchUp: queue.CatchUpLast, Options: queue.Options{Unique: queue.Unique{Key: "one"}}})
	f.must(err)
	pool, err := f.queues.ForPool("reports")
	f.must(err)
	fire := func(late time.Duration) {
		t.Helper()
		at = at.Truncate(time.Hour).Add(time.Hour)
		f.must(f.redis.SetEmbeddedTime(at.Add(late)))
		due, err := pool.DueSchedules(t.Context(), "w", 30*time.Second, nil)
		f.must(err)
		if len(due.Due) != 1 {
			t.Fatalf("%d schedules are due", len(due.Due))
		}
		_, err = pool.FireSchedule(t.Context(), &due.Due[0], []time.Time{at}, at.Add(time.Hour))
		f.must(err)
	}
	remove := func() {
		t.Helper()
		all, err := pool.Schedules(t.Context())
		f.must(err)
		f.must(f.queues.Delete(t.Context(), all[0].Last[0].JobID))
	}
	fire(2 * time.Second)
	remove()
	fire(5 * time.Minute)
	fire(2 * time.Second) // the job of the last one holds the key
	f.want(f.get("/schedules?queue=reports"), http.StatusOK, "the latest at the end: on time, late, no job added", "<title>2026-11-20 11:05:00 UTC · late</title>")
}
