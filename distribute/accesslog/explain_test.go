package accesslog_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"skidway/distribute/accesslog"
)

func TestEveryExampleIsExplained(t *testing.T) {
	t.Parallel()
	for _, f := range accesslog.Formats() {
		lines := byteLines([]string{f.Example()})
		e := accesslog.Explain(lines)
		if !e.Fits || e.Format.Name() != f.Name() || e.Votes != 1 || e.Lines != 1 || e.Unsure() {
			t.Errorf("%s is explained as %s, %+v", f.Name(), e.Format.Name(), e)
		}
		explain := e.Format.Explainer()
		var last accesslog.LineExplanation
		for _, line := range lines {
			last = explain(line)
		}
		if last.Verdict != accesslog.Parsed || last.Problem != "" || last.Record.Addr.String() != "203.0.113.7" {
			t.Errorf("%s: %+v", f.Name(), last)
		}
		found := false
		for _, field := range last.Fields {
			found = found || strings.Contains(field.Value, "203.0.113.7")
		}
		if !found {
			t.Errorf("%s: no field has the address: %+v", f.Name(), last.Fields)
		}
	}
}

func TestExplanationNamesWhatDoesNotMatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ line, format, problem string }{
		{`8.8.8.8 - - [10/Foo/2000:13:55:36 -0700] "GET /" 200 23`, "combined", `$time_local is no time: "10/Foo/2000:13:55:36 -0700"`},
		{`{"ip":"8.8.8.8","at":"2000-10-10T00:00:00Z"}`, "json", "it has no key that is known for the address"},
		{`level=info ip=8.8.8.8 at=2000-10-10T00:00:00Z`, "logfmt", "it has no key that is known for the address"},
		{`{"log":"{\"ip\":\"8.8.8.8\",\"at\":1}\n","stream":"stdout","time":"x"}`, "docker:json", "it has no key that is known for the address"},
		{"2026-11-20T14:00:05Z stdout F level=info ip=8.8.8.8 at=1", "cri:logfmt", "it has no key that is known for the address"},
		{`{"message":"started","ip":"8.8.8.8"}`, "json", "it has no key that is known for the address"},
		{`{"ClientIP":"8.8.8.8","EdgeResponseStatus":200}`, "cloudflare", "it has no key EdgeStartTimestamp for the time"},
		{`{"time_iso8601":"10/10/2025 13:55","remote_addr":"8.8.8.8","status":200}`, "nginx-json", `time_iso8601 is no time: "10/10/2025 13:55"`},
		{`{"time_iso8601":"10\/10\/2025 13:55","remote_addr":"8.8.8.8","status":200}`, "nginx-json", `time_iso8601 is no time: "10/10/2025 13:55"`},
		{`{"time_iso8601":"2025-10-10T13:55:36Z","remote_addr":"8.8.8.8","status":"bad gateway"}`, "nginx-json", `status is no number: "bad gateway"`},
		{`{"ts":1693840791.75,"logger":"http.log.error","request":{"client_ip":"8.8.8.8"}}`, "caddy", "the logger http.log.error writes no requests: http.log.access does"},
		{`{"time":"2017-03-20T15:52:09Z","category":"ApplicationGatewayFirewallLog","properties":{"clientIp":"8.8.8.8","requestUri":"/"}}`, "azure", "the category ApplicationGatewayFirewallLog writes no requests: AccessLog does"},
		{`{"timestamp":"2025-10-10T13:55:36Z","client_ip":"8.8.8.8","event":"login_failed"}`, "nginx-json", "it has neither a status nor a part of the request"},
		{`8.8.8.8 - - [10/Oct/2000:13:55:36 MST] "GET / HTTP/1.1" OK 23 "-" "-"`, "combined", `$time_local is no time: "10/Oct/2000:13:55:36 MST"`},
		{`8.8.8.8, -, 25/12/2001, 7:55:20, W3SVC2, SERVER, 192.0.2.1, 45, 1, 3, 200, 0, GET, /x, -,`, "iis", `$date_mdy is no date: "25/12/2001"`},
		{`8.8.8.8, -, 12/25/2001, 7:65:20, W3SVC2, SERVER, 192.0.2.1, 45, 1, 3, 200, 0, GET, /x, -,`, "iis", `$clock is no time of day: "7:65:20"`},
		{`{"date":"14/11/2024","time":"21:02:31","x-edge-location":"LAX1","c-ip":"8.8.8.8","sc-status":"200"}`, "cloudfront-json", `date is no date: "14/11/2024"`},
		{"\x7fELF", "combined", `no " " after $remote_addr, which begins with "\x7fELF"`},
	} {
		e := accesslog.Explain([][]byte{[]byte(c.line)})
		if e.Fits || e.Format.Name() != c.format {
			t.Errorf("%s: fits %v, format %s; want %s", c.line, e.Fits, e.Format.Name(), c.format)
		}
		if got := e.Format.Explainer()([]byte(c.line)); got.Problem != c.problem {
			t.Errorf("%s: %+v; want the problem %s", c.line, got, c.problem)
		}
	}
	err := choiceError(`8.8.8.8 - - [10/Foo/2000:13:55:36 -0700] "GET /" 200 23`)
	if unknown, ok := errors.AsType[*accesslog.NoFormatError](err); !ok || !errors.Is(err, accesslog.ErrNoFormat) ||
		unknown.Nearest != "combined" || !strings.HasPrefix(unknown.Problem, "$time_local is no time") {
		t.Errorf("%v", err)
	}
	w3c, err := accesslog.ByName("w3c")
	if err != nil {
		t.Fatal(err)
	}
	explain := w3c.Explainer()
	for line, want := range map[string]string{"2000-10-10 8.8.8.8": "no #Fields line", "": "blank"} {
		if e := explain([]byte(line)); !strings.Contains(e.Problem, want) {
			t.Errorf("%q: %+v", line, e)
		}
	}
	explain([]byte("#Fields: date time s-ip"))
	if e := explain([]byte("2000-10-10 10:00:00 8.8.8.8")); !strings.Contains(e.Problem, "no column with the address of the client (c-ip)") {
		t.Errorf("%+v", e)
	}
}

