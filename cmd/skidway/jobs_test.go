package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"skidway/cmd/skidway/internal/cli"
	"skidway/queue"
)

// setLog stores the log of a job, in the format of [queue.LogHandler].
func (d *fixture) setLog(id string, lines ...string) {
	d.Helper()
	db := d.client.DB()
	key, local := db.Prefix()+":{mail:0}:logs", strings.TrimPrefix(id, "mail:0:")
	if err := db.Redis().HSet(d.Context(), key, local, strings.Join(lines, "\n")+"\n").Err(); err != nil {
		d.Fatal(err)
	}
}

// addDead adds a job and makes it dead.
func (d *fixture) addDead(kind, reason string, o queue.Options) string {
	d.Helper()
	o.Priority = queue.High
	id := d.add(kind, o)
	lease, err := d.queue().NewLease("lease-of-"+id[len("mail:0:"):], time.Minute)
	if err != nil {
		d.Fatal(err)
	}
	fetched, err := lease.Fetch(d.Context(), queue.FetchLimits{Jobs: 1, Bytes: 1 << 20})
	if err != nil || len(fetched.Jobs) != 1 {
		d.Fatalf("%+v, %v", fetched, err)
	}
	job := fetched.Jobs[0]
	d.setLog(id, "dialling", "refused")
	if err := d.queue().SetProgress(d.Context(), job, []byte(`{"percent":50}`)); err != nil {
		d.Fatal(err)
	}
	if _, err := lease.Finish(d.Context(), []queue.Completion{{Job: job, Disposition: queue.AttemptDead, Reason: reason}}); err != nil {
		d.Fatal(err)
	}
	if _, err := lease.Close(d.Context()); err != nil {
		d.Fatal(err)
	}
	return id
}

