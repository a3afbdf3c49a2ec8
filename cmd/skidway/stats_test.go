package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/redis/go-redis/v9"

	"skidway/cmd/skidway/internal/cli"
	"skidway/internal/rdb"
	"skidway/queue"
	"skidway/workers/stats"
)

// addStats writes the statistics of a pool: 3 jobs of kind "slow" that are done, and one of kind
// "mail" that failed.
func addStats(t testing.TB, client *queue.Client, name, id string) {
	t.Helper()
	q, err := client.Queue(name)
	if err != nil {
		t.Fatal(err)
	}
	collector := stats.NewCollector(stats.Config{Client: client, Pool: "p"})
	collector.Counter(q).Add(func(yield func(stats.End) bool) {
		for range 3 {
			yield(stats.End{Job: &queue.Job{Kind: "slow"}, Disposition: queue.AttemptSucceeded, Waited: time.Second, Took: 3 * time.Second})
		}
		yield(stats.End{Job: &queue.Job{Kind: "mail", ID: id}, Disposition: queue.AttemptDead, Error: `no user "ada" at 10.1.2.3`, Took: time.Millisecond})
	})
	if err := collector.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestQueuesStatsPrintsLinesAndKinds(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	server := d.serve([]string{"view:*"})
	token := filepath.Join(t.TempDir(), "token")
	put(t, os.WriteFile(token, []byte(server.token), 0o600))
	d.add("slow", queue.Options{})
	addStats(t, d.client, "mail", "mail:0:n1-0")
	for name, flags := range map[string][]string{"directly": {"--redis", d.url}, "through a server": {"--server", server.url, "--token", "@" + token}} {
		t.Run(name, func(t *testing.T) { testQueuesStats(t, flags) })
	}
}

func testQueuesStats(t *testing.T, flags []string) {
	must := func(args ...string) outcome {
		t.Helper()
		o := inProcess(t, append(args, flags...))
		if o.code != 0 {
			t.Fatalf("%+v", o)
		}
		return o
	}
	for _, back := range []string{"hour", "day", "month"} {
		table := must("queues", "stats", "mail", "--range", back, "-o", "table").stdout
		hasLine(t, table, "done        3  ·")
		hasLine(t, table, "failed      1", "·█")
		hasLine(t, table, "waiting     -")
		hasLine(t, table, "slow", "  3  ", "3s")
		for line := range strings.Lines(table) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
				t.Errorf("%s: a line of %d columns: %s", back, n, line)
			}
		}
	}
	hasLine(t, must("queues", "stats", "mail", "--kind", "mail", "-o", "table").stdout, "done        0")
	rows := strings.Split(strings.TrimSpace(must("queues", "stats", "mail", "--range", "day", "-o", "csv").stdout), "\n")
	if len(rows) != 97 || !strings.HasPrefix(rows[0], "time,done,failed,dead,discarded,cancelled,run_mean_seconds,") {
		t.Errorf("%d rows: %s", len(rows), rows[0])
	}
	if last := rows[96]; !strings.HasSuffix(last, ",,,,,,") || !strings.Contains(last, ",3,1,1,0,0,") {
		t.Errorf("the last row is %s", last)
	}
	var object struct {
		Queue, Range string
		Kinds        []struct{ Kind string }
		Buckets      []struct{ Done int64 }
	}
	if err := json.Unmarshal([]byte(must("queues", "stats", "mail", "-o", "json").stdout), &object); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprintln(object.Queue, object.Range, object.Kinds, len(object.Buckets)) != "mail hour [{slow} {mail}] 60\n" {
		t.Errorf("%+v", object)
	}
	if o := inProcess(t, append([]string{"queues", "stats", "none"}, flags...)); o.code != 1 || !strings.Contains(o.stderr, "there is no queue none, only mail") {
		t.Errorf("%+v", o)
	}
}

