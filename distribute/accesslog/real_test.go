package accesslog_test

import (
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"skidway/distribute/accesslog"
	"skidway/distribute/accesslog/formats"
)

func TestRealLinesAreRead(t *testing.T) {
	t.Parallel()
	for _, format := range formats.All {
		for _, real := range format.Real {
			t.Run(real.Origin, func(t *testing.T) {
				t.Parallel()
				lines := byteLines([]string{real.Text})
				choice, err := accesslog.Choose(lines)
				if err != nil || choice.Format.Name() != format.Name || choice.Unsure() {
					t.Fatalf("chose %q, %d %%, %v; want %s", choice.Format.Name(), choice.Percent(), err, format.Name)
				}
				p := choice.NewAuto(accesslog.Options{Fields: accesslog.Fields(accesslog.Time, accesslog.Status)})
				var record accesslog.Record
				var verdict accesslog.Verdict
				for _, line := range lines {
					record, verdict = p.Parse(line)
				}
				if verdict != accesslog.Parsed {
					t.Fatalf("verdict %d", verdict)
				}
				if got := addrText(record.Addr); got != real.Address {
					t.Errorf("address %s, want %s", got, real.Address)
				}
				if got := instantText(p.Values()); got != real.Time {
					t.Errorf("time %s, want %s", got, real.Time)
				}
				if got := statusText(p.Values()); got != real.Status {
					t.Errorf("status %s, want %s", got, real.Status)
				}
			})
		}
	}
}

func addrText(addr netip.Addr) string {
	if !addr.IsValid() {
		return "-"
	}
	return addr.String()
}

func instantText(v *accesslog.Values) string {
	at, ok := v.Time()
	if !ok {
		return "-"
	}
	if !at.Zoned {
		return time.Unix(at.Unix, 0).UTC().Format("2006-01-02T15:04:05")
	}
	return time.Unix(at.Unix, 0).In(time.FixedZone("", at.Offset)).Format(time.RFC3339)
}

func statusText(v *accesslog.Values) string {
	status, ok := v.Status()
	if !ok {
		return "-"
	}
	return strconv.Itoa(status)
}

