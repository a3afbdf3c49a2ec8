package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"skidway/cmd/skidway/internal/cli"
	"skidway/internal/redistest"
	"skidway/queue"
)

// schedule returns a schedule as "cron list" prints it.
func (d *fixture) schedule(name string) (found scheduleJSON) {
	d.Helper()
	var list []scheduleJSON
	if err := json.Unmarshal([]byte(d.must("cron", "list", "-o", "json").stdout), &list); err != nil {
		d.Fatal(err)
	}
	for _, s := range list {
		if s.Name == name {
			return s
		}
	}
	d.Fatalf("there is no schedule %s among %+v", name, list)
	return found
}

// due returns the time that a job was added for, and the schedule that has added it.
func (d *fixture) due(id string) (at time.Time, schedule string) {
	d.Helper()
	job, err := d.client.Get(d.Context(), id)
	if err != nil {
		d.Fatal(err)
	}
	at, err = time.Parse(time.RFC3339, job.Headers[queue.HeaderDue])
	if err != nil {
		d.Fatal(err)
	}
	return at, job.Headers[queue.HeaderSchedule]
}

// never fires once a year, next January at the earliest.
const never = "0 0 1 1 *"

func TestChangedScheduleTakesEffectAtOnceInRunningWorkers(t *testing.T) {
	t.Parallel()
	hook := newHookServer(t)
	c := newProcesses(t, fmt.Sprintf(beatConfig, 1, never, hook.URL))
	beats := c.eventLog("beats")
	c.worker()
	c.worker()
	args := fmt.Sprintf(`{"url":%q}`, hook.URL)
	add := func(name, expr string) {
		c.must("cron", "add", name, expr, "beats", "http.request", args, "--retain", "1h")
	}

	add("beat", "@every 1s")
	changed := time.Now()
	if due, _ := c.due(beats.until(queue.EventEnqueued)); due.After(changed.Add(time.Second)) {
		t.Errorf("the first job is for %s, though the schedule was changed by %s to fire every second", due, changed)
	}

	// noneAfter fails the test if "beat" adds a job for a time after changed, until
	// "other" has added two: that is long enough for "beat" to fire again.
	noneAfter := func(changed time.Time) {
		for others := 0; others < 2; {
			switch due, schedule := c.due(beats.until(queue.EventEnqueued)); {
			case schedule == "other":
				others++
			case due.After(changed):
				t.Errorf("there is a job for %s, though the schedule was changed or removed by %s", due, changed)
			}
		}
	}
	add("beat", never)
	add("other", "@every 1s")
	noneAfter(time.Now())

	add("beat", "@every 1s")
	c.must("cron", "remove", "beat")
	noneAfter(time.Now())
	c.stop()
}

func TestReloadedConfigurationChangesSchedulesAtOnce(t *testing.T) {
	t.Parallel()
	hook := newHookServer(t)
	c := newProcesses(t, fmt.Sprintf(beatConfig, 1, never, hook.URL))
	beats := c.eventLog("beats")
	one, two := c.worker(), c.worker()
	c.configure(fmt.Sprintf(beatConfig, 2, "@every 1s", hook.URL))
	one.Signal(syscall.SIGHUP)
	one.Await("new configuration")
	c.kill(one)
	beats.until(queue.EventSucceeded) // by the other one, which has the old configuration
	two.Signal(syscall.SIGHUP)
	two.Await("new configuration")
	if s := c.schedule("beat"); s.Expr != "@every 1s" || s.Revision != 2 {
		t.Errorf("%+v", s)
	}
	c.stop()
}

