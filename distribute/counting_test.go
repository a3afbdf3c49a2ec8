package distribute

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"skidway/distribute/accesslog"
	"skidway/distribute/cuts"
	"skidway/distribute/geo"
	"skidway/distribute/stream"
	"skidway/internal/samplelog"
)

func newCounting(t testing.TB, config *CountingConfig) *Counting {
	t.Helper()
	a, err := NewCounting(config)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// countLines counts lines as one file.
func countLines(t rapid.TB, a Aggregation, lines []string) (map[cellName]int64, Tally) {
	t.Helper()
	counter, err := a.Begin([]byte(strings.Join(lines, "\n")), "")
	if err != nil {
		t.Fatal(err)
	}
	var seen verdicts
	for _, line := range lines {
		seen.add(counter, []byte(line))
	}
	result := &fileResult{cells: map[cellName]int64{}, tally: seen.tally()}
	counter.Cells(result.add)
	var accounts cuts.Account
	for name, n := range result.cells {
		_, account := Cell{name.group, name.member, n}.account()
		accounts.Counted, accounts.Unknown = accounts.Counted+account.Counted, accounts.Unknown+account.Unknown
	}
	if accounts.Counted != result.tally.Counted || accounts.Unknown != result.tally.Unknown {
		t.Fatalf("the accounts of all days have %+v, and the tally %+v", accounts, result.tally)
	}
	maps.DeleteFunc(result.cells, func(name cellName, _ int64) bool { return name.group == cuts.AccountGroup })
	return result.cells, result.tally
}

func TestSettingsAreCanonical(t *testing.T) {
	t.Parallel()
	tokyo, err := time.LoadLocation("Asia/Tokyo")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		config CountingConfig
		want   string
	}{
		{"defaults", CountingConfig{}, "country-day by=day,country format=auto tz=as-written"},
		{"defaults spelt out", CountingConfig{By: [][]string{{"day", "country"}}, Format: "auto"}, "country-day by=day,country format=auto tz=as-written"},
		{"other order", CountingConfig{By: [][]string{{"country", "day"}}}, "country-day by=day,country format=auto tz=as-written"},
		{"twice the same", CountingConfig{By: [][]string{{"day", "day"}}}, "country-day by=day format=auto tz=as-written"},
		{"country", CountingConfig{By: [][]string{{"country"}}}, "country-day by=country format=auto tz=as-written"},
		{"format", CountingConfig{Format: "combined"}, "country-day by=day,country format=combined tz=as-written"},
		{"alias of a format", CountingConfig{Format: "nginx"}, "country-day by=day,country format=combined tz=as-written"},
		{"zone", CountingConfig{Zone: tokyo}, "country-day by=day,country format=auto tz=Asia/Tokyo"},
		{"filter", CountingConfig{Where: "status>=500 and country in ['DE','FR']", LogZone: time.UTC}, `country-day by=day,country format=auto tz=as-written log-tz=UTC where=status >= 500 && country in ["DE", "FR"]`},
		{"layout", CountingConfig{Format: `$remote_addr where=$host by=$remote_user [$time_local] "$request" 100%`, Keep: 400}, `country-day by=day,country keep=400d format=$remote_addr%20where=$host%20by=$remote_user%20[$time_local]%20"$request"%20100%25 tz=as-written`},
		{"UTC", CountingConfig{Zone: time.UTC}, "country-day by=day,country format=auto tz=UTC"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := newCounting(t, &c.config)
			if a.Settings() != c.want {
				t.Errorf("%q, want %q", a.Settings(), c.want)
			}
			if s, ok := cuts.ParseSettings(a.Settings()); !ok || s.String() != a.settings.String() {
				t.Errorf("%q is parsed as %q", a.Settings(), s)
			}
		})
	}
}

func TestUnknownSettingIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := NewCounting(&CountingConfig{By: [][]string{{"colour"}}}); err == nil || !strings.Contains(err.Error(), `"colour"`) {
		t.Error(err)
	}
	var unknown *accesslog.UnknownFormatError
	if _, err := NewCounting(&CountingConfig{Format: "ngnix"}); !errors.As(err, &unknown) {
		t.Error(err)
	}
}

func TestBuildNamesTheCountryDatabase(t *testing.T) {
	t.Parallel()
	db, err := geo.Default()
	if err != nil {
		t.Fatal(err)
	}
	if got := newCounting(t, &CountingConfig{Countries: db}).Build(); got != db.Build().String() {
		t.Error(got)
	}
}

// A request is the content of a line of the tests, and how it must be counted.
type request struct {
	addr string
	day  string
}

func (r request) line() string { return r.addr + " " + r.day + " GET /" }

func drawRequests(t *rapid.T) []request {
	one := rapid.Custom(func(t *rapid.T) request {
		day := time.Date(2026, 10, 28, 0, 0, 0, 0, time.UTC).AddDate(0, 0, rapid.IntRange(0, 9).Draw(t, "day"))
		return request{
			rapid.SampledFrom([]string{"8.8.8.8", "193.0.6.139", "133.11.0.1", "10.0.0.1", "-", "2001:4860:4860::8888", "::ffff:8.8.8.8", "not an address"}).Draw(t, "addr"),
			day.Format(time.DateOnly),
		}
	})
	return append(rapid.SliceOfN(one, 0, 200).Draw(t, "requests"), request{"8.8.8.8", "2026-11-01"})
}

func TestRequestsAreCountedByWhatWasAskedFor(t *testing.T) {
	t.Parallel()
	db, err := geo.Default()
	if err != nil {
		t.Fatal(err)
	}
	for _, by := range [][]string{{"day"}, {"country"}, {"day", "country"}} {
		t.Run(strings.Join(by, " and "), func(t *testing.T) {
			t.Parallel()
			a := newCounting(t, &CountingConfig{By: [][]string{by}})
			rapid.Check(t, func(t *rapid.T) {
				requests := drawRequests(t)
				want, tally := map[cellName]int64{}, Tally{}
				var lines []string
				for _, r := range requests {
					lines = append(lines, r.line())
					tally.Lines++
					if r.addr == "not an address" {
						tally.Unparsable++
						continue
					}
					country, private := geo.Unknown, false
					if addr, err := netip.ParseAddr(r.addr); err == nil {
						country, private = db.Country(addr), !accesslog.IsPublic(addr)
					}
					cell := cellName{r.day, country.String()}
					if !slices.Contains(by, "country") {
						cell.member = cuts.Any
					}
					want[cell]++
					if country == geo.Unknown && cell.member != cuts.Any {
						tally.Unknown++
						if private {
							tally.Private++
						}
					} else {
						tally.Counted++
					}
				}
				cells, got := countLines(t, a, lines)
				if !maps.Equal(cells, want) || got != tally {
					t.Fatalf("%v %+v, want %v %+v", cells, got, want, tally)
				}
			})
		})
	}
}

func TestDayIsTheOneWrittenUnlessAZoneIsGiven(t *testing.T) {
	t.Parallel()
	line := `8.8.8.8 - - [01/Nov/2026:23:30:00 -0700] "GET / HTTP/1.1" 200 1 "-" "-"`
	tokyo, err := time.LoadLocation("Asia/Tokyo")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		zone *time.Location
		want string
	}{{nil, "2026-11-01"}, {time.UTC, "2026-11-02"}, {tokyo, "2026-11-02"}, {time.FixedZone("", -7*3600), "2026-11-01"}} {
		cells, _ := countLines(t, newCounting(t, &CountingConfig{Zone: c.zone}), []string{line})
		if cells[cellName{c.want, "US"}] != 1 {
			t.Errorf("%v: %v, want %s", c.zone, cells, c.want)
		}
	}
}

