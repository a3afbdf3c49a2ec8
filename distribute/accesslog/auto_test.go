package accesslog_test

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"skidway/distribute/accesslog"
	"skidway/distribute/accesslog/formats"
)

// autoParser returns the parser of a file that begins with the lines.
func autoParser(t *testing.T, lines []string) accesslog.Parser {
	t.Helper()
	choice, err := accesslog.Choose(byteLines(lines))
	if err != nil {
		t.Fatal(err)
	}
	return choice.NewAuto(accesslog.Options{})
}

func restored(t *testing.T, state string) accesslog.Parser {
	t.Helper()
	p, err := accesslog.RestoreAuto(accesslog.Options{State: state})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const (
	combinedLine = `8.8.8.8 - - ` + stamp + request
	caddyLine    = `{"ts":1693840791.75,"request":{"client_ip":"1.1.1.1"}}`
)

func TestFormatOfEachLineIsKnown(t *testing.T) {
	t.Parallel()
	lines := []string{wrap["docker"](combinedLine), wrap["docker"](combinedLine), wrap["docker"](caddyLine), wrap["docker"](combinedLine)}
	for cut := range len(lines) {
		p := autoParser(t, lines)
		for i, line := range lines {
			if i == cut {
				p = restored(t, p.State())
			}
			_, _ = p.Parse([]byte(line))
			want := "docker:combined"
			if i == 2 {
				want = "docker:caddy"
			}
			if got := accesslog.FormatOf(p); got != want {
				t.Errorf("continued at %d, line %d: %q, want %q", cut, i, got, want)
			}
		}
	}
	format, err := accesslog.ByName("combined")
	if got := accesslog.FormatOf(format.New(accesslog.Options{})); err != nil || got != "" {
		t.Errorf("a parser of one format names %q, %v", got, err)
	}
}

func TestFileThatChangesItsFormatIsReadInBoth(t *testing.T) {
	t.Parallel()
	w3c := []string{"#Software: IIS", "#Fields: date time c-ip", "2000-10-10 10:00:00 9.9.9.9"}
	gcs := strings.Split(exampleOf(t, "gcs"), "\n")
	for _, c := range []struct {
		name  string
		lines []string
		want  string // the first letters of addresses, - for a line that is not parsed, # for no line
	}{
		{"text, then objects", []string{combinedLine, combinedLine, caddyLine, caddyLine, combinedLine}, "88118"},
		{"objects, then text", []string{caddyLine, caddyLine, combinedLine, "x", "", caddyLine}, "118--1"},
		{"inside a wrapper", []string{wrap["docker"](combinedLine), wrap["docker"](combinedLine), wrap["docker"](caddyLine), wrap["docker"]("x")}, "881-"},
		{"into a wrapper", []string{combinedLine, combinedLine, wrap["cri"](combinedLine), wrap["cri"](combinedLine)}, "8888"},
		{"out of a wrapper", []string{wrap["cri"](combinedLine), wrap["cri"](combinedLine), combinedLine, caddyLine}, "8881"},
		{"into a format with header lines", append([]string{combinedLine, combinedLine, combinedLine}, w3c...), "888##9"},
		{"into one with a line of names", append([]string{combinedLine, combinedLine}, gcs...), "88#2"},
		{"a comment is no header line", []string{combinedLine, combinedLine, "# x: y", "#note"}, "88--"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for cut := range len(c.lines) + 1 { // where another parser goes on
				got := ""
				p := autoParser(t, c.lines)
				for i, line := range c.lines {
					if i == cut {
						p = restored(t, p.State())
					}
					got += letter(p.Parse([]byte(line)))
				}
				if got != c.want {
					t.Errorf("continued at %d: %s, want %s", cut, got, c.want)
				}
			}
		})
	}
}

func TestObjectsBehindLinesOfTextAreReadAsObjects(t *testing.T) {
	t.Parallel()
	choice, err := accesslog.Choose(byteLines([]string{combinedLine, combinedLine}))
	if err != nil {
		t.Fatal(err)
	}
	p := choice.NewAuto(accesslog.Options{Fields: accesslog.Fields(accesslog.Status)})
	for _, line := range []string{combinedLine, wrap["docker"](combinedLine)} {
		p.Parse([]byte(line))
		if status, ok := p.Values().Status(); status != 200 || !ok {
			t.Errorf("status %d, %v: %s", status, ok, line)
		}
	}
}

