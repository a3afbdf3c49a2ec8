package queue

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
)

// A record is a job as bytes. Jobs with options, and most jobs that left the fresh
// lines, have one. It consists of the format version, the letter of the priority, and
// names and values, each as length, colon and bytes:
//
//	2n4:kind10:email.send4:args2:{}12:max_attempts1:3
//
// If a name occurs twice the later value counts, so that a script can amend a record
// by appending. Unknown names are ignored.

// maxErrors is the number of errors that a job remembers, the latest ones.
const maxErrors = 10

// maxErrorText bounds one remembered error, in bytes, and maxStack its stack. The latest maxStacks
// errors keep theirs.
const (
	maxErrorText = 2 << 10
	maxStack     = 4 << 10
	maxStacks    = 3
)

// record returns the job's record.
func (j *Job) record() []byte { return recordOf(j, j.packed) }

// recordOf returns the record of a job with packed args. Those of a new job are copied only there.
func recordOf[T ~string | ~[]byte](j *Job, packed T) []byte {
	b := make([]byte, 0, 64+len(j.Kind)+len(packed)+96*len(j.Headers)+len(j.then))
	b = append(b, formatVersion[0], j.Priority.letter())
	b = appendField(b, "kind", j.Kind)
	b = appendField(b, "args", packed)
	if j.packing != "" {
		b = appendField(b, "packing", j.packing)
	}
	b = appendNumber(b, "max_attempts", int64(j.MaxAttempts))
	b = appendNumber(b, "timeout", j.Timeout.Milliseconds())
	if !j.Deadline.IsZero() {
		b = appendNumber(b, "deadline", j.Deadline.UnixMilli())
	}
	if j.Unique.Key != "" {
		b = appendField(b, "unique", j.Unique.Key)
		b = appendField(b, "scope", j.Unique.Scope.word())
		b = appendNumber(b, "unique_for", j.Unique.For.Milliseconds())
	}
	b = appendNumber(b, "retain", j.Retain.Milliseconds())
	if len(j.Headers) > 0 {
		b = appendHeaders(append(b, "7:headers"...), j.Headers)
	}
	if j.then != "" {
		b = appendField(b, "then", j.then)
	}
	if !j.Enqueued.IsZero() {
		b = appendNumber(b, "enqueued", j.Enqueued.UnixMilli())
	}
	b = appendNumber(b, "attempts", int64(j.Attempts))
	b = appendNumber(b, "forgiven", int64(j.Forgiven))
	if len(j.Errors) > 0 {
		text, _ := json.Marshal(j.Errors) // strings, numbers and times always marshal
		b = appendField(b, "errors", text)
		if details := failureDetails(j.Errors); len(details) > 0 {
			text, _ := json.Marshal(details)
			b = appendField(b, "failures", text)
		}
	}
	b = appendNumber(b, "suspect", int64(j.Quarantines))
	b = appendNumber(b, "crashes", int64(j.Crashes))
	return b
}

// shortRecord returns the record of a delayed job without other options, which is shorter than
// others: the letter of the priority, the kind, a space and the args. It is used only while
// the job is delayed; then the job enters its line with the fields id, kind and args.
func shortRecord(p Priority, kind string, args []byte) []byte {
	b := make([]byte, 0, 2+len(kind)+len(args))
	b = append(append(b, p.letter()), kind...)
	return append(append(b, ' '), args...)
}

// setStored sets the fields of a record or of a short one.
func (j *Job) setStored(text string) error {
	if text == "" {
		return j.setRecord(text)
	}
	priority, isShort := priorityOf(text[0])
	kind, args, isShort2 := strings.Cut(text[1:], " ")
	if !isShort || !isShort2 || kind == "" {
		return j.setRecord(text)
	}
	j.Priority, j.Kind, j.packed = priority, kind, args
	return nil
}

func appendField[T ~string | ~[]byte](b []byte, name string, value T) []byte {
	b = append(appendLength(b, len(name)), name...)
	return append(appendLength(b, len(value)), value...)
}

func appendLength(b []byte, n int) []byte { return append(strconv.AppendInt(b, int64(n), 10), ':') }

// appendNumber omits zero, which a missing number means.
func appendNumber(b []byte, name string, n int64) []byte {
	if n == 0 {
		return b
	}
	return appendField(b, name, strconv.FormatInt(n, 10))
}

