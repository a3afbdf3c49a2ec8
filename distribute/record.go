package distribute

import (
	"math"
	"strconv"
	"strings"
	"time"

	"skidway/distribute/stream"
)

// A FileState is the state of a file in a channel.
type FileState string

// States of a file. A file that is shipped again goes from FileDone or FileAbandoned
// to FileUploading.
const (
	FileUploading FileState = "uploading" // a shipper appends to it under a lease
	FileUploaded  FileState = "uploaded"  // all of it is in Redis; not every subscriber has counted it
	FileDone      FileState = "done"      // every subscriber has counted it
	FileAbandoned FileState = "abandoned" // its shipper stopped or died before the end
)

// A record is what the channel stores about one file.
type record struct {
	id       string
	name     string // the path at its last shipper
	shipment int64  // number of the last shipment, from 1
	state    FileState
	hole     int64 // NUL bytes before the head
	head     stream.Fingerprint
	codec    stream.Codec
	packed   stream.Codec // how the file was compressed where it was shipped
	size     int64        // of the file there, compressed or not
	modified int64        // time of its last change when it was shipped, in ns

	// While it is in Redis.
	by       string // its shipper
	base     int64  // where in the uncompressed content the upload begins
	raw      int64  // bytes uploaded
	segment  int64  // bytes per segment
	unit     int64  // bytes of the window that a full segment uses
	booked   int64  // number of segments that have room in the window, those that are freed included
	freed    int64  // number of the first segments, which are freed
	full     bool   // its shipper waits for room
	upload   int64  // bytes to upload in total; 0: not known
	stream   bool   // it can't be uploaded again
	admitted time.Time

	counted map[string]progress // by subscriber
}

// progress is how far a subscriber has counted a file.
type progress struct {
	shipment int64         // the last shipment that it counted to its end
	part     int64         // the shipment of its last commit; of a later one than shipment, a part is counted
	commits  int64         // number of that commit, from 1 in each shipment
	keep     int64         // bytes at the start of that shipment that it does not need any more
	inside   inside        // what need not be read again behind resume
	resume   int64         // offset of the uncompressed content where the next count begins, the start of a line
	ending   stream.Ending // of the content before resume, behind the head
	end      int64         // offset up to which it had read at the end of shipment: a last line without newline lies between resume and end
	tail     string        // the counts of that line, subtracted when the whole line is counted
	state    string        // state of the Counter, for the next part of the file
	long     string        // the long lines of the part, for the note
	note     string        // what is wrong with the file, as a Problem's Detail
	cut      string        // why the upload ended behind the parts that are counted, until all of the file is
	lines    int64         // of the file, counted in total
	missing  bool          // some or all of its lines could not be counted
	lost     bool          // because they were not in Redis: the file itself may be whole
}

// unfinished reports whether the file is counted in part: its last commit was not the last
// part of a shipment.
func (p progress) unfinished() bool { return p.part > p.shipment }

// refused reports whether the subscriber could count nothing of the file, although it was in Redis.
func (p progress) refused() bool { return p.missing && !p.lost && p.end == 0 }

// problem returns what is wrong with the file, whose name it adds; nil if nothing
// is.
func (p progress) problem(file string) *Problem {
	if p.cut != "" {
		return &Problem{file, CountedInPart, p.cut}
	}
	if p.note == "" {
		return nil
	}
	return &Problem{file, p.problemKind(), p.note}
}

func (p progress) problemKind() ProblemKind {
	switch {
	case p.missing && p.end == 0:
		return NotCounted
	case p.missing:
		return CountedInPart
	}
	return LinesTooLong
}

// Fields of a record; those of a subscriber are followed by ":" and its name.
const (
	fieldResume  = "resume"
	fieldEnding  = "ending"
	fieldEnd     = "end"
	fieldTail    = "tail"
	fieldState   = "state"
	fieldNote    = "note"
	fieldMissing = "missing"
	fieldLost    = "lost"
	fieldLines   = "lines"
	fieldPart    = "part"
	fieldKeep    = "keep"
	fieldInside  = "inside"
	fieldCommit  = "commit"
	fieldLong    = "long"
	fieldCut     = "cut"
)

// subscriberFields are all fields of a record that belong to a subscriber.
var subscriberFields = []string{
	"ship", "seal", fieldPart, fieldCommit, fieldKeep, fieldInside, fieldLong, fieldCut, fieldResume, fieldEnding, fieldEnd, fieldTail, fieldState,
	fieldNote, fieldMissing, fieldLost, fieldLines,
}

// maxSegments bounds the segments of a valid record that are in Redis: 1 TiB.
const maxSegments = 1 << 18