func TestOtherLoggersOfCaddyWriteNoRequests(t *testing.T) {
	t.Parallel()
	of := func(logger string) string {
		return strings.Replace(caddyLine, `"ts"`, `"logger":"`+logger+`","ts"`, 1)
	}
	behind := strings.TrimSuffix(caddyLine, "}") + `,"logger":"http.log.error"}`
	lines := []string{of("http.log.access"), of("http.log.error"), of("http.log.access.log0"), of("http.handlers.reverse_proxy"),
		behind, of("http.log.accessible"), caddyLine}
	for _, fields := range []accesslog.FieldSet{0, accesslog.Fields(accesslog.Status)} {
		choice, err := accesslog.Choose(byteLines(lines))
		if err != nil {
			t.Fatal(err)
		}
		got, p := "", choice.NewAuto(accesslog.Options{Fields: fields})
		for _, line := range slices.Concat(lines, lines, lines) { // also by the shape of lines before
			got += letter(p.Parse([]byte(line)))
		}
		if want := strings.Repeat("1-1---1", 3); got != want {
			t.Errorf("fields %d: %s, want %s", fields, got, want)
		}
	}
}

func TestFormatThatBeginsBehindStrayLinesIsRead(t *testing.T) {
	t.Parallel()
	warning := "[20-Nov-2026 14:00:05 UTC] PHP Warning:  Undefined variable $"
	between := slices.Concat(slices.Repeat([]string{combinedLine}, 14), []string{warning})
	for name, c := range map[string]struct {
		lines []string
		want  int // lines that are read
	}{
		"later": {slices.Concat(slices.Repeat(between, 140), slices.Repeat([]string{caddyLine}, 100), slices.Repeat(between, 140)), 280*14 + 100},
		"rare":  {append(slices.Repeat(between, 140), slices.Repeat(append(slices.Clone(between), caddyLine), 10)...), 150*14 + 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole := ""
			for _, every := range []int{len(c.lines) + 1, 97} { // lines behind which another parser goes on
				p, got := autoParser(t, c.lines), 0
				for i, line := range c.lines {
					if i%every == every-1 {
						p = restored(t, p.State())
					}
					if _, verdict := p.Parse([]byte(line + strconv.Itoa(i))); verdict == accesslog.Parsed {
						got++
					}
				}
				if got != c.want {
					t.Errorf("another parser behind each %d lines: %d lines are read, want %d", every, got, c.want)
				}
				if whole = cmp.Or(whole, p.State()); p.State() != whole {
					t.Errorf("another parser behind each %d lines has the state %q, want %q", every, p.State(), whole)
				}
			}
		})
	}
}

func letter(record accesslog.Record, verdict accesslog.Verdict) string {
	switch {
	case verdict == accesslog.Parsed:
		return record.Addr.String()[:1]
	case verdict == accesslog.NotALine:
		return "#"
	}
	return "-"
}

func exampleOf(t *testing.T, format string) string {
	t.Helper()
	f, err := accesslog.ByName(format)
	if err != nil {
		t.Fatal(err)
	}
	return f.Example()
}

func TestFormatsOfAFileAreBounded(t *testing.T) {
	t.Parallel()
	p := autoParser(t, []string{combinedLine})
	read := 0
	for _, f := range accesslog.Formats() {
		lines := strings.Split(f.Example(), "\n")
		if _, verdict := p.Parse([]byte(lines[len(lines)-1])); verdict == accesslog.Parsed {
			read++
		}
	}
	if n := strings.Count(p.State(), `"name"`); n != 8 || read < n {
		t.Errorf("%d formats, and %d lines read", n, read)
	}
}

func TestStatesThatAreUnknownAreRefused(t *testing.T) {
	t.Parallel()
	for _, state := range []string{
		"", "combined", "2 \x00{}", "1 ", "1 \x00", "1 \x00{}", "1 \x00{\"current\":1,\"formats\":[{\"name\":\"combined\"}]}",
		"1 \x00{\"current\":0,\"formats\":[{\"name\":\"of a newer version\"}]}", "1 nothing:\x00{\"formats\":[{\"name\":\"combined\"}]}",
	} {
		if _, err := accesslog.RestoreAuto(accesslog.Options{State: state}); err == nil {
			t.Errorf("%q is accepted", state)
		}
	}
}

