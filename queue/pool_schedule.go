package queue

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// ErrChanged is returned when what was to be replaced has changed since it was read.
var ErrChanged = errors.New("it was changed since it was read")

// PutSchedule stores a schedule, in place of one with the same name if there is one. next
// returns the first time after another, both by Redis's clock; it is called if the
// expression or zone is new.
//
// A schedule with the same content is left alone, and changed is false. With a Revision
// above zero the error is a [RevisionError] if the stored schedule takes precedence.
// Without one the stored schedule is replaced but keeps its revision, so that a
// configuration takes over again only when its revision is raised. A paused schedule stays
// paused.
//
// A call whose answer was lost is repeated. Concurrent calls take effect one after the
// other. Package delayed has AddSchedule for users.
func (q *PoolQueue) PutSchedule(ctx context.Context, s CronSchedule, next func(after time.Time) (time.Time, error)) (changed bool, err error) {
	failed := func(err error) (bool, error) { return false, fmt.Errorf("schedule %.140s: %w", s.Name, err) }
	s.Queue = cmp.Or(s.Queue, q.name)
	if s.Queue != q.name {
		return failed(invalid("queue %.140q: it is put into queue %s", s.Queue, q.name))
	}
	if err := checkNewName("schedule", s.Name); err != nil {
		return failed(err)
	}
	if _, err := q.encodeSchedule(s); err != nil {
		return failed(err)
	}
	if err := q.register(ctx); err != nil {
		return failed(err)
	}
	for {
		stored, err := readSchedule(ctx, q, s.Name)
		if err != nil {
			return failed(err)
		}
		record, keepDue, err := q.replace(s, stored)
		if err == nil && record == "" {
			return false, nil // also a repeated call that replaces what it has stored itself
		}
		if changed := checkVersion(ctx, q, s.Name, stored, s.IfVersion); changed != nil {
			return false, changed
		}
		if err != nil {
			return false, err
		}
		due := ""
		if !keepDue {
			at, err := next(stored.now)
			if err != nil {
				return failed(err)
			}
			due = fmt.Sprint(at.UnixMilli())
		}
		reply, err := q.runOn(ctx, scheduleSetScript, scheduleKeys(q.keys), s.Name, stored.version, record, due, maxSchedules)
		switch {
		case err != nil:
			return failed(err)
		case reply.Word == "full":
			return failed(fmt.Errorf("%w: queue %s has %d schedules, the maximum", ErrInvalid, q.name, maxSchedules))
		case reply.Word == "ok":
			return true, nil
		}
	}
}

// replace returns the record to store in place of another, "" for none, and whether the
// schedule keeps its next time.
func (q *PoolQueue) replace(s CronSchedule, stored storedSchedule) (record string, keepDue bool, err error) {
	there, damaged := q.decodeSchedule(s.Name, stored.record)
	s.paused = there.paused
	record, err = q.encodeSchedule(s)
	if err != nil {
		return "", false, err
	}
	if stored.record == "" || damaged != nil {
		return record, false, nil
	}
	given, err := q.decodeSchedule(s.Name, record)
	if err != nil {
		return "", false, err
	}
	configured := s.Revision > 0 && s.IfVersion == "" // else a person has seen what is replaced
	if !configured {
		s.Revision = max(s.Revision, there.Revision)
	}
	switch {
	case s.Revision == there.Revision && given.sameContent(there):
		return "", false, nil
	case configured && s.Revision <= there.Revision:
		return "", false, &RevisionError{s.Name, s.Revision, there.Revision}
	}
	record, err = q.encodeSchedule(s)
	return record, s.paused || given.Expr == there.Expr && given.Zone == there.Zone, err
}

// PauseSchedule makes a schedule add no jobs until it is resumed, or resumes it if
// paused is false.
// [PoolQueue.RunSchedule] fires it in both states. Times that have passed when it is resumed are
// skipped, whatever its catch-up policy is: next returns its first time after another, both by
// Redis's clock. The error is [ErrNoSchedule] if there is none, [ErrChanged] if it does not have the
// version ifVersion, which may be empty as in [CronSchedule]. Package delayed has PauseSchedule and
// ResumeSchedule for users.
func (q *PoolQueue) PauseSchedule(ctx context.Context, name, ifVersion string, paused bool, next func(s CronSchedule, after time.Time) (time.Time, error)) error {
	for {
		stored, err := existingSchedule(ctx, q, name, ifVersion)
		if err != nil {
			return err
		}
		s, err := q.decodeSchedule(name, stored.record)
		if err != nil || s.paused == paused {
			return err
		}
		s.paused = paused
		record, err := q.encodeSchedule(s)
		if err != nil {
			return err
		}
		due := "never"
		if !paused {
			at, err := next(s, stored.now)
			if err != nil {
				return fmt.Errorf("schedule %.140s: %w", name, err)
			}
			due = strconv.FormatInt(at.UnixMilli(), 10)
		}
		reply, err := q.runOn(ctx, scheduleSetScript, scheduleKeys(q.keys), name, stored.version, record, due, maxSchedules)
		if err != nil || reply.Word == "ok" {
			return err
		}
	}
}

