package accesslog_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"skidway/distribute/accesslog"
)

func TestEveryExampleIsDetectedAsItsFormat(t *testing.T) {
	t.Parallel()
	for _, f := range accesslog.Formats() {
		lines := bytes.Split([]byte(f.Example()), []byte("\n"))
		parser, line := f.New(accesslog.Options{}), lines[len(lines)-1]
		for _, header := range lines[:len(lines)-1] {
			if _, verdict := parser.Parse(header); verdict != accesslog.NotALine {
				t.Errorf("%s takes its header %q for a line", f.Name(), header)
			}
		}
		record, verdict := parser.Parse(line)
		if verdict != accesslog.Parsed {
			t.Errorf("%s does not parse its own example", f.Name())
		} else if addr := record.Addr.String(); addr != "203.0.113.7" {
			t.Errorf("%s reads the address %s in its own example", f.Name(), addr)
		}
		if got, err := accesslog.Detect(lines); err != nil || got.Name() != f.Name() {
			t.Errorf("example of %s is detected as %q, %v", f.Name(), got.Name(), err)
		}
		if got, err := accesslog.ByName(f.Name()); err != nil || got.Name() != f.Name() {
			t.Errorf("ByName(%s) = %q, %v", f.Name(), got.Name(), err)
		}
		if f.Description() == "" {
			t.Errorf("%s has no description", f.Name())
		}
	}
}

func TestDetectGoesByTheMajority(t *testing.T) {
	t.Parallel()
	const (
		combined = `8.8.8.8 - - ` + stamp + request
		common   = `8.8.8.8 - - ` + stamp + ` "GET /?q=\"x\"\" HTTP/1.1" 200 23`
		vhost    = `www.example.org 8.8.8.8 - - ` + stamp + request
		minimal  = `8.8.8.8 2024-02-29`
		noise    = "\x00noise"
	)
	cases := []struct {
		name  string
		lines []string
		want  string
	}{
		{"common among combined", []string{combined, common, combined}, "combined"},
		{"combined among common", []string{combined, common, common}, "common"},
		{"vhost among combined", []string{combined, vhost, combined}, "combined"},
		{"combined among vhost", []string{combined, vhost, vhost}, "vhost"},
		{"a name that no host has", []string{`[pod/web-1/nginx] 8.8.8.8 - - ` + stamp + request, `web/nginx/0123 8.8.8.8 - - ` + stamp + request}, "combined"},
		{"ingress-nginx as it was", []string{`8.8.8.8 - [8.8.8.8] - - ` + stamp + request + ` 612 0.004 [default-web-80] 10.4.0.9:8080 23 0.004 200 5f2a`}, "ingress-nginx"},
		{"vhost with an IPv6 address", []string{`[2600::1]:443 8.8.8.8 - - ` + stamp + request}, "vhost"},
		{"vhost without referer", []string{`www.example.org:80 8.8.8.8 - - ` + stamp + ` "GET /" 200 23`}, "vhost"},
		{"level before combined", []string{"ERROR: " + combined, "INFO " + combined}, "combined"},
		{"levels alone", []string{"ERROR", "ERROR something broke", combined, "ERROR"}, "combined"},
		{"vhost with port, client has no address", []string{`1.1.1.1:80 client.example.net - - ` + stamp + request}, "vhost"},
		{"a tie goes to the first in the table", []string{common, combined}, "combined"},
		{"blank lines do not vote", append(slices.Repeat([]string{""}, 50), minimal), "minimal"},
		{"lists are no hosts", []string{`10.0.0.2, 8.8.8.8 - - ` + stamp + request}, "combined"},
		{"forwarding header is no host", []string{`8.8.8.8 10.0.0.1 - - ` + stamp + request}, "combined"},
		{"missing forwarding header is no host", []string{`- 8.8.8.8 - - ` + stamp + request}, "combined"},
		{"quoted header is no host", []string{`"x" 8.8.8.8 - - ` + stamp + request}, "combined"},
		{"IPv6 is no host with port", []string{`2600::1:80 10.0.0.1 - - ` + stamp + request}, "combined"},
		{"user with blanks", []string{`client.example.net - van dyke ` + stamp + request}, "combined"},
		{"noise outvoted", append(slices.Repeat([]string{noise}, 99), minimal), "minimal"},
		{"only the first 100 vote", append(append(slices.Repeat([]string{noise}, 99), minimal), slices.Repeat([]string{combined}, 50)...), "minimal"},
		{"lines up to the 1,000th vote if none did", append(slices.Repeat([]string{noise}, 997), minimal, combined, combined), "combined"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if f, err := accesslog.Detect(byteLines(c.lines)); err != nil || f.Name() != c.want {
				t.Errorf("got %q, %v; want %s", f.Name(), err, c.want)
			}
		})
	}
}

