package accesslog_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"skidway/distribute/accesslog"
	"skidway/distribute/accesslog/formats"
)

// allFields are the fields that can be asked for.
var allFields = []accesslog.Field{
	accesslog.Address, accesslog.Time, accesslog.Status, accesslog.Method, accesslog.Host, accesslog.Path, accesslog.Protocol,
	accesslog.Referrer, accesslog.Agent, accesslog.User, accesslog.Bytes, accesslog.Duration, accesslog.Country,
}

// valuesOf returns the fields of the last line, as name=value.
func valuesOf(t *testing.T, format string, o accesslog.Options, lines string) string {
	t.Helper()
	f, err := accesslog.ByName(format)
	if err != nil {
		t.Fatal(err)
	}
	o.Fields = accesslog.Fields(allFields...)
	p := f.New(o)
	var verdict accesslog.Verdict
	for line := range strings.SplitSeq(lines, "\n") {
		_, verdict = p.Parse([]byte(line))
	}
	if verdict != accesslog.Parsed {
		t.Fatalf("%s: verdict %d: %s", format, verdict, lines)
	}
	v := p.Values()
	texts := []string{instantText(v), statusText(v)}
	for _, field := range allFields {
		switch field {
		case accesslog.Address, accesslog.Time, accesslog.Status, accesslog.Bytes, accesslog.Duration:
			continue
		}
		if value, ok := v.Get(field); ok {
			texts = append(texts, fmt.Sprintf("%s=%s", field, value))
		}
	}
	if n, ok := v.Bytes(); ok {
		texts = append(texts, fmt.Sprintf("%d B", n))
	}
	if d, ok := v.Duration(); ok {
		texts = append(texts, d.String())
	}
	return strings.Join(texts, " ")
}

func TestFieldsOfEveryFormatAreRead(t *testing.T) {
	t.Parallel()
	for _, f := range formats.All {
		if got := valuesOf(t, f.Name, accesslog.Options{}, f.Example); got != f.Reads {
			t.Errorf("%s:\n%s\nwant\n%s", f.Name, got, f.Reads)
		}
	}
}

