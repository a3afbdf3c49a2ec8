package worker

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/dustin/go-humanize"
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"skidway/cmd/skidway/internal/cli"
	"skidway/internal/yamltext"
	"skidway/queue"
)

// A config is the configuration of a worker. A zero value means the default. An
// environment variable overrides any value that is not a list or map: see
// [config.fromEnvironment].
type config struct {
	Redis     string           `yaml:"redis"`
	Prefix    string           `yaml:"prefix"`
	Listen    string           `yaml:"listen"`        // for health and metrics; empty: it does not listen
	AllQueues bool             `yaml:"queue_metrics"` // whether the metrics have all queues
	Revision  wholeNumber      `yaml:"revision"`      // of the schedules
	Log       logConfig        `yaml:"log"`
	Worker    workerConfig     `yaml:"worker"`
	Queues    []queueConfig    `yaml:"queues"`
	Channels  []string         `yaml:"channels"` // of logs, to have in the metrics
	Kinds     kindsConfig      `yaml:"kinds"`
	Schedules []scheduleConfig `yaml:"schedules"`

	file   string
	origin origin
}

type logConfig struct {
	Level  string `yaml:"level"`  // debug, info, warn, error
	Format string `yaml:"format"` // text, json
}

type workerConfig struct {
	Concurrency wholeNumber   `yaml:"concurrency"`
	Strict      bool          `yaml:"strict"`
	Name        string        `yaml:"name"`
	Lease       duration      `yaml:"lease"`
	Timeout     duration      `yaml:"timeout"`
	MaxAttempts wholeNumber   `yaml:"max_attempts"`
	Crashes     wholeNumber   `yaml:"crashes"`
	MaxPayload  byteSize      `yaml:"max_payload"` // taken at the start of the worker
	Grace       duration      `yaml:"grace"`
	Drain       duration      `yaml:"drain"`
	Backoff     backoffConfig `yaml:"backoff"`
	Stats       string        `yaml:"stats"` // full, queue, off
}

type backoffConfig struct {
	First  duration `yaml:"first"`
	Most   duration `yaml:"most"`
	Factor float64  `yaml:"factor"`
	Jitter float64  `yaml:"jitter"`
}

type queueConfig struct {
	Name        string           `yaml:"name"`
	Weight      wholeNumber      `yaml:"weight"`
	Concurrency wholeNumber      `yaml:"concurrency"`
	Retention   *retentionConfig `yaml:"retention"` // missing: as it is in Redis
	Events      *wholeNumber     `yaml:"events"`    // that are kept for the API; missing: as it is in Redis
}

type retentionConfig struct {
	Dead    keepConfig `yaml:"dead"`
	Results keepConfig `yaml:"results"`
}

type keepConfig struct {
	Jobs  wholeNumber `yaml:"jobs"`
	Bytes byteSize    `yaml:"bytes"`
	Age   duration    `yaml:"age"`
}

// maxConfig bounds the bytes of a configuration file.
const maxConfig = 1 << 20

