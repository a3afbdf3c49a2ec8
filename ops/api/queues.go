package api

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"skidway/queue"
	"skidway/workers/stats"
)

// Whoami is who asks.
type Whoami struct {
	Name   string   `json:"name"`
	Token  bool     `json:"token" jsonschema:"whether it is a program with a token"`
	Scopes []string `json:"scopes"`
}

func whoami(_ context.Context, c *call) (any, error) {
	answer := Whoami{Name: c.principal.Name, Token: c.principal.Token, Scopes: []string{}}
	for _, s := range c.principal.Scopes {
		answer.Scopes = append(answer.Scopes, s.String())
	}
	return answer, nil
}

func listQueues(ctx context.Context, c *call) (any, error) {
	names, err := c.visible(ctx)
	if err != nil {
		return nil, err
	}
	position, limit, err := c.listPart()
	if err != nil {
		return nil, err
	}
	from, found := slices.BinarySearch(names, position) // queues come and go between two pages
	if found {
		from++
	}
	names = names[from:]
	list := &List[Queue]{Items: []Queue{}, Complete: len(names) <= limit}
	if !list.Complete {
		names = names[:limit]
		list.Next = c.next(names[limit-1])
	}
	statuses, err := c.ops.Statuses(ctx, names)
	if err != nil {
		return nil, err
	}
	for _, status := range statuses {
		list.Items = append(list.Items, queueOf(status))
		list.AsOf = utc(status.Time)
	}
	if list.AsOf.IsZero() {
		if list.AsOf, err = c.now(ctx); err != nil {
			return nil, err
		}
	}
	list.LookedAt = len(list.Items)
	return list, nil
}

func showQueue(ctx context.Context, c *call) (any, error) {
	report, err := c.ops.Report(ctx, c.values["queue"])
	if err != nil {
		return nil, err
	}
	return reportOf(report), nil
}

func queueStats(ctx context.Context, c *call) (any, error) {
	series, err := c.ops.Stats(ctx, c.values["queue"], stats.Range(cmp.Or(c.query.Get("range"), string(stats.Hour))))
	if err != nil {
		return nil, err
	}
	return StatisticsOf(series, c.query.Get("kind")), nil
}

func queueErrors(ctx context.Context, c *call) (any, error) {
	groups, err := c.ops.Errors(ctx, c.values["queue"], c.query.Get("kind"), stats.MaxErrorGroups)
	if err != nil {
		return nil, err
	}
	return listOf(ctx, c, groups, time.Time{}, errorGroupOf)
}

// A Pause is why a queue is paused.
type Pause struct {
	Note string `json:"note,omitzero" jsonschema:"for others who look at the queue"`
}

func pauseQueue(ctx context.Context, c *call) (any, error) {
	var body Pause
	if err := c.body(&body); err != nil {
		return nil, err
	}
	return changeQueue(ctx, c, body.Note, func(q *queue.Queue) error { return q.Pause(ctx, c.who(), body.Note) })
}

func resumeQueue(ctx context.Context, c *call) (any, error) {
	return changeQueue(ctx, c, "", func(q *queue.Queue) error { return q.Resume(ctx) })
}

// changeQueue changes the queue of the path and returns its state.
func changeQueue(ctx context.Context, c *call, note string, change func(*queue.Queue) error) (any, error) {
	q, err := c.queue(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.audited(ctx, q.Name(), note, 0, func() error { return change(q) }); err != nil {
		return nil, err
	}
	statuses, err := c.ops.Statuses(ctx, []string{q.Name()})
	if err != nil { // the queue is changed all the same
		return Queue{Name: q.Name(), Error: err.Error()}, nil
	}
	return queueOf(statuses[0]), nil
}

func deleteQueue(ctx context.Context, c *call) (any, error) {
	q, err := c.queue(ctx)
	if err != nil {
		return nil, err
	}
	err = c.audited(ctx, q.Name(), "", 0, func() error { return q.Delete(ctx) })
	if errors.Is(err, queue.ErrState) {
		return nil, problem("not-empty", "%v", err)
	}
	return nil, err
}
