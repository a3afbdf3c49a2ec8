package ops

import (
	"bufio"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"skidway/internal/rdb"
)

// A Server is what a Redis reports of itself; of a Cluster, one of its servers.
type Server struct {
	Embedded   bool // it is inside this process; the rest is not known
	Version    string
	Uptime     time.Duration
	Used, Max  int64 // bytes of memory; Max is zero without a limit
	AppendOnly bool
	LastSave   time.Time // of a snapshot
	Replicas   []Replica
	RoundTrip  time.Duration // the shortest PING of the last minute
	Slowest    time.Duration // the longest of them
}

// A Replica is a copy of a server.
type Replica struct {
	Address string
	Online  bool
	Lag     time.Duration // since it has confirmed
}

// readServer reads INFO.
func readServer(ctx context.Context, db *rdb.DB) (*Server, error) {
	text := ""
	err := db.Retry(ctx, func() (err error) {
		text, err = db.Info(ctx, "server", "memory", "persistence", "replication").Result()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read INFO: %w", err)
	}
	return parseServer(text), nil
}

// parseServer reads the lines "name:value" of INFO.
func parseServer(text string) *Server {
	s := &Server{}
	number := func(value string) int64 { n, _ := strconv.ParseInt(value, 10, 64); return n }
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		name, value, found := strings.Cut(lines.Text(), ":")
		switch {
		case !found:
		case name == "valkey_version", name == "redis_version" && s.Version == "":
			s.Version = value
		case name == "uptime_in_seconds":
			s.Uptime = time.Duration(number(value)) * time.Second
		case name == "used_memory":
			s.Used = number(value)
		case name == "maxmemory":
			s.Max = number(value)
		case name == "aof_enabled":
			s.AppendOnly = value == "1"
		case name == "rdb_last_save_time":
			s.LastSave = time.Unix(number(value), 0)
		case strings.HasPrefix(name, "slave") && strings.Contains(value, "ip="):
			s.Replicas = append(s.Replicas, parseReplica(value))
		}
	}
	return s
}

// parseReplica reads "ip=…,port=…,state=online,offset=…,lag=0".
func parseReplica(text string) Replica {
	fields := map[string]string{}
	for part := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(part, "=")
		fields[name] = value
	}
	lag, _ := strconv.Atoi(fields["lag"])
	return Replica{fields["ip"] + ":" + fields["port"], fields["state"] == "online", time.Duration(lag) * time.Second}
}
