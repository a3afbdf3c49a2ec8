package stats

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/queue"
)

// ErrorHours is the number of hours in which errors are counted.
const ErrorHours = 48

// An ErrorGroup is the errors of failed attempts at jobs of one kind that have the same shape.
type ErrorGroup struct {
	ID           string
	Kind, Shape  string
	Failed, Dead int64 // attempts that failed with it, and jobs that failed for good
	First, Last  time.Time
	Job          string // the latest job, or the latest that is dead
	Error        string // the first line of its error, at most 250 bytes

	// Hours has the failed attempts of the latest hours in UTC: the last one is that in which
	// the groups were read. Deaths has the jobs that failed for good in these hours.
	Hours, Deaths [ErrorHours]int64
}

// MaxErrorGroups is the number of groups that are kept of a queue, the latest ones, for 31 days
// after they were last seen.
const MaxErrorGroups = 1000

// maxGroupsRead is the number of groups that are read in one command.
const maxGroupsRead = 100

// Errors returns the groups of errors of a queue that were seen last, at most limit of them.
func Errors(ctx context.Context, client *queue.Client, name string, limit int) (groups []ErrorGroup, err error) {
	q, db, err := queueOf(ctx, client, name)
	if err != nil {
		return nil, err
	}
	var ids []string
	now := time.Time{}
	err = db.Retry(ctx, func() (err error) {
		if ids, err = db.ZRangeArgs(ctx, redis.ZRangeArgs{Key: q.Key("errors:last"), Start: 0, Stop: limit - 1, Rev: true}).Result(); err == nil {
			now, err = client.Now(ctx, name)
		}
		return err
	})
	for len(ids) > 0 && err == nil {
		var part []string
		part, ids = cut(ids, maxGroupsRead)
		err = db.Retry(ctx, func() error {
			texts, err := db.HMGet(ctx, q.Key("errors"), part...).Result()
			for i, text := range texts {
				if g, ok := parseGroup(text, now); ok {
					g.ID = part[i]
					groups = append(groups, g)
				}
			}
			return err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("read errors of queue %s: %w", q.Name(), err)
	}
	return groups, nil
}

// parseGroup parses a group as lua/flush.lua writes it, and returns false for anything else.
func parseGroup(value any, now time.Time) (g ErrorGroup, ok bool) {
	text, _ := value.(string)
	lines := strings.Split(text, "\n")
	if len(lines) != 5 {
		return g, false
	}
	numbers := strings.SplitN(lines[0], " ", 5)
	if len(numbers) != 5 {
		return g, false
	}
	var values [4]int64
	for i := range values {
		n, err := strconv.ParseInt(numbers[i], 10, 64)
		if err != nil || n < 0 || n > maxAmount {
			return g, false
		}
		values[i] = n
	}
	g = ErrorGroup{
		Kind: lines[1], Shape: lines[2], Failed: values[0], Dead: values[1],
		First: time.UnixMilli(values[2]).UTC(), Last: time.UnixMilli(values[3]).UTC(), Job: numbers[4], Error: lines[3],
	}
	last := now.Unix() / 3600
	for hour := range strings.FieldsSeq(lines[4]) {
		at, counts, _ := strings.Cut(hour, ":")
		failed, dead, died := strings.Cut(counts, ":")
		number, err := strconv.ParseInt(at, 10, 64)
		n, err2 := strconv.ParseInt(failed, 10, 64)
		if back := last - number; err == nil && err2 == nil && number >= 0 && back >= 0 && back < ErrorHours && n > 0 && n <= maxAmount {
			g.Hours[ErrorHours-1-back] = n
			if deaths, err := strconv.ParseInt(dead, 10, 64); died && err == nil && deaths > 0 && deaths <= n {
				g.Deaths[ErrorHours-1-back] = deaths
			}
		}
	}
	return g, true
}
