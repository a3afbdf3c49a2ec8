package cuts_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"skidway/distribute/accesslog"
	"skidway/distribute/cuts"
	"skidway/distribute/geo"
)

// count counts one line of JSON by all dimensions of a line.
func countLine(t rapid.TB, settings, line string, zone *time.Location) map[string]int64 {
	t.Helper()
	s, ok := cuts.ParseSettings(settings)
	if !ok {
		t.Fatal(settings)
	}
	format, err := accesslog.ByName("nginx-json")
	if err != nil {
		t.Fatal(err)
	}
	parser := format.New(accesslog.Options{Fields: s.Fields(), Zone: zone})
	record, verdict := parser.Parse([]byte(line))
	if verdict != accesslog.Parsed {
		t.Fatalf("%s: %v", line, verdict)
	}
	c, cells := cuts.NewCounter(s, zone), map[string]int64{}
	c.Count(record.Day, geo.Country{'D', 'E'}.Index(), false, parser.Values())
	c.Cells(func(group, member string, n int64) {
		if group != cuts.AccountGroup {
			cells[group+"|"+strings.ReplaceAll(member, "\x1f", "|")] += n
		}
	})
	return cells
}

func TestLinesHaveTheValuesOfDimensions(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	const line = `{"remote_addr":"8.8.8.8","time_iso8601":"2026-11-20T14:30:01+03:00","status":"%s","request":"%s","http_host":"%s","http_referer":"%s","http_user_agent":"%s","body_bytes_sent":"700","request_time":"0.030"}`
	google := "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
	for _, c := range []struct {
		by, want                               string
		status, request, host, referrer, agent string
		zone                                   *time.Location
	}{
		{by: "hour", want: "2026-11-20T14:00+03:00"},
		{by: "hour", zone: berlin, want: "2026-11-20T12:00+01:00"},
		{by: "continent", want: "EU"},
		{by: "status", status: "404", want: "404"},
		{by: "status", status: "-", want: "-"},
		{by: "status_class", status: "503", want: "5xx"},
		{by: "status_class", status: "000", want: "-"},
		{by: "method", request: "PURGE /a HTTP/1.1", want: "PURGE"},
		{by: "method", request: "G3T /a HTTP/1.1", want: "(invalid)"},
		{by: "method", want: "-"},
		{by: "protocol", request: "GET /a HTTP/2.0", want: "HTTP/2"},
		{by: "protocol", request: "GET /a HTTP/9", want: "-"},
		{by: "path", request: "GET http://b.example/a/b?c=d#e HTTP/1.1", want: "/a/b"},
		{by: "path", request: "GET http://b.example?c HTTP/1.1", want: "/"},
		{by: "path", request: "CONNECT example.org:443 HTTP/1.1", want: "-"},
		{by: "path", request: "CONNECT [2001:db8::1]:443 HTTP/1.1", want: "-"},
		{by: "path", request: "GET a:b HTTP/1.1", want: "a:b"},
		{by: "path:2", request: "GET /a/b/c HTTP/1.1", want: "/a/b/"},
		{by: "path:2", request: "GET /a/b HTTP/1.1", want: "/a/b"},
		{by: "path", request: "GET (x) HTTP/1.1", want: "%28x)"},
		{by: "host", host: "WWW.Example.org.:8080", want: "www.example.org.", status: "200"},
		{by: "host", host: "Example.org:80", want: "example.org"},
		{by: "host", host: "[2001:db8::1]:80", want: "[2001:db8::1]"},
		{by: "referrer_host", referrer: "https://me:x@News.Example:443/path?q", want: "news.example"},
		{by: "referrer_host", referrer: "about", want: "-"},
		{by: "referrer_host", referrer: "/search?u=https://evil.example/x", want: "-"},
		{by: "referrer_host", referrer: "www.shop.de/r?to=https://x.org/", want: "-"},
		{by: "referrer_host", referrer: "android-app://com.Example.app/", want: "com.example.app"},
		{by: "path", request: "GET r?to=https://x.org/y HTTP/1.1", want: "r"},
		{by: "host", host: "Äpfel.de", want: "äpfel.de"},
		{by: "host", host: "ÄPFEL.de", want: "äpfel.de"},
		{by: "host", host: "A\xff.de", want: "a%FF.de"},
		{by: "crawler", agent: google, want: "Googlebot"},
		{by: "crawler_class", agent: google, want: "search-engine"},
		{by: "browser", agent: google, want: "crawler"},
		{by: "crawler", agent: "Mozilla/5.0 Firefox/130.0", want: "-"},
		{by: "browser", agent: "Mozilla/5.0 Firefox/130.0", want: "Firefox"},
		{by: "country,status,path", status: "200", request: "GET / HTTP/1.1", want: "DE|200|/"},
	} {
		if c.host == "WWW.Example.org.:8080" {
			c.want = "www.example.org"
		}
		cells := countLine(t, "country-day by="+c.by, fmt.Sprintf(line, c.status, c.request, c.host, c.referrer, c.agent), c.zone)
		if want := map[string]int64{"2026-11-20|" + c.want: 1}; !maps.Equal(cells, want) {
			t.Errorf("by %s: %v, want %v", c.by, cells, want)
		}
	}
	cells := countLine(t, "country-day by=method", `{"remote_addr":"8.8.8.8","time_iso8601":"2026-11-20T14:30:01+03:00","request_method":"-"}`, nil)
	if want := map[string]int64{"2026-11-20|-": 1}; !maps.Equal(cells, want) {
		t.Errorf("a line without a method: %v, want %v", cells, want)
	}
	cells = countLine(t, "country-day by=day by=country measure=bytes,duration", fmt.Sprintf(line, "200", "GET / HTTP/1.1", "", "", ""), nil)
	want := map[string]int64{
		"2026-11-20|*": 1, "2026-11-20 0 bytes|*": 700, "2026-11-20 0 d5|*": 1,
		"2026-11-20 1|DE": 1, "2026-11-20 1 bytes|DE": 700, "2026-11-20 1 d5|DE": 1,
	}
	if !maps.Equal(cells, want) {
		t.Errorf("%v, want %v", cells, want)
	}
}