func TestRulesOfDiagnosesAreThoseOfAFile(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	db, err := rdb.Open(t.Context(), d.url, rdb.Options{})
	put(t, err)
	defer func() { _ = db.Close() }()
	put(t, db.XAdd(t.Context(), &redis.XAddArgs{
		Stream: db.Prefix() + ":{mail:0}:2:normal:fresh", ID: fmt.Sprintf("%d-0", time.Now().Add(-10*time.Minute).UnixMilli()), Values: []string{"kind", "slow"},
	}).Err())
	rules := filepath.Join(t.TempDir(), "rules.yaml")
	put(t, os.WriteFile(rules, []byte("unserved: {within: 5m, rank: warning}\n"), 0o600))
	const found = "warning: unserved: jobs wait and no worker serves the queue since "
	if o := d.must("queues", "show", "mail", "-o", "table"); !strings.Contains(o.stdout, "problem: unserved") {
		t.Errorf("by the default rules: %s", o.stdout)
	}
	if o := d.must("queues", "show", "mail", "-o", "table", "--rules", rules); !strings.Contains(o.stdout, found) {
		t.Errorf("by its rules: %s", o.stdout)
	}
	hasLine(t, d.must("queues", "show", "mail", "-o", "csv", "--rules", rules).stdout, "diagnosis,"+found)
	server := d.serve([]string{"view:*"}, "--rules", rules)
	if code, text := server.do("GET", "/api/v1/queues/mail", ""); code != 200 || !strings.Contains(text, `"name":"unserved","rank":"warning"`) {
		t.Errorf("%d %s", code, text)
	}
	token := filepath.Join(t.TempDir(), "token")
	put(t, os.WriteFile(token, []byte(server.token), 0o600))
	throughServer := []string{"queues", "show", "mail", "-o", "table", "--server", server.url, "--token", "@" + token}
	if o := inProcess(t, throughServer); !strings.Contains(o.stdout, found) {
		t.Errorf("%+v", o)
	}
	d.ends(inProcess(t, append(throughServer, "--rules", rules)), cli.ExitUsage, "the server has rules of its own")
	d.ends(d.run("serve", "--rules", "none.yaml"), cli.ExitUsage, "--rules: open none.yaml")
	put(t, os.WriteFile(rules, []byte("failing: {rank: loud}\n"), 0o600))
	d.ends(d.run("dash", "--rules", rules), cli.ExitUsage, `rule failing: rank "loud": want problem, warning or off`)
	d.ends(d.run("worker", "--serve", "127.0.0.1:0", "--rules", rules), cli.ExitUsage, `rule failing: rank "loud"`)
}

func TestErrorsAreListedAndShownInGroups(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	id := d.add("slow", queue.Options{})
	hasLine(t, d.must("errors", "list", "mail").stderr, "no attempt of queue mail has failed lately")
	addStats(t, d.client, "mail", id)
	hasLine(t, d.must("errors", "list", "mail", "-o", "table").stdout, "mail", "     1     1", `no user "…" at <address>`)
	var list struct {
		Errors []struct{ ID, Kind, Shape, Job, Error string }
	}
	if err := json.Unmarshal([]byte(d.must("errors", "list", "mail", "-o", "json").stdout), &list); err != nil || len(list.Errors) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	group := list.Errors[0]
	if group.Job != id || group.Error != `no user "ada" at 10.1.2.3` {
		t.Errorf("%+v", group)
	}
	shown := d.must("errors", "show", "mail", group.ID, "-o", "table").stdout
	hasLine(t, shown, `skidway jobs list mail --match 'kind == "mail" && shape == "no user \"…\" at <address>"'`)
	hasLine(t, shown, "48 hours", "█")
	if o := d.must("errors", "list", "mail", "--kind", "slow", "-o", "csv"); strings.Count(o.stdout, "\n") != 1 {
		t.Errorf("%q", o.stdout)
	}
	for filter, lines := range map[string]int{"--text=NO USER": 2, "--text=10.1.2.3": 2, "--text=other": 1, "--to=2999-01-01T00:00:00Z": 2, "--to=2001-01-01T00:00:00Z": 1} {
		if o := d.must("errors", "list", "mail", filter, "-o", "csv"); strings.Count(o.stdout, "\n") != lines {
			t.Errorf("%s: %q", filter, o.stdout)
		}
	}
	if o := d.run("errors", "show", "mail", "none"); o.code != 1 || !strings.Contains(o.stderr, "'skidway errors list mail' lists them") {
		t.Errorf("%+v", o)
	}
}

func TestJobsRunningListsHandlersThatRun(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	if o := d.must("jobs", "running"); !strings.Contains(o.stderr, "no handler runs") {
		t.Errorf("%+v", o)
	}
	d.add("slow", queue.Options{})
	d.pool("w", 1)
	id := <-d.started
	d.add("slow", queue.Options{})
	table := d.must("jobs", "running", "-o", "table").stdout
	hasLine(t, table, id, "slow", "1", "w-")
	if strings.Count(table, "\n") != 2 {
		t.Errorf("%s", table)
	}
	var object struct {
		Jobs []struct {
			ID, Queue string
			Seconds   float64
		}
		Silent []string `json:"silent_workers"`
	}
	err := json.Unmarshal([]byte(d.must("jobs", "running", "mail", "-o", "json").stdout), &object)
	if err != nil || len(object.Jobs) != 1 || object.Jobs[0].ID != id || object.Jobs[0].Queue != "mail" || object.Jobs[0].Seconds < 0 || len(object.Silent) > 0 {
		t.Errorf("%+v, %v", object, err)
	}
	// A worker that does not report is named.
	q, err := d.client.ForPool("other")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.client.Enqueue(t.Context(), queue.Raw("a", nil), &queue.Options{Queue: "other"}); err != nil {
		t.Fatal(err)
	}
	lease, err := q.NewLease("hung.1", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lease.Fetch(t.Context(), queue.FetchLimits{Jobs: 1, Bytes: 1}); err != nil {
		t.Fatal(err)
	}
	if o := d.must("jobs", "running", "other"); !strings.Contains(o.stderr, "workers that hold jobs and have not reported: hung") {
		t.Errorf("%+v", o)
	}
	d.must("jobs", "cancel", id)
}