var errRecord = errors.New("the record is damaged")

// setRecord sets the fields of a record.
func (j *Job) setRecord(record string) error {
	if len(record) < 2 {
		return fmt.Errorf("%w: it has %d bytes", errRecord, len(record))
	}
	if record[:1] != formatVersion {
		return fmt.Errorf("%w: its format is %.1q, this release reads %s", errRecord, record, formatVersion)
	}
	priority, ok := priorityOf(record[1])
	if !ok {
		return fmt.Errorf("%w: unknown priority %.1q", errRecord, record[1:])
	}
	j.Priority = priority
	for rest := record[2:]; rest != ""; {
		name, value := "", ""
		if name, rest, ok = cutField(rest); ok {
			value, rest, ok = cutField(rest)
		}
		if !ok {
			return fmt.Errorf("%w: it is cut short or has a wrong length", errRecord)
		}
		if name == "id" || name == "job" {
			continue // a record contains no id and no other record
		}
		if err := j.setField(name, value); err != nil {
			return err
		}
	}
	return nil
}

// cutField cuts a length, a colon and that many bytes off the front of text.
func cutField(text string) (field, rest string, ok bool) {
	n, i := 0, 0
	for i < len(text) && text[i] >= '0' && text[i] <= '9' && n <= len(text) {
		n = 10*n + int(text[i]-'0')
		i++
	}
	if i == 0 || i == len(text) || text[i] != ':' || n > len(text)-i-1 {
		return "", "", false
	}
	text = text[i+1:]
	return text[:n], text[n:], true
}

// setField sets one field by its name in records and entries.
func (j *Job) setField(name, value string) error {
	var err error
	switch name {
	case "kind":
		j.Kind = value
	case "args":
		j.packed = value
	case "packing":
		j.packing = value
	case "id":
		j.local = value
	case "job":
		err = j.setRecord(value)
	case "max_attempts":
		err = setNumber(&j.MaxAttempts, value)
	case "timeout":
		err = setMillis(&j.Timeout, value)
	case "deadline":
		err = setTime(&j.Deadline, value)
	case "unique":
		j.Unique.Key = value
	case "scope":
		j.Unique.Scope, err = parseScope(value)
	case "unique_for":
		err = setMillis(&j.Unique.For, value)
	case "retain":
		err = setMillis(&j.Retain, value)
	case "headers":
		j.Headers, err = decodeHeaders(value)
	case "then":
		j.then, j.Then = value, nil
		err = json.Unmarshal([]byte(value), &j.Then)
	default:
		err = j.setHistory(name, value)
	}
	if err != nil {
		return fmt.Errorf("field %s is %.40q: %w", name, value, err)
	}
	return nil
}

// setHistory sets a field that says what happened to a job. It ignores unknown names.
func (j *Job) setHistory(name, value string) (err error) {
	switch name {
	case "enqueued":
		err = setTime(&j.Enqueued, value)
	case "attempts":
		err = setNumber(&j.Attempts, value)
	case "forgiven":
		err = setNumber(&j.Forgiven, value)
	case "errors":
		j.Errors = nil
		err = json.Unmarshal([]byte(value), &j.Errors)
	case "failures":
		setDetails(j.Errors, value)
	case "suspect":
		err = setNumber(&j.Quarantines, value)
	case "crashes":
		err = setNumber(&j.Crashes, value)
	case "group":
		j.Group = value
	case "group_size":
		err = setNumber(&j.GroupSize, value)
	case "ended":
		err = setTime(&j.Ended, value)
	case "outcome":
		j.Outcome = Outcome(value)
	case "reason":
		j.Reason = value
	case "result":
		j.Result = []byte(value)
	}
	return err
}

// A failureDetail has what is known of a [Failure] beside its error. It is in a field of its own,
// because filters search the text of the field errors.
type failureDetail struct {
	Attempt int    `json:"attempt"`
	Worker  string `json:"worker,omitempty"`
	Started int64  `json:"started,omitempty"` // ms since 1970
	Took    int64  `json:"took,omitempty"`    // ms
	Stack   string `json:"stack,omitempty"`
}

