package stats

import (
	"embed"
	"fmt"
	"strconv"
	"time"

	"skidway/internal/rdb"
	"skidway/queue"
)

// format is the version of the keys.
const format = "1"

// A resolution is a width of buckets.
type resolution struct {
	name        string
	width, kept time.Duration
}

// resolutions are the widths of buckets, the smallest first.
var resolutions = [...]resolution{
	{"1m", time.Minute, 2 * time.Hour},
	{"15m", 15 * time.Minute, 26 * time.Hour},
	{"4h", 4 * time.Hour, 31 * 24 * time.Hour},
}

// number returns the number of the bucket of a time.
func (r resolution) number(at time.Time) int64 { return at.UnixMilli() / r.width.Milliseconds() }

// start returns when a bucket begins.
func (r resolution) start(number int64) time.Time {
	return time.UnixMilli(number * r.width.Milliseconds()).UTC()
}

// key returns the key of a bucket.
func (r resolution) key(q *queue.Queue, number int64) string {
	return q.Key("stats:" + r.name + ":" + strconv.FormatInt(number, 10))
}

// keyNames are the keys of a queue that the scripts get, the buckets last.
var keyNames = rdb.Keys{"stats", "kinds", "flushed", "errors", "errors:last", "minute", "quarter", "hours"}

// bucketKeys returns the keys of a queue for counts of a time, in the order of keyNames, and as
// arguments of a script when each bucket ends and expires, in ms since 1970.
func bucketKeys(q *queue.Queue, pool string, at time.Time) (keys []string, times []any) {
	keys = []string{q.Key("stats"), q.Key("stats:kinds"), q.Key("stats:flush:" + pool), q.Key("errors"), q.Key("errors:last")}
	for _, r := range resolutions {
		number := r.number(at)
		keys = append(keys, r.key(q, number))
		end := r.start(number + 1)
		times = append(times, end.UnixMilli(), end.Add(r.kept).UnixMilli())
	}
	return keys, times
}

//go:embed lua
var luaFiles embed.FS

// scripts are the scripts of this package. Words without an error are handled by the callers.
var scripts = rdb.LoadScripts("stats", luaFiles, keyNames, rdb.Words{
	"format": func(r rdb.Reply) error { return formatError(r.Text(0)) },
	"clock":  nil, "taken": nil,
})

// formatError returns the error of statistics that another release has written.
func formatError(found string) error {
	return fmt.Errorf("the statistics have format %.20q, this release knows %s: upgrade", found, format)
}

var (
	flushScript  = scripts.Idempotent("flush", "add to the statistics")
	sampleScript = scripts.Idempotent("sample", "sample a queue")

	// runningScript may be repeated: its claim only asks once more.
	runningScript = scripts.Idempotent("running", "report running jobs", "watched", "running")
)