func TestColumnsThatAreNotLoggedAreNamed(t *testing.T) {
	t.Parallel()
	for lines, problem := range map[string]string{
		"#Version: 1.0\n#Fields: date time s-ip cs-method sc-status\n2015-01-13 00:32:17 192.0.2.1 GET 200":                 "#Fields names no column with the address of the client (c-ip)",
		"#Fields: date time s-ip cs-method\n2015-01-13 00:32:17 192.0.2.1 GET /robots.txt - 80 - 8.8.8.8 Mozilla/5.0 404 0": "#Fields names no column with the address of the client (c-ip)",
		"#Fields: c-ip cs-method sc-status\n8.8.8.8 GET 200":                                                                "#Fields names no column with the time",
		"#Fields: date time c-ip sc-status\n2015-01-13 00:32:17 8.8.8.8":                                                    "the line ends before the column sc-status",
		"#Fields: date time c-ip sc-status\n13/01/2015 00:32:17 8.8.8.8 200":                                                "date is no date: \"13/01/2015\"",
		"#Fields: date time c-ip sc-status\n2015-01-13 25:32:17 8.8.8.8 200":                                                "time is no time of day: \"25:32:17\"",
	} {
		err := choiceError(strings.Split(lines, "\n")...)
		if unknown, ok := errors.AsType[*accesslog.NoFormatError](err); !ok || unknown.Nearest != "w3c" || unknown.Problem != problem {
			t.Errorf("%q: %v", lines, err)
		}
	}
}

