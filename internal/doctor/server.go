package doctor

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"skidway/internal/rdb"
)

func (f *facts) version() []Finding {
	server := rdb.ServerOf(f.info)
	found := Finding{Found: server.Name + " " + server.Version}
	if server.TooOld() {
		found.Level = Problem
		found.Why = fmt.Sprintf("Skidway needs Redis %d.0 or newer, or Valkey", rdb.OldestMajor)
		found.Change = []string{"upgrade the server"}
	}
	return []Finding{found}
}

func (f *facts) eviction() []Finding {
	policy, _ := f.setting("maxmemory-policy")
	found := Finding{Found: "maxmemory-policy is " + policy}
	switch {
	case strings.HasPrefix(policy, "allkeys-"):
		found.Level = Problem
		found.Why = "Redis drops any keys when memory is short: jobs and counts would be lost without a word"
		found.Change = set("maxmemory-policy", "noeviction")
	case policy != "noeviction":
		found.Level = Warning
		found.Why = "Redis drops keys that expire when memory is short: no jobs and no counts of logs, but rooms, mailboxes that expire when idle, " +
			"statistics, and the records of requests with an idempotency key and of writes of statistics: " +
			"a repeated request can add its jobs twice, and a repeated write can be counted twice"
		found.Change = set("maxmemory-policy", "noeviction")
	}
	return []Finding{found}
}

// Shares of maxmemory, in percent, from which memory is short.
const (
	memoryWarning = 75
	memoryProblem = 95
)

// minMemory is the lowest maxmemory that is proposed.
const minMemory = 64 << 20

func (f *facts) memory() []Finding {
	used, limit, system := f.number("used_memory"), f.number("maxmemory"), f.number("total_system_memory")
	found := Finding{Found: humanSize(used) + " used, maxmemory is " + humanSize(limit)}
	if limit == 0 {
		found.Level, found.Found = Warning, humanSize(used)+" used, and no limit is set"
		found.Why = "a queue that no worker drains grows until the system kills Redis; with a limit, adding jobs fails instead"
		found.Change = []string{"set maxmemory to three quarters of the machine's memory, if that is well above what is used"}
		if system > 0 {
			found.Change = f.limitMemory(system)
			found.Found += fmt.Sprintf(" (the machine has %s)", humanSize(system))
		}
		return []Finding{found}
	}
	share := 100 * used / limit
	found.Found += fmt.Sprintf(": %s left", humanSize(max(0, limit-used)))
	if share >= memoryWarning {
		found.Level = Warning
		found.Why = fmt.Sprintf("%d%% are used: when all is, no job can be added", share)
		found.Change = append(f.limitMemory(max(2*limit, 2*used, minMemory)), "or find what fills it: skidway queues list; redis-cli --bigkeys")
	}
	if share >= memoryProblem {
		found.Level = Problem
	}
	return []Finding{found}
}

// limitMemory returns the lines that set maxmemory to a size, or to three quarters of the
// machine's memory if that is less. Where memory would be short with it, it returns what to do
// first: a Redis that uses more than its limit adds no jobs.
func (f *facts) limitMemory(size int64) []string {
	if system := f.number("total_system_memory"); system > 0 {
		size = min(size, 3*system/4)
	}
	if 100*f.number("used_memory") >= memoryWarning*size {
		return []string{"first free memory or use a larger machine; then set maxmemory to three quarters of the machine's memory"}
	}
	return set("maxmemory", strconv.FormatInt(size>>20, 10)+"mb")
}

func (f *facts) connections() []Finding {
	clients, limit := f.number("connected_clients"), f.number("maxclients")
	if limit == 0 {
		return nil
	}
	found := Finding{Found: fmt.Sprintf("%d of at most %d", clients, limit)}
	if 10*clients >= 9*limit {
		found.Level, found.Why = Warning, "when all are taken, workers can't connect; each takes some, and more where it serves many queues"
		found.Change = set("maxclients", strconv.FormatInt(2*limit, 10))
	}
	return []Finding{found}
}

// minBusy is the lowest harmless busy-reply-threshold, in ms: scripts of Skidway
// take a few ms at most.
const minBusy = 100

func (f *facts) timeouts() []Finding {
	idle, keepalive := f.config["timeout"], f.config["tcp-keepalive"]
	found := Finding{Found: "idle connections stay open; tcp-keepalive is " + keepalive + " s"}
	if idle != "0" && idle != "" {
		found.Found = fmt.Sprintf("idle connections are closed after %s s, which does no harm; tcp-keepalive is %s s", idle, keepalive)
	}
	if keepalive == "0" {
		found.Level = Warning
		found.Why = "connections of machines that vanished stay for ever and take places of maxclients"
		found.Change = set("tcp-keepalive", "300")
	}
	findings := []Finding{found}
	if busy, err := strconv.Atoi(f.config["busy-reply-threshold"]); err == nil && busy > 0 && busy < minBusy {
		findings = append(findings, Finding{
			Level: Warning, Found: fmt.Sprintf("busy-reply-threshold is %d ms", busy),
			Why: "on a busy machine a script may take that long, and all others are refused meanwhile", Change: set("busy-reply-threshold", "5000"),
		})
	}
	return findings
}

func (f *facts) clock() []Finding {
	found := "as this machine's"
	switch ahead := f.ahead.Round(time.Millisecond); {
	case ahead > 0:
		found = ahead.String() + " ahead of this machine's"
	case ahead < 0:
		found = (-ahead).String() + " behind this machine's"
	}
	return []Finding{{Found: found + "; only that of Redis counts for jobs"}}
}

// Round trips above which Skidway is slow: the median, and the 99th percentile.
const (
	slowMedian = 5 * time.Millisecond
	slowP99    = 50 * time.Millisecond
)

func (f *facts) latency() []Finding {
	p50, p99 := f.pings[len(f.pings)/2], f.pings[len(f.pings)*99/100]
	found := Finding{
		Found: fmt.Sprintf("a round trip takes %s, the slowest of a hundred %s", p50.Round(time.Microsecond), p99.Round(time.Microsecond)),
	}
	switch {
	case p50 > slowMedian:
		found.Level, found.Why = Warning, "each step of a worker waits that long"
		found.Change = []string{"run workers nearer to Redis, and enqueue in batches"}
	case p99 > slowP99:
		found.Level, found.Why = Warning, "something holds Redis up now and then: slow commands of others, saving to disk, swapping, or a busy machine"
		found.Change = []string{"redis-cli SLOWLOG GET", "redis-cli LATENCY DOCTOR"}
	}
	return []Finding{found}
}

func humanSize(n int64) string { return humanize.IBytes(uint64(max(0, n))) }
