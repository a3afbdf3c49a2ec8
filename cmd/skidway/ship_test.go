package main

import (
	"archive/tar"
	"bytes"
	"crypto/rand"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"skidway/cmd/skidway/internal/cli"
	"skidway/internal/doctor"
	"skidway/internal/redistest"
)

// channelFlags returns the flags of a channel on an empty database.
func channelFlags(t testing.TB) []string {
	t.Helper()
	return []string{"--redis", redistest.URL(t), "--channel", "web"}
}

func with(flags []string, args ...string) []string { return append(args, flags...) }

func TestShipWorkReportWithTwoSubscribers(t *testing.T) {
	t.Parallel()
	folder, web := t.TempDir(), channelFlags(t)
	write(t, folder, "a.log", small)
	write(t, folder, "b.log.gz", line("8.8.8.8", "03")+small)
	o := mustRun(t, folder, with(web, "logs", "ship", ".", "--subscriber", "countries", "--subscriber", "days")...)
	if o.stdout != "" {
		t.Errorf("standard output %q", o.stdout)
	}
	hasLine(t, o.stderr, "a.log: shipped")
	hasLine(t, o.stderr, "shipped: 2, known before: 0, empty: 0, failed: 0")

	o = mustRun(t, folder, with(web, "logs", "status", "-o", "table")...)
	hasLine(t, o.stdout, "a.log", "uploaded", "100%", "countries, days")

	mustRun(t, folder, with(web, "logs", "work", "--subscriber", "countries", "--until-done")...)
	o = mustRun(t, folder, with(web, "logs", "work", "--subscriber", "days", "--by", "day", "--until-done")...)
	hasLine(t, o.stderr, "b.log.gz: counted 5 lines")

	o = mustRun(t, folder, with(web, "logs", "report", "--subscriber", "countries")...)
	if o.stdout != "day,country,requests\n2026-11-01,NL,2\n2026-11-01,US,2\n2026-11-02,ZZ,2\n2026-11-03,US,1\n" {
		t.Errorf("%q", o.stdout)
	}
	hasLine(t, o.stderr, "lines=9 counted=5 unknown_country=2 unparsable=2 files=2 seconds=")
	o = mustRun(t, folder, with(web, "logs", "report", "--subscriber", "days", "--from", "2026-11-02", "--to", "2026-11-02")...)
	if o.stdout != "day,requests\n2026-11-02,2\n" {
		t.Errorf("%q", o.stdout)
	}

	o = mustRun(t, folder, with(web, "logs", "ship", ".")...)
	hasLine(t, o.stderr, "a.log: already counted")
	o = skidway(t, folder, with(web, "logs", "work", "--subscriber", "days", "--until-done")...)
	if o.code != cli.ExitFailed {
		t.Errorf("other settings: exit code %d", o.code)
	}
	hasLine(t, o.stderr, "skidway: ", "was created with country-day by=day")
}

func TestOneWorkerServesSubscribersWithTheirOwnSettings(t *testing.T) {
	t.Parallel()
	folder, web := t.TempDir(), channelFlags(t)
	write(t, folder, "a.log", small)
	mustRun(t, folder, with(web, "logs", "ship", "a.log")...)
	work := with(web, "logs", "work", "--until-done", "--subscriber", "countries", "--subscriber", "days by=day tz=UTC")
	o := mustRun(t, folder, work...)
	hasLine(t, o.stderr, "a.log (countries): counted 4 lines")
	hasLine(t, o.stderr, "lines=4 ", "subscriber=countries")
	hasLine(t, o.stderr, "lines=4 ", "subscriber=days")
	for subscriber, want := range map[string]string{
		"countries": "day,country,requests\n2026-11-01,NL,1\n2026-11-01,US,1\n2026-11-02,ZZ,1\n",
		"days":      "day,requests\n2026-11-01,2\n2026-11-02,1\n",
	} {
		if o := mustRun(t, folder, with(web, "logs", "report", "--subscriber", subscriber)...); o.stdout != want {
			t.Errorf("%s: %q, want %q", subscriber, o.stdout, want)
		}
	}
	for flag, want := range map[string]string{
		"countries": "is there twice", "": "needs a name", "days by": "is no setting", "days workers=2": "is no setting", "days tz=Nowhere": "want the name of a time zone",
	} {
		o := skidway(t, folder, append(work, "--subscriber", flag)...)
		if o.code != cli.ExitUsage {
			t.Errorf("%q: exit code %d", flag, o.code)
		}
		hasLine(t, o.stderr, "skidway: ", want)
	}
}

