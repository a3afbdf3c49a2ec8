package main

import (
	"strings"
	"testing"

	"skidway/queue"
)

func TestFollowedAuditHasTheDefaultFormatOfAPipe(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.add("a", queue.Options{})
	d.must("queues", "pause", "mail") // two entries: before and after it
	for format, args := range map[string][]string{"default": nil, "csv": {"-o", "csv"}, "json": {"-o", "json"}, "table": {"-o", "table"}} {
		w := follow(t, command(t, t.TempDir(), append([]string{"audit", "--follow", "--redis", d.url}, args...)...))
		if format == "default" || format == "csv" {
			if head := w.line(); !strings.HasPrefix(head, "id,change,time,who,") {
				t.Errorf("%s: the heading %q", format, head)
			}
		}
		before := len(d.audit())
		for n := range before + 2 {
			if n == before {
				d.must("queues", "resume", "mail")
				d.must("queues", "pause", "mail")
			}
			text := w.line()
			ok := strings.Count(text, ",") >= 8
			switch format {
			case "json":
				ok = strings.HasPrefix(text, "{")
			case "table":
				ok = strings.Contains(text, " from ")
			}
			if !ok || strings.HasPrefix(text, "id,") {
				t.Errorf("%s: the entry %q", format, text)
			}
		}
		w.kill()
	}
}

func TestAuditHasNoArgsOfJobsAndNoMessages(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	for i, args := range [][]string{
		{"cron", "add", "s", "@daily", "mail", "k", `{"to":"secret"}`}, {"cron", "add", "s", "@daily", "mail", "k", ` ["secret"]`},
		{"cron", "add", "s", "@daily", "mail", "k", `"secret"`}, {"chat", "create", "secret", "--as", "ann"},
	} {
		d.must(args...)
		if entry := d.audit()[2*i]; strings.Contains(entry.Filter, "secret") || args[0] == "cron" && entry.Filter != "s @daily mail k" {
			t.Errorf("%v: %+v", args, entry)
		}
	}
}