// DueSchedules is the result of [PoolQueue.DueSchedules]. All times are by Redis's clock.
type DueSchedules struct {
	Now time.Time

	// No worker watched the queue between Old and Since: times in between were
	// missed. All other times that are due are late at most.
	Old, Since time.Time

	Due []DueSchedule // the earliest, not necessarily all

	// Next is the time until another schedule is due; negative if there is none.
	// Waker is whether this caller should call again at that time; other callers
	// do so a little later, in case this one has stopped.
	Next  time.Duration
	Waker bool
}

// A DueSchedule is a schedule that is to be fired.
type DueSchedule struct {
	CronSchedule
	At      time.Time // the first time for which it has not fired
	Version string    // changes with its content
	Err     error     // if it can't be read

	due  string // At as it is stored
	size int    // bytes of its record
}

// DueSchedules returns the schedules that are due, and records in Redis that the queue is
// being watched until lateGrace from now. watcher is the caller's unique name. unreadable
// has the versions, by name, of schedules that the caller can't read: they are skipped, so
// that they delay no others.
func (q *PoolQueue) DueSchedules(ctx context.Context, watcher string, lateGrace time.Duration, unreadable map[string]string) (DueSchedules, error) {
	args := []any{watcher, millis(lateGrace), maxDueSchedules}
	for name, version := range unreadable {
		args = append(args, name, version)
	}
	reply, err := q.runOn(ctx, scheduleDueScript, scheduleKeys(q.keys), args...)
	if err != nil {
		return DueSchedules{}, err
	}
	found := DueSchedules{
		Now: time.UnixMilli(reply.Int(0)), Old: time.UnixMilli(reply.Int(1)), Since: time.UnixMilli(reply.Int(2)),
		Next: time.Duration(reply.Int(3)) * time.Millisecond, Waker: reply.Int(4) == 1,
	}
	for i := 5; i+3 < reply.Len(); i += 4 {
		due := DueSchedule{due: reply.Text(i + 1), Version: reply.Text(i + 2), size: len(reply.Text(i + 3))}
		due.CronSchedule, due.Err = q.decodeSchedule(reply.Text(i), reply.Text(i+3))
		due.At = scoreTime(due.due)
		if due.At.IsZero() && due.Err == nil {
			due.Err = fmt.Errorf("schedule %.140q of queue %s is malformed: its next time is %.40q", due.Name, q.name, due.due)
		}
		found.Due = append(found.Due, due)
	}
	return found, nil
}

// maxFirings returns the number of times that FireSchedule takes in one call.
func (s *DueSchedule) MaxFirings() int {
	return min(maxFireJobs, max(1, maxFireBytes/max(1, s.size)))
}

// FireSchedule adds a job for each of some times, and sets the next time; zero means
// never. If the schedule was fired, changed or removed since it was read, nothing happens
// and fired is false: the call can be repeated, and of several calls for one time one
// fires. The error wraps [ErrInvalid] if the schedule's record is damaged.
func (q *PoolQueue) FireSchedule(ctx context.Context, s *DueSchedule, times []time.Time, next time.Time) (fired bool, err error) {
	if len(times) > s.MaxFirings() {
		return false, fmt.Errorf("%w: fire schedule %s for %d times: at most %d", ErrInvalid, s.Name, len(times), s.MaxFirings())
	}
	then := ""
	if !next.IsZero() {
		then = strconv.FormatInt(next.UnixMilli(), 10)
	}
	args := []any{s.Name, s.Version, s.due, then}
	for _, at := range times {
		args = append(args, at.UnixMilli(), s.headers(at))
	}
	reply, err := q.runOn(ctx, scheduleFireScript, scheduleKeys(q.keys), args...)
	if err != nil {
		return false, err
	}
	if reply.Word == "damaged" {
		return false, fmt.Errorf("%w: schedule %s of queue %s: %w", ErrInvalid, s.Name, q.name, errRecord)
	}
	return reply.Word == "ok", nil
}

// schedulesRead is how many schedules are read at once, of up to 64 KiB each.
const schedulesRead = 16

