package redistest_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

func TestEveryMasterTakesKeysAtOnce(t *testing.T) {
	t.Parallel()
	db := redistest.ClusterDB(t)
	took := map[string]int{}
	for i := range 64 {
		key := fmt.Sprintf("%s:%d", db.Prefix(), i)
		if err := db.Set(t.Context(), key, i, 0).Err(); err != nil {
			t.Fatal(err)
		}
		node, err := db.UniversalClient.(*redis.ClusterClient).MasterForKey(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		took[node.Options().Addr]++
	}
	if len(took) != 3 {
		t.Errorf("64 keys went to %d masters: %v", len(took), took)
	}
	for addr := range took {
		if !strings.Contains(redistest.Cluster(t), addr) {
			t.Errorf("%s is not in %s", addr, redistest.Cluster(t))
		}
	}
}

func TestEveryMasterKnowsAllSlotsFromTheStart(t *testing.T) {
	t.Parallel()
	for addr := range strings.SplitSeq(strings.TrimPrefix(redistest.Cluster(t), "redis+cluster://"), ",") {
		db := redistest.Open(t, "redis://"+addr)
		ranges, err := db.ClusterSlots(t.Context()).Result()
		if err != nil {
			t.Fatal(err)
		}
		covered := 0
		for _, r := range ranges {
			covered += r.End - r.Start + 1
			if len(r.Nodes) != 1 || !strings.HasPrefix(r.Nodes[0].Addr, "127.0.0.1:") {
				t.Errorf("%s: slots %d to %d are served by %v", addr, r.Start, r.End, r.Nodes)
			}
		}
		if covered != 16384 {
			t.Errorf("%s knows of %d slots", addr, covered)
		}
	}
}

func TestKeysOfATestOnTheClusterAreGoneAfterIt(t *testing.T) {
	t.Parallel()
	var prefix string
	other := redistest.ClusterDB(t)
	if err := other.Set(t.Context(), other.Prefix()+":stays", 1, 0).Err(); err != nil {
		t.Fatal(err)
	}
	t.Run("a test that leaves keys behind", func(t *testing.T) {
		db := redistest.ClusterDB(t)
		prefix = db.Prefix()
		for i := range 2500 { // more than one page of a scan
			if err := db.Set(t.Context(), fmt.Sprintf("%s:%d", prefix, i), "v", 0).Err(); err != nil {
				t.Fatal(err)
			}
		}
	})
	if prefix == other.Prefix() {
		t.Fatal("two tests share a prefix")
	}
	err := other.UniversalClient.(*redis.ClusterClient).ForEachMaster(t.Context(), func(ctx context.Context, node *redis.Client) error {
		for keys := node.Scan(ctx, 0, prefix+"*", 1000).Iterator(); ; {
			if !keys.Next(ctx) {
				return keys.Err()
			}
			t.Errorf("%s is still there", keys.Val())
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := other.Exists(t.Context(), other.Prefix()+":stays").Val(); n != 1 {
		t.Error("the key of a test that still runs is gone")
	}
}

func TestAllBackendsAreDifferentAndWork(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		_, clustered := db.UniversalClient.(*redis.ClusterClient)
		if name := t.Name()[strings.LastIndexByte(t.Name(), '/')+1:]; clustered != (name == "cluster") || db.Embedded() != (name == "embedded") {
			t.Errorf("the run %q has %v", name, db)
		}
		n, err := db.Eval(t.Context(), "return redis.call('INCR', KEYS[1])", []string{db.Prefix() + ":{q}:n"}).Int()
		if n != 1 || err != nil {
			t.Errorf("the count is %d, the error %v", n, err)
		}
	})
}
