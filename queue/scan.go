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
