package worker

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"skidway/cmd/skidway/internal/cli"
	"skidway/cmd/skidway/internal/jobs"
	"skidway/delayed"
	"skidway/distribute"
	"skidway/internal/rdb"
	"skidway/queue"
	"skidway/workers"
	"skidway/workers/kinds"
)

// check checks all that can be checked without Redis.
func (c *config) check() error {
	for _, check := range []func() error{c.checkWords, c.checkWorker, c.checkQueues, c.checkChannels, c.checkSchedules} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (c *config) checkWords() error {
	if err := rdb.CheckURL(c.Redis); err != nil {
		return c.wrong("redis", "%w", err)
	}
	if c.Prefix != "" {
		if err := rdb.CheckPrefix(c.Prefix); err != nil {
			return c.wrong("prefix", "%w", err)
		}
	}
	if c.Log.Format != "" && !slices.Contains([]string{"text", "json"}, c.Log.Format) {
		return c.wrong("log.format", "%q: want text or json", c.Log.Format)
	}
	var level slog.Level
	if c.Log.Level != "" && level.UnmarshalText([]byte(c.Log.Level)) != nil {
		return c.wrong("log.level", "%q: want debug, info, warn or error", c.Log.Level)
	}
	if c.Listen != "" {
		if _, _, err := net.SplitHostPort(c.Listen); err != nil {
			return c.wrong("listen", "%q: want host and port, as in 127.0.0.1:9310", c.Listen)
		}
	}
	if _, err := c.Kinds.HTTP.settings(); err != nil {
		return c.wrong("kinds.http.request.proxy", "%w", err)
	}
	return nil
}

func (c *config) checkWorker() error {
	if lease := time.Duration(c.Worker.Lease); lease != 0 && lease < cli.MinSpan {
		return c.wrong("worker.lease", "%s: want at least %s", lease, cli.MinSpan)
	}
	if c.Worker.Stats != "" && !slices.Contains([]string{"full", "queue", "off"}, c.Worker.Stats) {
		return c.wrong("worker.stats", "%q: want full, queue or off", c.Worker.Stats)
	}
	// A command that outlives the worker's grace is left behind, and its job runs again
	// beside it.
	if own := time.Duration(c.Kinds.Exec.Grace); own >= c.Worker.grace() {
		return c.wrong("kinds.exec.run.grace", "%s: it must be shorter than worker.grace, which is %s", own, c.Worker.grace())
	}
	for _, k := range append(c.Kinds.list(), kindEntry{place: "worker", backoff: c.Worker.Backoff}) {
		if !(k.backoff.Jitter <= 1) {
			return c.wrong(k.place+".backoff.jitter", "%v: it is a share of the wait, up to 1; below 0 is none", k.backoff.Jitter)
		}
		if k.backoff.Factor != 0 && !(k.backoff.Factor >= 1) {
			return c.wrong(k.place+".backoff.factor", "%v: want 1 or more", k.backoff.Factor)
		}
	}
	return nil
}

func (c *config) checkQueues() error {
	names := map[string]bool{}
	for i, q := range c.Queues {
		place := fmt.Sprintf("queues[%d]", i)
		if q.Name == "" || names[q.Name] {
			return c.wrong(place, "%q: every queue has a name of its own", q.Name)
		}
		names[q.Name] = true
		if err := (&workers.Config{Queues: []workers.Queue{q.queue()}}).Validate(); err != nil {
			return c.wrong(place, "%w", err)
		}
		pattern := strings.ContainsAny(q.Name, "*?[")
		if q.Retention != nil {
			if pattern {
				return c.wrong(place+".retention", "%q is a pattern: give each queue that is to keep less an entry of its own", q.Name)
			}
			if err := q.Retention.settings().Validate(); err != nil {
				return c.wrong(place+".retention", "%w", err)
			}
		}
		switch {
		case q.Events == nil:
		case pattern:
			return c.wrong(place+".events", "%q is a pattern: give each queue that is to keep events an entry of its own", q.Name)
		case *q.Events > queue.MaxEvents:
			return c.wrong(place+".events", "%d: want up to %d", *q.Events, queue.MaxEvents)
		}
	}
	return nil
}

func (c *config) checkChannels() error {
	for i, name := range c.Channels {
		if slices.Contains(c.Channels[:i], name) {
			return c.wrong(fmt.Sprintf("channels[%d]", i), "%q is there twice", name)
		}
		if err := distribute.CheckName("channel", name); err != nil {
			return c.wrong(fmt.Sprintf("channels[%d]", i), "%w", err)
		}
	}
	return nil
}

// checkSchedules refuses schedules that never fire, or whose jobs no worker can run.
func (c *config) checkSchedules() error {
	names := map[string]bool{}
	for _, s := range c.Schedules {
		err := s.check()
		if err == nil && names[s.Name] {
			err = errors.New("it is there twice")
		}
		if err != nil {
			return &configError{c.file, s.line, fmt.Errorf("schedule %q: %w", s.Name, err)}
		}
		names[s.Name] = true
	}
	return nil
}

func (s *scheduleConfig) check() error {
	if s.Name == "" {
		return errors.New("it has no name")
	}
	if s.Job.Args == nil {
		return errors.New("it has no job")
	}
	if words := []string{"", "none", "last", "all"}; !slices.Contains(words, s.CatchUp) {
		return fmt.Errorf("catch_up %q: want none, last or all", s.CatchUp)
	}
	if _, err := delayed.Next(s.Cron, s.Zone, time.Now(), 1); err != nil {
		return err
	}
	schedule, err := s.schedule(1)
	if err != nil {
		return err
	}
	if err := schedule.Validate(); err != nil {
		return err
	}
	args, err := queue.MarshalArgs(s.Job.Args)
	if err == nil {
		err = kinds.Check(s.Job.Args.Kind(), args)
	}
	if err == nil {
		err = jobs.CheckThen(s.Job.Options.Then)
	}
	return err
}

// checkKinds makes the kinds as a worker does, and returns their names.
func (c *config) checkKinds() ([]string, error) {
	set, err := newKindSet(nil, nil, c)
	if err != nil {
		return nil, err
	}
	set.close()
	return set.names(), nil
}

// configurationError turns errors of a configuration into errors of usage.
func configurationError(err error) error {
	var wrong *configError
	if errors.As(err, &wrong) {
		return cli.AsUsage(fmt.Errorf("configuration: %w", err))
	}
	return err
}

// A lineError is an error at a line of the file.
type lineError struct {
	line int
	err  error
}

func (e *lineError) Error() string { return e.err.Error() }
func (e *lineError) Unwrap() error { return e.err }

// A configError is an error in a configuration, with its place.
type configError struct {
	file string // empty: the error is not in a file
	line int    // 0: unknown
	err  error
}

func (e *configError) Error() string {
	switch {
	case e.file == "":
		return e.err.Error()
	case e.line == 0:
		return e.file + ": " + e.err.Error()
	}
	return e.file + ":" + strconv.Itoa(e.line) + ": " + e.err.Error()
}

func (e *configError) Unwrap() error { return e.err }

// An origin has the places that the values of a configuration come from, by path: as
// kinds.email.send.host or queues[0].name.
type origin struct {
	lines     map[string]int    // line numbers in the file
	variables map[string]string // environment variables that are set
}

// note remembers the lines of a node and of all nodes below.
func (o *origin) note(node ast.Node, place string) {
	if _, known := o.lines[place]; !known {
		o.lines[place] = node.GetToken().Position.Line
	}
	switch node := node.(type) {
	case *ast.AnchorNode:
		o.note(node.Value, place)
	case *ast.MappingNode:
		for _, value := range node.Values {
			o.note(value, place)
		}
	case *ast.MappingValueNode:
		key := node.Key.GetToken()
		below := strings.TrimPrefix(place+"."+key.Value, ".")
		o.lines[below] = key.Position.Line
		o.note(node.Value, below)
	case *ast.SequenceNode:
		for i, value := range node.Values {
			o.note(value, fmt.Sprintf("%s[%d]", place, i))
		}
	}
}

// line returns the line of a place, or of the nearest place around it; 0 for none.
func (o *origin) line(place string) int {
	for place != "" {
		if line, known := o.lines[place]; known {
			return line
		}
		place = place[:max(0, strings.LastIndexAny(place, ".["))]
	}
	return 0
}

// wrong returns an error of the values at a place, with its line, or with the
// variables that override it.
func (c *config) wrong(place string, format string, values ...any) error {
	e := &configError{c.file, c.origin.line(place), fmt.Errorf(place+": "+format, values...)}
	if name, set := c.origin.variables[place]; set {
		return &configError{err: fmt.Errorf("the environment variable %s: %w", name, e.err)}
	}
	var below []string
	for _, other := range slices.Sorted(maps.Keys(c.origin.variables)) {
		if strings.HasPrefix(other, place+".") {
			below = append(below, c.origin.variables[other])
		}
	}
	if len(below) > 0 {
		e.err = fmt.Errorf("%w (with %s of the environment)", e.err, strings.Join(below, ", "))
	}
	return e
}
