package distribute

import (
	"cmp"
	"context"
	"crypto/rand"
	"slices"
	"strings"
	"time"
)

// cellBatch is the number of cells that one script call stages or folds.
const cellBatch = 500

// totals are the counts of one subscriber: the totals of each group, and the sealed
// cells of commits that are not folded into them yet.
type totals struct {
	*store
	subscriber string
}

func (s *store) totals(subscriber string) totals { return totals{s, subscriber} }

// sealed returns the names of the commits that have sealed cells.
func (t totals) sealed(ctx context.Context) ([]string, error) {
	return query(ctx, t.db, func() ([]string, error) { return t.db.SMembers(ctx, t.keys.sealed(t.subscriber)).Result() })
}

// foldAll folds the sealed commits: dead workers may have left some.
func (t totals) foldAll(ctx context.Context) error {
	commits, err := t.sealed(ctx)
	if err != nil {
		return err
	}
	for _, commit := range commits {
		if err := t.fold(ctx, commit); err != nil {
			return err
		}
	}
	return nil
}

// fold moves the sealed cells of one commit into the totals. Several processes
// may fold one commit at the same time. While a report reads them it does nothing.
func (t totals) fold(ctx context.Context, commit string) error {
	sealed := t.keys.sealedCells(t.subscriber, commit)
	for cursor := uint64(0); ; {
		var pairs []string
		err := t.db.Retry(ctx, func() (err error) {
			pairs, cursor, err = t.db.HScan(ctx, sealed, cursor, "", cellBatch).Result()
			return err
		})
		if err != nil {
			return err
		}
		// A scan may return more than COUNT cells.
		for batch := range slices.Chunk(pairs, 2*cellBatch) {
			left, err := t.foldCells(ctx, commit, batch)
			if err != nil || left <= 0 {
				return err
			}
		}
		if cursor == 0 && len(pairs) == 0 {
			// The cells are gone, but the commit is still listed: another
			// process may have folded or deleted them before removing the
			// commit from the list.
			return t.db.Retry(ctx, func() error { return t.db.SRem(ctx, t.keys.sealed(t.subscriber), commit).Err() })
		}
		// The scan returns every cell that existed at its start, although
		// cells are removed meanwhile. If any are left it starts again.
	}
}

// foldCells folds some cells of a commit, given as pairs of name and number,
// and returns how many cells are left, -1 if a report reads them.
func (t totals) foldCells(ctx context.Context, commit string, pairs []string) (int64, error) {
	keys := target{subscriber: t.subscriber, sealed: commit}
	args := []any{commit, t.subscriber, len(pairs) / 2}
	var places, groups []any  // places: member and group index of each cell
	index := map[string]int{} // of each group, from 1
	for i := 0; i < len(pairs); i += 2 {
		group, member, _ := strings.Cut(pairs[i], "\t")
		if index[group] == 0 {
			index[group] = len(index) + 1
			keys.more, groups = append(keys.more, t.keys.totals(t.subscriber, group)), append(groups, group)
		}
		args, places = append(args, pairs[i]), append(places, member, index[group])
	}
	args = append(append(args, places...), groups...)
	reply, err := t.call(ctx, foldScript, keys, args...)
	return reply.Int(0), err
}

// A snapshot is what a subscriber had counted at one moment.
type snapshot struct {
	token    string // of the report
	settings string
	fields   map[string]string // of the subscriber
	commits  []string          // that had sealed cells
}

// snapshot begins a report, and returns ErrNoSubscriber if there is no such subscriber.
// For this time, or until release, no cells are folded.
func (t totals) snapshot(ctx context.Context, hold time.Duration) (snapshot, error) {
	at := snapshot{token: rand.Text(), fields: map[string]string{}}
	reply, err := t.call(ctx, snapshotScript, target{subscriber: t.subscriber}, t.subscriber, at.token, hold.Milliseconds())
	if err == nil && reply.Len() == 0 {
		err = ErrNoSubscriber
	}
	if err != nil {
		return at, err
	}
	at.settings, at.commits = reply.Text(0), reply.List(2).Texts()
	fields := reply.List(1)
	for i := 0; i+1 < fields.Len(); i += 2 {
		at.fields[fields.Text(i)] = fields.Text(i + 1)
	}
	return at, nil
}

// release ends a report, and reports whether cells were folded since its snapshot.
func (t totals) release(ctx context.Context, at snapshot) (folded bool, err error) {
	err = t.db.Retry(ctx, func() error {
		pipe := t.db.Pipeline()
		fields := pipe.HMGet(ctx, t.keys.subscriber(t.subscriber), "v", "folds")
		pipe.ZRem(ctx, t.keys.readers(t.subscriber), at.token)
		_, err := pipe.Exec(ctx)
		if err != nil {
			return err
		}
		version, _ := fields.Val()[0].(string)
		folds, _ := fields.Val()[1].(string)
		folded = version != at.fields["v"] || folds != at.fields["folds"]
		return nil
	})
	return folded, err
}

// rows reads the totals and the sealed cells of commits, group by group, each group at
// one moment.
func (t totals) rows(ctx context.Context, commits []string, options *ReportOptions) ([]Row, error) {
	groups, err := t.groups(ctx, commits)
	if err != nil {
		return nil, err
	}
	var rows []Row
	for _, group := range groups {
		if !options.include(group) {
			continue
		}
		counts, err := t.counts(ctx, group, commits)
		if err != nil {
			return nil, err
		}
		start := len(rows)
		for member, n := range counts {
			if n != 0 {
				rows = append(rows, Row{group, member, n})
			}
		}
		slices.SortFunc(rows[start:], func(a, b Row) int { return cmp.Compare(a.Member, b.Member) })
	}
	return rows, nil
}

// groups returns the names of all groups in the totals and in sealed cells.
func (t totals) groups(ctx context.Context, commits []string) ([]string, error) {
	var names []string
	err := t.scanSet(ctx, t.keys.groups(t.subscriber), func(group string) error {
		names = append(names, group)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, commit := range commits {
		cells, err := query(ctx, t.db, func() ([]string, error) { return t.db.HKeys(ctx, t.keys.sealedCells(t.subscriber, commit)).Result() })
		if err != nil {
			return nil, err
		}
		for _, cell := range cells {
			group, _, _ := strings.Cut(cell, "\t")
			names = append(names, group)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// counts reads the numbers of one group, by member.
func (t totals) counts(ctx context.Context, group string, commits []string) (map[string]int64, error) {
	keys := []string{t.keys.totals(t.subscriber, group)}
	for _, commit := range commits {
		keys = append(keys, t.keys.sealedCells(t.subscriber, commit))
	}
	reply, err := countsScript.Run(ctx, t.db, keys, group)
	counts := map[string]int64{}
	for i := 0; i+1 < reply.Len(); i += 2 {
		counts[reply.Text(i)] += reply.Int(i + 1)
	}
	return counts, err
}
