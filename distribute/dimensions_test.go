package distribute_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"skidway/distribute"
	"skidway/distribute/cuts"
	"skidway/distribute/geo"
	"skidway/internal/redistest"
)

// dimensionsName is the subscriber that counts by all dimensions.
const dimensionsName = "dimensions"

// dimensionCuts have all dimensions.
func dimensionCuts() (*distribute.CountingConfig, error) {
	networks, err := geo.OpenNetworks("geo/testdata/networks.mmdb")
	return &distribute.CountingConfig{
		By: [][]string{
			{"day", "country"},
			{"week", "continent", "asn", "status", "method", "path"},
			{"month", "status_class", "protocol", "host", "referrer_host", "path:2"},
			{"hour", "browser", "crawler", "crawler_class", "format", "file"},
		},
		Measures: []string{"bytes", "duration"}, Visitors: []string{"day", "country"}, Networks: networks,
	}, err
}

// A fragment is the text of a part of a line, which may have a number in it, and the values that the
// line has by it: those of dimensions by their names, and "bucket", that of its duration.
type fragment struct{ text, values string }

// lineParts are the parts of lines, each with its fragments.
var lineParts = []struct {
	name      string
	fragments []fragment
}{
	{"address", []fragment{
		{"8.8.8.%d", "country=US continent=NA asn=AS15169"},
		{"1.1.1.%d", "country=AU continent=OC asn=AS13335"},
		{"133.11.0.%d", "country=JP continent=AS asn=-"},
		{"193.0.6.%d", "country=NL continent=EU asn=-"},
		{"2001:4860:4860::%d", "country=US continent=NA asn=-"},
		{"10.0.0.%d", "country=ZZ continent=ZZ asn=-"},
	}},
	{"status", []fragment{{"200", "status=200 status_class=2xx"}, {"404", "status=404 status_class=4xx"}, {"503", "status=503 status_class=5xx"}, {"000", "status=- status_class=-"}}},
	{"method", []fragment{{"GET", "method=GET"}, {"POST", "method=POST"}, {"G3T", "method=(invalid)"}}},
	{"path", []fragment{
		{"/a/b/c?q=%d", "path=/a/b/c path:2=/a/b/"}, {"/a/b#x", "path=/a/b path:2=/a/b"},
		{"http://me@b.example/y?z=%d", "path=/y path:2=/y"}, {"(odd)", "path=%28odd) path:2=%28odd)"},
	}},
	{"protocol", []fragment{{"HTTP/1.1", "protocol=HTTP/1.1"}, {"HTTP/2.0", "protocol=HTTP/2"}, {"HTTP/9", "protocol=-"}}},
	{"host", []fragment{{"WWW.Example.org:8080", "host=www.example.org"}, {"shop.example.", "host=shop.example"}}},
	{"referrer", []fragment{{"https://me:x@News.Example:443/p?q=%d", "referrer_host=news.example"}, {"/search?u=https://c.example", "referrer_host=-"}, {"-", "referrer_host=-"}}},
	{"agent", []fragment{
		{"Mozilla/5.0 (X11) Gecko/20100101 Firefox/%d.0", "browser=Firefox crawler=- crawler_class=-"},
		{"player of a shop", "browser=other crawler=- crawler_class=-"},
		{"Mozilla/5.0 (compatible; Googlebot/2.1; n%d)", "browser=crawler crawler=Googlebot crawler_class=search-engine"},
		{"GPTBot/1.%d", "browser=crawler crawler=GPTBot crawler_class=ai-crawler"},
	}},
	{"bytes", []fragment{{"%d", ""}, {"70%d", ""}, {"-", ""}}},
	{"duration", []fragment{{"0.001", "bucket=0"}, {"0.030", "bucket=5"}, {"1.5", "bucket=10"}, {"99", "bucket=15"}, {"-", ""}}},
}

// A requestLine is a line, and what a count must find in it.
type requestLine struct {
	text   string
	parts  map[string]string // nil: it is unparsable
	values map[string]string
}

// requestLines makes lines of a format, on six days of two years; some are unparsable.
func requestLines(seed uint64, count int, format string) []requestLine {
	random, lines := rand.New(rand.NewPCG(seed, 0)), make([]requestLine, count)
	for i := range lines {
		lines[i] = requestLine{text: "what is this"}
		if random.IntN(50) > 0 {
			at := time.Date(2026, 12, 30+6*i/count, random.IntN(24), 0, 0, 0, time.FixedZone("", 1800*(random.IntN(5)-2)))
			lines[i] = requestLineAt(at, random, format)
		}
	}
	return lines
}