// ScheduledQueues returns those of the queues that have schedules, in one round trip for a hundred of them.
// It does not read the schedules: a queue whose schedules can't be read is among them.
func ScheduledQueues(ctx context.Context, c *Client, names []string) (scheduled []string, err error) {
	for part := range slices.Chunk(names, 100) {
		found := map[string]*redis.IntCmd{}
		err := c.db.Retry(ctx, func() error {
			_, err := c.db.Pipelined(ctx, func(pipe redis.Pipeliner) error {
				for _, name := range part {
					if q, err := c.Queue(name); err == nil { // else it is in the list by another program
						found[name] = pipe.Exists(ctx, scheduleKeys(q.keys)[len(q.keys)])
					}
				}
				return nil
			})
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("read which queues have schedules: %w", err)
		}
		for _, name := range part {
			if found[name] != nil && found[name].Val() > 0 {
				scheduled = append(scheduled, name)
			}
		}
	}
	return scheduled, nil
}

// Schedules returns all schedules of the queue, by name, including those that can't be
// read; see [CronScheduleInfo].
func (q *PoolQueue) Schedules(ctx context.Context) (infos []CronScheduleInfo, err error) {
	var names []string
	db := q.client.db
	err = db.Retry(ctx, func() (err error) {
		names, err = db.HKeys(ctx, scheduleKeys(q.keys)[len(q.keys)]).Result()
		return err
	})
	slices.Sort(names)
	infos = make([]CronScheduleInfo, 0, len(names))
	for part := range slices.Chunk(names, schedulesRead) {
		if err == nil {
			infos, err = q.readSchedules(ctx, part, infos)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("queue %s: list schedules: %w", q.name, err)
	}
	return infos, nil
}

// readSchedules appends those of some schedules that are there still.
func (q *PoolQueue) readSchedules(ctx context.Context, names []string, infos []CronScheduleInfo) ([]CronScheduleInfo, error) {
	keys := scheduleKeys(q.keys)[len(q.keys):]
	var records, fired *redis.SliceCmd
	var due *redis.FloatSliceCmd
	err := q.client.db.ReadTogether(ctx, keys[0], func(pipe redis.Pipeliner) {
		records, due, fired = pipe.HMGet(ctx, keys[0], names...), pipe.ZMScore(ctx, keys[1], names...), pipe.HMGet(ctx, keys[2], names...)
	})
	if err == nil {
		err = cmp.Or(records.Err(), due.Err(), fired.Err())
	}
	if err != nil {
		return nil, err
	}
	for i, name := range names {
		record, found := records.Val()[i].(string)
		if !found {
			continue
		}
		next := ""
		if at := due.Val()[i]; at != 0 { // zero: it has no next time
			next = fmt.Sprintf("%.0f", at)
		}
		last, _ := fired.Val()[i].(string)
		infos = append(infos, scheduleInfo(q, name, record, next, last))
	}
	return infos, nil
}

// Schedule returns a schedule with its version. The error is [ErrNoSchedule] if there is none.
func (q *PoolQueue) Schedule(ctx context.Context, name string) (info CronScheduleInfo, err error) {
	stored, err := existingSchedule(ctx, q, name, "")
	if err == nil {
		info = scheduleInfo(q, name, stored.record, stored.due, stored.fired)
		info.Version, err = versionOf(ctx, q, name, stored)
	}
	return info, err
}

// RemoveSchedule deletes a schedule and its firings; jobs that it has added stay. The error
// is [ErrNoSchedule] if there is none, [ErrChanged] if it does not have the version ifVersion, which
// may be empty as in [CronSchedule].
func (q *PoolQueue) RemoveSchedule(ctx context.Context, name, ifVersion string) error {
	for {
		stored, err := existingSchedule(ctx, q, name, ifVersion)
		if err != nil {
			return err
		}
		reply, err := q.runOn(ctx, scheduleSetScript, scheduleKeys(q.keys), name, stored.version, "", "", maxSchedules)
		if err != nil || reply.Word == "ok" {
			return err
		}
	}
}

// RunSchedule fires a schedule now and returns the id of its job; its regular times don't
// change. A call whose answer was lost is repeated, without adding another job. The error
// is [ErrNoSchedule] if there is no such schedule, a [DuplicateError] if another job holds
// the unique key, [ErrChanged] if the schedule does not have the version ifVersion, which may be
// empty as in [CronSchedule].
func (q *PoolQueue) RunSchedule(ctx context.Context, name, ifVersion string) (id string, err error) {
	for token := rand.Text(); ; {
		stored, err := existingSchedule(ctx, q, name, ifVersion)
		if err != nil {
			return "", err
		}
		s, err := q.decodeSchedule(name, stored.record)
		if err != nil {
			return "", err
		}
		reply, err := q.runOn(ctx, scheduleRunScript, scheduleKeys(q.keys), name, stored.version, token, stored.now.UnixMilli(), s.headers(stored.now))
		switch {
		case err != nil:
			return "", err
		case reply.Word == "damaged":
			return "", fmt.Errorf("%w: schedule %s of queue %s: %w", ErrInvalid, name, q.name, errRecord)
		case reply.Word == "moved":
			continue
		}
		id := reply.Text(0)
		if owner, held := strings.CutPrefix(id, "="); held {
			return "", &DuplicateError{Key: s.Options.Unique.Key, Owner: globalID(q.name, owner)}
		}
		if id == "" {
			return "", errors.New("fire a schedule: Redis returned no id")
		}
		return globalID(q.name, id), nil
	}
}
