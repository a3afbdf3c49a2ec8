package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/internal/rdb"
)

// facts are the reports of one server, and measurements.
type facts struct {
	info         map[string]string // of INFO; nil: not allowed
	config       map[string]string // of CONFIG GET; nil: not allowed
	cluster      bool              // whether the connection is to a Cluster
	clusterState string            // of CLUSTER INFO
	pings        []time.Duration   // sorted
	ahead        time.Duration     // by how much its clock is ahead of this machine's
	access       access
	untracked    error      // why the server does not track keys, nil if it does
	lines        *lineFacts // nil: not allowed
	prefix       string
}

// settings are read with CONFIG GET.
var settings = []string{
	"appendfsync", "save", "timeout", "tcp-keepalive", "maxmemory", "maxmemory-policy",
	"min-replicas-to-write", "busy-reply-threshold", "maxclients",
}

// isReply reports whether err is a reply of the server, not a failure of the
// connection.
func isReply(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply)
}

// gather returns the facts of a server. The error is one of the connection.
func gather(ctx context.Context, client *redis.Client, cluster bool, prefix string) (*facts, error) {
	f := &facts{cluster: cluster, prefix: prefix}
	text, err := client.Info(ctx).Result()
	switch {
	case err == nil:
		f.info = rdb.ParseInfo(text)
	case !isReply(err):
		return nil, err
	}
	for _, name := range settings { // some may be hidden, or unknown to this version
		values, err := client.ConfigGet(ctx, name).Result()
		if err != nil && !isReply(err) {
			return nil, err
		}
		if err == nil {
			if f.config == nil {
				f.config = map[string]string{}
			}
			maps.Copy(f.config, values)
		}
	}
	if f.cluster {
		state, err := client.ClusterInfo(ctx).Result()
		if err != nil && !isReply(err) {
			return nil, err
		}
		f.clusterState = rdb.ParseInfo(state)["cluster_state"]
	}
	if f.access, err = accessOf(ctx, client, prefix); err != nil {
		return nil, err
	}
	f.untracked = rdb.CheckTracking(ctx, client)
	if f.lines, err = linesOf(ctx, client, prefix); err != nil {
		return nil, err
	}
	return f, f.measure(ctx, client)
}

// pingCount is how many round trips are measured.
const pingCount = 200

// measure times some round trips and compares the clocks.
func (f *facts) measure(ctx context.Context, client *redis.Client) error {
	for range pingCount {
		begin := time.Now()
		if err := client.Ping(ctx).Err(); err != nil {
			return err
		}
		f.pings = append(f.pings, time.Since(begin))
	}
	slices.Sort(f.pings)
	begin := time.Now()
	now, err := client.Time(ctx).Result()
	if err != nil {
		if isReply(err) {
			return nil // the check of access reports it
		}
		return err
	}
	f.ahead = now.Sub(begin.Add(time.Since(begin) / 2))
	return nil
}

// number returns a number of INFO, zero if there is none.
func (f *facts) number(name string) int64 {
	n, _ := strconv.ParseInt(f.info[name], 10, 64)
	return n
}

// setting returns a setting, which INFO may report too, under another name.
func (f *facts) setting(name string) (value string, known bool) {
	if value, known = f.config[name]; known {
		return value, true
	}
	value, known = f.info[strings.ReplaceAll(name, "-", "_")]
	return value, known
}

// set returns the lines that change a setting now, and for good.
func set(name, value string) []string {
	return []string{
		fmt.Sprintf("redis-cli CONFIG SET %s %s", name, value),
		fmt.Sprintf("redis.conf: %s %s", name, value),
	}
}
