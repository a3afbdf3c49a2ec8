package queue

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// A NewJob is a job to be added.
type NewJob struct {
	Args    Args
	Options Options
}

// options returns the job's options, completed by the defaults of its args.
func (n NewJob) options() Options {
	args, ok := n.Args.(optionsArgs)
	if !ok {
		return n.Options
	}
	defaults := args.Options()
	if defaults == nil {
		return n.Options
	}
	return n.Options.or(*defaults)
}

// An encodedJob is a job in the form that the scripts take.
type encodedJob struct {
	priority  Priority
	kind      string
	args      string // of a plain job, which needs no record
	record    []byte // of any other job
	short     bool   // the record is a short one: of a delayed job without other options
	wait, at  any    // in ms; "" for none
	key       string
	keyMillis any
	durable   bool
}

func (i *encodedJob) size() int { return len(i.args) + len(i.record) }

// entryOnly reports whether an entry in a line is all that adding the job needs.
func (i *encodedJob) entryOnly() bool {
	return i.record == nil || !i.short && i.wait == "" && i.at == "" && i.key == ""
}

// entryKind returns the kind of a job without options, and "" of one that has a record.
func (i *encodedJob) entryKind() string {
	if i.record != nil {
		return ""
	}
	return i.kind
}

// asRecord returns the record of a job, also of a plain one.
func (i *encodedJob) asRecord() []byte {
	args := i.args
	switch {
	case i.short:
		args = string(i.record[1+len(i.kind)+1:])
	case i.record != nil:
		return i.record
	}
	plain := Job{Kind: i.kind, Priority: i.priority, packed: args}
	return plain.record()
}

// work returns the cost of adding the job, in plain jobs.
func (i *encodedJob) work() int {
	switch {
	case i.entryOnly():
		return 1
	case i.short:
		return shortWork
	}
	return recordWork
}

// prepare validates a job and encodes it.
func (c *Client) prepare(job NewJob) (*Queue, encodedJob, error) {
	name, encoded, err := c.config.encodeNew(job)
	if err != nil {
		return nil, encoded, err
	}
	q, err := c.Queue(name)
	return q, encoded, err
}

// encodeNew validates a job and encodes it. It returns the name of its queue too.
func (c Config) encodeNew(job NewJob) (name string, encoded encodedJob, err error) {
	o := job.options().withDefaults()
	if err := o.validate(); err != nil {
		return "", encoded, err
	}
	if job.Args == nil {
		return "", encoded, fmt.Errorf("%w: args are nil", ErrInvalid)
	}
	kind := job.Args.Kind()
	if err := checkArgs(job.Args); err != nil {
		return "", encoded, err
	}
	args, err := marshal(job.Args)
	if err != nil {
		return "", encoded, err
	}
	then, err := o.then()
	if err != nil {
		return "", encoded, err
	}
	if size, limit := len(args)+len(then), cmp.Or(c.MaxPayload, DefaultMaxPayload); size > limit {
		return "", encoded, &payloadError{kind, size, limit}
	}
	return o.Queue, c.encode(kind, args, then, &o), nil
}

func (c Config) encode(kind string, args, then []byte, o *Options) encodedJob {
	i := encodedJob{priority: o.Priority, kind: kind, wait: "", at: "", key: o.Unique.Key, keyMillis: "", durable: o.Durable}
	delayed := o.Delay > 0 || !o.At.IsZero()
	plain := o.MaxAttempts == 0 && o.Timeout == 0 && o.Deadline.IsZero() &&
		o.Unique.Key == "" && o.Retain == 0 && len(o.Headers) == 0 && len(then) == 0
	packed, packing := args, ""
	if c.PackFrom > 0 && len(args) >= c.PackFrom {
		packed, packing = pack(args)
	}
	switch {
	case !o.At.IsZero():
		i.at = max(0, o.At.UnixMilli())
	case o.Delay > 0:
		i.wait = millis(o.Delay)
	}
	switch {
	case plain && packing == "" && delayed:
		i.short = true
		i.record = shortRecord(o.Priority, kind, packed)
		return i
	case plain && packing == "":
		i.args = string(packed)
		return i
	}
	job := Job{
		Kind: kind, Priority: o.Priority, MaxAttempts: o.MaxAttempts, Timeout: o.Timeout, Deadline: o.Deadline,
		Unique: o.Unique, Retain: o.Retain, Headers: o.Headers, packing: packing, then: string(then),
	}
	i.record = recordOf(&job, packed)
	if o.Unique.Scope == ForDuration {
		i.keyMillis = millis(o.Unique.For)
	}
	return i
}

