package distribute

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"skidway/distribute/stream"
)

// A plan is how a file is to be shipped.
type plan struct {
	id       string
	indexKey string
	index    string // the index entry when it was read
	shipment int64  // number of the last shipment when it was read; 0: none
	resets   int64  // number of resets of subscribers before it was read
	base     int64  // offset where the upload begins
	newHead  bool   // the head is to be recorded
	replaces string // id of the file, if shipping is forced
	known    *ShippedFile
	busy     EventKind // with errInRedis: what ends first
}

// plan returns how to ship a file: which part of it the channel has not counted yet. It
// returns errInRedis if the file can't be shipped before it is counted.
func (s *Shipper) plan(ctx context.Context, src *stream.Source) (plan, error) {
	resets, err := s.channel.files.completeResets(ctx)
	if err != nil {
		return plan{}, err
	}
	index, matches, err := s.channel.files.lookup(ctx, src, s.sketches)
	if err != nil {
		return plan{}, err
	}
	p := plan{id: src.ID(), indexKey: src.Head.IndexKey(), index: index, newHead: true, resets: resets}
	if len(matches) == 0 {
		return p, nil
	}
	if s.config.Force {
		p.replaces = p.id
		return s.planOther(ctx, p, s.forced)
	}
	subscribers, err := s.channel.subscriberNames(ctx)
	if err != nil {
		return p, err
	}
	known, other, err := choose(ctx, src, matches, subscribers)
	switch {
	case err != nil:
		return p, err
	case known == nil && src.IsStream():
		return p, &stream.SourceError{Err: errOtherStream}
	case known == nil:
		return s.planOther(ctx, p, "+"+other)
	}
	p.id, p.shipment, p.newHead = known.id, known.shipment, len(src.Head) > known.head.Length
	if known.inRedis() {
		if known.state == FileUploaded && known.sameSize(src) {
			p.known = &ShippedFile{Outcome: AlreadyShipped}
			return p, nil
		}
		p.busy = known.busy()
		return p, errInRedis
	}
	if len(subscribers) == 0 {
		return p, nil
	}
	return s.planMore(ctx, src, known, p, subscribers)
}

// errOtherStream is the error for a stream that differs from each counted file that begins as it
// does.
var errOtherStream = errors.New("it begins as a counted file and differs from it further on, and what was read of a pipe can't be read again: name its file, or ship it with force")

// choose returns the record of a file, of those that have its head: the first one whose endings it has, else the
// first one of which that is not known, those of its size before others. It returns nil if the file differs from all of them, and then a
// digest for the id of the file, which is the same for other shippers of it.
//
// Where there is one record, a file of its size is the same, and one that is in Redis is compared when it
// is counted. A stream is not one that a subscriber needs from a place that was read over.
func choose(ctx context.Context, src *stream.Source, matches []record, subscribers []string) (known *record, other string, err error) {
	var endings []stream.Ending
	for i := range matches {
		m := &matches[i]
		if m.sameSize(src) && (len(matches) == 1 || src.Codec != stream.Plain) || m.inRedis() && len(matches) == 1 {
			return m, "", nil
		}
		endings = append(endings, m.endings(subscribers)...)
	}
	if src.IsStream() {
		slices.SortStableFunc(matches, func(a, b record) int { return cmp.Compare(a.place(subscribers), b.place(subscribers)) })
	} else if _, err := src.Endings(ctx, endings...); err != nil { // all at once
		return nil, "", err
	}
	differing := sha256.New()
	for i := range matches {
		m := &matches[i]
		place, endings := m.place(subscribers), m.endings(subscribers)
		if src.IsStream() {
			endings = slices.DeleteFunc(endings, func(e stream.Ending) bool { return e.End > place })
		}
		found, err := src.Endings(ctx, endings...)
		if err != nil {
			return nil, "", err
		}
		same, differs := false, false
		for i, e := range found {
			same, differs = same || e == endings[i], differs || e != endings[i] && e.Size > 0
		}
		switch {
		case differs:
			fmt.Fprintln(differing, m.id, found)
		case place < src.Passed():
		case same:
			return m, "", nil
		case known == nil || m.sameSize(src) && !known.sameSize(src):
			known = m
		}
	}
	return known, hex.EncodeToString(differing.Sum(nil)[:12]), nil
}

