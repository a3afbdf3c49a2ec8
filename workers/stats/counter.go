package stats

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"skidway/queue"
)

// A Mode is how much is counted.
type Mode string

// The modes. An empty mode means Full.
const (
	Full   Mode = "full"  // by kind, and errors in groups
	Queues Mode = "queue" // all kinds of a queue together, and no errors
	Off    Mode = "off"   // nothing
)

// OtherKind is the name under which kinds are counted that are too many, and with [Queues] all.
const OtherKind = "other"

// Bounds of what is counted in memory between two writes, for a queue.
const (
	maxLocalKinds  = 200 // a queue has fewer in Redis
	maxLocalGroups = 100
)

// An End is the end of an attempt.
type End struct {
	Job         *queue.Job
	Disposition queue.Disposition
	Error       string        // of an attempt that failed
	Waited      time.Duration // from when the job was in line until the start; negative if it was not started
	Took        time.Duration // from the start to the end; zero if it is not known
}

// A Counter counts the attempts of one queue until they are written. It is safe for concurrent
// use. A nil Counter counts nothing.
type Counter struct {
	queue     *queue.Queue
	mode      Mode
	collector *Collector // numbers the writes: a later counter of the queue goes on from there

	sample sampling // used by Collector.Run alone

	mu        sync.Mutex
	current   *interval
	pending   []*write // made from earlier intervals, the oldest first
	forgotten bool     // by the collector, which has no counts of it
}

// An interval has what was counted since some time.
type interval struct {
	began  time.Time
	kinds  map[string]*Counts
	groups map[groupKey]*group

	lastKind string // and its counts: most jobs have the kind of the one before
	last     *Counts
}

type groupKey struct{ kind, shape string }

// A group has errors that have the same kind and shape.
type group struct {
	failed, dead int64
	job, text    string // of the latest of them, or the latest dead one
}

// Add counts ends, which must have been written to the queue.
func (c *Counter) Add(ends iter.Seq[End]) {
	if c == nil {
		return
	}
	c.mu.Lock()
	for c.forgotten {
		c.mu.Unlock()
		c = c.collector.restore(c)
		c.mu.Lock()
	}
	defer c.mu.Unlock()
	if c.current == nil {
		c.current = &interval{began: time.Now(), kinds: map[string]*Counts{}}
	}
	for end := range ends {
		c.current.add(&end, c.mode)
	}
}

func (i *interval) add(end *End, mode Mode) {
	counts := i.of(end.Job.Kind, mode)
	switch end.Disposition {
	case queue.AttemptSucceeded:
		counts.Done++
	case queue.AttemptDiscarded:
		counts.Discarded++
	case queue.AttemptCancelled:
		counts.Cancelled++
	case queue.AttemptRetry:
		counts.Failed++
		i.addError(end, mode)
	case queue.AttemptDead:
		counts.Failed++
		counts.Dead++
		i.addError(end, mode)
	default: // it does not count as an attempt
		return
	}
	if end.Waited >= 0 {
		counts.Wait.observe(end.Waited)
	}
	if end.Took > 0 {
		counts.Run.observe(end.Took)
	}
}

// of returns the counts of a kind.
func (i *interval) of(kind string, mode Mode) *Counts {
	if mode == Queues {
		kind = OtherKind
	}
	if i.last != nil && i.lastKind == kind {
		return i.last
	}
	counts := i.kinds[kind]
	if counts == nil && len(i.kinds) >= maxLocalKinds {
		kind = OtherKind
		counts = i.kinds[kind]
	}
	if counts == nil {
		counts = &Counts{}
		i.kinds[kind] = counts
	}
	i.lastKind, i.last = kind, counts
	return counts
}

func (i *interval) addError(end *End, mode Mode) {
	if mode == Queues {
		return
	}
	key := groupKey{end.Job.Kind, Shape(end.Error)}
	if i.groups[key] == nil {
		if len(i.groups) >= maxLocalGroups {
			key = groupKey{OtherKind, OtherShape}
		}
		if i.groups == nil {
			i.groups = map[groupKey]*group{}
		}
		if i.groups[key] == nil {
			i.groups[key] = &group{}
		}
	}
	g := i.groups[key]
	g.failed++
	isDead := end.Disposition == queue.AttemptDead
	if isDead || g.dead == 0 {
		g.job, g.text = end.Job.ID, sample(end.Error)
	}
	if isDead {
		g.dead++
	}
}

