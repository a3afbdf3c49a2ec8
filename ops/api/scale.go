package api

import (
	"cmp"
	"context"
	"math"
	"sync"
	"time"

	"skidway"
	"skidway/distribute"
	"skidway/ops/access"
	"skidway/workers/stats"
)

// Bounds of the answers about scale.
const (
	scaleFor      = 5 * time.Second // for which an answer is repeated
	maxScales     = 1000            // answers that are remembered
	soonDue       = time.Minute     // delayed jobs that are due before count as waiting
	defaultSlots  = 16              // of a worker
	defaultDrain  = time.Minute
	maxDrain      = 24 * time.Hour
	maxSlotNumber = 100_000
)

// A Scale is how many workers a queue or a subscriber needs.
type Scale struct {
	Backlog int       `json:"backlog" jsonschema:"jobs that wait or are due within a minute, or files that no worker counts"`
	Oldest  Duration  `json:"oldest" jsonschema:"how long the first job has waited"`
	Active  int       `json:"active"`
	Wanted  int       `json:"wanted" jsonschema:"workers"`
	AsOf    time.Time `json:"as_of"`
}

// scales remembers answers, because autoscalers ask often.
type scales struct {
	sync.Mutex
	answers map[scaleQuery]rememberedScale
}

type rememberedScale struct {
	Scale
	until time.Time
}

func (s *scales) get(asked scaleQuery) (Scale, bool) {
	s.Lock()
	defer s.Unlock()
	known := s.answers[asked]
	return known.Scale, time.Now().Before(known.until)
}

func (s *scales) put(asked scaleQuery, answer Scale) {
	s.Lock()
	defer s.Unlock()
	if s.answers == nil || len(s.answers) >= maxScales {
		s.answers = map[scaleQuery]rememberedScale{}
	}
	s.answers[asked] = rememberedScale{answer, time.Now().Add(scaleFor)}
}

// A scaleQuery asks for the workers of a queue, or of a subscriber of a channel.
type scaleQuery struct {
	queue, channel, subscriber string
	slots                      int           // of a worker
	drain                      time.Duration // in which the backlog is to be done
}

// readScaleQuery reads the parameters of a request, which the principal must be allowed.
func readScaleQuery(c *call) (q scaleQuery, err error) {
	q = scaleQuery{queue: c.query.Get("queue"), channel: c.query.Get("channel"), subscriber: c.query.Get("subscriber")}
	needs := q.queue
	switch {
	case (q.queue == "") == (q.channel == ""):
		return q, invalidField("queue", "want either queue, or channel and subscriber")
	case q.channel != "":
		needs = access.All
	}
	if err := c.may(access.Scale, needs); err != nil {
		return q, err
	}
	if q.slots, err = c.number("per_worker", 1, maxSlotNumber, defaultSlots); err != nil {
		return q, err
	}
	q.drain, err = c.duration("drain", maxDrain)
	q.drain = cmp.Or(q.drain, defaultDrain)
	return q, err
}

func showScale(ctx context.Context, c *call) (any, error) {
	q, err := readScaleQuery(c)
	if err != nil {
		return nil, err
	}
	if known, ok := c.scales.get(q); ok {
		return known, nil
	}
	var answer Scale
	if q.channel == "" {
		answer, err = scaleOfQueue(ctx, c.Handler, q)
	} else {
		answer, err = scaleOfChannel(ctx, c.db, q)
	}
	if err == nil {
		c.scales.put(q, answer)
	}
	return answer, err
}

func scaleOfQueue(ctx context.Context, h *Handler, asked scaleQuery) (Scale, error) {
	q, err := h.ops.Queue(ctx, asked.queue)
	if err != nil {
		return Scale{}, err
	}
	depth, err := q.Depth(ctx)
	if err != nil {
		return Scale{}, err
	}
	series, err := h.ops.Stats(ctx, asked.queue, stats.Hour)
	if err != nil {
		return Scale{}, err
	}
	pool, err := h.queues.ForPool(asked.queue)
	if err != nil {
		return Scale{}, err
	}
	due, err := pool.CountDue(ctx, series.Now.Add(soonDue))
	if err != nil {
		return Scale{}, err
	}
	answer := Scale{Backlog: depth.Waiting + due, Oldest: Duration(depth.Oldest), Active: depth.Active, AsOf: utc(series.Now)}
	factor := 1.0
	if mean := meanRun(series); mean > 0 {
		factor = min(1, mean.Seconds()/asked.drain.Seconds())
	}
	backlog := answer.Backlog
	if depth.Paused {
		backlog = 0
	}
	answer.Wanted = wanted(answer.Active, backlog, factor, asked.slots)
	return answer, nil
}

// meanRun returns the mean time of the attempts of a series, zero if there were none.
func meanRun(series *stats.Series) time.Duration {
	var all stats.Counts
	for _, counts := range series.Kinds() {
		all.Add(counts)
	}
	return all.Run.Mean()
}

func scaleOfChannel(ctx context.Context, db *skidway.DB, asked scaleQuery) (Scale, error) {
	channel, err := distribute.OpenExisting(ctx, db, asked.channel)
	if err != nil {
		return Scale{}, err
	}
	status, err := channel.Status(ctx)
	if err != nil {
		return Scale{}, err
	}
	for _, s := range status.Subscribers {
		if s.Name == asked.subscriber {
			backlog := max(0, int(s.Pending)-s.Counting)
			return Scale{Backlog: backlog, Active: s.Counting, Wanted: wanted(s.Counting, backlog, 1, asked.slots), AsOf: utc(status.Now)}, nil
		}
	}
	return Scale{}, distribute.ErrNoSubscriber
}

// wanted returns the number of workers for active jobs, and a part of those that wait. It is zero
// only if there are none.
func wanted(active, backlog int, factor float64, slots int) int {
	if active+backlog == 0 {
		return 0
	}
	return max(1, int(math.Ceil((float64(active)+float64(backlog)*factor)/float64(slots))))
}
