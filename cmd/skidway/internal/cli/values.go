package cli

import (
	"errors"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"
)

// A Size is a number of bytes, written "1GiB", "500MB" or "1048576".
type Size int64

func (s *Size) Set(text string) error {
	n, err := humanize.ParseBytes(text)
	if err != nil || n == 0 || n > math.MaxInt64 {
		return errors.New("want a size such as 512MiB or 2GiB")
	}
	*s = Size(n)
	return nil
}

func (s *Size) String() string {
	if *s == 0 {
		return ""
	}
	return humanize.IBytes(uint64(*s))
}

func (*Size) Type() string { return "SIZE" }

// A Day is a calendar day, written "2006-01-02".
type Day string

func (d *Day) Set(text string) error {
	if _, err := time.Parse(time.DateOnly, text); err != nil {
		return errors.New("want a day such as 2026-11-30")
	}
	*d = Day(text)
	return nil
}

func (d *Day) String() string { return string(*d) }
func (*Day) Type() string     { return "DAY" }

// A Zone is a time zone of the IANA database.
type Zone struct{ Location *time.Location }

func (z *Zone) Set(text string) error {
	// "Local" would mean another zone on each machine.
	location, err := time.LoadLocation(text)
	if err != nil || text == "" || text == "Local" {
		return errors.New("want the name of a time zone, such as UTC or Europe/Berlin")
	}
	z.Location = location
	return nil
}

func (z *Zone) String() string {
	if z.Location == nil {
		return ""
	}
	return z.Location.String()
}

func (*Zone) Type() string { return "ZONE" }

// A Choice is one of a few words.
type Choice struct {
	Word  string
	Words []string
}

func (c *Choice) Set(text string) error {
	if !slices.Contains(c.Words, text) {
		return errors.New("want one of " + strings.Join(c.Words, ", "))
	}
	c.Word = text
	return nil
}

func (c *Choice) String() string { return c.Word }
func (c *Choice) Type() string   { return strings.Join(c.Words, "|") }

// Complete sets the words that the shell offers for a flag.
func Complete(c *cobra.Command, flag string, words ...string) {
	_ = c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// A Span is a duration of at least [MinSpan].
type Span time.Duration

func (s *Span) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d < MinSpan {
		return errors.New("want a length of time such as 10s or 2m, at least " + MinSpan.String())
	}
	*s = Span(d)
	return nil
}

// MinSpan is the shortest lease, which has three heartbeats.
const MinSpan = 100 * time.Millisecond

// String returns the time as people write it: 2h, not 2h0m0s.
func (s *Span) String() string {
	if *s == 0 {
		return ""
	}
	text := time.Duration(*s).String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = strings.TrimSuffix(text, zero[1:])
		}
	}
	return text
}

func (*Span) Type() string { return "TIME" }

// A Number is a whole number, zero or more.
type Number int

func (n *Number) Set(text string) error {
	parsed, err := strconv.Atoi(text)
	if err != nil || parsed < 0 {
		return errors.New("want a whole number, zero or more")
	}
	*n = Number(parsed)
	return nil
}

func (n *Number) String() string { return strconv.Itoa(int(*n)) }
func (*Number) Type() string     { return "N" }

// ReadSecret returns the first line of a file.
func ReadSecret(file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	first, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimRight(first, "\r"), nil
}
