package rdb

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// A Watch calls functions when streams get new entries. Each node of Redis has one watcher
// for all streams, which uses at most two connections, see watchNode. It is safe for
// concurrent use.
type Watch struct {
	db      *DB
	cluster *redis.ClusterClient // nil if there is none
	log     *slog.Logger

	unplaced chan struct{} // has a buffer of one; received from when a group has no node

	mu       sync.Mutex
	brokenAt time.Time             // when a node was last found broken
	groups   map[any]*watchGroup   // by ID, until their function is called
	tags     map[string]*watchNode // by hash tag: the node that has its streams
	nodes    map[string]*watchNode // by address; only "" if there is no Cluster
}

// A watchGroup is some streams of one slot that are watched for one purpose.
type watchGroup struct {
	id     any
	tag    string
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
	cluster, _ := db.UniversalClient.(*redis.ClusterClient)
	return &Watch{
		db: db, cluster: cluster, log: log, unplaced: make(chan struct{}, 1),
		groups: map[any]*watchGroup{}, tags: map[string]*watchNode{}, nodes: map[string]*watchNode{},
	}
}

// Set makes the watch call notify once when one of the streams has an entry after its mark, or may
// have one: the caller looks, and calls Set again. The marks of an earlier Set with this ID, which
// must be comparable, are replaced. There must be a mark, and all streams must lie on one slot.
// read is a time before the marks were read: if a connection broke or Redis was restarted after
// it, Redis may have lost writes, and the marks may be ahead of it, so that notify is called at
// once; the zero time means that this is not known. notify must not block.
func (w *Watch) Set(id any, read time.Time, marks []Mark, notify func()) {
	if !w.set(id, read, marks, notify) {
		notify()
	}
}

// set reports whether the marks were read after the latest break of a connection.
func (w *Watch) set(id any, read time.Time, marks []Mark, notify func()) bool {
	group := &watchGroup{id: id, tag: hashTag(marks[0].Key), marks: marks, notify: notify}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !read.IsZero() && (read.Before(w.brokenAt) || w.db.restarts.since(read)) {
		w.removeLocked(id)
		return false
	}
	if old := w.groups[id]; old != nil && slices.Equal(old.marks, marks) {
		old.notify = notify
		return true
	}
	w.removeLocked(id)
	w.groups[id] = group
	if node := w.tags[group.tag]; node != nil {
		node.addLocked(group)
	} else {
		signalOne(w.unplaced)
	}
	return true
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

// replaceEvery is the interval at which a watch checks which node has a slot, and forgets hash
// tags without groups.
const replaceEvery = time.Minute

// Run watches until ctx is done. It must be called once.
func (w *Watch) Run(ctx context.Context) {
	defer w.db.restarts.watch(w)()
	var nodes sync.WaitGroup
	defer nodes.Wait()
	ticker := time.NewTicker(replaceEvery)
	defer ticker.Stop()
	for backoff := (Backoff{Max: time.Second}); ctx.Err() == nil; {
		err := w.place(ctx, func(node *watchNode) { nodes.Go(func() { node.run(ctx) }) })
		if err != nil {
			_ = backoff.Sleep(ctx)
			continue
		}
		backoff.Reset()
		select {
		case <-ctx.Done():
		case <-w.unplaced:
		case <-ticker.C:
			w.forgetTags()
			w.checkPlaces(ctx)
		}
	}
}

// place assigns each group to its node, and calls start for a new node.
func (w *Watch) place(ctx context.Context, start func(*watchNode)) error {
	for missing := w.addUnplaced(); len(missing) > 0; missing = w.addUnplaced() {
		for tag := range missing {
			client, addr, err := w.clientFor(ctx, tag)
			if err != nil {
				return err
			}
			w.mu.Lock()
			node := w.nodes[addr]
			if node == nil {
				node = newWatchNode(w)
				w.nodes[addr] = node
				start(node)
			}
			node.client = client
			w.tags[tag] = node
			w.mu.Unlock()
		}
	}
	return nil
}

// addUnplaced adds groups without a node to that of their hash tag, and returns the hash
// tags whose node is not known.
func (w *Watch) addUnplaced() (missing map[string]bool) {
	missing = map[string]bool{}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, group := range w.groups {
		if group.node != nil {
			continue
		}
		if node := w.tags[group.tag]; node != nil {
			node.addLocked(group)
		} else {
			missing[group.tag] = true
		}
	}
	return missing
}

// clientFor returns the client of the node that has the keys with a hash tag, and its
// address.
func (w *Watch) clientFor(ctx context.Context, tag string) (client *redis.Client, addr string, err error) {
	if w.cluster == nil {
		client, _ = w.db.UniversalClient.(*redis.Client)
		return client, "", nil
	}
	if client, err = w.cluster.MasterForKey(ctx, "{"+tag+"}"); err != nil {
		return nil, "", err
	}
	return client, client.Options().Addr, nil
}

// forgetTags forgets which node has the hash tags without groups, such as those of deleted queues.
// A tag that gets a group later is placed again.
func (w *Watch) forgetTags() {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.tags, func(tag string, node *watchNode) bool { return node.tags[tag] == 0 })
}

// checkPlaces calls the functions of the groups whose slot another node has now. The next
// Set assigns them to that node.
func (w *Watch) checkPlaces(ctx context.Context) {
	if w.cluster == nil {
		return
	}
	w.mu.Lock()
	tags := slices.Collect(maps.Keys(w.tags))
	w.mu.Unlock()
	for _, tag := range tags {
		_, addr, err := w.clientFor(ctx, tag)
		if err != nil {
			return
		}
		w.mu.Lock()
		moved := w.tags[tag] != w.nodes[addr]
		w.mu.Unlock()
		if moved {
			w.forget(func(of string, _ *watchNode) bool { return of == tag })
		}
	}
}

// forget forgets which node has the hash tags for which f returns true, and calls the
// functions of their groups, and of those that have no node yet.
func (w *Watch) forget(f func(tag string, node *watchNode) bool) {
	var notified []*watchGroup
	w.mu.Lock()
	for _, group := range w.groups {
		if group.node == nil || f(group.tag, group.node) {
			notified = append(notified, group)
		}
	}
	for _, group := range notified {
		w.removeLocked(group.id)
	}
	maps.DeleteFunc(w.tags, f)
	w.mu.Unlock()
	notifyEach(notified)
}

func notifyEach(groups []*watchGroup) {
	for _, group := range groups {
		group.notify()
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