// planOther plans to ship a file under an id of its own, which ends in a suffix, although
// another one has its head.
func (s *Shipper) planOther(ctx context.Context, p plan, suffix string) (plan, error) {
	p.id += suffix
	known, err := s.channel.files.record(ctx, p.id)
	if err != nil {
		return p, err
	}
	if known.inRedis() {
		p.busy = known.busy()
		return p, errInRedis
	}
	p.shipment = known.shipment
	return p, nil
}

// planMore compares a file with what the subscribers have counted of it. A file of
// which lines are missing is shipped again if they were lost in Redis; if the file
// was damaged, when it has changed since. An upload has content, so that it is counted to its
// end: if nothing is new, a byte that is counted already. A subscriber that has refused all that the
// shipper uploaded is left out.
func (s *Shipper) planMore(ctx context.Context, src *stream.Source, known *record, p plan, subscribers []string) (_ plan, err error) {
	same, unfinished, lost := known.state == FileDone && known.sameSize(src), false, false
	counting := subscribers
	if s.sampled[p.id] {
		counting = slices.DeleteFunc(slices.Clone(subscribers), func(name string) bool { return known.counted[name].refused() })
	}
	resume, end := known.place(counting), int64(-1)
	var problem *Problem
	for _, name := range subscribers {
		at := known.counted[name]
		if found := at.problem(known.name); found != nil {
			problem = found
		}
		if !slices.Contains(counting, name) {
			continue
		}
		unfinished = unfinished || at.unfinished()
		lost = lost || at.missing && at.lost // perhaps nothing but the end of a stream
		same = same && at.shipment == known.shipment && at.end > 0 &&
			(!at.missing || !at.lost && known.modified == src.Modified().UnixNano())
		if end < 0 || at.end < end {
			end = at.end
		}
	}
	length, ending := end, int64(0) // content before resume is uploaded again, for its ending
	if resume > stream.HeadSize {
		ending = stream.EndingSize
	}
	switch {
	case src.IsStream():
		length, err = src.Pass(max(0, resume-max(ending, 1)), end)
		p.base = src.Passed()
	case !same:
		length, err = src.Length(ctx)
	}
	switch {
	case err != nil:
		return p, err
	case len(counting) == 0:
		p.known = &ShippedFile{Outcome: AlreadyCounted, Problem: problem}
	case length < end:
		p.known = &ShippedFile{Outcome: AlreadyCounted, Length: length, Counted: end, Problem: problem}
	case length == end && end > 0 && !unfinished && !lost:
		p.known = &ShippedFile{Outcome: AlreadyCounted, Problem: problem}
	case src.Codec == stream.Plain && !src.IsStream():
		p.base = min(resume-ending, src.Size-1)
	}
	return p, nil
}

// awaitCounted blocks until every subscriber has counted the files, and sets how
// many lines each of them has counted.
func (s *Shipper) awaitCounted(ctx context.Context, results []ShippedFile) error {
	limit := throttle{}
	for i := range results {
		result := &results[i]
		if result.id == "" {
			continue
		}
		r, err := s.awaitFile(ctx, result, &limit)
		if err != nil {
			return err
		}
		result.Lines = map[string]int64{}
		for subscriber, progress := range r.counted {
			result.Lines[subscriber] = progress.lines
			found := progress.problem(result.Path)
			if found != nil && progress.shipment == result.shipment && (result.Problem == nil || found.Missing()) {
				result.Problem = found
			}
		}
	}
	return nil
}

// awaitFile blocks until a file's shipment is counted or abandoned, or Stop is
// called.
func (s *Shipper) awaitFile(ctx context.Context, result *ShippedFile, limit *throttle) (record, error) {
	for {
		since, err := s.channel.latestWake(ctx)
		if err != nil {
			return record{}, err
		}
		r, err := s.channel.files.record(ctx, result.id)
		if err != nil {
			return record{}, err
		}
		if r.shipment != result.shipment || !r.inRedis() || s.stop.isStopped() {
			return r, nil
		}
		if err := s.await(ctx, since, EventWaitingForAll, "", limit, s.stop.stopped); err != nil {
			return record{}, err
		}
	}
}

// A Preview is what Ship would do with a file, or with a member of an archive.
type Preview struct {
	Path   string
	Codec  stream.Codec // of the file
	Size   int64        // of the file, in bytes
	Head   stream.Head  // takes up to 64 KiB
	Result ShippedFile  // its outcome would be this one, unless SameAs is set
	SameAs string       // an earlier file that begins as this one: what this one has more is counted, or all of it if it differs there
}

// A previewer has the files of a preview.
type previewer struct {
	*Shipper
	seen map[string][]seenFile // by index key
}

