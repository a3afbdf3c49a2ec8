package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute/accesslog/formats"
)

const smallCSV = "day,country,requests\n2026-11-01,NL,1\n2026-11-01,US,1\n2026-11-02,ZZ,1\n"

func TestCountPrintsCSVAndClosingLine(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, folder, "a.log", small)
	o := mustRun(t, folder, "logs", "count", "a.log")
	if o.stdout != smallCSV {
		t.Errorf("%q", o.stdout)
	}
	lines := strings.Split(strings.TrimSpace(o.stderr), "\n")
	if last := lines[len(lines)-1]; !regexp.MustCompile(
		`^lines=4 counted=2 unknown_country=1 unparsable=1 files=1 seconds=\d+\.\d{3} private=1$`).MatchString(last) {
		t.Errorf("%q", last)
	}
	hasLine(t, o.stderr, "country database: geo-whois-asn-country 20")
	hasLine(t, o.stderr, "CC BY 4.0")
}

// Real lines of each format, in each codec and archive, are counted without an option.
func TestCountTakesADirectoryOfMixedFormatsAndCodecs(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	var names []string
	var archive [][2]string
	extensions := []string{"", ".gz", ".zst", ".xz", ".lz4", ".br", ".zip"}
	for _, format := range formats.All {
		for _, real := range format.Real {
			name, text := fmt.Sprintf("%02d.log", len(names)), real.Text+"\n"
			switch extension := extensions[len(names)%len(extensions)]; extension {
			case ".zip":
				archive = append(archive, [2]string{name, text})
				name = "a.zip!" + name
			default:
				name += extension
				write(t, folder, name, text)
			}
			names = append(names, name)
		}
	}
	save(t, filepath.Join(folder, "a.zip"), []byte(zipOf(t, archive...)))
	o := mustRun(t, folder, "logs", "count", ".")
	hasLine(t, o.stderr, fmt.Sprintf("files=%d", len(names)))
	if strings.Contains(o.stderr, ": counted ") { // a file with something odd
		t.Error(o.stderr)
	}
	for _, format := range formats.All {
		if len(format.Real) > 0 {
			hasLine(t, o.stderr, "files by format: ", " "+format.Name+" ")
		}
	}
}

func TestFilesThatCannotBeReadAreRefusedByName(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	save(t, filepath.Join(folder, "good.log"), []byte(small))
	for name, c := range map[string]struct{ start, want string }{
		"a.7z": {"7z\xbc\xaf\x27\x1c", "a 7z archive"}, "b.log": {"Rar!\x1a\x07\x01", "a rar archive"},
		"c": {"\xff\x06\x00\x00sNaPpY", "snappy"}, "d.snappy": {"x", "snappy"}, "e": {"PAR1\x15\x04", "a Parquet file"},
	} {
		save(t, filepath.Join(folder, name), []byte(c.start))
		o := skidway(t, folder, "logs", "count", name, "good.log")
		if o.code != cli.ExitFailed || !strings.Contains(o.stderr, name+": ") || !strings.Contains(o.stderr, c.want+" ") {
			t.Errorf("%s: exit code %d\n%s", name, o.code, o.stderr)
		}
		hasLine(t, o.stderr, "lines=4 ", " files=1 ")
	}
}

