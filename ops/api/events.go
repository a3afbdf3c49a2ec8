package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"skidway/ops/access"
	"skidway/queue"
)

// Bounds of streams of events.
const (
	maxStreams     = 20               // at the same time; each has a connection to Redis
	maxStreamsEach = 4                // of them those of a principal
	beatEvery      = 10 * time.Second // a stream without events sends a comment, so that proxies keep it
	streamWrite    = 10 * time.Second // a client that reads more slowly is dropped
	askAgain       = 30 * time.Second // whether the principal may still see the queue
	eventsHeader   = "text/event-stream"
)

// An Event is something that happened to a job.
type Event struct {
	Kind string    `json:"kind"`
	Job  string    `json:"job"`
	Time time.Time `json:"time"`
}

// streamEvents sends the events of a queue, or of one job, as server-sent events. The header
// Last-Event-ID continues after an id; without it the stream begins now. Events can come twice
// after that, and those that the queue has dropped meanwhile are left out.
func streamEvents(ctx context.Context, c *call) (any, error) {
	name, job := c.query.Get("queue"), c.query.Get("job")
	if job != "" && name == "" {
		name = queueOfID(job)
	}
	if name == "" {
		return nil, invalidField("queue", "want queue or job")
	}
	if err := c.may(access.View, name); err != nil {
		return nil, err
	}
	q, err := c.ops.Queue(ctx, name)
	if err != nil {
		return nil, err
	}
	pool, err := c.queues.ForPool(name)
	if err != nil {
		return nil, err
	}
	kept, err := pool.EventsKept(ctx)
	switch {
	case err != nil:
		return nil, err
	case kept == 0:
		return nil, problem("events-off", "queues: [{name: %s, events: 1000}] in the configuration of a worker turns them on", name)
	}
	if c.r.Method == http.MethodHead {
		c.w.Header().Set("Content-Type", eventsHeader)
		c.w.WriteHeader(http.StatusOK)
		return written, nil
	}
	leave, ok := c.streams.enter(c.who(), name)
	if !ok {
		return nil, problem("busy", "too many streams are open: %d are possible, and %d for you", maxStreams, maxStreamsEach).retry(beatEvery)
	}
	defer leave()
	cursor := c.r.Header.Get("Last-Event-ID")
	if cursor == "" {
		cursor = queue.FromNow
	}
	events, cursor, err := q.Events(ctx, cursor, 0)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.work, cancel)() // the handler is closed
	c.w.Header().Set("Content-Type", eventsHeader)
	c.w.Header().Set("X-Accel-Buffering", "no")
	c.w.WriteHeader(http.StatusOK)
	return written, sendEvents(ctx, c, q, job, events, cursor)
}

// sendEvents sends events until the context ends, the client reads too slowly, or the principal may
// not see them any more. Each write ends with the id up to which events were read: a client that connects
// again continues there, also if it has received no event.
func sendEvents(ctx context.Context, c *call, q *queue.Queue, job string, events []queue.Event, cursor string) error {
	connection := http.NewResponseController(c.w)
	limit := func() {
		_ = connection.SetWriteDeadline(time.Now().Add(streamWrite)) // a recorder of a test has none
	}
	defer limit() // for the end of the answer
	asked := time.Now()
	for {
		if time.Since(asked) > c.askAgain {
			asked = time.Now()
			if p, err := c.authorize(c.r); err != nil || !p.May(access.View, q.Name()) {
				return nil
			}
		}
		var text []byte
		for _, event := range events {
			if job != "" && event.Job != job {
				continue
			}
			data, err := json.Marshal(Event{string(event.Kind), event.Job, utc(event.Time)})
			if err != nil {
				return nil
			}
			text = fmt.Appendf(text, "event: %s\nid: %s\ndata: %s\n\n", event.Kind, event.ID, data)
		}
		limit()
		if _, err := c.w.Write(fmt.Appendf(text, "id: %s\n\n", cursor)); err != nil {
			return nil
		}
		if connection.Flush() != nil || ctx.Err() != nil {
			return nil
		}
		_ = connection.SetWriteDeadline(time.Time{}) // on HTTP/2 one that passes while nothing is written resets the stream
		var err error
		if events, cursor, err = q.Events(ctx, cursor, beatEvery); err != nil {
			return nil // the client connects again, and gets the reason
		}
	}
}