// A Counter remembers what decided the values of lines: it counts as if it saw each line first.
func TestLinesAreCountedAsIfEachWasTheFirst(t *testing.T) {
	t.Parallel()
	const settings = "country-day by=day,status,country,path,method by=host,referrer_host,crawler by=browser,crawler_class,continent,status_class,hour,protocol measure=bytes"
	s, ok := cuts.ParseSettings(settings + ` format=auto where=status < 599 && !(country in ["FR"] && method == "GET") || path startsWith "/a"`)
	format, err := accesslog.ByName("nginx-json")
	if err != nil || !ok {
		t.Fatal(err)
	}
	parser, all, want := format.New(accesslog.Options{Fields: s.Fields()}), cuts.NewCounter(s, nil), map[string]int64{}
	random := rand.New(rand.NewPCG(1, 2))
	one := func(texts ...string) string { return texts[random.IntN(len(texts))] }
	for i := range 1500 {
		path := one("", "-", "/a?b", "/a", "(x)", "%28x)", "ä", "/"+strings.Repeat("é", 200), "/"+strings.Repeat("é", 125)+"…", fmt.Sprintf("/%d", i))
		line := fmt.Sprintf(`{"remote_addr":"8.8.8.8","time_iso8601":"2026-11-%02dT%02d:30:01+03:00","status":"%s","request_method":"%s","request_uri":"%s","server_protocol":"%s","http_host":"%s","http_referer":"%s","http_user_agent":"%s","body_bytes_sent":"7"}`,
			1+random.IntN(3), random.IntN(24), one("-", "200", "404", fmt.Sprint(random.IntN(1000))), one("GET", "POST", "-", "G3T", "(invalid)", fmt.Sprintf("M%c%c", 'A'+rune(i%26), 'A'+rune(i/26%26))), path,
			one("HTTP/1.1", "HTTP/2.0", "HTTP/2", "x"), one("-", "A.org.:80", "a.org..", "a.org.", fmt.Sprintf("h%d.org", i)), one("-", "http://B.org/x", "http://b.org", "b.org", fmt.Sprintf("http://h%d.org/", i)),
			one("-", "", "Googlebot/2.1", fmt.Sprintf("Firefox/%d", i), fmt.Sprintf("curl/%d", i)))
		record, verdict := parser.Parse([]byte(line))
		if verdict != accesslog.Parsed {
			t.Fatalf("%s: %v", line, verdict)
		}
		country := geo.CountryAt(random.IntN(geo.Countries))
		if random.IntN(2) == 0 {
			country = geo.Country{'F', 'R'}
		}
		alone := cuts.NewCounter(s, nil)
		matches := alone.Matches(record.Day, country.Index(), record.Addr, parser.Values())
		if got := all.Matches(record.Day, country.Index(), record.Addr, parser.Values()); got != matches {
			t.Fatalf("%s from %s is selected: %t, want %t", line, country, got, matches)
		}
		if matches {
			all.Count(record.Day, country.Index(), false, parser.Values())
			alone.Count(record.Day, country.Index(), false, parser.Values())
		}
		alone.Cells(func(group, member string, n int64) { want[group+"|"+member] += n })
	}
	got := map[string]int64{}
	all.Cells(func(group, member string, n int64) { got[group+"|"+member] += n })
	if !maps.Equal(got, want) || len(got) < 2000 {
		t.Errorf("%d cells, want %d", len(got), len(want))
	}
}