func TestChoiceSaysHowSureItIs(t *testing.T) {
	t.Parallel()
	lines := append(slices.Repeat([]string{combinedLine}, 6), slices.Repeat([]string{"INFO started", ""}, 4)...)
	choice, err := accesslog.Choose(byteLines(lines))
	if err != nil || choice.Percent() != 60 || choice.Unsure() {
		t.Errorf("%d %%, unsure %v, %v", choice.Percent(), choice.Unsure(), err)
	}
	choice, err = accesslog.Choose(byteLines(append(lines, "INFO started")))
	if err != nil || choice.Percent() != 54 || !choice.Unsure() {
		t.Errorf("%d %%, unsure %v, %v", choice.Percent(), choice.Unsure(), err)
	}
}

func TestFilesThatAreNoAccessLogsAreNamed(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"AWSLogs/1/conn_log_1_elasticloadbalancing_us-east-2_app.a.b_20220215T2340Z_172.160.1.192_c.log.gz": "a connection log of a load balancer",
		"conn_log.1_elasticloadbalancing.log.gz":                                                            "a connection log of a load balancer",
		"bucket/ELBAccessLogTestFile":                                                                       "a test file of a load balancer",
		"/var/log/nginx/error.log.2.gz":                                                                     "an error log",
		"proxy-host-1_error.log":                                                                            "an error log",
		"error_log":                                                                                         "an error log",
		"example.com-error_log-20261120.zst":                                                                "an error log",
		"error.log-2026-11-20T14.gz":                                                                        "an error log",
		"proxy_error_log.processed.1.gz":                                                                    "an error log",
		"errors.log.old":                                                                                    "an error log",
		"error-login.example.com-access.log":                                                                "",
		"error-log.example.com-ssl_log":                                                                     "",
		"api-error-log-viewer.example.org.log":                                                              "",
		"error.logistics.example.com_access.log":                                                            "",
		"error-logs.example.com.access.log":                                                                 "",
		"access-and-error.log":                                                                              "",
		"access.idx":                                                                                        "an index",
		"b_storage_2022_06_18_07_00_00_id_v0":                                                               "a storage log of Google Cloud Storage",
		"access.log":                                                                                        "",
		"terror.log":                                                                                        "",
		"conn_logs/access.log":                                                                              "",
		"1_elasticloadbalancing_us-east-2_app.a.log.gz":                                                     "",
	} {
		if got := accesslog.OtherLog(name, nil); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	for line, want := range map[string]string{
		`2023-10-04T17:05:15.514108Z 203.0.113.1 36280 443 TLSv1.2 ECDHE-RSA-AES128-GCM-SHA256 4.036 "CN=amazondomains.com" NotBefore=2023-09-21T22:43:21Z`: "a connection log of a load balancer",
		"Enable AccessLog for ELB: web at 2023-10-04T17:05:15.514Z":                                                                                         "a test file of a load balancer",
		"2026/11/20 14:00:05 [error] 12#12: *1 open() failed, client: 8.8.8.8":                                                                              "an error log of nginx",
		"[Fri Nov 20 14:00:05.123456 2026] [core:error] [pid 12] AH00126":                                                                                   "an error log of Apache",
		`"bucket","storage_byte_hours"`: "a storage log of Google Cloud Storage",
	} {
		other, ok := errors.AsType[*accesslog.OtherLogError](choiceError(line))
		if !ok || other.Kind != want || !errors.Is(other, accesslog.ErrNoFormat) {
			t.Errorf("%s is %v, want %q", line, other, want)
		}
	}
	for _, format := range formats.All {
		for _, real := range format.Real {
			if kind := accesslog.OtherLog("access.log", byteLines([]string{real.Text})); kind != "" {
				t.Errorf("%s is %s", real.Origin, kind)
			}
		}
	}
}

func choiceError(lines ...string) error {
	_, err := accesslog.Choose(append([][]byte{[]byte("\ufeff")}, byteLines(lines)...))
	return err
}

func TestLayoutThatBeginsLikeAWrapperIsALayout(t *testing.T) {
	t.Parallel()
	for _, layout := range []string{"message: $remote_addr [$time_local]", "'message: $remote_addr [$time_local]'"} {
		f, err := accesslog.ByName(layout)
		if err != nil || f.Wrapper() != "" {
			t.Errorf("%s is in the wrapper %q, %v", layout, f.Wrapper(), err)
			continue
		}
		if record, verdict := f.New(accesslog.Options{}).Parse([]byte("message: 8.8.8.8 " + stamp)); verdict != accesslog.Parsed {
			t.Errorf("%s: %d, %v", layout, verdict, record)
		}
	}
	if f, err := accesslog.ByName("message:$remote_addr [$time_local]"); err != nil || f.Wrapper() != "message:" {
		t.Errorf("wrapper %q, %v", f.Wrapper(), err)
	}
}

