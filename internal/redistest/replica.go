package redistest

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/internal/rdb"
)

// StartReplicas starts a replica of the server, or of each master of the Cluster, that db
// is connected to. It returns when they have the data of their masters. They end with the
// test. A server without a port gets one.
func StartReplicas(t testing.TB, db *rdb.DB) []*Server {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var mu sync.Mutex
	var ports []string
	err := db.EachMaster(ctx, func(ctx context.Context, master *redis.Client, _ string) error {
		port, err := portOf(ctx, master)
		mu.Lock()
		defer mu.Unlock()
		ports = append(ports, port)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var replicas []*Server
	for _, port := range ports {
		replica := Start(t, "--replicaof", "127.0.0.1 "+port)
		if err := replica.replicates(ctx); err != nil {
			t.Fatal(err)
		}
		replicas = append(replicas, replica)
	}
	return replicas
}

// portOf returns the port of a server, which gets one if it has none, and lets its replicas
// start at once instead of 5 s later.
func portOf(ctx context.Context, master *redis.Client) (string, error) {
	if err := master.ConfigSet(ctx, "repl-diskless-sync-delay", "0").Err(); err != nil {
		return "", err
	}
	settings, err := master.ConfigGet(ctx, "port").Result()
	if port := settings["port"]; err != nil || port != "0" {
		return port, err
	}
	free, err := freePorts(1)
	if err != nil {
		return "", err
	}
	return free[0], master.ConfigSet(ctx, "port", free[0]).Err()
}

// replicates blocks until the server is connected to its master. It asks again and again,
// as [Server.ready] does.
func (s *Server) replicates(ctx context.Context) error {
	client := s.client()
	defer func() { _ = client.Close() }()
	for !strings.Contains(client.Info(ctx, "replication").Val(), "master_link_status:up") {
		if err := rdb.Sleep(ctx, pollPause); err != nil {
			return err
		}
	}
	return nil
}
