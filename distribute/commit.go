package distribute

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/distribute/cuts"
	"skidway/distribute/stream"
)

// A part is what one commit adds to the counts of a file.
type part struct {
	result *fileResult
	last   bool // the file is counted to its end
	cut    bool // the last part, although more may be uploaded: it can't be counted

	// checkpoint is where the next worker reads the upload on, if the claim is lost; nil
	// if it reads from the start of the upload, and with the last part.
	checkpoint []byte

	build string // of the aggregation
}

// commit stages the part's cells in batches, then seals them in one script, under the
// number that follows the last commit of the shipment. It reports whether every subscriber
// has now counted the shipment. It returns errClaimLost if the claim is lost; then nothing
// of the part is valid. After any other error the part may or may not be valid.
func (c *claim) commit(ctx context.Context, p part) (allCounted bool, err error) {
	cells, err := c.stage(ctx, p.result)
	if err != nil {
		return false, err
	}
	allCounted, err = c.seal(ctx, p, cells)
	if err == nil {
		c.commits, c.since = c.commits+1, time.Now()
	}
	return allCounted, err
}

// stage writes the result's cells to a key that no report reads, and returns their
// number. Lines of days for which the subscriber has no room become expired lines.
func (c *claim) stage(ctx context.Context, result *fileResult) (int, error) {
	days, filtered, err := result.byDay()
	if err != nil {
		return 0, err
	}
	staged, refused := 0, map[string]bool{}
	batch := stageBatch{claim: c, refused: refused}
	for day, cells := range days {
		parts := slices.Collect(batches(cells, cellBatch-1, cellSize))
		for i, part := range parts {
			if batch.size()+len(part) >= cellBatch || batch.bytes > 0 && batch.bytes+sizeOf(part) > maxBatchBytes {
				if err := batch.send(ctx); err != nil {
					return 0, err
				}
			}
			if refused[day] {
				break
			}
			if batch.add(part); i == 0 && day != "" {
				batch.days = append(batch.days, day)
			}
			staged += len(part)
			if i == 0 && len(parts) > 1 { // whether the others are wanted
				if err := batch.send(ctx); err != nil {
					return 0, err
				}
			}
		}
	}
	for _, day := range filtered {
		if batch.size() >= cellBatch {
			if err := batch.send(ctx); err != nil {
				return 0, err
			}
		}
		batch.others = append(batch.others, day)
	}
	if err := batch.send(ctx); err != nil {
		return 0, err
	}
	if len(refused) > 0 {
		for day := range refused {
			for part := range batches(days[day], cellBatch-1, cellSize) {
				staged -= len(part)
				break
			}
		}
		result.expire(refused)
	}
	sketches, err := batch.stageVisitors(ctx, result.sketches)
	return staged + sketches, err
}

// A stageBatch has the arguments of one call that stages cells.
type stageBatch struct {
	claim   *claim
	days    []any           // whose first cells are in the batch
	others  []any           // days without cells, of which only lines that were filtered are counted
	cells   []any           // pairs of name and number
	bytes   int             // of their names
	refused map[string]bool // days for which there is no room
}

func (b *stageBatch) size() int { return len(b.days) + len(b.others) + len(b.cells)/2 }

func cellSize(c Cell) int { return len(c.Group) + len(c.Member) }

func sizeOf(cells []Cell) (n int) {
	for _, cell := range cells {
		n += cellSize(cell)
	}
	return n
}

func (b *stageBatch) add(cells []Cell) {
	for _, cell := range cells {
		b.cells = append(b.cells, cell.Group+"\t"+cell.Member, cell.N)
	}
	b.bytes += sizeOf(cells)
}

// send stages the cells, and empties the batch.
func (b *stageBatch) send(ctx context.Context) error {
	if b.size() == 0 {
		return nil
	}
	c := b.claim
	args := slices.Concat([]any{c.subscriber, c.epoch, c.id, c.shipment, c.token, c.commits + 1, len(b.days), len(b.others)}, b.days, b.others, b.cells)
	reply, err := c.channel.call(ctx, stageScript, target{subscriber: c.subscriber, file: c.id}, args...)
	if err != nil {
		return err
	}
	if reply.Int(0) == 0 {
		return errClaimLost
	}
	for i := range reply.Len() - 1 {
		b.refused[reply.Text(1+i)] = true
	}
	b.days, b.others, b.cells, b.bytes = nil, nil, nil, 0
	return nil
}

