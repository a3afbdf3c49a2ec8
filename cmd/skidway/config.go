package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"skidway/queue"
)

// A config is what a worker's configuration file says. What it leaves out has
// its default. Every value that is no list or map can also be given by an
// environment variable, which wins: see [config.fromEnvironment].
type config struct {
	Redis     string           `yaml:"redis"`
	Prefix    string           `yaml:"prefix"`
	Listen    string           `yaml:"listen"`   // for health and metrics; empty: nowhere
	Revision  int              `yaml:"revision"` // of the schedules
	Log       logConfig        `yaml:"log"`
	Worker    workerConfig     `yaml:"worker"`
	Queues    []queueConfig    `yaml:"queues"`
	Kinds     kindsConfig      `yaml:"kinds"`
	Schedules []scheduleConfig `yaml:"schedules"`

	file string
}

type logConfig struct {
	Level  string `yaml:"level"`  // debug, info, warn, error
	Format string `yaml:"format"` // text, json
}

type workerConfig struct {
	Concurrency int           `yaml:"concurrency"`
	Strict      bool          `yaml:"strict"`
	Name        string        `yaml:"name"`
	Lease       duration      `yaml:"lease"`
	Timeout     duration      `yaml:"timeout"`
	MaxAttempts int           `yaml:"max_attempts"`
	Crashes     int           `yaml:"crashes"`
	Grace       duration      `yaml:"grace"`
	Drain       duration      `yaml:"drain"`
	Backoff     backoffConfig `yaml:"backoff"`
}

type backoffConfig struct {
	First  duration `yaml:"first"`
	Most   duration `yaml:"most"`
	Factor float64  `yaml:"factor"`
	Jitter float64  `yaml:"jitter"`
}

type queueConfig struct {
	Name        string `yaml:"name"`
	Weight      int    `yaml:"weight"`
	Concurrency int    `yaml:"concurrency"`
}

type scheduleConfig struct {
	Name    string  `yaml:"name"`
	Cron    string  `yaml:"cron"`
	Zone    string  `yaml:"tz"`
	CatchUp string  `yaml:"catch_up"`
	Job     jobYAML `yaml:"job"`

	line int
}

// UnmarshalYAML notes where the schedule is.
func (s *scheduleConfig) UnmarshalYAML(node ast.Node) error {
	type plain scheduleConfig
	p := plain{line: node.GetToken().Position.Line}
	if err := yaml.NodeToValue(node, &p, yaml.Strict()); err != nil {
		return err
	}
	*s = scheduleConfig(p)
	return nil
}

// schedule is the schedule as Redis is to have it.
func (s *scheduleConfig) schedule(revision int) (queue.Schedule, error) {
	args, err := json.Marshal(s.Job.Args)
	if err != nil {
		return queue.Schedule{}, err
	}
	return queue.Schedule{
		Name: s.Name, Expr: s.Cron, Zone: s.Zone, Queue: s.Job.Options.Queue, Kind: s.Job.Args.Kind(), Args: args,
		Options: s.Job.Options, CatchUp: queue.CatchUp(s.CatchUp), Revision: max(1, revision),
	}, nil
}

// A jobYAML is a job, with the names that it has in JSON.
type jobYAML struct{ queue.Insert }

// UnmarshalYAML reads the job as JSON.
func (j *jobYAML) UnmarshalYAML(node ast.Node) error {
	text, err := node.MarshalYAML()
	if err == nil {
		text, err = yaml.YAMLToJSON(text)
	}
	if err == nil {
		err = j.Insert.UnmarshalJSON(text)
	}
	if err != nil {
		return &lineError{node.GetToken().Position.Line, err}
	}
	return nil
}

// A duration is a length of time, written "90s" or "2h".
type duration time.Duration

// UnmarshalYAML wants a text with a unit.
func (d *duration) UnmarshalYAML(node ast.Node) error {
	text := node.GetToken().Value
	parsed, err := time.ParseDuration(text)
	if err != nil || parsed < 0 {
		return &lineError{node.GetToken().Position.Line, fmt.Errorf("%q is no length of time such as 90s or 2h", text)}
	}
	*d = duration(parsed)
	return nil
}

// A byteSize is a size, written "20MiB" or as a number.
type byteSize int64

// UnmarshalYAML reads a size as flags have it.
func (b *byteSize) UnmarshalYAML(node ast.Node) error {
	var s size
	if err := s.Set(node.GetToken().Value); err != nil {
		return &lineError{node.GetToken().Position.Line, err}
	}
	*b = byteSize(s)
	return nil
}

// A lineError is an error at a line of the file.
type lineError struct {
	line int
	err  error
}

func (e *lineError) Error() string { return e.err.Error() }
func (e *lineError) Unwrap() error { return e.err }

// A configError says what is wrong with a configuration, and where.
type configError struct {
	file string
	line int // 0: nowhere in particular
	err  error
}

func (e *configError) Error() string {
	if e.line == 0 {
		return e.file + ": " + e.err.Error()
	}
	return e.file + ":" + strconv.Itoa(e.line) + ": " + e.err.Error()
}

func (e *configError) Unwrap() error { return e.err }

// readConfig reads a configuration; "" is an empty one. What is in the
// environment wins.
func readConfig(file string, environment func(string) (string, bool)) (*config, error) {
	c := &config{file: file}
	if file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if err := c.parse(text); err != nil {
			return nil, err
		}
	}
	if err := c.fromEnvironment(environment); err != nil {
		return nil, err
	}
	return c, c.check()
}

// parse reads the text of a file. Names that are not known are refused.
func (c *config) parse(text []byte) error {
	err := yaml.UnmarshalWithOptions(text, c, yaml.Strict())
	if err == nil {
		return nil
	}
	wrong := &configError{file: c.file, err: err}
	var at *lineError
	var inYAML yaml.Error
	switch {
	case errors.As(err, &at):
		wrong.line, wrong.err = at.line, at.err
	case errors.As(err, &inYAML):
		// Not the whole error, which has the lines around in it: there may
		// be secrets.
		wrong.line, wrong.err = inYAML.GetToken().Position.Line, errors.New(inYAML.GetMessage())
	}
	return wrong
}