func TestFileThatGoesOnKeepsItsFormat(t *testing.T) {
	t.Parallel()
	a := newCounting(t, nil)
	first, err := a.Begin([]byte("8.8.8.8 2026-11-01 a\n"), "")
	if err != nil {
		t.Fatal(err)
	}
	later, err := a.Begin(nil, first.State())
	if err != nil {
		t.Fatal(err)
	}
	if v := later.Line([]byte("8.8.8.8 2026-11-02 b")); v != Counted || !strings.Contains(first.State(), `"name":"minimal"`) || later.State() != first.State() {
		t.Errorf("%v, state %q and then %q", v, first.State(), later.State())
	}
	var unknown *accesslog.UnknownFormatError
	if _, err := a.Begin(nil, "of a newer version"); !errors.As(err, &unknown) {
		t.Errorf("state that is not known: %v", err)
	}
}

func TestFormatThatIsSetIsNotDetected(t *testing.T) {
	t.Parallel()
	good := `8.8.8.8 - - [01/Nov/2026:00:00:00 +0000] "GET / HTTP/1.1" 200 1 "-" "-"`
	_, tally := countLines(t, newCounting(t, &CountingConfig{Format: "combined"}), []string{"8.8.8.8 2026-11-01 a", "8.8.8.8 2026-11-01 a", good})
	if want := (Tally{Lines: 3, Counted: 1, Unparsable: 2}); tally != want {
		t.Errorf("%+v, want %+v", tally, want)
	}
}

// An expired line is neither filtered nor counted, and takes no room for its day.
func TestLineOfADayThatIsNotKeptIsExpired(t *testing.T) {
	t.Parallel()
	for _, config := range []*CountingConfig{{}, {By: [][]string{{"path"}}}, {Where: `country == "US"`}} {
		counter, err := agingAggregation{Aggregation: newCounting(t, config), retention: &retention{oldest: "2026-11-02"}}.Begin([]byte("8.8.8.8 2026-11-01 a\n"), "")
		if err != nil {
			t.Fatal(err)
		}
		got := []Verdict{}
		for _, line := range []string{"8.8.8.8 2026-11-01", "10.0.0.1 2026-11-01", "no line", "8.8.8.8 2026-11-02"} {
			got = append(got, counter.Line([]byte(line)))
		}
		if want := []Verdict{Expired, Expired, Unparsable, Counted}; !slices.Equal(got, want) {
			t.Errorf("%+v: %v, want %v", config, got, want)
		}
		counter.Cells(func(cell Cell) {
			if cell.day() != "2026-11-02" {
				t.Errorf("%+v: cell %v", config, cell)
			}
		})
	}
}

func TestLinesBeyondTheDaysOfOneCommitAreExpired(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"day", "status"} {
		var lines []string
		for i := range MaxDays + 10 {
			lines = append(lines, "8.8.8.8 "+accesslog.Day(10_000+i).String())
		}
		lines = append(lines, lines[0])
		_, tally := countLines(t, newCounting(t, &CountingConfig{By: [][]string{{by}}}), lines)
		if want := (Tally{Lines: MaxDays + 11, Counted: MaxDays + 1, Expired: 10}); tally != want {
			t.Errorf("%+v, want %+v", tally, want)
		}
	}
}

func TestFileOfAnotherFormatThanIsSetIsRefused(t *testing.T) {
	t.Parallel()
	var wrong *WrongFormatError
	for _, c := range []struct{ format, line, problem string }{
		{"combined", "8.8.8.8 2026-11-01 a", `no " [" after $remote_user, which begins with "a"`},
		{"combined", `8.8.8.8 - - [10/Foo/2026:00:00:00 +0000] "GET`, `$time_local is no time: "10/Foo/2026:00:00:00 +0000"`},
		{"logfmt(address=ip,time=at)", `ts=1 fwd="8.8.8.8" c`, `it has no key ip for the address, only "ts", "fwd"`},
		{"docker:json(address=a.ip,time=at)", `{"log":"{\"a\":{\"IP\":\"8.8.8.8\"},\"at\":1}\n","stream":"stdout","time":"x"}`, `it has no key a.ip for the address, only "a.IP", "at"`},
		{"docker:combined", "8.8.8.8", "the line is not in the wrapper docker"},
	} {
		_, err := newCounting(t, &CountingConfig{Format: c.format}).Begin([]byte("\n"+c.line+"\n"), "")
		if !errors.As(err, &wrong) || wrong.Problem != c.problem || !strings.HasSuffix(err.Error(), ": "+c.problem) {
			t.Errorf("%s: %v; want %s", c.line, err, c.problem)
		}
	}
}