func TestRemovedScheduleReturnsOnlyFromAConfiguration(t *testing.T) {
	t.Parallel()
	c := newProcesses(t, fmt.Sprintf(beatConfig, 1, never, "http://example.com"))
	p := c.worker()
	reload := func() {
		p.Signal(syscall.SIGHUP)
		p.Await("new configuration")
	}
	there := func(want bool) {
		t.Helper()
		if o := c.must("cron", "list", "-o", "csv"); strings.Contains(o.stdout, "beat,") != want {
			t.Errorf("want it to be there: %t, but there is\n%s", want, o.stdout)
		}
	}
	c.must("cron", "remove", "beat")
	there(false)
	reload()
	there(true)
	c.configure("queues: [{name: beats}]")
	reload()
	there(true) // another worker may have it
	c.must("cron", "remove", "beat")
	reload()
	there(false)
	c.stop()
}

func TestCronRunFiresNowAndLeavesTheTimes(t *testing.T) {
	t.Parallel()
	hook := newHookServer(t)
	c := newProcesses(t, fmt.Sprintf(beatConfig, 1, never, hook.URL))
	c.worker()
	before := c.schedule("beat")
	id := c.must("cron", "run", "beat").one(t)
	job, err := c.client.Wait(t.Context(), id)
	if err != nil || job.Outcome != queue.Succeeded || hook.requests(id) != 1 || job.Headers[queue.HeaderSchedule] != "beat" {
		t.Errorf("%+v, %v", job, err)
	}
	after := c.schedule("beat")
	if len(after.Last) != 1 || after.Last[0].Job != id || !after.Last[0].Manual || after.Next != before.Next {
		t.Errorf("before %+v, after %+v", before, after)
	}
	c.ends(c.run("cron", "run", "none"), cli.ExitFailed, "schedule none", "no such schedule", "cron list")
	c.stop()
}

func TestCronPauseAndResume(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.must("cron", "add", "beat", "@hourly", "beats", "k")
	if o := d.must("cron", "pause", "beat"); !strings.Contains(o.stderr, "paused schedule beat of queue beats") {
		t.Errorf("pause says %q", o.stderr)
	}
	if o := d.must("cron", "list", "-o", "json"); !strings.Contains(o.stdout, `"paused": true`) {
		t.Errorf("it is listed as %q", o.stdout)
	}
	d.must("cron", "run", "beat")
	d.must("cron", "resume", "beat")
	if next := d.schedule("beat").Next; next == "" {
		t.Error("it never fires")
	}
	d.ends(d.run("cron", "pause", "none"), cli.ExitFailed, "schedule none", "no such schedule")
}

func TestHigherRevisionOfAScheduleWins(t *testing.T) {
	t.Parallel()
	c := newProcesses(t, fmt.Sprintf(beatConfig, 1, "@every 1h", "http://old.example.com"))
	old := c.worker()
	c.configure(fmt.Sprintf(beatConfig, 2, "@every 2h", "http://new.example.com"))
	c.worker()
	isNew := func() {
		t.Helper()
		if s := c.schedule("beat"); s.Expr != "@every 2h" || s.Revision != 2 {
			t.Errorf("%+v", s)
		}
	}
	isNew()
	c.kill(old)

	c.configure(fmt.Sprintf(beatConfig, 1, "@every 1h", "http://old.example.com"))
	p := c.watched("worker", "--config", c.config, "--redis", c.url)
	p.Await("a newer configuration has changed a schedule: its values stay")
	p.Await("worker is ready")
	c.terminate(p)
	isNew()
	c.stop()
}

func TestEqualRevisionsWithOtherContentAreRefused(t *testing.T) {
	t.Parallel()
	right := fmt.Sprintf(beatConfig, 2, "@every 1h", "http://one.example.com")
	c := newProcesses(t, right)
	p := c.worker()
	for name, other := range map[string]string{
		"other time": fmt.Sprintf(beatConfig, 2, "@every 2h", "http://one.example.com"),
		"other args": fmt.Sprintf(beatConfig, 2, "@every 1h", "http://two.example.com"),
	} {
		c.configure(other)
		o := c.run("worker", "--config", c.config)
		c.ends(o, cli.ExitUsage, "skidway.yaml:7: ", "schedule beat is refused: revision 2 is there with other content; raise the revision")
		p.Signal(syscall.SIGHUP)
		p.Await("the new configuration can't be used; the old one stays")
		if s := c.schedule("beat"); s.Expr != "@every 1h" || !strings.Contains(fmt.Sprint(s.Args), "one.example.com") {
			t.Errorf("%s: %+v", name, s)
		}
	}
	c.configure(right)
	c.worker() // the same content is no conflict
	c.stop()
}

