package queue_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"skidway/internal/rdb"
)

// lineNames are the lines by their numbers.
var lineNames = [...]string{
	1: "2:high:returned", 2: "2:high:due", 3: "2:high:fresh",
	4: "2:normal:returned", 5: "2:normal:due", 6: "2:normal:fresh",
	7: "2:low:returned", 8: "2:low:due", 9: "2:low:fresh",
	10: "2:high:retry", 11: "2:normal:retry", 12: "2:low:retry",
	13: "2:high:quarantine", 14: "2:normal:quarantine", 15: "2:low:quarantine",
}

// readOrder are the lines in the order in which they are read.
var readOrder = [...]int{13, 1, 2, 3, 10, 14, 4, 5, 6, 11, 15, 7, 8, 9, 12}

func isFresh(line int) bool { return strings.HasSuffix(lineNames[line], ":fresh") }

func isRetry(line int) bool { return strings.HasSuffix(lineNames[line], ":retry") }

func isQuarantine(line int) bool { return strings.HasSuffix(lineNames[line], ":quarantine") }

// letterOf returns the letter of a line's priority.
func letterOf(line int) string { return strings.Split(lineNames[line], ":")[1][:1] }

// A snapshot is the contents of a queue in Redis, read without the code under test.
type snapshot struct {
	lines     [len(lineNames)][]redis.XMessage
	pending   [len(lineNames)]map[string]string // entry → worker
	consumers map[string]bool                   // of all lines

	delayed, dead, results, leases, lengths, tombs, uniqueExpiry, waited map[string]float64
	delayedJobs, deadJobs, resultsJobs, cohorts, alone, meta             map[string]string
	moved, unique, counts, cancelled, logs, progress                     map[string]string
	done, events                                                         []redis.XMessage
	signals                                                              int // to wake the mover
}

// look reads a queue. base is the prefix of its keys.
func look(t rapid.TB, db *rdb.DB, base string) *snapshot {
	t.Helper()
	ctx := context.Background()
	s := &snapshot{consumers: map[string]bool{}}
	var then []func() error
	uncounted := 0                                           // entries of fresh lines that no counter contains
	_, _ = db.Pipelined(ctx, func(p redis.Pipeliner) error { // each command has its error
		for line := 1; line < len(lineNames); line++ {
			key := base + lineNames[line]
			entries := p.XRange(ctx, key, "-", "+")
			held := p.XPendingExt(ctx, &redis.XPendingExtArgs{Stream: key, Group: "workers", Start: "-", End: "+", Count: 10000})
			consumers := p.XInfoConsumers(ctx, key, "workers")
			then = append(then, func() error {
				s.lines[line] = entries.Val()
				s.pending[line] = map[string]string{}
				for _, pending := range held.Val() {
					s.pending[line][pending.ID] = pending.Consumer
				}
				for _, consumer := range consumers.Val() {
					s.consumers[consumer.Name] = true
				}
				for _, err := range []error{held.Err(), consumers.Err()} {
					// A line from which no worker has read has no group.
					if err != nil && err != redis.Nil && !strings.Contains(err.Error(), "NOGROUP") && !strings.Contains(err.Error(), "no such key") {
						return err
					}
				}
				return entries.Err()
			})
			if isFresh(line) {
				stream, groups := p.XInfoStream(ctx, key), p.XInfoGroups(ctx, key)
				then = append(then, func() error {
					if stream.Err() != nil {
						return nil // there is no such line
					}
					uncounted += int(stream.Val().EntriesAdded)
					for _, group := range groups.Val() {
						if group.Name == "counted" {
							uncounted -= int(group.EntriesRead)
						}
					}
					return groups.Err()
				})
			}
		}
		for name, to := range map[string]*map[string]float64{
			"delayed": &s.delayed, "dead": &s.dead, "results": &s.results, "leases": &s.leases, "lengths": &s.lengths, "tombs": &s.tombs,
			"unique:expiry": &s.uniqueExpiry, "waited": &s.waited,
		} {
			cmd := p.ZRangeWithScores(ctx, base+name, 0, -1)
			then = append(then, func() error {
				*to = map[string]float64{}
				for _, z := range cmd.Val() {
					(*to)[z.Member.(string)] = z.Score
				}
				return cmd.Err()
			})
		}
		for name, to := range map[string]*map[string]string{
			"delayed:jobs": &s.delayedJobs, "dead:jobs": &s.deadJobs, "results:jobs": &s.resultsJobs,
			"cohorts": &s.cohorts, "alone": &s.alone, "meta": &s.meta, "moved": &s.moved, "unique": &s.unique, "counts": &s.counts,
			"cancelled": &s.cancelled, "logs": &s.logs, "progress": &s.progress,
		} {
			cmd := p.HGetAll(ctx, base+name)
			then = append(then, func() error { *to = cmd.Val(); return cmd.Err() })
		}
		for name, to := range map[string]*[]redis.XMessage{"done": &s.done, "events": &s.events} {
			cmd := p.XRange(ctx, base+name, "-", "+")
			then = append(then, func() error { *to = cmd.Val(); return cmd.Err() })
		}
		control := p.XRange(ctx, base+"control", "-", "+")
		then = append(then, func() error {
			for _, signal := range control.Val() {
				if signal.Values["do"] == "due" {
					s.signals++
				}
			}
			return control.Err()
		})
		return nil
	})
	for _, take := range then {
		if err := take(); err != nil {
			t.Fatalf("read the queue: %v", err)
		}
	}
	if uncounted > 0 {
		s.counts["total:enqueued"] = strconv.Itoa(s.total("enqueued") + uncounted)
		s.counts["latest:enqueued"] = strconv.Itoa(uncounted)
	}
	return s
}

