package accesslog_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"skidway/distribute/accesslog"
)

func TestEmptyAddressIsNoAddress(t *testing.T) {
	t.Parallel()
	const stamp = ` [10/Oct/2025:13:55:36 +0000] 200`
	for _, c := range []struct{ format, line string }{
		{`"$remote_addr" [$time_local] $status`, `""` + stamp},
		{`"$remote_addr" [$time_local] $status`, `"-"` + stamp},
		{"nginx-json", `{"time_iso8601":"2025-10-10T13:55:36+02:00","remote_addr":"","status":200}`},
		{"envoy-json", `{"start_time":"2021-02-11T16:29:24.123Z","x_forwarded_for":"","downstream_remote_address":"8.8.8.8:42112","response_code":200}`},
		{"logfmt(address=ip,time=t)", `ip="" t=2025-10-10T13:55:36Z`},
	} {
		f, err := accesslog.ByName(c.format)
		if err != nil {
			t.Fatal(err)
		}
		if record, verdict := f.New(accesslog.Options{}).Parse([]byte(c.line)); verdict != accesslog.Parsed || record.Addr.IsValid() {
			t.Errorf("%s: %v, verdict %d: %s", c.format, record.Addr, verdict, c.line)
		}
		if strings.Contains(c.format, "$") || strings.Contains(c.format, "(") {
			continue
		}
		if found, err := accesslog.Detect([][]byte{[]byte(c.line)}); err != nil || found.Name() != c.format {
			t.Errorf("detected as %q, %v: %s", found.Name(), err, c.line)
		}
	}
}

func TestTimesOfLayoutsAreReadWhole(t *testing.T) {
	t.Parallel()
	const late, early = "2025-10-11 404", "2025-10-10 404"
	for _, c := range []struct{ format, line, want string }{
		{`$remote_addr $time_local $status`, `8.8.8.8 10/Oct/2025:23:55:36 -0800 404`, late},
		{`$remote_addr $time_local $status`, `8.8.8.8 10/Oct/2025:23:55:36 404`, early},
		{`$remote_addr $time_local $time_iso8601 $status`, `8.8.8.8 10/Oct/2025:23:55:36 -0800 2025-10-10T23:55:36-08:00 404`, late},
		{`$time_local $remote_addr $time_local $status`, `10/Oct/2025:23:55:36 -0800 8.8.8.8 10/Oct/2025:23:55:36 -0800 404`, late},
		{`$remote_addr $time_iso8601 $status`, `8.8.8.8 2025-10-10 23:55:36,123 -0800 404`, late},
		{`$remote_addr $time_iso8601 $field -1 $status`, `8.8.8.8 2025-10-10T23:55:36 a -1 404`, early},
		{`%h %{%F %T %z}t %>s`, `8.8.8.8 2025-10-10 23:55:36 -0800 404`, late},
		{`%h %{%d/%b/%Y %T}t %>s`, `8.8.8.8 10/Oct/2025 13:55:36 404`, early},
		{`%h [%{%d/%b/%Y:%H:%M:%S}t.%{msec_frac}t %{%z}t] "%r" %>s`, `8.8.8.8 [10/Oct/2025:23:55:36.123 -0800] "GET / HTTP/1.1" 404`, late},
		{`%h %{begin:%d/%b/%Y %T}t.%{begin:usec_frac}t %{begin:%z}t %>s`, `8.8.8.8 10/Oct/2025 23:55:36.123456 -0800 404`, late},
		{`%h %{[%d/%b/%Y:%T}t,%{msec_frac}t %{%z]}t %>s`, `8.8.8.8 [10/Oct/2025:23:55:36,123 -0800] 404`, late},
		{`%h %{%F}t %{%T}t%{%z}t %>s`, `8.8.8.8 2025-10-10 23:55:36-0800 404`, late},
		{`%h %{sec}t.%{msec_frac}t %>s`, `8.8.8.8 1760169336.123 404`, late},
		{`%h %t %{msec_frac}t %>s`, `8.8.8.8 [10/Oct/2025:23:55:36 -0800] 123 404`, late},
	} {
		user := " $remote_user"
		if strings.Contains(c.format, "%") {
			user = " %u"
		}
		f, err := accesslog.ByName(c.format + user)
		if err != nil {
			t.Error(err)
			continue
		}
		counts, fields := f.New(accesslog.Options{Zone: time.UTC}), f.New(accesslog.Options{Zone: time.UTC, Fields: accesslog.Fields(accesslog.Status)})
		for range 2 { // the second time, what the first line taught is used
			for _, p := range []accesslog.Parser{counts, fields} {
				record, verdict := p.Parse([]byte(c.line + " frank"))
				status, _ := fields.Values().Status()
				if got := fmt.Sprint(record.Day, " ", status); p == fields && got != c.want || verdict != accesslog.Parsed || !strings.HasPrefix(c.want, record.Day.String()) {
					t.Errorf("%s: %s, verdict %d; want %s: %s", c.format, got, verdict, c.want, c.line)
				}
			}
		}
	}
}

func TestOffsetOfOneLineIsNotThatOfTheNext(t *testing.T) {
	t.Parallel()
	f, err := accesslog.ByName(`$remote_addr $time_local $status`)
	if err != nil {
		t.Fatal(err)
	}
	p := f.New(accesslog.Options{Zone: time.UTC})
	for _, c := range []struct{ line, day string }{
		{`8.8.8.8 10/Oct/2025:23:55:36 200 a`, "2025-10-10"},
		{`8.8.8.8 10/Oct/2025:23:55:37 -0800 200 a`, "2025-10-11"},
		{`8.8.8.8 10/Oct/2025:23:55:38 -0800 200 a`, "2025-10-11"},
		{`8.8.8.8 10/Oct/2025:23:55:38 200 a`, "2025-10-10"},
	} {
		if record, verdict := p.Parse([]byte(c.line)); verdict != accesslog.Parsed || record.Day.String() != c.day {
			t.Errorf("%s: %s, verdict %d, want %s", c.line, record.Day, verdict, c.day)
		}
	}
}