func TestOddLinesAreRead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ origin, format, lines, addr, day string }{
		{"Classic Load Balancer, a request that looks like a line", "aws-elb", `2015-05-13T23:39:43.945958Z my-elb 8.8.8.8:2817 10.0.0.1:80 0.000086 0.001048 0.001337 200 200 0 57 "GET http://www.example.com:80/ HTTP/1.1" "[10/Oct/2000:13:55:36 -0700]" - -
2015-05-13T23:39:43.945958Z my-elb 8.8.8.8:2817 10.0.0.1:80 0.000086 0.001048 0.001337 200 200 0 57 "GET http://www.example.com:80/ HTTP/1.1" "curl/7" - -`, "8.8.8.8", "2015-05-13"},
		{"combined after the name of a proxy", "combined", `10.0.0.1 www.example.org 203.0.113.7 - - ` + stamp + request, "203.0.113.7", "2000-10-10"},
		{"combined after the address and the name of a proxy, the client's name", "combined", `10.0.0.1 proxy www.example.org - - ` + stamp + request, "-", "2000-10-10"},
		{"combined after an address, a name, and ident with a user", "combined", `8.8.8.8 www.example.org - frank ` + stamp + request, "8.8.8.8", "2000-10-10"},
		{"ingress-nginx, a user with a bracket", "ingress-nginx", `8.8.8.8 - a [b ` + stamp + ` "GET / HTTP/1.1" 200 23 "-" "curl/8.5" 612 0.004 [default-web-80] [] 10.4.0.9:8080 23 0.004 200 5f2a`, "8.8.8.8", "2000-10-10"},
		{"W3C without dates, lines a little out of order", "w3c", "#Date: 2015-01-13 00:00:00\n#Fields: time c-ip\n10:00:05 8.8.8.8\n10:00:04 8.8.8.8\n10:00:05 8.8.8.8\n10:00:04 8.8.8.8", "8.8.8.8", "2015-01-13"},
		{"W3C without dates, a new #Date without a time", "w3c", "#Date: 2015-01-13 00:00:00\n#Fields: time c-ip\n23:59:50 8.8.8.8\n#Date: 2015-01-14\n00:00:05 8.8.8.8", "8.8.8.8", "2015-01-14"},
		{"W3C with quotes of a client, which the server does not quote", "w3c", "#Fields: date time cs-uri-query c-ip cs(User-Agent) cs-username\n2026-11-01 10:00:00 \"x 8.8.8.8 - -\n2026-11-01 10:00:00 \"a\"b 8.8.8.8 \"Mozilla -\n2026-11-01 10:00:00 \" 8.8.8.8 \"a\"\"b -", "8.8.8.8", "2026-11-01"},
		{"W3C of IIS, whose client sent the quotes around other columns", "w3c", "#Software: Microsoft Internet Information Services 10.0\n#Fields: date time cs-uri-query s-port c-ip cs(User-Agent) cs-username\n2026-11-01 10:00:00 \"x 80 8.8.8.8 Mozilla\" 1.1.1.1\n2026-11-01 10:00:01 \" 80 8.8.8.8 a\" \"1.1.1.1\"", "8.8.8.8", "2026-11-01"},
		{"W3C without dates, midnight", "w3c", "#Date: 2015-01-13 10:00:00\n#Fields: time c-ip\n23:59:50 8.8.8.8\n00:00:05 8.8.8.8\n23:59:59 8.8.8.8\n00:00:06 8.8.8.8", "8.8.8.8", "2015-01-14"},
		{"Flask, which names its errors twice, in colours", "unzoned", `8.8.8.8 - - [10/Oct/2025 13:55:35] code 404, message File not found` + "\n" + `8.8.8.8 - - [10/Oct/2025 13:55:36] "` + "\x1b[33mGET /x HTTP/1.1\x1b[0m" + `" 404 -`, "8.8.8.8", "2025-10-10"},
		{"combined without a zone", "unzoned", `8.8.8.8 - a b [10/Oct/2025:13:55:36] "GET / HTTP/1.1" 200 5 "-" "curl"`, "8.8.8.8", "2025-10-10"},
		{"Caddy with wall_milli", "caddy", `{"level":"info","ts":"2026/11/20 14:00:05.000","msg":"handled request","request":{"remote_ip":"8.8.8.8"}}`, "8.8.8.8", "2026-11-20"},
		{"a pod whose lines got a time", "timestamp:combined", `2026-11-20T14:00:05Z 8.8.8.8 - - ` + stamp + request + "\n" + `2026-11-20T14:00:05Z 8.8.8.8 - - ` + stamp + request + "\n" + `8.8.4.4 - - ` + stamp + request, "8.8.4.4", "2000-10-10"},
	} {
		t.Run(c.origin, func(t *testing.T) {
			t.Parallel()
			lines := byteLines(strings.Split(c.lines, "\n"))
			format, err := accesslog.Detect(lines)
			if err != nil || format.Name() != c.format {
				t.Fatalf("detected %q, %v; want %s", format.Name(), err, c.format)
			}
			var record accesslog.Record
			var verdict accesslog.Verdict
			var state string
			for _, line := range lines { // each may be the first of a piece
				p := format.New(accesslog.Options{State: state})
				record, verdict = p.Parse(line)
				state = p.State()
			}
			if verdict != accesslog.Parsed {
				t.Fatalf("verdict %d", verdict)
			}
			if addr := addrText(record.Addr); addr != c.addr || record.Day.String() != c.day {
				t.Errorf("%s on %s; want %s on %s", record.Addr, record.Day, c.addr, c.day)
			}
		})
	}
}

