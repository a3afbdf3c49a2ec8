package distribute

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/distribute/stream"
)

// shipOnce plans, admits, announces and uploads a file.
func (s *Shipper) shipOnce(ctx context.Context, src *stream.Source, result *ShippedFile, patient bool) error {
	for told := (notice{}); ; {
		since, err := s.channel.moment(ctx)
		if err != nil {
			return err
		}
		p, err := s.plan(ctx, src)
		switch {
		case errors.Is(err, errBusy):
			err := s.awaitFree(ctx, since, src, patient, &told)
			if errors.Is(err, errQuit) {
				result.Outcome = NotReached
				return nil
			}
			if err != nil {
				return err
			}
			continue
		case err != nil:
			return err
		case p.done != nil:
			result.Outcome, result.Note = p.done.Outcome, p.done.Note
			result.id, result.shipment = p.id, p.shipment
			if s.mode == modeBatch {
				s.config.Notify.tell(Event{File: src.Path, Text: withNote(p.done.Outcome.String(), p.done.Note)})
			}
			return nil
		}
		shipment, err := s.admit(ctx, src, p)
		switch {
		case errors.Is(err, errChanged):
			continue
		case errors.Is(err, errQuit):
			result.Outcome = NotReached
			return nil
		case err != nil:
			return err
		}
		result.id, result.shipment, result.Bytes = p.id, shipment, 0
		return s.upload(ctx, src, p, result)
	}
}

func withNote(text, note string) string {
	if note == "" {
		return text
	}
	return text + " (" + note + ")"
}

// awaitFree waits until an earlier shipment of the same file is out of Redis;
// without patience it only cleans up what may be in the way.
func (s *Shipper) awaitFree(ctx context.Context, since moment, src *stream.Source, patient bool, told *notice) error {
	if !patient {
		if err := s.channel.sweep(ctx); err != nil {
			return err
		}
		_, known, err := s.channel.lookup(ctx, src.Head.IndexKey(), src.Head)
		if err == nil && (known == nil || known.inRedis()) {
			return errBusy
		}
		return err
	}
	if closed(s.config.Quit) {
		return errQuit
	}
	return s.await(ctx, since, waitFor{src.Path, "waits until what was shipped of it before is counted: ", true}, told)
}

// A waitFor is what people are told while a shipper waits.
type waitFor struct {
	file, text string
	laggards   bool // the text goes on with the subscribers that it waits for
}

// await cleans up what may be in the way, tells people once in a while what it
// waits for, and blocks until something has happened in the channel.
func (s *Shipper) await(ctx context.Context, since moment, what waitFor, told *notice) error {
	if err := s.channel.sweep(ctx); err != nil {
		return err
	}
	if told.due() {
		if what.laggards {
			laggards, err := s.channel.laggards(ctx)
			if err != nil {
				return err
			}
			what.text += laggards
		}
		s.config.Notify.tell(Event{File: what.file, Text: what.text})
	}
	return s.channel.wait(ctx, since, s.config.Lease/2, s.config.Quit)
}

// upload announces a file and appends its blocks. Whatever keeps it from being
// complete abandons it, so that nobody waits for the rest.
func (s *Shipper) upload(ctx context.Context, src *stream.Source, p plan, result *ShippedFile) error {
	s.inHand(result)
	defer s.inHand(nil)
	err := s.channel.announce(ctx, s.token, p.id, result.shipment)
	if err == nil {
		segment := s.channel.segmentSize()
		err = src.Pieces(p.base, segment, func(piece []byte) error { return s.append(ctx, result, segment, piece) })
	}
	if err == nil {
		err = s.complete(ctx, src, p, result)
	}
	if err != nil {
		// What is wrong with the file itself its shipper tells. It may never be
		// shipped again, or as another file.
		return errors.Join(err, s.giveUp(ctx, result, !fileProblem(err)))
	}
	result.Outcome = Shipped
	if p.base > 0 {
		result.Note = fmt.Sprintf("only what is new: from byte %d on", p.base)
	}
	if n := src.Grown(); n > 0 && s.mode == modeBatch {
		result.Note = fmt.Sprintf("it grew by %d bytes meanwhile: ship it again for those", n)
	}
	s.config.Notify.tell(Event{File: src.Path, Text: withNote(result.Outcome.String(), result.Note)})
	return nil
}

