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
		{"envoy-json", `{"start_time":"2021-02-11T16:29:24.123Z","x_forwarded_for":"","downstream_remote_address":"-","response_code":200}`},
		{"aws-s3-json", `{"bucket_name":"b","request_time":"2026-11-20T14:00:05.123Z","remote_ip":null,"operation":"S3.EXPIRE.OBJECT","http_status":204}`},
		{"envoy-json", `{"start_time":"2021-02-11T16:29:24.123Z","downstream_remote_address":null,"x_forwarded_for":null,"response_code":200}`},
		{"json(address=client.ip,time=t)", `{"client":{"ip":null},"t":"2025-10-10T13:55:36Z"}`},
		{"logfmt(address=ip,time=t)", `ip="" t=2025-10-10T13:55:36Z`},
	} {
		f, err := accesslog.ByName(c.format)
		if err != nil {
			t.Fatal(err)
		}
		p := f.New(accesslog.Options{})
		for range 3 { // from the second time on, what the first line taught is used
			if record, verdict := p.Parse([]byte(c.line)); verdict != accesslog.Parsed || record.Addr.IsValid() {
				t.Errorf("%s: %v, verdict %d: %s", c.format, record.Addr, verdict, c.line)
			}
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

// Applications write times in notations of their own, which no server has.
func TestTimesOfApplicationsAreRead(t *testing.T) {
	t.Parallel()
	const want = "2025-10-11T03:04:05"
	for _, c := range []struct{ layout, time, want string }{
		{"$time", "11.10.2025 03:04:05", want},
		{"$time", "11.10.25 03:04:05.123", want},
		{"$time", "11.10.2025, 3:04:05", want},
		{"$time", "2025.10.11 03:04:05", want},
		{"$time", "11-Oct-2025 03:04:05.123", want},
		{"$time", "11-OCT-25 03:04:05 AM", want},
		{"$time", "11 October 2025 03:04:05 -0200", want + "-02:00"},
		{"$time", "Sat, 11 Oct 2025 03:04:05 GMT", want + "Z"},
		{"$time", "Saturday, October 11, 2025 3:04:05 AM", want},
		{"$time", "Oct 11, 2025 12:04:05 AM", "2025-10-11T00:04:05"},
		{"$time", "Oct 11, 2025 12:04:05 pm", "2025-10-11T12:04:05"},
		{"$time", "Sat Oct 11 03:04:05 2025", want},
		{"$time", "Sat Oct 11 03:04:05.678 2025", want},
		{"$time", "Sat Oct 11 03:04:05 CEST 2025", want + "+02:00"},
		{"$time", "20251011T030405Z", want + "Z"},
		{"$time", "20251011-030405.123", want},
		{"$time", "20251011030405", want},
		{"$time", "20251011 03:04:05", want},
		{"$time", "2025-10-11 03:04:05 UTC", want + "Z"},
		{"$time", "2025-10-11 03:04:05+02", want + "+02:00"},
		{"$time", "2025-10-11 03:04:05.123456789 +0200 CEST", want + "+02:00"},
		{"$time", "2025-10-11 03:04:05 -0200 -02", want + "-02:00"},
		{"$time", "2025-10-11 03:04:05 +0200 EET", want + "+02:00"},
		{"$time", "2025-10-11T03:04:05.123+02:00[Europe/Berlin]", want + "+02:00"},
		{"$time", "2025-10-11T03:04:05Z[UTC]", want + "Z"},
		{"$time", "1.760151845123E9", want + "Z"},
		{"$time", "1.760151845e+12", want + "Z"},
		{"$time", "1.760151845E4", ""},
		{"$time", "1.76015184x123E9", ""},
		{"$time", "2025-10-11T03:04:05Z]", ""},
		{"$time", "1.760151845E9", want + "Z"},
		{"$time", "1.7601518E9", "2025-10-11T03:03:20Z"},
		{"$time", "1.760151845E99999999999999999999", ""},
		{"$time", "2025-10-11_03:04:05", want},
		{"$time_mdy", "10/11/2025 3:04:05 AM", want},
		{"$time_dmy", "11/10/2025 3:04:05 AM", want},
		{"$time_mdy", "10/11/2025 03:04:05", want},
		{"$time_dmy", "11/10/2025 03:04:05", want},
		{"$time_dmy", "11-10-25 03:04", "2025-10-11T03:04:00"},
		{"$date_dmy;$clock", "11/10/2025;03:04:05", want},
		{"$date_mdy;$clock", "10/11/2025;03:04:05", want},
		{"$date;$clock", "11.10.2025;03:04:05", want},
		{"%{%d.%m.%Y %H:%M:%S}t", "11.10.2025 03:04:05", want},
		{"%{%d/%m/%Y %T}t", "11/10/2025 03:04:05", want},
		{"%{%D %r}t", "10/11/25 03:04:05 AM", want},
		{"%{%a %b %d %T %Y}t", "Sat Oct 11 03:04:05 2025", want},
		{"%{begin:[%d/%m/%Y:%T}t.%{begin:msec_frac}t %{begin:%z]}t", "[11/10/2025:03:04:05.123 -0200]", want + "-02:00"},
		{"$time", "11/10/2025 03:04:05", ""}, // or the 10th of November
		{"$time", "11/10/2025 3:04:05 AM", ""},
		{"$date;$clock", "11/10/2025;03:04:05", ""},
		{"$date;$clock", "11/10/25;03:04:05", ""},
		{"$time", "31.9.2025 03:04:05", ""},
		{"$time", "11.10.2025 24:04:05", ""},
		{"$time", "11.10.2025 03:64:05", ""},
		{"$time", "Oct 11, 2025 00:04:05 PM", ""},
		{"$time", "Oct 11 03:04:05", ""},
		{"$time", "99999999999999", ""},
		{"$time", "11.Okt.2025 03:04:05", ""},
		{"$time_dmy", "10/25/2025 03:04:05", ""},
	} {
		for _, ends := range []struct{ start, end string }{{"", " 8.8.8.8 GET /x"}, {"8.8.8.8 ", " +1 GET"}, {"8.8.8.8 ", " PMC:12"}, {"8.8.8.8 <", ">"}} {
			if strings.HasSuffix(c.time, "PM") && !strings.HasPrefix(ends.end, ">") {
				continue // without it, it is a time
			}
			address, field := "$remote_addr", " $method"
			if strings.Contains(c.layout, "%") {
				address, field = "%h", " %m"
			}
			layout := strings.NewReplacer("8.8.8.8", address, " GET /x", field, " +1 GET", field, " PMC:12", field).Replace(ends.start + "@" + ends.end)
			f, err := accesslog.ByName(strings.Replace(layout, "@", c.layout, 1))
			if err != nil {
				t.Error(err)
				continue
			}
			p, got := f.New(accesslog.Options{Fields: accesslog.Fields(accesslog.Time)}), ""
			line := []byte(ends.start + c.time + ends.end)
			counts := f.New(accesslog.Options{Zone: time.UTC})
			for range 2 { // the second time, what the first line taught is used
				record, verdict := counts.Parse(line)
				if _, v := p.Parse(line); v == accesslog.Parsed {
					got = strings.TrimSuffix(instantText(p.Values()), "+00:00")
				} else if v != verdict {
					t.Errorf("%s: verdicts %d and %d: %s", layout, v, verdict, line)
				}
				if want := c.want; got != want || verdict == accesslog.Parsed && want[10] == 'T' && !strings.HasSuffix(want, "+02:00") && !strings.HasPrefix(want, record.Day.String()) {
					t.Errorf("%s: %q on %v, want %q: %s", c.layout, got, record.Day, want, line)
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

// The words of a line between its address and its time are often those of the next one: what is
// remembered of them changes nothing.
func TestWordsOfOneLineAreNotThoseOfTheNext(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"lighttpd", `$remote_addr $host $remote_user [$time_local] "$request"`, `$remote_addr $host [$time_local] $status`} {
		f, err := accesslog.ByName(name)
		if err != nil {
			t.Fatal(err)
		}
		p := f.New(accesslog.Options{})
		for i, names := range []string{
			"a b", "a b", "a c", "a c", "aa b", "a b c", "a [b", "a [b]", "a  b", "a, b", "a b ", " a b", "a", "a", "- -", "a [10/Oct/2000:13:55:36 -0700] b", "a b",
		} {
			for j, stamp := range []string{"10/Oct/2000:13:55:36 -0700", "11/Oct/2000:13:55:37 -0700", "11/Oct/2000:13:55:61 -0700", "yesterday"} {
				line := []byte(fmt.Sprintf(`8.8.%d.%d %s [%s] "GET / HTTP/1.1" 200 23 "-" "curl/8.5"`, i, j, names, stamp))
				record, verdict := p.Parse(line)
				if want, v := f.New(accesslog.Options{}).Parse(line); record != want || verdict != v {
					t.Errorf("%s: %v, %d; alone %v, %d: %s", name, record, verdict, want, v, line)
				}
			}
		}
	}
}

// What is copied from between the quotes of a LogFormat has a backslash before its own quotes, which no
// line has.
func TestQuotesOfAPastedLayoutMayBeEscaped(t *testing.T) {
	t.Parallel()
	f, err := accesslog.ByName(`%h %l %u %t \"%r\" %>s %b \"%{Referer}i\" \"%{User-Agent}i\"`)
	if err != nil {
		t.Fatal(err)
	}
	for _, quote := range []string{`"`, `\"`} {
		line := strings.ReplaceAll(`8.8.8.8 - - [10/Oct/2025:13:55:36 +0000] "GET /x HTTP/1.1" 404 23 "-" "curl"`, `"`, quote)
		p := f.New(accesslog.Options{Fields: accesslog.Fields(accesslog.Path, accesslog.Status)})
		record, verdict := p.Parse([]byte(line))
		path, _ := p.Values().Get(accesslog.Path)
		if verdict != accesslog.Parsed || record.Addr.String() != "8.8.8.8" || string(path) != "/x" || statusText(p.Values()) != "404" {
			t.Errorf("verdict %d, address %v, path %q, status %s: %s", verdict, record.Addr, path, statusText(p.Values()), line)
		}
		if e := f.Explainer()([]byte(line)); e.Problem != "" {
			t.Errorf("%s: %s", e.Problem, line)
		}
	}
}

// An IPv6 address has colons itself.
func TestPortBehindTheAddressOfALayoutIsCutOff(t *testing.T) {
	t.Parallel()
	const stamp = ` [10/Oct/2025:13:55:36 +0000] 404`
	for _, layout := range []string{
		`$remote_addr:$remote_port [$time_local] $status`, `$realip_remote_addr:$realip_remote_port [$time_local] $status`,
		`[$time_local] $status $remote_addr:$remote_port`, `%a:%{remote}p %t %>s`,
	} {
		f, err := accesslog.ByName(layout)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"2001:db8::1", "::1", "8.8.8.8"} {
			line := want + ":1234" + stamp
			if strings.HasPrefix(layout, "[") {
				line = stamp[1:] + " " + want + ":1234"
			}
			for _, fields := range []accesslog.FieldSet{0, accesslog.Fields(accesslog.Status)} {
				p := f.New(accesslog.Options{Fields: fields})
				for range 2 { // the second time, what the first line taught is used
					if record, verdict := p.Parse([]byte(line)); verdict != accesslog.Parsed || record.Addr.String() != want {
						t.Errorf("%s: %v, verdict %d: %s", layout, record.Addr, verdict, line)
					}
				}
				if fields != 0 && statusText(p.Values()) != "404" {
					t.Errorf("%s: status %s: %s", layout, statusText(p.Values()), line)
				}
			}
		}
	}
}
