package cuts_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"skidway/distribute/accesslog"
	"skidway/distribute/cuts"
	"skidway/distribute/geo"
)

const combinedLine = `192.0.2.7 - ann [20/Nov/2026:14:30:01 +0300] "GET /a/b?c=d HTTP/1.1" 503 700 "https://News.Example/x" "Mozilla/5.0 Firefox/130.0"`

const bareLine = `192.0.2.7 - - [20/Nov/2026:14:30:01 +0300] "-" 000 - "-" "-"`

// A lineTester reports whether filters select lines of the combined format.
type lineTester struct {
	parser  accesslog.Parser
	counter *cuts.Counter
}

func newLineTester(t testing.TB, where string) *lineTester {
	t.Helper()
	s, ok := cuts.ParseSettings("country-day by=day,country format=auto where=" + where)
	if !ok {
		t.Fatalf("where %s: it is no filter", where)
	}
	format, err := accesslog.ByName("combined")
	if err != nil {
		t.Fatal(err)
	}
	counter := cuts.NewCounter(s, nil)
	counter.Origin = cuts.Origin{File: "a.log", Format: "combined", Network: 13335}
	return &lineTester{format.New(accesslog.Options{Fields: s.Fields()}), counter}
}

func (l *lineTester) selects(line []byte) bool {
	record, verdict := l.parser.Parse(line)
	if verdict != accesslog.Parsed {
		return false
	}
	return l.counter.Matches(record.Day, geo.Country{'D', 'E'}.Index(), record.Addr, l.parser.Values())
}

func TestFiltersSelectLines(t *testing.T) {
	t.Parallel()
	for where, want := range map[string][2]bool{ // of combinedLine and of bareLine
		`day == "2026-11-20"`:                      {true, true},
		`week == "2026-W47" && month == "2026-11"`: {true, true},
		`hour == "2026-11-20T14:00+03:00"`:         {true, true},
		`hour != "2026-11-20T14:00" && week != ""`: {true, true},
		`country in ["DE", "FR"]`:                  {true, true},
		`continent != "EU"`:                        {false, false},
		`status >= 500`:                            {true, false},
		`status < 500`:                             {false, false},
		`status != 404`:                            {true, false},
		`asn == "AS13335" && file <= "b"`:          {true, true},
		`asn in ["AS1", ""] || file == ""`:         {false, false},
		`format == "combined"`:                     {true, true},
		`format == "vhost"`:                        {false, false},
		`status_class == ""`:                       {false, true},
		`status_class in ["4xx", "5xx"]`:           {true, false},
		`method == "GET"`:                          {true, false},
		`protocol == "HTTP/1.1"`:                   {true, false},
		`host == ""`:                               {true, true},
		`referrer_host == "news.example"`:          {true, false},
		`path == "/a/b"`:                           {true, false},
		`path startsWith "/a/"`:                    {true, false},
		`path == ""`:                               {false, true},
		`browser == "Firefox"`:                     {true, false},
		`crawler == "" && crawler_class == ""`:     {true, true},
		`address in ["192.0.2.0/24"]`:              {true, true},
		`address in ["10.0.0.0/8", "2001:db8::1"]`: {false, false},
		`address != "192.0.2.7"`:                   {false, false},
		`agent contains "Mozilla"`:                 {true, false},
		`agent == ""`:                              {false, true},
		`referrer matches "^https?://"`:            {true, false},
		`user == "ann"`:                            {true, false},
		`user != "ann"`:                            {false, true},
		`bytes > 600 && bytes <= 700`:              {true, false},
		`bytes != 1`:                               {true, false},
		`status < 600`:                             {true, false},
		`status >= 600`:                            {false, false},
		`hour >= "2026-11-20T14"`:                  {true, true},
		`duration >= "0s"`:                         {false, false},
		`!(duration >= "0s")`:                      {true, true},
	} {
		l := newLineTester(t, where)
		if got := [2]bool{l.selects([]byte(combinedLine)), l.selects([]byte(bareLine))}; got != want {
			t.Errorf("where %s: %v, want %v", where, got, want)
		}
	}
}