// seal makes the staged cells valid, updates the subscriber's sums and the file's
// progress, and with the last part ends the claim, in one script.
func (c *claim) seal(ctx context.Context, p part, cells int) (allCounted bool, err error) {
	at := p.result.progress
	if tail := p.result.tail.format(); tail != "" {
		at.tail = tail
	}
	fields := []any{fieldResume, at.resume, fieldEnding, at.ending.Encode(), fieldTail, at.tail, fieldState, at.state, fieldLines, at.lines}
	if !p.last {
		fields = append(fields, fieldLong, at.long, fieldKeep, at.keep, fieldInside, at.inside.format())
	} else {
		fields = append(fields, fieldLong, "", fieldInside, "", fieldEnd, at.end, fieldNote, at.note, fieldMissing, at.missing, fieldLost, at.lost)
	}
	final := 0
	switch {
	case p.cut:
		final = 2
	case p.last:
		final = 1
	}
	checkpoint := []byte(nil)
	if p.checkpoint != nil {
		checkpoint = append(checkpointPrefix(c.shipment), p.checkpoint...)
	}
	args := append([]any{c.subscriber, c.epoch, c.id, c.shipment, c.token, c.commits + 1, final, checkpoint, cells, len(fields) / 2}, fields...)
	t := p.result.tally
	for _, sum := range []struct {
		field string
		n     int64
	}{
		{"lines", t.Lines}, {"counted", t.Counted}, {"unknown", t.Unknown}, {"filtered", t.Filtered}, {"expired", t.Expired}, {"unparsable", t.Unparsable},
		{"private", t.Private}, {"crawlers", t.Crawlers},
		{"bytes", t.Bytes}, {"files", t.Files}, {"partial", t.Partial}, {"failed", t.Failed},
		{"busy", time.Since(c.since).Milliseconds()}, {buildField + p.build, t.Lines},
	} {
		if sum.n != 0 {
			args = append(args, sum.field, sum.n)
		}
	}
	keys := target{subscriber: c.subscriber, file: c.id, sealed: commitName(c.id, c.shipment, c.commits+1)}
	reply, err := c.channel.call(ctx, sealScript, keys, args...)
	switch n := reply.Int(0); {
	case err != nil:
		return false, err
	case n == 0:
		return false, errClaimLost
	case n < 0:
		return false, errors.New("the number of staged cells has changed: something else writes to them")
	default:
		return n == 2, nil
	}
}

// foldAndFree does the work that follows a commit, which any process can repeat:
// it folds the cells into the totals, and frees the segments that no subscriber needs any
// more: all of them if every subscriber has counted the shipment, else those before keep.
func (c *claim) foldAndFree(ctx context.Context, settings cuts.Settings, allCounted bool, keep int64) error {
	totals := c.channel.totals(c.subscriber)
	totals.epoch = c.epoch
	if err := totals.fold(ctx, settings, commitName(c.id, c.shipment, c.commits)); err != nil {
		return err
	}
	switch {
	case allCounted:
		return c.channel.files.freeSegments(ctx, c.id)
	case c.segment > 0 && keep/c.segment > c.trimmed:
		c.trimmed = keep / c.segment
		return c.channel.files.trim(ctx, c.id)
	}
	return nil
}

// checkpointPrefix is what a recorded checkpoint begins with: it is one of this shipment.
func checkpointPrefix(shipment int64) []byte { return []byte(strconv.FormatInt(shipment, 10) + " ") }

// checkpoint returns the place where the count of an upload goes on, whose content up to
// before.resume the subscriber has counted: the last checkpoint at or before it. It is the
// start of the upload if there is none that can be used.
func (c *claim) checkpoint(ctx context.Context, r record, before progress) (stream.Checkpoint, error) {
	content := before.resume + before.inside.bytes - r.base
	if r.codec == stream.Plain {
		if !r.stream { // whose length is not known
			content = min(content, r.upload) // the file may be shorter than before
		}
		content = max(before.keep, content-stream.EndingSize, 0) // for the ending of the next place
		return stream.Checkpoint{Raw: content, Content: content}, nil
	}
	if before.part != r.shipment {
		return stream.Checkpoint{}, nil
	}
	recorded, err := query(ctx, c.channel.db, func() (string, error) {
		return c.channel.db.Get(ctx, c.channel.keys.subscriber(c.subscriber).checkpoint(c.id)).Result()
	})
	encoded, found := strings.CutPrefix(recorded, string(checkpointPrefix(r.shipment)))
	switch {
	case errors.Is(err, redis.Nil):
		return stream.Checkpoint{}, nil
	case err != nil:
		return stream.Checkpoint{}, fmt.Errorf("read the checkpoint of a file: %w", err)
	case !found:
		return stream.Checkpoint{}, nil
	}
	place, err := stream.ParseCheckpoint(r.codec, []byte(encoded))
	if err != nil || place.Content > content || place.Raw > r.raw {
		return stream.Checkpoint{}, nil
	}
	return place, nil
}