func TestSubscriberWithoutWorkerIsNamedUntilItIsRemoved(t *testing.T) {
	t.Parallel()
	folder, url := t.TempDir(), redistest.URL(t)
	web := []string{"--redis", url, "--channel", "web"}
	write(t, folder, "a.log", small)
	mustRun(t, folder, with(web, "logs", "ship", "a.log", "--subscriber", "old")...)
	if err := redistest.Open(t, url).HSet(t.Context(), "skidway:logs:{web}:subscriber:old", "since", 1).Err(); err != nil {
		t.Fatal(err)
	}
	hasLine(t, mustRun(t, folder, with(web, "logs", "status", "-o", "table")...).stdout, `subscriber "old": no worker was ever seen; files that wait for it: 1`)
	found, _ := findings(t, url)
	if f := found["subscribers"]; f.Level != doctor.Warning || f.Why == "" || !strings.Contains(strings.Join(f.Change, "\n"), "skidway logs unsubscribe --channel web --subscriber old") {
		t.Errorf("%+v", f)
	}
	mustRun(t, folder, with(web, "logs", "unsubscribe", "--subscriber", "old")...)
	if found, _ = findings(t, url); found["subscribers"].Level != doctor.Fine {
		t.Errorf("%+v", found["subscribers"])
	}
}

func TestStatusInEveryFormatFits80Columns(t *testing.T) {
	t.Parallel()
	folder, web := t.TempDir(), channelFlags(t)
	long := strings.Repeat("n", 100)
	write(t, folder, strings.Repeat("f", 120)+".log", small)
	mustRun(t, folder, with(web, "logs", "ship", ".", "--subscriber", long)...)
	o := mustRun(t, folder, with(web, "logs", "status", "-o", "table")...)
	for text := range strings.Lines(o.stdout) {
		if n := len([]rune(strings.TrimSpace(text))); n > 80 {
			t.Errorf("%d columns: %s", n, text)
		}
	}
	o = mustRun(t, folder, with(web, "logs", "status")...)
	hasLine(t, o.stdout, "subscriber,"+long+",pending,1")
	o = mustRun(t, folder, with(web, "logs", "status", "-o", "json")...)
	hasLine(t, o.stdout, `"pending": 1`)
}

func TestShipWithoutSubscriberPrintsANotice(t *testing.T) {
	t.Parallel()
	folder, web := t.TempDir(), channelFlags(t)
	write(t, folder, "a.log", small)
	o := mustRun(t, folder, with(web, "logs", "ship", "a.log")...)
	hasLine(t, o.stderr, `channel "web" has no subscriber`, "skidway logs work")
}

func TestShipSkipsAMissingPath(t *testing.T) {
	t.Parallel()
	folder, web := t.TempDir(), channelFlags(t)
	write(t, folder, "a.log", small)
	o := skidway(t, folder, with(web, "logs", "ship", "gone.log", "a.log")...)
	if o.code != cli.ExitFailed {
		t.Errorf("exit code %d", o.code)
	}
	hasLine(t, o.stderr, "skidway: gone.log: no such file")
	hasLine(t, o.stderr, "a.log: shipped")
}

func TestReportBeforeTheFirstCountPrintsANotice(t *testing.T) {
	t.Parallel()
	folder, web := t.TempDir(), channelFlags(t)
	write(t, folder, "a.log", small)
	mustRun(t, folder, with(web, "logs", "ship", "a.log", "--subscriber", "s")...)
	report := with(web, "logs", "report", "--subscriber", "s")
	const notice = "nothing has been counted yet: 'skidway logs status --channel web'"
	o := mustRun(t, folder, report...)
	hasLine(t, o.stderr, notice)
	if o.stdout != "day,country,requests\n" {
		t.Errorf("without counts it prints %q", o.stdout)
	}
	o = mustRun(t, folder, append(report, "--by", "week,status", "--where", "status >= 500", "--last", "7d", "--compare", "previous", "--html", "page.html")...)
	if want := "week,status,requests\n"; o.stdout != want {
		t.Errorf("without counts it prints %q, want %q", o.stdout, want)
	}
	if !strings.HasPrefix(o.stderr[strings.LastIndex(strings.TrimSpace(o.stderr), "\n")+1:], "lines=0 ") {
		t.Errorf("the last line is not the summary: %s", o.stderr)
	}
	mustRun(t, folder, with(web, "logs", "work", "--until-done", "--subscriber", "s")...)
	if o = mustRun(t, folder, report...); strings.Contains(o.stderr, notice) {
		t.Errorf("the notice is printed after the count: %s", o.stderr)
	}
}

