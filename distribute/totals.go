package distribute

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"skidway/distribute/cuts"
)

// cellBatch is the number of cells that one script call stages or folds.
const cellBatch = 500

// totals are the counts of one subscriber: the totals of each group, and the sealed
// cells of commits that are not folded into them yet.
type totals struct {
	*store
	subscriber  string
	own         subscriberKeys
	epoch       string // of the subscriber, for a fold
	maxSketches int    // of visitors
}

func (s *store) totals(subscriber string) totals {
	return totals{s, subscriber, s.keys.subscriber(subscriber), "", MaxSketches}
}

// sealed returns the names of the commits that have sealed cells.
func (t totals) sealed(ctx context.Context) ([]string, error) {
	return query(ctx, t.db, func() ([]string, error) { return t.db.SMembers(ctx, t.own.sealed()).Result() })
}

// tidy completes a reset, expires days, folds the sealed commits, of which dead workers may have left
// some, bounds the groups that have too many cells, and deletes imports that no report has.
func (t totals) tidy(ctx context.Context) error {
	var text, reset string
	var commits, crowded []string
	err := t.db.Retry(ctx, func() error {
		pipe := t.db.Pipeline()
		settings, sealed := pipe.HGet(ctx, t.keys.subscribers(), t.subscriber), pipe.SMembers(ctx, t.own.sealed())
		many, epoch := pipe.SMembers(ctx, t.own.crowded()), pipe.HGet(ctx, t.own.record(), "epoch")
		removal := pipe.HGet(ctx, t.keys.removed(), t.subscriber)
		_, err := pipe.Exec(ctx)
		text, commits, crowded, t.epoch, reset = settings.Val(), sealed.Val(), many.Val(), epoch.Val(), removal.Val()
		if errors.Is(err, redis.Nil) { // of what is not there
			err = errors.Join(sealed.Err(), many.Err())
		}
		return err
	})
	if err != nil {
		return err
	}
	if reset != "" {
		return fileStore{t.store}.completeRemoval(ctx, removal{t.subscriber, reset})
	}
	settings, _ := cuts.ParseSettings(text)
	oldest, err := t.expire(ctx, settings)
	if err != nil {
		return err
	}
	if err := tidyImports(ctx, t, oldest); err != nil {
		return err
	}
	if err := t.fold(ctx, settings, commits...); err != nil || len(crowded) == 0 {
		return err
	}
	return t.mergeAll(ctx, settings)
}

// fold moves the sealed cells of commits into the totals, and bounds the groups that have too
// many cells. Several processes may fold one commit at the same time. While a report reads the
// totals it does nothing.
func (t totals) fold(ctx context.Context, settings cuts.Settings, commits ...string) error {
	anyCrowded := false
	for _, commit := range commits {
		crowded, err := t.foldCommit(ctx, commit, settings)
		if err != nil {
			return err
		}
		anyCrowded = anyCrowded || crowded
	}
	if !anyCrowded {
		return nil
	}
	return t.mergeAll(ctx, settings)
}

// foldCommit folds one commit, and reports whether groups have too many cells.
func (t totals) foldCommit(ctx context.Context, commit string, settings cuts.Settings) (crowded bool, err error) {
	sealed := t.own.sealedCells(commit)
	for cursor := uint64(0); ; {
		var pairs []string
		err := t.db.Retry(ctx, func() (err error) {
			pairs, cursor, err = t.db.HScan(ctx, sealed, cursor, "", cellBatch).Result()
			return err
		})
		if err != nil {
			return crowded, err
		}
		cells, left, err := t.foldVisitors(ctx, commit, pairs)
		if err != nil || len(pairs) > 0 && left <= 0 {
			return crowded, err
		}
		// A scan may return more than COUNT cells.
		for batch := range wholeCells(cells, settings) {
			left, many, err := t.foldCells(ctx, commit, batch, settings)
			crowded = crowded || many
			if err != nil || left <= 0 {
				return crowded, err
			}
		}
		if cursor == 0 && len(pairs) == 0 {
			// The cells are gone, but the commit is still listed: another
			// process may have folded or deleted them before removing the
			// commit from the list.
			return crowded, t.db.Retry(ctx, func() error { return t.db.SRem(ctx, t.own.sealed(), commit).Err() })
		}
		// The scan returns every cell that existed at its start, although
		// cells are removed meanwhile. If any are left it starts again.
	}
}

