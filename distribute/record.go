package distribute

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"skidway/distribute/stream"
)

// States of a file. After done or abandoned comes uploading again, when the
// file is shipped again.
const (
	uploading = "uploading" // a shipper appends to it under a lease
	uploaded  = "uploaded"  // all of it is in Redis, until every subscriber has counted it
	done      = "done"      // every subscriber has counted it
	abandoned = "abandoned" // its shipper gave up or died
)

// A record is what the channel keeps of one file.
type record struct {
	id       string
	name     string // as its last shipper called it
	shipment int64  // number of the last one, from 1
	state    string
	head     stream.Fingerprint
	codec    stream.Codec
	size     int64 // of the file as shipped, compressed or not

	// While it is in Redis.
	by       string // its shipper
	base     int64  // where in the uncompressed content the upload begins
	raw      int64  // bytes uploaded
	cost     int64  // bytes of the window
	segment  int64  // bytes a segment
	upload   int64  // bytes to upload in all
	admitted time.Time

	counted map[string]progress // by subscriber
}

// progress is how far a subscriber has counted a file.
type progress struct {
	shipment int64  // the last one that it counted
	resume   int64  // it goes on at this offset of the uncompressed content, the start of a line
	end      int64  // it has seen the content up to here: beyond resume lies a last line without its newline
	tail     string // what that line counted, taken back when it is counted anew
	state    string // what the Counter wants to know when it goes on
	note     string // what is wrong with the file, for people
	lines    int64  // of the file, counted in all
	missing  bool   // some or all of its lines could not be counted
}

// Fields of a record; those of a subscriber are followed by ":" and its name.
const (
	fieldResume  = "resume"
	fieldEnd     = "end"
	fieldTail    = "tail"
	fieldState   = "state"
	fieldNote    = "note"
	fieldMissing = "missing"
	fieldLines   = "lines"
)

func (c *Channel) record(ctx context.Context, id string) (record, error) {
	fields, err := ask(ctx, c.db, func() (map[string]string, error) { return c.db.HGetAll(ctx, c.keys.file(id)).Result() })
	if err != nil {
		return record{}, fmt.Errorf("read the record of a file: %w", err)
	}
	return parseRecord(id, fields), nil
}

// mostSegments bounds what is believed of a record: it is a file of 1 TiB.
const mostSegments = 1 << 18

// parseRecord reads what Redis holds; what is malformed is as if it were not
// there.
func parseRecord(id string, fields map[string]string) record {
	number := func(field string) int64 {
		n, err := strconv.ParseInt(fields[field], 10, 64)
		if err != nil || n < 0 {
			return 0
		}
		return n
	}
	r := record{
		id: id, name: fields["name"], shipment: number("ship"), state: fields["state"],
		codec: stream.Codec(fields["codec"]), size: number("size"),
		by: fields["by"], base: number("base"), raw: number("raw"), cost: number("cost"),
		segment: number("segment"), upload: number("upload"),
		admitted: milliseconds(fields["admitted"]),
		counted:  map[string]progress{},
	}
	if r.segment > 0 && r.upload/r.segment >= mostSegments {
		r.segment = 0
	}
	r.head, _ = stream.DecodeFingerprint(fields["head"])
	for field := range fields {
		name, ok := strings.CutPrefix(field, "ship:")
		if !ok {
			continue
		}
		r.counted[name] = progress{
			shipment: number(field), resume: number(fieldResume + ":" + name), end: number(fieldEnd + ":" + name),
			tail: fields[fieldTail+":"+name], state: fields[fieldState+":"+name], note: fields[fieldNote+":"+name],
			missing: fields[fieldMissing+":"+name] == "1", lines: number(fieldLines + ":" + name),
		}
	}
	return r
}

// inRedis reports whether the file's segments may still be there.
func (r record) inRedis() bool { return r.cost > 0 }

func (r record) segmentKeys(k keys) []string {
	if r.segment <= 0 {
		return nil
	}
	names := make([]string, stream.SegmentCount(r.upload, r.segment))
	for i := range names {
		names[i] = k.segment(r.id, r.shipment, i)
	}
	return names
}

func parseInt(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64) // what is malformed counts nothing
	return n
}

// An uploadState is how an upload stands.
type uploadState struct {
	by       string
	shipment int64
	state    string
	raw      int64
}

// parseUpload reads the fields by, ship, state and raw of a record. What is
// missing is empty.
func parseUpload(fields []any) uploadState {
	text := func(i int) string {
		s, _ := fields[i].(string)
		return s
	}
	return uploadState{text(0), parseInt(text(1)), text(2), parseInt(text(3))}
}
