package rdb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// A Level says how bad a [Finding] is.
type Level string

// The levels.
const (
	Fine    Level = "ok"
	Warning Level = "warning" // works, and may lose or stop something one day
	Problem Level = "problem" // something does not work, or loses jobs
	Unknown Level = "unknown" // the server does not let us look
)

// A Finding is what a checkup says of one topic.
type Finding struct {
	Topic  string // "version", "eviction", …
	Server string // which server of a Cluster; empty where there is one only
	Level  Level
	Found  string   // how it is, in words
	Why    string   // what can happen; empty where all is well
	Change []string // lines for redis-cli, redis.conf or an ACL file that mend it
}

// Checkup looks at all that can make a Redis lose or stop jobs, on every master
// of a Cluster, and says what to change. What the server does not let it see is
// a finding of level [Unknown]. The error is an [UnreachableError], or that ctx
// is done. It takes some hundred round trips and changes nothing.
func (db *DB) Checkup(ctx context.Context) ([]Finding, error) {
	if db.Embedded() {
		return []Finding{{
			Topic: "server", Level: Fine,
			Found: "embedded: a Redis inside this process. It serves demonstrations and runs of one process, keeps nothing and has no settings",
		}}, nil
	}
	switch client := db.UniversalClient.(type) {
	case *redis.Client:
		return db.checkServer(ctx, client, "")
	case *redis.ClusterClient:
		var mu sync.Mutex
		var findings []Finding
		err := client.ForEachMaster(ctx, func(ctx context.Context, client *redis.Client) error {
			of, err := db.checkServer(ctx, client, client.Options().Addr)
			mu.Lock()
			defer mu.Unlock()
			findings = append(findings, of...)
			return err
		})
		slices.SortStableFunc(findings, func(a, b Finding) int { return strings.Compare(a.Server, b.Server) })
		return findings, db.explain(err)
	}
	return nil, errors.New("check " + db.name + ": unknown kind of connection")
}

// facts are what one server says of itself.
type facts struct {
	info         map[string]string // of INFO; nil: not allowed
	config       map[string]string // of CONFIG GET; nil: not allowed
	cluster      bool              // that is how we are connected
	clusterState string            // of CLUSTER INFO
	pings        []time.Duration   // sorted
	ahead        time.Duration     // by how much its clock is ahead of this machine's
	access       access
	prefix       string
}

// looked are the settings that are looked at.
var looked = []string{
	"appendfsync", "save", "timeout", "tcp-keepalive", "maxmemory", "maxmemory-policy",
	"min-replicas-to-write", "busy-reply-threshold", "maxclients",
}

func (db *DB) checkServer(ctx context.Context, client *redis.Client, name string) ([]Finding, error) {
	f := facts{cluster: name != "", prefix: db.Prefix()}
	text, err := client.Info(ctx).Result()
	switch {
	case err == nil:
		f.info = infoFields(text)
	case !isAnswer(err):
		return nil, db.explain(err)
	}
	for _, name := range looked { // some may be hidden, or unknown to this version
		values, err := client.ConfigGet(ctx, name).Result()
		if err != nil && !isAnswer(err) {
			return nil, db.explain(err)
		}
		if err == nil {
			if f.config == nil {
				f.config = map[string]string{}
			}
			for name, value := range values {
				f.config[name] = value
			}
		}
	}
	if f.cluster {
		state, err := client.ClusterInfo(ctx).Result()
		if err != nil && !isAnswer(err) {
			return nil, db.explain(err)
		}
		f.clusterState = infoFields(state)["cluster_state"]
	}
	if f.access, err = accessOf(ctx, client, db.Prefix()); err != nil {
		return nil, db.explain(err)
	}
	if err := f.measure(ctx, client); err != nil {
		return nil, db.explain(err)
	}
	var findings []Finding
	for _, check := range []func(*facts) []Finding{
		(*facts).version, (*facts).eviction, (*facts).memory, (*facts).persistence, (*facts).replication,
		(*facts).slots, (*facts).connections, (*facts).clock, (*facts).latency, (*facts).allowed,
	} {
		for _, finding := range check(&f) {
			finding.Server = name
			findings = append(findings, finding)
		}
	}
	return findings, nil
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
		if isAnswer(err) {
			return nil // access tells
		}
		return err
	}
	f.ahead = now.Sub(begin.Add(time.Since(begin) / 2))
	return nil
}

func infoFields(text string) map[string]string {
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[name] = value
		}
	}
	return fields
}

// number gives a number of INFO, zero where there is none.
func (f *facts) number(name string) int64 {
	n, _ := strconv.ParseInt(f.info[name], 10, 64)
	return n
}

// setting gives a setting, which INFO may tell too, under another name.
func (f *facts) setting(name string) (value string, known bool) {
	if value, known = f.config[name]; known {
		return value, true
	}
	value, known = f.info[strings.ReplaceAll(name, "-", "_")]
	return value, known
}

// set gives the lines that change a setting now, and for good.
func set(name, value string) []string {
	return []string{
		fmt.Sprintf("redis-cli CONFIG SET %s %s", name, value),
		fmt.Sprintf("redis.conf: %s %s", name, value),
	}
}

// hidden is the finding where a topic can't be looked at.
func hidden(topic, command string) []Finding {
	return []Finding{{Topic: topic, Level: Unknown, Found: "could not look: this user may not run " + command}}
}