func TestReportNamesDamagedFiles(t *testing.T) {
	t.Parallel()
	folder, web := t.TempDir(), channelFlags(t)
	save(t, filepath.Join(folder, "cut.gz"), pack(t, ".gz", strings.Repeat(small, 5000))[:900])
	mustRun(t, folder, with(web, "logs", "ship", ".", "--subscriber", "s")...)
	for _, args := range [][]string{{"logs", "work", "--until-done"}, {"logs", "report"}} {
		o := skidway(t, folder, append(with(web, args...), "--subscriber", "s")...)
		if o.code != cli.ExitFailed {
			t.Errorf("%v: exit code %d", args, o.code)
		}
		hasLine(t, o.stderr, "skidway: ", "cut.gz", "cut off", "counted up to line")
	}
}

func TestShipThatWaitsReportsWhatIsCountedInPart(t *testing.T) {
	t.Parallel()
	folder, web := t.TempDir(), channelFlags(t)
	save(t, filepath.Join(folder, "cut.gz"), pack(t, ".gz", strings.Repeat(small, 5000))[:900])
	save(t, filepath.Join(folder, "whole.log"), []byte(small))
	p := start(t, folder, with(web, "logs", "work", "--subscriber", "s")...)
	p.Await("counting the files of channel")
	o := skidway(t, folder, with(web, "logs", "ship", "cut.gz", "whole.log", "--wait")...)
	if o.code != cli.ExitFailed {
		t.Errorf("exit code %d", o.code)
	}
	hasLine(t, o.stderr, "skidway: cut.gz: partial: ", "cut off; counted up to line")
	hasLine(t, o.stderr, "skidway: some files went wrong; counted in part: 1")
	mustRun(t, folder, with(web, "logs", "ship", ".", "--wait")...) // it says so, and ships nothing
}

func TestUnsubscribeAsksBeforeItDeletesCounts(t *testing.T) {
	t.Parallel()
	folder, web := t.TempDir(), channelFlags(t)
	write(t, folder, "a.log", small)
	mustRun(t, folder, with(web, "logs", "ship", ".", "--subscriber", "s", "--subscriber", "never")...)
	mustRun(t, folder, with(web, "logs", "work", "--subscriber", "s", "--until-done")...)
	o := mustRun(t, folder, with(web, "logs", "unsubscribe", "--subscriber", "never")...)
	hasLine(t, o.stderr, `removed subscriber "never"; files freed: 1`)
	if o = skidway(t, folder, with(web, "logs", "unsubscribe", "--subscriber", "s")...); o.code != cli.ExitUsage {
		t.Errorf("without --yes: exit code %d", o.code)
	}
	mustRun(t, folder, with(web, "logs", "unsubscribe", "--subscriber", "s", "--yes")...)
	o = skidway(t, folder, with(web, "logs", "report", "--subscriber", "s")...)
	if o.code != cli.ExitFailed {
		t.Errorf("report of no subscriber: exit code %d", o.code)
	}
	hasLine(t, o.stderr, "no such subscriber")
}

