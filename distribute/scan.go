package distribute

import (
	"bytes"
	"context"
	"errors"
	"io"
	"runtime"
	"sync/atomic"

	"skidway/distribute/stream"
	"skidway/internal/hyperloglog"
)

// The sample that Begin receives has the first sampleLines lines of a file; fewer
// if the lines are long: sampleSize bytes with at least minSampleLines, and
// maxSample bytes in any case.
const (
	sampleLines    = 1000
	minSampleLines = 20
	sampleSize     = 1 << 20
	maxSample      = 4 << 20
)

// A fileScan counts the part of a file that a subscriber has not counted yet.
// The file's uncompressed content is written to it; it splits the content into
// lines for a [Counter].
type fileScan struct {
	aggregation Aggregation
	before      progress
	base        int64         // offset in the content where the upload begins
	skip        int64         // bytes that were counted before
	position    int64         // bytes of the upload's content that were written
	start       int64         // offset in the content where the count begins
	inside      inside        // what was read behind it before
	lines       *atomic.Int64 // counted and not committed, for the worker's progress
	parts       *partCommits

	hole     int64  // NUL bytes before the first line
	sample   []byte // until the count begins
	sampled  int    // newlines in it
	counter  Counter
	reading  Reading
	splitter *stream.Splitter
	verdicts verdicts

	recent  stream.Recent // content that was written last
	counted stream.Recent // content before the place that reached returns
}

// newFileScan returns a scan of an upload that begins at base, for a subscriber
// that has counted the file up to before, which is not behind base. The content that is
// written to it begins with the upload, unless seek is called.
func newFileScan(aggregation Aggregation, before progress, base int64, lines *atomic.Int64) *fileScan {
	return &fileScan{
		aggregation: aggregation, before: before, base: base, lines: lines,
		skip: before.resume + before.inside.bytes - base, start: before.resume, inside: before.inside,
	}
}

// A fileResult is the count of one file under one claim.
type fileResult struct {
	tally    Tally // the change of the subscriber's sums
	read     Tally // what was read, also of a last line that was counted before without its end
	lines    int64 // read in this and all earlier parts
	reading  Reading
	cells    map[cellName]int64
	filtered map[string]int64                 // lines that the filter refused, by day
	tail     tail                             // what is in tally, cells and filtered of a last line
	sketches map[cellName]*hyperloglog.Sketch // of visitors
	progress progress
	failure  error // nothing of the file was counted
	damage   *PartialError
}

type cellName struct{ group, member string }

func (r *fileResult) add(cell Cell) {
	r.cells[cellName{cell.Group, cell.Member}] += cell.N
	_, account := cell.account()
	r.tally.Private, r.tally.Crawlers = r.tally.Private+account.Private, r.tally.Crawlers+account.Crawlers
}

// addVisitors adds the visitors that a counter has counted.
func (r *fileResult) addVisitors(counter Counter) {
	lines, ok := counter.(*lineCounter)
	if !ok || lines.visitors == nil {
		return
	}
	for cell, sketch := range lines.visitors.sketches {
		name := cell.name()
		if r.sketches == nil {
			r.sketches = map[cellName]*hyperloglog.Sketch{}
		}
		if r.sketches[name] == nil {
			r.sketches[name] = new(hyperloglog.Sketch)
		}
		r.sketches[name].Merge(sketch)
	}
}

// A refusal wraps the error for which a file can't be counted at all, or no further.
type refusal struct{ err error }

