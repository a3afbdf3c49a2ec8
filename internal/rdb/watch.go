package rdb

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// A Watch calls functions when streams get new entries. All its streams are waited for
// together, so it needs few connections, however many there are. It is safe for
// concurrent use.
type Watch struct {
	db  *DB
	log *slog.Logger

	unplaced chan struct{} // has a buffer of one; received from when a group has no node

	mu     sync.Mutex
	groups map[any]*watchGroup   // by ID, until their function is called
	nodes  map[string]*watchNode // by what nodeOf returns for a key
}

// A watchGroup is some streams of one slot that are watched for one purpose.
type watchGroup struct {
	id     any
	marks  []Mark
	notify func()
	node   *watchNode // nil: none is known yet
}

// NewWatch returns a watch without streams, which does nothing before [Watch.Run]. A nil
// log means [slog.Default].
func (db *DB) NewWatch(log *slog.Logger) *Watch {
	if log == nil {
		log = slog.Default()
	}
	return &Watch{
		db: db, log: log, unplaced: make(chan struct{}, 1),
		groups: map[any]*watchGroup{}, nodes: map[string]*watchNode{},
	}
}

// Set makes the watch call notify once when one of the streams has an entry after its
// mark, or may have one: the caller looks, and calls Set again. The marks of an earlier
// Set with this ID, which must be comparable, are replaced. There must be a mark, and all
// streams must lie on one slot. notify must not block.
func (w *Watch) Set(id any, marks []Mark, notify func()) {
	group := &watchGroup{id: id, marks: marks, notify: notify}
	w.mu.Lock()
	defer w.mu.Unlock()
	if old := w.groups[id]; old != nil && slices.Equal(old.marks, marks) {
		old.notify = notify
		return
	}
	w.removeLocked(id)
	w.groups[id] = group
	if node := w.nodes[w.nodeOf(marks[0].Key)]; node != nil {
		node.addLocked(group)
		return
	}
	signalOne(w.unplaced)
}

// Remove makes the watch forget an ID. Its function may be called once more.
func (w *Watch) Remove(id any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.removeLocked(id)
}

func (w *Watch) removeLocked(id any) {
	group := w.groups[id]
	if group == nil {
		return
	}
	delete(w.groups, id)
	if group.node != nil {
		group.node.removeLocked(group)
	}
}

// nodeOf returns the name of the part of Redis whose streams one command can read: the
// hash tag of a key on a Cluster, else "".
func (w *Watch) nodeOf(key string) string {
	if _, cluster := w.db.UniversalClient.(*redis.ClusterClient); !cluster {
		return ""
	}
	return hashTag(key)
}

// Run watches until ctx is done. It must be called once.
func (w *Watch) Run(ctx context.Context) {
	var nodes sync.WaitGroup
	defer nodes.Wait()
	for {
		w.mu.Lock()
		for _, group := range w.groups {
			if group.node != nil {
				continue
			}
			name := w.nodeOf(group.marks[0].Key)
			node := w.nodes[name]
			if node == nil {
				node = newWatchNode(w)
				w.nodes[name] = node
				nodes.Go(func() { node.run(ctx) })
			}
			node.addLocked(group)
		}
		w.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-w.unplaced:
		}
	}
}

// hashTag returns the part of a key that determines its slot.
func hashTag(key string) string {
	if _, rest, ok := strings.Cut(key, "{"); ok {
		if inner, _, ok := strings.Cut(rest, "}"); ok && inner != "" {
			return inner
		}
	}
	return key
}

