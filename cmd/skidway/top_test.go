package main

import (
	"encoding/json"
	"strings"
	"testing"

	"skidway/cmd/skidway/internal/cli"
)

// seen are the lines of two days, one of a crawler.
var seen = strings.Repeat(`8.8.8.8 - - [01/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 1 "-" "Mozilla/5.0"`+"\n", 3) +
	`213.75.63.1 - - [02/Nov/2026:10:00:00 +0000] "GET /a HTTP/1.1" 404 1 "-" "Googlebot/2.1"` + "\nnoise\n"

func TestTopOfFilesPrintsTheirCounts(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, folder, "a.log", seen)
	o := mustRun(t, folder, "logs", "top", "a.log", "-o", "table")
	for _, words := range [][]string{
		{"lines", "5", "unparsable 1"}, {"people", "3 of 4"}, {"days", "2026-11-01 to 2026-11-02"}, {"COUNTRY", "REQUESTS", "STATUS", "CRAWLER"},
		{"US", "3", "75%", "200", "3", "75%", "people", "3", "75%"}, {"NL", "1", "25%", "404", "1", "25%", "Googlebot", "1", "25%"},
	} {
		hasLine(t, o.stdout, words...)
	}
	hasLine(t, o.stderr, "lines=5 counted=4 unknown_country=0 unparsable=1 files=1", "crawlers=1 people=3")
	o = mustRun(t, folder, "logs", "top", "a.log", "--by", "day,path", "--top", "1")
	for _, want := range []string{"subscriber,,lines,5\n", "subscriber,,lines_per_second,", "path,/,requests,3\n"} {
		if !strings.Contains(o.stdout, want) {
			t.Errorf("there is no %q in %s", want, o.stdout)
		}
	}
	if strings.Contains(o.stdout, "path,/a,") {
		t.Errorf("there are more rows than one: %s", o.stdout)
	}
}

func TestTopOfAChannelPrintsWhatIsCounted(t *testing.T) {
	t.Parallel()
	folder, web := t.TempDir(), channelFlags(t)
	write(t, folder, "a.log", seen)
	top := with(web, "logs", "top", "--once", "--every", "100ms")
	if o := skidway(t, folder, top...); o.code != cli.ExitFailed || !strings.Contains(o.stderr, "no such channel") {
		t.Errorf("%d: %s", o.code, o.stderr)
	}
	mustRun(t, folder, with(web, "logs", "ship", "a.log", "--subscriber", "b")...)
	o := mustRun(t, folder, append(top, "-o", "table")...)
	hasLine(t, o.stdout, "files", "1 in Redis, 0 being counted; shippers: 0")
	mustRun(t, folder, with(web, "logs", "work", "--subscriber", "a", "--by", "day,status", "--until-done")...)
	mustRun(t, folder, with(web, "logs", "work", "--subscriber", "b", "--until-done")...)
	o = mustRun(t, folder, append(top, "-o", "table")...)
	hasLine(t, o.stdout, "channel web  subscriber a  others: b")
	hasLine(t, o.stdout, "STATUS", "REQUESTS")
	hasLine(t, o.stdout, "200", "3", "75%")
	hasLine(t, o.stdout, "people", "--by day,status,crawler")
	if strings.Contains(o.stdout, "COUNTRY") {
		t.Errorf("it has countries, which are not counted: %s", o.stdout)
	}
	var view struct {
		Window         struct{ Used, Total int64 }
		Subscriber     string
		LinesPerSecond *int64 `json:"lines_per_second"`
		Summary        struct{ Lines, Counted int64 }
		Tables         []struct {
			By   []string
			Rows []struct {
				Country  string
				Requests int64
			}
		}
	}
	o = mustRun(t, folder, append(top, "--subscriber", "b", "-o", "json")...)
	if err := json.Unmarshal([]byte(o.stdout), &view); err != nil {
		t.Fatal(err)
	}
	if view.Subscriber != "b" || view.Summary.Lines != 5 || view.LinesPerSecond == nil || len(view.Tables) != 1 || view.Tables[0].Rows[0].Country != "US" || view.Tables[0].Rows[0].Requests != 3 || view.Window.Total == 0 {
		t.Errorf("%s", o.stdout)
	}
	if o = skidway(t, folder, append(top, "--subscriber", "c")...); o.code != cli.ExitFailed || !strings.Contains(o.stderr, "logs status --channel web") {
		t.Errorf("%d: %s", o.code, o.stderr)
	}
}
