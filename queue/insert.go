package queue

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// An Insert is a job that is to be added.
type Insert struct {
	Args    Args
	Options Options
}

// An insertion is a job as the script takes it.
type insertion struct {
	priority  Priority
	kind      string
	args      string // of a job that needs no record
	record    []byte // of any other
	wait, at  any    // in ms, "" for none
	key       string
	keyMillis any
}

func (i insertion) size() int { return len(i.args) + len(i.record) }

// asRecord returns the record of a job, also of one that needs none.
func (i insertion) asRecord() []byte {
	if i.record != nil {
		return i.record
	}
	plain := Job{Kind: i.kind, Priority: i.priority, packed: i.args}
	return plain.record()
}

// work is for how many plain jobs it counts.
func (i insertion) work() int {
	if i.record != nil {
		return recordWork
	}
	return 1
}

// prepare checks a job and encodes it.
func (c *Client) prepare(insert Insert) (*Queue, insertion, error) {
	o := insert.Options.withDefaults()
	if err := o.validate(); err != nil {
		return nil, insertion{}, err
	}
	if insert.Args == nil {
		return nil, insertion{}, fmt.Errorf("%w: args are nil", ErrInvalid)
	}
	kind := insert.Args.Kind()
	if err := checkKind(kind); err != nil {
		return nil, insertion{}, err
	}
	q, err := c.Queue(o.Queue)
	if err != nil {
		return nil, insertion{}, err
	}
	args, err := marshal(insert.Args)
	if err != nil {
		return nil, insertion{}, err
	}
	then, err := o.then()
	if err != nil {
		return nil, insertion{}, err
	}
	if size := len(args) + len(then); size > c.config.MaxPayload {
		return nil, insertion{}, &PayloadError{kind, size, c.config.MaxPayload}
	}
	return q, c.encode(kind, args, then, &o), nil
}

func (c *Client) encode(kind string, args, then []byte, o *Options) insertion {
	i := insertion{priority: o.Priority, kind: kind, wait: "", at: "", key: o.Unique.Key, keyMillis: ""}
	plain := o.Delay == 0 && o.At.IsZero() && o.MaxAttempts == 0 && o.Timeout == 0 && o.Deadline.IsZero() &&
		o.Unique.Key == "" && o.Retain == 0 && len(o.Headers) == 0 && len(then) == 0
	packed, packing := string(args), ""
	if c.config.PackFrom > 0 && len(args) >= c.config.PackFrom {
		packed, packing = pack(args)
	}
	if plain && packing == "" {
		i.args = packed
		return i
	}
	job := Job{
		Kind: kind, Priority: o.Priority, MaxAttempts: o.MaxAttempts, Timeout: o.Timeout, Deadline: o.Deadline,
		Unique: o.Unique, Retain: o.Retain, Headers: o.Headers, packed: packed, packing: packing, then: string(then),
	}
	i.record = job.record()
	switch {
	case !o.At.IsZero():
		i.at = max(0, o.At.UnixMilli())
	case o.Delay > 0:
		i.wait = millis(o.Delay)
	}
	if o.Unique.Scope == ForDuration {
		i.keyMillis = millis(o.Unique.For)
	}
	return i
}

// withRecord gives the arguments for a job that has a record.
func (i *insertion) withRecord() []any {
	return []any{string(i.priority.letter()), i.record, i.wait, i.at, i.key, i.keyMillis}
}

// insertJSON is an [Insert] as JSON. Times are in RFC 3339, lengths of time as
// time.ParseDuration has them.
type insertJSON struct {
	Queue       string            `json:"queue,omitempty"`
	Kind        string            `json:"kind"`
	Args        json.RawMessage   `json:"args,omitempty"` // missing: {}
	Priority    string            `json:"priority,omitempty"`
	In          span              `json:"in,omitzero"`
	At          time.Time         `json:"at,omitzero"`
	Unique      string            `json:"unique,omitempty"`
	UniqueFor   span              `json:"unique_for,omitzero"`
	UniqueScope string            `json:"unique_scope,omitempty"` // missing: duration with unique_for, else finished
	MaxAttempts int               `json:"max_attempts,omitempty"`
	Timeout     span              `json:"timeout,omitzero"`
	Deadline    time.Time         `json:"deadline,omitzero"`
	Retain      span              `json:"retain,omitzero"`
	Headers     map[string]string `json:"headers,omitempty"`
	Then        []insertJSON      `json:"then,omitempty"` // not []Insert: each level would be read anew
}

