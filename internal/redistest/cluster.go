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
)

// slots is how many hash slots every Redis Cluster has.
const slots = 16384

// nodes are the masters of a Redis Cluster.
type nodes []*Server

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
		sharedCluster.nodes, sharedCluster.url, sharedCluster.err = startCluster()
	})
	if sharedCluster.err != nil {
		t.Fatal(sharedCluster.err)
	}
	return sharedCluster.url
}

// startCluster tries again if another process took one of its ports between
// the choice and the start: Redis has no option to choose one itself.
func startCluster() (n nodes, url string, err error) {
	for range 5 {
		if n, url, err = tryCluster(); !errors.Is(err, errEnded) {
			break
		}
	}
	return n, url, err
}

func tryCluster() (n nodes, url string, err error) {
	defer func() {
		if err != nil {
			n.remove()
			n = nil
		}
	}()
	const masters = 3
	ports, err := freePorts(2 * masters)
	if err != nil {
		return n, "", err
	}
	own, bus := ports[:masters], ports[masters:]
	for i := range masters {
		server, err := start("--bind", "127.0.0.1", "--port", own[i], "--databases", "1",
			"--cluster-enabled", "yes", "--cluster-port", bus[i], "--cluster-announce-ip", "127.0.0.1",
			// On a busy machine no node shall be declared dead.
			"--cluster-node-timeout", "60000")
		if err != nil {
			return n, "", err
		}
		n = append(n, server)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := n.join(ctx, own, bus); err != nil {
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

// join makes a cluster of the nodes, deals the slots out and waits until every
// node takes keys and knows the others and their slots.
func (n nodes) join(ctx context.Context, own, bus []string) error {
	err := n.each(func(i int, client *redis.Client) error {
		first, last := i*slots/len(n), (i+1)*slots/len(n)-1
		// Its own epoch for each, or they would have to settle that first.
		calls := [][]any{{"SET-CONFIG-EPOCH", i + 1}, {"ADDSLOTSRANGE", first, last}}
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
	return n.each(func(_ int, client *redis.Client) error { return n.settled(ctx, client) })
}

// settled asks one node again and again, as [Server.ready] does.
func (n nodes) settled(ctx context.Context, client *redis.Client) error {
	for {
		info, err := client.ClusterInfo(ctx).Result()
		if err == nil && n.complete(info) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the cluster was not complete within 30 s: %s (%v)", info, err)
		case <-time.After(pollPause):
		}
	}
}

func (n nodes) complete(info string) bool {
	for _, line := range []string{
		"cluster_state:ok",
		"cluster_slots_ok:" + strconv.Itoa(slots),
		"cluster_size:" + strconv.Itoa(len(n)),        // masters with slots
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
