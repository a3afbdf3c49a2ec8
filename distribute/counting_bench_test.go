package distribute

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"

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
// the fastest turn counts: a busy machine slows others. It reports how many times as long a line takes,
// and how many times as long with the time to inflate it.
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
			packed := log.pack(b)
			own, others, inflating := newFastest(log), newFastest(log), newFastest(log)
			for b.Loop() {
				log.count(b, base, others)
				log.count(b, cut, own)
				log.inflate(b, packed, inflating)
			}
			b.ReportMetric(own.sum()/others.sum(), "of-country")
			b.ReportMetric((own.sum()+inflating.sum())/(others.sum()+inflating.sum()), "of-inflated")
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

// pack returns the log as a gzip file.
func (l logInBlocks) pack(b *testing.B) []byte {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	for _, block := range l {
		_, _ = w.Write(block)
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	return packed.Bytes()
}

// inflate inflates the packed log.
func (l logInBlocks) inflate(b *testing.B, packed []byte, fastest fastest) {
	content, err := stream.Gzip.Inflate(bytes.NewReader(packed), stream.Decoding{})
	if err != nil {
		b.Fatal(err)
	}
	buffer := make([]byte, 256<<10)
	for i, block := range l {
		start := time.Now()
		if _, err := io.ReadFull(content, buffer[:len(block)]); err != nil {
			b.Fatal(err)
		}
		fastest[i] = min(fastest[i], time.Since(start))
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
