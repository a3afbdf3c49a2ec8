package main

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"skidway/cmd/skidway/internal/cli"
)

func TestCountListsItsFilesInADryRun(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, folder, "a.log", small)
	write(t, folder, "b.log.gz", line("8.8.8.8", "03"))
	write(t, folder, "c.log", small+line("8.8.8.8", "03"))
	write(t, folder, ".hidden", line("8.8.8.8", "04"))
	write(t, folder, "x.7z", "7z\xbc\xaf\x27\x1c")
	o := skidway(t, folder, "logs", "count", "--dry-run", "-o", "csv", ".")
	want := "file,codec,format,bytes,state\na.log,plain,combined,*,new\nb.log.gz,gzip,combined,*,new\nc.log,plain,combined,*,begins as a.log: what it has more is new (all if it differs there)\nx.7z,,,6,"
	if got := columnAsStar(o.stdout, 3); o.code != cli.ExitFailed || !strings.HasPrefix(got, strings.ReplaceAll(want, ",6,", ",*,")) {
		t.Errorf("exit code %d\n%s", o.code, got)
	}
	o = mustRun(t, folder, "logs", "count", "--dry-run", "--hidden", "--format", "combined", "-o", "csv", ".hidden", "a.log")
	if got := columnAsStar(o.stdout, 3); got != "file,codec,format,bytes,state\n.hidden,plain,combined,*,new\na.log,plain,combined,*,new\n" {
		t.Errorf("%s", got)
	}
	write(t, folder, "d.log", "noise\n")
	for _, format := range []string{"auto", "squid"} { // it says what the count does
		o := skidway(t, folder, "logs", "count", "--dry-run", "--format", format, "-o", "csv", "d.log")
		counted := skidway(t, folder, "logs", "count", "--format", format, "d.log")
		if o.code != cli.ExitFailed || counted.code != o.code {
			t.Errorf("exit codes %d and %d", o.code, counted.code)
		}
		_, problem, _ := strings.Cut(counted.stderr, "d.log: ")
		problem, _, _ = strings.Cut(problem, " ")
		hasLine(t, o.stdout, "d.log,plain,", problem)
	}
}

// columnAsStar replaces a column of CSV, but for its heading.
func columnAsStar(csv string, column int) string {
	lines := strings.SplitAfter(csv, "\n")
	for i, line := range lines {
		if fields := strings.SplitN(line, ",", column+2); i > 0 && len(fields) > column {
			fields[column] = "*"
			lines[i] = strings.Join(fields, ",")
		}
	}
	return strings.Join(lines, "")
}

func TestCountTakesPathsFromAFile(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, folder, "a.log", small)
	write(t, folder, "b 1.log", line("8.8.8.8", "03"))
	for name, list := range map[string]string{"lines": "b 1.log\r\n\na.log\n", "nuls": "b 1.log\x00a.log\x00"} {
		write(t, folder, name, list)
		o := mustRun(t, folder, "logs", "count", "--no-geo", "--files-from", name)
		if o.stdout != "day,requests\n2026-11-01,2\n2026-11-02,1\n2026-11-03,1\n" || strings.Contains(o.stderr, "country database") {
			t.Errorf("%s: %s\n%s", name, o.stdout, o.stderr)
		}
	}
}

func TestNameOfAFileIsNoPattern(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, folder, "a*.log", small)
	write(t, folder, "ab.log", line("8.8.8.8", "03"))
	write(t, folder, "list", "a*.log\n")
	const starred = "day,requests\n2026-11-01,2\n2026-11-02,1\n"
	for _, args := range [][]string{{"--files-from", "list"}, {"a*.log"}} {
		if o := mustRun(t, folder, with(args, "logs", "count", "--no-geo")...); o.stdout != starred {
			t.Errorf("%q, which is the name of a file: %s", args, o.stdout)
		}
	}
	if err := os.Remove(filepath.Join(folder, "a*.log")); err != nil {
		t.Fatal(err)
	}
	if o := mustRun(t, folder, "logs", "count", "--no-geo", "a*.log"); o.stdout != "day,requests\n2026-11-03,1\n" {
		t.Errorf("pattern: %s", o.stdout)
	}
	o := skidway(t, folder, "logs", "count", "--no-geo", "--files-from", "list", "ab.log")
	if o.code != cli.ExitFailed || o.stdout != "day,requests\n2026-11-03,1\n" || strings.Contains(o.stderr, "taken once") {
		t.Errorf("name of no file in a list: exit code %d, %s%s", o.code, o.stdout, o.stderr)
	}
	hasLine(t, o.stderr, "a*.log: no such file or directory")
}