// readConfig reads a configuration and the environment, and checks both. An empty name
// means no file. Its errors are of type [configError].
func readConfig(file string, environment func(string) (string, bool)) (*config, error) {
	c := &config{file: file}
	if file != "" {
		text, err := readBounded(file)
		if err != nil {
			return nil, &configError{file: file, err: err}
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

// readBounded reads a file of at most maxConfig bytes.
func readBounded(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, withoutPath(err)
	}
	defer func() { _ = file.Close() }() // it is only read
	text, err := io.ReadAll(io.LimitReader(file, maxConfig+1))
	switch {
	case err != nil:
		return nil, withoutPath(err)
	case len(text) > maxConfig:
		return nil, fmt.Errorf("it is larger than %s", humanize.IBytes(maxConfig))
	}
	return text, nil
}

// withoutPath removes the path from an error, for messages that have it already.
func withoutPath(err error) error {
	var at *os.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// parse reads the text of a file. It refuses unknown names.
func (c *config) parse(text []byte) error {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if at := invalidUTF8(text); at >= 0 {
		return &configError{c.file, 1 + bytes.Count(text[:at], []byte{'\n'}), errors.New("this line is not UTF-8")}
	}
	if err := yamltext.Guard(func() error { return c.decode(text) }); err != nil {
		return c.yamlError(err)
	}
	return nil
}

// decode sets c from the text of a file.
func (c *config) decode(text []byte) error {
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return err
	}
	if len(file.Docs) > 1 {
		return errors.New("there are several documents in it, divided by ---: want one")
	}
	if len(file.Docs) == 0 || file.Docs[0].Body == nil {
		return nil
	}
	c.origin.lines = map[string]int{}
	c.origin.note(file.Docs[0].Body, "")
	return yaml.NodeToValue(file.Docs[0].Body, c, yaml.Strict())
}

// invalidUTF8 returns the index of the first byte that is not UTF-8, or -1.
func invalidUTF8(text []byte) int {
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && size == 1 {
			return at
		}
		at += size
	}
	return -1
}

// yamlError returns an error with the line and message of err. The text of err itself
// has the lines around, which may hold secrets.
func (c *config) yamlError(err error) error {
	wrong := &configError{file: c.file, err: err}
	var at *lineError
	var inYAML yaml.Error
	switch {
	case errors.As(err, &at):
		wrong.line, wrong.err = at.line, at.err
	case errors.As(err, &inYAML):
		wrong.err = errors.New(explained(inYAML.GetMessage()))
		if token := inYAML.GetToken(); token != nil && token.Position != nil {
			wrong.line = token.Position.Line
		}
	}
	return wrong
}

var unknownField = regexp.MustCompile(`^unknown field "(.*)"$`)

// explained returns a message of the YAML library with what to write instead.
func explained(message string) string {
	if strings.Contains(message, "'\t' that cannot start any token") {
		return "a tab: YAML is indented with spaces"
	}
	if found := unknownField.FindStringSubmatch(message); found != nil {
		message += cli.DidYouMean(found[1], fieldNames(reflect.TypeFor[config]()))
	}
	return message
}

// fieldNames returns the names of all fields in the YAML of a type, at any depth.
func fieldNames(t reflect.Type) (names []string) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return fieldNames(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if name, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ","); name != "" {
				names = append(names, name)
			}
			if t.Field(i).Tag.Get("yaml") != "" {
				names = append(names, fieldNames(t.Field(i).Type)...)
			}
		}
	}
	return names
}

type scheduleConfig struct {
	Name    string  `yaml:"name"`
	Cron    string  `yaml:"cron"`
	Zone    string  `yaml:"tz"`
	CatchUp string  `yaml:"catch_up"`
	Job     jobYAML `yaml:"job"`

	line int
}

// UnmarshalYAML remembers the line of the schedule.
func (s *scheduleConfig) UnmarshalYAML(node ast.Node) error {
	type plain scheduleConfig
	p := plain{line: node.GetToken().Position.Line}
	if err := yaml.NodeToValue(node, &p, yaml.Strict()); err != nil {
		return err
	}
	*s = scheduleConfig(p)
	return nil
}

// schedule returns the schedule as it is stored in Redis.
func (s *scheduleConfig) schedule(revision wholeNumber) (queue.CronSchedule, error) {
	args, err := json.Marshal(s.Job.Args)
	if err != nil {
		return queue.CronSchedule{}, err
	}
	return queue.CronSchedule{
		Name: s.Name, Expr: s.Cron, Zone: s.Zone, Queue: s.Job.Options.Queue, Kind: s.Job.Args.Kind(), Args: args,
		Options: s.Job.Options, CatchUp: queue.CatchUp(s.CatchUp), Revision: max(1, int(revision)),
	}, nil
}

// A jobYAML is a job, with the field names of JSON.
type jobYAML struct{ queue.NewJob }

// UnmarshalYAML reads the job as JSON.
func (j *jobYAML) UnmarshalYAML(node ast.Node) error {
	text, err := node.MarshalYAML()
	if err == nil {
		text, err = yaml.YAMLToJSON(text)
	}
	if err == nil {
		err = j.NewJob.UnmarshalJSON(text)
	}
	if err != nil {
		return &lineError{node.GetToken().Position.Line, err}
	}
	return nil
}
