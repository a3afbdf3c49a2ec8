package queue

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// A schedule's record is that of its job, see record.go, with fields that a
// job's reader passes over: expr, zone, catch_up and revision. lua/schedule_job.lua
// takes them out when it makes a job.

// encode checks a schedule and gives its queue and record.
func (c *Client) encodeSchedule(s Schedule) (*Queue, string, error) {
	if err := s.check(); err != nil {
		return nil, "", err
	}
	q, job, err := c.prepare(Insert{Raw(s.Kind, s.Args), s.Options})
	if err != nil {
		return nil, "", err
	}
	b := job.record
	if b == nil {
		plain := Job{Kind: job.kind, Priority: job.priority, packed: job.args}
		b = plain.record()
	}
	b = appendField(b, "expr", s.Expr)
	b = appendField(b, "zone", s.Zone)
	b = appendField(b, "catch_up", s.CatchUp)
	b = appendNumber(b, "revision", int64(s.Revision))
	if len(b) > MaxScheduleSize {
		return nil, "", fmt.Errorf("%w: it takes %d bytes, the limit is %d: store its args elsewhere and pass a reference", ErrInvalid, len(b), MaxScheduleSize)
	}
	return q, string(b), nil
}

// schedule reads a record.
func (q *Queue) schedule(name, record string) (Schedule, error) {
	s := Schedule{Name: name, Queue: q.name}
	job := Job{local: "n"}
	err := job.setRecord(record)
	if err == nil {
		err = job.complete(q.name, q.client.config.MaxPayload)
	}
	if err != nil {
		return s, fmt.Errorf("schedule %.140q of queue %s is malformed: %w", name, q.name, err)
	}
	full := s
	full.Kind, full.Args = job.Kind, job.Args
	full.Options = Options{
		Priority: job.Priority, MaxAttempts: job.MaxAttempts, Timeout: job.Timeout,
		Unique: job.Unique, Retain: job.Retain, Headers: job.Headers, Then: job.Then,
	}
	for rest := record[2:]; rest != "" && err == nil; {
		var field, value string // well formed, as the job was read
		field, rest, _ = cutField(rest)
		value, rest, _ = cutField(rest)
		switch field {
		case "expr":
			full.Expr = value
		case "zone":
			full.Zone = value
		case "catch_up":
			full.CatchUp = CatchUp(value)
		case "revision":
			err = setNumber(&full.Revision, value)
		}
	}
	checked := full
	if err == nil {
		err = checked.check()
	}
	if err != nil {
		return s, fmt.Errorf("schedule %.140q of queue %s is malformed: %w", name, q.name, err)
	}
	return full, nil
}

// alike reports whether two schedules that were read say the same, whatever
// their revisions.
func (s Schedule) alike(other Schedule) bool {
	s.Revision, other.Revision = 0, 0
	return reflect.DeepEqual(s, other)
}

// headers are those of the job that falls due at a time.
func (s *Schedule) headers(due time.Time) string {
	headers := map[string]string{HeaderSchedule: s.Name, HeaderDue: due.UTC().Format(time.RFC3339)}
	maps.Copy(headers, s.Options.Headers)
	text, _ := json.Marshal(headers) // strings always marshal
	return string(text)
}

// firings reads what lua/schedule_job.lua has noted. Lines that are damaged are
// passed over: nothing depends on them.
func (q *Queue) firings(text string) []Firing {
	var firings []Firing
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 3 || len(firings) == MaxFirings {
			continue
		}
		due, err := strconv.ParseInt(words[0], 10, 64)
		fired, err2 := strconv.ParseInt(words[1], 10, 64)
		if err != nil || err2 != nil {
			continue
		}
		firing := Firing{Due: time.UnixMilli(due), Fired: time.UnixMilli(fired), Manual: len(words) > 3}
		if owner, held := strings.CutPrefix(words[2], "="); held {
			firing.HeldBy = globalID(q.name, owner)
		} else {
			firing.JobID = globalID(q.name, words[2])
		}
		firings = append(firings, firing)
	}
	return firings
}