// A seenFile is a file of a preview that is not the same as an earlier one.
type seenFile struct {
	path string
	head stream.Fingerprint
}

// Preview passes on what Ship would do with each of some files, and changes nothing. A
// shipper without a channel compares the files only with each other.
func (s *Shipper) Preview(ctx context.Context, files []string, do func(Preview)) error {
	p := previewer{s, map[string][]seenFile{}}
	for _, file := range files {
		for src, err := range stream.Sources(file, s.opener(ctx, file), s.config.Members, stream.Decoding{MaxWindow: s.config.MaxWindow}) {
			preview, err := p.of(ctx, src, err)
			if err != nil {
				return err
			}
			do(preview)
		}
	}
	return nil
}

// of returns the preview of a source, whose error is failure.
func (p *previewer) of(ctx context.Context, src *stream.Source, failure error) (Preview, error) {
	preview := Preview{Path: src.Path, Codec: src.Packed, Size: src.Size, Head: src.Head, Result: ShippedFile{Path: src.Path}}
	if failure != nil {
		preview.Result.setFailure(failure)
		return preview, nil
	}
	preview.Result.Outcome = Shipped
	key := src.Head.IndexKey()
	for _, other := range append(p.seen[key], p.seen[stream.UnfinishedLine]...) {
		if !p.config.Force && other.head.SameFile(src.Head) {
			preview.SameAs = other.path
			return preview, nil
		}
	}
	p.seen[key] = append(p.seen[key], seenFile{src.Path, src.Head.Fingerprint()})
	if p.channel == nil {
		return preview, nil
	}
	planned, err := p.plan(ctx, src)
	switch {
	case errors.Is(err, errInRedis):
		preview.Result.Outcome = AlreadyShipped
	case fileProblem(err):
		preview.Result.setFailure(err)
	case err != nil:
		return preview, err
	case planned.known != nil:
		preview.Result = *planned.known
		preview.Result.Path = src.Path
	default:
		preview.Result.Base = planned.base
	}
	return preview, nil
}

// A busyMode is what ship does with a busy file: one that is in Redis already.
type busyMode int

const (
	skipBusy busyMode = iota // report it as busy
	waitBusy                 // wait until it is counted
)

// A busyFile is a file with sources that were busy.
type busyFile struct {
	file    string
	sources map[occurrence]int // the places of their results
}

// An occurrence is the n-th source with a path: an archive may have several members of one
// name.
type occurrence struct {
	path string
	n    int
}

// occurrences counts the sources with each path.
type occurrences map[string]int

func (o occurrences) next(path string) occurrence {
	o[path]++
	return occurrence{path, o[path]}
}

// shipBusy ships the sources of a file that were busy, and replaces their results. It reads
// an archive once for all of them.
func (s *Shipper) shipBusy(ctx context.Context, busy busyFile, results []ShippedFile) error {
	failure, seen, key := fs.ErrNotExist, occurrences{}, occurrence{}
	chosen := func(path string, err error) bool {
		key = seen.next(path)
		_, again := busy.sources[key]
		if !again && err != nil && path == busy.file { // members behind this error are not found
			failure = err
		}
		return again
	}
	err := s.shipSources(ctx, busy.file, s.opener(ctx, busy.file), waitBusy, chosen, func(result ShippedFile, _ bool) {
		results[busy.sources[key]] = result
		delete(busy.sources, key)
	})
	for _, i := range slices.Sorted(maps.Values(busy.sources)) {
		if err == nil && s.stop.isStopped() {
			results[i].Outcome = NotReached
		} else if err == nil {
			s.unreadable(&results[i], failure)
		}
	}
	return err
}

// awaitNotInRedis returns when an earlier shipment of the file may have been freed.
// With skipBusy it does not wait, and returns errInRedis if the shipment is still
// in Redis. Stop does not end the wait for a stream, whose beginning was read.
func (s *Shipper) awaitNotInRedis(ctx context.Context, since wakeCursor, src *stream.Source, p plan, mode busyMode, limit *throttle) error {
	if mode == waitBusy {
		stopped := s.stop.stopped
		if src.IsStream() {
			stopped = nil
		} else if s.stop.isStopped() {
			return errStopped
		}
		return s.await(ctx, since, p.busy, src.Path, limit, stopped)
	}
	if err := s.channel.files.sweep(ctx); err != nil {
		return err
	}
	known, err := s.channel.files.record(ctx, p.id)
	if err == nil && (known.shipment == 0 || known.inRedis()) {
		return errInRedis
	}
	return err
}
