package queue

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
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

func (q *Queue) readSchedule(ctx context.Context, name string) (storedSchedule, error) {
	reply, err := q.runOn(ctx, scheduleGetScript, scheduleKeys(q.keys), name)
	if err != nil {
		return storedSchedule{}, err
	}
	return storedSchedule{time.UnixMilli(reply.Int(0)), reply.Text(1), reply.Text(2)}, nil
}

// RemoveSchedule deletes a schedule and its firings; jobs that it has added stay. The error
// is [ErrNoSchedule] if there is none.
func (q *Queue) RemoveSchedule(ctx context.Context, name string) error {
	for {
		stored, err := q.readSchedule(ctx, name)
		if err != nil {
			return err
		}
		if stored.record == "" {
			return fmt.Errorf("schedule %.140s of queue %s: %w", name, q.name, ErrNoSchedule)
		}
		reply, err := q.runOn(ctx, scheduleSetScript, scheduleKeys(q.keys), name, stored.version, "", "", MaxSchedules)
		if err != nil || reply.Word == "ok" {
			return err
		}
	}
}

// scanCount is about how many schedules are read at once.
const scanCount = 100

// Schedules returns all schedules of the queue, by name, including those that can't be
// read; see [CronScheduleInfo].
func (q *Queue) Schedules(ctx context.Context) ([]CronScheduleInfo, error) {
	seen := map[string]CronScheduleInfo{} // a scan may return some twice
	for cursor := uint64(0); ; {
		var err error
		if cursor, err = q.scanSchedules(ctx, cursor, seen); err != nil {
			return nil, fmt.Errorf("queue %s: list schedules: %w", q.name, err)
		}
		if cursor == 0 {
			break
		}
	}
	infos := make([]CronScheduleInfo, 0, len(seen))
	for _, info := range seen {
		infos = append(infos, info)
	}
	slices.SortFunc(infos, func(a, b CronScheduleInfo) int { return strings.Compare(a.Name, b.Name) })
	return infos, nil
}

// scanSchedules reads some schedules into a map and returns the cursor of the next ones.
func (q *Queue) scanSchedules(ctx context.Context, cursor uint64, infos map[string]CronScheduleInfo) (next uint64, err error) {
	keys := scheduleKeys(q.keys)[len(q.keys):]
	db := q.client.db
	err = db.Retry(ctx, func() error {
		var pairs []string
		if pairs, next, err = db.HScan(ctx, keys[0], cursor, "", scanCount).Result(); err != nil || len(pairs) == 0 {
			return err
		}
		names := make([]string, 0, len(pairs)/2)
		for i := 0; i+1 < len(pairs); i += 2 {
			names = append(names, pairs[i])
		}
		due, err := db.ZMScore(ctx, keys[1], names...).Result()
		if err != nil {
			return err
		}
		fired, err := db.HMGet(ctx, keys[2], names...).Result()
		if err != nil {
			return err
		}
		for i, name := range names {
			s, err := q.decodeSchedule(name, pairs[2*i+1])
			text, _ := fired[i].(string)
			info := CronScheduleInfo{CronSchedule: s, Err: err, Last: parseFirings(q.name, text)}
			if due[i] != 0 { // zero: it has no next time
				info.Next = scoreTime(fmt.Sprintf("%.0f", due[i]))
			}
			infos[name] = info
		}
		return nil
	})
	return next, err
}

// A schedule's record is that of its job, see record.go, with fields that readers of
// jobs ignore: expr, zone, catch_up and revision. lua/schedule_job.lua removes them
// when it adds a job.

// encodeSchedule checks a schedule and returns its record.
func (q *Queue) encodeSchedule(s CronSchedule) (string, error) {
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
	if len(b) > MaxScheduleSize {
		return "", fmt.Errorf("%w: it takes %d bytes, the limit is %d: store its args elsewhere and pass a reference", ErrInvalid, len(b), MaxScheduleSize)
	}
	return string(b), nil
}

// decodeSchedule decodes a record.
func (q *Queue) decodeSchedule(name, record string) (CronSchedule, error) {
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

// sameContent reports whether two stored schedules differ at most in their revisions.
func (s CronSchedule) sameContent(other CronSchedule) bool {
	s.Revision, other.Revision = 0, 0
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
			firing.HeldBy = globalID(queue, owner)
		} else {
			firing.JobID = globalID(queue, words[2])
		}
		firings = append(firings, firing)
	}
	return firings
}