// recordArgs returns the script's arguments for a job with a record.
func (i *encodedJob) recordArgs() []any {
	return []any{string(i.priority.letter()), i.record, i.wait, i.at, i.key, i.keyMillis}
}

// newJobJSON is a [NewJob] as JSON. Times are in RFC 3339, durations in the form of
// time.ParseDuration.
type newJobJSON struct {
	Queue       string            `json:"queue,omitempty"`
	Kind        string            `json:"kind"`
	Args        json.RawMessage   `json:"args,omitempty"` // missing: {}
	Priority    string            `json:"priority,omitempty"`
	In          durationText      `json:"in,omitzero"`
	At          time.Time         `json:"at,omitzero"`
	Unique      string            `json:"unique,omitempty"`
	UniqueFor   durationText      `json:"unique_for,omitzero"`
	UniqueScope string            `json:"unique_scope,omitempty"` // missing: duration with unique_for, else finished
	MaxAttempts int               `json:"max_attempts,omitempty"`
	Timeout     durationText      `json:"timeout,omitzero"`
	Deadline    time.Time         `json:"deadline,omitzero"`
	Retain      durationText      `json:"retain,omitzero"`
	Headers     map[string]string `json:"headers,omitempty"`
	Durable     bool              `json:"durable,omitempty"`
	Then        []newJobJSON      `json:"then,omitempty"` // not []NewJob, which would decode each level again
}

// A durationText is a duration as text in JSON.
type durationText time.Duration

func (s durationText) MarshalText() ([]byte, error) { return []byte(time.Duration(s).String()), nil }

func (s *durationText) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%.40q is no length of time such as 90s or 2h", text)
	}
	*s = durationText(d)
	return nil
}

// MarshalJSON returns the form that [NewJob.UnmarshalJSON] reads. The args must be
// JSON.
func (n NewJob) MarshalJSON() ([]byte, error) {
	out, err := n.json()
	if err != nil {
		return nil, err
	}
	return json.Marshal(out)
}

func (n NewJob) json() (newJobJSON, error) {
	if n.Args == nil {
		return newJobJSON{}, fmt.Errorf("%w: args are nil", ErrInvalid)
	}
	args, err := json.Marshal(n.Args)
	if err != nil {
		return newJobJSON{}, fmt.Errorf("%w: marshal args of %s: %w", ErrInvalid, n.Args.Kind(), err)
	}
	o := n.options()
	out := newJobJSON{
		Queue: o.Queue, Kind: n.Args.Kind(), Args: args, In: durationText(o.Delay), At: o.At,
		Unique: o.Unique.Key, UniqueFor: durationText(o.Unique.For), MaxAttempts: o.MaxAttempts, Timeout: durationText(o.Timeout),
		Deadline: o.Deadline, Retain: durationText(o.Retain), Headers: o.Headers, Durable: o.Durable,
	}
	if o.Priority != Normal {
		out.Priority = o.Priority.String()
	}
	if o.Unique.Key != "" && o.Unique.Scope != ForDuration && o.Unique.Scope != UntilFinished {
		out.UniqueScope = o.Unique.Scope.word()
	}
	for i, next := range o.Then {
		then, err := next.json()
		if err != nil {
			return newJobJSON{}, fmt.Errorf("then[%d]: %w", i, err)
		}
		then.Durable = false // a default of its args: a worker adds it, and waits for no confirmation
		out.Then = append(out.Then, then)
	}
	return out, nil
}

