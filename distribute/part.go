package distribute

import (
	"fmt"
	"time"

	"skidway/distribute/stream"
)

// partCommits decides when a scan commits what it has counted so far, and does it.
type partCommits struct {
	bytes       int64         // of content between two commits
	interval    time.Duration // between two commits
	checkpoints *stream.Checkpoints
	plain       bool // the place of a line follows from its offset: no checkpoint is recorded
	commit      func(result *fileResult, checkpoint []byte) error

	last  time.Time // of the last commit, or when the scan began
	lines int64     // that were committed
}

func newPartCommits(config WorkerConfig, codec stream.Codec, commit func(*fileResult, []byte) error) *partCommits {
	return &partCommits{
		bytes: config.CommitBytes, interval: config.CommitInterval, checkpoints: stream.NewCheckpoints(codec),
		plain: codec == stream.Plain, commit: commit, last: time.Now(),
	}
}

// committed returns the number of lines that the scan has committed.
func (s *fileScan) committed() int64 {
	if s.parts == nil {
		return 0
	}
	return s.parts.lines
}

// commitPart commits the whole lines that were counted since the last commit, if it is
// time.
func (s *fileScan) commitPart() error {
	if s.parts == nil {
		return nil
	}
	resume := s.splitter.Resume()
	checkpoint := s.parts.checkpoints.Before(resume - s.base)
	if resume-s.before.resume < s.parts.bytes && time.Since(s.parts.last) < s.parts.interval {
		return nil
	}
	// Before its end there may be nothing new in a copy of a counted file.
	if resume == s.before.resume || resume < s.before.end || isOpen(s.counter) {
		return nil
	}
	result := s.part(resume)
	if err := result.subtractTail(s.before.tail); err != nil {
		s.parts = nil // the last part reports it
		return nil
	}
	result.progress.lines = s.before.lines + result.tally.Lines
	var encoded []byte
	if checkpoint.Raw > 0 && !s.parts.plain {
		encoded = checkpoint.Encode()
	}
	if err := s.parts.commit(result, encoded); err != nil {
		return err
	}
	s.parts.last, s.parts.lines = time.Now(), s.parts.lines+result.read.Lines
	s.before, s.verdicts = result.progress, verdicts{}
	var err error
	if s.counter, err = s.aggregation.Begin(nil, s.before.state); err != nil {
		return fmt.Errorf("go on after a commit: %w", err)
	}
	return nil
}

// part returns the counts of the whole lines since the last commit, which end at resume.
func (s *fileScan) part(resume int64) *fileResult {
	result := &fileResult{cells: map[cellName]int64{}, tally: s.verdicts.tally(), progress: s.before}
	result.tally.Bytes = resume - s.before.resume
	result.read = result.tally
	s.counter.Cells(result.add)
	p := &result.progress
	p.resume, p.tail, p.state, p.long = resume, "", s.counter.State(), formatLongLines(s.splitter.FinishedLongLines())
	return result
}

// longFormat is how long lines are recorded between two parts.
const longFormat = "%d %d %d"

func formatLongLines(long stream.LongLines) string {
	if long.Count == 0 {
		return ""
	}
	return fmt.Sprintf(longFormat, long.Count, long.Offset, long.Line)
}

// parseLongLines returns no lines if the text is malformed: they are for a note only.
func parseLongLines(text string) (long stream.LongLines) {
	if _, err := fmt.Sscanf(text, longFormat, &long.Count, &long.Offset, &long.Line); err != nil {
		return stream.LongLines{}
	}
	return long
}
