package worker

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"skidway/cmd/skidway/internal/cli"
)

// none is an empty environment.
func none(string) (string, bool) { return "", false }

// environment is one with these variables.
func environment(variables map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { text, set := variables[name]; return text, set }
}

// writeFile writes a file and returns its path.
func writeFile(t testing.TB, folder, name, text string) string {
	t.Helper()
	path := filepath.Join(folder, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// read reads a configuration that is in no file of its own yet.
func read(t testing.TB, text string, environment func(string) (string, bool)) (*config, error) {
	t.Helper()
	return readConfig(writeFile(t, t.TempDir(), "c.yaml", text), environment)
}

func TestErrorsOfAConfigurationHaveFileAndLine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		line string // of the mistake, with the colons around it; empty: none
		want string
	}{
		"tab":                          {"queues:\n\t- name: a\n", ":2:", "a tab: YAML is indented with spaces"},
		"unknown name":                 {"log: {}\nnope: 1\n", ":2:", "nope"},
		"unknown name in a section":    {"worker:\n  concurency: 3\n", ":2:", `"concurency": did you mean concurrency?`},
		"unknown name two deep":        {"worker:\n  backoff:\n    fist: 3s\n", ":3:", "fist"},
		"unknown name of a queue":      {"queues:\n  - name: a\n    wight: 3\n", ":3:", "wight"},
		"unknown kind":                 {"kinds:\n  email.sent: {}\n", ":2:", `"email.sent": did you mean email.send?`},
		"unknown name of a kind":       {"kinds:\n  email.send:\n    hots: x\n", ":3:", "hots"},
		"unknown name of a command":    {"kinds:\n  exec.run:\n    commands:\n      a:\n        pth: /x\n", ":5:", "pth"},
		"unknown name of a schedule":   {"schedules:\n  - name: a\n    corn: x\n", ":3:", "corn"},
		"unknown name of a job":        {"schedules:\n  - name: a\n    cron: '@daily'\n    job: {kind: x, agrs: {}}\n", ":4:", "agrs"},
		"unknown name of a retention":  {"queues:\n  - name: a\n    retention:\n      ded: {}\n", ":4:", "ded"},
		"text for a number":            {"worker:\n  concurrency: many\n", ":2:", `"many": want a whole number, zero or more`},
		"fraction for a number":        {"worker:\n  concurrency: 1.5\n", ":2:", "want a whole number"},
		"number too large":             {"worker:\n  concurrency: 99999999999999999999\n", ":2:", ""},
		"list for a text":              {"redis: [a]\n", ":1:", "string"},
		"text for a list":              {"queues: mail\n", ":1:", ""},
		"list for a section":           {"worker: [a]\n", ":1:", ""},
		"text for a truth":             {"worker:\n  strict: 'maybe'\n", ":2:", "bool"},
		"name that is there twice":     {"listen: a:1\nlisten: b:1\n", ":2:", "listen"},
		"no length of time":            {"worker:\n  drain: soon\n", ":2:", `"soon" is no length of time such as 90s or 2h`},
		"length of time without unit":  {"worker:\n  drain: 10\n", ":2:", `"10" is no length of time`},
		"length of time below zero":    {"worker:\n  drain: -1s\n", ":2:", "no length of time"},
		"list for a length of time":    {"worker:\n  drain: [1s]\n", ":2:", "no length of time"},
		"no size":                      {"kinds:\n  email.send:\n    max_size: huge\n", ":3:", "want a size such as"},
		"number below zero":            {"worker:\n  max_attempts: -1\n", ":2:", "want a whole number, zero or more"},
		"lease of no time":             {"worker:\n  lease: 1ms\n", ":2:", "at least 100ms"},
		"command's grace is too long":  {"kinds:\n  exec.run:\n    grace: 20s\n    commands: {a: {path: /bin/true}}\n", ":3:", "kinds.exec.run.grace: 20s: it must be shorter than worker.grace, which is 10s"},
		"jitter above one":             {"kinds:\n  logs:\n    backoff:\n      jitter: 2\n", ":4:", "kinds.logs.backoff.jitter: 2"},
		"factor below one":             {"worker:\n  backoff: {factor: 0.5}\n", ":2:", "want 1 or more"},
		"unknown statistics":           {"worker:\n  stats: some\n", ":2:", `worker.stats: "some": want full, queue or off`},
		"unknown log level":            {"log:\n  level: loud\n", ":2:", `log.level: "loud": want debug, info, warn or error`},
		"unknown log format":           {"log:\n  format: xml\n", ":2:", `log.format: "xml": want text or json`},
		"no URL of a Redis":            {"log: {}\nredis: hunter2\n", ":2:", "redis: unknown scheme"},
		"password that is not encoded": {"redis: redis://a:hunter2/x@h\n", ":1:", "percent-encode"},
		"bad prefix":                   {"log: {}\nprefix: '{x}'\n", ":2:", `prefix: "{x}": use 1 to 64 letters`},
		"address without a port":       {"listen: localhost\n", ":1:", "want host and port"},
		"proxy that is no URL":         {"kinds:\n  http.request:\n    proxy: here\n", ":3:", "want a URL such as"},
		"queue without a name":         {"queues:\n  - weight: 2\n", ":2:", "a name of its own"},
		"queue that is there twice":    {"queues:\n  - name: a\n  - name: b\n  - name: a\n", ":4:", `"a"`},
		"queue with a bad name":        {"queues:\n  - name: a\n  - name: two words\n", ":3:", "two words"},
		"queue with a bad pattern":     {"queues:\n  - name: 'a[*'\n", ":2:", "a[*"},
		"weight below zero":            {"queues:\n  - name: a\n    weight: -2\n", ":3:", "-2"},
		"retention of a pattern":       {"queues:\n  - name: 'a*'\n    retention: {dead: {jobs: 5}}\n", ":3:", "is a pattern"},
		"retention of no time":         {"queues:\n  - name: a\n    retention: {dead: {age: 1ns}}\n", ":3:", "less than a millisecond"},
		"schedule with a bad name":     {"schedules:\n  - {name: 'a b', cron: '@daily', job: {kind: a}}\n", ":2:", "a b"},
		"schedule of a bad queue":      {"schedules:\n  - {name: a, cron: '@daily', job: {kind: a, queue: 'x y'}}\n", ":2:", "x y"},
		"events of a pattern":          {"queues:\n  - name: 'a*'\n    events: 5\n", ":3:", "is a pattern"},
		"too many events":              {"queues:\n  - name: a\n    events: 1000001\n", ":3:", "1000000"},
		"retention below zero":         {"queues:\n  - name: a\n    retention: {dead: {jobs: -5}}\n", ":3:", "-5"},
		"channel with a bad name":      {"channels:\n  - web\n  - w eb\n", ":3:", `"w eb"`},
		"channel that is there twice":  {"channels:\n  - web\n  - web\n", ":3:", "twice"},
		"secret in clear":              {"kinds:\n  email.send:\n    password: hunter2\n", ":3:", "must not be in the configuration itself: write {file: PATH} or {env: NAME}"},
		"number as a secret":           {"kinds:\n  email.send:\n    password: 112233\n", ":3:", "must not be in the configuration itself"},
		"list as a secret":             {"kinds:\n  email.send:\n    password: [hunter2]\n", ":3:", ""},
		"secret in clear in a map":     {"kinds:\n  http.request:\n    secrets:\n      a: hunter2\n", ":4:", "must not be in the configuration itself"},
		"secret of two places":         {"kinds:\n  email.send:\n    password: {file: a, env: b}\n", ":3:", "one place"},
		"secret of no place":           {"kinds:\n  email.send:\n    password: {}\n", ":3:", "one place"},
		"secret of an unknown place":   {"kinds:\n  email.send:\n    password: {vault: hunter2}\n", ":3:", "vault"},
		"secret of a missing file":     {"kinds:\n  email.send:\n    password: {file: /no/such}\n", ":3:", "/no/such"},
		"secret of a missing variable": {"kinds:\n  email.send:\n    password: {env: NO_SUCH_VARIABLE}\n", ":3:", "NO_SUCH_VARIABLE is not set"},
		"schedule without a name":      {"schedules:\n  - cron: '@daily'\n    job: {kind: a}\n", ":2:", "no name"},
		"schedule without a job":       {"schedules:\n  - name: a\n    cron: '@daily'\n", ":2:", "no job"},
		"schedule that is there twice": {"schedules:\n  - {name: a, cron: '@daily', job: {kind: a}}\n  - {name: a, cron: '@daily', job: {kind: a}}\n", ":3:", "twice"},
		"bad expression":               {"schedules:\n  - {name: a, cron: '99 * * * *', job: {kind: a}}\n", ":2:", "99"},
		"bad zone":                     {"schedules:\n  - {name: a, cron: '@daily', tz: Mars/Base, job: {kind: a}}\n", ":2:", "Mars/Base"},
		"bad catch-up":                 {"schedules:\n  - {name: a, cron: '@daily', catch_up: some, job: {kind: a}}\n", ":2:", `catch_up "some": want none, last or all`},
		"job without a kind":           {"schedules:\n  - {name: a, cron: '@daily', job: {queue: a}}\n", ":2:", "needs a kind"},
		"wrong args of a kind":         {"schedules:\n  - {name: a, cron: '@daily', job: {kind: http.request, args: {url: 'ftp://x'}}}\n", ":2:", "url"},
		"wrong args of what follows":   {"schedules:\n  - {name: a, cron: '@daily', job: {kind: a, then: [{kind: http.request}]}}\n", ":2:", "then[0]"},
		"a tab":                        {"log:\n\tlevel: info\n", "", ""},
		"an open quote":                {"redis: 'x\n", "", ""},
		"several documents":            {"listen: a:1\n---\nlisten: b:1\n", "", "several documents"},
		"no mapping":                   {"just a text\n", ":1:", ""},
		"not UTF-8":                    {"log: {}\nredis: \xff\xfe\n", ":2:", "not UTF-8"},
		"too large":                    {"# " + strings.Repeat("x", maxConfig), "", "larger than 1.0 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := read(t, c.text, none)
			var wrong *configError
			if !errors.As(err, &wrong) {
				t.Fatalf("%v", err)
			}
			if text := err.Error(); !strings.Contains(text, "c.yaml"+c.line) || !strings.Contains(text, c.want) || strings.Contains(text, "hunter2") || strings.Contains(text, "112233") {
				t.Errorf("%s: want c.yaml%s and %q", text, c.line, c.want)
			}
		})
	}
}