// parseRecord parses the fields of a record. Malformed fields are read as
// missing.
func parseRecord(id string, fields map[string]string) record {
	number := func(field string) int64 {
		n, err := strconv.ParseInt(fields[field], 10, 64)
		if err != nil || n < 0 {
			return 0
		}
		return n
	}
	r := record{
		id: id, name: fields["name"], shipment: number("ship"), state: FileState(fields["state"]),
		codec: stream.Codec(fields["codec"]), packed: stream.Codec(fields["packed"]), size: number("size"), modified: number("mtime"), hole: number("hole"),
		by: fields["by"], base: number("base"), raw: number("raw"), segment: number("segment"),
		unit: number("unit"), booked: number("booked"), freed: number("freed"), full: fields["full"] != "", upload: number("upload"), stream: fields["stream"] == "1",
		admitted: parseMillis(fields["admitted"]),
		counted:  map[string]progress{},
	}
	if r.freed > r.booked || r.booked-r.freed >= maxSegments || r.booked > math.MaxInt32 {
		r.segment, r.booked, r.freed = 0, 0, 0
	}
	r.head, _ = stream.DecodeFingerprint(fields["head"])
	for field := range fields {
		name, ok := strings.CutPrefix(field, fieldPart+":")
		if !ok {
			continue
		}
		r.counted[name] = progress{
			shipment: number("ship:" + name), part: number(field), commits: parseCommits(fields[fieldCommit+":"+name]), keep: number(fieldKeep + ":" + name),
			inside: parseInside(fields[fieldInside+":"+name]), long: fields[fieldLong+":"+name],
			resume: number(fieldResume + ":" + name), ending: stream.DecodeEnding(fields[fieldEnding+":"+name]), end: number(fieldEnd + ":" + name),
			tail: fields[fieldTail+":"+name], state: fields[fieldState+":"+name], note: fields[fieldNote+":"+name], cut: fields[fieldCut+":"+name],
			missing: fields[fieldMissing+":"+name] == "1", lost: fields[fieldLost+":"+name] == "1", lines: number(fieldLines + ":" + name),
		}
	}
	return r
}

// place returns the offset in the content where the subscriber that is farthest behind goes on.
func (r record) place(subscribers []string) int64 {
	place := int64(0)
	for i, name := range subscribers {
		if at := r.counted[name]; i == 0 || at.resume < place {
			place = at.resume
		}
	}
	return place
}

// endings returns the endings of the content before the places where subscribers go on, as far as they are
// recorded: a worker of a release that records none leaves that of an earlier place.
func (r record) endings(subscribers []string) (all []stream.Ending) {
	for _, name := range subscribers {
		if at := r.counted[name]; at.ending.Size > 0 {
			all = append(all, at.ending)
		}
	}
	return all
}

// sameSize reports whether a source is as large as the file was when it was shipped.
func (r record) sameSize(src *stream.Source) bool {
	return r.packed == src.Packed && r.size == src.Size
}

// parseCommits parses the number of a commit as the scripts do: text that is not the
// number of a commit is 0.
func parseCommits(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n <= 0 || n >= 1e15 || strconv.FormatInt(n, 10) != text {
		return 0
	}
	return n
}

// malformed reports whether the file can't be read although it is to be counted.
func (r record) malformed() bool {
	return r.segment <= 0 && (r.state == FileUploading || r.state == FileUploaded)
}

// inRedis reports whether segments of the file may still exist.
func (r record) inRedis() bool { return !r.admitted.IsZero() }

// busy returns what a shipper of a file that is in Redis waits for.
func (r record) busy() EventKind {
	if r.state == FileUploading {
		return EventFileUploading
	}
	return EventFileBusy
}

// segmentKeys returns the keys of the segments that may be in Redis.
func (r record) segmentKeys(k keys) []string { return r.segmentRange(k, r.freed, r.booked) }

// segmentRange returns the keys of the segments from one number up to another one.
func (r record) segmentRange(k keys, from, to int64) []string {
	if r.segment <= 0 {
		return nil
	}
	names := make([]string, 0, to-from)
	for n := from; n < to; n++ {
		names = append(names, k.segment(r.id, r.shipment, int(n)))
	}
	return names
}

// needless returns the number of the first segments that none of the subscribers needs any
// more: by the rule of trim.lua, which checks it.
func (r record) needless(subscribers []string) int64 {
	if r.segment <= 0 || len(subscribers) == 0 || r.state != FileUploading && r.state != FileUploaded {
		return 0
	}
	first := r.raw
	for _, name := range subscribers {
		at := r.counted[name]
		switch {
		case at.shipment == r.shipment:
		case at.part == r.shipment:
			first = min(first, at.keep)
		case r.freed == 0:
			return 0
		}
	}
	return first / r.segment
}

// checkpointKeys returns the keys of the checkpoints of subscribers that have counted a part.
func (r record) checkpointKeys(k keys) (names []string) {
	for name, at := range r.counted {
		if at.unfinished() {
			names = append(names, k.subscriber(name).checkpoint(r.id))
		}
	}
	return names
}

func parseInt(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64) // malformed text is 0
	return n
}

// An uploadState is the part of a record that changes during an upload.
type uploadState struct {
	by       string
	shipment int64
	state    FileState
	raw      int64
	full     bool   // the window has no room for more
	cut      string // why a stream that is uploaded is not whole
}

// uploadFields are the fields of a record that parseUpload parses.
var uploadFields = []string{"by", "ship", "state", "raw", "full", "cut"}

// parseUpload parses the uploadFields. Missing fields are zero.
func parseUpload(fields []any) uploadState {
	text := func(i int) string {
		s, _ := fields[i].(string)
		return s
	}
	return uploadState{text(0), parseInt(text(1)), FileState(text(2)), parseInt(text(3)), text(4) != "", text(5)}
}