// A cellPlace is the name of a sealed cell, its group and its member.
type cellPlace struct{ name, group, member string }

// maxBatchBytes bounds the names of cells in one call of a script. The arguments have each of
// them once or twice.
const maxBatchBytes = 100 << 10

// batches splits a list into parts with at most so many items, and maxBatchBytes.
func batches[T any](list []T, most int, size func(T) int) iter.Seq[[]T] {
	return func(yield func([]T) bool) {
		start, bytes := 0, 0
		for i, item := range list {
			if i-start == most || i > start && bytes+size(item) > maxBatchBytes {
				if !yield(list[start:i]) {
					return
				}
				start, bytes = i, 0
			}
			bytes += size(item)
		}
		if start < len(list) {
			yield(list[start:])
		}
	}
}

// wholeCells returns the cells of a scan, which are pairs of name and number, in batches. Those
// of all series of a cell are in one batch, whether or not they are there, so that all of its
// measures are in the totals, or none. A cell with a negative number is alone, so that it can be
// subtracted elsewhere.
func wholeCells(pairs []string, settings cuts.Settings) iter.Seq[[]cellPlace] {
	var whole, negative [][]cellPlace // each has the series of one cell
	seen := map[string]int{}          // the index in whole, or -1
	for i := 0; i < len(pairs); i += 2 {
		at, found := seen[pairs[i]]
		if !found {
			cell := seriesOf(pairs[i], settings)
			at = len(whole)
			for _, place := range cell {
				seen[place.name] = at
			}
			whole = append(whole, cell)
		}
		if strings.HasPrefix(pairs[i+1], "-") && whole[at] != nil {
			negative = append(negative, whole[at])
			whole[at] = nil
		}
	}
	whole = slices.DeleteFunc(whole, func(cell []cellPlace) bool { return cell == nil })
	return func(yield func([]cellPlace) bool) {
		var batch []cellPlace
		bytes := 0
		for _, cell := range whole {
			size := 0
			for _, place := range cell {
				size += len(place.name)
			}
			if len(batch)+len(cell) > cellBatch || len(batch) > 0 && bytes+size > maxBatchBytes {
				if !yield(batch) {
					return
				}
				batch, bytes = nil, 0
			}
			batch, bytes = append(batch, cell...), bytes+size
		}
		if len(batch) > 0 && !yield(batch) {
			return
		}
		for _, cell := range negative {
			if !yield(cell) {
				return
			}
		}
	}
}

// seriesOf returns the cells of all series that belong to one cell.
func seriesOf(name string, settings cuts.Settings) (cell []cellPlace) {
	group, member, _ := strings.Cut(name, "\t")
	series := []string{group}
	if g, ok := cuts.ParseGroup(group); ok && len(settings.Measures) > 1 {
		series = series[:0]
		for _, sibling := range settings.Groups(g) {
			series = append(series, sibling.String())
		}
	}
	for _, group := range series {
		cell = append(cell, cellPlace{group + "\t" + member, group, member})
	}
	return cell
}

// foldCells folds some cells of a commit. It returns how many are left, -1 if a report reads
// the totals, and whether groups have too many cells.
func (t totals) foldCells(ctx context.Context, commit string, cells []cellPlace, settings cuts.Settings) (left int64, crowded bool, err error) {
	keys := target{subscriber: t.subscriber, sealed: commit}
	args := []any{commit, t.subscriber, t.epoch, len(cells)}
	var places, groups []any  // places: member and group index of each cell
	index := map[string]int{} // of each group, from 1
	for _, cell := range cells {
		if index[cell.group] == 0 {
			index[cell.group] = len(index) + 1
			bound := 0
			if g, ok := cuts.ParseGroup(cell.group); ok {
				bound = settings.Bound(g)
			}
			keys.more, groups = append(keys.more, t.own.totals(cell.group)), append(groups, cell.group, bound)
		}
		args, places = append(args, cell.name), append(places, cell.member, index[cell.group])
	}
	args = append(append(args, places...), groups...)
	if g, ok := cuts.ParseGroup(cells[0].group); ok && !slices.ContainsFunc(cells, func(c cellPlace) bool { return c.member != cells[0].member }) {
		for _, other := range settings.Others(g, cells[0].member) {
			args = append(args, other)
		}
	}
	reply, err := t.call(ctx, foldScript, keys, args...)
	return reply.Int(0), reply.Int(1) > 0, err
}
