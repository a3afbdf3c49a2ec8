package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestLossIsPositiveWhereTheFigureIsWorse(t *testing.T) {
	for _, c := range []struct {
		name       string
		base, head float64
		want       float64
	}{
		{"drain_per_s", 100, 90, 10},
		{"drain_per_s", 100, 110, -10},
		{"late_ms_p99", 100, 110, 10},
		{"idle_commands_per_s", 2, 1, -50},
		{"idle_commands_per_s", 0, 0, 0},
		{"idle_commands_per_s", 0, 1, math.Inf(1)},
		{"worker_peak_rss_mb", 50, 75, 50},
		{"bytes_per_member", 100, 105, 5},
		{"one_file_vs_inflate", 0.5, 0.4, 20},
		{"lone_enqueue_vs_xadd", 1, 1.1, 10},
		{"lone_enqueue_us", 20, 22, 10},
		{"callers16_vs_xadd", 1, 0.9, 10},
		{"read_per_s", 3, 3, 0},
	} {
		d, err := direction(c.name)
		if err != nil {
			t.Fatal(err)
		}
		if got := losses([]float64{c.base}, []float64{c.head}, d)[0]; got != c.want && !(math.Abs(got-c.want) < 1e-9) {
			t.Errorf("%s from %v to %v: loss %v, want %v", c.name, c.base, c.head, got, c.want)
		}
	}
}

func TestInterval(t *testing.T) {
	numbers := func(n int) (values []float64) {
		for i := range n {
			values = append(values, float64(n-i)) // 1 to n, not sorted
		}
		return values
	}
	// The ranks are those of tables of the sign test.
	for _, c := range []struct {
		n                 int
		low, median, high float64
	}{
		{5, math.Inf(-1), 3, math.Inf(1)},
		{6, 1, 3.5, 6},
		{10, 2, 5.5, 9},
		{15, 4, 8, 12},
		{20, 6, 10.5, 15},
	} {
		low, median, high := interval(numbers(c.n))
		if low != c.low || median != c.median || high != c.high {
			t.Errorf("of %d values: %v, %v, %v, want %v, %v, %v", c.n, low, median, high, c.low, c.median, c.high)
		}
	}
}

func TestOnlyClearLossesBeyondTheLimitFail(t *testing.T) {
	tens := slices.Repeat([]float64{100}, 10)
	for name, c := range map[string]struct {
		head  []float64
		fails bool
	}{
		"the same":           {tens, false},
		"better":             {slices.Repeat([]float64{120}, 10), false},
		"a little worse":     {slices.Repeat([]float64{96}, 10), false},
		"worse":              {slices.Repeat([]float64{90}, 10), true},
		"worse most times":   {[]float64{90, 90, 90, 90, 90, 90, 90, 90, 90, 120}, true},
		"worse, not certain": {[]float64{80, 80, 80, 80, 80, 80, 80, 120, 120, 120}, false},
	} {
		var text strings.Builder
		err := report(&text, map[string][2][]float64{"queue drain_per_s": {tens, c.head}, "queue of_one_side_per_s": {tens, nil}}, 5)
		if (err != nil) != c.fails || strings.Contains(text.String(), "WORSE") != c.fails {
			t.Errorf("%s: %v\n%s", name, err, text.String())
		}
		if !strings.Contains(text.String(), "\nfigures=1 worse=") {
			t.Errorf("%s: a figure that only one side has is compared:\n%s", name, text.String())
		}
	}
}

func TestFiguresOfABenchmarkAreCollected(t *testing.T) {
	var object map[string]any
	if err := json.Unmarshal([]byte(`{"redis": "redis 7.0.15", "runs": 1, "mailbox_send_per_s": 3, "bare_drain_per_s": 4,
		"groups": [{"members": 2, "send_per_s": 5, "stream_send_per_s": 6}, {"members": 100, "send_per_s": 7}]}`), &object); err != nil {
		t.Fatal(err)
	}
	figures := map[string]float64{}
	if err := collect(figures, "chat", object); err != nil {
		t.Fatal(err)
	}
	if len(figures) != 3 || figures["chat mailbox_send_per_s"] != 3 || figures["chat of 2 send_per_s"] != 5 || figures["chat of 100 send_per_s"] != 7 {
		t.Errorf("got %v", figures)
	}
	if err := collect(figures, "chat", map[string]any{"new": 1.0}); err == nil || !strings.Contains(err.Error(), `"new"`) {
		t.Errorf("a figure of which nothing is known: %v", err)
	}
}

func TestEveryFigureOfABenchmarkHasADirection(t *testing.T) {
	files, err := filepath.Glob("../../cmd/skidway/testdata/golden/bench*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden file has the figures: %v", err)
	}
	texts := []string{"redis", "groups"} // their values are no numbers
	found := 0
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, field := range regexp.MustCompile(`(?m)^ +"(\w+)":`).FindAllStringSubmatch(string(content), -1) {
			if slices.Contains(texts, field[1]) {
				continue
			}
			found++
			if _, err := direction(field[1]); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
	if found < 20 {
		t.Errorf("found %d figures in %v, want more", found, files)
	}
}