func TestWebSocketsOfRealTimeLogsAreRead(t *testing.T) {
	t.Parallel()
	format, err := accesslog.ByName("cloudfront-real-time")
	if err != nil {
		t.Fatal(err)
	}
	example := strings.Replace(format.Example(), "\t200\t", "\t101\t", 1)
	without := strings.Replace(example, "\t192.0.2.1\t", "\t", 1)
	short := strings.Join(strings.Split(without, "\t")[:9], "\t")
	p := format.New(accesslog.Options{Fields: accesslog.Fields(accesslog.Status, accesslog.Method, accesslog.Path)})
	for _, line := range []string{example, without, short} {
		for _, scheme := range []string{"wss", "ws", "http", "https"} {
			line := strings.Replace(line, "\thttps\t", "\t"+scheme+"\t", 1)
			if found, err := accesslog.Detect(byteLines([]string{line})); err != nil || found.Name() != format.Name() {
				t.Errorf("detected %q, %v: %s", found.Name(), err, line)
			}
			p.Parse([]byte(line))
			method, _ := p.Values().Get(accesslog.Method)
			path, _ := p.Values().Get(accesslog.Path)
			if status := statusText(p.Values()); status != "101" || string(method) != "GET" || string(path) != "/index.html" {
				t.Errorf("status %s, method %s, path %s: %s", status, method, path, line)
			}
		}
	}
}

func TestBytesAndDurationOfIstioAreRead(t *testing.T) {
	t.Parallel()
	format, err := accesslog.ByName("envoy")
	if err != nil {
		t.Fatal(err)
	}
	p := format.New(accesslog.Options{Fields: accesslog.Fields(accesslog.Bytes, accesslog.Duration)})
	for _, failure := range []string{"-", "TLS error: x"} {
		line := `[2020-11-25T21:26:18.409Z] "GET / HTTP/1.1" 418 - via_upstream - "` + failure +
			`" 0 135 4 3 "8.8.8.8" "curl/7.73.0-DEV" "84961386" "httpbin:8000" "127.0.0.1:80" inbound|8000|| 127.0.0.1:41854 default`
		record, _ := p.Parse([]byte(line))
		size, _ := p.Values().Bytes()
		took, _ := p.Values().Duration()
		if addrText(record.Addr) != "8.8.8.8" || size != 135 || took != 4*time.Millisecond {
			t.Errorf("%v, %d bytes, %v: %s", record.Addr, size, took, line)
		}
	}
}

