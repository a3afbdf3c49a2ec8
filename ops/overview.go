package ops

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"skidway/distribute"
	"skidway/internal/doctor"
	"skidway/internal/handle"
	"skidway/queue"
	"skidway/workers/stats"
)

// An Overview is the state of all queues and of what they need, read at about one time. It must
// not be changed.
type Overview struct {
	Now    time.Time       // of the latest read, by Redis's clock; zero if nothing has been read
	ReadAt time.Time       // the same by the local clock
	Names  int             // queues that there are
	Queues []*SampledQueue // those of which something is known, by trouble

	Workers  []queue.PoolInfo // living ones
	Vanished []queue.PoolInfo // that died without a farewell, for an hour or longer
	Slots    int              // of living workers that take jobs
	Held     int              // jobs that living workers hold
	heldBy   map[string]map[string]int

	Schedules []queue.CronScheduleInfo // of all queues, the next first
	Channels  []SampledChannel
	Findings  []Finding // of the Redis, without those that are fine
	Server    *Server   // nil if that is not known yet

	// Listed and Examined are whether the channels have been read, and the Redis has been checked.
	// Until then Channels and Findings are empty.
	Listed, Examined bool

	// Away is why Redis does not answer, and AwaySince since when, by the local clock; nil if it does.
	// The other figures are from before.
	Away      error
	AwaySince time.Time

	Troubles []Trouble // the worst first, and of those the newest
}

// Clock returns the time by Redis's clock, which has gone on like the local one since the latest read.
func (o *Overview) Clock() time.Time {
	if o.ReadAt.IsZero() {
		return o.Now
	}
	return o.Now.Add(time.Since(o.ReadAt))
}

// A SampledQueue is a queue of an overview. Time is when its status was read; zero if it was not
// yet.
type SampledQueue struct {
	QueueStatus
	Stored    bool // the status is that of Time: what a worker has stored, or what was read before a pause
	Diagnoses []Diagnosis
	TopError  *stats.ErrorGroup // of a failing queue: the group that fails most
	Schedules []queue.CronScheduleInfo

	// SchedulesErr is why the schedules can't be read, such as a key of another type. Then Schedules is
	// empty.
	SchedulesErr error

	Hour   *Hour // of the last hour; nil if that is not known
	Done   []int64
	Failed []int64 // in the last 24 hours, hour by hour, like Done; nil if that is not known

	series    *stats.Series
	observed  History
	scheduled bool      // Schedules or SchedulesErr has been set
	diagnosed time.Time // when Diagnoses were made, by Redis's clock
}

// Examined reports whether all of the queue has been read: its status, statistics and schedules. Until
// then empty figures say nothing. A queue that can't be read is examined.
func (q *SampledQueue) Examined() bool {
	return q.Err != nil || q.scheduled && q.Done != nil && !q.Time.IsZero()
}

// Series returns the counts of the last hour, nil if they are not known.
func (q *SampledQueue) Series() *stats.Series { return q.series }

// An Hour is what became of the jobs of a queue in the last hour.
type Hour struct{ Added, Done, Failed, Died int64 }

func (q *SampledQueue) setHour(series *stats.Series) {
	q.series, q.Hour = series, &Hour{}
	for i := range series.Buckets {
		counts := series.Buckets[i].Total("")
		q.Hour.Added += series.Buckets[i].Added
		q.Hour.Done += counts.Done
		q.Hour.Failed += counts.Failed
		q.Hour.Died += counts.Dead
	}
}

// dayHours is the number of hours of a day.
const dayHours = 24

func (q *SampledQueue) setDay(series *stats.Series) {
	q.Done, q.Failed = make([]int64, dayHours), make([]int64, dayHours)
	for i := range series.Buckets {
		counts := series.Buckets[i].Total("")
		hour := i * dayHours / len(series.Buckets)
		q.Done[hour] += counts.Done
		q.Failed[hour] += counts.Failed
	}
}

// Rank returns the rank of the worst diagnosis, [Fine] if there is none.
func (q *SampledQueue) Rank() Rank {
	switch {
	case q.Err != nil:
		return Problem
	case len(q.Diagnoses) > 0:
		return q.Diagnoses[0].Rank
	}
	return Fine
}