func (r *refusal) Error() string { return r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

// seek prepares the scan for content that begins at a checkpoint: what was written of it
// before is skipped.
func (s *fileScan) seek(from stream.Checkpoint) {
	if s.position != from.Content {
		s.recent = stream.Recent{}
	}
	s.skip += s.position - from.Content
	s.position = from.Content
}

// rewind drops the checkpoints but for the one where the scan can go on, and returns that.
func (s *fileScan) rewind() stream.Checkpoint {
	at, inside := s.reached()
	from := s.parts.checkpoints.Before(at + inside.bytes - s.base)
	s.parts.checkpoints.Restart(from)
	return from
}

// reached returns the offset in the content up to which whole lines were counted, and what
// need not be read again behind it.
func (s *fileScan) reached() (resume int64, behind inside) {
	if s.splitter != nil {
		behind.bytes, behind.tooLong = s.splitter.Inside()
		return s.splitter.Resume(), behind
	}
	behind = s.inside
	if len(s.sample) == 0 {
		behind.bytes += s.hole
	}
	return s.before.resume, behind
}

// scanFile reads and decompresses an upload, from a checkpoint on, into w. It returns the
// error that ended the content, nil at its regular end. files returns the number of files that
// the process reads: each keeps one processor inflating and another one counting, as long as
// there are enough.
func scanFile(ctx context.Context, upload uploadReader, from stream.Checkpoint, w io.Writer, checkpoints []*stream.Checkpoints, files func() int, idle stream.Idle) error {
	if err := upload.codec.Check(); err != nil {
		return &refusal{err}
	}
	content := upload.open(ctx, from.Raw)
	defer content.Close()
	processors := runtime.GOMAXPROCS(0)
	busy := func() bool { return files() >= processors }
	spare := func() bool { return 2*files() < processors }
	options := stream.Decoding{MaxWindow: upload.maxWindow, Windows: upload.windows, Idle: spare, Checkpoints: checkpoints}
	inflate := func(to stream.Sink) error {
		content.BeforeWait(to.Flush)
		return upload.codec.CopyContent(to, content, from, options)
	}
	return stream.Pipeline(w, inflate, busy, content.Cancel, idle)
}

// Write counts the next block of the content, and commits a part if one is due. Its error
// is a refusal, or that of the commit.
func (s *fileScan) Write(block []byte) (int, error) {
	written := len(block)
	s.position += int64(written)
	skipped := min(s.skip, int64(written))
	s.skip -= skipped
	s.recent.Add(block[:skipped])
	block = block[skipped:]
	if s.splitter == nil {
		if len(s.sample) == 0 {
			behind := bytes.TrimLeft(block, "\x00")
			s.hole += int64(len(block) - len(behind))
			block = behind
		}
		s.sample = append(s.sample, block...)
		s.sampled += bytes.Count(block, []byte("\n"))
		if s.fresh() && s.sampled < sampleLines && len(s.sample) < maxSample && (len(s.sample) < sampleSize || s.sampled < minSampleLines) {
			return written, s.commitPart(whenDue)
		}
		if err := s.begin(); err != nil {
			return written, err
		}
	} else {
		s.split(block)
	}
	s.lines.Store(s.verdicts.tally().Lines)
	return written, s.commitPart(whenDue)
}

// fresh reports whether the subscriber has not counted anything of the file.
func (s *fileScan) fresh() bool { return s.before.resume == 0 }

// begin starts the Counter and counts the sample.
func (s *fileScan) begin() (err error) {
	sample, state := s.sample, ""
	if !s.fresh() {
		sample, state = nil, s.before.state
	}
	if s.counter, err = s.aggregation.Begin(sample, state); err != nil {
		return &refusal{err}
	}
	s.splitter = stream.NewSplitter(s.start, func(line []byte) { s.verdicts.add(s.counter, line) })
	s.splitter.PassWhole(func(lines []byte) int64 { return s.verdicts.addLines(s.counter, lines) })
	if c, ok := s.counter.(*lineCounter); ok {
		if c.objects != "" {
			s.splitter.SplitObjects(c.objects)
		}
		if s.fresh() {
			s.reading = c.reading
		}
	}
	s.splitter.SetLongLines(parseLongLines(s.before.long))
	s.splitter.SetInside(s.inside.bytes, s.inside.tooLong)
	if s.hole > 0 {
		s.splitter.Skip(s.hole)
		s.recent = stream.Recent{}
	}
	s.split(s.sample)
	s.sample = nil
	return nil
}

// split counts the lines of a block.
func (s *fileScan) split(block []byte) {
	start, before := s.splitter.Offset(), s.splitter.Resume()
	s.splitter.Split(block)
	if resume := s.splitter.Resume(); resume != before {
		s.counted.Set(s.recent)
		s.counted.Drop(start - resume) // of an object that began earlier
		s.counted.Add(block[:max(0, resume-start)])
	}
	s.recent.Add(block)
}

// ending returns the ending of the content before an offset that reached has returned, the zero one within the
// head.
func (s *fileScan) ending(resume int64) stream.Ending {
	switch {
	case resume <= stream.HeadSize:
		return stream.Ending{}
	case resume == s.before.resume:
		return s.before.ending
	}
	return s.counted.Ending(resume)
}

// result ends the count. err is the error that ended the content, nil at its
// regular end.
func (s *fileScan) result(err error) (*fileResult, error) {
	result := &fileResult{cells: map[cellName]int64{}, progress: s.before}
	short := s.skip > 0
	if errors.Is(err, errShorter) {
		short, err = true, nil
	}
	var refused *refusal
	if !errors.As(err, &refused) && s.splitter == nil {
		if err != nil && !isDamage(err) {
			return nil, err
		}
		if begun := s.begin(); begun != nil && !(isDamage(err) && len(s.sample) == 0) {
			err = begun // but a file that is damaged from its first byte on is damaged
		}
	}
	if s.splitter == nil || refused != nil {
		result.fail(err)
		return result, nil
	}
	if err == nil && short && s.before.unfinished() {
		err = errShorter
	}
	switch {
	case isDamage(err) || errors.Is(err, errShorter):
		result.damage = &PartialError{err, s.parts.lines + s.verdicts.tally().Lines, s.splitter.Start(), s.splitter.Resume()}
	case err != nil:
		return nil, err
	}
	if err := s.collect(result); err != nil {
		return nil, err
	}
	result.read, result.reading = result.tally, s.reading
	var cut *cutError
	switch {
	case errors.As(err, &cut) && result.progress.end == s.before.end && !s.before.unfinished():
		result.reset(s.before) // all of it was counted: the rest is not missing for this subscriber
		result.damage = nil
	case result.progress.end < s.before.end: // there was nothing new
		result.reset(s.before)
	default:
		if err := result.subtractTail(s.before.tail); err != nil {
			result.reset(s.before)
			result.fail(err)
		}
	}
	result.lines = s.parts.lines + result.read.Lines
	return result, nil
}

// state returns the state of the counter where the content goes on.
func (s *fileScan) state() string {
	if c, ok := s.counter.(*lineCounter); ok {
		c.objects = s.splitter.ObjectsState()
	}
	return s.counter.State()
}

// collect adds the counts of the whole lines and of the last line to the result.
func (s *fileScan) collect(result *fileResult) error {
	resume := s.splitter.Resume()
	if isOpen(s.counter) {
		s.verdicts.flush(s.counter)
	}
	result.tally = s.verdicts.tally()
	result.tally.Bytes = resume - s.before.resume
	s.counter.Cells(result.add)
	result.filtered = filteredDays(s.counter)
	result.addVisitors(s.counter)
	state := s.state()
	result.progress = progress{resume: resume, ending: s.ending(resume), end: resume, state: state, note: longLinesNote(s.splitter.LongLines())}
	if result.damage != nil {
		result.progress.note, result.progress.missing = "partial: "+result.damage.detail(), true
		result.progress.lost = isDamage(result.damage) && !stream.IsDamage(result.damage)
		if !result.progress.lost { // what was read before the damage was found may differ from the file when it is whole
			result.progress.ending = stream.Ending{}
		}
		return nil
	}
	line, size, open := s.splitter.Tail()
	if err := result.addTail(s.aggregation, line, size, open, state); err != nil {
		return err
	}
	result.progress.end = s.splitter.Offset()
	return nil
}

// reset drops all counts of the result: the progress is that from before.
func (r *fileResult) reset(before progress) {
	r.tally, r.read, r.tail, r.progress = Tally{}, Tally{}, tail{}, before
	r.cells, r.filtered, r.sketches = map[cellName]int64{}, nil, nil
}

// fail records the error for which nothing of the file is counted.
func (r *fileResult) fail(err error) {
	r.failure = err
	r.progress.note, r.progress.missing = err.Error(), true
	r.progress.lost = errors.Is(err, ErrVanished) || errors.Is(err, errLaterPart) || errors.Is(err, errMalformed)
}

// tallyFile counts the file itself. A file that was counted in part before may now
// be counted in whole: its kind before is subtracted from the subscriber's sums.
func (r *fileResult) tallyFile(before progress) {
	if before.shipment > 0 {
		r.tally.addFile(before.problemKind(), -1)
	}
	r.tally.addFile(r.progress.problemKind(), 1)
	r.read.addFile(r.progress.problemKind(), 1)
	r.progress.lines = before.lines + r.tally.Lines
}

// addFile adds n files with a kind of problem.
func (t *Tally) addFile(kind ProblemKind, n int64) {
	switch kind {
	case NotCounted:
		t.Failed += n
	case CountedInPart:
		t.Partial += n
		t.Files += n
	default:
		t.Files += n
	}
}

// errShorter is the error for a file of which a part was counted before its upload was
// abandoned, and which does not reach that far any more.
var errShorter = errors.New("it is shorter now than what was counted of it")

// isDamage reports whether an error concerns the content of the upload, and not
// the connection to Redis.
func isDamage(err error) bool {
	var cut *cutError
	return stream.IsDamage(err) || errors.Is(err, ErrVanished) || errors.Is(err, errStuck) || errors.As(err, &cut)
}