// A line that looks like an array is one of the text, where the format has no objects.
func TestFilesOfTextFormatsAreNotSplitIntoObjects(t *testing.T) {
	t.Parallel()
	const text = `8.8.8.8 - - [10/Oct/2025:13:55:36 +0000] "GET / HTTP/1.1" 200 5 "-" "-"` + "\n"
	const object = `{"remote_addr":"8.8.8.8","time_iso8601":"2025-10-10T13:55:36Z","status":200}`
	for format, want := range map[string]string{
		"combined": "", "$remote_addr - - [$time_local] $rest": "", "auto": stream.ObjectsBegin, "nginx-json": stream.ObjectsBegin, "message:combined": stream.ObjectsBegin,
		`{"remote_addr":"$remote_addr","time_iso8601":"$time_iso8601","status":$status}`: stream.ObjectsBegin,
	} {
		counter, err := newCounting(t, &CountingConfig{Format: format}).Begin([]byte(text+"["+object+"]\n"+`{"message":"8.8.8.8 - - [10/Oct/2025:13:55:36 +0000] \"GET / HTTP/1.1\" 200 5 \"-\" \"-\""}`+"\n"), "")
		if err != nil {
			t.Errorf("%s: %v", format, err)
		} else if got := counter.(*lineCounter).objects; got != want {
			t.Errorf("%s: objects %q, want %q", format, got, want)
		}
	}
}

func TestFileWithoutRequestsIsCounted(t *testing.T) {
	t.Parallel()
	const iis = "#Version: 1.0\n#Date: 2025-10-10 00:00:00\n#Fields: date time c-ip sc-status"
	for _, content := range []string{iis, "\"time_micros\",\"c_ip\",\"c_ip_type\"", "[]", "[\n]\n", `{"records":[]}`} {
		counter, err := newCounting(t, nil).Begin([]byte(content), "")
		if err != nil {
			t.Errorf("%q: %v", content, err)
			continue
		}
		lines, _ := stream.FirstLines([]byte(content), 9)
		for _, line := range lines {
			if verdict := counter.Line(line); verdict != NoLine {
				t.Errorf("%q: %v", line, verdict)
			}
		}
	}
	if _, err := newCounting(t, &CountingConfig{Format: "nginx-json"}).Begin([]byte("[]"), ""); err != nil {
		t.Error(err)
	}
	for _, content := range []string{"# a comment", "#Version: 1.0\nnoise", "[] x"} {
		if _, err := newCounting(t, nil).Begin([]byte(content), ""); !errors.Is(err, accesslog.ErrNoFormat) {
			t.Errorf("%q: %v", content, err)
		}
	}
}

func TestBinaryFileIsRefused(t *testing.T) {
	t.Parallel()
	noise := make([]byte, 100_000)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	if _, err := newCounting(t, nil).Begin(noise, ""); !errors.Is(err, accesslog.ErrNoFormat) {
		t.Error(err)
	}
}

func TestCountingCountsWithoutAllocation(t *testing.T) {
	for _, by := range []string{"day,country", "day,country,status,method,protocol,path,browser,crawler,hour"} {
		countsWithoutAllocation(t, strings.Split(by, ","))
	}
}