// A SampledChannel is a log channel of an overview.
type SampledChannel struct {
	Name   string
	Status distribute.Status
	Rates  map[string]CountRate // by subscriber; without those whose status was read only once
}

// A CountRate is what the workers of a subscriber have counted in a second, between the last two reads.
type CountRate struct {
	Lines int64
	Bytes int64 // of uncompressed content
}

// rates returns the rates of the subscribers since another status of the same channel.
func rates(before, now distribute.Status) map[string]CountRate {
	between := now.Now.Sub(before.Now).Seconds()
	found := map[string]CountRate{}
	for _, s := range now.Subscribers {
		i := slices.IndexFunc(before.Subscribers, func(old distribute.SubscriberStatus) bool { return old.Name == s.Name && old.Created.Equal(s.Created) })
		if i >= 0 && between > 0 {
			old := before.Subscribers[i].Tally
			found[s.Name] = CountRate{int64(float64(s.Tally.Lines-old.Lines) / between), int64(float64(s.Tally.Bytes-old.Bytes) / between)}
		}
	}
	return found
}

// WaitsFor returns the subscriber that holds up most of the window, for which shippers wait; empty if none
// waits.
func (c *SampledChannel) WaitsFor() string {
	if laggards := c.Status.Laggards(); c.Status.ShippersWaiting > 0 && len(laggards) > 0 {
		return slices.MaxFunc(laggards, func(a, b distribute.Laggard) int { return cmp.Compare(a.Bytes, b.Bytes) }).Subscriber
	}
	return ""
}

// For returns the overview of those queues that a function allows. Unless it allows all of them, it
// has no Redis, no workers and no channels.
func (o *Overview) For(may func(name string) bool, all bool) *Overview {
	if all {
		return o
	}
	part := &Overview{Now: o.Now, ReadAt: o.ReadAt, Away: o.Away, AwaySince: o.AwaySince}
	for _, q := range o.Queues {
		if may(q.Name) {
			part.Queues = append(part.Queues, q)
		}
	}
	part.Names = len(part.Queues)
	for _, s := range o.Schedules {
		if may(s.Queue) {
			part.Schedules = append(part.Schedules, s)
		}
	}
	for _, t := range o.Troubles {
		if t.Queue != nil && may(t.Queue.Name) || t.Schedule != nil && may(t.Schedule.Queue) {
			part.Troubles = append(part.Troubles, t)
		}
	}
	return part
}

// Read returns the number of queues whose status has been read.
func (o *Overview) Read() (n int) {
	for _, q := range o.Queues {
		if !q.Time.IsZero() && !q.Stored {
			n++
		}
	}
	return n
}

// ExaminedQueues returns the number of queues that have been examined.
func (o *Overview) ExaminedQueues() (n int) {
	for _, q := range o.Queues {
		if q.Examined() {
			n++
		}
	}
	return n
}

// Queue returns a queue by its name, nil if it is not known.
func (o *Overview) Queue(name string) *SampledQueue {
	i := slices.IndexFunc(o.Queues, func(q *SampledQueue) bool { return q.Name == name })
	if i < 0 {
		return nil
	}
	return o.Queues[i]
}

// setPools sets the workers.
func (o *Overview) setPools(list poolList) {
	o.Workers, o.Vanished, o.Slots, o.Held, o.heldBy = nil, nil, 0, 0, list.held
	for _, pool := range list.pools {
		if pool.Expires < 0 {
			o.Vanished = append(o.Vanished, pool)
			continue
		}
		o.Workers = append(o.Workers, pool)
		free := pool.Concurrency
		for _, held := range list.held[pool.Name] {
			free -= min(held, free)
		}
		o.Held += pool.Concurrency - free
		if pool.TakesJobs() {
			o.Slots += pool.Concurrency
		}
	}
}

// away notes whether Redis has answered.
func (o *Overview) away(err error) {
	switch {
	case err == nil:
		o.Away, o.AwaySince = nil, time.Time{}
	case o.Away == nil:
		o.Away, o.AwaySince = err, time.Now()
	default:
		o.Away = err
	}
}