func TestKeysOfTheUserAreRead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ format, line string }{
		{"json(address=client.ip,time=at)", `{"at": 971181336, "client": {"ip": "8.8.8.8:80", "name": "x"}}`},
		{"json(address=ip,time=at)", `{"note":"a \"b\" {","list":[1,{"ip":"1.1.1.1"}],"ip":"8.8.8.8","at":"0971181336"},`},
		{"json(address=ip,time=at)", "\ufeff[{\"ip\" : [\"8.8.8.8\"] , \"at\" : 0971181336}"},
		{"json(address=ip,time=at)", `{"ip":"/8.8.8.8:51234","at":"2000-10-10T00:00:00Z"}`}, // as Java writes it
		{"json(address=client.ip,time=at)", `{"client.ip":"8.8.8.8","at":"2000-10-10T00:00:00Z"}`},
		{"json(address=ip,time=at)", `{"ip":"8.8.8.8","at":"2000-10-10T00:00:00Z","cut":"of`},
		{"logfmt(address=fwd,time=at)", `2012 at=2000-10-10T12:00:00Z method=GET path="/ \" fwd=1.1.1.1" fwd="8.8.8.8, 10.0.0.1" dyno=web.1`},
		{"json(address=ip,date=day,clock=hour)", `{"hour":"13:55:36","ip":"8.8.8.8","day":"2000-10-10"}`},
		{"logfmt(address=ip,date=d,clock=t)", "d=2000-10-10 ip=8.8.8.8 t=13:55:36"},
		{"logfmt(address=ip,time=time)", "ip=8.8.8.8 time=\"2000-10-10 12:00:00\"\r"},
		{"docker:logfmt(address=ip,time=time)", `{"log":"ip=8.8.8.8 time=\"2000-10-10 12:00:00\"\n","stream":"stdout"}`},
	} {
		p := parser(t, c.format, nil)
		record, verdict := p.Parse([]byte(c.line))
		if strings.Contains(c.line, " 971181336") { // of nine digits: no time
			if verdict != accesslog.Unparsable {
				t.Errorf("%s: %d", c.line, verdict)
			}
			continue
		}
		if verdict != accesslog.Parsed || record.Addr.String() != "8.8.8.8" || record.Day.String() != "2000-10-10" {
			t.Errorf("%s: %d, %v", c.line, verdict, record)
		}
		if f, err := accesslog.ByName(c.format); err != nil || f.Name() != c.format {
			t.Errorf("%s has the name %s, %v", c.format, f.Name(), err)
		}
	}
	for line, want := range map[string]accesslog.Verdict{
		`[{"ip":"8.8.8.8","at":1760097336}`: accesslog.Parsed, `[ {"ip":"8.8.8.8","at":1760097336} ],`: accesslog.Parsed,
		`[{"ip":"8.8.8.8","at":1760097336}, {"ip":"8.8.4.4","at":1760097336}]`: accesslog.Unparsable, // it would be one of two
	} {
		if _, verdict := parser(t, "json(address=ip,time=at)", nil).Parse([]byte(line)); verdict != want {
			t.Errorf("%s: %d", line, verdict)
		}
	}
	for _, line := range []string{`2026-11-20T14:00:05Z INFO main starting server on port 8080 with pid 77 "x"`} {
		if f, err := accesslog.Detect([][]byte{[]byte(line)}); err == nil {
			t.Errorf("%s is detected as %s", line, f.Name())
		}
	}
	for _, bad := range []string{"json(address=ip,time=ip)", "json(address=ip,address=x,time=at)", "json", "json(address=ip)", "json(address=ip,time=)", "json(adress=ip,time=at)", "json(address=ip,date=d)", "logfmt(address=ip,time=at", "docker:json(time=at)"} {
		if _, err := accesslog.ByName(bad); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}

