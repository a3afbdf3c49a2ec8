package chat

import (
	"context"
	"strconv"

	"github.com/redis/go-redis/v9"

	"skidway/internal/rdb"
)

// Nobody knows how big messages are before they are read. So a page asks for
// few first, then for twice as many each time, up to readMost, and ends once it
// has pageBytes. Redis then gives 4 bodies of the biggest size in one answer
// (1.2 ms, measured), and readMost only where small ones came before them.
const (
	pageBytes = MaxBody
	readFirst = 4
	readMost  = 64
)

// readLog reads a page of a log, by commands of its own where bodies may be big:
// a script would have to copy each (measured with messages of 100 bytes five
// times, of 1 MiB twenty times slower). It reads ahead entries first, then up to
// twice as many each time, but few after big ones, until there are limit of them
// or this many bytes. command reads n of them beyond the last one, "" at first.
func readLog(ctx context.Context, db *rdb.DB, ahead, limit, mostBytes int, command func(last string, n int64) *redis.XMessageSliceCmd) ([]redis.XMessage, error) {
	var entries []redis.XMessage
	last, total := "", 0
	for len(entries) < limit && total < mostBytes {
		want := min(ahead, limit-len(entries))
		var page []redis.XMessage
		err := db.Retry(ctx, func() (err error) {
			page, err = command(last, int64(want)).Result()
			return err
		})
		if err != nil {
			return nil, err
		}
		bytes := 0
		for _, entry := range page {
			last = entry.ID
			for _, value := range entry.Values { // a damaged one may be big, too
				text, _ := value.(string)
				bytes += len(text)
			}
		}
		entries = append(entries, page...)
		if len(page) < want {
			break
		}
		total += bytes
		ahead = min(2*ahead, readMost)
		if bytes > pageBytes/readFirst {
			ahead = readFirst
		}
	}
	return entries, nil
}

// lastUnder gives the last id that an entry with the number of this message
// can have.
func lastUnder(number uint64) string {
	return strconv.FormatUint(number, 10) + "-18446744073709551615"
}

// mostBlocked is how many connections a wait takes on a Cluster, where each slot
// takes one: others need some of the pool, too. Whoever waits at more looks at the
// rest every waitTimeout.
const mostBlocked = 50

// waitable gives the marks that a wait can block at.
func waitable(db *rdb.DB, marks []rdb.Mark) []rdb.Mark {
	if _, cluster := db.UniversalClient.(*redis.ClusterClient); cluster {
		return marks[:min(len(marks), mostBlocked)]
	}
	return marks
}
