package queue

import (
	"slices"
	"strconv"
	"strings"

	"skidway/internal/rdb"
)

// partition is the only one there is so far. Keys and ids have a place for
// more, so that one queue can be spread over several Redis nodes.
const partition = 0

// The keys of a queue, in the order in which every script gets them. The first
// [lineCount] are the lines; scripts have names for the others.
var keyNames = [...]string{
	"high:returned", "high:due", "high:fresh",
	"normal:returned", "normal:due", "normal:fresh",
	"low:returned", "low:due", "low:fresh",
	"meta",
	"leases", "tombs", "workers", "alone",
	"delayed", "delayed:jobs",
	"dead", "dead:jobs",
	"results", "results:jobs",
	"moved",
	"unique", "unique:expiry",
	"counts",
	"control", "events",
	"waited", "done",
	"cancelled", "logs", "progress",
}

// Places in keyNames of what Go reads by itself.
const (
	keyMeta    = 9
	keyCounts  = 23
	keyControl = 24
	keyEvents  = 25
	keyDone    = 27

	keyLogs     = 29
	keyProgress = 30
)

// queueKeys gives all keys of a queue. They share a hash tag, so that a script
// may touch any of them on a Redis Cluster.
func queueKeys(prefix, queue string) []string {
	base := prefix + ":{" + queue + ":" + strconv.Itoa(partition) + "}:"
	keys := make([]string, len(keyNames))
	for i, name := range keyNames {
		keys[i] = base + name
	}
	return keys
}

// plainKeys gives the keys that take part when plain jobs are added: the fresh
// lines, and where they are counted.
func plainKeys(keys []string) []string {
	return []string{keys[2], keys[5], keys[8], keys[keyMeta], keys[keyCounts], keys[keyEvents]}
}

// plainKeyNames are the names of plainKeys.
var plainKeyNames = rdb.Keys{"high:fresh", "normal:fresh", "low:fresh", "meta", "counts", "events"}

// scheduleKeyNames are the names of scheduleKeys.
var scheduleKeyNames = append(keyNames[:len(keyNames):len(keyNames)], "schedules", "schedules:due", "schedules:fired", "schedules:watch")

// scheduleKeys gives all keys of a queue and, behind them, those of its
// schedules.
func scheduleKeys(keys []string) []string {
	base := strings.TrimSuffix(keys[keyMeta], "meta")
	keys = slices.Clip(keys)
	for _, name := range scheduleKeyNames[len(keys):] {
		keys = append(keys, base+name)
	}
	return keys
}

// registryKeys are the set of all queues and the stream that tells of new
// ones.
func registryKeys(prefix string) []string {
	return []string{prefix + ":{queues}", prefix + ":{queues}:new"}
}
