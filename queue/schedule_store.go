package queue

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
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
	version string    // for the scripts
	due     string
	fired   string
	salt    string // of the queue; empty: it has none yet
}

func readSchedule(ctx context.Context, q *PoolQueue, name string) (storedSchedule, error) {
	reply, err := q.runOn(ctx, scheduleGetScript, scheduleKeys(q.keys), name)
	if err != nil {
		return storedSchedule{}, err
	}
	return storedSchedule{time.UnixMilli(reply.Int(0)), reply.Text(1), reply.Text(2), reply.Text(3), reply.Text(4), reply.Text(5)}, nil
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
		return s, fmt.Errorf("%w: schedule %.140q of queue %s is malformed: %w", ErrInvalid, name, q.name, err)
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
		return s, fmt.Errorf("%w: schedule %.140q of queue %s is malformed: %w", ErrInvalid, name, q.name, err)
	}
	return full, nil
}

// existingSchedule is readSchedule for one that must be there, with the version ifVersion.
func existingSchedule(ctx context.Context, q *PoolQueue, name, ifVersion string) (storedSchedule, error) {
	stored, err := readSchedule(ctx, q, name)
	if err == nil && stored.record == "" {
		err = fmt.Errorf("schedule %.140s of queue %s: %w", name, q.name, ErrNoSchedule)
	}
	if err == nil {
		err = checkVersion(ctx, q, name, stored, ifVersion)
	}
	return stored, err
}

// scheduleInfo returns a schedule without its version.
func scheduleInfo(q *PoolQueue, name, record, due, fired string) CronScheduleInfo {
	s, err := q.decodeSchedule(name, record)
	info := CronScheduleInfo{CronSchedule: s, Err: err, Last: parseFirings(q.name, fired), Paused: s.paused}
	if due != "" {
		info.Next = scoreTime(due)
	}
	return info
}

// versionOf returns the version of a schedule that others see: a digest with a key, because who sees it
// must not be able to find out values of the record that are hidden.
func versionOf(ctx context.Context, q *PoolQueue, name string, stored storedSchedule) (version string, err error) {
	if stored.salt == "" {
		if stored.salt, err = q.Salt(ctx); err != nil {
			return "", err
		}
	}
	mac := hmac.New(sha256.New, []byte(stored.salt))
	_, _ = mac.Write([]byte("schedule " + name + "\n" + stored.record))
	return hex.EncodeToString(mac.Sum(nil)[:16]), nil
}

// What a change replaces, beside versions; see [CronSchedule].
const anyVersion, noVersion = "*", "!*"

// checkVersion returns [ErrChanged] unless a stored schedule is the one that is to be changed.
func checkVersion(ctx context.Context, q *PoolQueue, name string, stored storedSchedule, wanted string) error {
	matches := true
	switch wanted {
	case "":
	case anyVersion:
		matches = stored.record != ""
	case noVersion:
		matches = stored.record == ""
	default:
		version, err := versionOf(ctx, q, name, stored)
		if err != nil {
			return err
		}
		matches = stored.record != "" && version == wanted
	}
	if !matches {
		return fmt.Errorf("schedule %.140s of queue %s: %w", name, q.name, ErrChanged)
	}
	return nil
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
