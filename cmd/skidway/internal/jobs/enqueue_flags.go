package jobs

import (
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/queue"
)

// jobFlags are the flags that say how a job is to be run.
type jobFlags struct {
	priority            cli.Choice
	in, timeout, retain cli.Span
	at                  moment
	unique              string
	uniqueFor           cli.Span
	maxAttempts         cli.Number
	headers             headers
	then                string
}

func (f *jobFlags) add(c *cobra.Command) {
	f.priority = cli.Choice{Word: "normal", Words: []string{"high", "normal", "low"}}
	f.headers = headers{}
	flags := c.Flags()
	flags.Var(&f.priority, "priority", "what goes first in the queue")
	flags.Var(&f.in, "in", "let the job wait so long")
	flags.Var(&f.at, "at", "let it wait until then, as 2026-11-30T08:00:00Z, or in this machine's zone \"2026-11-30 08:00\"")
	flags.StringVar(&f.unique, "unique", "", "`KEY` that only one job of the queue may hold at a time")
	flags.Var(&f.uniqueFor, "unique-for", "hold the key so long (default: until the job has ended)")
	flags.Var(&f.maxAttempts, "max-attempts", "failures after which the job is dead (default: what the worker says)")
	flags.Var(&f.timeout, "timeout", "end an attempt that takes longer (default: what the worker says)")
	flags.Var(&f.retain, "retain", "keep what became of the job so long (default: only count it)")
	flags.Var(&f.headers, "header", "`NAME=VALUE` to go with the job; may be given again")
	flags.StringVar(&f.then, "then", "", "`JOBS` that follow once it has succeeded, a list as in batches, or @FILE")
	cli.Complete(c, "priority", f.priority.Words...)
}

func (f *jobFlags) get() (queue.Options, error) {
	if f.uniqueFor > 0 && f.unique == "" {
		return queue.Options{}, cli.WrongUsage("--unique-for goes with --unique KEY")
	}
	priority, err := queue.ParsePriority(f.priority.Word)
	if err != nil {
		return queue.Options{}, err
	}
	var then []queue.Insert
	if f.then != "" {
		if then, err = readThen(f.then); err != nil {
			return queue.Options{}, err
		}
	}
	unique := queue.Unique{Key: f.unique, For: time.Duration(f.uniqueFor)}
	if f.uniqueFor > 0 {
		unique.Scope = queue.ForDuration
	}
	return queue.Options{
		Priority: priority, Delay: time.Duration(f.in), At: time.Time(f.at), Unique: unique,
		MaxAttempts: int(f.maxAttempts), Timeout: time.Duration(f.timeout), Retain: time.Duration(f.retain), Headers: f.headers, Then: then,
	}, nil
}

// A moment is a time of RFC 3339, or one of this machine's zone.
type moment time.Time

func (m *moment) Set(text string) error {
	at, err := time.Parse(time.RFC3339, text)
	for _, layout := range []string{time.DateTime, "2006-01-02 15:04"} {
		if err != nil {
			at, err = time.ParseInLocation(layout, text, time.Local)
		}
	}
	if err != nil {
		return errors.New(`want a time such as 2026-11-30T08:00:00Z or "2026-11-30 08:00"`)
	}
	*m = moment(at)
	return nil
}

func (m *moment) String() string {
	if time.Time(*m).IsZero() {
		return ""
	}
	return time.Time(*m).Format(time.RFC3339)
}

func (*moment) Type() string { return "TIME" }

// headers are names with values.
type headers map[string]string

func (h headers) Set(text string) error {
	name, value, ok := strings.Cut(text, "=")
	if !ok || name == "" {
		return errors.New("want NAME=VALUE")
	}
	h[name] = value
	return nil
}

func (h headers) String() string { return "" }
func (headers) Type() string     { return "NAME=VALUE" }
