package main

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dustin/go-humanize"

	"skidway/cmd/skidway/internal/cli"
	"skidway/internal/processtest"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/ops"
	"skidway/queue"
)

// An operationJSON is an operation as -o json prints it.
type operationJSON struct {
	ID, Do, Status, By string
	Changed, Count     int
	Rate, Left         int
	AtLeast            bool `json:"at_least"`
	Began, Ended       time.Time
}

// operations returns the operations of the list.
func (d *fixture) operations() (all []operationJSON) {
	d.Helper()
	if err := json.Unmarshal([]byte(d.must("operations", "list", "-o", "json").stdout), &all); err != nil {
		d.Fatal(err)
	}
	return all
}

// operation returns the only operation.
func (d *fixture) operation() operationJSON {
	d.Helper()
	all := d.operations()
	if len(all) > 1 {
		d.Fatalf("%+v", all)
	}
	return append(all, operationJSON{})[0]
}

// awaitRunning waits until an operation that runs has changed a job. It starts no process for that: on a busy
// machine the operation would be done first.
func (d *fixture) awaitRunning() queue.Operation {
	d.Helper()
	client, err := ops.NewClient(d.client, nil)
	put(d, err)
	for deadline := time.Now().Add(waitLimit); time.Now().Before(deadline); {
		all, err := client.Operations().List(d.Context())
		put(d, err)
		for _, op := range all {
			if op.Status == "running" && op.Changed > 0 {
				return op
			}
		}
		put(d, rdb.Sleep(d.Context(), time.Millisecond))
	}
	d.Fatal("no operation changes a job")
	return queue.Operation{}
}

func TestKilledOperationIsShownAsInterruptedAndContinued(t *testing.T) {
	t.Parallel()
	t.Run("by a filter", func(t *testing.T) {
		t.Parallel()
		c := newKilledCase(t)
		c.interruptAndContinue(0, c.jobs, "delayed", "--queue", "mail", "--state", "delayed", "--match", `kind == "a"`)
	})
	t.Run("by ids", func(t *testing.T) {
		t.Parallel()
		c := newKilledCase(t)
		dead := c.addDead("a", "refused", queue.Options{})
		c.interruptAndContinue(1, c.jobs+1, "", slices.Insert(slices.Clone(c.ids), 60, dead)...)
		if state := c.must("jobs", "show", dead, "-o", "csv").stdout; !strings.Contains(state, "dead") {
			t.Errorf("the named job that is dead became %s", state)
		}
	})
}

// A killedCase is an operation whose process is killed.
type killedCase struct {
	*fixture
	jobs int
	ids  []string // of the delayed jobs that it is to cancel
}

func newKilledCase(t *testing.T) *killedCase {
	c := &killedCase{newFixture(t), 120, nil}
	for range c.jobs {
		c.ids = append(c.ids, c.add("a", queue.Options{Delay: time.Hour}))
	}
	return c
}

