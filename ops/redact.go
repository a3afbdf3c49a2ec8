package ops

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"skidway/queue"
	"skidway/workers/stats"
)

// A Redact names the values that [Client] hides. The zero value hides nothing.
type Redact struct {
	// Keys are names of values in args, results and log lines that are JSON, at any depth, and of
	// headers: whole names, in upper or lower case.
	Keys []string

	// Values are regular expressions (RE2). What they match is hidden in all texts and numbers,
	// also in errors, log lines and args that are no JSON.
	Values []string
}

// DefaultRedactKeys are the [Redact.Keys] of the API and the dashboard, unless they are set.
var DefaultRedactKeys = []string{"password", "passwd", "secret", "token", "authorization", "api_key"}

// Hidden stands for a value that is hidden.
const Hidden = "[hidden]"

// A Redactor hides values, by what [Config.Redact] says. A nil one hides nothing. It is safe for
// concurrent use.
type Redactor struct {
	keys   []string
	values []*regexp.Regexp
}

// newRedactor returns nil if nothing is hidden.
func newRedactor(config Redact) (*Redactor, error) {
	r := &Redactor{}
	for _, key := range config.Keys {
		if key != "" {
			r.keys = append(r.keys, key)
		}
	}
	for _, text := range config.Values {
		pattern, err := regexp.Compile(text)
		if err != nil {
			return nil, fmt.Errorf("%w: pattern of hidden values %.100q: %w", queue.ErrInvalid, text, err)
		}
		if pattern.MatchString("") {
			return nil, fmt.Errorf("%w: pattern of hidden values %.100q: it matches the empty text", queue.ErrInvalid, text)
		}
		r.values = append(r.values, pattern)
	}
	if len(r.keys) == 0 && len(r.values) == 0 {
		return nil, nil
	}
	return r, nil
}

// hides reports whether the values of a name are hidden.
func (r *Redactor) hides(name string) bool {
	for _, key := range r.keys {
		if strings.EqualFold(key, name) {
			return true
		}
	}
	return false
}

// Text hides values in a text, such as a log line, a progress or an error. JSON has names.
func (r *Redactor) Text(text string) string {
	if r == nil || text == "" {
		return text
	}
	if trimmed := strings.TrimLeft(text, " \t\r\n"); trimmed != "" && (trimmed[0] == '{' || trimmed[0] == '[') {
		return string(r.json([]byte(text)))
	}
	return r.plain(text)
}

// plain hides what the patterns match.
func (r *Redactor) plain(text string) string {
	for _, pattern := range r.values {
		text = pattern.ReplaceAllLiteralString(text, Hidden)
	}
	return text
}

// data hides values in args or a result. It returns the same bytes if there is none.
func (r *Redactor) data(data []byte) []byte {
	if r == nil {
		return data
	}
	if isJSON(data) {
		return r.json(data)
	}
	if text := r.plain(string(data)); len(r.values) > 0 && text != string(data) {
		return []byte(text)
	}
	return data
}

// isJSON reports whether data begins as a JSON object, list, text or number does.
func isJSON(data []byte) bool {
	trimmed := bytes.TrimLeft(data, " \t\r\n")
	return len(trimmed) > 0 && (trimmed[0] == '{' || trimmed[0] == '[') || json.Valid(trimmed)
}

// json hides values in JSON, in one pass. JSON that is damaged stays so.
func (r *Redactor) json(data []byte) []byte {
	var out []byte
	done := 0 // up to here data is in out
	for i := 0; i < len(data); {
		end, replacement := r.token(data, i)
		if replacement != nil {
			out = append(append(out, data[done:i]...), replacement...)
			done = end
		}
		i = end
	}
	if done == 0 {
		return data
	}
	return append(out, data[done:]...)
}

// token returns the end of what begins at i, and what to write instead, nil if that is the same. A
// name and its value are one if the value is hidden.
func (r *Redactor) token(data []byte, i int) (end int, replacement []byte) {
	switch c := data[i]; {
	case c == '"':
		end = endOfText(data, i)
		colon := skipSpace(data, end)
		if colon == len(data) || data[colon] != ':' {
			return end, r.value(data[i:end])
		}
		if !r.hides(unquote(data[i:end])) {
			return colon + 1, nil
		}
		value := skipSpace(data, colon+1)
		return endOfValue(data, value), append(slices.Clone(data[i:value]), quotedHidden...)
	case c == '-' || c >= '0' && c <= '9':
		end = endOfValue(data, i)
		return end, r.value(data[i:end])
	}
	return i + 1, nil
}