func TestWrongSchedulesEndWithTwo(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	for name, c := range map[string]struct {
		args []string
		part string
	}{
		"expression":   {[]string{"a", "61 * * * *", "q", "k"}, "61"},
		"no such day":  {[]string{"a", "0 0 31 2 *", "q", "k"}, "never fires"},
		"part seconds": {[]string{"a", "@every 1500ms", "q", "k"}, "whole seconds"},
		"zone":         {[]string{"a", "@daily", "q", "k", "--tz", "Mars/Base"}, "Mars/Base"},
		"zone Local":   {[]string{"a", "@daily", "q", "k", "--tz", "Local"}, "Local"},
		"name":         {[]string{"a b", "@daily", "q", "k"}, "a b"},
		"queue":        {[]string{"a", "@daily", "a b", "k"}, "a b"},
		"no queue":     {[]string{"a", "@daily", "", "k"}, "missing QUEUE"},
		"delay":        {[]string{"a", "@daily", "q", "k", "--in", "1h"}, "delay"},
		"catch-up":     {[]string{"a", "@daily", "q", "k", "--catch-up", "some"}, "some"},
		"args":         {[]string{"a", "@daily", "q", "http.request", `{"url":7}`}, "url"},
		"no JSON":      {[]string{"a", "@daily", "q", "k", "{"}, "JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			d.ends(d.run(append([]string{"cron", "add"}, c.args...)...), cli.ExitUsage, c.part)
		})
	}
	if o := d.must("cron", "list", "-o", "csv"); strings.Count(o.stdout, "\n") != 1 {
		t.Errorf("a wrong schedule was added:\n%s", o.stdout)
	}
}

func TestCronListReportsEachQueueThatNoWorkerServes(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.pool("w", 1)
	d.must("enqueue", "mail", "fine", "--wait") // from here on the queue knows the worker
	for schedule, queue := range map[string]string{"a": "mail", "b": "reports", "c": "reports"} {
		d.must("cron", "add", schedule, never, queue, "fine")
	}
	const want = "no worker serves queue reports now: its schedules fire only while one does\n"
	if o := d.must("cron", "list", "-o", "csv"); o.stderr != want || strings.Count(o.stdout, "\n") != 4 {
		t.Errorf("%s%s", o.stdout, o.stderr)
	}
}

func TestCronListNamesAQueueWhoseSchedulesCannotBeRead(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	for _, queue := range []string{"mail", "reports"} {
		d.must("cron", "add", "of-"+queue, never, queue, "fine")
	}
	d.must("enqueue", "damaged", "fine")
	if err := redistest.Open(t, d.url).Set(t.Context(), "skidway:{damaged:0}:schedules", "x", 0).Err(); err != nil {
		t.Fatal(err)
	}
	o := d.run("cron", "list", "-o", "csv")
	d.ends(o, cli.ExitFailed, "skidway: queue damaged: list schedules: WRONGTYPE")
	hasLine(t, o.stderr, "skidway: the schedules of 1 queue can't be read, the others are listed")
	if strings.Count(o.stdout, "\n") != 3 || strings.Index(o.stdout, "of-mail,") > strings.Index(o.stdout, "of-reports,") {
		t.Errorf("it prints %q", o.stdout)
	}
	d.ends(d.run("cron", "list", "--queue", "damaged"), cli.ExitFailed, "queue damaged: list schedules: WRONGTYPE")
	d.must("cron", "list", "--queue", "mail")
	if o := d.must("cron", "pause", "of-mail"); !strings.Contains(o.stderr, "queue damaged: list schedules") || !strings.Contains(o.stderr, "paused schedule of-mail of queue mail") {
		t.Errorf("pause says %q", o.stderr)
	}
}
