package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"skidway/internal/rdb"

	"github.com/redis/go-redis/v9"
)

// Get returns a job in any state. If its data in Redis is damaged, Get returns the
// fields that can be read, and a Reason that starts with "malformed". The error is
// [ErrNoJob] if the job doesn't exist, [ErrInvalid] if id is not a job's id.
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

// decodeJob decodes a job as lua/locate.lua returns it, and returns the rest of the
// reply.
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
		err = errNoRecord
	}
	job.local = reply.Text(0) // whatever id the entry claims
	q.complete(job, reply.Text(2), err)
	return job, rest
}

// complete completes a job that was read. score is its score, or the time in ms since when a
// worker holds it. err is what is wrong with the fields that were read.
func (q *Queue) complete(job *Job, score string, err error) {
	if err2 := job.complete(q.name, q.client.config.MaxPayload); err == nil {
		err = err2
	}
	at := scoreTime(score)
	switch job.State {
	case Active:
		job.Taken = at
	case Delayed:
		job.Due = at
		if err == nil && at.IsZero() {
			err = errors.New("it has a record but no time")
		}
	case Dead:
		job.Outcome = Died
		if job.Ended.IsZero() {
			job.Ended = at
		}
	}
	if err != nil && job.Reason == "" {
		job.Reason = "malformed: " + err.Error()
	}
}

// errNoRecord is what is wrong with a job that is only in an index.
var errNoRecord = errors.New("it has a time but no record")

// scoreTime returns the time that a score stands for, or zero.
func scoreTime(score string) time.Time {
	ms, err := strconv.ParseFloat(score, 64)
	if err != nil || math.IsNaN(ms) || ms < 0 || ms > 1<<53 {
		return time.Time{}
	}
	return time.UnixMilli(int64(ms))
}

// ListOptions select the jobs of a [Page]. The zero value selects the first 100 jobs.
type ListOptions struct {
	Limit  int    // maximum number of jobs, up to 1000; zero means 100
	Cursor string // [Page.Next] of the previous page; empty for the first
}

// A Page is a part of a list of jobs.
type Page struct {
	Jobs []*Job

	// Next is the cursor of the next page; empty if this is the last one. A page
	// may have fewer jobs than its limit, or none, although it is not the last.
	Next string

	// Of a page of [Queue.Read].
	After []string      // for each job, the cursor behind it
	Size  int           // of the jobs in bytes: in Redis, or unpacked if that is more
	Took  time.Duration // until the replies were read
	Trips int           // number of round trips in that time
}

// Bounds of one script that walks through jobs. It takes about a millisecond.
const (
	maxWalked      = 100
	maxWalkedBytes = 256 << 10
)

// maxListedBytes bounds the args of one page of List.
const maxListedBytes = 4 << 20

// List returns jobs of a state: waiting and active ones in the order in which workers
// take them, delayed ones by their times, dead ones latest first, finished ones by the
// end of their retention, latest first. Nil options mean the defaults.
//
// Cursors remain valid while the queue changes. A job that stays in its state is
// listed exactly once. One that changes its state meanwhile may be listed twice or not
// at all, and a job that enters the state meanwhile may be left out.
func (q *Queue) List(ctx context.Context, state State, options *ListOptions) (Page, error) {
	o := ListOptions{}
	if options != nil {
		o = *options
	}
	o.Limit = cmp.Or(o.Limit, defaultListLimit)
	if err := o.validate(state); err != nil {
		return Page{}, err
	}
	page := Page{Next: state.decodeCursor(o.Cursor)}
	for size := 0; len(page.Jobs) < o.Limit && size < maxListedBytes; {
		reply, err := q.run(ctx, listScript, string(state), page.Next, min(o.Limit-len(page.Jobs), maxWalked), maxWalkedBytes)
		if err != nil {
			return Page{}, err
		}
		page.Next = reply.Text(0)
		for rest := reply.From(1); rest.Len() > 0; {
			var job *Job
			job, rest = q.decodeJob(rest)
			page.Jobs = append(page.Jobs, job)
			size += len(job.packed)
		}
		if page.Next == "" {
			break
		}
	}
	page.Next = state.encodeCursor(page.Next)
	return page, nil
}

