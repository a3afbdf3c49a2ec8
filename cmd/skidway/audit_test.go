package main

import (
	"bufio"
	"strings"
	"testing"
	"time"

	"skidway/queue"
)

func TestFollowedAuditHasTheDefaultFormatOfAPipe(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.add("a", queue.Options{})
	d.must("queues", "pause", "mail") // two entries: before and after it
	for format, args := range map[string][]string{"default": nil, "csv": {"-o", "csv"}, "json": {"-o", "json"}, "table": {"-o", "table"}} {
		c := command(t, t.TempDir(), append([]string{"audit", "--follow", "--redis", d.url}, args...)...)
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		late := time.AfterFunc(waitLimit, func() { _ = c.Process.Kill() })
		defer late.Stop()
		w := &follower{t, c, bufio.NewScanner(out)}
		line := func() string {
			if !w.lines.Scan() {
				t.Fatalf("%s: it ended: %v", format, w.lines.Err())
			}
			return w.lines.Text()
		}
		if format == "default" || format == "csv" {
			if head := line(); !strings.HasPrefix(head, "id,change,time,who,") {
				t.Errorf("%s: the heading %q", format, head)
			}
		}
		before := len(d.audit())
		for n := range before + 2 {
			if n == before {
				d.must("queues", "resume", "mail")
				d.must("queues", "pause", "mail")
			}
			text := line()
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
		if err := c.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = c.Wait() // it was killed
	}
}
