package queue

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/internal/rdb"
)

// Bounds of one [Queue.Read]: jobs, and bytes of them, packed or unpacked.
const (
	maxRead      = 200
	maxReadBytes = 256 << 10
)

// A scan reads the jobs of a state after a cursor.
type scan struct {
	queue  *Queue
	state  State
	cursor string
	limit  int
	page   Page

	// Of lines.
	newestMS    string                 // of the entries of waiting jobs to read, as the end of XREVRANGE
	lines       [lineCount]scannedLine // by their numbers, less one
	after, last string                 // in the line that is read; last is empty if its scan has not begun
	now         int64                  // ms since 1970
}

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

// Read reads the next jobs of a state after a cursor, which is empty or from a page of Read or of
// [Queue.List]: at most limit, at most 200, and after the first one those within 256 KiB of
// [Page.Size], in the order of List. It reads the jobs by native commands, which take Redis a
// tenth of the time of a script and do not copy the jobs there. Of jobs in lines Redis returns as
// many as the limit says, so a caller that reads all jobs chooses the limit by the sizes of those
// before. A job that leaves the state between two commands may be returned as it was. If before is
// not zero, waiting jobs that entered their line then or later are left out: a caller that moves
// jobs to other lines does not read them again.
func (q *Queue) Read(ctx context.Context, state State, cursor string, limit int, before time.Time) (Page, error) {
	if err := state.checkCursor(cursor); err != nil {
		return Page{}, err
	}
	if limit < 1 {
		return Page{}, invalid("limit %d: want at least 1", limit)
	}
	s := &scan{queue: q, state: state, cursor: state.decodeCursor(cursor), limit: min(limit, maxRead), newestMS: "+"}
	if !before.IsZero() {
		s.newestMS = strconv.FormatInt(before.UnixMilli()-1, 10)
	}
	read := s.readShelf
	if state.inLines() {
		read = s.readLines
	}
	if err := read(ctx); err != nil {
		return Page{}, err
	}
	return s.page, nil
}

// run runs a script as [Queue.run] does, and counts its time.
func (s *scan) run(ctx context.Context, script *rdb.Script, args ...any) (rdb.Reply, error) {
	defer s.count(time.Now())
	return s.queue.run(ctx, script, args...)
}

// read sends commands as [rdb.DB.ReadTogether] does, and counts their time.
func (s *scan) read(ctx context.Context, key string, queue func(redis.Pipeliner)) error {
	defer s.count(time.Now())
	return s.queue.client.db.ReadTogether(ctx, key, queue)
}

func (s *scan) count(began time.Time) {
	s.page.Took += time.Since(began)
	s.page.Trips++
}

// add adds a job to the page, with the cursor behind it and its size in Redis. It reports whether
// there is room for more.
func (s *scan) add(job *Job, cursor string, size int) (room bool) {
	s.page.Jobs = append(s.page.Jobs, job)
	s.page.After = append(s.page.After, cursor)
	s.page.Size += max(size, size-len(job.packed)+len(job.Args))
	return s.page.Size < maxReadBytes
}

// readShelf reads jobs that are stored by id.
func (s *scan) readShelf(ctx context.Context) error {
	q := s.queue
	ids, scores, err := s.listShelf(ctx)
	if err != nil || len(ids) == 0 {
		return err
	}
	records, err := s.readRecords(ctx, ids)
	if err != nil {
		return err
	}
	for i, room := 0, true; i < len(ids) && room; i++ {
		id, score := ids[i], scores[i]
		s.page.Next = s.state.encodeCursor(score + " " + id)
		record, found := records[i].(string)
		problem := errNoRecord
		job := &Job{State: s.state}
		switch {
		case found:
			problem = job.setStored(record)
		case records[i] == nil:
			continue // it has left meanwhile
		}
		job.local = id
		q.complete(job, score, problem)
		room = s.add(job, s.page.Next, len(record))
	}
	return nil
}