// validate returns an error if jobs of a state can't be listed with the options.
func (o ListOptions) validate(state State) error {
	if o.Limit < 0 || o.Limit > maxListLimit {
		return fmt.Errorf("%w: limit %d: want 1 to %d", ErrInvalid, o.Limit, maxListLimit)
	}
	return state.checkCursor(o.Cursor)
}

// checkCursor returns an error if jobs of the state can't be listed after a cursor.
func (s State) checkCursor(cursor string) error {
	if err := s.check(Waiting, Active, Delayed, Dead, Finished); err != nil {
		return err
	}
	isCursor := isShelfCursor
	if s.inLines() {
		isCursor = isLineCursor
	}
	if cursor != "" && !isCursor(cursor) {
		return fmt.Errorf("%w: %.80q is not a cursor of %s jobs", ErrInvalid, cursor, s)
	}
	return nil
}

// inLines reports whether the jobs of a state are in lines.
func (s State) inLines() bool { return s == Waiting || s == Active }

// maxCursorID bounds the bytes of an id in a cursor, which end up in addresses.
const maxCursorID = 2 * maxLocalID

// encodeCursor returns a cursor of the scripts as callers get it. Another program may have stored
// a job by any text as its id, so ids are escaped. A cursor with the start of a long id stands
// behind all ids with this start and the same score.
func (s State) encodeCursor(cursor string) string {
	score, id, found := strings.Cut(cursor, " ")
	if s.inLines() || !found {
		return cursor
	}
	escaped := url.QueryEscape(id[:min(len(id), maxCursorID+1)])
	for n := maxCursorID; len(escaped) > maxCursorID; n-- {
		start := id[:min(len(id), n)]
		if s == Delayed { // the order is ascending, else descending
			start += "\xff"
		}
		escaped = url.QueryEscape(start)
	}
	return score + " " + escaped
}

// decodeCursor is the opposite of encodeCursor, for a cursor that checkCursor accepts.
func (s State) decodeCursor(cursor string) string {
	score, escaped, found := strings.Cut(cursor, " ")
	if s.inLines() || !found {
		return cursor
	}
	id, _ := url.QueryUnescape(escaped)
	return score + " " + id
}

// Cursors, see lua/walk.lua.
var (
	lineCursor  = regexp.MustCompile(`^[1-9][0-9]?( [0-9]{1,20}-[0-9]{1,20}){2}$`)
	shelfCursor = regexp.MustCompile(`^-?(inf|[0-9][0-9e.+-]{0,29}) [^ ]*$`)
)

func isLineCursor(cursor string) bool {
	if !lineCursor.MatchString(cursor) {
		return false
	}
	parts := strings.Fields(cursor)
	at, err := strconv.Atoi(parts[0])
	return err == nil && line(at) <= lineCount && isEntry(parts[1]) && isEntry(parts[2])
}

// isEntry reports whether text, two numbers and '-', is the id of an entry.
func isEntry(text string) bool {
	ms, seq, _ := strings.Cut(text, "-")
	_, err := strconv.ParseUint(ms, 10, 64)
	_, err2 := strconv.ParseUint(seq, 10, 64)
	return err == nil && err2 == nil
}

func isShelfCursor(cursor string) bool {
	score, id, _ := strings.Cut(cursor, " ")
	n, err := strconv.ParseFloat(score, 64)
	_, err2 := url.QueryUnescape(id)
	return shelfCursor.MatchString(cursor) && err == nil && err2 == nil && !math.IsNaN(n)
}

// check returns an error if the state is not among the states of an operation.
func (s State) check(of ...State) error {
	for _, state := range of {
		if s == state {
			return nil
		}
	}
	return fmt.Errorf("%w: state %.40q: want one of %v", ErrInvalid, s, of)
}

// Log returns the last lines that a job logged. They are empty if there are none or the
// job doesn't exist.
func (c *Client) Log(ctx context.Context, id string) ([]string, error) {
	text, err := readBeside(ctx, c, id, keyLogs)
	if err != nil || text == "" {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n"), nil
}

// Progress returns the progress that a job's handler last set; nil for none.
func (c *Client) Progress(ctx context.Context, id string) ([]byte, error) {
	text, err := readBeside(ctx, c, id, keyProgress)
	if err != nil || text == "" {
		return nil, err
	}
	return []byte(text), nil
}

// readBeside returns a field of a job that is stored outside its record: its log or
// its progress.
func readBeside(ctx context.Context, c *Client, id string, key int) (string, error) {
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
