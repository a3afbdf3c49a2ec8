package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"time"

	"skidway/delayed"
	"skidway/distribute/geo"
	"skidway/workers"
	"skidway/workers/kinds"
)

// A kindsConfig has the settings of the built-in kinds. A kind that needs some,
// and has none, is not served.
type kindsConfig struct {
	Email emailConfig `yaml:"email.send"`
	HTTP  httpConfig  `yaml:"http.request"`
	Exec  execConfig  `yaml:"exec.run"`
	Logs  logsConfig  `yaml:"logs"` // of logs.ship, logs.report and logs.count
}

// KindSettings are what all kinds have. (The YAML package can embed exported
// types only.)
type KindSettings struct {
	Timeout     duration      `yaml:"timeout"`
	MaxAttempts int           `yaml:"max_attempts"`
	Backoff     backoffConfig `yaml:"backoff"`
}

type emailConfig struct {
	KindSettings `yaml:",inline"`
	Host         string      `yaml:"host"`
	Port         int         `yaml:"port"`
	TLS          string      `yaml:"tls"`
	Auth         string      `yaml:"auth"`
	Username     string      `yaml:"username"`
	Password     secretValue `yaml:"password"`
	Hello        string      `yaml:"hello"`
	From         string      `yaml:"from"`
	Domain       string      `yaml:"domain"`
	Connections  int         `yaml:"connections"`
	IdleTimeout  duration    `yaml:"idle_timeout"`
	SMTPTimeout  duration    `yaml:"smtp_timeout"`
	PerMinute    int         `yaml:"per_minute"`
	Templates    string      `yaml:"templates"`
	Attachments  []string    `yaml:"attachments"`
	MaxSize      byteSize    `yaml:"max_size"`
}

type httpConfig struct {
	KindSettings   `yaml:",inline"`
	AllowRedirects bool                   `yaml:"allow_redirects"`
	AllowPrivate   bool                   `yaml:"allow_private"`
	Proxy          string                 `yaml:"proxy"`
	Secrets        map[string]secretValue `yaml:"secrets"`
}

type execConfig struct {
	KindSettings `yaml:",inline"`
	Grace        duration                 `yaml:"grace"`
	Commands     map[string]commandConfig `yaml:"commands"`
}

type logsConfig struct {
	KindSettings `yaml:",inline"`
	Folders      []string `yaml:"folders"`
	GeoIP        string   `yaml:"geoip"`
}

type commandConfig struct {
	Path      string            `yaml:"path"`
	Args      []string          `yaml:"args"`
	MaxArgs   int               `yaml:"max_args"`
	Env       map[string]string `yaml:"env"`
	Inherit   []string          `yaml:"inherit"`
	Dir       string            `yaml:"dir"`
	Timeout   duration          `yaml:"timeout"`
	Output    byteSize          `yaml:"output"`
	DeadCodes []int             `yaml:"dead_codes"`
}

func (c *backoffConfig) policy() delayed.Policy {
	if *c == (backoffConfig{}) {
		return nil
	}
	return delayed.Backoff{First: time.Duration(c.First), Most: time.Duration(c.Most), Factor: c.Factor, Jitter: c.Jitter}.Policy()
}

func (c *KindSettings) kind() workers.Kind {
	return workers.Kind{Timeout: time.Duration(c.Timeout), MaxAttempts: c.MaxAttempts, Backoff: c.Backoff.policy()}
}

func (c *emailConfig) settings(fetcher kinds.Fetcher) kinds.EmailConfig {
	return kinds.EmailConfig{
		Host: c.Host, Port: c.Port, TLS: c.TLS, Auth: c.Auth, Username: c.Username, Password: c.Password.text,
		Hello: c.Hello, From: c.From, Domain: c.Domain, Connections: c.Connections, IdleTimeout: time.Duration(c.IdleTimeout),
		Timeout: time.Duration(c.SMTPTimeout), PerMinute: c.PerMinute, Templates: c.Templates, Attachments: c.Attachments,
		MaxSize: int64(c.MaxSize), Fetcher: fetcher,
	}
}