func TestExportsOfOtherSubscribersAreAddedToAReport(t *testing.T) {
	t.Parallel()
	folder, web, all := t.TempDir(), channelFlags(t), channelFlags(t) // of two Redis
	for i, channel := range [][]string{web, all} {
		write(t, folder, "a.log", strings.Repeat(small, 1+i))
		mustRun(t, folder, with(channel, "logs", "ship", "a.log", "--subscriber", "s")...)
		mustRun(t, folder, with(channel, "logs", "work", "--subscriber", "s", "--until-done")...)
	}
	lines := func() (n int) {
		t.Helper()
		var report struct {
			Summary struct{ Lines int }
			Sources []struct{ Lines int }
		}
		o := mustRun(t, folder, with(all, "logs", "report", "--subscriber", "s", "-o", "json")...)
		if err := json.Unmarshal([]byte(o.stdout), &report); err != nil || len(report.Sources) != 1 {
			t.Fatalf("%v: %s", err, o.stdout)
		}
		hasLine(t, o.stderr, "lines=", " sources=1")
		return report.Summary.Lines
	}
	export := mustRun(t, folder, with(web, "logs", "export", "--subscriber", "s")...)
	hasLine(t, export.stderr, "exported source", "commit 1")
	write(t, folder, "web.json", export.stdout)
	o := mustRun(t, folder, with(all, "logs", "import", "web.json", "--subscriber", "s")...)
	hasLine(t, o.stderr, "imported source", "commit 1")
	want := 3 * strings.Count(small, "\n")
	if got := lines(); got != want {
		t.Errorf("%d lines, want %d", got, want)
	}
	c := command(t, folder, with(all, "logs", "import", "-", "--subscriber", "s")...)
	c.Stdin = strings.NewReader(export.stdout)
	hasLine(t, finish(t, c).stderr, "nothing new in source")
	if got := lines(); got != want {
		t.Errorf("imported again: %d lines, want %d", got, want)
	}
	hasLine(t, mustRun(t, folder, with(all, "logs", "status", "-o", "table")...).stdout, "s has imported sources: 1, with 4 lines")
	if status := mustRun(t, folder, with(all, "logs", "status")...).stdout; !strings.Contains(status, "subscriber,s,sources,1\nsubscriber,s,imported_lines,4\n") {
		t.Errorf("%s", status)
	}
	if o = skidway(t, folder, with(all, "logs", "reset", "--subscriber", "s")...); o.code != cli.ExitUsage {
		t.Errorf("reset without --yes: exit code %d", o.code)
	}
	hasLine(t, o.stderr, "has 1 imported sources")
}

func TestInterruptEndsIdleWorker(t *testing.T) {
	t.Parallel()
	web := channelFlags(t)
	p := start(t, t.TempDir(), with(web, "logs", "work", "--subscriber", "s")...)
	p.Await("counting the files of channel")
	p.Signal(interrupt)
	if output, code := p.End(); code != cli.ExitDone {
		t.Errorf("exit code %d\n%s", code, output)
	}
}

func TestInterruptedShipReportsMissingFiles(t *testing.T) {
	t.Parallel()
	folder, web := t.TempDir(), channelFlags(t)
	for _, name := range []string{"a.log", "b.log"} {
		var random strings.Builder // hardly gets smaller
		for random.Len() < 900<<10 {
			random.WriteString(strings.ReplaceAll(line("8.8.8.8", "03"), "GET /", "GET /"+rand.Text()+rand.Text()+rand.Text()))
		}
		write(t, folder, name, random.String())
	}
	p := start(t, folder, with(web, "logs", "ship", "a.log", "b.log", "--subscriber", "s", "--window", "1200KiB")...)
	p.Await("b.log: waits, the window is full")
	p.Signal(interrupt)
	output, code := p.End()
	if code != cli.ExitFailed {
		t.Errorf("exit code %d", code)
	}
	hasLine(t, output, "stopped before the end", "files not reached: 1")
}

func TestFollowShipsNewAndGrownFiles(t *testing.T) {
	t.Parallel()
	folder, web := t.TempDir(), channelFlags(t)
	p := start(t, folder, with(web, "logs", "ship", ".", "--subscriber", "s", "--follow")...)
	p.Await("following")
	path := write(t, folder, "a.log", small)
	p.Await("a.log: shipped")
	mustRun(t, folder, with(web, "logs", "work", "--subscriber", "s", "--until-done")...)
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	put(t, err)
	_, err = file.WriteString(line("8.8.8.8", "03"))
	put(t, err)
	put(t, file.Close())
	p.Await("a.log: shipped")
	p.Signal(interrupt)
	if output, code := p.End(); code != cli.ExitDone {
		t.Errorf("exit code %d\n%s", code, output)
	}
	mustRun(t, folder, with(web, "logs", "work", "--subscriber", "s", "--until-done")...)
	o := mustRun(t, folder, with(web, "logs", "report", "--subscriber", "s")...)
	hasLine(t, o.stderr, "lines=5 ")
}

// tarOf returns an archive with one member.
func tarOf(t testing.TB, name, content string) []byte {
	t.Helper()
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	put(t, w.WriteHeader(&tar.Header{Name: name, Size: int64(len(content)), Mode: 0o600}))
	_, err := io.WriteString(w, content)
	put(t, err)
	put(t, w.Close())
	return archive.Bytes()
}

