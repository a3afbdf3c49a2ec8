package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"skidway/internal/redistest"
	"skidway/ops/access"
	"skidway/queue"
)

// audit returns the entries of the audit, the latest at the end.
func (d *fixture) audit() []access.Entry {
	d.Helper()
	entries, _, err := access.NewAudit(d.client.DB(), slog.New(slog.DiscardHandler)).List(d.Context(), "", 500)
	put(d, err)
	slices.Reverse(entries)
	return entries
}

func TestActionHasOneNameByCommandAndByAPI(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	server := d.serve([]string{"view:*", "operate:*", "enqueue:*", "admin:*"})
	token := filepath.Join(t.TempDir(), "token")
	put(t, os.WriteFile(token, []byte(server.token), 0o600))
	for _, name := range []string{"beat", "one", "two"} {
		d.must("cron", "add", name, "@hourly", "mail", "k")
	}
	_, err := d.client.Beat(t.Context(), queue.PoolBeat{Pool: "w", Length: time.Hour, Info: &queue.PoolInfo{Name: "w", Queues: []string{"mail"}, Concurrency: 1}})
	put(t, err)
	dead := []string{d.addDead("a", "x", queue.Options{}), d.addDead("a", "x", queue.Options{})}
	for _, command := range []struct{ line, request string }{ // the request is that of the API for a command that does not go through a server
		{line: "jobs retry DEAD"},
		{line: "jobs run-now DELAYED"}, {line: "jobs reschedule DELAYED --in 1h"}, {line: "jobs priority DELAYED --to low"}, {line: "jobs cancel DELAYED"}, {line: "jobs delete DELAYED"}, {line: "jobs cancel --queue mail --state delayed --yes"},
		{line: "queues pause mail"}, {line: "queues resume mail"}, {line: "queues retention mail --dead-jobs 5 --yes"},
		{"cron pause beat", "POST /queues/mail/schedules/beat/pause"}, {"cron resume beat", "POST /queues/mail/schedules/beat/resume"}, {"cron run beat", "POST /queues/mail/schedules/beat/run"},
		{"workers quiet w", "POST /workers/w/quiet"}, {"workers stop w", "POST /workers/w/stop"},
		{"cron add beat @hourly mail k", "PUT /queues/mail/schedules/beat"}, {"cron remove one", "DELETE /queues/mail/schedules/two"},
	} {
		actions := map[string]string{}
		for way, flags := range map[string][]string{"directly": {"--redis", d.url}, "through a server": {"--server", server.url, "--token", "@" + token}} {
			line := strings.ReplaceAll(command.line, "DELAYED", d.add("a", queue.Options{Delay: time.Hour}))
			if strings.Contains(line, "DEAD") {
				line, dead = strings.ReplaceAll(line, "DEAD", dead[0]), dead[1:]
			}
			before := len(d.audit())
			if command.request == "" || way == "directly" {
				if o := inProcess(t, append(strings.Fields(line), flags...)); o.code != 0 {
					t.Fatalf("%s %s: %+v", line, way, o)
				}
			} else {
				method, path, _ := strings.Cut(command.request, " ")
				body := ""
				if method == "PUT" {
					body = `{"expression":"@hourly","kind":"k"}`
				}
				if code, text := server.do(method, "/api/v1"+path, body); code >= 300 {
					t.Fatalf("%s: %d %s", command.request, code, text)
				}
			}
			rows := d.audit()[before:]
			for deadline := time.Now().Add(waitLimit); !t.Failed() && rows[len(rows)-1].Outcome == "" && time.Now().Before(deadline); rows = d.audit()[before:] { // an operation's end comes later
			}
			if len(rows) != 2 || rows[0].Change != rows[1].Change {
				t.Errorf("%s %s: %+v", command.line, way, rows)
				continue
			}
			actions[way] = rows[0].Action
			if strings.HasPrefix(command.line, "jobs ") && rows[0].Count == 0 {
				t.Errorf("skidway %s %s: the entry before has no count", command.line, way)
			}
		}
		if actions["directly"] != actions["through a server"] {
			t.Errorf("skidway %s: the audit has %v", command.line, actions)
		}
	}
}