// interruptAndContinue cancels the jobs that args select, which are count in a state, by a process that is
// killed, and another one. It leaves some of them alone.
func (c *killedCase) interruptAndContinue(left, count int, state string, args ...string) {
	c.Helper()
	p := processtest.Start(c, command(c, c.TempDir(), append([]string{"jobs", "cancel", "--rate", "20", "--yes", "--redis", c.url}, args...)...))
	c.awaitRunning()
	p.Kill()
	until := func(at int) {
		c.Helper()
		put(c, c.client.DB().Redis().HSet(c.Context(), c.client.DB().Prefix()+":{mail:0}:operation", "until", at).Err())
	}
	until(math.MaxInt32 * 1000) // the machine may be busy for the next 15 s
	op := c.operation()
	if op.Status != "running" || op.Changed >= c.jobs || op.Count != count || op.Do != "cancel" || !strings.Contains(op.By, "@") {
		c.Errorf("%+v", op)
	}
	c.ends(c.run("jobs", "cancel", "--queue", "mail", "--state", "delayed", "--yes"), cli.ExitFailed, op.ID+" of the queue is running")
	c.add("a", queue.Options{Delay: time.Hour}) // left alone
	c.ends(c.run("operations", "continue", op.ID), cli.ExitFailed, "is running")
	until(1)
	shown := c.must("operations", "show", op.ID).stdout
	hasLine(c, shown, "status", "interrupted at ", "skidway operations continue "+op.ID)
	if state != "" {
		hasLine(c, shown, "match", `kind == "a"`)
	}
	hasLine(c, c.must("operations", "stop", op.ID).stdout, op.ID, "stopped: ", " changed")
	if got := c.must("operations", "continue", op.ID).one(c); got != strings.Join(strings.Fields(fmt.Sprint(c.jobs, " ", state, " jobs changed")), " ") {
		c.Errorf("%q", got)
	}
	// By a filter, the job that came later is left alone as well if the last step has read it.
	if op := c.operation(); op.Status != "done" || op.Changed != c.jobs || op.Left < left || op.Left > 1 {
		c.Errorf("%+v", op)
	}
	if total, _, err := c.queue().Counters(c.Context(), 0); err != nil || total.Cancelled != int64(c.jobs) {
		c.Errorf("%+v, %v", total, err)
	}
	if got := c.kinds(queue.Delayed); got != "a" {
		c.Errorf("delayed are %q", got)
	}
	c.ends(c.run("operations", "continue", op.ID), cli.ExitFailed, op.ID, "the operation is done")
}

func TestMoreThanAHundredIDsAreChangedAsOperations(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	s := d.serve([]string{"view:*", "operate:*"})
	token := write(t, t.TempDir(), "token", s.token)
	var ids []string
	for range 60 {
		other, err := d.client.Enqueue(t.Context(), queue.Raw("a", nil), &queue.Options{Queue: "other"})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, d.add("a", queue.Options{Delay: time.Hour}), other)
	}
	for range 2 { // jobs that have the priority are done
		if shown := d.must(append([]string{"jobs", "priority", "--to", "high"}, ids...)...).stdout; shown != "120 jobs changed\n" {
			t.Errorf("it prints %q", shown)
		}
	}
	all := d.operations()
	if len(all) != 4 || all[0].Changed != 60 || all[0].Status != "done" || all[0].Do != "priority" || !strings.Contains(all[0].By, "@") {
		t.Errorf("the operations are %+v", all)
	}
	for _, name := range []string{"mail", "other"} {
		var audit []struct {
			Action, Outcome string
			Count           int
		}
		if err := json.Unmarshal([]byte(d.must("audit", "--queue", name, "-o", "json").stdout), &audit); err != nil {
			t.Fatal(err)
		}
		if len(audit) != 4 || audit[3].Action != "priority" || audit[3].Outcome != "done" || audit[2].Count != 60 || audit[3].Count != 60 {
			t.Errorf("the audit of queue %s is %+v", name, audit)
		}
	}
	d.ends(d.run(append([]string{"jobs", "run-now"}, ids...)...), cli.ExitFailed, "not changed: 60 of 120 jobs; the others are done") // those of the other queue wait
	d.ends(d.run(append([]string{"jobs", "cancel", "none"}, ids...)...), cli.ExitUsage, `"none" is no id of a job`)
	d.ends(d.run(append([]string{"jobs", "cancel", "-"}, ids...)...), cli.ExitUsage, "give either IDs or -")
	if left := d.must("jobs", "list", "other", "--state", "waiting", "--limit", "100", "-o", "json").stdout; strings.Count(left, `"id"`) != 60 {
		t.Errorf("left are %s", left)
	}
	d.ends(d.run(append([]string{"jobs", "cancel", "mail:none"}, ids...)...), cli.ExitUsage, `"mail:none" is no id of a job`)
	gone := ids[0][:len(ids[0])-4] + "0000"
	d.ends(d.run(append([]string{"jobs", "priority", "--to", "low", gone}, ids...)...), cli.ExitFailed, "not changed: 1 of 121 jobs; the others are done")
	ids = append(ids, ids[:3]...)
	o := inProcess(t, append([]string{"jobs", "cancel", "--server", s.url, "--token", "@" + token}, ids...))
	if o.code != cli.ExitDone || o.stdout != "120 jobs cancelled\n" {
		t.Errorf("exit code %d: %s%s", o.code, o.stdout, o.stderr)
	}
}

