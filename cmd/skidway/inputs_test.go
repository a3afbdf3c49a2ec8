package main

import (
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
	want := "file,codec,format,bytes,state\na.log,plain,combined,*,new\nb.log.gz,gzip,combined,*,new\nc.log,plain,combined,*,begins as a.log: only what it has more is new\nx.7z,,,6,"
	if got := columnAsStar(o.stdout, 3); o.code != cli.ExitFailed || !strings.HasPrefix(got, strings.ReplaceAll(want, ",6,", ",*,")) {
		t.Errorf("exit code %d\n%s", o.code, got)
	}
	o = mustRun(t, folder, "logs", "count", "--dry-run", "--hidden", "--format", "combined", "-o", "csv", ".hidden", "a.log")
	if got := columnAsStar(o.stdout, 3); got != "file,codec,format,bytes,state\n.hidden,plain,combined,*,new\na.log,plain,combined,*,new\n" {
		t.Errorf("%s", got)
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

func TestPatternWithoutAMatchIsWrongUsage(t *testing.T) {
	t.Parallel()
	o := skidway(t, t.TempDir(), "logs", "count", "nope*.log")
	if o.code != cli.ExitUsage {
		t.Errorf("exit code %d", o.code)
	}
	hasLine(t, o.stderr, "nope*.log: no file matches this pattern")
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
	hasLine(t, o.stderr, "s3://logs/web/b.log.gz: counted 1 lines")
	hasLine(t, o.stderr, "s3://logs/web/a.log: already counted")
	if o := skidway(t, folder, with(s3, "logs", "count", "s3://logs/nope")...); o.code != cli.ExitFailed {
		t.Errorf("without an object: exit code %d", o.code)
	}
	o = skidway(t, folder, with(append(s3, channelFlags(t)...), "logs", "ship", "--follow", "s3://logs/web/")...)
	if o.code != cli.ExitUsage {
		t.Errorf("followed: exit code %d", o.code)
	}
}