func TestAuditHasTheCountOfTheQuestionBeforeAChange(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	for range 3 {
		d.add("a", queue.Options{Delay: time.Hour})
	}
	for _, command := range [][]string{{"jobs", "cancel", "--queue", "mail", "--state", "delayed"}, {"queues", "purge", "mail", "--state", "delayed"}} {
		before := len(d.audit())
		if d.ends(d.run(command...), 2, "3 delayed jobs"); len(d.audit()) != before {
			t.Errorf("%v: a question without an answer is in the audit: %+v", command, d.audit()[before:])
		}
	}
	d.must("logs", "ship", write(t, t.TempDir(), "access.log", small), "--channel", "web", "--subscriber", "s")
	for _, command := range [][]string{{"queues", "retention", "mail", "--dead-jobs", "5"}, {"queues", "delete", "mail"}, {"logs", "channels", "delete", "web"}} {
		if d.ends(d.run(command...), 2, "There is no terminal to confirm it: give --yes"); len(d.audit()) != 0 {
			t.Errorf("%v: a question without an answer is in the audit: %+v", command, d.audit())
		}
	}
	d.must("queues", "purge", "mail", "--state", "delayed", "--yes")
	if rows := d.audit(); len(rows) != 2 || rows[0].Queue != "mail" || rows[0].Action != "purge" || rows[0].Count != 3 || rows[0].Outcome != "" || rows[1].Change != rows[0].Change || rows[1].Count != 3 || rows[1].Outcome != "done" {
		t.Errorf("%+v", rows)
	}
	other := d.add("a", queue.Options{Delay: time.Hour})
	d.ends(d.run("jobs", "delete", d.add("a", queue.Options{}), "mail:0:n1-0", other), 1, "1 of 3 jobs failed")
	if rows := d.audit()[2:]; len(rows) != 2 || rows[0].Count != 3 || rows[0].Action != "delete" || rows[1].Outcome == "done" {
		t.Errorf("%+v", rows)
	}
}

func TestServerAndCommandsThroughItWorkOnACluster(t *testing.T) {
	t.Parallel()
	url, _ := redistest.OwnCluster(t)
	d := newFixtureAt(t, url)
	server := d.serve([]string{"view:*", "operate:*", "enqueue:*", "admin:*"}, "--queue-metrics")
	token := filepath.Join(t.TempDir(), "token")
	put(t, os.WriteFile(token, []byte(server.token), 0o600))
	run := func(line string, args ...string) string {
		t.Helper()
		o := inProcess(t, append(append(strings.Fields(line), args...), "--server", server.url, "--token", "@"+token))
		if o.code != 0 {
			t.Fatalf("%s: %+v", line, o)
		}
		return o.stdout
	}
	spread := []string{"mail", "web", "reports", "logs"} // on three masters
	for _, name := range spread {
		id := strings.TrimSpace(run("enqueue", name, "news", "{}", "--in", "1h"))
		run("enqueue", name, "news", "{}", "--in", "1h")
		if got := run("jobs list --state delayed -o csv", name); strings.Count(got, ",news,") != 2 {
			t.Errorf("%s: %s", name, got)
		}
		run("jobs run-now", id)
		copied := strings.TrimSpace(run("jobs copy", id))
		run("jobs delete", copied)
		run("queues pause", name)
		if got := run("jobs cancel --state delayed --yes --queue", name); got != "1 delayed job cancelled\n" {
			t.Errorf("%s: %q", name, got)
		}
		if got := run("queues purge --yes", name); got != "1 waiting job deleted\n" {
			t.Errorf("%s: %q", name, got)
		}
	}
	all := run("queues list -o csv")
	for _, name := range spread {
		hasLine(t, all, name+",")
	}
	if code, text := server.do("GET", "/metrics", ""); code != 200 || strings.Count(text, "\nskidway_queue_") < len(spread) {
		t.Errorf("%d %s", code, text)
	}
	if code, text := server.do("GET", "/readyz", ""); code != 200 {
		t.Errorf("%d %s", code, text)
	}
	if rows := d.audit(); len(rows) != 10*len(spread) {
		t.Errorf("the audit has %d entries: %+v", len(rows), rows)
	}
}