func TestCountDetectsTheFormatOfEachFile(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, folder, "alb.log.gz", `http 2026-11-01T12:22:55.463821Z app/web/490d68edf04676fe 8.8.8.8:44740 10.0.0.1:80 0.000 0.001 0.000 200 200 34 366 "GET http://www.example.com:80/ HTTP/1.1" "curl/7.46.0" - - - "Root=1-58337262" "-" "-" 0 2026-11-01T12:22:55.000000Z "forward" "-" "-" "10.0.0.1:80" "200"`+"\n")
	write(t, folder, "caddy.log", `{"level":"info","ts":1793664000.5,"msg":"handled request","request":{"client_ip":"8.8.8.8","method":"GET","uri":"/"},"status":200}`+"\n")
	write(t, folder, "iis.log.zst", "#Fields: date time c-ip sc-status\r\n2026-11-03 10:00:00 8.8.8.8 200\r\n2026-11-03 10:00:01 8.8.4.4 200\r\n")
	write(t, folder, "pod.log", `2026-11-20T14:00:05.123456789Z stdout F `+line("8.8.8.8", "04"))
	o := mustRun(t, folder, "logs", "count", ".")
	if o.stdout != "day,country,requests\n2026-11-01,US,1\n2026-11-03,US,3\n2026-11-04,US,1\n" {
		t.Errorf("%s", o.stdout)
	}
	hasLine(t, o.stderr, "lines=5 counted=5")

	write(t, folder, "own.log", `{"ip": "8.8.8.8", "at": "2026-11-01 23:30:00"}`+"\n")
	o = mustRun(t, folder, "logs", "count", "own.log", "--field", "address=ip", "--field", "time=at", "--log-tz", "America/New_York", "--tz", "UTC")
	if o.stdout != "day,country,requests\n2026-11-02,US,1\n" {
		t.Errorf("%s", o.stdout)
	}
	write(t, folder, "layout.log", "200|8.8.8.8|2026-11-01T23:30:00Z\n")
	o = mustRun(t, folder, "logs", "count", "layout.log", "--format", "$status|$remote_addr|$time_iso8601")
	if o.stdout != "day,country,requests\n2026-11-01,US,1\n" {
		t.Errorf("%s", o.stdout)
	}
}

func TestExplainSaysWhatToDoAboutAnUnknownFormat(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, c := range map[string]struct{ content, want string }{
		"json.log":   {`{"client": {"ip": "8.8.8.8"}, "when": "2026-11-01 23:30:00"}`, "--format json --field address=client.ip --field time=when"},
		"docker.log": {`{"log":"{\"ip\":\"8.8.8.8\",\"ts\":\"2026-11-01 23:30:00\"}\n","stream":"stdout","time":"x"}`, "--format docker:json --field address=ip --field time=ts"},
		"pairs.log":  {`level=info fwd_ip=8.8.8.8 time="2026-11-01 23:30:00"`, "--format logfmt --field address=fwd_ip --field time=time"},
		"layout.log": {"200|8.8.8.8|2026-11-01T23:30:00Z", "--format '$status|$remote_addr|$time_iso8601'"},
		"blank.log":  {"GET|/?a=b c|8.8.8.8:80|2026-11-01 23:30:00|x", "--format '$request_method|$request_uri|$remote_addr|$time_iso8601|$rest'"},
		"words.log":  {"[2026-11-01T23:30:00+01:00] INFO ip=8.8.8.8 \"GET / HTTP/1.1\" -> 200", "--format '[$time_iso8601] $field2 ip=$remote_addr \"$request\" $field5> $status'"},
		"pod.log":    {"2026-11-01T23:30:00Z stdout F 200|8.8.8.8|2026-11-01T23:30:00Z", "--format cri:'$status|$remote_addr|$time_iso8601'"},
		"other.log":  {"200|8.8.8.8|yesterday", "(log_format, LogFormat), give it: skidway logs count --format '…' 'other.log'"},
		"proxy.log":  {"#Fields: date time s-ip X-Forwarded-For sc-status\n2026-11-01 23:30:00 10.0.0.1 8.8.8.8,+10.0.0.2 200", "--format w3c --field address=X-Forwarded-For"},
		"w3c.log":    {"#Fields: date time s-ip sc-status\n2026-11-01 23:30:00 8.8.8.8 200", "the server must log c-ip, date and time"},
		"count.log":  {"200|8.8.8.8|2026-11-01T23:30:00Z", "no known format"},
	} {
		write(t, folder, name, c.content+"\n")
		o := skidway(t, folder, "logs", "explain", name)
		if o.code != cli.ExitFailed {
			t.Errorf("exit code %d", o.code)
		}
		hasLine(t, o.stderr, c.want)
		if _, flags, found := strings.Cut(c.want, "--format "); found && !strings.Contains(flags, "…") {
			words := strings.Fields(flags)
			if wrapper, layout, found := strings.Cut(strings.TrimSuffix(flags, "'"), "'"); found {
				words = []string{wrapper + layout}
			}
			o := mustRun(t, folder, append([]string{"logs", "count", name, "--format"}, words...)...)
			if !strings.Contains(o.stdout, "2026-11-01,US,1") {
				t.Errorf("%s: %s", name, o.stdout)
			}
		}
	}
	o := skidway(t, folder, "logs", "count", "count.log")
	hasLine(t, o.stderr, "skidway logs explain")
	o = skidway(t, folder, "logs", "explain", "proxy.log", "-o", "csv")
	if !strings.Contains(o.stdout, "\n1,X-Forwarded-For,\"8.8.8.8,+10.0.0.2\"\n") || strings.Contains(o.stdout, "problem") {
		t.Errorf("%s", o.stdout)
	}
}