// A server behind a proxy logs the client's address in a column of its own.
func TestColumnsOfTheUserAreRead(t *testing.T) {
	t.Parallel()
	const head = "#Fields: date time c-ip cs-uri-stem sc-status X-Forwarded-For cs(X-Forwarded-For) x-timestamp"
	const line = `2025-10-10 23:55:36 10.0.0.1 /x 404 8.8.8.8,+1.1.1.1 "8.8.4.4:80, 10.0.0.2" 1760227200`
	for _, c := range []struct{ format, want string }{
		{"w3c", "10.0.0.1 2025-10-10 404"},
		{"w3c(address=X-Forwarded-For)", "8.8.8.8 2025-10-10 404"},
		{"w3c(address=cs(X-Forwarded-For))", "8.8.4.4 2025-10-10 404"},
		{"w3c(time=x-timestamp)", "10.0.0.1 2025-10-12 404"},
		{"w3c(address=X-Forwarded-For,status=cs-uri-stem)", "8.8.8.8 2025-10-10 -"},
		{"syslog:w3c(address=X-Forwarded-For)", "8.8.8.8 2025-10-10 404"},
	} {
		f, err := accesslog.ByName(c.format)
		if err != nil || f.Name() != c.format {
			t.Fatalf("%s has the name %s, %v", c.format, f.Name(), err)
		}
		for _, o := range []accesslog.Options{{}, {Fields: accesslog.Fields(accesslog.Status)}} {
			p := f.New(o)
			for range 2 {
				p.Parse([]byte(head))
				record, verdict := p.Parse([]byte(line))
				got := fmt.Sprint(record.Addr, " ", record.Day, " ")
				if o.Fields != 0 {
					got += statusText(p.Values())
				}
				if verdict != accesslog.Parsed || got != c.want && (o.Fields != 0 || !strings.HasPrefix(c.want, got)) {
					t.Errorf("%s: %s, verdict %d; want %s", c.format, got, verdict, c.want)
				}
				o.State = p.State()
				p = f.New(o)
			}
		}
	}
	proxies, err := accesslog.ParseTrustedProxies("1")
	if err != nil {
		t.Fatal(err)
	}
	f, _ := accesslog.ByName("w3c(address=X-Forwarded-For)")
	p := f.New(accesslog.Options{Proxies: proxies})
	p.Parse([]byte(head))
	if record, _ := p.Parse([]byte(line)); record.Addr.String() != "1.1.1.1" {
		t.Errorf("behind a proxy: %v", record.Addr)
	}
	p.Parse([]byte("#Fields: date time c-ip"))
	if problem := f.Mismatch([][]byte{[]byte("#Fields: date time c-ip"), []byte("2025-10-10 23:55:36 10.0.0.1")}); !strings.Contains(problem, "(X-Forwarded-For)") {
		t.Error(problem)
	}
	for _, bad := range []string{"w3c(adress=x)", "w3c(address=a b)", "w3c(address=a,time=a)", "w3c()"} {
		if _, err := accesslog.ByName(bad); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}

func TestSuggestedLayoutReadsItsOwnLines(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ line, layout string }{
		{`2025-10-10 13:55:36,123 INFO web 8.8.8.8 GET /x 200`, `$time_iso8601 $field3 $field4 $remote_addr $request_method $request_uri $status`},
		{`{"log":"2025-10-10 13:55:36,123 INFO web 8.8.8.8 GET /x\n","stream":"stdout","time":"2025-10-10T13:55:36Z"}`, `docker:$time_iso8601 $field3 $field4 $remote_addr $request_method $request_uri`},
		{`2025-10-10T13:55:36+02:00 8.8.8.8 GET /x 200`, `$time_iso8601 $remote_addr $request_method $request_uri $status`},
		{`2025-10-10T13:55:36.123+02:00 GET /x 200 8.8.8.8 15`, `$time_iso8601 $request_method $request_uri $status $remote_addr $rest`},
		{"2025-10-10T13:55:36Z\t8.8.8.8\tGET\t/x\t200", "$time_iso8601\t$remote_addr\t$request_method\t$request_uri\t$status"},
		{`2025-10-10T13:55:36Z 10/Oct/2025:13:55:36 +0000 8.8.8.8 GET /x`, `timestamp:$time_local $remote_addr $request_method $request_uri`},
		{`2025-10-10T13:55:36Z stdout F INFO:     8.8.8.8:52134 - "GET /x HTTP/1.1" 200 OK`, `$time_iso8601 $field2 $field3 $field4     $remote_addr $field6 "$request" $status $rest`},
		{`10.10.2025 13:55:36.123 [main] client=8.8.8.8 "GET /x HTTP/1.1" -> 200 (12 B)`, `$time [$field3] client=$remote_addr "$request" $field6> $status $rest`},
		{`Fri Oct 10 13:55:36 2025|web|8.8.8.8|GET|/x?a=b|123|404`, `$time|$field2|$remote_addr|$request_method|$request_uri|$field6|$status`},
		{`10.10.2025;13:55;8.8.8.8;/x`, `$date;$clock;$remote_addr;$rest`},
		{`<8.8.8.8> {Fri, 10 Oct 2025 13:55:36 GMT} (GET /x?y=1) [200]`, `<$remote_addr> {$time} ($request_method $request_uri) [$status]$rest`},
		{`id 1760169336 at 10/25/2025 13:55:36 from 8.8.8.8`, `$field1 $field2 $field3 $time_mdy $field6 $remote_addr`},
		{`Oct 10, 2025 1:55:36 PM INFO 8.8.8.8`, `$time $field6 $remote_addr`},
	} {
		lines := byteLines([]string{c.line, c.line})
		nearest := accesslog.Explain(lines).Format
		layout := nearest.Wrapper() + accesslog.SuggestLayout(nearest.Unwrapped(lines)).Layout
		if layout != c.layout {
			t.Errorf("got %q, want %q: %s", layout, c.layout, c.line)
			continue
		}
		f, err := accesslog.ByName(layout)
		if err != nil {
			t.Error(err)
			continue
		}
		if record, verdict := f.New(accesslog.Options{}).Parse(lines[0]); verdict != accesslog.Parsed || record.Addr.String() != "8.8.8.8" {
			t.Errorf("%q: %+v, verdict %d", layout, record, verdict)
		}
	}
}