func TestFieldsOfOtherLinesAreRead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ format, lines, want string }{
		{"combined", `8.8.8.8 - - ` + stamp + ` "GET /a b \"c\" HTTP/2.0" 304 - "" "-"`,
			`2000-10-10T13:55:36-07:00 304 method=GET path=/a b \"c\" protocol=HTTP/2.0 referrer=`},
		{"combined", `8.8.8.8 - van dyke ` + stamp + ` "GET /" 200 12 "https://example.org/"`,
			`2000-10-10T13:55:36-07:00 200 method=GET path=/ referrer=https://example.org/ user=van dyke 12 B`},
		{"combined", `client.example.net - - ` + stamp + ` "-" 408 -`, "2000-10-10T13:55:36-07:00 408"},
		{"docker:combined", wrap["docker"](`8.8.8.8 - - ` + stamp + ` "GET /\\" 200 1 "r" "a"`),
			`2000-10-10T13:55:36-07:00 200 method=GET path=/\\ referrer=r agent=a 1 B`},
		{`%h %t %D %{CF-IPCountry}i "%U"`, `8.8.8.8 ` + stamp + ` 1500 DE ""`, "2000-10-10T13:55:36-07:00 - path= country=DE 1.5ms"},
		{`$remote_addr $msec $request_time $geoip_country_code`, `8.8.8.8 1693840791.756 0.0000015 DE`, "2023-09-04T15:19:51Z - country=DE 1µs"},
		{"json(address=ip,time=at,duration=d)", `{"ip":"8.8.8.8","at":"2000-10-10T00:00:00","d":"12ms"}`, "2000-10-10T00:00:00 - 12ms"},
		{"combined", `8.8.8.8 - - ` + stamp + ` "GET http://example.org?q HTTP/1.1" 200 1`, "2000-10-10T13:55:36-07:00 200 method=GET host=example.org path=http://example.org?q protocol=HTTP/1.1 1 B"},
		{"combined", `8.8.8.8 - - ` + stamp + ` "GET r?to=https://example.org/ HTTP/1.1" 200 1`, "2000-10-10T13:55:36-07:00 200 method=GET path=r?to=https://example.org/ protocol=HTTP/1.1 1 B"},
		{"combined", `8.8.8.8 - - ` + stamp + ` "CONNECT example.org:443 HTTP/1.1" 200 1`, "2000-10-10T13:55:36-07:00 200 method=CONNECT host=example.org:443 path=example.org:443 protocol=HTTP/1.1 1 B"},
		{"combined", `8.8.8.8 - - ` + stamp + ` "GET a:b HTTP/1.1" 200 1`, "2000-10-10T13:55:36-07:00 200 method=GET path=a:b protocol=HTTP/1.1 1 B"},
		{"combined", `8.8.8.8 - - ` + stamp + ` "GET /a://b HTTP/1.1" 200 1`, "2000-10-10T13:55:36-07:00 200 method=GET path=/a://b protocol=HTTP/1.1 1 B"},
		{"cloudflare", `{"ClientIP":"8.8.8.8","EdgeStartTimestamp":1693840791000000000,"EdgeEndTimestamp":1693840792250000000,"ClientCountry":"de"}`,
			"2023-09-04T15:19:51Z - country=de 1.25s"},
		{"w3c", "#Fields: date time c-ip time-taken\n2000-10-10 00:00:01 8.8.8.8 31", "2000-10-10T00:00:01Z - 31ms"},
		{"w3c", "#Fields: date time c-ip time-taken\n2000-10-10 00:00:01 8.8.8.8 0.031", "2000-10-10T00:00:01Z - 31ms"},
		{"w3c", "#Fields: date-local time-local c-ip\n2000-10-10 00:00:01 8.8.8.8", "2000-10-10T00:00:01 -"},
		{"w3c", "#GMT-Offset: -0800\n#Fields: date-local time-local c-ip\n2000-10-10 00:00:01 8.8.8.8", "2000-10-10T00:00:01-08:00 -"},
		{"w3c", "#Fields: date-local time-local date time c-ip\n2000-10-10 02:00:01 2000-10-10 00:00:01 8.8.8.8", "2000-10-10T00:00:01Z -"},
		{"aws-alb", `http 2018-07-02T22:23:00.186641Z app/a 8.8.8.8:2817 - -1 -1 -1 000 - 34 366 "- http://host:80- -" "-" - - - "-" "-" "-" 0`,
			"2018-07-02T22:23:00Z - host=host:80 path=http://host:80 366 B"},
		{"envoy", `[2021-02-11T16:29:24.123Z] "- - -" 0 - 0 23 4 3 "8.8.8.8" "curl/8.5" "c2b1b2b5" "www.example.org" "10.0.0.9:8080"`,
			"2021-02-11T16:29:24Z - host=www.example.org agent=curl/8.5 23 B 4ms"},
		{"envoy", `[2020-05-13T22:03:44.187Z] "GET / HTTP/1.1" 200 - "-" 0 547 5 4 "8.8.8.8" "Mozilla/5.0 (X11; x 1 2)" "c2b1b2b5" "www.example.org" "10.0.0.9:8080" inbound|8000||`,
			"2020-05-13T22:03:44Z 200 method=GET host=www.example.org path=/ protocol=HTTP/1.1 agent=Mozilla/5.0 (X11; x 1 2) 547 B 5ms"},
		{"envoy", `[2020-05-13T22:03:44.187Z] "GET / HTTP/1.1" 503 UF "-" "TLS error: x y" 0 547 5 - "8.8.8.8" "curl/7" "c2b1b2b5" "www.example.org" "10.0.0.9:8080" inbound|8000||`,
			"2020-05-13T22:03:44Z 503 method=GET host=www.example.org path=/ protocol=HTTP/1.1 agent=curl/7 547 B 5ms"},
		{"envoy", `[2021-02-11T16:29:24.123Z] "GET / HTTP/1.1" 200 - 0 23 4 3 "8.8.8.8" "Mozilla/5.0 (X11; x 1 2) y" "c2b1b2b5" "www.example.org" "10.0.0.9:8080" "-"`,
			"2021-02-11T16:29:24Z 200 method=GET host=www.example.org path=/ protocol=HTTP/1.1 agent=Mozilla/5.0 (X11; x 1 2) y 23 B 4ms"},
		{"envoy", `[2020-05-13T22:03:44.187Z] "GET / HTTP/1.1" 200 - "-" "-" 0 547 5 4 "8.8.8.8" "curl/7" "c2b1b2b5" "www.example.org" "10.0.0.9:8080"`,
			"2020-05-13T22:03:44Z 200 method=GET host=www.example.org path=/ protocol=HTTP/1.1 agent=curl/7 547 B 5ms"},
		{"azure", `{"time":"2021-06-09T19:22:55Z","properties":{"clientIp":"8.8.8.8","httpMethod":"GET","httpStatus":200,"requestUri":"\/a\u0026b\u00e9\u0022\\\/\u0151\u000a\u00","httpVersion":"HTTP\/1.1"}}`,
			`2021-06-09T19:22:55Z 200 method=GET path=/a&bé\u0022\\/\u0151\u000a\u00 protocol=HTTP/1.1`},
		{"nginx-json", `{"time_local":"20\/Nov\/2026:14:00:05 +0000","remote_addr":"8.8.8.8","request":"GET \/a HTTP\/1.1","status":200}`,
			"2026-11-20T14:00:05Z 200 method=GET path=/a protocol=HTTP/1.1"},
		{"squid", `1286536309.586    921 8.8.8.8 TCP_MISS/200 507 GET http://www.example.org/a, - HIER_DIRECT/192.0.2.1 text/html`,
			"2010-10-08T11:11:49Z 200 method=GET host=www.example.org path=http://www.example.org/a, 507 B 921ms"},
		{`$remote_addr $msec $upstream_response_time $status $host`, `8.8.8.8 1693840791.756 0.1, 0.2 200 a`, "2023-09-04T15:19:51Z 200 host=a"},
		{`$remote_addr $msec $http_x_original_forwarded_for $status $host`, `8.8.8.8 1693840791.756 1.1.1.1, 10.0.0.1 200 a`, "2023-09-04T15:19:51Z 200 host=a"},
		{`$remote_addr - $remote_user [$time_local] $status`, `8.8.8.8 - a, ` + stamp + ` 200`, "2000-10-10T13:55:36-07:00 200 user=a,"},
		{`%h %t %{X-Forwarded-For}i %>s`, `8.8.8.8 ` + stamp + ` 1.1.1.1, 10.0.0.1 200`, "2000-10-10T13:55:36-07:00 200"},
		{"azure", `{"time":"2017-04-26T19:27:38Z","category":"ApplicationGatewayAccessLog","properties":{"clientIP":"8.8.8.8","timeTaken":205,"host":"app.azurewebsites.net","originalHost":"www.contoso.com"}}`,
			"2017-04-26T19:27:38Z - host=www.contoso.com 205ms"},
		{"azure", `{"time":"2021-12-15T03:36:54.0059097Z","category":"FrontdoorAccessLog","properties":{"clientIp":"8.8.8.8","timeTaken":"3.603"}}`, "2021-12-15T03:36:54Z - 3.603s"},
		{"caddy", `{"ts":1693840791.75,"request":{"client_ip":"8.8.8.8"},"duration":"1h1m2.5s"}`, "2023-09-04T15:19:51Z - 1h1m2.5s"},
		{"cloudfront", "#Fields: date time x-edge-location c-ip cs(Host) x-host-header cs-protocol cs-protocol-version\n2020-12-10 02:42:28 IAD89-C3 8.8.8.8 dv5b3tnel772.cloudfront.net stop.lying.cloud https HTTP/2.0",
			"2020-12-10T02:42:28Z - host=stop.lying.cloud protocol=HTTP/2.0"},
		{"w3c", "#Fields: date time x-host-header cs(Host) cs(Host) cs-uri-stem cs-uri c-ip\n2020-12-10 02:42:28 a b c d e 8.8.8.8", "2020-12-10T02:42:28Z - host=a path=e"},
		{"w3c", "#Fields: date time cs(Host) cs(Host) c-ip c-ip\n2020-12-10 02:42:28 b c 8.8.8.8 1.1.1.1", "2020-12-10T02:42:28Z - host=b"},
		{"w3c", "#Fields: timestamp c-ip sc-status x-edge-location\n1594939200 8.8.8.8 200 LAX1", "2020-07-16T22:40:00Z 200"},
		{"cloudfront", "#Fields: timestamp(ms) c-ip sc-status x-edge-location\n1594939200123 8.8.8.8 200 LAX1", "2020-07-16T22:40:00Z 200"},
	} {
		if got := valuesOf(t, c.format, accesslog.Options{}, c.lines); got != c.want {
			t.Errorf("%s %s:\n%s\nwant\n%s", c.format, c.lines, got, c.want)
		}
	}
}