// A span is a length of time as text in JSON.
type span time.Duration

func (s span) MarshalText() ([]byte, error) { return []byte(time.Duration(s).String()), nil }

func (s *span) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%.40q is no length of time such as 90s or 2h", text)
	}
	*s = span(d)
	return nil
}

// MarshalJSON writes the job as [Insert.UnmarshalJSON] reads it. Its args have
// to be JSON.
func (i Insert) MarshalJSON() ([]byte, error) {
	out, err := i.json()
	if err != nil {
		return nil, err
	}
	return json.Marshal(out)
}

func (i Insert) json() (insertJSON, error) {
	if i.Args == nil {
		return insertJSON{}, fmt.Errorf("%w: args are nil", ErrInvalid)
	}
	args, err := json.Marshal(i.Args)
	if err != nil {
		return insertJSON{}, fmt.Errorf("%w: marshal args of %s: %w", ErrInvalid, i.Args.Kind(), err)
	}
	o := i.Options
	out := insertJSON{
		Queue: o.Queue, Kind: i.Args.Kind(), Args: args, In: span(o.Delay), At: o.At,
		Unique: o.Unique.Key, UniqueFor: span(o.Unique.For), MaxAttempts: o.MaxAttempts, Timeout: span(o.Timeout),
		Deadline: o.Deadline, Retain: span(o.Retain), Headers: o.Headers,
	}
	if o.Priority != Normal {
		out.Priority = o.Priority.String()
	}
	if o.Unique.Key != "" && o.Unique.Scope != ForDuration && o.Unique.Scope != UntilFinished {
		out.UniqueScope = o.Unique.Scope.word()
	}
	for n, next := range o.Then {
		then, err := next.json()
		if err != nil {
			return insertJSON{}, fmt.Errorf("then[%d]: %w", n, err)
		}
		out.Then = append(out.Then, then)
	}
	return out, nil
}

// UnmarshalJSON reads a job of one object: kind, and where they are wanted args,
// queue, priority, in or at, unique with unique_for or unique_scope (finished,
// waiting, duration), max_attempts, timeout, deadline, retain, headers and then.
// Any other name is refused.
func (i *Insert) UnmarshalJSON(text []byte) error {
	var in insertJSON
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&in); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	insert, err := in.insert(0)
	if err == nil {
		*i = insert
	}
	return err
}

// insert gives what a job says that follows so many others.
func (in insertJSON) insert(depth int) (Insert, error) {
	if depth > maxThenDepth {
		return Insert{}, fmt.Errorf("%w: at most %d jobs follow each other", ErrInvalid, maxThenDepth)
	}
	if in.Kind == "" {
		return Insert{}, fmt.Errorf("%w: a job needs a kind", ErrInvalid)
	}
	args := []byte(in.Args)
	if len(args) == 0 {
		args = []byte("{}")
	}
	priority, err := ParsePriority(in.Priority)
	if err != nil {
		return Insert{}, err
	}
	unique := Unique{Key: in.Unique, For: time.Duration(in.UniqueFor)}
	switch {
	case in.UniqueScope != "":
		if unique.Scope, err = parseScope(in.UniqueScope); err != nil {
			return Insert{}, fmt.Errorf("%w: unique_scope %.40q: want finished, waiting or duration", ErrInvalid, in.UniqueScope)
		}
	case in.UniqueFor != 0:
		unique.Scope = ForDuration
	}
	var then []Insert
	for n := range in.Then {
		next, err := in.Then[n].insert(depth + 1)
		if err != nil {
			return Insert{}, fmt.Errorf("then[%d]: %w", n, err)
		}
		then = append(then, next)
	}
	return Insert{Raw(in.Kind, args), Options{
		Queue: in.Queue, Priority: priority, Delay: time.Duration(in.In), At: in.At, MaxAttempts: in.MaxAttempts,
		Timeout: time.Duration(in.Timeout), Deadline: in.Deadline, Unique: unique, Retain: time.Duration(in.Retain),
		Headers: in.Headers, Then: then,
	}}, nil
}

