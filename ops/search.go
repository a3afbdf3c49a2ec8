package ops

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/dustin/go-humanize"

	"skidway/internal/filter"
	"skidway/queue"
)

// Bounds of one page of a search, and of one read for it.
const (
	defaultSearchLimit = 50
	maxSearchLimit     = 500
	maxExamined        = 10_000
	maxExaminedBytes   = 4 << 20
	maxSearchTime      = 80 * time.Millisecond // without the time of the path to Redis, if that is longPath
	longPath           = time.Millisecond
	maxSearchWall      = time.Second // with it

	minRead      = 8 // the first read: sizes are not known
	maxRead      = 200
	maxReadBytes = 256 << 10
)

// SearchOptions select the jobs of a [SearchPage].
type SearchOptions struct {
	State  queue.State
	Match  string // a filter expression; empty: all jobs
	Limit  int    // maximum number of jobs, up to 500; zero means 50
	Cursor string // [SearchPage.Next] of the page before; empty for the first
}

// A SearchPage is a part of the jobs that match. A page ends at its limit, after 10,000 jobs or
// 4 MiB, or after 80 ms without those of the path to Redis, so it may have few jobs or none
// although it is not the last one.
type SearchPage struct {
	Jobs []*queue.Job
	Next string // the cursor of the next page; empty if there are no more jobs

	Examined int         // jobs that were looked at
	Total    int         // jobs in the state
	Depth    queue.Depth // of the queue, when the page was begun
	Back     time.Time   // when the last of them died or ended; of delayed ones, is due; else zero
	AsOf     time.Time   // when the page was begun, by the clock of the queue's Redis
	State    queue.State
}

// String returns how far the search looked, such as "searched 10,000 of 1,000,000, back to
// 14:02".
func (p *SearchPage) String() string {
	text := fmt.Sprintf("searched %s of %s", humanize.Comma(int64(p.Examined)), humanize.Comma(int64(max(p.Total, p.Examined))))
	if p.Back.IsZero() {
		return text
	}
	layout := "15:04"
	if p.AsOf.Sub(p.Back).Abs() > 12*time.Hour {
		layout = "2006-01-02 15:04"
	}
	word := "back to"
	if p.State == queue.Delayed { // the first jobs are the earliest
		word = "up to"
	}
	return text + ", " + word + " " + p.Back.Local().Format(layout)
}

// States returns the states in which a job can be that matches a filter, which may name some: first
// active, then waiting, delayed, dead and finished.
func States(match string) (states []queue.State, err error) {
	f, err := parseFilter(match)
	if err != nil {
		return nil, err
	}
	for _, state := range []queue.State{queue.Active, queue.Waiting, queue.Delayed, queue.Dead, queue.Finished} {
		if f.Allows(stateField, filter.OfText(string(state))) {
			states = append(states, state)
		}
	}
	return states, nil
}

// Search returns jobs of a queue that match a filter, in the order of [queue.Queue.List]. It
// reads the jobs of the state and matches them itself. All searches of a client together use at
// most 5 % of Redis's time, and at most two run at the same time, so a process should have one
// client. A search that does not begin within 1 s returns a [BusyError]. A filter or cursor that
// is not valid is a [queue.ErrInvalid].
func (c *Client) Search(ctx context.Context, name string, options SearchOptions) (*SearchPage, error) {
	options.Limit = cmp.Or(options.Limit, defaultSearchLimit)
	if options.Limit < 1 || options.Limit > maxSearchLimit {
		return nil, fmt.Errorf("%w: limit %d: want 1 to %d", queue.ErrInvalid, options.Limit, maxSearchLimit)
	}
	f, err := parseFilter(options.Match)
	if err != nil {
		return nil, err
	}
	q, err := c.queues.Queue(name)
	if err != nil {
		return nil, err
	}
	if err := c.budget.enter(ctx); err != nil {
		return nil, err
	}
	defer c.budget.leave()
	return c.search(ctx, q, f, options)
}

// search reads one page, in its turn.
func (c *Client) search(ctx context.Context, q *queue.Queue, f *filter.Filter, options SearchOptions) (*SearchPage, error) {
	if err := c.budget.measurePath(ctx, c.queues.DB()); err != nil {
		return nil, err
	}
	s := &search{client: c, queue: q, options: options, record: jobRecord{redactor: c.redactor}, page: &SearchPage{Next: options.Cursor, State: options.State}}
	s.began = c.now()
	s.setPath(c.budget.path())
	err := c.budget.call(func() error {
		depth, err := q.Depth(ctx)
		s.page.AsOf, s.page.Depth, s.page.Total = depth.Time, depth, InState(depth, options.State)
		return err
	})
	if err != nil {
		return nil, err
	}
	s.trips = 1
	s.matches = f.MatcherUntil(s.page.AsOf, func() bool {
		s.gaveUp = s.gaveUp || c.now().Sub(s.first) >= maxSearchTime
		return s.gaveUp
	})
	if options.State == queue.Dead {
		s.from = f.From(diedField, s.page.AsOf) // the latest ones are first
	}
	return s.page, s.run(ctx)
}