func TestPartsAreJoined(t *testing.T) {
	t.Parallel()
	const at = "2026-11-20T14:00:05.123456789Z "
	// The address stands in the second part of the first line.
	cri := []string{
		at + `stdout P {"ts":1693840791.75,"request":{"cli`, at + "stderr P " + combinedLine[:10], at + "stderr F " + combinedLine[10:],
		at + `stdout P ent_ip":"1.1.`, at + `stdout F 1.1"}}`, at + "stdout F " + combinedLine,
	}
	docker := []string{
		`{"log":` + quoted(`{"ts":1693840791.75,"request":{"cli`) + `,"stream":"stdout"}`, `{"log":` + quoted(combinedLine[:10]) + `,"stream":"stderr"}`,
		`{"log":` + quoted(combinedLine[10:]+"\n") + `,"stream":"stderr"}`, `{"log":` + quoted(`ent_ip":"1.1.`) + `,"stream":"stdout"}`,
		`{"log":` + quoted(`1.1"}}`+"\n") + `,"stream":"stdout"}`, `{"log":` + quoted(combinedLine+"\n") + `,"stream":"stdout"}`,
	}
	for name, lines := range map[string][]string{"cri": cri, "docker": docker} {
		p := autoParser(t, append(slices.Repeat([]string{wrap[name](caddyLine)}, 3), lines...))
		got, open := "", ""
		for _, line := range lines {
			got += letter(p.Parse([]byte(line)))
			open += fmt.Sprint(p.Open())[:1]
		}
		if want := "##8#18"; got != want || open != "ttttff" {
			t.Errorf("%s: %s, open %s", name, got, open)
		}
	}
}

func TestOpenLinesAreCountedOnceWhereTheFileEnds(t *testing.T) {
	t.Parallel()
	const at = "2026-11-20T14:00:05.123456789Z "
	lines := []string{at + "stdout P " + combinedLine, at + "stderr P x", at + "stdout P more", at + "stdout F end", at + "stderr F y", at + "stdout F " + combinedLine}
	for cut := range len(lines) + 1 { // where the file ends, and grows later
		p := autoParser(t, []string{at + "stdout F " + combinedLine})
		count := map[string]int{}
		for i, line := range lines {
			if i == cut {
				p.Flush(func(r accesslog.Record, v accesslog.Verdict) { count[letter(r, v)]++ })
				if p.Open() {
					t.Error("a line is open after Flush")
				}
				p = restored(t, p.State())
			}
			count[letter(p.Parse([]byte(line)))]++
		}
		if count["8"] != 2 || count["-"] != 1 {
			t.Errorf("ended at %d: %v", cut, count)
		}
	}
}

func TestJoinedLinesAreBounded(t *testing.T) {
	t.Parallel()
	const at = "2026-11-20T14:00:05.123456789Z "
	part := []byte(at + "stdout P " + strings.Repeat("x", 16<<10))
	p := parser(t, "cri:combined", nil)
	if _, verdict := p.Parse([]byte(at + "stdout P " + combinedLine)); verdict != accesslog.NotALine {
		t.Errorf("verdict %d", verdict)
	}
	for n := range 65 {
		p.Parse(part)
		if short := n < 1; p.Held() != short || len(p.State()) > 33<<10 {
			t.Errorf("%d parts: held %v, a state of %d bytes", n+2, p.Held(), len(p.State()))
		}
	}
	if _, verdict := p.Parse([]byte(at + "stdout F x")); verdict != accesslog.Unparsable {
		t.Errorf("verdict %d of a line over 1 MiB", verdict)
	}
	if _, verdict := p.Parse([]byte(at + "stdout F " + combinedLine)); verdict != accesslog.Parsed {
		t.Errorf("verdict %d of the next line", verdict)
	}
}

func TestFieldsBetweenTwoBarsAreNoService(t *testing.T) {
	t.Parallel()
	e := accesslog.Explain([][]byte{[]byte(`1795183205.000 || shop.example.org || 8.8.8.8 || "GET /"`)})
	if e.Format.Wrapper() != "" {
		t.Errorf("the wrappers %s", e.Format.Wrapper())
	}
}