func TestJobsOfOperationsThatDidNotBeginAreNamed(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	client, err := ops.NewClient(d.client, nil)
	put(t, err)
	for _, name := range []string{"busy", "free"} {
		_, err := d.client.Enqueue(t.Context(), queue.Raw("a", nil), &queue.Options{Queue: name})
		put(t, err)
	}
	asked, err := client.Operations().Ask(t.Context(), ops.Change{Queue: "busy", Do: "retry", State: queue.Dead})
	put(t, err)
	_, err = client.Operations().Begin(t.Context(), asked)
	put(t, err)
	var ids []string
	for _, name := range []string{"free", "busy", "missing"} {
		for range 3 {
			id := fmt.Sprintf("%s:0:n1795299599363-%d", name, len(ids))
			if name != "missing" {
				id, err = d.client.Enqueue(t.Context(), queue.Raw("a", nil), &queue.Options{Queue: name})
				put(t, err)
			}
			ids = append(ids, id)
		}
	}
	o := d.run(append([]string{"jobs", "cancel", "--rate", "1000"}, ids...)...)
	d.ends(o, cli.ExitFailed, "operation busy:", "is running", "3 jobs of other operations were left alone: give their IDs again")
	d.ends(o, cli.ExitFailed, "there is no queue missing")
	if o.stdout != "3 jobs cancelled\n" {
		t.Errorf("it prints %q", o.stdout)
	}
	d.ends(d.run(append([]string{"jobs", "cancel", "--rate", "1000"}, ids[6:]...)...), cli.ExitFailed, "not changed: 3 jobs")
}

func TestRateHoldsForJobsOfSeveralQueues(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	s := d.serve([]string{"view:*", "operate:*"})
	var ids []string
	for i := range 20 {
		id, err := d.client.Enqueue(t.Context(), queue.Raw("a", nil), &queue.Options{Queue: fmt.Sprint("q", i%2), Delay: time.Hour})
		put(t, err)
		ids = append(ids, id)
	}
	want := 0
	for _, place := range [][]string{{"--redis", d.url}, {"--server", s.url, "--token", "@" + write(t, t.TempDir(), "token", s.token)}} {
		o := skidway(t, "", slices.Concat([]string{"jobs", "priority", "--to", []string{"high", "low"}[want/2], "--rate", "20"}, place, ids)...)
		if o.code != cli.ExitDone || o.stdout != "20 jobs changed\n" {
			t.Errorf("exit code %d: %q %s", o.code, o.stdout, o.stderr)
		}
		all := d.operations() // the latest first
		if want += 2; len(all) != want {
			t.Fatalf("the operations are %+v", all)
		}
		for _, op := range all[:2] {
			if op.Rate != 20 || op.Changed != 10 || op.Ended.Sub(op.Began) < 450*time.Millisecond {
				t.Errorf("%+v", op)
			}
		}
		if all[0].Began.Before(all[1].Ended) {
			t.Errorf("the operations ran at the same time, with twice the rate: %+v", all[:2])
		}
	}
	d.ends(d.run("jobs", "cancel", "q0:none", "--rate", "5"), cli.ExitUsage, `"q0:none" is no id of a job`)
	if got := d.must("jobs", "cancel", ids[0], "--rate", "5").one(t); got != "1 job cancelled" {
		t.Errorf("%q", got)
	}
}

