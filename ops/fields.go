package ops

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"skidway/internal/filter"
	"skidway/queue"
)

// A jobField is a field of jobs that a filter may name, and its value in a job.
type jobField struct {
	filter.Field
	value func(r *jobRecord, path []string) filter.Value
}

// jobFields are the fields, by their numbers.
var jobFields = []jobField{
	{filter.Field{Name: "id", Type: filter.Text}, func(r *jobRecord, _ []string) filter.Value { return filter.OfText(r.job.ID) }},
	{filter.Field{Name: "kind", Type: filter.Text}, func(r *jobRecord, _ []string) filter.Value { return filter.OfText(r.job.Kind) }},
	{filter.Field{Name: "state", Type: filter.Text, Words: []string{"waiting", "delayed", "active", "dead", "finished"}}, func(r *jobRecord, _ []string) filter.Value { return filter.OfText(string(r.job.State)) }},
	{filter.Field{Name: "priority", Type: filter.Text, Words: []string{"high", "normal", "low"}}, func(r *jobRecord, _ []string) filter.Value { return filter.OfText(r.job.Priority.String()) }},
	{filter.Field{Name: "attempts", Type: filter.Number}, func(r *jobRecord, _ []string) filter.Value { return filter.OfInt(int64(r.job.Attempts)) }},
	{filter.Field{Name: "error", Type: filter.Text}, func(r *jobRecord, _ []string) filter.Value { return filter.OfTexts(r.errors(r.redactor.Text)) }},
	{filter.Field{Name: "shape", Type: filter.Text}, func(r *jobRecord, _ []string) filter.Value { return filter.OfTexts(r.errors(r.redactor.shape)) }},
	{filter.Field{Name: "enqueued", Type: filter.Time}, func(r *jobRecord, _ []string) filter.Value { return filter.OfTime(r.job.Enqueued) }},
	{filter.Field{Name: "due", Type: filter.Time}, func(r *jobRecord, _ []string) filter.Value { return filter.OfTime(r.job.Due) }},
	{filter.Field{Name: "died", Type: filter.Time}, func(r *jobRecord, _ []string) filter.Value { return filter.OfTime(r.job.Ended) }},
	{filter.Field{Name: "text", Type: filter.Text}, func(r *jobRecord, _ []string) filter.Value { return filter.OfText(string(r.args())) }},
	{filter.Field{Name: "args", Type: filter.Any, Named: true}, func(r *jobRecord, path []string) filter.Value { return filter.OfJSON(r.args(), path) }},
	{filter.Field{Name: "headers", Type: filter.Text, Named: true}, (*jobRecord).header},
}

// jobSchema is the fields as the filter's parser wants them.
var jobSchema = func() (schema filter.Schema) {
	for _, field := range jobFields {
		schema = append(schema, field.Field)
	}
	return schema
}()

var stateField, diedField = jobSchema.Number("state"), jobSchema.Number("died")

// parseFilter parses a filter for jobs. Its errors match [queue.ErrInvalid].
func parseFilter(match string) (*filter.Filter, error) {
	f, err := filter.Parse(match, jobSchema)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", queue.ErrInvalid, err)
	}
	return f, nil
}

// A jobRecord is a job as a filter sees it, without its hidden values: else a filter could find them
// out. It is used for one job after the other.
type jobRecord struct {
	redactor *Redactor
	job      *queue.Job
	view     []byte   // the args without hidden values; nil until they are needed
	texts    []string // what Value returned last
}

// set makes the record one of another job.
func (r *jobRecord) set(job *queue.Job) { r.job, r.view = job, nil }

// args returns the args without hidden values.
func (r *jobRecord) args() []byte {
	if r.view == nil {
		r.view = r.redactor.data(r.job.Args)
	}
	return r.view
}

func (r *jobRecord) Value(field int, path []string) filter.Value {
	return jobFields[field].value(r, path)
}

// header returns the value of a header.
func (r *jobRecord) header(path []string) filter.Value {
	name := strings.Join(path, ".")
	if value, found := r.job.Headers[name]; found {
		return filter.OfText(r.redactor.header(name, value))
	}
	return filter.Value{}
}

// errors returns why the job ended and the errors of its attempts, as a function changes them.
func (r *jobRecord) errors(change func(string) string) []string {
	r.texts = r.texts[:0]
	if r.job.Reason != "" {
		r.texts = append(r.texts, change(r.job.Reason))
	}
	for _, failure := range r.job.Errors {
		r.texts = append(r.texts, change(failure.Error))
	}
	return r.texts
}

// Quote returns a text as a constant of a filter expression.
func Quote(text string) string { return filter.Quote(text) }

// A Short is conditions for jobs that have short forms. The zero value has none.
type Short struct {
	Kind string // empty: all kinds

	// OlderThan excludes younger jobs, NewerThan older ones. The age of a dead or finished job
	// counts from its end, that of other jobs from when they were enqueued. Zero means no
	// condition.
	OlderThan, NewerThan time.Duration

	// Error is a part of the reason why the job ended or of one of its remembered errors, in
	// upper or lower case. Empty means no condition.
	Error string

	// Text is a part of the args. Since excludes jobs from before a time, like NewerThan. Their zero
	// values mean no condition.
	Text  string
	Since time.Time
}

// Match returns the filter expression for the conditions, for jobs in a state, joined with
// another expression; both may be empty. An expression that is not valid is a [queue.ErrInvalid].
func (short Short) Match(state queue.State, match string) (string, error) {
	var parts []string
	if short.Kind != "" {
		parts = append(parts, "kind == "+filter.Quote(short.Kind))
	}
	if short.Error != "" {
		parts = append(parts, "error matches "+filter.Quote("(?i)"+regexp.QuoteMeta(short.Error)))
	}
	since := "enqueued"
	if state == queue.Dead || state == queue.Finished {
		since = "died"
	}
	if short.OlderThan > 0 {
		parts = append(parts, since+" <= "+filter.Quote("-"+short.OlderThan.String()))
	}
	if short.NewerThan > 0 {
		parts = append(parts, since+" > "+filter.Quote("-"+short.NewerThan.String()))
	}
	if short.Text != "" {
		parts = append(parts, "text contains "+filter.Quote(short.Text))
	}
	if !short.Since.IsZero() {
		parts = append(parts, since+" >= "+filter.Quote(short.Since.UTC().Format(time.RFC3339)))
	}
	f, err := parseFilter(match)
	if err != nil {
		return "", err
	}
	// The canonical form can't end the parentheses, as the text could.
	if other := f.String(); other != "" && len(parts) > 0 {
		parts = append(parts, "("+other+")")
	} else if other != "" {
		parts = append(parts, other)
	}
	return strings.Join(parts, " && "), nil
}