// giveUp abandons the upload in hand, even when ctx is done.
func (s *Shipper) giveUp(ctx context.Context, result *ShippedFile, missed bool) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	gone, err := s.channel.abandon(ctx, result.id, result.shipment, s.token, missed)
	if err != nil || !gone {
		return err
	}
	return s.channel.free(ctx, result.id)
}

var errForeign = errors.New("a segment in Redis is not as it was left: something else writes to it")

// append appends to a segment in one transaction and wakes those who read the
// file. The transaction fails if the file's record has changed since it was
// looked at, and the record tells whether an earlier try has succeeded. (A
// script could do the same in one round trip, but to bring a block through Lua
// costs Redis more than twice as much: 650 µs instead of 280 for 256 KiB.)
func (s *Shipper) append(ctx context.Context, result *ShippedFile, segment int64, content []byte) error {
	k, before := s.channel.keys, result.Bytes
	file, after := k.file(result.id), before+int64(len(content))
	name := k.segment(result.id, result.shipment, int(before/segment))
	try := func(tx *redis.Tx) error {
		fields := tx.HMGet(ctx, file, "by", "ship", "state", "raw")
		if err := fields.Err(); err != nil {
			return err
		}
		r := parseUpload(fields.Val())
		switch {
		case r.by != s.token || r.shipment != result.shipment || r.state != uploading:
			return errLeaseLost
		case r.raw == after:
			return nil
		case r.raw != before:
			return errForeign
		}
		var length *redis.Cmd
		_, err := tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			for block := range slices.Chunk(content, stream.BlockSize) {
				length = pipe.Do(ctx, "append", name, block)
			}
			pipe.HSet(ctx, file, "raw", after)
			pipe.XAdd(ctx, &redis.XAddArgs{Stream: k.fileWake(result.id, result.shipment), MaxLen: 1,
				ID: strconv.FormatInt(after, 10) + "-0", Values: []any{"more", 1}})
			return nil
		})
		if err != nil {
			return err
		}
		if n, err := length.Int64(); err != nil || n != before%segment+int64(len(content)) {
			return errors.Join(errForeign, err)
		}
		return nil
	}
	var err error = redis.TxFailedErr
	for errors.Is(err, redis.TxFailedErr) { // the record was written to in between: look again
		err = s.channel.db.Retry(ctx, func() error { return s.channel.db.Watch(ctx, try, file) })
	}
	if err == nil {
		result.Bytes = after
		s.bytes.Add(int64(len(content)))
	}
	return err
}

// complete makes sure that what went up was one state of the file, and marks the
// upload as complete.
func (s *Shipper) complete(ctx context.Context, src *stream.Source, p plan, result *ShippedFile) error {
	if err := src.CheckUnchanged(); err != nil {
		return err
	}
	answer, err := s.channel.call(ctx, completeScript, subject{file: p.id, shipment: result.shipment},
		s.token, result.shipment, result.Bytes, p.id)
	if err == nil && answer.Int(0) == 0 {
		err = errLeaseLost
	}
	return err
}

// awaitCounted waits until every subscriber has counted what is in Redis, and
// notes how many lines that are.
func (s *Shipper) awaitCounted(ctx context.Context, results []ShippedFile) error {
	told := notice{}
	for i := range results {
		result := &results[i]
		if result.id == "" {
			continue
		}
		r, err := s.awaitFile(ctx, result, &told)
		if err != nil {
			return err
		}
		result.Lines = map[string]int64{}
		for subscriber, progress := range r.counted {
			result.Lines[subscriber] = progress.lines
		}
	}
	return nil
}

// awaitFile waits until a file's shipment is counted or given up, or quit.
func (s *Shipper) awaitFile(ctx context.Context, result *ShippedFile, told *notice) (record, error) {
	for {
		since, err := s.channel.moment(ctx)
		if err != nil {
			return record{}, err
		}
		r, err := s.channel.record(ctx, result.id)
		if err != nil {
			return record{}, err
		}
		if r.shipment != result.shipment || !r.inRedis() || closed(s.config.Quit) {
			return r, nil
		}
		if err := s.await(ctx, since, waitFor{text: "waits until all is counted: ", laggards: true}, told); err != nil {
			return record{}, err
		}
	}
}
