package worker

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"time"

	"skidway"
	"skidway/cmd/skidway/internal/telemetry"
	"skidway/delayed"
	"skidway/distribute/geo"
	"skidway/queue"
	"skidway/workers"
	"skidway/workers/kinds/command"
	"skidway/workers/kinds/email"
	"skidway/workers/kinds/logs"
	"skidway/workers/kinds/request"
	"skidway/workers/stats"
)

// A kindsConfig has the settings of the built-in kinds. A worker does not serve a kind
// that needs settings and has none.
type kindsConfig struct {
	Email emailConfig `yaml:"email.send"`
	HTTP  httpConfig  `yaml:"http.request"`
	Exec  execConfig  `yaml:"exec.run"`
	Logs  logsConfig  `yaml:"logs"` // of logs.ship, logs.report and logs.count
}

// A kindEntry is one kind of the configuration.
type kindEntry struct {
	place    string // in the file
	settings any
	backoff  backoffConfig
	missing  string // the setting whose absence turns the kind off, "" if it is on
}

// list returns all kinds. A new kind has an entry here and one in
// [kindSet.handlers].
func (k *kindsConfig) list() []kindEntry {
	unless := func(there bool, name string) string {
		if there {
			return ""
		}
		return name
	}
	return []kindEntry{
		{"kinds.email.send", k.Email, k.Email.Backoff, unless(k.Email.Host != "", "host")},
		{"kinds.exec.run", k.Exec, k.Exec.Backoff, unless(len(k.Exec.Commands) > 0, "commands")},
		{"kinds.http.request", k.HTTP, k.HTTP.Backoff, ""},
		{"kinds.logs", k.Logs, k.Logs.Backoff, unless(len(k.Logs.Folders) > 0, "folders")},
	}
}

// KindSettings are the settings that all kinds have. (The YAML package embeds exported
// types only.)
type KindSettings struct {
	Timeout     duration      `yaml:"timeout"`
	MaxAttempts wholeNumber   `yaml:"max_attempts"`
	Backoff     backoffConfig `yaml:"backoff"`
}

type emailConfig struct {
	KindSettings `yaml:",inline"`
	Host         string      `yaml:"host"`
	Port         wholeNumber `yaml:"port"`
	TLS          string      `yaml:"tls"`
	Auth         string      `yaml:"auth"`
	Username     string      `yaml:"username"`
	Password     secretValue `yaml:"password"`
	Hello        string      `yaml:"hello"`
	From         string      `yaml:"from"`
	Domain       string      `yaml:"domain"`
	Connections  wholeNumber `yaml:"connections"`
	IdleTimeout  duration    `yaml:"idle_timeout"`
	SMTPTimeout  duration    `yaml:"smtp_timeout"`
	PerMinute    wholeNumber `yaml:"per_minute"`
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
	ASN          string   `yaml:"asn"`
}

type commandConfig struct {
	Path      string            `yaml:"path"`
	Args      []string          `yaml:"args"`
	MaxArgs   wholeNumber       `yaml:"max_args"`
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
	return delayed.Backoff{First: time.Duration(c.First), Max: time.Duration(c.Most), Factor: c.Factor, Jitter: c.Jitter}.Policy()
}

func (c *KindSettings) kind() workers.Kind {
	return workers.Kind{Timeout: time.Duration(c.Timeout), MaxAttempts: int(c.MaxAttempts), Backoff: c.Backoff.policy()}
}

func (c *emailConfig) settings(fetcher email.Fetcher) email.Config {
	return email.Config{
		Host: c.Host, Port: int(c.Port), TLS: c.TLS, Auth: c.Auth, Username: c.Username, Password: c.Password.text,
		Hello: c.Hello, From: c.From, Domain: c.Domain, Connections: int(c.Connections), IdleTimeout: time.Duration(c.IdleTimeout),
		Timeout: time.Duration(c.SMTPTimeout), PerMinute: int(c.PerMinute), Templates: c.Templates, Attachments: c.Attachments,
		MaxSize: int64(c.MaxSize), Fetcher: fetcher,
	}
}

func (c *httpConfig) settings() (request.Config, error) {
	s := request.Config{AllowRedirects: c.AllowRedirects, AllowPrivate: c.AllowPrivate, Secrets: map[string]string{}}
	for name, value := range c.Secrets {
		s.Secrets[name] = value.text
	}
	if c.Proxy != "" {
		proxy, err := url.Parse(c.Proxy)
		if err != nil || proxy.Host == "" {
			return s, errors.New("want a URL such as http://proxy.example.com:3128")
		}
		s.Proxy = proxy
	}
	return s, nil
}

// settings returns the settings of commands. Unless they have a grace, it is shorter than
// that of the worker.
func (c *execConfig) settings(workerGrace time.Duration) command.Config {
	grace := cmp.Or(time.Duration(c.Grace), min(command.DefaultGrace, workerGrace/2))
	s := command.Config{Grace: grace, Commands: map[string]command.Command{}}
	for name, listed := range c.Commands {
		s.Commands[name] = command.Command{
			Path: listed.Path, Args: listed.Args, MaxArgs: int(listed.MaxArgs), Env: listed.Env, Inherit: listed.Inherit,
			Dir: listed.Dir, Timeout: time.Duration(listed.Timeout), Output: int(listed.Output), DeadCodes: listed.DeadCodes,
		}
	}
	return s
}

// logsTimeout is the default timeout of the jobs of logs: files may be large and
// workers few.
const logsTimeout = 24 * time.Hour

