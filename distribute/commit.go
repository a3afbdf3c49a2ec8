package distribute

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// cellBatch is how many cells one script call stages or folds.
const cellBatch = 500

// commit makes a count true: it stages the cells in bounded steps and seals them
// together with the mark that the file is counted in one step. A count whose
// claim is lost is refused whole with errClaimLost. everybody tells that every
// subscriber has counted the shipment now.
func (w *Worker) commit(ctx context.Context, cl *claim, result *fileResult, took time.Duration) (everybody bool, err error) {
	cells, err := w.stage(ctx, cl, result)
	if err != nil {
		return false, err
	}
	return w.seal(ctx, cl, result, cells, took)
}

// settle does what is left to do once a count is true, and what anybody can
// repeat or finish: it folds the cells into the totals in bounded steps, and frees
// the file if everybody has counted it.
func (w *Worker) settle(ctx context.Context, cl *claim, everybody bool) error {
	if err := w.channel.fold(ctx, w.subscriber, shipmentName(cl.id, cl.shipment)); err != nil {
		return err
	}
	if everybody {
		return w.channel.free(ctx, cl.id)
	}
	return nil
}

// stage writes the cells where they count for nothing yet, and says how many.
func (w *Worker) stage(ctx context.Context, cl *claim, result *fileResult) (int, error) {
	args := []any{cl.id, cl.token}
	send := func() error {
		if len(args) == 2 {
			return nil
		}
		answer, err := w.channel.call(ctx, stageScript, subject{subscriber: w.subscriber, file: cl.id}, args...)
		if err == nil && answer.Int(0) == 0 {
			err = errClaimLost
		}
		args = args[:2]
		return err
	}
	cells := 0
	for name, n := range result.cells {
		if n == 0 {
			continue
		}
		if strings.Contains(name.group, "\t") || strings.Contains(name.member, "\t") {
			return 0, fmt.Errorf("the aggregation counts in %q, %q: group and member can't hold a tab", name.group, name.member)
		}
		args = append(args, name.group+"\t"+name.member, n)
		cells++
		if len(args) == 2+2*cellBatch {
			if err := send(); err != nil {
				return 0, err
			}
		}
	}
	return cells, send()
}

// seal reports whether every subscriber has counted the shipment now.
func (w *Worker) seal(ctx context.Context, cl *claim, result *fileResult, cells int, took time.Duration) (bool, error) {
	p := result.progress
	args := []any{
		w.subscriber, cl.id, cl.shipment, cl.token, cells,
		7, fieldResume, p.resume, fieldEnd, p.end, fieldTail, p.tail, fieldState, p.state, fieldNote, p.note,
		fieldMissing, p.missing, fieldLines, p.lines,
	}
	t := result.tally
	for _, total := range []struct {
		field string
		n     int64
	}{
		{"lines", t.Lines}, {"counted", t.Counted}, {"unknown", t.Unknown}, {"unparsable", t.Unparsable},
		{"bytes", t.Bytes}, {"files", t.Files}, {"partial", t.Partial}, {"failed", t.Failed},
		{"busy", took.Milliseconds()}, {buildField + w.aggregation.Build(), t.Lines},
	} {
		if total.n != 0 {
			args = append(args, total.field, total.n)
		}
	}
	of := subject{subscriber: w.subscriber, file: cl.id, sealed: shipmentName(cl.id, cl.shipment)}
	reply, err := w.channel.call(ctx, sealScript, of, args...)
	answer := reply.Int(0)
	switch {
	case err != nil:
		return false, err
	case answer == 0:
		return false, errClaimLost
	case answer < 0:
		return false, errors.New("staged counts are not as they were written: something else writes to them")
	}
	return answer == 2, nil
}

// sealed lists the shipments of a subscriber whose counts are true but not yet
// folded into the totals.
func (c *Channel) sealed(ctx context.Context, subscriber string) ([]string, error) {
	return ask(ctx, c.db, func() ([]string, error) {
		return c.db.SMembers(ctx, c.keys.sealed(subscriber)).Result()
	})
}

// foldAll folds what workers that died left sealed.
func (c *Channel) foldAll(ctx context.Context, subscriber string) error {
	shipments, err := c.sealed(ctx, subscriber)
	if err != nil {
		return err
	}
	for _, shipment := range shipments {
		if err := c.fold(ctx, subscriber, shipment); err != nil {
			return err
		}
	}
	return nil
}

// fold moves the sealed counts of one shipment into the totals.
func (c *Channel) fold(ctx context.Context, subscriber, shipment string) error {
	sealed := c.keys.sealedCells(subscriber, shipment)
	for cursor := uint64(0); ; {
		var pairs []string
		err := c.db.Retry(ctx, func() (err error) {
			pairs, cursor, err = c.db.HScan(ctx, sealed, cursor, "", cellBatch).Result()
			return err
		})
		if err != nil {
			return err
		}
		// A scan may bring more than it was asked for.
		for some := range slices.Chunk(pairs, 2*cellBatch) {
			left, err := c.foldCells(ctx, subscriber, shipment, some)
			if err != nil || left == 0 {
				return err
			}
		}
		if cursor == 0 && len(pairs) == 0 {
			return c.unseal(ctx, subscriber, shipment)
		}
		// Cells are removed while the scan goes on; it still meets all that
		// were there when it began, and starts anew if any are left.
	}
}

// unseal takes a shipment off the list of those to be folded whose cells are
// gone: another folder was in between, or somebody deleted them.
func (c *Channel) unseal(ctx context.Context, subscriber, shipment string) error {
	return c.db.Retry(ctx, func() error { return c.db.SRem(ctx, c.keys.sealed(subscriber), shipment).Err() })
}

// foldCells folds the cells given, as pairs of cell and number, and says how
// many are left.
func (c *Channel) foldCells(ctx context.Context, subscriber, shipment string, pairs []string) (int64, error) {
	of := subject{subscriber: subscriber, sealed: shipment}
	args := []any{shipment, subscriber, len(pairs) / 2}
	var places, groups []any
	place := map[string]int{}
	for i := 0; i < len(pairs); i += 2 {
		group, member, _ := strings.Cut(pairs[i], "\t")
		if place[group] == 0 {
			place[group] = len(place) + 1
			of.more, groups = append(of.more, c.keys.totals(subscriber, group)), append(groups, group)
		}
		args, places = append(args, pairs[i]), append(places, member, place[group])
	}
	args = append(append(args, places...), groups...)
	left, err := c.call(ctx, foldScript, of, args...)
	return left.Int(0), err
}
