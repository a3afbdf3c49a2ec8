package queue

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

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

// checkThen checks the jobs that follow one with these options.
func (o *Options) checkThen(depth int) error {
	if len(o.Then) > maxThen || depth > maxThenDepth {
		return fmt.Errorf("%w: at most %d jobs follow a job, in a row of at most %d", ErrInvalid, maxThen, maxThenDepth)
	}
	for n, next := range o.Then {
		if next.Args == nil {
			return fmt.Errorf("%w: then[%d]: args are nil", ErrInvalid, n)
		}
		err := checkKind(next.Args.Kind())
		options := next.Options
		options.Then = nil
		if err == nil {
			err = options.setDefaults()
		}
		if err == nil {
			err = next.Options.checkThen(depth + 1)
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
	if err := o.checkThen(1); err != nil {
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
