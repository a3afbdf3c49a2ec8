package distribute_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"skidway/distribute"
	"skidway/distribute/accesslog"
	"skidway/distribute/geo"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

// A shapedFile is a file whose lines are not simply one after the other.
type shapedFile struct {
	name    string
	content string
	lines   int64
}

// shapedFiles returns files of so many lines, or objects, of some 130 bytes.
func shapedFiles(lines int) []shapedFile {
	var objects, pretty, docker, cri, texts []string
	for i := range lines {
		at := time.Date(2026, 11, 1, 0, i, 0, 0, time.UTC)
		object := fmt.Sprintf(`{"note":"] } \" %s","request":{"client_ip":"8.8.8.%d"},"ts":%d.5}`, strings.Repeat("x", 60), i%256, at.Unix())
		objects = append(objects, object)
		pretty = append(pretty, strings.ReplaceAll(object, `,"`, ",\n  \""))
		text := fmt.Sprintf("8.8.4.%d - - [%s] \"GET / HTTP/1.1\" 200 1 \"-\" \"%s\"", i%256, at.Format("02/Jan/2006:15:04:05 -0700"), strings.Repeat("y", 40))
		texts = append(texts, text)
		for j, part := range []string{text[:7], text[7:60], text[60:] + "\n"} {
			quoted, _ := json.Marshal(part) // of a string
			docker = append(docker, fmt.Sprintf(`{"log":%s,"stream":"stdout","time":"%s"}`, quoted, at.Format(time.RFC3339)))
			cri = append(cri, at.Format(time.RFC3339)+" stdout "+[]string{"P ", "P ", "F "}[j]+strings.TrimSuffix(part, "\n"))
			if j == 1 { // another stream comes in between
				cri = append(cri, at.Format(time.RFC3339)+" stderr F "+object)
			}
		}
	}
	n := int64(lines)
	return []shapedFile{
		{"array", "[" + strings.Join(objects, ",") + "]\n", n},
		{"pretty array", "[\n" + strings.Join(pretty, ",\n") + "\n]\n", n},
		{"records", `{"records":[` + strings.Join(objects[:lines/2], ", ") + "]}\n" + `{"records":[` + strings.Join(objects[lines/2:], ", ") + "]}\n", n},
		{"objects of several lines", strings.ReplaceAll(strings.Join(pretty, "\n"), `{"note"`, "{\n\"note\"") + "\n", n},
		{"lines around an array", strings.Join(texts[:100], "\n") + "\n[" + strings.Join(objects, ",\n") + "]\n" + strings.Join(texts[100:], "\n") + "\n", 2 * n},
		{"lines behind records", `{"records":[` + strings.Join(objects, ",\n") + "],\n\"next\":{\"n\":[]}\n}\n" + strings.Join(texts, "\n") + "\n", 2 * n},
		{"parts of Docker", strings.Join(docker, "\n") + "\n", n},
		{"parts of CRI, in two formats", strings.Join(cri, "\n") + "\n", 2 * n},
		{"two formats", strings.Join(texts, "\n") + "\n" + strings.Join(objects, "\n") + "\n", 2 * n},
	}
}

func TestFilesOfEveryShapeAreCountedInParts(t *testing.T) {
	t.Parallel()
	for _, file := range shapedFiles(2400) {
		t.Run(file.name, func(t *testing.T) {
			t.Parallel()
			redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
				channel, folder := open(t, db), t.TempDir()
				// It grows, and ends inside of lines, objects and records.
				for _, size := range []int{len(file.content) / 3, len(file.content) * 2 / 3, len(file.content)} {
					ship(t, channel, write(t, folder, "a.log.gz", []byte(file.content[:size])))
					worker, err := distribute.NewWorker(t.Context(), channel, "s", countryDay(t),
						&distribute.WorkerConfig{UntilDone: true, Workers: 1, CommitBytes: 16 << 10})
					if err != nil {
						t.Fatal(err)
					}
					if result, err := worker.Work(t.Context()); err != nil || len(result.Problems) > 0 {
						t.Fatal(err, result.Problems)
					}
				}
				file.isCounted(t, channel)
			})
		})
	}
}