// requestLineAt makes a line of a request at a time, with a fragment of each part that the format has.
func requestLineAt(at time.Time, random *rand.Rand, format string) requestLine {
	year, week := at.ISOWeek()
	l := requestLine{parts: map[string]string{}, values: map[string]string{
		"day": at.Format("2006-01-02"), "week": fmt.Sprintf("%d-W%02d", year, week), "month": at.Format("2006-01"),
		"hour": at.Format("2006-01-02T15:00-07:00"), "format": format,
	}}
	for _, part := range lineParts {
		drawn := part.fragments[random.IntN(len(part.fragments))]
		l.parts[part.name] = strings.Replace(drawn.text, "%d", fmt.Sprint(random.IntN(100)), 1)
		for _, pair := range strings.Fields(drawn.values) {
			name, value, _ := strings.Cut(pair, "=")
			l.values[name] = value
		}
	}
	p := l.parts
	switch format {
	case "nginx-json":
		l.text = fmt.Sprintf(`{"remote_addr":%q,"time_iso8601":%q,"status":%q,"request_method":%q,"request_uri":%q,"server_protocol":%q,"http_host":%q,"http_referer":%q,"http_user_agent":%q,"body_bytes_sent":%q,"request_time":%q}`,
			p["address"], at.Format(time.RFC3339), p["status"], p["method"], p["path"], p["protocol"], p["host"], p["referrer"], p["agent"], p["bytes"], p["duration"])
	case "vhost":
		l.text = fmt.Sprintf(`%s %s - - [%s] "%s %s %s" %s %s "%s" "%s"`,
			p["host"], p["address"], at.Format("02/Jan/2006:15:04:05 -0700"), p["method"], p["path"], p["protocol"], p["status"], p["bytes"], p["referrer"], p["agent"])
		delete(l.values, "bucket")
	case "minimal":
		l.text = p["address"] + " " + l.values["day"]
		l.parts = map[string]string{"address": p["address"]}
		for _, name := range []string{"hour", "status", "status_class", "method", "protocol", "host", "referrer_host", "path", "path:2", "browser", "crawler", "crawler_class"} {
			l.values[name] = "-"
		}
		delete(l.values, "bucket")
	}
	return l
}

// add counts a line by cuts.
func (c *counts) add(t testing.TB, by [][]string, l requestLine) {
	t.Helper()
	if c.lines++; l.parts == nil {
		c.bad++
		return
	}
	place := l.values["day"] + " " + l.values["country"]
	c.requests[place]++
	if l.values["country"] == "ZZ" {
		c.unknown, c.private = c.unknown+1, c.private+1
	}
	if l.values["crawler"] != "-" {
		c.crawlers++
	} else {
		visitor := distribute.Visitor{Addr: netip.MustParseAddr(l.parts["address"]), Agent: l.parts["agent"]}
		c.visitors[l.values["day"]], c.visitors[place] = append(c.visitors[l.values["day"]], visitor), append(c.visitors[place], visitor)
	}
	for _, names := range by {
		cell := strings.Join(names, ",")
		for _, name := range names {
			value, ok := l.values[name]
			if !ok {
				t.Fatalf("the model has no value of %s", name)
			}
			cell += " " + value
		}
		row := c.rows[cell]
		row.Requests++
		if n, err := strconv.ParseInt(l.parts["bytes"], 10, 64); err == nil {
			row.Bytes += n
		}
		if bucket, err := strconv.Atoi(l.values["bucket"]); err == nil {
			row.Durations[bucket]++
		}
		c.rows[cell] = row
	}
}

// A dimension that is not in the cuts of this test makes it fail.
func TestCountsByAllDimensionsAreExactWheneverAWorkerIsKilled(t *testing.T) {
	t.Parallel()
	config, err := dimensionCuts()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range cuts.Names() {
		if name = strings.Replace(name, ":N", ":2", 1); !slices.Contains(slices.Concat(config.By...), name) {
			t.Errorf("the cuts of this test have no %s", name)
		}
	}
	want := counts{requests: map[string]int64{}, rows: map[string]cuts.Counts{}, visitors: map[string][]distribute.Visitor{}}
	folder, paths := t.TempDir(), []string{}
	for i, format := range []string{"nginx-json", "vhost", "minimal"} {
		var content bytes.Buffer
		path := filepath.Join(folder, format+[]string{"", ".gz", ".zst"}[i])
		for _, l := range requestLines(uint64(i), 80, format) {
			content.WriteString(l.text + "\n")
			if l.parts != nil {
				l.values["file"] = path
			}
			want.add(t, config.By, l)
		}
		paths = append(paths, write(t, folder, filepath.Base(path), content.Bytes()))
	}
	random := redistest.Random(t)
	for range redistest.Rounds(t, 1) {
		signal := killAt(1+random.IntN(120), random)
		t.Run(fmt.Sprintf("command %d after=%t", signal.At, signal.After), func(t *testing.T) {
			url := redistest.URL(t)
			channel := open(t, redistest.Open(t, url))
			ship(t, channel, paths...)
			start(t, processPlan{"work", url, []string{dimensionsName}, signal}).Check()
			run(t, url, "work", dimensionsName)
			same(t, counted(t, channel, dimensionsName), want)
			sameVisitors(t, channel, dimensionsName, want)
		})
	}
}
