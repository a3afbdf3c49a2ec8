package queue

import (
	"slices"
	"strconv"
	"strings"
)

// partition is the only partition so far. Keys and ids have a place for its number, so
// that one queue can be spread over several Redis nodes later.
const partition = 0

// keyNames are the keys of a queue, in the order in which every script gets them:
// the lines first. The script kit names the others in Lua, in capitals.
var keyNames = append(lineKeyNames(),
	"meta",
	"leases", "lengths", "tombs", "cohorts", "alone",
	"delayed", "delayed:jobs",
	"dead", "dead:jobs",
	"results", "results:jobs",
	"moved",
	"unique", "unique:expiry",
	"counts",
	"control", "events",
	"waited", "done",
	"cancelled", "logs", "progress",
)

// lineKeyNames returns the names of all lines, or of those of some kinds, in the order of
// their numbers.
func lineKeyNames(kinds ...lineKind) (names []string) {
	for l := line(1); l <= lineCount; l++ {
		if len(kinds) == 0 || slices.Contains(kinds, l.kind()) {
			names = append(names, l.name())
		}
	}
	return names
}

// Places in keyNames of the keys that Go uses itself.
var (
	keyMeta      = slices.Index(keyNames, "meta")
	keyControl   = slices.Index(keyNames, "control")
	keyEvents    = slices.Index(keyNames, "events")
	keyDone      = slices.Index(keyNames, "done")
	keyCancelled = slices.Index(keyNames, "cancelled")
	keyLogs      = slices.Index(keyNames, "logs")
	keyProgress  = slices.Index(keyNames, "progress")
	keyTombs     = slices.Index(keyNames, "tombs")
	keyUnique    = slices.Index(keyNames, "unique")
)

// keyShelves has the place of the index of jobs that are stored by id, which is followed by that
// of the jobs.
var keyShelves = map[State]int{
	Delayed: slices.Index(keyNames, "delayed"), Dead: slices.Index(keyNames, "dead"), Finished: slices.Index(keyNames, "results"),
}

// keyBase returns what all keys of a queue begin with.
func keyBase(keys []string) string { return strings.TrimSuffix(keys[keyMeta], "meta") }

// queueKeys returns all keys of a queue. They share a hash tag, so that a script may
// touch any of them in a Redis Cluster.
func queueKeys(prefix, queue string) []string {
	base := prefix + ":{" + queue + ":" + strconv.Itoa(partition) + "}:"
	keys := make([]string, len(keyNames))
	for i, name := range keyNames {
		keys[i] = base + name
	}
	return keys
}

// plainKeyNames are the keys that enqueue_plain.lua uses: the fresh lines, and those
// that count jobs and events.
var plainKeyNames = append(lineKeyNames(freshLine), "meta", "counts", "events")

// plainKeys returns the keys of a queue that plainKeyNames names.
func plainKeys(keys []string) []string {
	plain := make([]string, len(plainKeyNames))
	for i, name := range plainKeyNames {
		plain[i] = keys[slices.Index(keyNames, name)]
	}
	return plain
}

// scheduleKeyNames are the names of scheduleKeys.
var scheduleKeyNames = append(slices.Clip(keyNames), "schedules", "schedules:due", "schedules:fired", "schedules:watch")

// scheduleKeys returns all keys of a queue, followed by those of its schedules.
func scheduleKeys(keys []string) []string {
	base := keyBase(keys)
	keys = slices.Clip(keys)
	for _, name := range scheduleKeyNames[len(keys):] {
		keys = append(keys, base+name)
	}
	return keys
}

// requestKeyNames are the names of requestKeys.
var requestKeyNames = append(slices.Clip(keyNames), "idem", "idem:expiry")

// requestKeys returns all keys of a queue, followed by those of the calls that added jobs with a
// request key.
func requestKeys(keys []string) []string {
	base := keyBase(keys)
	return append(slices.Clip(keys), base+"idem", base+"idem:expiry")
}

// allKeyNames and allKeys have all keys of a queue with a fixed name but that of operations.
var allKeyNames = append(slices.Clip(scheduleKeyNames), requestKeyNames[len(keyNames):]...)

func allKeys(keys []string) []string {
	return append(scheduleKeys(keys), requestKeys(keys)[len(keys):]...)
}

// operationKeyNames are the names of operationKeys.
var operationKeyNames = append(slices.Clip(keyNames), "operation", "operation:record")

// operationKeys returns all keys of a queue, followed by the lock for changes of many jobs and the
// record of one operation.
func operationKeys(keys []string, id string) []string {
	base := keyBase(keys) + "operation"
	return append(slices.Clip(keys), base, base+":"+id)
}

// registryKeyNames are the names of registryKeys: the set of all queues, the stream of new
// ones, and the sorted set of queues by the time when they were last used, in ms; the sorted
// set of open leases by the time from which they are late; the hash of pools, and the sorted
// set of pools by their expiry; the sorted set of operations by the time at which their jobs were
// counted.
var registryKeyNames = []string{"queues", "new", "used", "leases", "pools", "expiry", "operations"}

// registryKeys returns the keys of the lists that are not of one queue.
func registryKeys(prefix string) []string {
	queues := prefix + ":{queues}"
	return []string{queues, queues + ":new", queues + ":used", queues + ":leases", queues + ":pools", queues + ":pools:expiry", queues + ":operations"}
}
