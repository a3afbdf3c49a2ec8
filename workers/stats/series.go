package stats

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/internal/handle"
	"skidway/internal/rdb"
	"skidway/queue"
)

// A Range is how far statistics look back.
type Range string

// The ranges.
const (
	Hour  Range = "hour"  // in 60 minutes
	Day   Range = "day"   // in 96 quarters of an hour
	Month Range = "month" // in 186 times four hours
)

// ranges have the index of a resolution and the number of buckets.
var ranges = map[Range]struct{ resolution, buckets int }{Hour: {0, 60}, Day: {1, 96}, Month: {2, 186}}

// Width returns the width of a bucket of a known range.
func (r Range) Width() time.Duration { return resolutions[ranges[r].resolution].width }

// A Series is the statistics of a queue over some time.
type Series struct {
	Queue   string
	Range   Range
	Width   time.Duration // of a bucket
	Now     time.Time     // when it was read, by the clock of Redis
	Buckets []Bucket      // the oldest first; the last one has not ended, unless it is of the past
}

// Start returns when the first bucket begins.
func (s *Series) Start() time.Time { return s.Buckets[0].Start }

// End returns when the last bucket ends, or when it was read if that is earlier.
func (s *Series) End() time.Time {
	end := s.Buckets[len(s.Buckets)-1].Start.Add(s.Width)
	if end.After(s.Now) {
		return s.Now
	}
	return end
}

// A Bucket is a part of a [Series].
type Bucket struct {
	Start time.Time
	Kinds map[string]*Counts // of kinds with attempts
	Gauges
}

// Gauges are what samples of a queue have shown in a bucket.
type Gauges struct {
	Sampled         bool // whether there was a sample; else all is zero
	Waiting, Active int  // the highest numbers
	Delayed, Dead   int  // the latest numbers
	Oldest          time.Duration
	Added           int64 // jobs that were added

	// Of the latest sample in a bucket of a minute.
	Time  time.Time // when it was taken; zero if that is not known
	Taken int64     // changes when jobs are taken
	Free  int       // slots of workers that were free for jobs that waited; zero also if that is not known
}

// Total returns the counts of all kinds, or those of one.
func (b *Bucket) Total(kind string) *Counts {
	total := &Counts{}
	for name, counts := range b.Kinds {
		if kind == "" || kind == name {
			total.Add(counts)
		}
	}
	return total
}

// Kinds returns the counts of the whole time by kind.
func (s *Series) Kinds() map[string]*Counts {
	kinds := map[string]*Counts{}
	for _, bucket := range s.Buckets {
		for name, counts := range bucket.Kinds {
			if kinds[name] == nil {
				kinds[name] = &Counts{}
			}
			kinds[name].Add(counts)
		}
	}
	return kinds
}

// maxRead is the number of buckets that are read in one round trip.
const maxRead = 62

// Read returns the statistics of a queue. It is read in steps, so what is counted meanwhile may
// be missing in some buckets.
func Read(ctx context.Context, client *queue.Client, name string, back Range) (*Series, error) {
	return ReadUntil(ctx, client, name, back, time.Time{})
}

