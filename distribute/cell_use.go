package distribute

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/redis/go-redis/v9"

	"skidway/distribute/cuts"
	"skidway/internal/rdb"
)

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
	sources, leases, err := c.totals(subscriber).imports(ctx)
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
