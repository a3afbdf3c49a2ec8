package distribute

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/redis/go-redis/v9"

	"skidway/distribute/cuts"
	"skidway/internal/rdb"
)

// maxMoves is the number of cells that are chosen at once to be moved into others.
const maxMoves = 20_000

// mergeAll moves cells of all groups that have more than their bound.
func (t totals) mergeAll(ctx context.Context, settings cuts.Settings) error {
	crowded, err := query(ctx, t.db, func() ([]string, error) {
		return t.db.SMembers(ctx, t.own.crowded()).Result()
	})
	for _, group := range crowded {
		if g, ok := cuts.ParseGroup(group); ok && err == nil && settings.Bound(g) > 0 {
			err = t.merge(ctx, settings, g)
		}
	}
	return err
}

// merge moves cells of a group into others until it has no more than its bound, or a report
// reads the totals. It can be interrupted and repeated, also by several processes at the same
// time: the group stays in the list of those that have too many.
func (t totals) merge(ctx context.Context, settings cuts.Settings, g cuts.Group) error {
	surplus, err := t.moveCells(ctx, settings, g, nil)
	last, chosen := int64(math.MaxInt64), 0
	for surplus > 0 && err == nil {
		// Cells that become others of their own make the group no smaller, until the dimension
		// before the last one is other, too.
		if chosen *= 2; surplus < last {
			chosen = int(surplus) + 1 // one cell may be a new other
		}
		last = surplus
		var moves []cuts.Move
		moves, err = t.smallest(ctx, settings, g, min(chosen, maxMoves))
		if len(moves) == 0 {
			return err
		}
		for batch := range batches(moves, cellBatch/len(settings.Groups(g)), func(m cuts.Move) int { return len(m.From) + len(m.Into) }) {
			if surplus, err = t.moveCells(ctx, settings, g, batch); surplus <= 0 || err != nil {
				break
			}
		}
	}
	return err
}

// moveCells moves cells, if the group has more than its bound, and returns how many more are
// left, -1 if a report reads the totals.
func (t totals) moveCells(ctx context.Context, settings cuts.Settings, g cuts.Group, moves []cuts.Move) (int64, error) {
	of := target{subscriber: t.subscriber}
	for _, group := range settings.Groups(g) {
		of.more = append(of.more, t.own.totals(group.String()))
	}
	args := []any{t.subscriber, g.String(), settings.Bound(g)}
	for _, move := range moves {
		args = append(args, move.From, move.Into)
	}
	reply, err := t.call(ctx, mergeScript, of, args...)
	return reply.Int(0), err
}

// smallest chooses cells to move, with the fewest requests.
func (t totals) smallest(ctx context.Context, settings cuts.Settings, g cuts.Group, n int) ([]cuts.Move, error) {
	crowd := settings.NewCrowd(g, n)
	key := t.own.totals(g.String())
	for start := int64(0); ; start += countPage {
		page, err := query(ctx, t.db, func() ([]string, error) { return t.db.ZRange(ctx, key, start, start+countPage-1).Result() })
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(page, crowd.Add) || len(page) < countPage {
			return crowd.Moves(), nil
		}
	}
}

// moveSealed moves sealed cells that subtract a last line without its end to the cells into which
// what they subtract from was moved, as folding them will do: otherwise a report would have
// negative numbers.
func (t totals) moveSealed(ctx context.Context, settings cuts.Settings, groups []groupInfo, sealed map[string]map[string]int64) error {
	for _, info := range groups {
		g, ok := cuts.ParseGroup(info.name)
		if !ok || info.folded == 0 || settings.Bound(g) == 0 {
			continue
		}
		for member, n := range sealed[info.name] {
			if n >= 0 {
				continue
			}
			into, err := t.movedTo(ctx, settings, g, member, sealed)
			if err != nil {
				return err
			}
			if into == member {
				continue
			}
			for _, series := range settings.Groups(g) {
				if cells := sealed[series.String()]; cells[member] != 0 {
					cells[into] += cells[member]
					delete(cells, member)
				}
			}
		}
	}
	return nil
}