// UnmarshalJSON decodes one object with the field kind and the optional fields args,
// queue, priority, in or at, unique with unique_for or unique_scope (finished, waiting,
// duration), max_attempts, timeout, deadline, retain, headers, durable and then. Any other
// field is an error.
func (n *NewJob) UnmarshalJSON(text []byte) error {
	var in newJobJSON
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&in); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	job, err := in.newJob(0)
	if err == nil {
		*n = job
	}
	return err
}

// newJob returns the job that in describes. depth is the number of jobs that it
// follows.
func (in newJobJSON) newJob(depth int) (NewJob, error) {
	if depth > maxThenDepth {
		return NewJob{}, fmt.Errorf("%w: at most %d jobs follow each other", ErrInvalid, maxThenDepth)
	}
	if in.Kind == "" {
		return NewJob{}, fmt.Errorf("%w: a job needs a kind", ErrInvalid)
	}
	args := []byte(in.Args)
	if len(args) == 0 {
		args = []byte("{}")
	}
	priority, err := ParsePriority(in.Priority)
	if err != nil {
		return NewJob{}, err
	}
	unique := Unique{Key: in.Unique, For: time.Duration(in.UniqueFor)}
	switch {
	case in.UniqueScope != "":
		if unique.Scope, err = parseScope(in.UniqueScope); err != nil {
			return NewJob{}, fmt.Errorf("%w: unique_scope %.40q: want finished, waiting or duration", ErrInvalid, in.UniqueScope)
		}
	case in.UniqueFor != 0:
		unique.Scope = ForDuration
	}
	var then []NewJob
	for n := range in.Then {
		next, err := in.Then[n].newJob(depth + 1)
		if err != nil {
			return NewJob{}, fmt.Errorf("then[%d]: %w", n, err)
		}
		then = append(then, next)
	}
	return NewJob{Raw(in.Kind, args), Options{
		Queue: in.Queue, Priority: priority, Delay: time.Duration(in.In), At: in.At, MaxAttempts: in.MaxAttempts,
		Timeout: time.Duration(in.Timeout), Deadline: in.Deadline, Unique: unique, Retain: time.Duration(in.Retain),
		Headers: in.Headers, Durable: in.Durable, Then: then,
	}}, nil
}

// maxThen bounds the number of jobs that follow one job, maxThenDepth the length of a
// chain.
const (
	maxThen      = 16
	maxThenDepth = 16
)

// validateThen returns an error if the jobs that follow one with these options are
// invalid.
func (o *Options) validateThen(depth int) error {
	if len(o.Then) > maxThen || depth > maxThenDepth {
		return fmt.Errorf("%w: at most %d jobs follow a job, in a row of at most %d", ErrInvalid, maxThen, maxThenDepth)
	}
	for n, next := range o.Then {
		if next.Args == nil {
			return fmt.Errorf("%w: then[%d]: args are nil", ErrInvalid, n)
		}
		err := checkArgs(next.Args)
		options := next.options().withDefaults()
		if err == nil {
			err = options.validate()
		}
		if err == nil && next.Options.Durable {
			err = invalid("Durable: a worker adds this job, and waits for no confirmation")
		}
		if err == nil && options.RequestKey != "" {
			err = invalid("RequestKey: it is of a call, not of jobs that follow")
		}
		if err == nil {
			err = options.validateThen(depth + 1)
		}
		if err != nil {
			return fmt.Errorf("then[%d]: %w", n, err)
		}
	}
	return nil
}

// then encodes the jobs that follow; nil if there are none.
func (o *Options) then() ([]byte, error) {
	if len(o.Then) == 0 {
		return nil, nil
	}
	if err := o.validateThen(1); err != nil {
		return nil, err
	}
	text, err := json.Marshal(o.Then)
	if err != nil {
		if wrapped, ok := errors.AsType[*json.MarshalerError](err); ok {
			err = wrapped.Unwrap()
		}
		return nil, fmt.Errorf("then: %w", err)
	}
	return text, nil
}
