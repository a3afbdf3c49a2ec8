package redistest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/internal/rdb"
)

// slots is how many hash slots every Redis Cluster has.
const slots = 16384

// nodes are the nodes of a Redis Cluster: the masters, and behind them the replicas of the
// first masters.
type nodes []*Server

const clusterMasters = 3 // of the shared cluster

var sharedCluster = struct {
	once  sync.Once
	nodes nodes
	url   string
	err   error
}{}

// Cluster returns the URL of a Redis Cluster of three masters that all tests of
// the binary share. The first call starts it, which takes two to three
// seconds: for the first two after their start masters refuse all keys. Most
// tests want [ClusterDB] instead.
func Cluster(t testing.TB) string {
	t.Helper()
	sharedCluster.once.Do(func() {
		sharedCluster.nodes, sharedCluster.url, sharedCluster.err = startCluster(clusterMasters, 0)
	})
	if sharedCluster.err != nil {
		t.Fatal(sharedCluster.err)
	}
	return sharedCluster.url
}

// OwnCluster starts a Redis Cluster of three masters for one test, which may kill and restart them,
// and returns its URL. masterOf returns the master of a slot.
func OwnCluster(t testing.TB) (url string, masterOf func(slot int64) *Server) {
	t.Helper()
	n, url, err := startCluster(clusterMasters, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.remove)
	return url, func(slot int64) *Server {
		for i := range clusterMasters {
			if slot < int64((i+1)*slots/clusterMasters) {
				return n[i]
			}
		}
		return nil
	}
}

// ReplicatedCluster starts a Redis Cluster of one master with a replica, and returns its URL.
// detach makes the replica receive no more writes, failover makes it the master and kills the other
// one. Both end with the test.
func ReplicatedCluster(t testing.TB) (url string, detach, failover func()) {
	t.Helper()
	n, url, err := startCluster(1, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.remove)
	send := func(i int, command ...any) {
		client := n[i].client()
		defer func() { _ = client.Close() }()
		if err := client.Do(t.Context(), command...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	detach = func() {
		send(1, "CONFIG", "SET", "masteruser", "unknown", "masterauth", "unknown") // it cannot connect again
		send(0, "CLIENT", "KILL", "TYPE", "replica")
	}
	return url, detach, func() {
		send(1, "CLUSTER", "FAILOVER", "TAKEOVER")
		n[0].Kill()
	}
}

// startCluster tries again if another process took one of its ports between
// the choice and the start: Redis has no option to choose one itself.
func startCluster(masters, replicas int) (n nodes, url string, err error) {
	for range 5 {
		if n, url, err = tryCluster(masters, replicas); !errors.Is(err, errEnded) {
			break
		}
	}
	return n, url, err
}

func tryCluster(masters, replicas int) (n nodes, url string, err error) {
	defer func() {
		if err != nil {
			n.remove()
			n = nil
		}
	}()
	count := masters + replicas
	ports, err := freePorts(2 * count)
	if err != nil {
		return n, "", err
	}
	own, bus := ports[:count], ports[count:]
	for i := range count {
		server, err := start("--bind", "127.0.0.1", "--port", own[i], "--databases", "1",
			"--cluster-enabled", "yes", "--cluster-port", bus[i], "--cluster-announce-ip", "127.0.0.1",
			// On a busy machine no node shall be declared dead.
			"--cluster-node-timeout", "60000", "--repl-diskless-sync-delay", "0")
		if err != nil {
			return n, "", err
		}
		n = append(n, server)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := n.join(ctx, masters, own, bus); err != nil {
		return n, "", err
	}
	if err := n.replicate(ctx, masters); err != nil {
		return n, "", err
	}
	return n, "redis+cluster://127.0.0.1:" + strings.Join(own, ",127.0.0.1:"), nil
}

// freePorts returns different ports of loopback that nothing listens on.
func freePorts(count int) ([]string, error) {
	ports := make([]string, 0, count)
	for range count {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer func() { _ = listener.Close() }() // only when all are chosen
		ports = append(ports, strconv.Itoa(listener.Addr().(*net.TCPAddr).Port))
	}
	return ports, nil
}

// join makes a cluster of the nodes, deals the slots out to the masters and waits until every
// node knows the others and their slots.
func (n nodes) join(ctx context.Context, masters int, own, bus []string) error {
	err := n.each(func(i int, client *redis.Client) error {
		// Its own epoch for each, or they would have to settle that first.
		calls := [][]any{{"SET-CONFIG-EPOCH", i + 1}}
		if i < masters {
			calls = append(calls, []any{"ADDSLOTSRANGE", i * slots / masters, (i+1)*slots/masters - 1})
		}
		for j := range i { // gossip would come round to it too, later
			calls = append(calls, []any{"MEET", "127.0.0.1", own[j], bus[j]})
		}
		for _, call := range calls {
			if err := client.Do(ctx, append([]any{"CLUSTER"}, call...)...).Err(); err != nil {
				return fmt.Errorf("CLUSTER %v: %w", call[0], err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return n.each(func(_ int, client *redis.Client) error { return n.settled(ctx, client, masters) })
}

// replicate makes the nodes behind the masters replicas of the first ones, and waits until
// they have their data and the masters name them to clients, which ask no others.
func (n nodes) replicate(ctx context.Context, masters int) error {
	return n.each(func(i int, client *redis.Client) error {
		if i < masters {
			return nil
		}
		master := n[i-masters].client()
		defer func() { _ = master.Close() }()
		id, err := master.ClusterMyID(ctx).Result()
		if err != nil {
			return err
		}
		if err := client.ClusterReplicate(ctx, id).Err(); err != nil {
			return err
		}
		if err := n[i].replicates(ctx); err != nil {
			return err
		}
		for !strings.Contains(master.ClusterNodes(ctx).Val(), "slave "+id) {
			if err := rdb.Sleep(ctx, pollPause); err != nil {
				return err
			}
		}
		return nil
	})
}

// settled asks one node again and again, as [Server.ready] does.
func (n nodes) settled(ctx context.Context, client *redis.Client, masters int) error {
	for {
		info, err := client.ClusterInfo(ctx).Result()
		if err == nil && n.complete(info, masters) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the cluster was not complete within 30 s: %s (%v)", info, err)
		case <-time.After(pollPause):
		}
	}
}

func (n nodes) complete(info string, masters int) bool {
	for _, line := range []string{
		"cluster_state:ok",
		"cluster_slots_ok:" + strconv.Itoa(slots),
		"cluster_size:" + strconv.Itoa(masters),
		"cluster_known_nodes:" + strconv.Itoa(len(n)), // none is still shaking hands
	} {
		if !strings.Contains(info, line+"\r\n") {
			return false
		}
	}
	return true
}

// drop deletes the keys of a prefix, each by itself: a cluster takes no command
// on keys of different slots.
func (n nodes) drop(ctx context.Context, prefix string) error {
	return n.each(func(_ int, client *redis.Client) error {
		// A prefix has no characters that mean something in a pattern.
		for keys := client.Scan(ctx, 0, prefix+"*", 1000).Iterator(); ; {
			if !keys.Next(ctx) {
				return keys.Err()
			}
			if err := client.Unlink(ctx, keys.Val()).Err(); err != nil {
				return err
			}
		}
	})
}

// each calls a function for one node after the other.
func (n nodes) each(do func(i int, client *redis.Client) error) error {
	for i, server := range n {
		client := server.client()
		err := do(i, client)
		_ = client.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

func (n nodes) remove() {
	for _, server := range n {
		server.remove()
	}
}
