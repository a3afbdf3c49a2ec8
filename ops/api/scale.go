package api

import (
	"context"
	"math"
	"sync"
	"time"

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
	answers map[string]rememberedScale
}

type rememberedScale struct {
	Scale
	until time.Time
}

func (s *scales) get(key string) (Scale, bool) {
	s.Lock()
	defer s.Unlock()
	known := s.answers[key]
	return known.Scale, time.Now().Before(known.until)
}

func (s *scales) put(key string, answer Scale) {
	s.Lock()
	defer s.Unlock()
	if s.answers == nil || len(s.answers) >= maxScales {
		s.answers = map[string]rememberedScale{}
	}
	s.answers[key] = rememberedScale{answer, time.Now().Add(scaleFor)}
}

func showScale(ctx context.Context, c *call) (any, error) {
	name, channel := c.query.Get("queue"), c.query.Get("channel")
	if (name == "") == (channel == "") {
		return nil, invalidField("queue", "want either queue, or channel and subscriber")
	}
	needs := name
	if channel != "" {
		needs = access.All
	}
	if err := c.may(access.Scale, needs); err != nil {
		return nil, err
	}
	slots, err := c.number("per_worker", 1, maxSlotNumber, defaultSlots)
	if err != nil {
		return nil, err
	}
	drain, err := c.duration("drain", maxDrain)
	if err != nil {
		return nil, err
	}
	if drain == 0 {
		drain = defaultDrain
	}
	key := c.query.Encode()
	if known, ok := c.scales.get(key); ok {
		return known, nil
	}
	var answer Scale
	if channel == "" {
		answer, err = c.scaleOfQueue(ctx, name, slots, drain)
	} else {
		answer, err = c.scaleOfChannel(ctx, channel, c.query.Get("subscriber"), slots)
	}
	if err == nil {
		c.scales.put(key, answer)
	}
	return answer, err
}

func (c *call) scaleOfQueue(ctx context.Context, name string, slots int, drain time.Duration) (Scale, error) {
	q, err := c.ops.Queue(ctx, name)
	if err != nil {
		return Scale{}, err
	}
	depth, err := q.Depth(ctx)
	if err != nil {
		return Scale{}, err
	}
	series, err := c.ops.Stats(ctx, name, stats.Hour)
	if err != nil {
		return Scale{}, err
	}
	pool, err := c.queues.ForPool(name)
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
		factor = min(1, mean.Seconds()/drain.Seconds())
	}
	backlog := answer.Backlog
	if depth.Paused {
		backlog = 0
	}
	answer.Wanted = wanted(answer.Active, backlog, factor, slots)
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

func (c *call) scaleOfChannel(ctx context.Context, name, subscriber string, slots int) (Scale, error) {
	channel, err := distribute.OpenExisting(ctx, c.db, name)
	if err != nil {
		return Scale{}, err
	}
	status, err := channel.Status(ctx)
	if err != nil {
		return Scale{}, err
	}
	for _, s := range status.Subscribers {
		if s.Name == subscriber {
			backlog := max(0, int(s.Pending)-s.Counting)
			return Scale{Backlog: backlog, Active: s.Counting, Wanted: wanted(s.Counting, backlog, 1, slots), AsOf: utc(status.Now)}, nil
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