func TestCountPrintsTable(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, folder, "a.log", small+strings.Repeat(line("8.8.8.8", "01"), 1233))
	o := mustRun(t, folder, "logs", "count", "a.log", "-o", "table", "--top", "1")
	want := "DAY         COUNTRY  REQUESTS\n" +
		"2026-11-01  US          1,234  " + strings.Repeat("▇", 46) + "\n" +
		"2026-11-02  ZZ              1\n"
	if o.stdout != want {
		t.Errorf("%s", o.stdout)
	}
}

func TestCountPrintsJSON(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, folder, "a.log", small)
	o := skidway(t, folder, "logs", "count", "a.log", "gone.log", "--by", "country", "-o", "json")
	if o.code != cli.ExitFailed {
		t.Errorf("exit code %d", o.code)
	}
	var got resultJSON
	decoder := json.NewDecoder(strings.NewReader(o.stdout))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&got); err != nil {
		t.Fatal(err)
	}
	if len(got.Rows) != 3 || got.Rows[1] != (rowJSON{Country: "US", Requests: 1}) {
		t.Errorf("rows %+v", got.Rows)
	}
	got.Summary.Seconds = 0
	if got.Summary != (summaryJSON{Lines: 4, Counted: 2, Unknown: 1, Unparsable: 1, Private: 1, Files: 1, Failed: 1, All: 3, PeopleBy: "country,crawler"}) {
		t.Errorf("summary %+v", got.Summary)
	}
	if len(got.Builds) != 1 || got.Builds[0].Lines != 4 || len(got.Problems) != 1 || got.Problems[0].File != "gone.log" {
		t.Errorf("builds %+v, problems %+v", got.Builds, got.Problems)
	}
	for _, list := range []string{`"abandoned": []`, `"problems": [`, `"rows": [`} {
		if !strings.Contains(o.stdout, list) {
			t.Errorf("no %s in %s", list, o.stdout)
		}
	}
}

// Each of these files fails in another way. The good file beside it is counted.
func TestBadFileIsNamedAndTheOthersAreCounted(t *testing.T) {
	t.Parallel()
	large := line("8.8.8.8", "05") + strings.Repeat(small, 5000) // or good.log would be this file when it was shorter
	broken := pack(t, ".zst", large)
	for i := len(broken) / 2; i < len(broken)/2+40; i++ {
		broken[i] ^= 0xff
	}
	for name, c := range map[string]struct {
		make func(t *testing.T, path string)
		want string
	}{
		"missing":   {func(*testing.T, string) {}, "no such file"},
		"no files":  {func(t *testing.T, path string) { put(t, os.Mkdir(path, 0o700)) }, "no files in this directory"},
		"socket":    {listenOn, "not a regular file but a socket"},
		"truncated": {func(t *testing.T, path string) { save(t, path, pack(t, ".gz", large)[:900]) }, "cut off"},
		"corrupt":   {func(t *testing.T, path string) { save(t, path, broken) }, "corrupt"},
		"binary":    {func(t *testing.T, path string) { save(t, path, []byte("\x7fELF\x00\x01\x02\n\x00\x03")) }, ""},
		"zip":       {func(t *testing.T, path string) { save(t, path, []byte("PK\x03\x04rest")) }, "zip"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder, err := os.MkdirTemp("", "s") // a socket's path must be short
			put(t, err)
			t.Cleanup(func() { _ = os.RemoveAll(folder) })
			write(t, folder, "good.log", small)
			c.make(t, filepath.Join(folder, "bad"))
			o := skidway(t, folder, "logs", "count", "bad", "good.log")
			if o.code != cli.ExitFailed {
				t.Errorf("exit code %d", o.code)
			}
			hasLine(t, o.stderr, "skidway: bad: ", c.want)
			hasLine(t, o.stderr, "files by format: combined 1")
			hasLine(t, o.stdout, "2026-11-01,NL,")
		})
	}
}