func (c *httpConfig) settings() (kinds.HTTPConfig, error) {
	s := kinds.HTTPConfig{AllowRedirects: c.AllowRedirects, AllowPrivate: c.AllowPrivate, Secrets: map[string]string{}}
	for name, value := range c.Secrets {
		s.Secrets[name] = value.text
	}
	if c.Proxy != "" {
		proxy, err := url.Parse(c.Proxy)
		if err != nil || proxy.Host == "" {
			return s, errors.New("kinds.http.request.proxy: want a URL such as http://proxy.example.com:3128")
		}
		s.Proxy = proxy
	}
	return s, nil
}

func (c *execConfig) settings() kinds.ExecConfig {
	s := kinds.ExecConfig{Grace: time.Duration(c.Grace), Commands: map[string]kinds.Command{}}
	for name, command := range c.Commands {
		s.Commands[name] = kinds.Command{
			Path: command.Path, Args: command.Args, MaxArgs: command.MaxArgs, Env: command.Env, Inherit: command.Inherit,
			Dir: command.Dir, Timeout: time.Duration(command.Timeout), Output: int(command.Output), DeadCodes: command.DeadCodes,
		}
	}
	return s
}

// logsTimeout bounds the jobs of logs where nothing else does: files may be large
// and workers few.
const logsTimeout = 24 * time.Hour

func (c *logsConfig) settings() (kinds.LogsConfig, error) {
	s := kinds.LogsConfig{Folders: c.Folders}
	if c.GeoIP == "" {
		return s, nil
	}
	var err error
	s.Countries, err = geo.Open(c.GeoIP)
	return s, err
}

func (c *logsConfig) kind() workers.Kind {
	k := c.KindSettings.kind()
	if k.Timeout == 0 {
		k.Timeout = logsTimeout
	}
	return k
}

// settings are those of the pool, without queues.
func (c *workerConfig) settings() workers.Config {
	return workers.Config{
		Strict: c.Strict, Concurrency: c.Concurrency, Lease: time.Duration(c.Lease), Timeout: time.Duration(c.Timeout),
		MaxAttempts: c.MaxAttempts, Backoff: c.Backoff.policy(), Grace: time.Duration(c.Grace), Drain: time.Duration(c.Drain),
		Crashes: c.Crashes, Name: c.Name,
	}
}

// check refuses what can't be right, as far as that can be told without Redis.
func (c *config) check() error {
	wrong := func(format string, values ...any) error {
		return &configError{file: c.place(), err: fmt.Errorf(format, values...)}
	}
	if c.Log.Format != "" && !slices.Contains([]string{"text", "json"}, c.Log.Format) {
		return wrong("log.format %q: want text or json", c.Log.Format)
	}
	var level slog.Level
	if c.Log.Level != "" && level.UnmarshalText([]byte(c.Log.Level)) != nil {
		return wrong("log.level %q: want debug, info, warn or error", c.Log.Level)
	}
	if c.Revision < 0 {
		return wrong("revision %d: want 0 or more", c.Revision)
	}
	names := map[string]bool{}
	for _, q := range c.Queues {
		if q.Name == "" || names[q.Name] {
			return wrong("queues: %q: every queue has a name of its own", q.Name)
		}
		names[q.Name] = true
	}
	if _, err := c.Kinds.HTTP.settings(); err != nil {
		return wrong("%w", err)
	}
	return c.checkSchedules()
}

// checkSchedules refuses schedules that could never fire.
func (c *config) checkSchedules() error {
	names := map[string]bool{}
	for _, s := range c.Schedules {
		wrong := func(err error) error { return &configError{c.file, s.line, err} }
		if names[s.Name] {
			return wrong(fmt.Errorf("schedule %q is there twice", s.Name))
		}
		names[s.Name] = true
		if s.Job.Args == nil {
			return wrong(fmt.Errorf("schedule %q has no job", s.Name))
		}
		if _, err := delayed.Next(s.Cron, s.Zone, time.Now(), 1); err != nil {
			return wrong(fmt.Errorf("schedule %q: %w", s.Name, err))
		}
	}
	return nil
}

// place is where the configuration comes from, for errors.
func (c *config) place() string {
	if c.file == "" {
		return "configuration"
	}
	return c.file
}

// queues are those of the configuration for a pool.
func (c *config) queues() []workers.Queue {
	list := make([]workers.Queue, len(c.Queues))
	for i, q := range c.Queues {
		list[i] = workers.Queue{Name: q.Name, Weight: q.Weight, Concurrency: q.Concurrency}
	}
	return list
}