// failureDetails returns the details of failures that have some.
func failureDetails(failures []Failure) (details []failureDetail) {
	for _, f := range failures {
		d := failureDetail{Attempt: f.Attempt, Worker: f.Worker, Took: f.Took.Milliseconds(), Stack: f.Stack}
		if !f.Started.IsZero() {
			d.Started = f.Started.UnixMilli()
		}
		if d != (failureDetail{Attempt: f.Attempt}) {
			details = append(details, d)
		}
	}
	return details
}

// setDetails adds details to failures. Those that are damaged are ignored: the job can run
// without them.
func setDetails(failures []Failure, text string) {
	var details []failureDetail
	if json.Unmarshal([]byte(text), &details) != nil {
		return
	}
	for i := range failures {
		f := &failures[i]
		for _, d := range details {
			if d.Attempt != f.Attempt || d.Started < 0 || d.Started > 1<<53 || d.Took < 0 || d.Took > maxDelay.Milliseconds() {
				continue
			}
			f.Worker, f.Stack, f.Took, f.Started = d.Worker, d.Stack, time.Duration(d.Took)*time.Millisecond, time.Time{}
			if d.Started > 0 {
				f.Started = time.UnixMilli(d.Started)
			}
		}
	}
}

func number(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > 1<<53 {
		return 0, errors.New("want a whole number, not below zero")
	}
	return n, nil
}

func setNumber(to *int, text string) error {
	n, err := number(text)
	*to = int(n)
	return err
}

func setMillis(to *time.Duration, text string) error {
	n, err := number(text)
	if n > maxDelay.Milliseconds() {
		return errors.New("longer than 100 years")
	}
	*to = time.Duration(n) * time.Millisecond
	return err
}

func setTime(to *time.Time, text string) error {
	n, err := number(text)
	*to = time.Time{} // zero means none
	if n > 0 && err == nil {
		*to = time.UnixMilli(n)
	}
	return err
}

func (s Scope) word() string {
	return [...]string{UntilFinished: "finished", WhileWaiting: "waiting", ForDuration: "duration"}[s]
}

func parseScope(word string) (Scope, error) {
	for s := UntilFinished; s <= ForDuration; s++ {
		if s.word() == word {
			return s, nil
		}
	}
	return 0, errors.New("unknown scope")
}

// millis returns a duration in milliseconds, rounded up.
func millis(d time.Duration) int64 {
	return int64(min(d, math.MaxInt64-time.Millisecond)+time.Millisecond-1) / int64(time.Millisecond)
}

// zstdPacking is the only compression of args; RFC 8878 specifies it.
const zstdPacking = "zstd"

// maxZstdWindow bounds the memory of a decoder. Encoders of up to 1 MiB of args stay far
// below.
const maxZstdWindow = 8 << 20

var (
	encoders = sync.Pool{New: func() any {
		encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
		if err != nil {
			panic(err) // its options are constants
		}
		return encoder
	}}
	decoders = sync.Pool{New: func() any {
		decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxZstdWindow))
		if err != nil {
			panic(err)
		}
		return decoder
	}}
)

// pack compresses args if that makes them smaller.
func pack(args []byte) (packed []byte, packing string) {
	encoder := encoders.Get().(*zstd.Encoder)
	defer encoders.Put(encoder)
	if small := encoder.EncodeAll(args, nil); len(small) < len(args) {
		return small, zstdPacking
	}
	return args, ""
}

// unpack decompresses args. Any client may have written the bytes, so it stops after limit
// bytes, whatever their header claims.
func unpack(packed, packing string, limit int) ([]byte, error) {
	switch packing {
	case "":
		if len(packed) > limit {
			return nil, fmt.Errorf("%d bytes, the limit is %d", len(packed), limit)
		}
		return []byte(packed), nil
	case zstdPacking:
		decoder := decoders.Get().(*zstd.Decoder)
		defer decoders.Put(decoder)
		if err := decoder.Reset(bytes.NewReader([]byte(packed))); err != nil {
			return nil, err
		}
		args, err := io.ReadAll(io.LimitReader(decoder, int64(limit)+1))
		if err != nil {
			return nil, fmt.Errorf("unpack: %w", err)
		}
		if len(args) > limit {
			return nil, fmt.Errorf("more than %d bytes when unpacked, which is the limit", limit)
		}
		return args, nil
	}
	return nil, errors.New("unknown packing " + fmt.Sprintf("%.20q", packing))
}
