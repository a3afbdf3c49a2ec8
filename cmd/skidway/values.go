package main

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"
)

// A size is a number of bytes, written "1GiB", "500MB" or "1048576".
type size int64

func (s *size) Set(text string) error {
	n, err := humanize.ParseBytes(text)
	if err != nil || n == 0 || n > math.MaxInt64 {
		return errors.New("want a size such as 512MiB or 2GiB")
	}
	*s = size(n)
	return nil
}

func (s *size) String() string {
	if *s == 0 {
		return ""
	}
	return humanize.IBytes(uint64(*s))
}

func (*size) Type() string { return "SIZE" }

// A day is a calendar day, written "2006-01-02".
type day string

func (d *day) Set(text string) error {
	if _, err := time.Parse(time.DateOnly, text); err != nil {
		return errors.New("want a day such as 2026-11-30")
	}
	*d = day(text)
	return nil
}

func (d *day) String() string { return string(*d) }
func (*day) Type() string     { return "DAY" }

// A zone is a time zone of the IANA database.
type zone struct{ location *time.Location }

func (z *zone) Set(text string) error {
	// "Local" would mean another zone on each machine.
	location, err := time.LoadLocation(text)
	if err != nil || text == "" || text == "Local" {
		return errors.New("want the name of a time zone, such as UTC or Europe/Berlin")
	}
	z.location = location
	return nil
}

func (z *zone) String() string {
	if z.location == nil {
		return ""
	}
	return z.location.String()
}

func (*zone) Type() string { return "ZONE" }

// A choice is one of a few words.
type choice struct {
	word  string
	words []string
}

func (c *choice) Set(text string) error {
	if !slices.Contains(c.words, text) {
		return errors.New("want one of " + strings.Join(c.words, ", "))
	}
	c.word = text
	return nil
}

func (c *choice) String() string { return c.word }
func (c *choice) Type() string   { return strings.Join(c.words, "|") }

// complete offers words for a flag in the shell.
func complete(c *cobra.Command, flag string, words ...string) {
	_ = c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// A span is a length of time above zero.
type span time.Duration

func (s *span) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d < leastSpan {
		return errors.New("want a length of time such as 10s or 2m, at least " + leastSpan.String())
	}
	*s = span(d)
	return nil
}

// leastSpan is the shortest lease: a heartbeat comes three times in it.
const leastSpan = 100 * time.Millisecond

func (s *span) String() string {
	if *s == 0 {
		return ""
	}
	return time.Duration(*s).String()
}

func (*span) Type() string { return "TIME" }

// A number is whole, and zero or more.
type number int

func (n *number) Set(text string) error {
	parsed, err := strconv.Atoi(text)
	if err != nil || parsed < 0 {
		return errors.New("want a whole number, zero or more")
	}
	*n = number(parsed)
	return nil
}

func (n *number) String() string { return strconv.Itoa(int(*n)) }
func (*number) Type() string     { return "N" }