func TestTimesAreReadInEveryNotation(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	// The days are those as written, in UTC, and in Berlin if times without a zone are of New York.
	for _, c := range []struct{ time, written, utc, local string }{
		{`"10/Oct/2000:20:55:36 -0700"`, "2000-10-10", "2000-10-11", "2000-10-11"},
		{`"10/Oct/2000 20:55:36"`, "2000-10-10", "2000-10-10", "2000-10-11"},
		{`"10/Oct/2000:20:55:36.123"`, "2000-10-10", "2000-10-10", "2000-10-11"},
		{`"2000-10-10T20:55:36-07:00"`, "2000-10-10", "2000-10-11", "2000-10-11"},
		{`"2000-10-10T20:55:36.123456789-0700"`, "2000-10-10", "2000-10-11", "2000-10-11"},
		{`"2000-10-10 23:55:36,123"`, "2000-10-10", "2000-10-10", "2000-10-11"},
		{`"2000-10-10 23:55:36 +0000"`, "2000-10-10", "2000-10-10", "2000-10-11"},
		{`"2000-10-10T23:55Z"`, "2000-10-10", "2000-10-10", "2000-10-11"},
		{`971221536`, "", "", ""},
		{`"0971221536"`, "2000-10-10", "2000-10-10", "2000-10-11"},
		{`1693840791.7564995`, "2023-09-04", "2023-09-04", "2023-09-04"},
		{`1693840791756`, "2023-09-04", "2023-09-04", "2023-09-04"},
		{`1693840791756499`, "2023-09-04", "2023-09-04", "2023-09-04"},
		{`1693840791756499512`, "2023-09-04", "2023-09-04", "2023-09-04"},
		{`1693840791756.4995`, "2023-09-04", "2023-09-04", "2023-09-04"},
		{`"2000/10/10 20:55:36.000"`, "2000-10-10", "2000-10-10", "2000-10-11"},
		{`16938407917564`, "", "", ""},
		{`"2000-02-30T10:00:00Z"`, "", "", ""},
		{`"2000-10-10T24:00:00Z"`, "", "", ""},
		{`"2000-10-10T10:00:61Z"`, "", "", ""},
		{`"yesterday"`, "", "", ""},
		{`null`, "", "", ""},
	} {
		format, err := accesslog.ByName("nginx-json")
		if err != nil {
			t.Fatal(err)
		}
		line := []byte(`{"remote_addr": "8.8.8.8", "time": ` + c.time + `}`)
		for want, options := range map[*string]accesslog.Options{
			&c.written: {},
			&c.utc:     {Zone: time.UTC},
			&c.local:   {Zone: berlin, Local: newYork(t)},
		} {
			p := format.New(options)
			for range 2 { // the second time it is remembered
				day := ""
				record, verdict := p.Parse(line)
				if verdict == accesslog.Parsed {
					day = record.Day.String()
				}
				if day != *want {
					t.Errorf("%s with %v: %q, want %q", c.time, options, day, *want)
				}
			}
		}
	}
}

func TestLayoutsOfServersAreAccepted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ layout, line, addr, day string }{
		{`$remote_addr - $remote_user [$time_local] "$request" $status`, `8.8.8.8 - - ` + stamp + ` "GET /" 200`, "8.8.8.8", "2000-10-10"},
		{`'$remote_addr [$time_local] '` + "\n\t" + `'"${request}" $status';`, `8.8.8.8 ` + stamp + ` "GET / \" x" 200`, "8.8.8.8", "2000-10-10"},
		{"log_format main '$remote_addr [$time_iso8601]';", `8.8.8.8 [2000-10-10T00:00:00+00:00]`, "8.8.8.8", "2000-10-10"},
		{"log_format j escape=json '{\"ip\":\"$remote_addr\",\"at\":$msec}';", `{"ip":"2600::1","at":1693840791.756}`, "2600::1", "2023-09-04"},
		{`$http_x_forwarded_for|$remote_addr|$msec`, `1.1.1.1|8.8.8.8|1693840791.756`, "8.8.8.8", "2023-09-04"},
		{`$http_x_forwarded_for $msec`, `10.0.0.1, unknown, 1.1.1.1 1693840791.756`, "1.1.1.1", "2023-09-04"},
		{`%h %l %u %t \"%r\" %>s %b`, `8.8.8.8 - - ` + stamp + ` \"GET /\" 200 23`, "8.8.8.8", "2000-10-10"},
		{`LogFormat "%v:%p %h %l %u %t \"%r\" %>s %O \"%{Referer}i\" \"%{User-Agent}i\"" vhost_combined`, `www.example.org:443 8.8.8.8 - - ` + stamp + request, "8.8.8.8", "2000-10-10"},
		{`%{X-Forwarded-For}i %t %>s`, `8.8.8.8, 10.0.0.1 ` + stamp + ` 200`, "8.8.8.8", "2000-10-10"},
		{`%a %{%Y-%m-%dT%H:%M:%S%z}t %400,501{User-Agent}i %!200,304>s %%`, `8.8.8.8 2000-10-10T13:55:36-0700 - 200 %`, "8.8.8.8", "2000-10-10"},
		{`[%{%d/%b/%Y %T}t.%{msec_frac}t %{%z}t] %h %D`, `[10/Oct/2000 13:55:36.123 -0700] 8.8.8.8 512`, "8.8.8.8", "2000-10-10"},
		{`%{sec}t %h`, `1693840791 8.8.8.8`, "8.8.8.8", "2023-09-04"},
		{`CustomLog logs/access_log "%h %l %u %t \"%r\" %>s %b"`, `8.8.8.8 - - ` + stamp + ` "GET /" 200 23`, "8.8.8.8", "2000-10-10"},
		{`customlog "|/usr/bin/rotatelogs -l log 86400" '%h %t' env=!dontlog`, `8.8.8.8 ` + stamp, "8.8.8.8", "2000-10-10"},
		{`logformat "%h %t" common`, `8.8.8.8 ` + stamp, "8.8.8.8", "2000-10-10"},
		{"log_format x '$remote_addr ' # the client; it's\n '[$time_local]'; # done", `8.8.8.8 ` + stamp, "8.8.8.8", "2000-10-10"},
		{`%h %l %u %t "%m %U%q %H" %>s %b`, `8.8.8.8 - - ` + stamp + ` "GET /a?b HTTP/1.1" 200 23`, "8.8.8.8", "2000-10-10"},
		{`$remote_addr [$time_local] $scheme$sent_http_x "$uri$is_args$args"`, `8.8.8.8 ` + stamp + ` https- "/a?b"`, "8.8.8.8", "2000-10-10"},
	} {
		format, err := accesslog.ByName(c.layout)
		if err != nil {
			t.Error(err)
			continue
		}
		record, verdict := format.New(accesslog.Options{}).Parse([]byte(c.line))
		if verdict != accesslog.Parsed || record.Addr.String() != c.addr || record.Day.String() != c.day {
			t.Errorf("%s: %d, %v; want %s on %s", c.layout, verdict, record, c.addr, c.day)
		}
	}
}