func (c *logsConfig) settings() (logs.Config, error) {
	s := logs.Config{Folders: c.Folders}
	var err error
	if c.GeoIP != "" {
		s.Countries, err = geo.Open(c.GeoIP)
	}
	if c.ASN != "" && err == nil {
		s.Networks, err = geo.OpenNetworks(c.ASN)
	}
	return s, err
}

func (c *logsConfig) kind() workers.Kind {
	k := c.KindSettings.kind()
	if k.Timeout == 0 {
		k.Timeout = logsTimeout
	}
	return k
}

// grace returns the time that handlers have to return after they were cancelled.
func (c *workerConfig) grace() time.Duration {
	return cmp.Or(time.Duration(c.Grace), workers.DefaultGrace)
}

// settings returns the configuration of the pool, without queues.
func (c *workerConfig) settings() workers.Config {
	return workers.Config{
		Strict: c.Strict, Concurrency: int(c.Concurrency), Lease: time.Duration(c.Lease), Timeout: time.Duration(c.Timeout),
		MaxAttempts: int(c.MaxAttempts), Backoff: c.Backoff.policy(), Grace: time.Duration(c.Grace), Drain: time.Duration(c.Drain),
		Crashes: int(c.Crashes), Name: c.Name, Stats: stats.Mode(c.Stats),
	}
}

// queues returns the queues for the pool.
func (c *config) queues() []workers.Queue {
	list := make([]workers.Queue, len(c.Queues))
	for i, q := range c.Queues {
		list[i] = q.queue()
	}
	return list
}

func (q *queueConfig) queue() workers.Queue {
	return workers.Queue{Name: q.Name, Weight: int(q.Weight), Concurrency: int(q.Concurrency)}
}

func (r *retentionConfig) settings() queue.Retention {
	keep := func(k keepConfig) queue.RetentionLimit {
		return queue.RetentionLimit{Jobs: int(k.Jobs), Bytes: int64(k.Bytes), Age: time.Duration(k.Age)}
	}
	return queue.Retention{Dead: keep(r.Dead), Results: keep(r.Results)}
}

// A kindSet has the built-in kinds of one configuration.
type kindSet struct {
	email  *email.Sender // nil: no mail server is configured
	http   *request.Client
	exec   *command.Runner // nil: no commands are configured
	logs   *logs.Handlers  // nil: no folders are configured
	config kindsConfig
}

// newKindSet checks the settings. db is not used before jobs run. The telemetry is that of the
// requests that jobs send; nil means none. The errors are of type [configError].
func newKindSet(db *skidway.DB, t *telemetry.Telemetry, c *config) (*kindSet, error) {
	set := &kindSet{config: c.Kinds}
	settings, err := c.Kinds.HTTP.settings()
	if err != nil {
		return nil, c.wrong("kinds.http.request", "%w", err)
	}
	settings.Transport = t.Transport
	set.http = request.New(settings)
	for _, k := range c.Kinds.list() {
		if k.missing != "" && !reflect.ValueOf(k.settings).IsZero() {
			return nil, c.wrong(k.place, "it has settings, but no %s: its jobs could not run", k.missing)
		}
	}
	if len(c.Kinds.Exec.Commands) > 0 {
		if set.exec, err = command.New(c.Kinds.Exec.settings(c.Worker.grace())); err != nil {
			return nil, c.wrong("kinds.exec.run", "%w", err)
		}
	}
	if c.Kinds.Email.Host != "" {
		if set.email, err = email.New(c.Kinds.Email.settings(set.http)); err != nil {
			return nil, c.wrong("kinds.email.send", "%w", err)
		}
	}
	if len(c.Kinds.Logs.Folders) > 0 {
		settings, err := c.Kinds.Logs.settings()
		if err == nil {
			set.logs, err = logs.New(db, settings)
		}
		if err != nil {
			return nil, c.wrong("kinds.logs", "%w", err)
		}
	}
	return set, nil
}

// handlers returns the functions that register the handlers of the kinds with a pool, by
// the names of the kinds.
func (s *kindSet) handlers() map[string]func(*workers.Pool) {
	c := s.config
	all := map[string]func(*workers.Pool){}
	addKind(all, c.HTTP.kind(), s.http.Do)
	if s.exec != nil {
		addKind(all, c.Exec.kind(), s.exec.Run)
	}
	if s.email != nil {
		addKind(all, c.Email.kind(), s.email.Send)
	}
	if s.logs != nil {
		addKind(all, c.Logs.kind(), s.logs.Ship)
		addKind(all, c.Logs.kind(), s.logs.Report)
		addKind(all, c.Logs.kind(), s.logs.Count)
	}
	return all
}

func addKind[A queue.Args](all map[string]func(*workers.Pool), kind workers.Kind, handler func(context.Context, *workers.Job[A]) error) {
	var zero A
	all[zero.Kind()] = func(p *workers.Pool) { workers.HandleKind(p, kind, handler) }
}

// names returns the names of the kinds, sorted.
func (s *kindSet) names() []string { return slices.Sorted(maps.Keys(s.handlers())) }

// close closes the connections of the kinds. No job may run any more.
func (s *kindSet) close() {
	s.http.Close()
	if s.email != nil {
		s.email.Close()
	}
}

// kill ends the commands that jobs run. The process must exit then.
func (s *kindSet) kill() {
	if s.exec != nil {
		s.exec.Kill()
	}
}