// movedTo returns the first of a cell and those into which it may have been moved of which no
// number is negative with what is sealed of the cell; the cell itself if there is none.
func (t totals) movedTo(ctx context.Context, settings cuts.Settings, g cuts.Group, member string, sealed map[string]map[string]int64) (string, error) {
	places := append([]string{member}, settings.Others(g, member)...)
	negative := make([]bool, len(places))
	for _, series := range settings.Groups(g) {
		cells := sealed[series.String()]
		scores, err := query(ctx, t.db, func() ([]float64, error) {
			return t.db.ZMScore(ctx, t.own.totals(series.String()), places...).Result()
		})
		if err != nil {
			return "", err
		}
		for i, place := range places {
			n := int64(scores[i]) + cells[place]
			if i > 0 {
				n += cells[member]
			}
			negative[i] = negative[i] || n < 0
		}
	}
	if i := slices.Index(negative, false); i >= 0 {
		return places[i], nil
	}
	return member, nil
}

// A CellUse is what the counts of a subscriber need in Redis, those of imported sources included.
type CellUse struct {
	Days    int   // with counts
	Largest int64 // cells of the day and cut with the most; see [cuts.Settings].MaxCells
	Cells   int64 // of all days, cuts and measures
	Bytes   int64 // at most, about
}

// CellUse returns what the counts of a subscriber need in Redis. Visitors are not in it: each
// sketch of [MaxSketches] has at most 14 KB.
func (c *Channel) CellUse(ctx context.Context, subscriber string) (use CellUse, err error) {
	counter := cellCounter{days: map[string]bool{}}
	sources, leases, err := imports(ctx, c.totals(subscriber))
	names := []string{subscriber}
	for _, id := range slices.AppendSeq(sources, maps.Keys(leases)) {
		names = append(names, importName(subscriber, id))
	}
	for _, name := range names {
		if err == nil {
			err = counter.add(ctx, c.totals(name))
		}
	}
	if err == nil {
		err = counter.estimate(ctx, c.db)
	}
	if err != nil {
		return use, fmt.Errorf("cells of channel %q, subscriber %q: %w", c.name, subscriber, err)
	}
	return counter.use, nil
}

// A cellCounter adds up what several totals need.
type cellCounter struct {
	use     CellUse
	days    map[string]bool
	largest string // the key with the most cells
}

// add adds the groups of totals.
func (c *cellCounter) add(ctx context.Context, totals totals) error {
	groups, err := totals.groups(ctx, nil)
	if err != nil {
		return err
	}
	for batch := range batches(groups, cellBatch, func(g groupInfo) int { return len(g.name) }) {
		sizes, err := totals.sizes(ctx, batch)
		if err != nil {
			return err
		}
		for i, g := range batch {
			parsed, ok := cuts.ParseGroup(g.name)
			if !ok || sizes[i] == 0 { // it has the accounts of days
				continue
			}
			c.days[parsed.Day] = true
			if c.use.Cells += sizes[i]; sizes[i] > c.use.Largest {
				c.use.Largest, c.largest = sizes[i], totals.own.totals(g.name)
			}
		}
	}
	c.use.Days = len(c.days)
	return nil
}

// estimate sets the bytes by some of the largest cells.
func (c *cellCounter) estimate(ctx context.Context, db *rdb.DB) error {
	if c.use.Cells == 0 {
		return nil
	}
	sample, err := query(ctx, db, func() ([]string, error) { return db.ZRange(ctx, c.largest, 0, sampledCells-1).Result() })
	if err != nil || len(sample) == 0 {
		return err
	}
	size := 0
	for _, member := range sample {
		size += cellBytes + len(member)
	}
	c.use.Bytes = c.use.Cells * int64(size) / int64(len(sample))
	return nil
}

// cellBytes is what Redis 7.0 needs for a cell of a sorted set beside its member: 94 to 112 bytes
// by MEMORY USAGE of 100,000 cells with members of 10 to 200 bytes. Sets of at most 128 short
// members need less.
const cellBytes = 100

// sampledCells is the number of cells of which the size of all is estimated.
const sampledCells = 100

// sizes returns the numbers of cells of groups.
func (t totals) sizes(ctx context.Context, groups []groupInfo) (sizes []int64, err error) {
	err = t.db.Retry(ctx, func() error {
		sizes = sizes[:0]
		commands := make([]*redis.IntCmd, len(groups))
		pipe := t.db.Pipeline()
		for i, g := range groups {
			commands[i] = pipe.ZCard(ctx, t.own.totals(g.name))
		}
		_, err := pipe.Exec(ctx)
		for _, command := range commands {
			sizes = append(sizes, command.Val())
		}
		return err
	})
	return sizes, err
}
