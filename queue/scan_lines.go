package queue

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"skidway/internal/rdb"
)

// A scannedLine is what a scan must know of a line.
type scannedLine struct {
	filled    bool
	delivered string // the entry that was delivered last; empty for none
}

// readOrder is the lines in the order in which workers read them.
var readOrder = func() (order []line) {
	for at := line(1); at <= lineCount; at++ {
		order = append(order, at)
	}
	slices.SortFunc(order, func(a, b line) int {
		if a.precedes(b) {
			return -1
		}
		return 1
	})
	return order
}()

// readLines reads jobs of the first line that has any after the cursor.
func (s *scan) readLines(ctx context.Context) error {
	reply, err := s.run(ctx, scanLookScript)
	if err != nil {
		return err
	}
	s.now = reply.Int(0)
	for i := range s.lines {
		s.lines[i] = scannedLine{reply.Int(2*i+1) == 1, reply.Text(2*i + 2)}
	}
	place := 0
	if parts := strings.Fields(s.cursor); len(parts) == 3 {
		at, _ := strconv.Atoi(parts[0])
		place, s.after, s.last = slices.Index(readOrder, line(at)), parts[1], parts[2]
	}
	for ; place < len(readOrder); place++ {
		at := readOrder[place]
		more, err := s.readLine(ctx, at)
		switch {
		case err != nil:
			return err
		case more:
			s.page.Next = s.lineCursor(at)
			return nil
		case len(s.page.Jobs) > 0:
			s.page.Next = s.page.After[len(s.page.After)-1] // the next read finds the end of the line
			return nil
		}
		s.after, s.last = "", ""
	}
	return nil
}

// lineCursor returns the cursor in a line.
func (s *scan) lineCursor(at line) string {
	return strconv.Itoa(int(at)) + " " + s.after + " " + s.last
}

// readLine reads jobs of one line. It reports whether there may be more of them.
func (s *scan) readLine(ctx context.Context, at line) (more bool, err error) {
	seen := s.lines[at-1]
	if !seen.filled || s.state == Active && seen.delivered == "" {
		return false, nil
	}
	if s.last == "" {
		s.after = "0-0"
		if s.last, err = s.newest(ctx, at); err != nil || s.last == "" {
			return false, err
		}
	}
	if s.state == Active {
		return s.readActive(ctx, at)
	}
	if seen.delivered != "" && compareEntries(s.after, seen.delivered) < 0 {
		s.after = seen.delivered
	}
	return s.readWaiting(ctx, at)
}

// newest returns the entry of a line with which its scan ends, "" if it has none.
func (s *scan) newest(ctx context.Context, at line) (entry string, err error) {
	key, end := s.queue.keys[at-1], "+"
	if s.state == Waiting {
		end = s.newestMS
	}
	read, err := s.readOne(ctx, key, func(pipe redis.Pipeliner) *redis.Cmd {
		return pipe.Do(ctx, "xrevrange", key, end, "-", "count", 1)
	})
	if err != nil {
		return "", err
	}
	return reply(read).List(0).Text(0), nil
}

// readOne reads by one command.
func (s *scan) readOne(ctx context.Context, key string, command func(redis.Pipeliner) *redis.Cmd) (value any, err error) {
	var read *redis.Cmd
	err = s.read(ctx, key, func(pipe redis.Pipeliner) { read = command(pipe) })
	if err == nil {
		value, err = read.Result()
	}
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	if err != nil {
		return nil, s.queue.explain(err)
	}
	return value, nil
}

// readWaiting reads entries of a line that were not delivered. It reports whether there may be
// more of them.
func (s *scan) readWaiting(ctx context.Context, at line) (more bool, err error) {
	key := s.queue.keys[at-1]
	var groups *redis.XInfoGroupsCmd
	var read *redis.Cmd
	err = s.read(ctx, key, func(pipe redis.Pipeliner) {
		groups = pipe.XInfoGroups(ctx, key) // fails if the line does not exist any more
		read = pipe.Do(ctx, "xrange", key, "("+s.after, s.last, "count", s.limit)
	})
	if err == nil {
		err = read.Err()
	}
	if err != nil {
		return false, s.queue.explain(err)
	}
	delivered := ""
	for _, group := range groups.Val() {
		if group.Name == "workers" {
			delivered = group.LastDeliveredID
		}
	}
	entries, _ := read.Val().([]any)
	for i, value := range entries {
		s.after = reply(value).Text(0)
		if delivered != "" && compareEntries(s.after, delivered) <= 0 {
			continue // it is active now
		}
		if !s.addEntry(at, value, "", "") && i+1 < len(entries) {
			return true, nil
		}
	}
	return len(entries) == s.limit, nil
}

// readActive reads entries of a line that workers hold. It reports whether there may be more of
// them.
func (s *scan) readActive(ctx context.Context, at line) (more bool, err error) {
	key := s.queue.keys[at-1]
	// One more, since the range includes its start: not every server knows '(' here.
	pending, err := s.readOne(ctx, key, func(pipe redis.Pipeliner) *redis.Cmd {
		return pipe.Do(ctx, "xpending", key, "workers", s.after, s.last, s.limit+1)
	})
	if redis.HasErrorPrefix(err, "NOGROUP") {
		return false, nil // the line is gone
	}
	if err != nil {
		return false, err
	}
	held, _ := pending.([]any)
	held = slices.DeleteFunc(held, func(value any) bool { return reply(value).Text(0) == s.after })
	held = held[:min(len(held), s.limit)]
	if len(held) == 0 {
		return false, nil
	}
	reads := make([]*redis.Cmd, len(held))
	err = s.read(ctx, key, func(pipe redis.Pipeliner) {
		for i, value := range held {
			entry := reply(value).Text(0)
			reads[i] = pipe.Do(ctx, "xrange", key, entry, entry)
		}
	})
	for _, read := range reads {
		if err == nil {
			err = read.Err()
		}
	}
	if err != nil {
		return false, s.queue.explain(err)
	}
	for i, value := range held {
		pending := reply(value)
		s.after = pending.Text(0)
		found, _ := reads[i].Val().([]any)
		if len(found) == 0 {
			continue // it has left meanwhile
		}
		if !s.addEntry(at, found[0], pending.Text(1), strconv.FormatInt(s.now-pending.Int(2), 10)) && i+1 < len(held) {
			return true, nil
		}
	}
	return len(held) == s.limit, nil
}

func reply(value any) rdb.Reply {
	values, _ := value.([]any)
	return rdb.Reply{Values: values}
}

// addEntry adds the job of an entry as XRANGE returns it. It reports whether there is room for
// more.
func (s *scan) addEntry(at line, value any, worker, taken string) (room bool) {
	entry := reply(value)
	fields := entry.List(1)
	job := &Job{State: s.state, Worker: worker, line: at, entry: entry.Text(0), Priority: at.priority()}
	err := job.setFields(fields)
	job.local = string(at.priority().letter()) + job.entry
	size := 0
	for i := range fields.Len() {
		size += len(fields.Text(i))
		if at.kind() != freshLine && i%2 == 0 && fields.Text(i) == "id" {
			job.local = fields.Text(i + 1)
		}
	}
	s.queue.complete(job, taken, err)
	return s.add(job, s.lineCursor(at), size)
}