// maxThen bounds the jobs that follow one job, and how far they follow each
// other.
const (
	maxThen      = 16
	maxThenDepth = 16
)

// validateThen reports what is wrong with the jobs that follow one with these options.
func (o *Options) validateThen(depth int) error {
	if len(o.Then) > maxThen || depth > maxThenDepth {
		return fmt.Errorf("%w: at most %d jobs follow a job, in a row of at most %d", ErrInvalid, maxThen, maxThenDepth)
	}
	for n, next := range o.Then {
		if next.Args == nil {
			return fmt.Errorf("%w: then[%d]: args are nil", ErrInvalid, n)
		}
		err := checkKind(next.Args.Kind())
		if err == nil {
			err = next.Options.withDefaults().validate()
		}
		if err == nil {
			err = next.Options.validateThen(depth + 1)
		}
		if err != nil {
			return fmt.Errorf("then[%d]: %w", n, err)
		}
	}
	return nil
}

// then encodes the jobs that follow, nil if there are none.
func (o *Options) then() ([]byte, error) {
	if len(o.Then) == 0 {
		return nil, nil
	}
	if err := o.validateThen(1); err != nil {
		return nil, err
	}
	text, err := json.Marshal(o.Then)
	if err != nil {
		var wrapped *json.MarshalerError
		if errors.As(err, &wrapped) {
			err = wrapped.Unwrap()
		}
		return nil, fmt.Errorf("then: %w", err)
	}
	return text, nil
}

// Forward is the kind of a job that adds another one, to another queue. Jobs
// that follow one of another queue travel so: no script can touch both queues.
// Every pool of package workers has a handler for it.
const Forward = "skidway.forward"

// A Forwarding is the args of a [Forward].
type Forwarding struct {
	Job Insert `json:"job"`
}

// Kind is [Forward].
func (Forwarding) Kind() string { return Forward }

// followers encodes the jobs that follow an ending.
func (q *Queue) followers(e *Ending) ([]insertion, error) {
	jobs := make([]insertion, len(e.Then))
	for n, next := range e.Then {
		if next.Options.Queue == "" {
			next.Options.Queue = q.name
		}
		if next.Options.Queue != q.name {
			next = Insert{Forwarding{next}, Options{Queue: q.name, Priority: next.Options.Priority}}
		}
		_, job, err := q.client.prepare(next)
		if err != nil {
			return nil, fmt.Errorf("then[%d]: %w", n, err)
		}
		job.record = job.asRecord()
		jobs[n] = job
	}
	return jobs, nil
}

// Unfollowed is how a job ends that succeeded, while the jobs that follow it can't
// be made: it is dead, since what was to come must not be forgotten.
func Unfollowed(job *Job, err error) Ending {
	return Ending{Job: job, As: AsDead, Reason: "it succeeded, but what follows it can't be enqueued: " + err.Error()}
}

// follow gives the arguments for the jobs that follow an ending, to go before
// its own: none for most.
func (q *Queue) follow(e *Ending) []any {
	if e.As != AsSucceeded || len(e.Then) == 0 {
		return nil
	}
	jobs, err := q.followers(e)
	if err != nil {
		*e = Unfollowed(e.Job, err)
		return nil
	}
	args := []any{"then", len(jobs)}
	for i := range jobs {
		args = append(args, jobs[i].withRecord()...)
	}
	return args
}
