package queue

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"skidway/internal/rdb"

	"github.com/redis/go-redis/v9"
)

// Get looks a job up, in whatever state it is. A job of which Redis holds
// something damaged comes with what could be read, and with a Reason that
// starts with "malformed". The error is [ErrNoJob] when there is none,
// [ErrInvalid] when id is no id.
func (c *Client) Get(ctx context.Context, id string) (*Job, error) {
	q, local, err := c.find(id)
	if err != nil {
		return nil, err
	}
	reply, err := q.run(ctx, lookupScript, local)
	if err != nil {
		return nil, err
	}
	if reply.Word == "none" {
		return nil, noJob(id)
	}
	job, _ := q.decodeJob(reply)
	return job, nil
}

// given reads a job as lua/locate.lua gives it, and returns what follows it.
func (q *Queue) decodeJob(reply rdb.Reply) (job *Job, rest rdb.Reply) {
	fields, rest := reply.From(7).Cut(int(reply.Int(6)))
	at := line(reply.Int(4))
	job = &Job{State: State(reply.Text(1)), Worker: reply.Text(3), line: at, entry: reply.Text(5)}
	var err error
	switch {
	case at > 0:
		job.Priority = at.priority()
		err = job.setFields(fields)
	case fields.Len() == 2:
		err = job.setRecord(fields.Text(1))
	default:
		err = errors.New("it has a time but no record")
	}
	job.local = reply.Text(0) // nothing in it can change that
	if err2 := job.complete(q.name, q.client.config.MaxPayload); err == nil {
		err = err2
	}
	score := scoreTime(reply.Text(2))
	switch job.State {
	case Active:
		job.Taken = score
	case Delayed:
		job.Due = score
		if err == nil && score.IsZero() {
			err = errors.New("it has a record but no time")
		}
	case Dead:
		job.Outcome = Died
		if job.Ended.IsZero() {
			job.Ended = score
		}
	}
	if err != nil && job.Reason == "" {
		job.Reason = "malformed: " + err.Error()
	}
	return job, rest
}

// scoreTime is the time that a score means, or zero for none.
func scoreTime(score string) time.Time {
	ms, err := strconv.ParseFloat(score, 64)
	if err != nil || math.IsNaN(ms) || ms < 0 || ms > 1<<53 {
		return time.Time{}
	}
	return time.UnixMilli(int64(ms))
}

// DefaultListLimit and MaxListLimit bound a [Page].
const (
	DefaultListLimit = 100
	MaxListLimit     = 1000
)

// ListOptions say which jobs to list. The zero value: the first
// [DefaultListLimit] of any kind.
type ListOptions struct {
	Filter
	Limit  int    // most jobs in a page
	Cursor string // [Page.Next] of the page before; empty: the first
}

// A Page is a part of a list.
type Page struct {
	Jobs []*Job

	// Next goes on after this page; empty when this is the last. A page may
	// have fewer jobs than its limit, or none, although it is not the last.
	Next string
}

// Bounds of one step through jobs. A step lasts a millisecond or so.
const (
	maxWalked      = 100
	maxWalkedBytes = 256 << 10
)

// maxListed is how many jobs one call of List looks at, or where they are
// large a little more than listBytes of them.
const (
	maxListed      = 10000
	maxListedBytes = 4 << 20
)

// List gives the jobs of a state: waiting and active ones in the order in which
// workers take them, delayed ones in that of their times, dead ones the latest
// first, finished ones those first that are kept the longest. Cursors stay good
// while the queue changes: a job that stays where it is comes exactly once; one
// that moves meanwhile may come twice or not at all, and what comes into a
// state meanwhile may be left out.
func (q *Queue) List(ctx context.Context, state State, options *ListOptions) (Page, error) {
	o := ListOptions{}
	if options != nil {
		o = *options
	}
	o.Limit = cmp.Or(o.Limit, DefaultListLimit)
	if err := o.validate(state); err != nil {
		return Page{}, err
	}
	page, filter := Page{Next: o.Cursor}, o.Filter.args()
	for seen, size := 0, 0; len(page.Jobs) < o.Limit && seen < maxListed && size < maxListedBytes; {
		reply, err := q.run(ctx, listScript, append([]any{string(state), page.Next, o.Limit - len(page.Jobs), maxWalked, maxWalkedBytes}, filter...)...)
		if err != nil {
			return Page{}, err
		}
		page.Next = reply.Text(0)
		seen += int(reply.Int(1))
		for rest := reply.From(2); rest.Len() > 0; {
			var job *Job
			job, rest = q.decodeJob(rest)
			page.Jobs = append(page.Jobs, job)
			size += len(job.packed)
		}
		if page.Next == "" {
			break
		}
	}
	return page, nil
}

