package jobs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/queue"
	"skidway/workers"
	"skidway/workers/kinds"
)

// jobFlags are the flags with the options of a job.
type jobFlags struct {
	priority            cli.Choice
	in, timeout, retain cli.Span
	at                  timeFlag
	unique              string
	uniqueFor           cli.Span
	maxAttempts         cli.Number
	headers             headers
	then                string
}

func (f *jobFlags) add(c *cobra.Command) {
	f.addOptions(c)
	c.Flags().StringVar(&f.then, "then", "", "`JOBS` to add when this one has succeeded: a JSON list, or @FILE")
}

// addOptions adds the flags that a copy of a job has too.
func (f *jobFlags) addOptions(c *cobra.Command) {
	f.priority = cli.Choice{Word: "normal", Words: []string{"high", "normal", "low"}}
	f.headers = headers{}
	flags := c.Flags()
	flags.Var(&f.priority, "priority", "priority in the queue")
	addTimes(c, &f.in, &f.at)
	flags.StringVar(&f.unique, "unique", "", "`KEY` that only one job of the queue can hold at a time")
	flags.Var(&f.uniqueFor, "unique-for", "time to hold the key (default: until the job has ended)")
	flags.Var(&f.maxAttempts, "max-attempts", "failed attempts until the job is dead (default: set by the worker)")
	flags.Var(&f.timeout, "timeout", "longest duration of an attempt (default: set by the worker)")
	flags.Var(&f.retain, "retain", "time to keep the finished job with its result (default: not kept)")
	flags.Var(&f.headers, "header", "`NAME=VALUE` header of the job; may be repeated")
	cli.Complete(c, "priority", f.priority.Words...)
}

// addTimes adds the flags with the time when a job runs.
func addTimes(c *cobra.Command, in *cli.Span, at *timeFlag) {
	c.Flags().Var(in, "in", "delay before the job runs, such as 10m")
	c.Flags().Var(at, "at", "time when the job runs, as 2026-11-30T08:00:00Z, or in this machine's zone \"2026-11-30 08:00\"")
}

func (f *jobFlags) get() (queue.Options, error) {
	if f.uniqueFor > 0 && f.unique == "" {
		return queue.Options{}, cli.WrongUsage("--unique-for goes with --unique KEY")
	}
	priority, err := queue.ParsePriority(f.priority.Word)
	if err != nil {
		return queue.Options{}, err
	}
	var then []queue.NewJob
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

// A timeFlag is a time of RFC 3339, or a time in this machine's zone.
type timeFlag time.Time

func (m *timeFlag) Set(text string) error {
	at, err := time.Parse(time.RFC3339, text)
	for _, layout := range []string{time.DateTime, "2006-01-02 15:04"} {
		if err != nil {
			at, err = time.ParseInLocation(layout, text, time.Local)
		}
	}
	if err != nil {
		return errors.New(`want a time such as 2026-11-30T08:00:00Z or "2026-11-30 08:00"`)
	}
	*m = timeFlag(at)
	return nil
}

func (m *timeFlag) String() string {
	if time.Time(*m).IsZero() {
		return ""
	}
	return time.Time(*m).Format(time.RFC3339)
}

func (*timeFlag) Type() string { return "TIME" }

// headers are the values of --header, by name.
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

// readThen reads the jobs of --then: a JSON list, or @FILE that holds it.
func readThen(text string) ([]queue.NewJob, error) {
	list := []byte(text)
	if file, named := strings.CutPrefix(text, "@"); named {
		var err error
		if list, err = os.ReadFile(file); err != nil {
			return nil, fmt.Errorf("--then: %w", err)
		}
	}
	if err := checkJSON(list); err != nil {
		return nil, cli.WrongUsage("--then: its jobs %w", err)
	}
	if first := bytes.TrimSpace(list); first[0] != '[' {
		return nil, cli.WrongUsage(`--then: want a list of jobs such as [{"kind":"email.send","args":{}}]`)
	}
	var jobs []queue.NewJob
	if err := json.Unmarshal(list, &jobs); err != nil {
		return nil, cli.WrongUsage("--then: %w", err)
	}
	if err := CheckThen(jobs); err != nil {
		return nil, cli.WrongUsage("--then: %w", err)
	}
	return jobs, nil
}

// CheckThen checks the args of jobs that follow another, and of those that follow
// them, if their kinds are built in.
func CheckThen(jobs []queue.NewJob) error {
	for i, job := range jobs {
		args, err := queue.MarshalArgs(job.Args)
		if err == nil {
			err = checkTemplate(job.Args.Kind(), args)
		}
		if err == nil {
			err = CheckThen(job.Options.Then)
		}
		if err != nil {
			return fmt.Errorf("then[%d]: %w", i, err)
		}
	}
	return nil
}

// checkTemplate is CheckArgs for args with {{ in some fields. These get other values
// when the job is enqueued, so it reports no error of such a field. (It misses the
// errors of the fields behind it, too.)
func checkTemplate(kind string, args []byte) error {
	err := kinds.Check(kind, args)
	var invalid *workers.FieldError
	if !errors.As(err, &invalid) {
		return err
	}
	field := invalid.Field
	if end := strings.IndexAny(field, ".["); end > 0 {
		field = field[:end]
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(args, &fields) == nil && bytes.Contains(fields[field], []byte("{{")) {
		return nil
	}
	return err
}
