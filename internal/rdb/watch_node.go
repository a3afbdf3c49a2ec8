package rdb

import (
	"context"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

// A watchNode watches the groups that one node of Redis has. There are three modes:
//
//   - block: one read that blocks in Redis. Each read names all streams, so this is for
//     few hash tags, on a Cluster for one, whose streams alone one read can name.
//   - track: Redis sends a message when one of the streams is written to, see tracker.
//   - look: reads that do not block, of all streams in turn, where Redis refuses the other
//     two.
type watchNode struct {
	watch *Watch
	added chan struct{} // has a buffer of one; received from after a group was added

	// The rest is guarded by the watch's mutex.

	client       *redis.Client
	streams      map[string][]watchStream // by key
	tags         map[string]int           // number of groups by hash tag
	fresh        []*watchGroup            // that were added since the last call of takeFresh
	trackUntil   time.Time
	refusedUntil time.Time // tracking is not tried before
}

// A watchStream is one stream of a group.
type watchStream struct {
	mark  Mark
	group *watchGroup
}

func newWatchNode(w *Watch) *watchNode {
	return &watchNode{watch: w, added: make(chan struct{}, 1), streams: map[string][]watchStream{}, tags: map[string]int{}}
}

func (n *watchNode) addLocked(group *watchGroup) {
	group.node = n
	for _, mark := range group.marks {
		n.streams[mark.Key] = append(n.streams[mark.Key], watchStream{mark, group})
	}
	n.tags[group.tag]++
	n.fresh = append(n.fresh, group)
	signalOne(n.added)
}

func (n *watchNode) removeLocked(group *watchGroup) {
	for _, mark := range group.marks {
		left := slices.DeleteFunc(n.streams[mark.Key], func(s watchStream) bool { return s.group == group })
		if n.streams[mark.Key] = left; len(left) == 0 {
			delete(n.streams, mark.Key)
		}
	}
	if n.tags[group.tag]--; n.tags[group.tag] == 0 {
		delete(n.tags, group.tag)
	}
}

// takeFresh returns the groups that were added since the last call and were not removed.
func (n *watchNode) takeFresh() (fresh []*watchGroup) {
	n.watch.mu.Lock()
	defer n.watch.mu.Unlock()
	for _, group := range n.fresh {
		if n.watch.groups[group.id] == group {
			fresh = append(fresh, group)
		}
	}
	n.fresh = nil
	return fresh
}

// takeAll returns all groups.
func (n *watchNode) takeAll() (all []*watchGroup) {
	n.watch.mu.Lock()
	defer n.watch.mu.Unlock()
	n.fresh = nil
	for _, group := range n.watch.groups {
		if group.node == n {
			all = append(all, group)
		}
	}
	return all
}

func (n *watchNode) hasFresh() bool {
	n.watch.mu.Lock()
	defer n.watch.mu.Unlock()
	return len(n.fresh) > 0
}

// notify calls the functions of the groups that have one of the marks still.
func (n *watchNode) notify(marks ...Mark) {
	var notified []*watchGroup
	n.watch.mu.Lock()
	for _, mark := range marks {
		for _, stream := range slices.Clone(n.streams[mark.Key]) {
			if stream.mark == mark {
				n.watch.removeLocked(stream.group.id)
				notified = append(notified, stream.group)
			}
		}
	}
	n.watch.mu.Unlock()
	notifyEach(notified)
}

// notifyKeys calls the functions of the groups that have one of the keys.
func (n *watchNode) notifyKeys(keys []string) {
	var marks []Mark
	n.watch.mu.Lock()
	for _, key := range keys {
		for _, stream := range n.streams[key] {
			marks = append(marks, stream.mark)
		}
	}
	n.watch.mu.Unlock()
	n.notify(marks...)
}

// notifyAll calls the functions of all groups: Redis may have lost writes, or another node
// has their slots.
func (n *watchNode) notifyAll() {
	n.watch.forget(func(_ string, node *watchNode) bool { return node == n })
}

// Bounds of the modes.
const (
	// maxBlockedTags is the maximum number of hash tags that are watched by a blocked read
	// of a server that is no Cluster.
	maxBlockedTags = 50

	// If a blocked read brings more than maxBroughtBytes, for example the args of a large
	// job, it may have brought them to all idle workers: the node is tracked for
	// trackLarge.
	maxBroughtBytes = 4 << 10
	trackLarge      = 5 * time.Minute

	// trackMany is how long a node is tracked at least that had too many hash tags.
	trackMany = time.Minute

	// refusedFor is how long tracking is not tried again after a refusal.
	refusedFor = 5 * time.Minute
)

type watchMode int

const (
	modeBlock watchMode = iota
	modeTrack
	modeLook
)

// mode returns how the node is to be watched.
func (n *watchNode) mode() watchMode {
	n.watch.mu.Lock()
	defer n.watch.mu.Unlock()
	now, maxTags := time.Now(), maxBlockedTags
	if n.watch.cluster != nil {
		maxTags = 1
	}
	switch many := len(n.tags) > maxTags; {
	case n.watch.db.Embedded():
		return modeBlock
	case now.Before(n.refusedUntil) && many:
		return modeLook
	case now.Before(n.refusedUntil):
		return modeBlock
	case many:
		n.trackLocked(now.Add(trackMany))
	}
	if now.Before(n.trackUntil) {
		return modeTrack
	}
	return modeBlock
}

func (n *watchNode) trackLocked(until time.Time) {
	if n.trackUntil.Before(until) {
		n.trackUntil = until
	}
}

// run watches until ctx is done.
func (n *watchNode) run(ctx context.Context) {
	for backoff := (Backoff{Max: time.Second}); ctx.Err() == nil; {
		var err error
		switch n.mode() {
		case modeBlock:
			n.block(ctx)
		case modeTrack:
			err = n.track(ctx)
		case modeLook:
			err = n.look(ctx)
		}
		switch {
		case ctx.Err() != nil:
		case err == nil:
			backoff.Reset()
		case !transient(err) && !moved(err):
			n.watch.log.Warn("waiting for new entries failed", "error", err)
			n.broken(ctx, DefaultMaxPause)
		default:
			n.broken(ctx, backoff.Next())
		}
	}
}

// refuse records that Redis refuses to track keys.
func (n *watchNode) refuse(refusal error) {
	n.watch.log.Info("Redis refuses CLIENT TRACKING: without it, jobs of many queues start later", "error", refusal)
	n.watch.mu.Lock()
	defer n.watch.mu.Unlock()
	n.refusedUntil = time.Now().Add(refusedFor)
}

// broken handles an error after which Redis may have lost writes or moved slots.
func (n *watchNode) broken(ctx context.Context, pause time.Duration) {
	if n.watch.cluster != nil {
		n.watch.cluster.ReloadState(ctx)
	}
	_ = Sleep(ctx, pause)
	n.watch.mu.Lock()
	n.watch.brokenAt = time.Now()
	n.watch.mu.Unlock()
	n.notifyAll()
}
