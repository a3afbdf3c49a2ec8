package queue

import (
	"context"
	"fmt"
	"regexp"
)

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
	walkJobs  = 100
	walkBytes = 256 << 10
)

// maxListed is how many jobs one call of List looks at, or where they are
// large a little more than listBytes of them.
const (
	maxListed = 10000
	listBytes = 4 << 20
)

// List gives the jobs of a state: waiting and active ones in the order in which
// workers take them, delayed ones in that of their times, dead ones the latest
// first, finished ones those first that are kept the longest. Cursors stay good
// while the queue changes: a job that stays where it is comes exactly once; one
// that moves meanwhile may come twice or not at all, and what comes into a
// state meanwhile may be left out.
func (q *Queue) List(ctx context.Context, state State, o ListOptions) (Page, error) {
	if err := o.check(state); err != nil {
		return Page{}, err
	}
	page, filter := Page{Next: o.Cursor}, o.Filter.args()
	for seen, size := 0, 0; len(page.Jobs) < o.Limit && seen < maxListed && size < listBytes; {
		reply, err := q.run(ctx, listScript, append([]any{string(state), page.Next, o.Limit - len(page.Jobs), walkJobs, walkBytes}, filter...)...)
		if err != nil {
			return Page{}, err
		}
		page.Next = reply.Text(0)
		seen += int(reply.Int(1))
		for rest := reply.From(2); rest.Len() > 0; {
			var job *Job
			job, rest = q.given(rest)
			page.Jobs = append(page.Jobs, job)
			size += len(job.packed)
		}
		if page.Next == "" {
			break
		}
	}
	return page, nil
}

func (o *ListOptions) check(state State) error {
	if err := state.check(Waiting, Active, Delayed, Dead, Finished); err != nil {
		return err
	}
	if err := o.Filter.check(); err != nil {
		return err
	}
	if o.Limit == 0 {
		o.Limit = DefaultListLimit
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