// listShelf returns the ids and the scores of the next jobs that are stored by id, whose records are
// no more than maxReadBytes. The script takes three times as long, but knows how large each record is,
// which of them have expired, and how many precede the cursor.
func (s *scan) listShelf(ctx context.Context) (ids, scores []string, err error) {
	if s.state != Finished && s.queue.largest.Load()*int64(s.limit) <= maxReadBytes {
		var listed bool
		if ids, scores, listed, err = s.listNatively(ctx); listed || err != nil {
			return ids, scores, err
		}
	}
	reply, err := s.run(ctx, scanShelfScript, string(s.state), s.cursor, s.limit, maxReadBytes)
	for i := 0; err == nil && i+1 < reply.Len(); i += 2 {
		ids, scores = append(ids, reply.Text(i)), append(scores, reply.Text(i+1))
	}
	return ids, scores, err
}

// maxTied is the number of jobs with the score of the cursor that listNatively passes over.
const maxTied = 16

// smallRecord is SMALL in record.lua: META has the size of the largest record only if that is larger.
const smallRecord = 1024

// listNatively is listShelf by native commands. It returns false if they do not tell all that it must
// know.
func (s *scan) listNatively(ctx context.Context) (ids, scores []string, listed bool, err error) {
	index, meta := s.queue.keys[keyShelves[s.state]], s.queue.keys[keyMeta]
	score, id, goesOn := strings.Cut(s.cursor, " ")
	after, _ := strconv.ParseFloat(score, 64)
	wanted := redis.ZRangeArgs{Key: index, Start: "-inf", Stop: "+inf", ByScore: true, Rev: s.state == Dead, Count: int64(s.limit)}
	if wanted.Rev {
		wanted.Start, wanted.Stop = wanted.Stop, wanted.Start
	}
	if goesOn {
		wanted.Start, wanted.Count = score, wanted.Count+maxTied
	}
	var settings *redis.SliceCmd
	var read *redis.ZSliceCmd
	err = s.read(ctx, index, func(pipe redis.Pipeliner) {
		settings = pipe.HMGet(ctx, meta, "format", "largest")
		read = pipe.ZRangeArgsWithScores(ctx, wanted)
	})
	if err = cmp.Or(err, settings.Err(), read.Err()); err != nil {
		return nil, nil, false, s.queue.explain(err)
	}
	stored := reply(settings.Val())
	if format := stored.Text(0); format != "" && format != formatVersion {
		return nil, nil, false, newFormatError(format)
	}
	largest := max(stored.Int(1), smallRecord)
	if s.queue.largest.Store(largest); largest*int64(s.limit) > maxReadBytes {
		return nil, nil, false, nil
	}
	for _, job := range read.Val() {
		name, _ := job.Member.(string)
		tied := goesOn && job.Score == after
		if tied && (wanted.Rev && name >= id || !wanted.Rev && name <= id) || len(ids) == s.limit {
			continue
		}
		ids, scores = append(ids, name), append(scores, strconv.FormatFloat(job.Score, 'f', -1, 64))
	}
	return ids, scores, len(ids) > 0 || int64(len(read.Val())) < wanted.Count, nil
}

// readRecords returns the records of jobs that are stored by id, nil for those that have left
// the state, and [errNoRecord] for those that are in the index only.
func (s *scan) readRecords(ctx context.Context, ids []string) ([]any, error) {
	q := s.queue
	index, stored := q.keys[keyShelves[s.state]], q.keys[keyShelves[s.state]+1]
	var read *redis.SliceCmd
	err := s.read(ctx, stored, func(pipe redis.Pipeliner) { read = pipe.HMGet(ctx, stored, ids...) })
	if err == nil {
		err = read.Err()
	}
	if err != nil {
		return nil, q.explain(err)
	}
	records := read.Val()
	scores := map[int]*redis.FloatCmd{}
	if slices.Contains(records, nil) {
		err = s.read(ctx, index, func(pipe redis.Pipeliner) {
			for i, record := range records {
				if record == nil {
					scores[i] = pipe.ZScore(ctx, index, ids[i])
				}
			}
		})
	}
	for i, score := range scores {
		switch {
		case score.Err() == nil:
			records[i] = errNoRecord
		case !errors.Is(score.Err(), redis.Nil) && err == nil:
			err = q.explain(score.Err())
		}
	}
	return records, err
}

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