func countsWithoutAllocation(t *testing.T, by []string) {
	lines := accessLines(1000)
	counter, err := newCounting(t, &CountingConfig{By: [][]string{by}}).Begin(slices.Concat(lines...), "")
	if err != nil {
		t.Fatal(err)
	}
	count := func() {
		for _, line := range lines {
			counter.Line(line[:len(line)-1])
		}
	}
	count()
	if n := testing.AllocsPerRun(20, count); n != 0 {
		t.Errorf("%v: %v allocations for %d lines", by, n, len(lines))
	}
}

func TestBlocksOfLinesAreCountedAsSingleLines(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	if err := samplelog.Lines(&log, samplelog.Options{Lines: 20_000, Seed: 3, BadEvery: 50}); err != nil {
		t.Fatal(err)
	}
	whole := log.Bytes()
	aggregations := []*Counting{
		newCounting(t, nil), newCounting(t, &CountingConfig{By: [][]string{{"country"}}}), newCounting(t, &CountingConfig{By: [][]string{{"day"}}}),
		newCounting(t, &CountingConfig{By: [][]string{{"day", "country", "status"}, {"hour", "method", "path:1"}, {"crawler", "referrer_host", "protocol"}}, Measures: []string{"bytes"}}),
		newCounting(t, &CountingConfig{Format: "vhost", By: [][]string{{"host", "continent"}}}), newCounting(t, &CountingConfig{Format: "vhost"}), newCounting(t, &CountingConfig{Zone: time.FixedZone("UTC", 0)}),
	}
	others := []string{
		`{"remote_addr":"9.9.9.9","time_iso8601":"2026-03-02T13:55:36-07:00","status":200}`, "300.1.1.1", "1.1.1.1.1", "8.8.4.4 - bob", "x", "",
	}
	rapid.Check(t, func(t *rapid.T) {
		start := rapid.IntRange(0, len(whole)/2).Draw(t, "start")
		part := whole[start : start+bytes.LastIndexByte(whole[start:start+rapid.IntRange(1000, 20_000).Draw(t, "size")], '\n')+1]
		lines := bytes.SplitAfter(part, []byte("\n"))
		for range rapid.IntRange(0, 5).Draw(t, "changes") {
			i := rapid.IntRange(0, len(lines)-2).Draw(t, "line")
			other, keep := rapid.SampledFrom(others).Draw(t, "other"), rapid.IntRange(0, len(lines[i])-1).Draw(t, "keep")
			lines[i] = slices.Concat([]byte(other), lines[i][keep:])
		}
		a := rapid.SampledFrom(aggregations).Draw(t, "aggregation")
		one, errOne := a.Begin(part, "")
		all, errAll := a.Begin(part, "")
		if errOne != nil || errAll != nil {
			return // none of the lines has the format
		}
		var want, got verdicts
		for _, line := range lines[:len(lines)-1] {
			want.add(one, line[:len(line)-1])
		}
		if n := got.addLines(all, bytes.Join(lines, nil)); n != int64(len(lines)-1) || got != want || one.State() != all.State() {
			t.Fatalf("%d lines of %d; %+v, want %+v", n, len(lines)-1, got.tally(), want.tally())
		}
		cells := func(c Counter) (result fileResult) {
			result.cells = map[cellName]int64{}
			c.Cells(result.add)
			return result
		}
		if got, want := cells(all).cells, cells(one).cells; !maps.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
	})
}

// accessLines makes lines of two days around midnight, from a few hundred
// addresses.
func accessLines(count int) [][]byte {
	random := rand.New(rand.NewPCG(1, 2))
	lines := make([][]byte, count)
	for i := range lines {
		at := time.Date(2026, 11, 1, 23, 0, 0, 0, time.UTC).Add(time.Duration(random.IntN(7200)) * time.Second)
		lines[i] = fmt.Appendf(nil, "%d.%d.8.8 - - [%s] \"GET /page HTTP/1.1\" 200 1234 \"-\" \"Mozilla/5.0\"\n",
			1+random.IntN(200), random.IntN(3), at.Format("02/Jan/2006:15:04:05 -0700"))
	}
	return lines
}