var quotedHidden = []byte(`"` + Hidden + `"`)

// value returns what to write instead of a text or number, nil if that is the same.
func (r *Redactor) value(token []byte) []byte {
	if len(r.values) == 0 {
		return nil
	}
	text := unquote(token)
	hidden := r.plain(text)
	if hidden == text {
		return nil
	}
	quoted, _ := json.Marshal(hidden) // a text
	return quoted
}

// unquote returns the text of a quoted one, or what is no quoted text as it is.
func unquote(token []byte) string {
	if len(token) < 2 || token[0] != '"' || token[len(token)-1] != '"' {
		return string(token)
	}
	if bytes.IndexByte(token, '\\') >= 0 {
		var text string
		if json.Unmarshal(token, &text) == nil {
			return text
		}
	}
	return string(token[1 : len(token)-1])
}

// endOfText returns the end of a quoted text that begins at i.
func endOfText(data []byte, i int) int {
	for i++; i < len(data); {
		quote := bytes.IndexByte(data[i:], '"')
		if quote < 0 {
			break
		}
		escape := bytes.IndexByte(data[i:i+quote], '\\')
		if escape < 0 {
			return i + quote + 1
		}
		i += escape + 2
	}
	return len(data)
}

// endOfValue returns the end of a value that begins at i.
func endOfValue(data []byte, i int) int {
	for depth := 0; i < len(data); {
		switch data[i] {
		case '"':
			if i = endOfText(data, i); depth == 0 {
				return i
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return len(data)
}

func skipSpace(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\t' || data[i] == '\r' || data[i] == '\n') {
		i++
	}
	return i
}

// headers hides values of headers. It returns the same map if there is none.
func (r *Redactor) headers(headers map[string]string) map[string]string {
	if r == nil {
		return headers
	}
	shared := true
	for name := range headers {
		value := r.header(name, headers[name])
		if value == headers[name] {
			continue
		}
		if shared {
			headers, shared = maps.Clone(headers), false
		}
		headers[name] = value
	}
	return headers
}

func (r *Redactor) header(name, value string) string {
	if r == nil {
		return value
	}
	if r.hides(name) {
		return Hidden
	}
	return r.Text(value)
}

// Job returns the view of a job without its hidden values, in which [Hidden] stands for each. The job
// stays as it is; it is returned if nothing is hidden.
func (r *Redactor) Job(job *queue.Job) *queue.Job {
	if r == nil || job == nil {
		return job
	}
	view := *job
	view.Args, view.Result = r.data(job.Args), r.data(job.Result)
	view.Reason, view.Unique.Key = r.Text(job.Reason), r.Text(job.Unique.Key)
	view.Headers, view.Then = r.headers(job.Headers), r.jobs(job.Then)
	view.Errors = slices.Clone(job.Errors)
	for i := range view.Errors {
		view.Errors[i].Error, view.Errors[i].Stack = r.Text(view.Errors[i].Error), r.Text(view.Errors[i].Stack)
	}
	return &view
}

// jobs returns the redacted view of jobs that follow one.
func (r *Redactor) jobs(jobs []queue.NewJob) []queue.NewJob {
	jobs = slices.Clone(jobs)
	for i := range jobs {
		jobs[i].Options = r.options(jobs[i].Options)
		if args, err := queue.MarshalArgs(jobs[i].Args); err == nil {
			jobs[i].Args = queue.Raw(jobs[i].Args.Kind(), r.data(args))
		}
	}
	return jobs
}

// Schedule is [Redactor.Job] for a schedule.
func (r *Redactor) Schedule(s queue.CronSchedule) queue.CronSchedule {
	if r != nil {
		s.Args, s.Options = r.data(s.Args), r.options(s.Options)
	}
	return s
}

func (r *Redactor) options(o queue.Options) queue.Options {
	o.Headers, o.Then, o.Unique.Key = r.headers(o.Headers), r.jobs(o.Then), r.Text(o.Unique.Key)
	return o
}

// shape returns the shape of the redacted view of an error.
func (r *Redactor) shape(text string) string { return stats.Shape(r.Text(text)) }

// group hides values in the texts of a group of errors.
func (r *Redactor) group(group stats.ErrorGroup) stats.ErrorGroup {
	if text := r.Text(group.Error); text != group.Error || r.Text(group.Shape) != group.Shape {
		group.Error, group.Shape = text, stats.Shape(text)
	}
	return group
}
