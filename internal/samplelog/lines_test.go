package samplelog_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"skidway/internal/samplelog"
)

func lines(t testing.TB, o samplelog.Options) []string {
	t.Helper()
	var text bytes.Buffer
	if err := samplelog.Lines(&text, o); err != nil {
		t.Fatal(err)
	}
	all := strings.SplitAfter(text.String(), "\n")
	if last := all[len(all)-1]; last != "" {
		t.Fatalf("the last line has no newline: %q", last)
	}
	return all[:len(all)-1]
}

func TestSameOptionsGiveTheSameBytesOnEveryMachine(t *testing.T) {
	t.Parallel()
	const want = "a9f3be46f8faba929d8f3a22f3d290d526ca27dae9904a670beb1d82f4b57ca9"
	text := strings.Join(lines(t, samplelog.Options{Lines: 20_000, Seed: 7, BadEvery: 100}), "")
	sum := sha256.Sum256([]byte(text))
	if got := hex.EncodeToString(sum[:]); got != want {
		t.Fatalf("the lines of seed 7 changed: SHA-256 %s, want %s", got, want)
	}
}

func TestAnotherSeedMakesOtherLines(t *testing.T) {
	t.Parallel()
	one, other := lines(t, samplelog.Options{Lines: 100}), lines(t, samplelog.Options{Lines: 100, Seed: 1})
	for i := range one {
		if one[i] == other[i] {
			t.Fatalf("line %d is the same with two seeds: %s", i, one[i])
		}
	}
}

func TestLinesAreAsManyAsAsked(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2, 999, 5_000} {
		if got := len(lines(t, samplelog.Options{Lines: n, BadEvery: 3})); got != n {
			t.Errorf("asked for %d lines, got %d", n, got)
		}
	}
	if got := len(lines(t, samplelog.Options{})); got != samplelog.DefaultLines {
		t.Errorf("zero options made %d lines, want %d", got, samplelog.DefaultLines)
	}
}

// A combined has the fields of a line of the Combined Log Format, read the slow and
// plain way.
type combined struct {
	addr                   netip.Addr
	time                   time.Time
	request, status, agent string
}

func read(line string) (c combined, err error) {
	line, whole := strings.CutSuffix(line, "\n")
	parts := strings.Split(line, `"`)
	if !whole || len(parts) != 7 || parts[6] != "" {
		return c, fmt.Errorf("want three quoted fields at the end: %q", line)
	}
	head := strings.Fields(parts[0])
	if len(head) != 5 {
		return c, fmt.Errorf("want address, two dashes and time: %q", line)
	}
	if c.addr, err = netip.ParseAddr(head[0]); err != nil {
		return c, err
	}
	if c.time, err = time.Parse("[02/Jan/2006:15:04:05 -0700]", head[3]+" "+head[4]); err != nil {
		return c, err
	}
	var size int
	if _, err = fmt.Sscanf(parts[2], " %3s %d ", &c.status, &size); err != nil {
		return c, err
	}
	c.request, c.agent = parts[1], parts[5]
	return c, nil
}

func TestEveryLineIsACombinedLineAndTimeNeverGoesBack(t *testing.T) {
	t.Parallel()
	first := time.Date(2024, time.February, 28, 0, 0, 0, 0, time.UTC)
	days := map[string]int{}
	clients, networks, statuses, agents := map[netip.Addr]int{}, map[byte]bool{}, map[string]int{}, map[string]int{}
	var six, inside, size int
	last := first
	all := lines(t, samplelog.Options{Lines: 60_000, Days: 3, First: first, BadEvery: -1})
	for _, line := range all {
		c, err := read(line)
		if err != nil {
			t.Fatal(err)
		}
		if c.time.Before(last) {
			t.Fatalf("%s comes after %s", c.time, last)
		}
		last = c.time
		size += len(line)
		days[c.time.Format(time.DateOnly)]++
		clients[c.addr]++
		statuses[c.status]++
		agents[c.agent]++
		switch {
		case c.addr.Is6():
			six++
		case c.addr.IsPrivate():
			inside++
		default:
			networks[c.addr.As4()[0]] = true
		}
	}
	if len(days) != 3 || days["2024-02-28"] != 20_000 || days["2024-02-29"] != 20_000 || days["2024-03-01"] != 20_000 {
		t.Errorf("days are %v, want the three days with 20,000 lines each", days)
	}
	if len(networks) < 200 || len(clients) < 10_000 {
		t.Errorf("%d clients in %d of the networks 1 to 223, want many", len(clients), len(networks))
	}
	for name, share := range map[string]float64{"IPv6": float64(six), "private": float64(inside)} {
		if share /= float64(len(all)); share < 0.002 || share > 0.06 {
			t.Errorf("%.4f of the lines have %s addresses", share, name)
		}
	}
	if average := size / len(all); average < 180 || average > 240 {
		t.Errorf("a line has %d bytes on average", average)
	}
	if len(statuses) < 7 || len(agents) < 15 {
		t.Errorf("statuses %v, %d agents: want many", statuses, len(agents))
	}
}

func TestDaysHaveARhythm(t *testing.T) {
	t.Parallel()
	var hours [24]int
	for _, line := range lines(t, samplelog.Options{Lines: 50_000, Days: 5, BadEvery: -1}) {
		c, err := read(line)
		if err != nil {
			t.Fatal(err)
		}
		hours[c.time.Hour()]++
	}
	if hours[3] == 0 || hours[19] < 5*hours[3] {
		t.Errorf("lines by hour are %v, want quiet nights and busy evenings", hours)
	}
}

func TestSomeLinesAreBad(t *testing.T) {
	t.Parallel()
	var blank, handshakes, cut int
	for _, line := range lines(t, samplelog.Options{Lines: 100_000, BadEvery: 50}) {
		if _, err := read(line); err == nil {
			continue
		}
		switch {
		case line == "\n":
			blank++
		case strings.HasPrefix(line, "\x16\x03\x01"):
			handshakes++
		case !strings.Contains(line, "]"):
			cut++
		default:
			t.Fatalf("a bad line has a whole time: %q", line)
		}
	}
	if bad := blank + handshakes + cut; bad < 1_800 || bad > 2_200 {
		t.Errorf("%d bad lines, want about 2,000", bad)
	}
	if blank == 0 || handshakes == 0 || cut == 0 {
		t.Errorf("%d blank, %d handshakes, %d cut: want some of each", blank, handshakes, cut)
	}
}

func TestOptionsThatCanNotBeAreRefusedByName(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]samplelog.Options{
		"lines": {Lines: -1},
		"files": {Files: -1},
		"days":  {Days: 100_000},
	} {
		if err := samplelog.Lines(&bytes.Buffer{}, o); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}

func BenchmarkLines(b *testing.B) {
	var size sizer
	b.ReportAllocs()
	for b.Loop() {
		size = 0
		if err := samplelog.Lines(&size, samplelog.Options{}); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(size))
	b.ReportMetric(samplelog.DefaultLines*float64(b.N)/b.Elapsed().Seconds(), "lines/s")
}

// A sizer counts the bytes written to it.
type sizer int

func (s *sizer) Write(b []byte) (int, error) { *s += sizer(len(b)); return len(b), nil }