func TestLinesAreCountedAfterDaysOfWhichNoneIsSelected(t *testing.T) {
	t.Parallel()
	s, _ := cuts.ParseSettings("country-day by=day where=status >= 500")
	format, err := accesslog.ByName("combined")
	if err != nil {
		t.Fatal(err)
	}
	l := &lineTester{format.New(accesslog.Options{Fields: s.Fields()}), cuts.NewCounter(s, nil)}
	for _, line := range []string{strings.Replace(combinedLine, " 503 ", " 200 ", 1), strings.Replace(combinedLine, "20/Nov", "21/Nov", 1)} {
		if l.selects([]byte(line)) {
			record, _ := l.parser.Parse([]byte(line))
			l.counter.Count(record.Day, 0, false, l.parser.Values())
		}
	}
	got := ""
	l.counter.Cells(func(group, member string, n int64) { got += fmt.Sprint(group, " ", member, " ", n, "; ") })
	if filtered := fmt.Sprint(l.counter.FilteredDays()); got != "2026-11-21 * 1; accounts 2026-11-21 counted 1; " || filtered != "map[2026-11-20:1]" {
		t.Errorf("the cells are %s, filtered lines %s", got, filtered)
	}
}

func TestFilterOfLinesIsRefused(t *testing.T) {
	t.Parallel()
	for where, want := range map[string]string{
		`statsu == 500`:                   "status",
		`status == 999`:                   "there is no status 999",
		`country == "UK"`:                 "did you mean GB?",
		`continent == "XX"`:               "there is no continent",
		`path == "-"`:                     `a missing value is ""`,
		`day >= "yesterday"`:              "there is no day",
		`status_class=="6xx"`:             `status_class is never "6xx": want one of "", 1xx, 2xx, 3xx, 4xx, 5xx: did you mean 1xx?`,
		`browser == "chrome"`:             "did you mean Chrome?",
		`referrer == nil`:                 "referrer is never nil",
		`user != nil`:                     "user is never nil",
		`status in [200, nil]`:            "status is never nil",
		`address == nil`:                  "address is never nil",
		`host == nil`:                     "host is never nil",
		`protocol=="HTTP/2.0"`:            `want one of "", HTTP/1.0`,
		`host == "Example.ORG"`:           `want "example.org"`,
		`host in ["shop.de:80"]`:          `want "shop.de"`,
		`referrer_host == "https://a.de"`: `want "https"`,
		`path == "/a?b"`:                  `want "/a"`,
		`month == "2026-11-20"`:           "want a month",
		`week == "47"`:                    "want a week",
		`week == "2026-W54"`:              "want a week",
		`hour == "14"`:                    "want an hour",
		`method == "G3T"`:                 "want at most 16 letters",
		`browser == "firefox"`:            "want one of",
		`crawler_class == "ai"`:           "want one of",
		`asn == "13335"`:                  "want a number such as AS13335",
		`asn == "AS013"`:                  "want a number such as AS13335",
		`format == "combind"`:             "combined",
		`format == "nginx"`:               `want "combined"`,
		`file == "(a)"`:                   `want "%28a)"`,
		`status`:                          "alone is no condition",
	} {
		if _, err := cuts.ParseLineFilter(where); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("where %s: %v, want %q", where, err, want)
		}
	}
}

// A filter that is written in its canonical form selects the same lines, and neither it nor a line
// is too odd for it.
func FuzzLineFilter(f *testing.F) {
	for _, where := range []string{
		`status >= 500 && country in ["DE"]`, `address in ["10.0.0.0/8"] || agent matches "a+$"`, `!(bytes > 1) and duration < "2s"`,
		`path startsWith "/" or user == ""`, ``, `hour != "x" && crawler_class contains "a"`,
	} {
		for _, line := range []string{combinedLine, bareLine, ""} {
			f.Add(where, line)
		}
	}
	f.Fuzz(func(t *testing.T, where, line string) {
		filter, err := cuts.ParseLineFilter(where)
		if err != nil {
			return
		}
		one, again := newLineTester(t, where), newLineTester(t, filter.String())
		if got, want := again.selects([]byte(line)), one.selects([]byte(line)); got != want {
			t.Fatalf("%q selects %q: %t, and as %q: %t", where, line, want, filter, got)
		}
	})
}

// The time of a filter beside that of counting: at most 50 ns a line.
func BenchmarkLineFilter(b *testing.B) {
	for _, where := range []string{
		"", "status >= 500", `country in ["DE", "FR"]`, `status >= 500 && country in ["DE", "FR"]`, `address in ["10.0.0.0/8"]`, `path startsWith "/a"`, `agent contains "Firefox"`,
	} {
		b.Run(fmt.Sprintf("%.12s", where), func(b *testing.B) {
			l := newLineTester(b, where)
			record, _ := l.parser.Parse([]byte(combinedLine))
			addr := netip.MustParseAddr("192.0.2.7")
			b.ReportAllocs()
			for b.Loop() {
				l.counter.Matches(record.Day, geo.Country{'D', 'E'}.Index(), addr, l.parser.Values())
			}
		})
	}
}
