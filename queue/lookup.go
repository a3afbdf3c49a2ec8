package queue

import (
	"context"
	_ "embed"
	"errors"
	"math"
	"strconv"
	"time"

	"skidway/internal/rdb"
)

//go:embed lua/locate.lua
var locateSource string

//go:embed lua/lookup.lua
var lookupSource string

// withPlaces is for scripts that find jobs.
var withPlaces = withReturns + locateSource

var lookupScript = newScript(rdb.NewIdempotentScript, "look a job up", withPlaces+lookupSource)

// Get looks a job up, in whatever state it is. A job of which Redis holds
// something damaged comes with what could be read, and with a Reason that
// starts with "malformed". The error is [ErrNoJob] when there is none,
// [ErrInvalid] when id is no id.
func (c *Client) Get(ctx context.Context, id string) (*Job, error) {
	q, local, err := c.find(id)
	if err != nil {
		return nil, err
	}
	a, err := lookupScript.run(ctx, q, local)
	if err != nil {
		return nil, err
	}
	if a.text(0) == "none" {
		return nil, noJob(id)
	}
	job, _ := q.given(a[1:])
	return job, nil
}

// given reads a job as lua/locate.lua gives it, and says how many values it
// took.
func (q *Queue) given(a answer) (job *Job, took int) {
	fields := a[7:][:a.number(6)]
	at := line(a.number(4))
	job = &Job{State: State(a.text(1)), Worker: a.text(3), line: at, entry: a.text(5)}
	var err error
	switch {
	case at > 0:
		job.Priority = at.priority()
		err = job.setFields(fields)
	case len(fields) == 2:
		err = job.setRecord(fields.text(1))
	default:
		err = errors.New("it has a time but no record")
	}
	job.local = a.text(0) // nothing in it can change that
	if err2 := job.complete(q.name, q.client.config.MaxPayload); err == nil {
		err = err2
	}
	score := scoreTime(a.text(2))
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
	return job, 7 + len(fields)
}

// scoreTime is the time that a score means, or zero for none.
func scoreTime(score string) time.Time {
	ms, err := strconv.ParseFloat(score, 64)
	if err != nil || math.IsNaN(ms) || ms < 0 || ms > 1<<53 {
		return time.Time{}
	}
	return time.UnixMilli(int64(ms))
}