func TestSuggestedDatesAreAmbiguousWhereTheLinesDoNotTell(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		line, layout string
		ambiguous    bool
	}{
		{"03/04/2025 1:55:36 PM 8.8.8.8", "$time_dmy $remote_addr", true},
		{"03/14/2025 1:55:36 PM 8.8.8.8", "$time_mdy $remote_addr", false},
		{"8.8.8.8;03/04/25;13:55:36", "$remote_addr;$date_dmy;$clock", true},
		{"8.8.8.8;14/04/25;13:55:36", "$remote_addr;$date_dmy;$clock", false},
		{"8.8.8.8;03.04.25;13:55:36", "$remote_addr;$date;$clock", false},
	} {
		s := accesslog.SuggestLayout(byteLines([]string{c.line, c.line}))
		if s.Layout != c.layout || s.Ambiguous != c.ambiguous {
			t.Errorf("%s: %+v", c.line, s)
		}
	}
}

// A search that tries each word with each later one takes 20 seconds for this line.
func TestLinesOfManyDatesAreExplainedInTime(t *testing.T) {
	t.Parallel()
	const date = "2025-10-10 "
	line := []byte(date + "8.8.8.8 " + strings.Repeat(date, (128<<10)/len(date)))
	start := time.Now()
	if _, err := accesslog.Choose([][]byte{line}); err == nil {
		t.Error("a format was found")
	}
	accesslog.SuggestLayout([][]byte{line})
	if took := time.Since(start); took > 5*time.Second {
		t.Error(took)
	}
}