// ReadUntil is Read of a range that ends at a time of the past; the zero time and those that are to come mean now. Its
// buckets are wider than those of the range where these are no longer kept.
func ReadUntil(ctx context.Context, client *queue.Client, name string, back Range, until time.Time) (*Series, error) {
	of, known := ranges[back]
	if !known {
		return nil, fmt.Errorf("%w: range %q: want %s, %s or %s", queue.ErrInvalid, back, Hour, Day, Month)
	}
	q, db, err := queueOf(ctx, client, name)
	if err != nil {
		return nil, err
	}
	now, err := client.Now(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("read statistics: %w", err)
	}
	if until.IsZero() || until.After(now) {
		until = now
	}
	r := resolutions[of.resolution]
	first, last := r.number(until)-int64(of.buckets)+1, r.number(until)
	for wider := of.resolution + 1; wider < len(resolutions) && now.Sub(r.start(first+1)) > r.kept; wider++ {
		begin := r.start(first)
		r = resolutions[wider]
		first, last = r.number(begin), r.number(until)
	}
	s := &Series{Queue: q.Name(), Range: back, Width: r.width, Now: now, Buckets: make([]Bucket, last-first+1)}
	for i := range s.Buckets {
		s.Buckets[i] = Bucket{Start: r.start(first + int64(i)), Kinds: map[string]*Counts{}}
	}
	for from := 0; from < len(s.Buckets); from += maxRead {
		part := s.Buckets[from:min(from+maxRead, len(s.Buckets))]
		replies := make([]*redis.MapStringStringCmd, len(part))
		err := db.Retry(ctx, func() error {
			_, err := db.Pipelined(ctx, func(p redis.Pipeliner) error {
				for i := range part {
					replies[i] = p.HGetAll(ctx, r.key(q, first+int64(from+i)))
				}
				return nil
			})
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("read statistics of queue %s: %w", q.Name(), err)
		}
		for i, reply := range replies {
			part[i].set(reply.Val())
		}
	}
	return s, nil
}

// queueOf returns a queue and its database. It is an error if a newer release has written the statistics.
func queueOf(ctx context.Context, client *queue.Client, name string) (q *queue.Queue, db *rdb.DB, err error) {
	if q, err = client.Queue(name); err != nil {
		return nil, nil, err
	}
	db = handle.Conn(client.DB())
	found := ""
	err = db.Retry(ctx, func() (err error) {
		found, err = db.HGet(ctx, q.Key("stats"), "format").Result()
		return err
	})
	switch {
	case err != nil && !errors.Is(err, redis.Nil):
		return nil, nil, fmt.Errorf("read statistics of queue %s: %w", q.Name(), err)
	case found != "" && found != format:
		return nil, nil, formatError(found)
	}
	return q, db, nil
}

// set sets the bucket from the fields of its hash. It ignores what it does not know.
func (b *Bucket) set(fields map[string]string) {
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		kind, metric, ok := strings.Cut(field, " ")
		n, err := strconv.ParseInt(fields[field], 10, 64)
		if !ok || err != nil || n < 0 {
			continue
		}
		n = min(n, maxAmount)
		if kind == "" {
			b.Gauges.set(metric, n)
			continue
		}
		counts := b.Kinds[kind]
		if counts == nil {
			counts = &Counts{}
		}
		if counts.set(metric, n) {
			b.Kinds[kind] = counts
		}
	}
}

// maxAmount bounds what a field can have: any client may have written it, and sums over all buckets
// and kinds must not overflow.
const maxAmount = 1 << 50

func (g *Gauges) set(metric string, n int64) {
	switch metric {
	case "waiting":
		g.Waiting = int(n)
	case "active":
		g.Active = int(n)
	case "oldest":
		g.Oldest = time.Duration(min(n, maxOldest.Milliseconds())) * time.Millisecond
	case "delayed":
		g.Delayed = int(n)
	case "dead":
		g.Dead = int(n)
	case "added":
		g.Added = n
	case "at":
		g.Time = time.UnixMilli(n).UTC()
	case "taken":
		g.Taken = n
	case "free":
		g.Free = int(n)
	default:
		return
	}
	g.Sampled = true
}

// set sets a metric, and reports whether it knows it.
func (c *Counts) set(metric string, n int64) bool {
	for _, known := range metrics {
		if known.name == metric {
			*known.of(c) = n
			return true
		}
	}
	switch metric {
	case "run":
		c.Run.Sum = float64(n) / 1e6
		return true
	case "wait":
		c.Wait.Sum = float64(n) / 1e3
		return true
	}
	for letter, classes := range map[string]*[histogramSize]int64{"r": &c.Run.Classes, "w": &c.Wait.Classes} {
		if text, found := strings.CutPrefix(metric, letter); found {
			class, err := strconv.Atoi(text)
			if err != nil || class < 0 || class >= histogramSize {
				return false
			}
			classes[class] = n
			return true
		}
	}
	return false
}

// maxOldest bounds the age of a job, so that a [time.Duration] can have it.
const maxOldest = 100 * 366 * 24 * time.Hour