func TestStoppedDeletionGoesOnInAFullRedis(t *testing.T) {
	t.Parallel()
	d := newFixtureAt(t, redistest.Start(t, "--maxmemory-policy", "noeviction").URL(0))
	for range 8 { // at one a second, so that a busy machine finds them running
		d.add("a", queue.Options{Delay: time.Hour})
		d.add("b", queue.Options{Delay: 2 * time.Hour})
	}
	stopped := func(verb, match string) (id string) {
		p := processtest.Start(t, command(t, t.TempDir(), "jobs", verb, "--queue", "mail", "--state", "delayed", "--match", match, "--rate", "1", "--yes", "--redis", d.url))
		id = d.awaitRunning().ID
		p.Pause() // it would be done before a busy machine has stopped it
		d.must("operations", "stop", id)
		p.Signal(syscall.SIGCONT)
		p.ExitCode()
		return id
	}
	deletion, other := stopped("delete", `kind == "a"`), stopped("run-now", `kind == "b"`)
	if err := d.client.DB().Redis().ConfigSet(t.Context(), "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
	o := d.must("operations", "continue", deletion)
	hasLine(t, o.stderr, "the audit has no entry")
	if got := o.one(t); got != "8 delayed jobs changed" {
		t.Errorf("%q", got)
	}
	d.ends(d.run("operations", "continue", other), cli.ExitFailed, "maxmemory")
}

func TestInterruptStopsAnOperation(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	for range 100 {
		d.add("a", queue.Options{Delay: time.Hour})
	}
	p := processtest.Start(t, command(t, t.TempDir(), "jobs", "run-now", "--queue", "mail", "--rate", "10", "--yes", "--redis", d.url))
	d.awaitRunning()
	p.Signal(os.Interrupt)
	line := p.Await("was stopped with", "skidway operations continue")
	if code := p.ExitCode(); code != cli.ExitFailed {
		t.Errorf("exit code %d: %s", code, line)
	}
	if op := d.operation(); op.Status != "stopped" || op.Changed == 100 {
		t.Errorf("%+v", op)
	}
}

// Jobs that are named by their ids are changed by an operation for each queue. The first one is stopped, and
// the second does not begin.
func TestInterruptNamesTheJobsOfOtherOperations(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	var ids []string
	for i := range 40 {
		id, err := d.client.Enqueue(t.Context(), queue.Raw("a", nil), &queue.Options{Queue: []string{"mail", "other"}[i/20], Delay: time.Hour})
		put(t, err)
		ids = append(ids, id)
	}
	p := processtest.Start(t, command(t, t.TempDir(), slices.Concat([]string{"jobs", "run-now"}, ids, []string{"--rate", "5", "--redis", d.url})...))
	d.awaitRunning()
	p.Signal(os.Interrupt)
	line := p.Await("was stopped with", "20 jobs of other operations were left alone")
	if code := p.ExitCode(); code != cli.ExitFailed {
		t.Errorf("exit code %d: %s", code, line)
	}
	if op := d.operation(); op.Status != "stopped" || op.Changed >= 20 {
		t.Errorf("%+v", op)
	}
}

func TestPriorityOfJobsIsChanged(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	one := d.add("a", queue.Options{})
	d.add("b", queue.Options{})
	if got := d.must("jobs", "priority", one, "--to", "high").one(t); got != one+" has priority high" {
		t.Errorf("%q", got)
	}
	if got := d.must("jobs", "priority", "--queue", "mail", "--state", "waiting", "--match", `kind == "b"`, "--to", "low", "--yes").one(t); got != "1 waiting job changed" {
		t.Errorf("%q", got)
	}
	d.ends(d.run("jobs", "priority", "--queue", "mail", "--state", "waiting", "--to", "low"), cli.ExitUsage, "Give priority low to 2 waiting jobs of queue mail?")
	d.ends(d.run("jobs", "priority", one), cli.ExitUsage, `"to" not set`)
	d.ends(d.run("jobs", "retry", "--queue", "mail", "--match", `kind == "a") || (kind != ""`), cli.ExitUsage, "filter, character")
	d.ends(d.run("operations", "show", "nonsense"), cli.ExitUsage, "is no id of an operation")
}

// bury adds jobs of two kinds that died of two errors: a quarter are of kind email.send and died
// of a timeout. It returns a time by the clock of Redis that is after the last death, and has passed.
func (d *fixture) bury(jobs int) string {
	d.Helper()
	lease, err := d.queue().NewLease("worker-"+rand.Text(), time.Minute)
	put(d, err)
	const chunk = 500
	for first := 0; first < jobs; first += chunk {
		news := make([]queue.NewJob, min(chunk, jobs-first))
		for i := range news {
			news[i] = queue.NewJob{Args: queue.Raw([]string{"email.send", "sms.send"}[i%2], []byte(`{}`)), Options: queue.Options{Queue: "mail"}}
		}
		for _, result := range d.client.EnqueueMany(d.Context(), news) {
			put(d, result.Err)
		}
		fetched, err := lease.Fetch(d.Context(), queue.FetchLimits{Jobs: chunk, Bytes: 1 << 20})
		put(d, err)
		var ends []queue.Completion
		for i, job := range fetched.Jobs {
			ends = append(ends, queue.Completion{Job: job, Disposition: queue.AttemptDead, Reason: []string{"dial tcp 10.0.0.1:25: i/o timeout", "550 no such user"}[i/2%2]})
		}
		_, err = lease.Finish(d.Context(), ends)
		put(d, err)
	}
	_, err = lease.Close(d.Context())
	put(d, err)
	now, err := d.client.DB().Redis().Time(d.Context()).Result()
	put(d, err)
	for end := now.Truncate(time.Millisecond).Add(time.Millisecond); now.Before(end); now = d.client.DB().Redis().Time(d.Context()).Val() {
	}
	return now.Truncate(time.Millisecond).UTC().Format(time.RFC3339Nano)
}

// TestJobsOfANightThatTimedOutAreRetriedAtARate retries the jobs of one of three nights by the
// command line, and those of another one by HTTP. SKIDWAY_DEAD_JOBS is the number of dead jobs
// (default 3,000), of which one in twelve matches.
func TestJobsOfANightThatTimedOutAreRetriedAtARate(t *testing.T) {
	t.Parallel()
	dead, err := strconv.Atoi(cmp.Or(os.Getenv("SKIDWAY_DEAD_JOBS"), "3000"))
	put(t, err)
	d := newFixture(t)
	put(t, d.queue().SetRetention(t.Context(), queue.Retention{Dead: queue.RetentionLimit{Jobs: dead, Bytes: 1 << 40}}))
	nights := []string{d.bury(0), d.bury(dead / 3), d.bury(dead / 3), d.bury(dead / 3)} // their ends
	matching := func(i int) string {
		return fmt.Sprintf(`kind == "email.send" && error contains "timeout" && died >= %q && died < %q`, nights[i], nights[i+1])
	}
	want := dead / 12
	d.retryByCommand(matching(1), want)
	d.retryByHTTP(matching(2), want)
	depth, err := d.queue().Depth(t.Context())
	put(t, err)
	if depth.Waiting != 2*want || depth.Dead != dead-2*want {
		t.Errorf("%+v", depth)
	}
}

// retryByCommand finds, counts and retries the dead jobs that match, with the progress and the audit
// of the command line.
func (d *fixture) retryByCommand(match string, want int) {
	d.Helper()
	var list struct{ Jobs []jobJSON }
	put(d, json.Unmarshal([]byte(d.must("jobs", "list", "mail", "--state", "dead", "--match", match, "--limit", "5", "-o", "json").stdout), &list))
	if len(list.Jobs) != 5 || list.Jobs[0].Kind != "email.send" {
		d.Errorf("%+v", list)
	}
	retry := []string{"jobs", "retry", "--queue", "mail", "--state", "dead", "--match", match, "--rate", strconv.Itoa(want / 2)}
	question := d.run(retry...)
	if !strings.Contains(question.stderr, "Retry at least ") && !strings.Contains(question.stderr, "Retry dead jobs (none found yet") { // it counts for at most 2 s
		d.ends(question, cli.ExitUsage, "Retry "+humanize.Comma(int64(want))+" dead jobs of queue mail that match?")
	}
	p := processtest.Start(d, command(d, d.TempDir(), append(retry, "--yes", "--redis", d.url)...))
	if op := d.awaitRunning(); op.Changed >= want || op.Count > want || op.Count < want && !op.AtLeast {
		d.Errorf("progress: %+v", op)
	}
	if code := p.ExitCode(); code != cli.ExitDone {
		d.Errorf("exit code %d: %s", code, p.Output())
	}
	op := d.operation()
	if op.Status != "done" || op.Changed != want || op.Ended.Sub(op.Began) < 19*time.Second/10 {
		d.Errorf("%+v", op)
	}
	audit := d.must("audit", "-o", "csv").stdout
	for _, end := range []string{strconv.Itoa(op.Count) + ",", strconv.Itoa(want) + ",done"} {
		hasLine(d, audit, cli.Caller()+",false,command line,retry,mail,"+end+",", fmt.Sprintf("--rate=%d --state=dead --yes", want/2))
	}
}

// retryByHTTP does the same by requests.
func (d *fixture) retryByHTTP(match string, want int) {
	d.Helper()
	s := d.serve([]string{"view:*", "operate:mail", "admin:*"})
	var found []jobJSON
	for cursor, more := "", true; more && len(found) < 5; { // a page that took long has fewer
		var page struct {
			Items []jobJSON
			Next  string
		}
		s.into(&page, "GET", "/queues/mail/jobs?"+url.Values{"state": {"dead"}, "match": {match}, "limit": {"5"}, "cursor": {cursor}}.Encode(), "", 200)
		found = append(found, page.Items...)
		cursor, more = page.Next, page.Next != ""
	}
	if len(found) < 5 || found[0].Kind != "email.send" {
		d.Errorf("%+v", found)
	}
	retry := fmt.Sprintf(`{"action":"retry","state":"dead","match":%q,"rate":%d,`, match, want)
	var asked struct {
		Count   int
		AtLeast bool      `json:"at_least"`
		AsOf    time.Time `json:"as_of"`
	}
	if s.into(&asked, "POST", "/queues/mail/operations", retry+`"dry_run":true}`, 200); asked.Count > want || asked.Count < want && !asked.AtLeast {
		d.Errorf("%+v", asked)
	}
	var op operationJSON
	s.into(&op, "POST", "/queues/mail/operations", retry+fmt.Sprintf(`"count":%d,"at_least":%t,"as_of":%q}`, asked.Count, asked.AtLeast, asked.AsOf.Format(time.RFC3339Nano)), 202)
	var seen []int
	var longest time.Duration // between two looks: on a busy machine the operation may end in between
	for looked := time.Now(); op.Status == "running"; {
		if s.into(&op, "GET", "/operations/"+op.ID, "", 200); op.Status == "running" && op.Changed > 0 {
			seen = append(seen, op.Changed)
		}
		longest, looked = max(longest, time.Since(looked)), time.Now()
	}
	if len(seen) == 0 && longest < 300*time.Millisecond || len(seen) > 0 && seen[0] >= want || op.Status != "done" || op.Changed != want || !strings.HasPrefix(op.By, "token ") || op.Ended.Sub(op.Began) < 9*time.Second/10 {
		d.Errorf("progress %v: %+v", seen, op)
	}
	var audit struct {
		Items []struct {
			Who, Action, Outcome, Change string
			Proven                       bool
			Count                        int
		}
	}
	for deadline := time.Now().Add(waitLimit); (len(audit.Items) == 0 || audit.Items[0].Outcome == "") && time.Now().Before(deadline); {
		s.into(&audit, "GET", "/audit?limit=2", "", 200) // the last entry comes after the last step
	}
	if rows := audit.Items; len(rows) != 2 || rows[0].Who != op.By || !rows[0].Proven || rows[0].Action != "retry" || rows[0].Count != want || rows[0].Outcome != "done" || rows[1].Change != rows[0].Change {
		d.Errorf("%+v", rows)
	}
}