func TestJobsListFiltersAndShowsErrors(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	refused := d.addDead("email.send", "connection refused", queue.Options{})
	unknown := d.addDead("email.send", "550 no such user", queue.Options{})
	hook := d.addDead("http.request", "status 500", queue.Options{})
	d.add("email.send", queue.Options{Delay: time.Hour})
	ids := func(args ...string) (ids []string) {
		t.Helper()
		var list struct{ Jobs []jobJSON }
		o := d.must(append([]string{"jobs", "list", "mail", "-o", "json"}, args...)...)
		if err := json.Unmarshal([]byte(o.stdout), &list); err != nil {
			t.Fatal(err)
		}
		for _, job := range list.Jobs {
			ids = append(ids, job.ID)
		}
		slices.Sort(ids)
		return ids
	}
	sorted := func(ids ...string) []string { slices.Sort(ids); return ids }
	for name, c := range map[string]struct {
		args string
		want []string
	}{
		"dead":    {"--state dead", sorted(refused, unknown, hook)},
		"kind":    {"--state dead --kind email.send", sorted(refused, unknown)},
		"error":   {"--error REFUSED", sorted(refused)},
		"too new": {"--state dead --older-than 1h", nil},
		"new":     {"--state dead --newer-than 1h --kind http.request", sorted(hook)},
	} {
		if got := ids(strings.Fields(c.args)...); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	if got := ids("--kind", "email.send", "--match", `error contains "user" || state == "delayed" && due > "59m"`); len(got) != 2 || !slices.Contains(got, unknown) {
		t.Errorf("match: %v, want %s and the delayed job", got, unknown)
	}
	if o := d.run("jobs", "list", "mail", "--match", `len(kind) > 3`); o.code != cli.ExitUsage || !strings.Contains(o.stderr, "the function len() is refused") {
		t.Errorf("an invalid filter: %d, %s", o.code, o.stderr)
	}
	table := d.must("jobs", "list", "mail", "-o", "table").stdout
	hasLine(t, table, refused, "dead", "connection refused")
	hasLine(t, table, "delayed", "due in 5")
	o := d.must("jobs", "list", "mail", "--state", "dead", "--limit", "1", "-o", "csv")
	if strings.Count(o.stdout, "\n") != 2 {
		t.Errorf("%s", o.stdout)
	}
	hasLine(t, o.stderr, "may be more dead jobs", "--limit")
}

func TestJobsShowPrintsTheWholeHistory(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	id := d.addDead("email.send", "connection refused", queue.Options{
		MaxAttempts: 1, Timeout: time.Minute, Headers: map[string]string{"tenant": "x"}, Unique: queue.Unique{Key: "k"},
	})
	o := d.must("jobs", "show", id)
	for _, parts := range [][]string{
		{"id", id}, {"kind", "email.send"}, {"state", "dead, ", "ago"}, {"reason", "connection refused"}, {"attempts", "1 failed, of 1"},
		{"timeout", "1m0s"}, {"header", "tenant=x"}, {"unique", "k, until it has ended"}, {"args", `{"to":"a"}`},
		{"failed", "attempt 1, ", "connection refused"}, {"progress", `{"percent":50}`}, {"log", "dialling"}, {"log", "refused"},
	} {
		hasLine(t, o.stdout, parts...)
	}
	var job jobJSON
	if err := json.Unmarshal([]byte(d.must("jobs", "show", id, "-o", "json").stdout), &job); err != nil || job.ID != id || len(job.Log) != 2 || len(job.Errors) != 1 {
		t.Errorf("%+v, %v", job, err)
	}
	if got := d.must("jobs", "logs", id).stdout; got != "dialling\nrefused\n" {
		t.Errorf("%q", got)
	}
	followed := d.must("jobs", "logs", id, "--follow")
	if followed.stdout != "dialling\nrefused\n" {
		t.Errorf("%q", followed.stdout)
	}
	hasLine(t, followed.stderr, "is dead")
	d.ends(d.run("jobs", "show", "mail:0:n1-0"), cli.ExitFailed, "mail:0:n1-0", "finished or unknown")
	d.ends(d.run("jobs", "show", "nonsense"), cli.ExitUsage, "is no id of a job")
}

func TestJobsShowBoundsArgsUnlessAskedFor(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	args := `"` + strings.Repeat("x", 5000) + `"`
	id := d.must("enqueue", "mail", "a", args).one(t)
	hasLine(t, d.must("jobs", "show", id).stdout, "args", "5002 bytes: --args shows all")
	hasLine(t, d.must("jobs", "show", id, "--args").stdout, "args", args)
}

func TestFollowedLogEndsWithTheJob(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.pool("w", 1)
	id := d.add("slow", queue.Options{Retain: time.Hour})
	<-d.started
	d.setLog(id, "one")
	c := command(t, t.TempDir(), "jobs", "logs", id, "-f", "--redis", d.url)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	read := func(want string) {
		t.Helper()
		block := make([]byte, len(want))
		if _, err := out.Read(block); err != nil || string(block) != want {
			t.Fatalf("%q, %v", block, err)
		}
	}
	read("one\n")
	d.setLog(id, "one", "two")
	read("two\n")
	d.must("jobs", "cancel", id)
	_ = c.Wait() // the exit code is checked
	if code := c.ProcessState.ExitCode(); code != cli.ExitDone {
		t.Errorf("exit code %d", code)
	}
}

func TestOneFailingJobDoesNotStopTheOthers(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	one, other := d.addDead("a", "x", queue.Options{}), d.addDead("a", "x", queue.Options{})
	waits := d.add("a", queue.Options{})
	o := d.run("jobs", "retry", one, waits, "mail:0:n1-0", other)
	d.ends(o, cli.ExitFailed, "2 of 4 jobs failed, the others are done")
	hasLine(t, o.stderr, waits, "it is waiting")
	hasLine(t, o.stderr, "mail:0:n1-0", "finished or unknown")
	if want := one + " will run again\n" + other + " will run again\n"; o.stdout != want {
		t.Errorf("%q", o.stdout)
	}
}

func TestSingleJobsAreChanged(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	delayed := d.add("a", queue.Options{Delay: time.Hour})
	if got := d.must("jobs", "run-now", delayed).one(t); got != delayed+" will run now" {
		t.Errorf("%q", got)
	}
	d.ends(d.run("jobs", "run-now", delayed), cli.ExitFailed, delayed, "it is waiting")
	if got := d.must("jobs", "cancel", delayed).one(t); got != delayed+" cancelled" {
		t.Errorf("%q", got)
	}
	waits := d.add("a", queue.Options{})
	if got := d.must("jobs", "delete", waits).one(t); got != waits+" deleted" {
		t.Errorf("%q", got)
	}
	d.pool("w", 1)
	runs := d.add("slow", queue.Options{})
	<-d.started
	d.ends(d.run("jobs", "delete", runs), cli.ExitFailed, runs, "it is active")
	if got := d.must("jobs", "cancel", runs).one(t); got != runs+" runs: its worker was told to end it" {
		t.Errorf("%q", got)
	}
}

func TestDelayedJobsAreRescheduled(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	server := d.serve([]string{"view:*", "operate:*"})
	token := filepath.Join(t.TempDir(), "token")
	put(t, os.WriteFile(token, []byte(server.token), 0o600))
	due := func(id string) time.Time {
		t.Helper()
		job, err := d.client.Get(t.Context(), id)
		put(t, err)
		return job.Due
	}
	for name, flags := range map[string][]string{"directly": nil, "through a server": {"--server", server.url, "--token", "@" + token}} {
		run := d.run
		if flags != nil {
			run = func(args ...string) outcome { return inProcess(t, append(args, flags...)) }
		}
		one, other, waits := d.add("a", queue.Options{Delay: time.Hour}), d.add("a", queue.Options{Delay: time.Hour}), d.add("a", queue.Options{})
		at := "2055-11-30T08:00:00Z"
		if o := run("jobs", "reschedule", one, other, "--at", at); o.stdout != one+" is due at "+at+"\n"+other+" is due at "+at+"\n" {
			t.Errorf("%s: %+v", name, o)
		}
		if got := due(other).UTC().Format(time.RFC3339); got != at {
			t.Errorf("%s: due at %s", name, got)
		}
		before, err := d.client.Now(t.Context(), "mail")
		put(t, err)
		if o := run("jobs", "reschedule", one, "--in", "2h"); o.stdout != one+" is due in 2h\n" {
			t.Errorf("%s: %+v", name, o)
		}
		after, err := d.client.Now(t.Context(), "mail")
		put(t, err)
		if got := due(one); got.Before(before.Add(2*time.Hour).Truncate(time.Millisecond)) || got.After(after.Add(2*time.Hour)) {
			t.Errorf("%s: due at %s, two hours after %s and before %s", name, got, before, after)
		}
		o := run("jobs", "reschedule", waits, "mail:0:n1-0", other, "--in", "1h")
		d.ends(o, cli.ExitFailed, "2 of 3 jobs failed, the others are done")
		hasLine(t, o.stderr, waits, "it is waiting")
		hasLine(t, o.stderr, "mail:0:n1-0", "finished or unknown")
		d.ends(run("jobs", "reschedule", one, "--at", "2999-01-01T00:00:00Z"), cli.ExitUsage, "more than 100 years away")
	}
}

func TestCopyOfAJobHasItsOptionsButForThoseGiven(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	server := d.serve([]string{"view:*", "operate:*", "enqueue:*"})
	token := filepath.Join(t.TempDir(), "token")
	put(t, os.WriteFile(token, []byte(server.token), 0o600))
	for name, flags := range map[string][]string{"directly": {"--redis", d.url}, "through a server": {"--server", server.url, "--token", "@" + token}} {
		run := func(args ...string) outcome { return inProcess(t, append(args, flags...)) }
		id := d.addDead("a", "x", queue.Options{MaxAttempts: 3, Timeout: time.Minute, Headers: map[string]string{"a": "b"}, Unique: queue.Unique{Key: "held-" + name}})
		copied := func(args ...string) *queue.Job {
			t.Helper()
			o := run(append([]string{"jobs", "copy", id}, args...)...)
			job, err := d.client.Get(t.Context(), strings.TrimSpace(o.stdout))
			if err != nil {
				t.Fatalf("%s: %+v: %v", name, o, err)
			}
			return job
		}
		same := copied("--unique", "")
		if same.Kind != "a" || same.Queue != "mail" || same.State != queue.Waiting || same.Priority != queue.High || same.MaxAttempts != 3 || same.Timeout != time.Minute || same.Headers["a"] != "b" || same.Unique.Key != "" {
			t.Errorf("%s: %+v", name, same)
		}
		other := copied(`{"n":9007199254740995}`, "--queue", "other", "--priority", "low", "--in", "1h", "--unique", "k-"+name, "--unique-for", "2h", "--max-attempts", "7",
			"--timeout", "30s", "--retain", "24h", "--header", "c=d", "--deadline", "2055-11-30T08:00:00Z")
		if string(other.Args) != `{"n":9007199254740995}` || other.Queue != "other" || other.State != queue.Delayed || other.Priority != queue.Low || other.MaxAttempts != 7 ||
			other.Timeout != 30*time.Second || other.Retain != 24*time.Hour || len(other.Headers) != 1 || other.Headers["c"] != "d" || other.Deadline.Year() != 2055 ||
			other.Unique != (queue.Unique{Key: "k-" + name, Scope: queue.ForDuration, For: 2 * time.Hour}) {
			t.Errorf("%s: %+v", name, other)
		}
		if at := copied("--unique", "", "--at", "2055-11-30T08:00:00Z"); at.Due.UTC().Format(time.RFC3339) != "2055-11-30T08:00:00Z" {
			t.Errorf("%s: %+v", name, at)
		}
		if secret := copied(`"s3cret"`, "--queue", "other", "--unique", ""); string(secret.Args) != `"s3cret"` {
			t.Errorf("%s: %+v", name, secret)
		}
		if scoped := copied("--unique", "w-"+name, "--unique-scope", "waiting"); scoped.Unique.Scope != queue.WhileWaiting {
			t.Errorf("%s: %+v", name, scoped)
		}
		d.ends(run("jobs", "copy", "mail:0:n1-0"), cli.ExitFailed, "mail:0:n1-0", "finished or unknown")
		d.ends(run("jobs", "copy", id, "--in", "1h", "--at", "2055-11-30T08:00:00Z"), cli.ExitUsage, "give one of them")
	}
	if o := d.must("audit", "-o", "csv"); strings.Contains(o.stdout, "s3cret") || !strings.Contains(o.stdout, "copy,other,") {
		t.Error(o.stdout)
	}
}

func TestWrongJobsCommandsEndWithTwo(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.add("a", queue.Options{})
	for args, want := range map[string]string{
		"jobs retry":                              "give IDs of jobs (- for standard input), or --queue",
		"jobs retry mail:0:n1-0 --queue mail":     "give IDs of jobs (- for standard input), or --queue",
		"jobs retry mail:0:n1-0 --dry-run":        "--dry-run goes with --queue",
		"jobs retry - mail:0:n1-0":                "give either IDs or -",
		"jobs delete --queue mail":                "--state is missing",
		"jobs delete mail:0:n1-0 --state dead":    "--state goes with --queue",
		"jobs delete --queue mail --state active": "want one of waiting, delayed, dead, finished",
		"jobs list mail --state asleep":           "want one of",
		"jobs list":                               "missing QUEUE",
		"jobs show":                               "missing ID",
		"jobs copy":                               "missing ID",
		"jobs copy mail:0:n1-0 {":                 "ARGS are not JSON",
		"jobs copy mail:0:n1-0 --unique-for 1h":   "go with --unique KEY",
		"jobs reschedule --in 1h":                 "missing ID",
		"jobs reschedule mail:0:d1":               "give --in TIME or --at TIME",
		"jobs reschedule mail:0:d1 --in 1h --at 2026-11-30T08:00:00Z": "give --in TIME or --at TIME",
		"queues purge mail --state active":                            "want one of",
		"workers stop":                                                "give NAMEs of workers or --all",
		"workers quiet w --all":                                       "give NAMEs of workers or --all",
		"jobs list mail --older-than yesterday":                       "length of time",
	} {
		d.ends(d.run(strings.Fields(args)...), cli.ExitUsage, want)
	}
}

// stdinCase is a Redis on which commands take the ids of jobs from standard input, directly or through
// a server.
type stdinCase struct {
	*fixture
	place []string // flags
}

func (c stdinCase) change(input string, args ...string) outcome {
	c.Helper()
	return piped(c, c.TempDir(), []byte(input), slices.Concat([]string{"jobs"}, args, c.place)...)
}

func TestIDsOfJobsComeFromStandardInput(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	s := d.serve([]string{"view:*", "operate:*", "admin:*"})
	for name, place := range map[string][]string{
		"direct":           {"--redis", d.url},
		"through a server": {"--server", s.url, "--token", "@" + write(t, t.TempDir(), "token", s.token)},
	} {
		t.Run(name, func(t *testing.T) {
			c := stdinCase{&fixture{t, d.url, d.client, nil}, place}
			one, two, three := c.add("a", queue.Options{Delay: time.Hour}), c.add("b", queue.Options{Delay: time.Hour}), c.add("c", queue.Options{Delay: time.Hour})
			// Nothing is changed.
			c.ends(c.change(one+"\n\n"+two+"\n", "cancel", "-"), cli.ExitUsage, "Cancel 2 jobs?", "give --yes")
			c.ends(c.change(one, "priority", "-", "--to", "low"), cli.ExitUsage, "Give priority low to 1 job?", "give --yes")
			c.ends(c.change(one, "run-now", "-"), cli.ExitUsage, "Run 1 job now?", "give --yes")
			c.ends(c.change(one+"\n\nnone\n"+two, "cancel", "-", "--yes"), cli.ExitUsage, "standard input, line 3: ", `"none" is no id of a job`)
			c.ends(c.change(one+"\n"+strings.Repeat("x", 1<<17), "cancel", "-", "--yes"), cli.ExitUsage, "standard input, line 2: too long")
			c.ends(c.change(one, "cancel", "-", "--yes", "--queue", "mail"), cli.ExitUsage, "give IDs of jobs")
			if o := c.change("\n", "run-now", "-"); o.code != cli.ExitDone || o.one(t) != "0 jobs will run now" {
				t.Errorf("without ids: exit code %d: %s%s", o.code, o.stdout, o.stderr)
			}
			if got := c.kinds(queue.Delayed); got != "a b c" {
				t.Fatalf("delayed are %q", got)
			}
			c.ends(c.change(one, "reschedule", "-", "--in", "2h"), cli.ExitUsage, "Change the time of 1 job?", "give --yes")
			if o := c.change("", "reschedule", "-", "--in", "2h"); o.code != cli.ExitDone || o.one(t) != "0 jobs have another time" {
				t.Errorf("without ids: exit code %d: %s%s", o.code, o.stdout, o.stderr)
			}
			want := one + " is due in 2h\n" + two + " is due in 2h\n"
			if o := c.change(one+"\n"+two+"\n"+one, "reschedule", "-", "--in", "2h", "--yes"); o.code != cli.ExitDone || o.stdout != want {
				t.Errorf("exit code %d: %q %s", o.code, o.stdout, o.stderr)
			}
			want = one + " cancelled\n" + two + " cancelled\n"
			if o := c.change(one+"\r\n\n "+two+" \n"+one, "cancel", "-", "--yes"); o.code != cli.ExitDone || o.stdout != want {
				t.Errorf("exit code %d: %q %s", o.code, o.stdout, o.stderr)
			}
			if o := c.change(three+"\n", "run-now", "-", "-y"); o.code != cli.ExitDone || o.one(t) != three+" will run now" {
				t.Errorf("exit code %d: %q %s", o.code, o.stdout, o.stderr)
			}
			ids := []string{three}
			for range 100 {
				ids = append(ids, c.add("a", queue.Options{}))
			}
			o := c.change(strings.Join(append(ids, ids...), "\n"), "delete", "-", "--yes")
			if o.code != cli.ExitDone || o.stdout != "101 jobs deleted\n" {
				t.Errorf("exit code %d: %q %s", o.code, o.stdout, o.stderr)
			}
		})
	}
	if audit := d.must("audit", "-o", "csv").stdout; !strings.Contains(audit, "mail:0:") || strings.Contains(audit, "'- --yes") {
		t.Errorf("the audit lacks the ids:\n%s", audit)
	}
}

func TestListedJobsAreChangedThroughAPipe(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	want := ""
	for range 3 {
		want = d.addDead("a", "refused", queue.Options{}) + " will run again\n" + want // the last death is listed first
	}
	d.add("b", queue.Options{Delay: time.Hour})
	list := command(t, t.TempDir(), "jobs", "list", "mail", "--state", "dead", "-o", "csv", "--redis", d.url)
	retry := command(t, t.TempDir(), "jobs", "retry", "-", "--yes", "--redis", d.url)
	ids := exec.Command("sh", "-c", "tail -n +2 | cut -d, -f1")
	var err error
	ids.Stdin, err = list.StdoutPipe()
	put(t, err)
	retry.Stdin, err = ids.StdoutPipe()
	put(t, err)
	put(t, list.Start())
	put(t, ids.Start())
	if o := finish(t, retry); o.code != cli.ExitDone || o.stdout != want {
		t.Errorf("exit code %d: %q %s", o.code, o.stdout, o.stderr)
	}
	put(t, ids.Wait())
	put(t, list.Wait())
	if got := d.kinds(queue.Delayed); got != "b" {
		t.Errorf("delayed are %q", got)
	}
}