// validate reports what is wrong with options to list jobs of a state.
func (o ListOptions) validate(state State) error {
	if err := state.check(Waiting, Active, Delayed, Dead, Finished); err != nil {
		return err
	}
	if err := o.Filter.validate(); err != nil {
		return err
	}
	if o.Limit < 0 || o.Limit > MaxListLimit {
		return fmt.Errorf("%w: limit %d: want 1 to %d", ErrInvalid, o.Limit, MaxListLimit)
	}
	cursor := shelfCursor
	if state == Waiting || state == Active {
		cursor = lineCursor
	}
	if o.Cursor != "" && !cursor.MatchString(o.Cursor) {
		return fmt.Errorf("%w: %.80q is no cursor of %s jobs", ErrInvalid, o.Cursor, state)
	}
	return nil
}

// Cursors, see lua/walk.lua.
var (
	lineCursor  = regexp.MustCompile(`^[1-9]( [0-9]{1,20}-[0-9]{1,20}){2}$`)
	shelfCursor = regexp.MustCompile(`^-?[0-9a-z.+]{1,30} [^ ]{1,100}$`)
)

// check says whether the state is one of those that something is for.
func (s State) check(of ...State) error {
	for _, state := range of {
		if s == state {
			return nil
		}
	}
	return fmt.Errorf("%w: state %.40q: want one of %v", ErrInvalid, s, of)
}

// A Filter says which jobs of a state are meant: those that pass all that it
// asks for. The zero value means all.
type Filter struct {
	Kind string // only these; empty: all

	// OlderThan leaves younger jobs alone, NewerThan older ones. The age of a
	// dead or finished job counts from its end, that of others from when they
	// were enqueued. Zero: whatever their age.
	OlderThan, NewerThan time.Duration

	// Error is a part of why the job ended, or of an error that it remembers,
	// be letters of ASCII large or small. Empty: any job, also one without.
	Error string
}

// maxFilterText bounds the texts of a filter, in bytes.
const maxFilterText = 1 << 10

// validate reports what is wrong with a filter.
func (f Filter) validate() error {
	switch {
	case f.OlderThan < 0:
		return fmt.Errorf("%w: older than %s: it can't be below zero", ErrInvalid, f.OlderThan)
	case f.NewerThan < 0:
		return fmt.Errorf("%w: newer than %s: it can't be below zero", ErrInvalid, f.NewerThan)
	case len(f.Kind) > maxFilterText || len(f.Error) > maxFilterText:
		return fmt.Errorf("%w: kinds and errors to look for have at most %d bytes", ErrInvalid, maxFilterText)
	}
	return nil
}

// args gives the filter as lua/walk.lua reads it.
func (f Filter) args() []any {
	// A job's errors are stored as JSON, so the text is looked for as it is
	// there, too.
	quoted, _ := json.Marshal(f.Error) // strings always marshal
	return []any{
		f.Kind, millis(f.OlderThan), millis(f.NewerThan),
		lowerASCII(f.Error), lowerASCII(string(quoted[1 : len(quoted)-1])),
	}
}

// small makes letters small as Lua does: those of ASCII.
func lowerASCII(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, text)
}

// Log gives the last lines that were logged for a job; none where there are
// none, also when there is no such job.
func (c *Client) Log(ctx context.Context, id string) ([]string, error) {
	text, err := c.readBeside(ctx, id, keyLogs)
	if err != nil || text == "" {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n"), nil
}

// Progress gives what was last set; nil for nothing.
func (c *Client) Progress(ctx context.Context, id string) ([]byte, error) {
	text, err := c.readBeside(ctx, id, keyProgress)
	if err != nil || text == "" {
		return nil, err
	}
	return []byte(text), nil
}

// besides reads a value of one of the hashes by id.
func (c *Client) readBeside(ctx context.Context, id string, key int) (string, error) {
	q, local, err := c.find(id)
	if err != nil {
		return "", err
	}
	var text string
	err = c.db.Retry(ctx, func() (err error) {
		text, err = c.db.HGet(ctx, q.keys[key], local).Result()
		return err
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return "", fmt.Errorf("read the %s of job %s: %w", keyNames[key], id, err)
	}
	return text, nil
}