func TestFollowedArchiveThatRecoversIsNoFailure(t *testing.T) {
	t.Parallel()
	folder, web := t.TempDir(), channelFlags(t)
	save(t, filepath.Join(folder, "a.tar"), tarOf(t, "m.log", "7z\xbc\xaf\x27\x1c"))
	p := start(t, folder, with(web, "logs", "ship", ".", "--subscriber", "s", "--follow")...)
	p.Await("a.tar!m.log: ", "a 7z archive")
	save(t, filepath.Join(folder, ".new"), tarOf(t, "m.log", small))
	put(t, os.Rename(filepath.Join(folder, ".new"), filepath.Join(folder, "a.tar")))
	p.Await("a.tar: the problem is over")
	p.Signal(interrupt)
	if output, code := p.End(); code != cli.ExitDone {
		t.Errorf("exit code %d\n%s", code, output)
	}
}

func TestReportWritesAPageAndRows(t *testing.T) {
	t.Parallel()
	folder, web := t.TempDir(), channelFlags(t)
	write(t, folder, "a.log", small)
	mustRun(t, folder, with(web, "logs", "ship", "a.log", "--subscriber", "s")...)
	mustRun(t, folder, with(web, "logs", "work", "--subscriber", "s", "--until-done")...)
	o := mustRun(t, folder, with(web, "logs", "report", "--subscriber", "s", "--html", "page.html")...)
	if o.stdout != smallCSV {
		t.Errorf("%q", o.stdout)
	}
	page, err := os.ReadFile(filepath.Join(folder, "page.html"))
	put(t, err)
	for _, part := range []string{"2026-11-02", "Netherlands", "CC BY 4.0", "Channel web, counted by s."} {
		if !strings.Contains(string(page), part) {
			t.Errorf("no %q in the page", part)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(folder, ".page*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestCountWritesAPage(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, folder, "a.log", small)
	mustRun(t, folder, "logs", "count", "a.log", "--by", "country", "--by", "day,country", "--by", "week,status", "--html", "page.html", "--quiet")
	page, err := os.ReadFile(filepath.Join(folder, "page.html"))
	put(t, err)
	for _, part := range []string{"Netherlands", ">Status<", "Files that were counted in one run.", "2026-11-02"} {
		if !strings.Contains(string(page), part) {
			t.Errorf("no %q in the page", part)
		}
	}
	o := skidway(t, folder, "logs", "count", "a.log", "--html", "other.html", "--html-max", "1kB", "--quiet")
	if !strings.Contains(o.stdout, "requests\n") {
		t.Errorf("the counts are lost with the page: %q", o.stdout)
	}
	if o.code != cli.ExitFailed || !strings.Contains(o.stderr, "fewest details") {
		t.Errorf("exit code %d: %s", o.code, o.stderr)
	}
	if left, _ := filepath.Glob(filepath.Join(folder, "*other*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestVisitorsAreKnownBesideCutsOfOtherDimensions(t *testing.T) {
	t.Parallel()
	folder, web := t.TempDir(), channelFlags(t)
	write(t, folder, "a.log", small)
	counted := []string{"--by", "day,country,crawler", "--by", "day,status", "--visitors", "day,country"}
	mustRun(t, folder, with(web, "logs", "ship", "a.log", "--subscriber", "s")...)
	mustRun(t, folder, with(web, append([]string{"logs", "work", "--subscriber", "s", "--until-done"}, counted...)...)...)
	o := mustRun(t, folder, with(web, "logs", "report", "--subscriber", "s", "--by", "country", "--visitors")...)
	if want := "country,requests,visitors\nNL,1,1\nUS,1,1\nZZ,1,1\n"; o.stdout != want {
		t.Errorf("%q, want %q", o.stdout, want)
	}
	o = mustRun(t, folder, with(web, "logs", "report", "--subscriber", "s")...)
	hasLine(t, o.stderr, "no table has visitors: --by day,country, without --where, has them")

	mustRun(t, folder, append([]string{"logs", "count", "a.log", "--html", "page.html", "--quiet"}, counted...)...)
	page, err := os.ReadFile(filepath.Join(folder, "page.html"))
	put(t, err)
	if !strings.Contains(string(page), "<dt>Visitors</dt>") {
		t.Error("the page has no visitors")
	}
}