func TestTimesWithoutAZoneHaveTheirLocalOne(t *testing.T) {
	t.Parallel()
	local := accesslog.Options{Local: newYork(t)}
	for _, c := range []struct{ format, lines, want string }{
		{"json(address=ip,time=at)", `{"ip":"8.8.8.8","at":"2000-10-10T00:00:00"}`, "2000-10-10T00:00:00-04:00 -"},
		{"w3c", "#Fields: date-local time-local c-ip\n2000-10-10 00:00:01 8.8.8.8", "2000-10-10T00:00:01-04:00 -"},
		{"w3c", "#Fields: date time c-ip\n2000-10-10 00:00:01 8.8.8.8", "2000-10-10T00:00:01Z -"},
	} {
		if got := valuesOf(t, c.format, local, c.lines); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.lines, got, c.want)
		}
	}
}

func TestLocalColumnsAreOnTheDayOfTheirOffset(t *testing.T) {
	t.Parallel()
	const line = "2000-10-10 23:00:00 8.8.8.8"
	for header, want := range map[string]string{
		"#GMT-Offset: -0800\n#Fields: date-local time-local c-ip": "2000-10-11",
		"#Fields: date-local time-local c-ip":                     "2000-10-10",
		"#GMT-Offset: -0800\n#Fields: date time c-ip":             "2000-10-10",
	} {
		p := parser(t, "w3c", time.UTC)
		for part := range strings.SplitSeq(header, "\n") {
			p.Parse([]byte(part))
		}
		next := resumed(t, "w3c", accesslog.Options{Zone: time.UTC, State: p.State()})
		for _, p := range []accesslog.Parser{p, next} {
			if record, _ := p.Parse([]byte(line)); record.Day.String() != want {
				t.Errorf("%s: %s, want %s", header, record.Day, want)
			}
		}
	}
}

