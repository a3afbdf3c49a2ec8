package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/internal/rdb"
)

// An Event is something that happened to a job.
type Event struct {
	ID   string // the cursor after this event
	Kind EventKind
	Job  string // the job's id
	Time time.Time
}

// An EventKind is a change of a job's state.
type EventKind string

// The kinds of events.
const (
	EventEnqueued  EventKind = "enqueued"
	EventSucceeded EventKind = "succeeded"
	EventDiscarded EventKind = "discarded"
	EventCancelled EventKind = "cancelled"
	EventFailed    EventKind = "failed"   // an attempt failed; another will follow
	EventSnoozed   EventKind = "snoozed"  // its handler postponed it
	EventDead      EventKind = "dead"     // failed for good
	EventReturned  EventKind = "returned" // handed back, or recovered from a dead worker
	EventRevived   EventKind = "retried"  // moved to its line by [Client.Retry]
	EventDeleted   EventKind = "deleted"
	EventDuplicate EventKind = "duplicate" // a job that follows it was not added: its unique key was held
)

// KeepEvents makes the queue keep about the latest keep events of its jobs, at most
// [MaxEvents]. The default is zero, which keeps none and drops those that were
// kept. An event takes about 60 bytes and makes each change of a job more expensive.
// Fetching a job causes no event, nor does adding one by XADD.
//
// KeepEvents blocks for 200 ms, until every client knows: each job whose call of Enqueue
// begins later has its event. If ctx is done earlier, the queue keeps events all the same.
func (q *Queue) KeepEvents(ctx context.Context, keep int) error {
	if keep < 0 || keep > MaxEvents {
		return fmt.Errorf("%w: %d events: want 0 to %d", ErrInvalid, keep, MaxEvents)
	}
	if err := q.register(ctx); err != nil {
		return err
	}
	if _, err := q.run(ctx, eventsScript, keep); err != nil || keep == 0 {
		return err
	}
	return rdb.Sleep(ctx, settingsFor)
}

// maxEventsRead is the maximum number of events that one call returns.
const maxEventsRead = 500

// Events returns the events after a cursor: "" stands before the oldest event that is
// kept, [FromNow] after the latest one, and next is the cursor for the following call.
// If there are no events, Events blocks until one occurs, timeout has passed or ctx is
// done. Events that were dropped in between are skipped.
func (q *Queue) Events(ctx context.Context, after string, timeout time.Duration) (events []Event, next string, err error) {
	db, key := q.client.db, q.keys[keyEvents]
	switch _, ok := entryTime(after); {
	case after == FromNow:
		if after, err = lastEntry(ctx, db, key); err != nil {
			return nil, FromNow, fmt.Errorf("queue %s: read events: %w", q.name, err)
		}
	case after == "":
		after = firstEntry
	case !ok:
		return nil, after, fmt.Errorf("%w: %.40q is not a cursor of events", ErrInvalid, after)
	}
	events, next, err = q.readEvents(ctx, after)
	if err != nil || len(events) > 0 || timeout <= 0 {
		return events, next, err
	}
	news, err := db.Wait(ctx, timeout, rdb.Mark{Key: key, ID: after})
	if err != nil || !news {
		return nil, after, err
	}
	return q.readEvents(ctx, after)
}

// readEvents returns the events that exist, without blocking.
func (q *Queue) readEvents(ctx context.Context, after string) ([]Event, string, error) {
	entries, err := entriesAfter(ctx, q.client.db, q.keys[keyEvents], after, maxEventsRead)
	if err != nil {
		return nil, after, fmt.Errorf("queue %s: read events: %w", q.name, err)
	}
	events := make([]Event, 0, len(entries))
	for _, entry := range entries {
		after = entry.ID
		kind, _ := entry.Values["event"].(string)
		local, _ := entry.Values["id"].(string)
		ms, _ := entryTime(entry.ID)
		events = append(events, Event{ID: entry.ID, Kind: EventKind(kind), Job: globalID(q.name, local), Time: time.UnixMilli(ms)})
	}
	return events, after, nil
}

// firstEntry is an id before all entries of a stream.
const firstEntry = "0-0"

// lastEntry returns the id of a stream's last entry.
func lastEntry(ctx context.Context, db *rdb.DB, key string) (string, error) {
	var last []redis.XMessage
	err := db.Retry(ctx, func() (err error) {
		last, err = db.XRevRangeN(ctx, key, "+", "-", 1).Result()
		return err
	})
	if err != nil && !errors.Is(err, redis.Nil) || len(last) == 0 {
		return firstEntry, err
	}
	return last[0].ID, nil
}

// entriesAfter returns at most maxEntries entries of a stream after an id.
func entriesAfter(ctx context.Context, db *rdb.DB, key, after string, maxEntries int64) (entries []redis.XMessage, err error) {
	err = db.Retry(ctx, func() (err error) {
		entries, err = db.XRangeN(ctx, key, "("+after, "+", maxEntries).Result()
		return err
	})
	return entries, err
}