// judge sorts the queues by trouble, and collects schedules and troubles.
func (o *Overview) judge() {
	slices.SortFunc(o.Queues, compareTrouble)
	o.Schedules = nil
	for _, q := range o.Queues {
		o.Schedules = append(o.Schedules, q.Schedules...)
	}
	slices.SortFunc(o.Schedules, func(a, b queue.CronScheduleInfo) int {
		if a.Next.IsZero() != b.Next.IsZero() {
			return cmp.Compare(b.Next.Unix(), a.Next.Unix()) // those that never fire are last
		}
		return cmp.Or(a.Next.Compare(b.Next), strings.Compare(a.Name, b.Name))
	})
	o.Troubles = o.troubles()
}

// compareTrouble orders queues by trouble, and those with the same trouble by name. What changes with each
// job has no part in it: else the rows of a page would change places while they are read.
func compareTrouble(a, b *SampledQueue) int {
	return cmp.Or(cmp.Compare(a.order(), b.order()), strings.Compare(a.Name, b.Name))
}

// order returns the place of a queue among others: unreadable ones are first, then those with a problem,
// those with a warning, paused ones, those with attempts in the last day, and the others. Problems and
// warnings have the order of the table of diagnoses.
func (q *SampledQueue) order() int {
	positive := func(n int64) bool { return n > 0 }
	class, place := 5, 0
	switch {
	case q.Err != nil:
		class = 0
	case len(q.troubles()) > 0:
		worst := q.troubles()[0]
		class = 1 + rankOrder[worst.Rank]
		place = slices.IndexFunc(diagnoses, func(row diagnosisRow) bool { return row.Name == worst.Name })
	case q.Depth.Paused:
		class = 3
	case slices.ContainsFunc(q.Done, positive) || slices.ContainsFunc(q.Failed, positive):
		class = 4
	}
	return class*len(diagnoses) + place
}

// troubles returns the diagnoses that an operator should know of: of a paused queue, where nothing is taken
// on purpose, only failed attempts.
func (q *SampledQueue) troubles() []Diagnosis {
	if !q.Depth.Paused {
		return q.Diagnoses
	}
	return slices.DeleteFunc(slices.Clone(q.Diagnoses), func(d Diagnosis) bool { return d.Name != "failing" })
}

// readRest reads the channels and the Redis when their time has come.
func (s *Sampler) readRest(ctx context.Context) error {
	db := s.client.queues.DB()
	conn := handle.Conn(db)
	if conn.Embedded() {
		s.state.Server, s.state.Examined = &Server{Embedded: true}, true
	} else if s.isDue("server", slowEvery/3) {
		err := s.read(ctx, 1, func(ctx context.Context) (err error) {
			server, err := readServer(ctx, conn)
			if err == nil {
				server.RoundTrip, server.Slowest = s.budget.trips()
				s.state.Server = server
			}
			return err
		})
		if err := s.partly(err); err != nil {
			return err
		}
	}
	if s.isDue("channels", slowEvery/3) {
		err := s.read(ctx, 4, func(ctx context.Context) error {
			statuses, err := channelStatuses(ctx, db, func(distribute.ChannelInfo) bool { return true })
			before := map[string]distribute.Status{}
			for _, c := range s.state.Channels {
				before[c.Name] = c.Status
			}
			s.state.Channels = nil
			for _, name := range slices.Sorted(maps.Keys(statuses)) {
				sampled := SampledChannel{Name: name, Status: statuses[name]}
				if old, known := before[name]; known {
					sampled.Rates = rates(old, sampled.Status)
				}
				s.state.Channels = append(s.state.Channels, sampled)
			}
			s.state.Listed = err == nil
			return err
		})
		if err := s.partly(err); err != nil {
			return err
		}
	}
	if !conn.Embedded() && s.isDue("findings", examineEvery) {
		return s.partly(s.read(ctx, 10, func(ctx context.Context) error {
			checked, err := doctor.Check(ctx, conn)
			s.state.Findings, s.state.Examined = nil, err == nil
			for _, f := range checked {
				if f := findingOf(f); f.Rank == Problem || f.Rank == Warning {
					s.state.Findings = append(s.state.Findings, f)
				}
			}
			return err
		}))
	}
	return nil
}