func resumed(t *testing.T, format string, o accesslog.Options) accesslog.Parser {
	t.Helper()
	f, err := accesslog.ByName(format)
	if err != nil {
		t.Fatal(err)
	}
	return f.New(o)
}

// The mask must not change what is parsed.
func TestLinesAreParsedAlikeWithAndWithoutFields(t *testing.T) {
	t.Parallel()
	lines := []string{"", "x", "{", `{"remote_addr":"8.8.8.8","time":971181336`, "8.8.8.8 2000-10-10"}
	for _, f := range accesslog.Formats() {
		for line := range strings.SplitSeq(f.Example(), "\n") {
			for cut := range len(line) {
				lines = append(lines, line[:cut])
			}
		}
	}
	for _, f := range accesslog.Formats() {
		plain, full := f.New(accesslog.Options{}), f.New(accesslog.Options{Fields: accesslog.Fields(allFields...)})
		for _, line := range lines {
			record, verdict := plain.Parse([]byte(line))
			if other, v := full.Parse([]byte(line)); other != record || v != verdict {
				t.Fatalf("%s: %v %d without fields, %v %d with them: %q", f.Name(), record, verdict, other, v, line)
			}
		}
	}
}

func TestTrustedProxiesChooseTheClient(t *testing.T) {
	t.Parallel()
	const list = `1.1.1.1, 10.9.9.9:80, unknown, 8.8.8.8, [2600::1]:443, 10.0.0.1`
	long := strings.Repeat("9.9.9.9, ", 200) + "8.8.8.8, 10.0.0.1"
	for _, c := range []struct{ trusted, list, want string }{
		{"", list, "1.1.1.1"},
		{"1", list, "10.0.0.1"},
		{"2", list, "2600::1"},
		{"3", list, "8.8.8.8"},
		{"4", list, "-"},
		{"6", list, "1.1.1.1"},
		{"7", list, "1.1.1.1"},
		{"10.0.0.0/8", list, "2600::1"},
		{"10.0.0.1, 2600::/16", list, "8.8.8.8"},
		{"10.0.0.0/8,2600::/16,8.8.8.8", list, "-"},
		{"0.0.0.0/0", "8.8.8.8, 10.0.0.1", "8.8.8.8"},
		{"2", "8.8.8.8", "8.8.8.8"},
		{"10.0.0.0/8", "10.0.0.1", "10.0.0.1"},
		{"2", long, "8.8.8.8"},
		{"10.0.0.0/8", long, "8.8.8.8"},
		{"100", long, "9.9.9.9"},
	} {
		proxies, err := accesslog.ParseTrustedProxies(c.trusted)
		if err != nil {
			t.Fatal(err)
		}
		for format, line := range map[string]string{
			"combined":                      c.list + ` - - ` + stamp + request,
			"minimal":                       c.list + ` 2000-10-10`,
			"$http_x_forwarded_for|$msec|x": c.list + "|1693840791.756|x",
		} {
			record, verdict := resumed(t, format, accesslog.Options{Proxies: proxies}).Parse([]byte(line))
			if got := addrText(record.Addr); verdict != accesslog.Parsed || got != c.want {
				t.Errorf("%s trusts %q: %s (verdict %d), want %s of %.60s", format, c.trusted, got, verdict, c.want, c.list)
			}
		}
		if again, err := accesslog.ParseTrustedProxies(proxies.String()); err != nil || again.String() != proxies.String() {
			t.Errorf("%q is written as %q: %v", c.trusted, proxies, err)
		}
	}
	for _, bad := range []string{"0", "-1", "101", "x", "10.0.0.0/33", "10.0.0.1,"} {
		if _, err := accesslog.ParseTrustedProxies(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
	if accesslog.IsPublic(netip.Addr{}) {
		t.Error("no address is public")
	}
}
