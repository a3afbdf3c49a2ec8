package redistest

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"skidway/internal/rdb"
)

// DB opens an empty database of the shared server for one test and closes it
// with the test. It checks every script call for the rule that all keys of a
// script lie on one slot.
func DB(t testing.TB) *rdb.DB {
	t.Helper()
	return Open(t, URL(t))
}

// Open opens a URL for one test and closes it with the test, with the same
// checks as [DB].
func Open(t testing.TB, url string) *rdb.DB {
	t.Helper()
	return open(t, url, rdb.Options{})
}

// OpenOnce is [Open] for a client that tries each command once.
func OpenOnce(t testing.TB, url string) *rdb.DB {
	t.Helper()
	return open(t, url, rdb.Options{Patience: -1})
}

func open(t testing.TB, url string, options rdb.Options) *rdb.DB {
	t.Helper()
	db, err := rdb.Open(context.Background(), url, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	db.AddHook(slotCheck{t})
	return db
}

// ClusterDB opens the shared cluster for one test and closes it with the test,
// with the same checks as [DB]. A cluster has no separate databases, so
// the test has a prefix of its own, [rdb.DB.Prefix], and has to put all its
// keys behind it: then it finds none of others, and its own are deleted when
// it ends.
func ClusterDB(t testing.TB) *rdb.DB {
	t.Helper()
	url, prefix := Cluster(t), "test-"+rand.Text()
	t.Cleanup(func() { // runs after the DB is closed: nothing writes any more
		if err := sharedCluster.nodes.drop(context.Background(), prefix); err != nil {
			t.Errorf("delete the keys of a test: %v", err)
		}
	})
	return open(t, url, rdb.Options{Prefix: prefix})
}

// Backends runs a test on a real server and on the embedded one.
func Backends(t *testing.T, test func(t *testing.T, db *rdb.DB)) {
	t.Run("redis", func(t *testing.T) { t.Parallel(); test(t, DB(t)) })
	t.Run("embedded", func(t *testing.T) { t.Parallel(); test(t, Open(t, "embedded:")) })
}

// AllBackends is [Backends] and, as a third run, the shared cluster, see
// [ClusterDB]. The test may assume nothing of the prefix and must not look at
// the whole server, as DBSIZE and SCAN do.
func AllBackends(t *testing.T, test func(t *testing.T, db *rdb.DB)) {
	Backends(t, test)
	t.Run("cluster", func(t *testing.T) { t.Parallel(); test(t, ClusterDB(t)) })
}

// slotCheck fails a test when a script gets keys with different hash tags,
// which a Redis Cluster would refuse.
type slotCheck struct{ t testing.TB }

func (slotCheck) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c slotCheck) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.check(cmd)
		return next(ctx, cmd)
	}
}

func (c slotCheck) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			c.check(cmd)
		}
		return next(ctx, cmds)
	}
}

func (c slotCheck) check(cmd redis.Cmder) {
	if name := cmd.Name(); name != "eval" && name != "evalsha" {
		return
	}
	args := cmd.Args()
	var count int
	if _, err := fmt.Sscan(fmt.Sprint(args[2]), &count); err != nil || len(args) < 3+count {
		c.t.Errorf("script call with a bad number of keys: %v", args[2])
		return
	}
	for _, key := range args[3:][:count] {
		if tag(fmt.Sprint(key)) != tag(fmt.Sprint(args[3])) {
			c.t.Errorf("keys of one script on different slots: %v and %v", args[3], key)
		}
	}
}

// tag is what Redis hashes of a key.
func tag(key string) string {
	if _, rest, ok := strings.Cut(key, "{"); ok {
		if inner, _, ok := strings.Cut(rest, "}"); ok && inner != "" {
			return inner
		}
	}
	return key
}