// Each part of a record, of which neither the first nor the last one can be read alone, comes with
// another shipment.
func TestRecordThatGrowsPartByPartIsCountedOnce(t *testing.T) {
	t.Parallel()
	for _, file := range shapedFiles(500) {
		t.Run(file.name, func(t *testing.T) {
			t.Parallel()
			db := redistest.DB(t)
			channel, folder := open(t, db), t.TempDir()
			lines := strings.SplitAfter(file.content, "\n")
			for n := len(lines) * 2 / 3; n < len(lines) && n < len(lines)*2/3+8; n++ {
				ship(t, channel, write(t, folder, "a.log", []byte(strings.Join(lines[:n], ""))))
				work(t, channel, "s")
			}
			ship(t, channel, write(t, folder, "a.log", []byte(file.content)))
			work(t, channel, "s")
			file.isCounted(t, channel)
		})
	}
}

// They are stopped after one of the scripts of a commit.
func TestFilesOfEveryShapeAreCountedByWorkersThatAreStopped(t *testing.T) {
	t.Parallel()
	for _, file := range shapedFiles(8000) {
		t.Run(file.name, func(t *testing.T) {
			t.Parallel()
			url := redistest.URL(t)
			channel := open(t, redistest.Open(t, url))
			ship(t, channel, write(t, t.TempDir(), "a.log.gz", []byte(file.content)))
			for _, scripts := range []int64{5, 6, 7, math.MaxInt64} {
				ctx, cancel := context.WithCancel(t.Context())
				db := redistest.Open(t, url)
				var called atomic.Int64
				db.AddHook(afterScripts{func() {
					if called.Add(1) == scripts {
						cancel()
					}
				}})
				worker, err := distribute.NewWorker(t.Context(), open(t, db), "s", countryDay(t),
					&distribute.WorkerConfig{UntilDone: true, Workers: 1, CommitBytes: 16 << 10})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := worker.Work(ctx); err != nil && !errors.Is(err, context.Canceled) {
					t.Fatal(err)
				}
				cancel()
			}
			file.isCounted(t, channel)
		})
	}
}

// isCounted fails the test unless all lines are counted, none of them as unparsable.
func (f shapedFile) isCounted(t *testing.T, channel *distribute.Channel) {
	t.Helper()
	report, err := channel.Report(t.Context(), "s", nil)
	if err != nil {
		t.Fatal(err)
	}
	if tally := report.Subscriber.Tally; tally.Lines != f.lines || tally.Counted+tally.Unknown != f.lines {
		t.Errorf("%+v, want %d lines", tally, f.lines)
	}
}

func TestWorkerReportsHowAFileIsRead(t *testing.T) {
	t.Parallel()
	const haproxy = `8.8.8.8:53337 [25/Feb/2019:16:20:03.208] in bk/a 0/0/1/1031/1039 200 11394 - - ---- 3/2/0/0/0 0/0 "GET / HTTP/1.1"` + "\n"
	for _, c := range []struct {
		name, content string
		config        distribute.CountingConfig
		want          distribute.Reading
	}{
		{"sure", "8.8.8.8 2026-11-01\n", distribute.CountingConfig{}, distribute.Reading{Format: "minimal", Percent: 100}},
		{"unsure", "8.8.8.8 2026-11-01\nx\ny\n", distribute.CountingConfig{}, distribute.Reading{Format: "minimal", Percent: 33, Unsure: true}},
		{"no zone", haproxy, distribute.CountingConfig{Zone: time.UTC}, distribute.Reading{Format: "haproxy", Percent: 100, Unzoned: true}},
		{"no zone, given format", haproxy, distribute.CountingConfig{Zone: time.UTC, Format: "haproxy"}, distribute.Reading{Unzoned: true}},
		{"zone of the log", haproxy, distribute.CountingConfig{Zone: time.UTC, LogZone: time.UTC}, distribute.Reading{Format: "haproxy", Percent: 100}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
				channel := open(t, db)
				ship(t, channel, write(t, t.TempDir(), "a.log", []byte(c.content)))
				aggregation, err := distribute.NewCounting(&c.config)
				if err != nil {
					t.Fatal(err)
				}
				var readings []distribute.Reading
				worker, err := distribute.NewWorker(t.Context(), channel, "s", aggregation, &distribute.WorkerConfig{
					UntilDone: true, Workers: 1, Notify: func(e distribute.Event) {
						if e.Kind == distribute.EventCounted {
							readings = append(readings, e.Reading)
						}
					},
				})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := worker.Work(t.Context()); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(readings, []distribute.Reading{c.want}) {
					t.Errorf("%+v, want %+v", readings, c.want)
				}
			})
		})
	}
}

