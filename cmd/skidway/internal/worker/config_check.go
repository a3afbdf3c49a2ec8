package worker

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"regexp"
	"slices"
	"strings"
	"time"

	"skidway/cmd/skidway/internal/cli"
	"skidway/cmd/skidway/internal/jobs"
	"skidway/delayed"
	"skidway/distribute"
	"skidway/queue"
	"skidway/workers"
)

// check refuses what can't be right, as far as that can be told without Redis.
func (c *config) check() error {
	for _, check := range []func() error{c.checkWords, c.checkWorker, c.checkQueues, c.checkChannels, c.checkSchedules} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (c *config) checkWords() error {
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
	if lease := time.Duration(c.Worker.Lease); lease != 0 && lease < cli.LeastSpan {
		return c.wrong("worker.lease", "%s: want at least %s", lease, cli.LeastSpan)
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
		switch r := q.Retention; {
		case r == nil:
		case strings.ContainsAny(q.Name, "*?["):
			return c.wrong(place+".retention", "%q is a pattern: give each queue that is to keep less an entry of its own", q.Name)
		default:
			if err := r.settings().Validate(); err != nil {
				return c.wrong(place+".retention", "%w", err)
			}
		}
	}
	return nil
}

// channelName is what distribute lets be the name of a channel.
var channelName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

func (c *config) checkChannels() error {
	for i, name := range c.Channels {
		if slices.Contains(c.Channels[:i], name) {
			return c.wrong(fmt.Sprintf("channels[%d]", i), "%q is there twice", name)
		}
		if !channelName.MatchString(name) {
			return c.wrong(fmt.Sprintf("channels[%d]", i), "%w", &distribute.InvalidNameError{What: "channel", Name: name})
		}
	}
	return nil
}

// checkSchedules refuses schedules that could never fire, or whose jobs no worker
// could run.
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
		err = jobs.CheckArgs(s.Job.Args.Kind(), args)
	}
	if err == nil {
		err = jobs.CheckThen(s.Job.Options.Then)
	}
	return err
}

// checkKinds makes the kinds, as a worker would, and gives their names.
func (c *config) checkKinds() ([]string, error) {
	set, err := newKindSet(nil, c)
	if err != nil {
		return nil, err
	}
	set.close()
	return set.names(), nil
}

// configurationError makes it wrong usage that a configuration can't be used.
func configurationError(err error) error {
	var wrong *configError
	if errors.As(err, &wrong) {
		return cli.AsUsage(fmt.Errorf("configuration: %w", err))
	}
	return err
}