// zipOf returns a zip archive of members, each a name and its content.
func zipOf(t *testing.T, members ...[2]string) string {
	t.Helper()
	var archive strings.Builder
	w := zip.NewWriter(&archive)
	for _, m := range members {
		member, err := w.Create(m[0])
		if err == nil {
			_, err = io.WriteString(member, m[1])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return archive.String()
}

func TestFilesThatAreNoAccessLogsAreLeftOutWhereTheyAreNotNamed(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	const connections = "2026-11-01T00:00:00Z 8.8.8.8 1 443 TLS\n"
	for _, name := range []string{"logs", "other"} {
		if err := os.Mkdir(filepath.Join(folder, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write(t, folder, "logs/a.log", small)
	write(t, folder, "logs/error.log", "2026/11/01 00:00:00 [error] 1#1: x\n")
	write(t, folder, "logs/b.zip", zipOf(t, [2]string{"c.log", line("8.8.8.8", "03")}, [2]string{"error.log.1", "x\n"}))
	write(t, folder, "other/conn_log_1.log", connections)
	write(t, folder, "logs/nginx.out", "2026/11/01 00:00:00 [error] 1#1: y\n")
	write(t, folder, "logs/both.out", "2026/11/01 00:00:00 [error] 1#1: x\n"+line("8.8.8.8", "05"))
	write(t, folder, "logs/e.zip", zipOf(t, [2]string{"httpd.err", "[Fri Oct 10 13:55:36 2025] [error] x\n"}))
	url := bucket(t, "logs", map[string][]byte{"elb/connections": []byte(connections), "elb/ELBAccessLogTestFile": []byte("Enable"), "elb/d.log": []byte(line("8.8.8.8", "04"))})
	s3 := []string{"--s3-endpoint", url, "--s3-anonymous"}
	o := mustRun(t, folder, with(s3, "logs", "count", "--no-geo", "logs", "other", "s3://logs/elb/")...)
	if o.stdout != "day,requests\n2026-11-01,2\n2026-11-02,1\n2026-11-03,1\n2026-11-04,1\n2026-11-05,1\n" {
		t.Errorf("%s", o.stdout)
	}
	hasLine(t, o.stderr, "logs/nginx.out: left out (it is an error log of nginx)")
	hasLine(t, o.stderr, "logs/e.zip!httpd.err: left out (it is an error log of Apache)")
	hasLine(t, o.stderr, "s3://logs/elb/connections: left out (it is a connection log of a load balancer)")
	hasLine(t, o.stderr, "logs/error.log: left out (it is an error log)")
	hasLine(t, o.stderr, "logs/b.zip!error.log.1: left out (it is an error log)")
	hasLine(t, o.stderr, "other/conn_log_1.log: left out (it is a connection log of a load balancer)")
	hasLine(t, o.stderr, "s3://logs/elb/ELBAccessLogTestFile: left out (it is a test file of a load balancer)")
	mustRun(t, folder, "logs", "count", "--no-geo", "other")
	mustRun(t, folder, with(channelFlags(t), "logs", "ship", "other")...)
	for _, named := range []string{"logs/error.log", "logs/nginx.out", "logs/*.out", "s3://logs/elb/ELBAccessLogTestFile", "s3://logs/elb/connections"} {
		if o := skidway(t, folder, with(s3, "logs", "count", "--no-geo", named)...); o.code != cli.ExitFailed || strings.Contains(o.stderr, "left out") {
			t.Errorf("%s, which is named: exit code %d\n%s", named, o.code, o.stderr)
		}
	}
}

func TestCountNamesWhatItTakesOnceAndLeavesOut(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, folder, "a.log", small)
	if err := os.Symlink("a.log", filepath.Join(folder, "now")); err != nil {
		t.Fatal(err)
	}
	o := mustRun(t, folder, "logs", "count", ".", "a.log")
	hasLine(t, o.stderr, "now: the same file as a.log, taken once")
	hasLine(t, o.stderr, "a.log: named more than once, taken once")
	hasLine(t, o.stderr, "lines=4 ", "files=1 ")
}

func TestShipPrintsWhatIsNewInADryRun(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, folder, "a.log", small)
	web := channelFlags(t)
	state := func() string {
		o := mustRun(t, folder, with(web, "logs", "ship", ".", "-o", "csv", "--dry-run")...)
		return strings.TrimSpace(o.stdout[strings.LastIndex(o.stdout, ",")+1:])
	}
	if got := state(); got != "new" {
		t.Errorf("for a channel that does not exist: %q", got)
	}
	mustRun(t, folder, with(web, "logs", "ship", ".", "--subscriber", "s")...)
	if got := state(); got != "already shipped (waits in Redis to be counted)" {
		t.Errorf("before it is counted: %q", got)
	}
	mustRun(t, folder, with(web, "logs", "work", "--subscriber", "s", "--until-done")...)
	if got := state(); got != "already counted" {
		t.Errorf("after it is counted: %q", got)
	}
	write(t, folder, "a.log", small+line("8.8.8.8", "03"))
	if got := state(); !strings.HasPrefix(got, "new from byte ") {
		t.Errorf("after it has grown: %q", got)
	}
}

func TestURLWithoutABucketIsWrongUsage(t *testing.T) {
	t.Parallel()
	o := skidway(t, "", "logs", "count", "s3://")
	if o.code != cli.ExitUsage {
		t.Errorf("exit code %d", o.code)
	}
	hasLine(t, o.stderr, `"s3://": want a URL such as s3://BUCKET/PREFIX`)
}

func TestPatternWithoutAMatchIsWrongUsage(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, folder, "list", "\n")
	for want, args := range map[string][]string{
		"nope*.log: no file matches this pattern":                    {"nope*.log"},
		"[a-: no file matches this pattern: syntax error in pattern": {"[a-"},
		"--files-from: list lists no paths":                          {"--files-from", "list"},
	} {
		o := skidway(t, folder, with(args, "logs", "count")...)
		if o.code != cli.ExitUsage {
			t.Errorf("%q: exit code %d", args, o.code)
		}
		hasLine(t, o.stderr, want)
	}
}

// bucket serves a bucket with one folder, as S3 does, and returns the URL of the service.
func bucket(t *testing.T, name string, objects map[string][]byte) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		content, found := objects[strings.TrimPrefix(r.URL.Path, "/"+name+"/")]
		if found {
			w.Header().Set("ETag", `"1"`)
			http.ServeContent(w, r, "", time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), bytes.NewReader(content))
			return
		}
		_, _ = io.WriteString(w, "<ListBucketResult>")
		for _, key := range slices.Sorted(maps.Keys(objects)) {
			if strings.HasPrefix(key, r.URL.Query().Get("prefix")) {
				_, _ = fmt.Fprintf(w, `<Contents><Key>%s</Key><Size>%d</Size><ETag>"1"</ETag><LastModified>2026-11-01T00:00:00.000Z</LastModified></Contents>`, key, len(objects[key]))
			}
		}
		_, _ = io.WriteString(w, "</ListBucketResult>")
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestCountReadsABucket(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, folder, "a.log", small)
	url := bucket(t, "logs", map[string][]byte{
		"web/a.log": []byte(small), "web/b.log.gz": pack(t, ".gz", line("8.8.8.8", "03")), "other": []byte("x"),
	})
	s3 := []string{"--s3-endpoint", url, "--s3-anonymous"}
	o := mustRun(t, folder, with(s3, "logs", "count", "--by", "day", "a.log", "s3://logs/web/")...)
	if o.stdout != "day,requests\n2026-11-01,2\n2026-11-02,1\n2026-11-03,1\n" {
		t.Errorf("%s", o.stdout)
	}
	hasLine(t, o.stderr, "files by format: ", " 2")
	hasLine(t, o.stderr, "s3://logs/web/a.log: already ") // counted, or shipped: it depends on which is faster
	if o := skidway(t, folder, with(s3, "logs", "count", "s3://logs/nope")...); o.code != cli.ExitFailed {
		t.Errorf("without an object: exit code %d", o.code)
	}
	o = skidway(t, folder, with(append(s3, channelFlags(t)...), "logs", "ship", "--follow", "s3://logs/web/")...)
	if o.code != cli.ExitUsage {
		t.Errorf("followed: exit code %d", o.code)
	}
}
