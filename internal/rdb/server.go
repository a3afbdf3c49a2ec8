package rdb

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// OldestMajor is the oldest major version of Redis that is supported.
const OldestMajor = 7

// A Server is the identity that Redis reports.
type Server struct {
	Name       string // "redis", "valkey" or "embedded"
	Version    string // "7.0.15"; empty when an ACL hides INFO
	Policy     string // the setting maxmemory-policy
	MaxMemory  int64  // the setting maxmemory in bytes; 0: no limit
	UsedMemory int64  // bytes
	Addr       string // of a master of a Cluster, from [DB.Servers]; else empty
}

// UnfitServerError is why a server is not fit for data that must not be lost, and
// what to change.
type UnfitServerError struct{ Reason string }

func (e *UnfitServerError) Error() string { return "this Redis can't be used: " + e.Reason }

// Check asks the server, or each master of a Cluster, what it is, and refuses one that is
// too old or that drops keys when memory is short. It returns the one that it refuses, or
// the first one by address. A server whose ACL hides INFO passes. A master that does not
// answer is not checked if another one answers: the part of a Cluster that works can be used.
func (db *DB) Check(ctx context.Context) (Server, error) {
	if db.Embedded() {
		return Server{Name: "embedded"}, nil
	}
	var servers []Server
	err := db.Retry(ctx, func() (err error) {
		servers, err = db.Servers(ctx)
		if len(servers) > 0 && ctx.Err() == nil {
			return nil
		}
		return err
	})
	if err != nil {
		return Server{}, err
	}
	for _, server := range servers {
		if err := server.fit(); err != nil {
			return server, err
		}
	}
	return servers[0], nil
}

// EachMaster calls f with a client of the server, or at the same time with one
// of each master of a Cluster; name is the address of the master, and empty
// where there is no Cluster. It returns the first error, an [UnreachableError]
// where the connection failed.
func (db *DB) EachMaster(ctx context.Context, f func(ctx context.Context, client *redis.Client, name string) error) error {
	switch client := db.UniversalClient.(type) {
	case *redis.Client:
		return db.explain(f(ctx, client, ""))
	case *redis.ClusterClient:
		return db.explain(client.ForEachMaster(ctx, func(ctx context.Context, client *redis.Client) error {
			return f(ctx, client, client.Options().Addr)
		}))
	}
	return fmt.Errorf("%s: unknown kind of connection", db.name)
}

// MasterOf returns the address of the master of a key, empty where there is no Cluster.
func (db *DB) MasterOf(ctx context.Context, key string) (string, error) {
	cluster, ok := db.UniversalClient.(*redis.ClusterClient)
	if !ok {
		return "", nil
	}
	master, err := cluster.MasterForKey(ctx, key)
	if err != nil {
		return "", db.explain(err)
	}
	return master.Options().Addr, nil
}

// Servers returns the server, or all masters of a Cluster in the order of their addresses,
// as INFO describes them. Of a server whose ACL hides INFO it returns only the Name "redis"
// and the address. After an error it returns those that have answered.
func (db *DB) Servers(ctx context.Context) (servers []Server, err error) {
	var mu sync.Mutex
	err = db.EachMaster(ctx, func(ctx context.Context, client *redis.Client, name string) error {
		text, err := client.Info(ctx).Result()
		if err != nil && (!isAnswer(err) || Refused(err)) {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		server := ServerOf(ParseInfo(text))
		server.Addr = name
		servers = append(servers, server)
		return nil
	})
	slices.SortFunc(servers, func(a, b Server) int { return strings.Compare(a.Addr, b.Addr) })
	return servers, err
}

// ProcessorTime returns the processor time that the main thread of the server with a key has used. It
// is zero where the server does not report it, as the embedded one.
func (db *DB) ProcessorTime(ctx context.Context, key string) (used time.Duration, err error) {
	if db.Embedded() {
		return 0, nil
	}
	var info *redis.StringCmd
	err = db.ReadTogether(ctx, key, func(pipe redis.Pipeliner) { info = pipe.Info(ctx, "cpu") })
	if err == nil {
		err = info.Err()
	}
	if err != nil {
		return 0, err
	}
	fields := ParseInfo(info.Val())
	for _, name := range []string{"used_cpu_user_main_thread", "used_cpu_sys_main_thread"} {
		seconds, _ := strconv.ParseFloat(fields[name], 64)
		used += time.Duration(seconds * float64(time.Second))
	}
	return used, nil
}

// TimeOf returns the time by the clock of the server with a key.
func (db *DB) TimeOf(ctx context.Context, key string) (time.Time, error) {
	var now *redis.TimeCmd
	if err := db.ReadTogether(ctx, key, func(pipe redis.Pipeliner) { now = pipe.Time(ctx) }); err != nil {
		return time.Time{}, err
	}
	return now.Result()
}

// ParseInfo returns the fields of the reply to INFO or CLUSTER INFO.
func ParseInfo(text string) map[string]string {
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[name] = value
		}
	}
	return fields
}

// ServerOf returns the server whose INFO has these fields.
func ServerOf(fields map[string]string) Server {
	server := Server{Name: "redis", Version: fields["redis_version"], Policy: fields["maxmemory_policy"]}
	server.MaxMemory, _ = strconv.ParseInt(fields["maxmemory"], 10, 64)
	server.UsedMemory, _ = strconv.ParseInt(fields["used_memory"], 10, 64)
	if version := fields["valkey_version"]; version != "" {
		server.Name, server.Version = "valkey", version
	}
	return server
}

// TooOld reports whether the server is older than [OldestMajor].
func (s Server) TooOld() bool {
	head, _, _ := strings.Cut(s.Version, ".")
	major, err := strconv.Atoi(head)
	return err == nil && major < OldestMajor
}

func (s Server) fit() error {
	master := ""
	if s.Addr != "" {
		master = "master " + s.Addr + ": "
	}
	if s.TooOld() {
		return &UnfitServerError{fmt.Sprintf("%sits version is %s; Skidway needs Redis %d.0 or newer", master, s.Version, OldestMajor)}
	}
	// The volatile-* policies can drop rooms and idle mailboxes, which expire by
	// themselves. Nothing else that expires is more than a wake-up, so they are
	// reported by the doctor and not refused: some hosts allow no other.
	if strings.HasPrefix(s.Policy, "allkeys-") {
		return &UnfitServerError{fmt.Sprintf("%smaxmemory-policy is %s, which drops data when memory is short; set maxmemory-policy to noeviction", master, s.Policy)}
	}
	return nil
}