func TestFileThatIsCountedInPartHasTheWarningsOfItsFormat(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	damaged := pack(t, ".gz", strings.Repeat(`8.8.8.8:33317 [06/Feb/2009:23:14:14.655] in be/s 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 "GET / HTTP/1.1"`+"\n", 100))
	damaged[len(damaged)-6] ^= 1 // of its checksum
	save(t, filepath.Join(folder, "bad.gz"), damaged)
	o := skidway(t, folder, "logs", "count", "bad.gz", "--tz", "Europe/Berlin")
	hasLine(t, o.stderr, "skidway: bad.gz: counted in part: ")
	hasLine(t, o.stderr, "bad.gz: counted 100 lines, format haproxy (100 % of the first lines); warning: its times have no zone", "give --log-tz")
}

func put(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func save(t *testing.T, path string, content []byte) {
	t.Helper()
	put(t, os.WriteFile(path, content, 0o600))
}

func listenOn(t *testing.T, path string) {
	t.Helper()
	listener, err := net.Listen("unix", path)
	put(t, err)
	t.Cleanup(func() { _ = listener.Close() })
}

func TestEmptyFileIsANoticeUnlessThereIsNothingElse(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, folder, "empty.log", "")
	write(t, folder, "a.log", small)
	o := mustRun(t, folder, "logs", "count", "empty.log", "a.log")
	hasLine(t, o.stderr, "empty.log: empty")
	o = skidway(t, folder, "logs", "count", "empty.log")
	if o.code != cli.ExitFailed {
		t.Errorf("exit code %d", o.code)
	}
	hasLine(t, o.stderr, "nothing to count")
}

func TestLongLineIsUnparsableAndNoFailure(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, folder, "a.log", small+strings.Repeat("x", 1<<20+1)+"\n"+small)
	o := mustRun(t, folder, "logs", "count", "a.log")
	hasLine(t, o.stderr, "lines=9 counted=4 unknown_country=2 unparsable=3 ")
	hasLine(t, o.stderr, "a.log", "line 5 is longer than 1 MiB")
}

func TestWrongCountryDatabaseIsAnError(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, folder, "a.log", small)
	o := skidway(t, folder, "logs", "count", "--geoip", "a.log", "a.log")
	if o.code != cli.ExitFailed || o.stdout != "" {
		t.Errorf("exit code %d, %q", o.code, o.stdout)
	}
	hasLine(t, o.stderr, "skidway: ", "a.log", "not a MaxMind DB file")
}

func TestQuietPrintsOnlyErrorsAndTheSummary(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, folder, "a.log", small)
	o := mustRun(t, folder, "logs", "count", "-q", "a.log")
	if !strings.HasPrefix(o.stderr, "lines=4 ") || strings.Count(o.stderr, "\n") != 1 {
		t.Errorf("%q", o.stderr)
	}
}

func TestClosedPipeIsAnError(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, folder, "a.log", small)
	reader, writer, err := os.Pipe()
	put(t, err)
	put(t, reader.Close())
	defer func() { _ = writer.Close() }()
	c := command(t, folder, "logs", "count", "a.log")
	var stderr strings.Builder
	c.Stdout, c.Stderr = writer, &stderr
	_ = c.Run() // the exit code is checked
	if code := c.ProcessState.ExitCode(); code != cli.ExitFailed {
		t.Errorf("exit code %d", code)
	}
	hasLine(t, stderr.String(), "skidway: write the result", "broken pipe")
}

func TestFileNamesCannotControlTheTerminal(t *testing.T) {
	t.Parallel()
	o := skidway(t, "", "logs", "count", "a\x1b[2Jb\nc")
	hasLine(t, o.stderr, `skidway: a\u001b[2Jb; c: no file matches this pattern`)
}

func TestAllLinesOfASampleAreCounted(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	o := mustRun(t, folder, "logs", "sample", "demo", "--lines", "5000", "--seed", "1", "--files", "4", "--days", "2")
	if strings.Count(o.stdout, "\n") != 4 {
		t.Errorf("%q", o.stdout)
	}
	o = mustRun(t, folder, "logs", "count", "demo")
	hasLine(t, o.stderr, "lines=5000 ", "files=4 ")
	if o = skidway(t, folder, "logs", "sample", "demo"); o.code != cli.ExitFailed {
		t.Errorf("a second sample in the same folder: exit code %d", o.code)
	}
}
