package samplelog

import (
	"fmt"
	"time"
)

// Defaults of [Options].
const (
	DefaultLines    = 100_000
	DefaultFiles    = 4
	DefaultDays     = 3
	DefaultBadEvery = 1_000
)

// The most of each; lines and days keep the clock's arithmetic within 64 bits.
const (
	mostLines = 1_000_000_000_000
	mostFiles = 10_000
	mostDays  = 3_660
)

// defaultFirst is fixed so that the zero Options always give the same lines.
var defaultFirst = time.Date(2026, time.March, 2, 0, 0, 0, 0, time.UTC)

// Options say what to write. The zero value is ready to use.
type Options struct {
	// Lines is how many lines to write, over all files and with the bad
	// ones. Zero means [DefaultLines].
	Lines int

	// Seed chooses the lines; two seeds give different clients.
	Seed uint64

	// Files is how many files [Write] makes, never more than Lines. Zero
	// means [DefaultFiles]. The other functions take no notice of it.
	Files int

	// Days is how many days the lines are spread over, evenly. Zero means
	// [DefaultDays].
	Days int

	// First is the first of these days, as it is called in UTC. The zero
	// time means 2026-03-02.
	First time.Time

	// BadEvery is how many lines there are to a bad one, on average: one
	// that has no valid address and time, because it is cut short, blank, or
	// the start of a TLS handshake. Zero means [DefaultBadEvery]; below
	// zero, every line is good.
	BadEvery int
}

// withDefaults fills in what was left out and refuses what can't be.
func (o Options) withDefaults() (Options, error) {
	for _, field := range []struct {
		name           string
		value          *int
		otherwise, top int64
	}{
		{"lines", &o.Lines, DefaultLines, mostLines},
		{"files", &o.Files, DefaultFiles, mostFiles},
		{"days", &o.Days, DefaultDays, mostDays},
	} {
		if *field.value == 0 {
			*field.value = int(field.otherwise)
		}
		if n := int64(*field.value); n < 0 || n > field.top {
			return o, fmt.Errorf("%s %d: want 1 to %d", field.name, n, field.top)
		}
	}
	if o.BadEvery == 0 {
		o.BadEvery = DefaultBadEvery
	}
	if o.First.IsZero() {
		o.First = defaultFirst
	}
	o.Files = min(o.Files, o.Lines)
	return o, nil
}