func TestTrustedProxiesAreASetting(t *testing.T) {
	t.Parallel()
	proxies, err := accesslog.ParseTrustedProxies("10.0.0.0/8, 192.168.0.1")
	if err != nil {
		t.Fatal(err)
	}
	a, err := distribute.NewCounting(&distribute.CountingConfig{Proxies: proxies})
	if err != nil {
		t.Fatal(err)
	}
	if want := "country-day by=day,country format=auto tz=as-written trusted-proxies=10.0.0.0/8,192.168.0.1/32"; a.Settings() != want {
		t.Errorf("settings %q", a.Settings())
	}
	counter, err := a.Begin([]byte("8.8.8.8, 9.9.9.9, 10.0.0.1 2026-11-01\n"), "")
	if err != nil {
		t.Fatal(err)
	}
	counter.Line([]byte("1.0.0.1, 8.8.8.8, 10.0.0.1 2026-11-01"))
	var cells []distribute.Cell
	counter.Cells(func(c distribute.Cell) { cells = append(cells, c) })
	if len(cells) != 2 || cells[0].Member != "US" {
		t.Errorf("%v", cells)
	}
}

func TestLinesAreCountedByFormatFileAndNetwork(t *testing.T) {
	t.Parallel()
	channel, folder := open(t, redistest.DB(t)), t.TempDir()
	const combined, object = "1.1.1.1 - - [01/Nov/2026:00:00:00 +0000] \"GET / HTTP/1.1\" 200 1 \"-\" \"-\"\n", `{"request":{"client_ip":"8.8.8.8"},"ts":1793491200.5}` + "\n"
	quoted, _ := json.Marshal(combined) // of a string
	two := write(t, folder, "two.log", []byte(strings.Repeat(combined, 3)+strings.Repeat(object, 2)))
	docker := write(t, folder, "docker.log.gz", []byte(strings.Repeat(fmt.Sprintf("{\"log\":%s,\"stream\":\"stdout\",\"time\":\"2026-11-01T00:00:00Z\"}\n", quoted), 4)+"no line\n"))
	networks, err := geo.OpenNetworks("geo/testdata/networks.mmdb")
	if err != nil {
		t.Fatal(err)
	}
	config := distribute.CountingConfig{By: [][]string{{"file", "format", "asn"}, {"format"}}, Where: `asn != "AS1" && format != "vhost"`}
	if _, err := distribute.NewCounting(&config); err == nil || !strings.Contains(err.Error(), "asn: a database of networks is needed") {
		t.Errorf("the error is %v", err)
	}
	config.Networks = networks
	aggregation, err := distribute.NewCounting(&config)
	if err != nil {
		t.Fatal(err)
	}
	ship(t, channel, two, docker)
	worker, err := distribute.NewWorker(t.Context(), channel, "all", aggregation, &distribute.WorkerConfig{UntilDone: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := worker.Work(t.Context()); err != nil {
		t.Fatal(err)
	}
	report, err := channel.Report(t.Context(), "all", nil)
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, row := range report.Tables[0].Rows {
		got += fmt.Sprintln(filepath.Base(row.Values[0]), row.Values[1:], row.Requests)
	}
	if want := "docker.log.gz [docker:combined AS13335] 4\ntwo.log [caddy AS15169] 2\ntwo.log [combined AS13335] 3\n"; got != want {
		t.Errorf("counted\n%swant\n%s", got, want)
	}
	if builds := report.Subscriber.Builds; len(builds) != 1 || !strings.HasSuffix(builds[0].Build, " + "+networks.Build().String()) {
		t.Errorf("the databases are %v", builds)
	}
	if tally := report.Subscriber.Tally; tally.Lines != 10 || tally.Counted != 9 || tally.Unparsable != 1 {
		t.Errorf("the sums are %+v", tally)
	}
}
