package queue

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// A storedSchedule is a schedule as the scripts return it.
type storedSchedule struct {
	now     time.Time // when it was read, by Redis's clock
	record  string    // empty: there is none
	version string
}

func (q *PoolQueue) readSchedule(ctx context.Context, name string) (storedSchedule, error) {
	reply, err := q.runOn(ctx, scheduleGetScript, scheduleKeys(q.keys), name)
	if err != nil {
		return storedSchedule{}, err
	}
	return storedSchedule{time.UnixMilli(reply.Int(0)), reply.Text(1), reply.Text(2)}, nil
}

// A schedule's record is that of its job, see record.go, with fields that readers of
// jobs ignore: expr, zone, catch_up, revision and paused. lua/schedule_job.lua removes them
// when it adds a job.

// encodeSchedule checks a schedule and returns its record.
func (q *PoolQueue) encodeSchedule(s CronSchedule) (string, error) {
	s = s.withDefaults()
	if err := s.validate(); err != nil {
		return "", err
	}
	_, job, err := q.client.prepare(NewJob{Raw(s.Kind, s.Args), s.Options})
	if err != nil {
		return "", err
	}
	b := appendField(job.asRecord(), "expr", s.Expr)
	b = appendField(b, "zone", s.Zone)
	b = appendField(b, "catch_up", s.CatchUp)
	b = appendNumber(b, "revision", int64(s.Revision))
	if s.paused {
		b = appendField(b, "paused", "1")
	}
	if len(b) > maxScheduleSize {
		return "", fmt.Errorf("%w: it takes %d bytes, the limit is %d: store its args elsewhere and pass a reference", ErrInvalid, len(b), maxScheduleSize)
	}
	return string(b), nil
}

// decodeSchedule decodes a record.
func (q *PoolQueue) decodeSchedule(name, record string) (CronSchedule, error) {
	s := CronSchedule{Name: name, Queue: q.name}
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
		case "paused":
			full.paused = true
		}
	}
	if err == nil {
		err = full.withDefaults().validate()
	}
	if err != nil {
		return s, fmt.Errorf("schedule %.140q of queue %s is malformed: %w", name, q.name, err)
	}
	return full, nil
}

// versionOf is version_of of lua/schedule.lua.
func versionOf(record string) string {
	sum := sha1.Sum([]byte(record))
	return hex.EncodeToString(sum[:])
}

// sameContent reports whether two stored schedules differ at most in their revisions, and in
// whether they are paused.
func (s CronSchedule) sameContent(other CronSchedule) bool {
	s.Revision, other.Revision = 0, 0
	s.paused, other.paused = false, false
	return reflect.DeepEqual(s, other)
}

// headers returns the headers of the job that is due at a time, as JSON.
func (s *CronSchedule) headers(due time.Time) string {
	headers := map[string]string{HeaderSchedule: s.Name, HeaderDue: due.UTC().Format(time.RFC3339)}
	maps.Copy(headers, s.Options.Headers)
	text, _ := json.Marshal(headers) // strings always marshal
	return string(text)
}

// parseFirings reads the lines that lua/schedule_job.lua has written. It skips
// damaged lines: nothing depends on them.
func parseFirings(queue, text string) []Firing {
	var firings []Firing
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 3 || len(firings) == maxFirings {
			continue
		}
		due, err := strconv.ParseInt(words[0], 10, 64)
		fired, err2 := strconv.ParseInt(words[1], 10, 64)
		if err != nil || err2 != nil {
			continue
		}
		firing := Firing{Due: time.UnixMilli(due), Fired: time.UnixMilli(fired), Manual: len(words) > 3}
		if owner, held := strings.CutPrefix(words[2], "="); held {
			firing.HeldBy = globalID(queue, owner)
		} else {
			firing.JobID = globalID(queue, words[2])
		}
		firings = append(firings, firing)
	}
	return firings
}
