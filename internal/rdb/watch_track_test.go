package rdb_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

// many is a number of hash tags that one blocked read does not name.
const many = 60

// newTrackedFixture returns a watch of many streams on a server of the test's own, which
// tracks them.
func newTrackedFixture(t *testing.T) *watchFixture {
	t.Helper()
	server := redistest.Start(t)
	f := newWatchFixture(t, redistest.Open(t, server.URL(0)), open(t, server.URL(0), rdb.Options{}))
	f.setMany("0")
	f.awaitTracked()
	return f
}

func (f *watchFixture) setMany(id string) {
	for i := range many {
		f.set(fmt.Sprint(i), id)
	}
}

// awaitAll blocks until each of many streams was notified of once.
func (f *watchFixture) awaitAll() {
	f.Helper()
	seen := map[string]bool{}
	for len(seen) < many {
		seen[f.next()] = true
	}
}

// clients returns the ids of the server's clients whose line matches a pattern.
func (f *watchFixture) clients(pattern string) (ids []string) {
	f.Helper()
	list, err := f.db.ClientList(f.limit).Result()
	if err != nil {
		f.Fatal(err)
	}
	f.listed = list
	for line := range strings.Lines(list) {
		if regexp.MustCompile(pattern).MatchString(line) {
			ids = append(ids, regexp.MustCompile(`\bid=(\d+)`).FindStringSubmatch(line)[1])
		}
	}
	return ids
}

// The connections of a tracker in the list of clients.
const (
	trackedConnection    = ` flags=\w*t\w* .* cmd=(xread|ping) `
	subscribedConnection = ` sub=1 `
)

// awaitTracked blocks until Redis tracks the streams that were set.
func (f *watchFixture) awaitTracked() {
	f.Helper()
	for start := time.Now(); len(f.clients(trackedConnection)) != 1 || len(f.clients(subscribedConnection)) != 1; {
		if time.Since(start) > patience {
			f.Fatalf("nothing is tracked: %s", f.listed)
		}
	}
}

func TestWatchOfManyStreamsTracksThemOverTwoConnections(t *testing.T) {
	t.Parallel()
	f := newTrackedFixture(t)
	for _, name := range []string{"7", "59", "0"} {
		f.add(name)
		f.await(name)
		last := f.add(name)
		f.set(name, last)
		f.add(name)
		f.await(name)
	}
	for len(f.clients(` flags=\w*b`)) > 0 { // by a read from before the streams were many
	}
	if others := f.clients(` flags=\w*t| sub=1 `); len(others) != 2 {
		t.Errorf("%d connections track, want 2", len(others))
	}
}

func TestWatchNotifiesOfAllStreamsAfterATrackersConnectionBroke(t *testing.T) {
	t.Parallel()
	for name, pattern := range map[string]string{"reads": trackedConnection, "subscription": subscribedConnection} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newTrackedFixture(t)
			for _, id := range f.clients(pattern) {
				if err := f.db.ClientKillByFilter(soon(t), "ID", id).Err(); err != nil {
					t.Fatal(err)
				}
			}
			f.awaitAll()
			f.setMany("0")
			f.awaitTracked()
			f.add("3")
			f.await("3")
		})
	}
}

func TestWatchNotifiesOfAllStreamsAfterFlushAll(t *testing.T) {
	t.Parallel()
	f := newTrackedFixture(t)
	if err := f.db.FlushAll(soon(t)).Err(); err != nil {
		t.Fatal(err)
	}
	f.awaitAll()
	f.setMany("0")
	f.add("3")
	f.await("3")
}

func TestWatchFindsEntriesWithinFiveSecondsWhereTrackingIsRefused(t *testing.T) {
	t.Parallel()
	for _, refused := range []string{"-client|tracking", "-client|id", "resetchannels"} {
		t.Run(refused, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			db := redistest.Open(t, server.URL(0))
			rules := []string{"on", "nopass", "~*", "&*", "+@all", refused}
			if err := db.ACLSetUser(soon(t), "limited", rules...).Err(); err != nil {
				t.Fatal(err)
			}
			limited := open(t, strings.Replace(server.URL(0), "unix://", "unix://limited:any@", 1), rdb.Options{})
			f := newWatchFixture(t, db, limited)
			f.setMany("0")
			var took [2]time.Duration // one of them may be late, on a busy machine
			for i, name := range []string{"7", "8"} {
				began := time.Now()
				f.add(name)
				f.await(name)
				took[i] = time.Since(began)
			}
			if min(took[0], took[1]) > 5*time.Second {
				t.Errorf("found after %s", took)
			}
			// Those from before the streams were many end, but for the last one.
			for start := time.Now(); len(f.clients(` flags=\w*b`)) > 1; {
				if time.Since(start) > patience {
					t.Fatalf("several connections stay blocked: %s", f.listed)
				}
			}
		})
	}
}

func TestWatchTracksStreamsWhoseEntriesAreLarge(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	f := newWatchFixture(t, redistest.Open(t, server.URL(0)), open(t, server.URL(0), rdb.Options{}))
	f.set("a", "0")
	f.set("b", "0")
	large := []string{"args", strings.Repeat("x", 5000)}
	id, err := f.db.XAdd(context.Background(), &redis.XAddArgs{Stream: f.key("a"), Values: large}).Result()
	if err != nil {
		t.Fatal(err)
	}
	f.await("a")
	f.set("a", id)
	f.awaitTracked()
	f.add("a")
	f.await("a")
	f.add("b")
	f.await("b")
}

func TestWatchGoesOnBesideAKeyThatIsNoStream(t *testing.T) {
	t.Parallel()
	f := newTrackedFixture(t)
	if err := f.db.Set(soon(t), f.key("odd"), "text", 0).Err(); err != nil {
		t.Fatal(err)
	}
	f.set("odd", "0")
	f.awaitAll()
	f.next() // they are one more
	f.setMany("0")
	f.add("3")
	f.await("3")
}
