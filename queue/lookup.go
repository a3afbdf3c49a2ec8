package queue

import (
	"context"
	"errors"
	"math"
	"strconv"
	"time"

	"skidway/internal/rdb"
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
	job, _ := q.given(reply)
	return job, nil
}

// given reads a job as lua/locate.lua gives it, and returns what follows it.
func (q *Queue) given(reply rdb.Reply) (job *Job, rest rdb.Reply) {
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