// signalOne sends to a channel with a buffer of one, which may be full.
func signalOne(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// A watchNode watches the groups of one node of Redis.
type watchNode struct {
	watch *Watch
	added chan struct{} // has a buffer of one; received from after a group was added
	reads sync.WaitGroup

	// The rest is guarded by the watch's mutex.

	streams map[string]*watchStream // by key
	changed bool                    // groups were added since the last call of marks
}

// A watchStream is one stream of a group.
type watchStream struct {
	mark  Mark
	group *watchGroup
}

func newWatchNode(w *Watch) *watchNode {
	return &watchNode{watch: w, added: make(chan struct{}, 1), streams: map[string]*watchStream{}}
}

func (n *watchNode) addLocked(group *watchGroup) {
	group.node = n
	for _, mark := range group.marks {
		n.streams[mark.Key] = &watchStream{mark, group}
	}
	n.changed = true
	signalOne(n.added)
}

func (n *watchNode) removeLocked(group *watchGroup) {
	for _, mark := range group.marks {
		delete(n.streams, mark.Key)
	}
}

// marks returns the marks of all groups.
func (n *watchNode) marks() []Mark {
	n.watch.mu.Lock()
	defer n.watch.mu.Unlock()
	n.changed = false
	marks := make([]Mark, 0, len(n.streams))
	for _, stream := range n.streams {
		marks = append(marks, stream.mark)
	}
	return marks
}

// notify calls the functions of the groups that have one of the marks still. With no
// marks it calls the functions of all groups.
func (n *watchNode) notify(marks ...Mark) {
	var notified []*watchGroup
	n.watch.mu.Lock()
	if marks == nil {
		for _, stream := range n.streams {
			marks = append(marks, stream.mark)
		}
	}
	for _, mark := range marks {
		if stream := n.streams[mark.Key]; stream != nil && stream.mark == mark {
			n.watch.removeLocked(stream.group.id)
			notified = append(notified, stream.group)
		}
	}
	n.watch.mu.Unlock()
	for _, group := range notified {
		group.notify()
	}
}

// A blocked read cannot be interrupted, and keeps its connection until its time is over.
// So a read goes on while no streams are added, and reads are short while there are new
// entries: only if there were none for a while a read blocks for up to maxBlock.
const (
	minBlock = 250 * time.Millisecond
	maxBlock = 15 * time.Second
)

// After a read has found entries, groups are added again soon: the next read begins when
// they are, at the latest after regroupTime.
const regroupTime = 2 * time.Millisecond

// Reads that replace one with outdated marks begin at most every minReadInterval on
// average; up to readBurst of them without a pause.
const (
	minReadInterval = 20 * time.Millisecond
	readBurst       = 5
)

// run watches by blocked reads until ctx is done.
func (n *watchNode) run(ctx context.Context) {
	defer n.reads.Wait()
	block := minBlock
	var nextRead time.Time // if all reads that replace others had the minimum interval
	for ctx.Err() == nil {
		marks := n.marks()
		if len(marks) == 0 {
			n.awaitAdded(ctx, nil)
			continue
		}
		ended, timeout := make(chan bool, 1), block
		n.reads.Go(func() { ended <- n.read(ctx, timeout, marks) })
		found, replace := n.awaitAdded(ctx, ended)
		switch {
		case replace:
			block = minBlock
			if now := time.Now(); nextRead.Before(now) {
				nextRead = now
			}
			_ = Sleep(ctx, time.Until(nextRead)-readBurst*minReadInterval)
			nextRead = nextRead.Add(minReadInterval)
		case found:
			block = minBlock
			regroup, cancel := context.WithTimeout(ctx, regroupTime)
			n.awaitAdded(regroup, nil)
			cancel()
		default:
			block = min(4*block, maxBlock)
		}
	}
}

// awaitAdded blocks until groups were added since the last call of marks, a read has
// ended or ctx is done. It reports whether groups were added, and what the read returned.
func (n *watchNode) awaitAdded(ctx context.Context, ended <-chan bool) (found, added bool) {
	for {
		select {
		case <-ctx.Done():
			return false, false
		case found := <-ended:
			return found, false
		case <-n.added:
			n.watch.mu.Lock()
			added := n.changed
			n.watch.mu.Unlock()
			if added {
				return false, true
			}
		}
	}
}

// read blocks until one of the streams has an entry, or the time is over, and calls the
// functions of their groups: of all groups after an error of the connection, because
// Redis may have lost writes. It reports whether there was an entry.
func (n *watchNode) read(ctx context.Context, timeout time.Duration, marks []Mark) (found bool) {
	streams, err := n.watch.db.wait(ctx, timeout, marks)
	switch {
	case err == nil:
	case ctx.Err() != nil:
	case transient(err):
		n.notify()
	default:
		n.watch.log.Warn("waiting for new entries failed", "error", err)
		_ = Sleep(ctx, DefaultMaxPause)
	}
	if len(streams) == 0 {
		return false
	}
	at := make(map[string]Mark, len(marks))
	for _, mark := range marks {
		at[mark.Key] = mark
	}
	news := make([]Mark, len(streams))
	for i, stream := range streams {
		news[i] = at[stream.Stream]
	}
	n.notify(news...)
	return true
}