func TestAccountHasPrivateAddressesAndCrawlersOfADay(t *testing.T) {
	t.Parallel()
	const google, people = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)", "Mozilla/5.0 Firefox/130.0"
	for settings, want := range map[string]cuts.Account{
		"country-day by=day,path by=country,crawler_class": {Counted: 1, Unknown: 3, Private: 1, Crawlers: 2},
		"country-day by=day,path by=country":               {Counted: 1, Unknown: 3, Private: 1},
		"country-day by=day,path by=path,crawler":          {Counted: 4, Crawlers: 2},
	} {
		s, ok := cuts.ParseSettings(settings)
		if !ok {
			t.Fatal(settings)
		}
		format, err := accesslog.ByName("nginx-json")
		if err != nil {
			t.Fatal(err)
		}
		parser, c := format.New(accesslog.Options{Fields: s.Fields()}), cuts.NewCounter(s, nil)
		for _, line := range []struct {
			agent, country string
			private        bool
		}{{google, "DE", false}, {google, "ZZ", false}, {people, "ZZ", true}, {people, "ZZ", false}} {
			record, _ := parser.Parse([]byte(`{"remote_addr":"8.8.8.8","time_iso8601":"2026-11-20T14:30:01+03:00","status":"200","http_user_agent":"` + line.agent + `"}`))
			c.Count(record.Day, geo.Country([]byte(line.country)).Index(), line.private, parser.Values())
		}
		var got cuts.Account
		c.Cells(func(group, member string, n int64) {
			if day, name, _ := strings.Cut(member, " "); group == cuts.AccountGroup && day == "2026-11-20" {
				got.Add(name, n)
			}
		})
		if got != want {
			t.Errorf("%s: %+v, want %+v", settings, got, want)
		}
	}
}

func TestOriginsOfLinesAreValuesOfDimensions(t *testing.T) {
	t.Parallel()
	s, _ := cuts.ParseSettings("country-day by=file,format,asn")
	c := cuts.NewCounter(s, nil)
	c.Origin.File = "(a)\n"
	cells := map[string]int64{}
	for _, o := range []cuts.Origin{{Format: "combined"}, {Format: "caddy", Network: 4_294_967_295}, {Format: "combined", Network: 13335}, {Format: "combined"}} {
		c.Origin.Format, c.Origin.Network = o.Format, o.Network
		c.Count(20_000, geo.Unknown.Index(), false, nil)
	}
	c.Cells(func(group, member string, n int64) {
		if group != cuts.AccountGroup {
			cells[strings.ReplaceAll(member, "\x1f", "|")] += n
		}
	})
	want := map[string]int64{"%28a)%0A|combined|-": 2, "%28a)%0A|caddy|AS4294967295": 1, "%28a)%0A|combined|AS13335": 1}
	if !maps.Equal(cells, want) {
		t.Errorf("the cells are %v, want %v", cells, want)
	}
}

func TestProtocolsHaveOneNameEach(t *testing.T) {
	t.Parallel()
	s, ok := cuts.ParseSettings("country-day by=protocol")
	format, err := accesslog.ByName("nginx-json")
	if err != nil || !ok {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"HTTP/1.0": "HTTP/1.0", "1.1.0.0": "HTTP/1.1", "HTTP/2.0": "HTTP/2", "2.0.0.0": "HTTP/2", "HTTP/3": "HTTP/3", "3.0.0.0": "HTTP/3", "2.0.0.1": "-",
	} {
		parser, counter := format.New(accesslog.Options{Fields: s.Fields()}), cuts.NewCounter(s, nil)
		record, _ := parser.Parse([]byte(`{"remote_addr":"8.8.8.8","time_iso8601":"2026-11-01T00:30:01Z","server_protocol":"` + text + `"}`))
		counter.Count(record.Day, 0, false, parser.Values())
		got := map[string]bool{}
		counter.Cells(func(_, member string, _ int64) { got[member] = true })
		if !got[want] {
			t.Errorf("%s is counted as %v, want %s", text, got, want)
		}
	}
}