func TestEmptySecretIsRefusedWithItsLine(t *testing.T) {
	t.Setenv("SKIDWAY_TEST_EMPTY", "")
	folder := t.TempDir()
	empty, line := writeFile(t, folder, "empty", ""), writeFile(t, folder, "line", "\nhunter2\n")
	for place, want := range map[string]string{
		"{env: SKIDWAY_TEST_EMPTY}": "the secret is empty: set the variable SKIDWAY_TEST_EMPTY",
		"{file: " + empty + "}":     "the secret is empty: the first line of " + empty,
		"{file: " + line + "}":      "the secret is empty: the first line of " + line,
	} {
		_, err := read(t, "kinds:\n  http.request:\n    secrets:\n      shop: "+place+"\n", none)
		if err == nil || !strings.Contains(err.Error(), "c.yaml:4: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want line 4 and %q", place, err, want)
		}
	}
}

func TestUnreadableConfigFileIsNamed(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, path := range map[string]string{"a folder": folder, "no file": filepath.Join(folder, "nope.yaml")} {
		_, err := readConfig(path, none)
		var wrong *configError
		if !errors.As(err, &wrong) || !strings.HasPrefix(err.Error(), path+": ") || strings.Count(err.Error(), path) != 1 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestEmptyConfigHasDefaults(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"no byte": "", "comments": "# nothing\n", "a document of nothing": "---\n", "a byte-order mark": "\ufefflisten: a:1\n"} {
		if _, err := read(t, text, none); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestEverySettingOfAConfigIsRead(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	password := writeFile(t, folder, "smtp", "hunter2\n")
	c, err := read(t, `
redis: redis://r:1
log: {level: warn, format: json}
worker: {concurrency: 3, drain: 2m, backoff: {first: 5s, factor: 1.5}}
queues:
  - name: mail
    weight: 2
    retention: {dead: {jobs: 1000, age: 720h}, results: {bytes: 20MiB}}
    events: 500
channels: [web]
kinds:
  email.send: {host: smtp.example.com, timeout: 1m, password: {file: `+password+`}}
  exec.run: {commands: {a: {path: /bin/a, dead_codes: [3]}}}
schedules:
  - {name: n, cron: "30 2 * * *", tz: Europe/Berlin, catch_up: last, job: {queue: q, kind: k, args: {a: 1}, retain: 168h}}
`, none)
	if err != nil {
		t.Fatal(err)
	}
	got := []any{
		c.Redis, c.Log, int(c.Worker.Concurrency), time.Duration(c.Worker.Drain), c.Worker.Backoff.Factor, c.Queues[0].Retention.Dead,
		c.Queues[0].Retention.Results, int(*c.Queues[0].Events), c.Channels, c.Kinds.Email.Password.text, c.Kinds.Exec.Commands["a"].DeadCodes,
	}
	want := []any{
		"redis://r:1", logConfig{"warn", "json"}, 3, 2 * time.Minute, 1.5, keepConfig{Jobs: 1000, Age: duration(720 * time.Hour)},
		keepConfig{Bytes: 20 << 20}, 500, []string{"web"}, "hunter2", []int{3},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	s, err := c.Schedules[0].schedule(4)
	if err != nil || s.Queue != "q" || s.Kind != "k" || string(s.Args) != `{"a":1}` || s.Revision != 4 || s.Options.Retain != 168*time.Hour {
		t.Errorf("%+v, %v", s, err)
	}
}

// examples has a right value and a wrong one for settings that don't take any
// text of their type.
var examples = map[string][2]string{
	"redis": {"redis://h", "hunter2"}, "prefix": {"x", "{x}"},
	"log.level": {"debug", "loud"}, "worker.stats": {"queue", "x"}, "log.format": {"json", "xml"}, "listen": {"127.0.0.1:1", "nowhere"},
	"kinds.http.request.proxy": {"http://proxy:1", "here"}, "kinds.exec.run.grace": {"9s", "soon"}, "worker.backoff.factor": {"2", "x"},
}

func TestEverySettingIsOverriddenByItsVariable(t *testing.T) {
	t.Parallel()
	byType := map[string][2]string{
		"duration": {"90s", "soon"}, "byteSize": {"2MiB", "huge"}, "wholeNumber": {"7", "-7"}, "float64": {"1", "lots"}, "bool": {"true", "maybe"},
		"string": {"x", ""}, "secretValue": {"x", ""},
	}
	names := map[string]bool{}
	err := eachValue(reflect.ValueOf(&config{}).Elem(), nil, func(path []string, value reflect.Value) error {
		place, name := strings.Join(path, "."), variable(path)
		example, known := examples[place]
		if !known {
			example = byType[value.Type().Name()]
		}
		if names[name] || example[0] == "" {
			t.Fatalf("%s: %s is there twice, or %s has no example", place, name, value.Type())
		}
		names[name] = true
		c, err := read(t, "worker: {lease: 5s}\n", environment(map[string]string{name: example[0]}))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return nil
		}
		if c.origin.variables[place] != name {
			t.Errorf("%s does not set %s", name, place)
		}
		set := false
		_ = eachValue(reflect.ValueOf(c).Elem(), nil, func(other []string, value reflect.Value) error {
			set = set || slices.Equal(other, path) && !value.IsZero()
			return nil
		})
		if !set {
			t.Errorf("%s leaves %s as it is", name, place)
		}
		if example[1] == "" {
			return nil
		}
		if _, err := read(t, "", environment(map[string]string{name: example[1]})); err == nil || !strings.Contains(err.Error(), "the environment variable "+name+": ") {
			t.Errorf("%s=%s: %v", name, example[1], err)
		}
		return nil
	})
	if err != nil || len(names) < 50 {
		t.Errorf("%d settings, %v", len(names), err)
	}
	if listed := settings(); len(listed) != len(names) {
		t.Errorf("%d settings are listed, there are %d: %v", len(listed), len(names), slices.Collect(maps.Keys(names)))
	}
}

func TestFlagsWinOverEnvironmentOverFile(t *testing.T) {
	t.Setenv("SKIDWAY_WORKER_NAME", "of-environment")
	t.Setenv("SKIDWAY_WORKER_CONCURRENCY", "2")
	t.Setenv("SKIDWAY_LOG_FORMAT", "json")
	t.Setenv("SKIDWAY_REDIS", "redis://of-environment:1")
	file := writeFile(t, t.TempDir(), "c.yaml", "redis: redis://of-file:1\nlog: {level: warn, format: text}\nworker: {name: of-file, concurrency: 1}\nqueues: [{name: of-file}]\n")
	f := workerFlags{file: file, concurrency: 3, queues: []string{"a=2", "b"}, given: func(flag string) bool { return flag == "concurrency" }}
	c, err := f.config(&cli.App{})
	if err != nil {
		t.Fatal(err)
	}
	got := []any{int(c.Worker.Concurrency), c.Worker.Name, c.Log, c.Redis, c.Queues[0].Name, int(c.Queues[0].Weight), len(c.Queues)}
	if want := []any{3, "of-environment", logConfig{"warn", "json"}, "redis://of-environment:1", "a", 2, 2}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if c, err = f.config(&cli.App{Redis: "redis://of-flag:1"}); err != nil || c.Redis != "redis://of-flag:1" {
		t.Errorf("%q, %v", c.Redis, err)
	}
}

func TestVariablesOfAWrongKindAreNamed(t *testing.T) {
	t.Parallel()
	c, err := read(t, "kinds: {email.send: {host: h}}\n", environment(map[string]string{"SKIDWAY_KINDS_EMAIL_SEND_TLS": "perhaps"}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err = newKindSet(nil, nil, c); err == nil || !strings.Contains(err.Error(), "with SKIDWAY_KINDS_EMAIL_SEND_TLS of the environment") {
		t.Error(err)
	}
}

func FuzzConfig(f *testing.F) {
	deployed, err := os.ReadFile("../../../../deploy/skidway.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(deployed)
	for _, text := range []string{
		"", "a: &a [*a]", "worker: &w {drain: 1s}\nlog: *w", "<<: {a: 1}", "? [a]\n: b", "kinds: {email.send: {password: {env: HOME}}}",
		"schedules: [{name: a, cron: '@every 1s', job: {kind: k, args: {a: .inf}}}]", "queues:\n- name: a\n  retention: ~\n", "redis: !!binary aGk=", "log: null", "queues: !a ",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c := &config{file: "c.yaml"}
		err := c.parse(text)
		if err == nil {
			err = c.check()
		}
		var wrong *configError
		if err != nil && (!errors.As(err, &wrong) || !strings.HasPrefix(err.Error(), "c.yaml:")) {
			t.Errorf("%T: %v", err, err)
		}
	})
}

func TestDeployedConfigIsValid(t *testing.T) {
	t.Parallel()
	deployed, err := os.ReadFile("../../../../deploy/skidway.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text := string(deployed)
	folder := t.TempDir()
	if _, err := read(t, strings.ReplaceAll(text, "/logs", folder), none); err != nil {
		t.Error(err)
	}
	// What is commented out is right as well.
	secret := writeFile(t, folder, "smtp", "x\n")
	on := regexp.MustCompile(`(?m)^(  )?# ([a-z_. ]+:|  )`).ReplaceAllString(text, "$1$2")
	on = strings.NewReplacer("/logs", folder, "/run/secrets/smtp", secret).Replace(on)
	c, err := read(t, on, none)
	if err != nil || c.Kinds.Email.Host == "" || len(c.Kinds.Exec.Commands) == 0 || c.Listen == "" {
		t.Errorf("%+v, %v", c, err)
	}
}