// entryID returns the id of the job in an entry: a fresh entry can't choose it.
func entryID(line int, entry redis.XMessage) string {
	if id, ok := entry.Values["id"].(string); ok && !isFresh(line) {
		return id
	}
	return letterOf(line) + entry.ID
}

// entryFields returns the fields of an entry and those of the record in it.
func entryFields(entry redis.XMessage) (map[string]string, error) {
	fields := map[string]string{}
	if record, ok := entry.Values["job"].(string); ok {
		var err error
		if fields, err = recordFields(record); err != nil {
			return nil, err
		}
	}
	for name, value := range entry.Values {
		if name != "job" {
			fields[name] = value.(string)
		}
	}
	return fields, nil
}

// delayedFields is recordFields for delayed jobs, which may have short records.
func delayedFields(record string) (map[string]string, error) {
	kind, args, short := strings.Cut(record, " ")
	if strings.HasPrefix(record, "2") || !short || kind == "" {
		return recordFields(record)
	}
	return map[string]string{"priority": kind[:1], "kind": kind[1:], "args": args}, nil
}

// addedAt returns the time in ms at which a job was added according to its id.
func addedAt(t rapid.TB, id string) string {
	digits, delayed := strings.CutPrefix(id, "d")
	if !delayed {
		ms, _, _ := strings.Cut(id[1:], "-")
		return ms
	}
	micros, err := strconv.ParseInt(digits, 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(micros / 1000)
}

// recordFields returns the fields of a record, see record.go, and its letter as
// "priority".
func recordFields(record string) (map[string]string, error) {
	fields := map[string]string{}
	if len(record) < 2 || record[0] != '2' {
		return nil, fmt.Errorf("%.20q is no record", record)
	}
	var texts []string
	for rest := record[2:]; rest != ""; {
		length, more, _ := strings.Cut(rest, ":")
		n, err := strconv.Atoi(length)
		if err != nil || n > len(more) {
			return nil, fmt.Errorf("record %q ends at %q", record, rest)
		}
		texts, rest = append(texts, more[:n]), more[n:]
	}
	if len(texts)%2 != 0 {
		return nil, fmt.Errorf("record %q has a name without a value", record)
	}
	for i := 0; i < len(texts); i += 2 {
		fields[texts[i]] = texts[i+1]
	}
	fields["priority"] = record[1:2]
	return fields, nil
}

// accounted returns how many jobs are in a state or have ended, according to Redis.
func (s *snapshot) accounted() (n int) {
	for _, entries := range s.lines {
		n += len(entries)
	}
	return n + len(s.delayed) + s.total("done") + s.total("discarded") + s.total("cancelled") + s.total("dead")
}

func (s *snapshot) total(name string) int {
	n, _ := strconv.Atoi(s.counts["total:"+name])
	return n
}