func TestDetectRefusesWhatIsNoAccessLog(t *testing.T) {
	t.Parallel()
	late := append(slices.Repeat([]string{"noise"}, accesslog.DetectLines), `8.8.8.8 2024-02-29`)
	for name, lines := range map[string][]string{
		"nothing":              nil,
		"blank lines":          {"", ""},
		"first line is late":   late,
		"application log":      {"INFO 2024-02-29 started", "2024-02-29 10:00:00 INFO 8.8.8.8 connected"},
		"W3C without #Fields":  {"#Version: 1.0", "2024-02-29 10:00:00 8.8.8.8"},
		"JSON without address": {`{"time":"2024-02-29T10:00:00Z","msg":"8.8.8.8 connected"}`},
		"binary":               {"\x7fELF\x02\x01\x01\x00", strings.Repeat("\x00", 64)},
	} {
		if f, err := accesslog.Detect(byteLines(lines)); !errors.Is(err, accesslog.ErrNoFormat) {
			t.Errorf("%s: got %q, %v", name, f.Name(), err)
		}
	}
}

// Applications write objects with an address and a time, which are no requests.
func TestEventsOfApplicationsAreNoRequests(t *testing.T) {
	t.Parallel()
	const event = `{"timestamp":"2025-10-10T13:55:36Z","client_ip":"8.8.8.8","event":"login_failed"`
	if f, err := accesslog.Detect([][]byte{[]byte(event + "}")}); err == nil {
		t.Errorf("detected as %s", f.Name())
	}
	for _, more := range []string{`,"status":401}`, `,"request":"GET / HTTP/1.1"}`, `,"uri":"/"}`, `,"request_time":0.1}`} {
		if f, err := accesslog.Detect([][]byte{[]byte(event + more)}); err != nil || f.Name() != "nginx-json" {
			t.Errorf("%s: detected as %q, %v", more, f.Name(), err)
		}
	}
}

func TestUnknownFormatErrorNamesTheKnown(t *testing.T) {
	t.Parallel()
	_, err := accesslog.ByName("comon")
	unknown, ok := errors.AsType[*accesslog.UnknownFormatError](err)
	if !ok || unknown.Name != "comon" {
		t.Fatalf("got %v", err)
	}
	for _, name := range []string{"comon", "common", "combined", "nginx", "vhost", "minimal"} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%q does not name %s", err, name)
		}
	}
}

func TestNginxIsCombined(t *testing.T) {
	t.Parallel()
	if f, err := accesslog.ByName("nginx"); err != nil || f.Name() != "combined" {
		t.Errorf("got %q, %v", f.Name(), err)
	}
}

func byteLines(lines []string) [][]byte {
	if len(lines) == 0 {
		return nil
	}
	return bytes.Split([]byte(strings.Join(lines, "\n")), []byte("\n"))
}

func TestDaysAreCountedFrom1970(t *testing.T) {
	t.Parallel()
	for want, text := range map[accesslog.Day]string{
		0: "1970-01-01", -1: "1969-12-31", 19782: "2024-02-29", -719528: "0000-01-01", 2932896: "9999-12-31",
	} {
		if got := want.String(); got != text {
			t.Errorf("Day(%d) is %s, want %s", want, got, text)
		}
	}
}

func TestDayIsParsedFromItsText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		day := accesslog.Day(rapid.Int32Range(-719528, 2932896).Draw(t, "day"))
		if got, err := time.Parse(time.DateOnly, day.String()); err != nil || got.Unix() != int64(day)*24*60*60 {
			t.Fatalf("%s is parsed as %s, %v", day, got, err)
		}
	})
}
