package workers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"regexp"
	"strings"
	"time"

	"skidway/queue"
)

// maxFollowing bounds the size of all jobs that follow one job, in bytes.
const maxFollowing = 4 << 20

// follow returns the jobs that follow a job that has succeeded, with the references in
// their args replaced, and headers of [SetThenHeaders]. It returns an error if one of them could
// not be enqueued.
func follow(client *queue.Client, job *queue.Job, result []byte, headers map[string]string) ([]queue.NewJob, error) {
	data := map[string]any{
		"result": value(result),
		"job":    map[string]any{"id": job.ID, "kind": job.Kind, "queue": job.Queue},
	}
	jobs, size := make([]queue.NewJob, len(job.Then)), 0
	for n, next := range job.Then {
		args, err := json.Marshal(next.Args)         // of a job that was read: they are JSON
		if err == nil && job.Kind != queue.Forward { // else they are filled in
			args, err = fill(args, data)
		}
		jobs[n] = queue.NewJob{Args: queue.Raw(next.Args.Kind(), args), Options: next.Options}
		if err == nil {
			jobs[n].Options.Headers = inherit(next.Options.Headers, job.Headers, headers)
			if err = client.Validate(jobs[n]); err != nil { // there may be no room for the headers of the job before it
				jobs[n].Options.Headers = inherit(next.Options.Headers, nil, headers)
				err = client.Validate(jobs[n])
			}
		}
		if size += len(args); err == nil && size > maxFollowing {
			err = fmt.Errorf("the jobs that follow have more than %d bytes together", maxFollowing)
		}
		if err != nil {
			return nil, fmt.Errorf("then[%d], %s: %w", n, next.Args.Kind(), err)
		}
	}
	return jobs, nil
}

// The headers of W3C Trace Context, and the id of the first job of those that follow each other: a job
// belongs to the trace and the flow of the one before it, also where this worker traces nothing.
const (
	traceparent = "traceparent"
	tracestate  = "tracestate"
	flow        = "flow"
)

// inherit returns the headers of a job with those of the job that it follows, and with others that
// were set for it. It keeps the job's own.
func inherit(own, before, set map[string]string) map[string]string {
	all := map[string]string{}
	for _, name := range []string{queue.HeaderDue, flow} { // relative days depend on when it was due
		if value := before[name]; value != "" {
			all[name] = value
		}
	}
	if before[traceparent] != "" && set[traceparent] == "" {
		all[traceparent] = before[traceparent]
		if state := before[tracestate]; state != "" {
			all[tracestate] = state
		}
	}
	maps.Copy(all, set)
	if own[traceparent] != "" {
		delete(all, tracestate) // it is one of the traceparent
	}
	maps.Copy(all, own)
	if len(all) == 0 {
		return nil
	}
	return all
}

// value returns a result as references see it: the decoded JSON, or the text.
func value(result []byte) any {
	decoder := json.NewDecoder(bytes.NewReader(result))
	decoder.UseNumber() // keeps all digits
	var v any
	if decoder.Decode(&v) != nil {
		return string(result)
	}
	if _, err := decoder.Token(); err != io.EOF { // More would accept "5}"
		return string(result)
	}
	return v
}

// fill replaces the references in args.
func fill(args []byte, data map[string]any) ([]byte, error) {
	if !bytes.Contains(args, []byte("{{")) {
		return args, nil
	}
	filled, err := fillValue(value(args), data)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(filled); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(out.Bytes()), nil
}

func fillValue(v any, data map[string]any) (any, error) {
	var err error
	switch v := v.(type) {
	case string:
		return fillText(v, data)
	case []any:
		for i := range v {
			if v[i], err = fillValue(v[i], data); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for name := range v {
			if v[name], err = fillValue(v[name], data); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return v, nil
}

// references match references to values. They are not templates, so that a job cannot
// make a worker compute without end.
var references = regexp.MustCompile(`\{\{\s*\.(result|job)((?:\.\w+)*)\s*\}\}`)

// fillText replaces the references in a text. A text that is nothing but one reference
// becomes the value.
func fillText(text string, data map[string]any) (any, error) {
	var failed error
	of := func(reference string) any {
		path := strings.Split(strings.Trim(reference, "{} \t\r\n"), ".")[1:]
		v, err := lookup(data, path)
		failed = errors.Join(failed, err)
		return v
	}
	if references.FindString(text) == text && text != "" {
		return of(text), failed
	}
	filled := references.ReplaceAllStringFunc(text, func(reference string) string { return inText(of(reference)) })
	return filled, failed
}

// inText returns a value as it appears inside of a text: other values than texts as
// JSON.
func inText(v any) string {
	if text, ok := v.(string); ok {
		return text
	}
	text, _ := json.Marshal(v) // v was decoded from JSON
	return string(text)
}

func lookup(v any, path []string) (any, error) {
	for _, name := range path {
		fields, _ := v.(map[string]any)
		next, ok := fields[name]
		if !ok {
			return nil, fmt.Errorf("{{.%s}}: there is no %q", strings.Join(path, "."), name)
		}
		v = next
	}
	return v, nil
}

// logDuplicates logs the jobs that were to follow one of the completed jobs and were not
// added, because other jobs hold their unique keys.
func logDuplicates(log *slog.Logger, completions []queue.Completion) {
	for _, e := range completions {
		for _, duplicate := range e.Duplicates {
			log.Warn("a job that follows another one was not added", "job", e.Job.ID, "kind", e.Job.Kind, "error", duplicate)
		}
	}
}

// forwardOnce is how long a repeated forwarding is recognized.
const forwardOnce = time.Hour

// forward adds a job to another queue. It is safe to repeat: a key that only this job uses
// is held for forwardOnce. A job has one key, so one that has a key of its own is added by
// the end of a job without args in its queue, which has the key of this one.
func (p *Pool) forward(ctx context.Context, job *Job[queue.Forwarding]) error {
	next := job.Args.Job
	if next.Args == nil {
		return nil // what it adds is in its Then
	}
	if next.Options.Unique.Key != "" {
		options := queue.Options{Queue: next.Options.Queue, Priority: next.Options.Priority, Then: []queue.NewJob{next}}
		next = queue.NewJob{Args: queue.Raw(queue.Forward, []byte("{}")), Options: options}
	}
	next.Options.Unique = queue.Unique{Key: queue.Forward + ":" + job.ID, Scope: queue.ForDuration, For: forwardOnce}
	_, err := p.client.Enqueue(ctx, next.Args, &next.Options)
	var duplicate *queue.DuplicateError
	switch {
	case errors.As(err, &duplicate):
		return nil
	case errors.Is(err, queue.ErrInvalid):
		return Dead(err)
	}
	return err
}