// OtherShape is the shape of the errors beyond the maximum number of groups.
const OtherShape = "(other errors)"

// maxSample bounds the text of an error that is kept with its group, in bytes.
const maxSample = 250

// sample returns the beginning of the first line of an error.
func sample(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	return strings.ToValidUTF8(text[:min(len(text), maxSample)], "")
}

// groupID returns the id of a group of errors.
func groupID(kind, shape string) string {
	digest := sha256.Sum256([]byte(kind + "\n" + shape))
	return hex.EncodeToString(digest[:6])
}

// Bounds of one call of the script: it increments each cell in three buckets.
const (
	maxCells  = 66
	maxGroups = 25
)

// A write is one call of the script that adds counts.
type write struct {
	number int64
	sent   time.Time  // first; zero: not yet
	at     time.Time  // of the counts, by the local clock
	clock  redisClock // of the server that answered "clock" to the write, else zero
	cells  []cell
	groups []writtenGroup
}

type cell struct {
	kind, metric string
	amount       int64
}

type writtenGroup struct {
	groupKey
	*group
}

// args returns the arguments of the script, without the times of the buckets.
func (w *write) args() []any {
	args := []any{w.number, len(w.cells)}
	for _, c := range w.cells {
		args = append(args, c.kind, c.metric, c.amount)
	}
	for _, g := range w.groups {
		args = append(args, groupID(g.kind, g.shape), g.kind, g.shape, g.failed, g.dead, g.job, g.text)
	}
	return args
}

// next returns the first pending write of a flush that began at a time, nil if there is none. Where
// none is pending, the current interval ends if it began before the flush: its counts become pending
// writes. While some are pending, the interval goes on, so that a Redis that is away costs no memory.
func (c *Counter) next(flush time.Time) *write {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.pending) == 0 && c.current != nil && !c.current.began.After(flush) {
		now := time.Now()
		at := c.current.began.Add(now.Sub(c.current.began) / 2)
		cells, groups := c.current.cells(), c.current.written()
		for len(cells)+len(groups) > 0 {
			w := &write{at: at, number: c.collector.number.Add(1)}
			w.cells, cells = cut(cells, maxCells)
			w.groups, groups = cut(groups, maxGroups)
			c.pending = append(c.pending, w)
		}
		c.current = nil
	}
	if len(c.pending) == 0 {
		return nil
	}
	return c.pending[0]
}

// wrote removes the first pending write.
func (c *Counter) wrote() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending = c.pending[1:]
}

// cut returns the first n values, and the others.
func cut[T any](values []T, n int) (first, rest []T) {
	n = min(len(values), n)
	return values[:n], values[n:]
}

// cells returns what was counted, in the order of the kinds.
func (i *interval) cells() (cells []cell) {
	for _, kind := range slices.Sorted(maps.Keys(i.kinds)) {
		counts := i.kinds[kind]
		add := func(metric string, amount int64) {
			if amount != 0 {
				cells = append(cells, cell{kind, metric, amount})
			}
		}
		for _, metric := range metrics {
			add(metric.name, *metric.of(counts))
		}
		add("run", int64(counts.Run.Sum*1e6))
		add("wait", int64(counts.Wait.Sum*1e3))
		for class := range histogramSize {
			add("r"+strconv.Itoa(class), counts.Run.Classes[class])
			add("w"+strconv.Itoa(class), counts.Wait.Classes[class])
		}
	}
	return cells
}

// written returns the groups of errors, in order.
func (i *interval) written() (groups []writtenGroup) {
	for key, g := range i.groups {
		groups = append(groups, writtenGroup{key, g})
	}
	slices.SortFunc(groups, func(a, b writtenGroup) int {
		return cmp.Or(strings.Compare(a.kind, b.kind), strings.Compare(a.shape, b.shape))
	})
	return groups
}

// forget marks a counter as forgotten if nothing is to be written, and reports whether it did.
func (c *Counter) forget() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forgotten = c.current == nil && len(c.pending) == 0
	return c.forgotten
}

// remember marks a counter as known to the collector again.
func (c *Counter) remember() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forgotten = false
}