func TestPathAndItsQueryAreOneValue(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ layout, line string }{
		{`%h %t "%m %U%q %H" %>s`, `8.8.8.8 ` + stamp + ` "GET /a?b HTTP/1.1" 200`},
		{`$remote_addr [$time_local] $uri$is_args$args $status`, `8.8.8.8 ` + stamp + ` /a?b 200`},
	} {
		format, err := accesslog.ByName(c.layout)
		if err != nil {
			t.Fatal(err)
		}
		p := format.New(accesslog.Options{Fields: accesslog.Fields(accesslog.Path, accesslog.Status)})
		p.Parse([]byte(c.line))
		if path, _ := p.Values().Get(accesslog.Path); string(path) != "/a?b" || statusText(p.Values()) != "200" {
			t.Errorf("%s: path %q, status %s", c.layout, path, statusText(p.Values()))
		}
	}
}

func TestLayoutsThatCannotBeReadAreRefused(t *testing.T) {
	t.Parallel()
	for layout, want := range map[string]string{
		`$remote_addr$time_local`:                    "nothing between",
		`$time_local "$request"`:                     "no address",
		`$remote_addr "$request"`:                    "no time",
		`$binary_remote_addr $time_local`:            "not text",
		`$remote_addr [$]`:                           "no name",
		`log_format main $remote_addr $time_local;`:  "quotes",
		`log_format main '$remote_addr $time_local;`: "not closed",
		`%h %`:                                      "no letter",
		`%h %{Referer`:                              "not closed",
		`%h %{%A, the %d}t`:                         "cannot be read",
		`LogFormat %h %t`:                           "quotes",
		`LogFormat "%h %t \"%r\" %>s`:               "not closed",
		`CustomLog logs/access_log combined`:        "LogFormat of that name",
		`access_log /var/log/nginx/$host.log main;`: "log_format of that name",
		`log_format main;`:                          "quotes",
		`%h%u %t`:                                   "nothing between",
		`%h %t %u%>s`:                               "nothing between",
	} {
		if _, err := accesslog.ByName(layout); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", layout, err, want)
		}
	}
}
