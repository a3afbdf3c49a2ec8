// Package doctor checks the Redis that Skidway uses: whether it can lose or stop
// jobs, and which lines of its configuration correct that. It changes nothing.
//
//	findings, err := doctor.Check(ctx, db)
//
// Each check is a row of a table: its topic, the command that it depends on, and
// the function that judges the facts of one server.
package doctor

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"skidway/internal/rdb"
)

// Level is how bad a [Finding] is.
type Level string

// The levels.
const (
	Fine    Level = "ok"
	Warning Level = "warning" // works, and may lose or stop something one day
	Problem Level = "problem" // something does not work, or loses jobs
	Unknown Level = "unknown" // the user may not read the facts
)

// A Finding is the result of a check.
type Finding struct {
	Topic  string // "version", "eviction", …
	Server string // which server of a Cluster; empty if there is only one
	Level  Level
	Found  string   // the state, in words
	Why    string   // what can happen; empty if all is well
	Change []string // lines for redis-cli, redis.conf or an ACL file that correct it
}

// A check judges one topic. Its findings need no topic, no server and, if all is
// well, no level.
type check struct {
	topic string
	needs need
	judge func(*facts) []Finding
}

// A need is a command without which a check has no facts to judge.
type need struct {
	command string
	met     func(*facts) bool // reports whether the user may run it
}

var (
	nothing      = need{"", func(*facts) bool { return true }}
	info         = need{"INFO", func(f *facts) bool { return f.info != nil }}
	config       = need{"CONFIG GET", func(f *facts) bool { return f.config != nil }}
	scan         = need{"SCAN", func(f *facts) bool { return f.lines != nil }}
	infoOrConfig = need{"INFO or CONFIG GET", func(f *facts) bool { _, known := f.setting("maxmemory-policy"); return known }}
)

var checks = []check{
	{"version", info, (*facts).version},
	{"eviction", infoOrConfig, (*facts).eviction},
	{"memory", info, (*facts).memory},
	{"persistence", info, (*facts).persistence},
	{"replication", info, (*facts).replication},
	{"restarts", nothing, (*facts).restarts},
	{"cluster", nothing, (*facts).slots},
	{"timeouts", config, (*facts).timeouts},
	{"connections", nothing, (*facts).connections},
	{"clock", nothing, (*facts).clock},
	{"latency", nothing, (*facts).latency},
	{"access", nothing, (*facts).allowed},
	{"tracking", nothing, (*facts).tracking},
	{"lines", scan, (*facts).strayLines},
}

// Check checks the server, or every master of a Cluster. A check whose facts the
// user may not read is a finding of level [Unknown]. The error is an
// [rdb.UnreachableError], or that of ctx. It takes some hundred round trips, and one for
// each 1,000 keys.
func Check(ctx context.Context, db *rdb.DB) ([]Finding, error) {
	if db.Embedded() {
		return []Finding{{
			Topic: "server", Level: Fine,
			Found: "embedded: a Redis inside this process. It serves demonstrations and runs of one process, keeps nothing and has no settings",
		}}, nil
	}
	var mu sync.Mutex
	var findings []Finding
	err := db.EachMaster(ctx, func(ctx context.Context, client *redis.Client, name string) error {
		f, err := gather(ctx, client, name != "", db.Prefix())
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		for _, c := range checks {
			findings = append(findings, c.run(f, name)...)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(findings, func(a, b Finding) int { return strings.Compare(a.Server, b.Server) })
	return findings, nil
}

func (c check) run(f *facts, server string) []Finding {
	findings := []Finding{{Level: Unknown, Found: "could not look: this user may not run " + c.needs.command}}
	if c.needs.met(f) {
		findings = c.judge(f)
	}
	for i := range findings {
		findings[i].Topic, findings[i].Server = c.topic, server
		if findings[i].Level == "" {
			findings[i].Level = Fine
		}
	}
	return findings
}