// A search reads one page.
type search struct {
	client  *Client
	queue   *queue.Queue
	options SearchOptions
	matches filter.Matcher
	record  jobRecord
	from    time.Time // dead jobs before it do not match
	began   time.Time
	path    time.Duration // of a round trip to Redis, zero if it is short
	trips   int
	first   time.Time // when the first job was examined
	gaveUp  bool      // within a job, because that took too long

	page *SearchPage
	size int // of the jobs examined, in bytes
}

// setPath sets the time of the path to Redis, which is not counted if it is long.
func (s *search) setPath(took time.Duration) {
	if s.path = took; took < longPath {
		s.path = 0
	}
}

// late reports whether the time of the page is used up after a step that takes so long, and some round trips on
// the path.
func (s *search) late(step time.Duration, trips int) bool {
	took := s.client.now().Sub(s.began) + step
	return took+time.Duration(trips)*s.path >= maxSearchWall || took-time.Duration(s.trips)*s.path >= maxSearchTime
}

// run reads until a bound is reached.
func (s *search) run(ctx context.Context) error {
	for limit, more := minRead, true; more; {
		if s.options.Match == "" {
			limit = min(limit, s.options.Limit-len(s.page.Jobs))
		}
		began := s.client.now()
		read, err := s.queue.Read(ctx, s.options.State, s.page.Next, min(limit, maxExamined-s.page.Examined), time.Time{})
		if err != nil {
			return err
		}
		s.client.budget.spend(read.Took, read.Trips)
		s.size, s.trips = s.size+read.Size, s.trips+read.Trips
		s.setPath(min(s.path, read.Took/time.Duration(max(1, read.Trips)))) // a PING may have waited for other work
		took := s.client.now().Sub(began) - time.Duration(read.Trips)*s.path
		if more, err = s.examine(read); err != nil {
			return err
		}
		more = more && s.page.Next != "" && s.page.Examined < maxExamined && s.size < maxExaminedBytes && !s.late(took, read.Trips) // the next read takes as long
		if limit = min(2*limit, maxRead); read.Size > 0 {
			limit = max(1, min(limit, maxReadBytes*len(read.Jobs)/read.Size))
		}
	}
	return nil
}

// examine adds the jobs that match to the page and moves its cursor. It returns false if the page
// ends here, or no other job can match.
func (s *search) examine(read queue.Page) (more bool, err error) {
	if s.first.IsZero() {
		s.first = s.client.now()
	}
	for i, job := range read.Jobs {
		at := jobTime(job)
		if at.Before(s.from) {
			s.page.Examined, s.page.Back, s.page.Next = s.page.Examined+1, at, ""
			return false, nil
		}
		s.record.set(job)
		matched := s.matches(&s.record)
		if s.gaveUp && s.page.Examined == 0 {
			return false, fmt.Errorf("%w: its regular expressions take too long for job %s, of %d bytes: use contains, or shorter ones", queue.ErrInvalid, job.ID, len(job.Args))
		}
		if s.gaveUp {
			return false, nil // the next page begins with this job
		}
		if s.page.Examined++; matched {
			s.page.Jobs = append(s.page.Jobs, s.client.redactor.Job(job))
		}
		if s.page.Next = read.After[i]; i == len(read.Jobs)-1 {
			s.page.Next = read.Next
		}
		if s.options.State != queue.Waiting && s.options.State != queue.Active { // they are in the order of lines
			s.page.Back = at
		}
		if len(s.page.Jobs) == s.options.Limit || s.late(0, 0) {
			return false, nil
		}
	}
	s.page.Next = read.Next
	return true, nil
}

// jobTime returns when a job died or ended, is due, or was enqueued.
func jobTime(job *queue.Job) time.Time {
	if job.State == queue.Delayed {
		return job.Due
	}
	if !job.Ended.IsZero() {
		return job.Ended
	}
	return job.Enqueued
}

// InState returns the number of jobs in a state.
func InState(depth queue.Depth, state queue.State) int {
	return map[queue.State]int{
		queue.Waiting: depth.Waiting, queue.Active: depth.Active, queue.Delayed: depth.Delayed, queue.Dead: depth.Dead, queue.Finished: depth.Finished,
	}[state]
}
