package distribute

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"skidway/distribute/stream"
	"skidway/internal/samplelog"
)

// BenchmarkCountryDay counts the lines of a log in blocks, as they come out of a decompressor.
func BenchmarkCountryDay(b *testing.B) {
	log := newLogInBlocks(b, nil)
	own := newFastest(log)
	for b.Loop() {
		log.count(b, newCounting(b, nil), own)
	}
	b.ReportMetric(own.sum()/benchLines, "ns/line")
}

// BenchmarkCuts counts by further dimensions, in turn with day and country alone, and of each block
// the fastest turn counts: a busy machine slows others. It reports how many times as long a line takes.
func BenchmarkCuts(b *testing.B) {
	agents := func(different int) func(i int, line []byte) []byte {
		return func(i int, line []byte) []byte {
			from := bytes.LastIndex(line, []byte(`" "`)) + len(`" "`)
			if from > len(line) || from == len(`" "`)-1 {
				return line // not of the format
			}
			return fmt.Appendf(line[:from:from], `Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/%d.0.%d.0 Safari/537.36"`, 100+i*7919%different%100, i*7919%different)
		}
	}
	paths := func(i int, line []byte) []byte {
		return bytes.Replace(line, []byte(" HTTP/"), fmt.Appendf(nil, "/%d HTTP/", i), 1)
	}
	hosts := func(i int, line []byte) []byte { return fmt.Appendf(nil, "www.example%d.org:443 %s", i%10, line) }
	for _, c := range []struct {
		name   string
		change func(i int, line []byte) []byte // nil: the lines stay
		CountingConfig
	}{
		{"status", nil, CountingConfig{By: [][]string{{"status"}}}},
		{"status and bytes", nil, CountingConfig{By: [][]string{{"status"}}, Measures: []string{"bytes"}}},
		{"method", nil, CountingConfig{By: [][]string{{"method"}}}},
		{"host", hosts, CountingConfig{By: [][]string{{"host"}}, Format: "vhost"}},
		{"browser", nil, CountingConfig{By: [][]string{{"browser"}}}},
		{"browser of 1000 agents", agents(1000), CountingConfig{By: [][]string{{"browser"}}}},
		{"crawler of 1000 agents", agents(1000), CountingConfig{By: [][]string{{"crawler"}}}},
		{"browser of different agents", agents(benchLines), CountingConfig{By: [][]string{{"browser"}}}},
		{"path", nil, CountingConfig{By: [][]string{{"path"}}}},
		{"different paths", paths, CountingConfig{By: [][]string{{"path"}}}},
		{"hour", nil, CountingConfig{By: [][]string{{"hour"}}}},
		{"filter by country", nil, CountingConfig{Where: `country in ["DE", "FR"]`}},
		{"filter by status", nil, CountingConfig{By: [][]string{{"status"}}, Where: `status >= 500`}},
		{"filter by path", nil, CountingConfig{Where: `path startsWith "/a"`}},
	} {
		b.Run(c.name, func(b *testing.B) {
			log := newLogInBlocks(b, c.change)
			base := newCounting(b, &CountingConfig{Format: c.Format})
			by := []string{"day", "country"}
			if len(c.By) > 0 {
				by = append(by, c.By[0]...)
			}
			c.By = [][]string{by}
			cut := newCounting(b, &c.CountingConfig)
			own, others := newFastest(log), newFastest(log)
			for b.Loop() {
				log.count(b, base, others)
				log.count(b, cut, own)
			}
			b.ReportMetric(own.sum()/others.sum(), "of-country")
			b.ReportMetric(own.sum()/benchLines, "ns/line")
			b.ReportMetric(0, "ns/op")
		})
	}
}

const benchLines = 300_000

// A logInBlocks is a log of benchLines lines in blocks.
type logInBlocks [][]byte

// newLogInBlocks returns a log whose lines a function changes; nil changes none.
func newLogInBlocks(b *testing.B, change func(i int, line []byte) []byte) logInBlocks {
	b.Helper()
	var log bytes.Buffer
	if err := samplelog.Lines(&log, samplelog.Options{Lines: benchLines, Seed: 1}); err != nil {
		b.Fatal(err)
	}
	content := log.Bytes()
	if change != nil {
		var changed bytes.Buffer
		for i, line := range bytes.Split(bytes.TrimSuffix(content, []byte("\n")), []byte("\n")) {
			changed.Write(append(change(i, line), '\n'))
		}
		content = changed.Bytes()
	}
	return slices.Collect(slices.Chunk(content, 256<<10))
}

// count counts the log, beginning again where the counter is full.
func (l logInBlocks) count(b *testing.B, counting *Counting, fastest fastest) {
	counter, err := counting.Begin(l[0], "")
	if err != nil {
		b.Fatal(err)
	}
	var seen verdicts
	splitter := stream.NewSplitter(0, func(line []byte) { seen.add(counter, line) })
	splitter.PassWhole(func(lines []byte) int64 { return seen.addLines(counter, lines) })
	hot := make([]byte, 0, 256<<10) // what was just inflated is in the processor's cache
	for i, block := range l {
		block = append(hot, block...)
		start := time.Now()
		splitter.Split(block)
		if isFull(counter) {
			if counter, err = counting.Begin(nil, counter.State()); err != nil {
				b.Fatal(err)
			}
		}
		fastest[i] = min(fastest[i], time.Since(start))
	}
	if n := seen.tally().Lines; n != benchLines {
		b.Fatalf("%d lines", n)
	}
}

// fastest has the shortest time in which each block of a log was counted.
type fastest []time.Duration

func newFastest(log logInBlocks) fastest {
	return slices.Repeat(fastest{math.MaxInt64}, len(log))
}

// sum returns the time of all blocks, in nanoseconds.
func (f fastest) sum() (nanoseconds float64) {
	for _, d := range f {
		nanoseconds += float64(d)
	}
	return nanoseconds
}
