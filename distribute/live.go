package distribute

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/distribute/cuts"
)

// A LiveCounts has what a subscriber counts at present, and what its channel holds.
type LiveCounts struct {
	Now          time.Time // of the Redis server
	Window, Used int64     // bytes that files may use in Redis, and that they use
	Files        int64     // in Redis
	Shippers     int64     // that are alive
	Subscriber   Subscriber
	Settings     cuts.Settings // of the counts, if they are those of a [Counting]
	Claimed      int64         // files that its workers are counting
	Counting     []LiveFile    // of those at most 20
	Days         int64         // that have counts
	DaysShown    int64         // of those the newest ones, of which the tables are
	Tables       []cuts.Table  // by what [cuts.Settings.Overview] names
}

// A LiveFile is a file that a worker is counting.
type LiveFile struct {
	Name     string
	Since    time.Time // its upload began
	Uploaded int64     // bytes
	Size     int64     // bytes to upload in total; zero: not known
	Lines    int64     // counted by the last commit
}

// Bounds of a LiveCounts: one of them costs Redis some 5 ms, in commands of less than one.
const (
	maxLiveFiles = 20
	maxLiveDays  = 31
	maxLiveCells = 10_000 // of all days: with them no older day is read; up to four pages more are possible
	livePage     = 1000   // cells of one day and cut
)

// Live reads what a subscriber counts, for a view that is repeated. It has the counts of its own
// workers that are folded, of the newest days, and the largest cells of each day and cut: rows of a day
// and cut that has more are marked with AtLeast. Unlike [Channel.Report] it holds nothing up, and its parts may be of
// slightly different times.
func (c *Channel) Live(ctx context.Context, subscriber string) (LiveCounts, error) {
	l := liveReader{totals: c.totals(subscriber)}
	err := l.readState(ctx)
	if err == nil {
		err = l.readFiles(ctx)
	}
	if err == nil {
		err = l.readTables(ctx)
	}
	return l.live, err
}

// A liveReader reads a LiveCounts.
type liveReader struct {
	totals
	live   LiveCounts
	claims []string // ids of files
	days   []string // the newest one first
	oldest string   // day that is kept
}

// readState reads the numbers of the channel and of the subscriber.
func (l *liveReader) readState(ctx context.Context) error {
	now, err := l.now(ctx)
	if err != nil {
		return err
	}
	return l.db.Retry(ctx, func() error {
		pipe := l.db.Pipeline()
		window, open := pipe.HMGet(ctx, l.keys.channel(), "window", "used"), pipe.ZCard(ctx, l.keys.open())
		shippers := pipe.ZCount(ctx, l.keys.leases(), after(now), "+inf")
		settings, fields := pipe.HGet(ctx, l.keys.subscribers(), l.subscriber), pipe.HGetAll(ctx, l.own.record())
		claimed := pipe.ZCount(ctx, l.own.claims(), after(now), "+inf")
		claims := pipe.ZRangeArgs(ctx, redis.ZRangeArgs{Key: l.own.claims(), ByScore: true, Start: after(now), Stop: "+inf", Count: maxLiveFiles})
		known := pipe.ZCard(ctx, l.own.days())
		days := pipe.ZRangeArgs(ctx, redis.ZRangeArgs{Key: l.own.days(), Start: 0, Stop: maxLiveDays - 1, Rev: true})
		_, err := pipe.Exec(ctx)
		if errors.Is(settings.Err(), redis.Nil) {
			return ErrNoSubscriber
		}
		if err != nil {
			return err
		}
		number := func(i int) int64 { text, _ := window.Val()[i].(string); return parseInt(text) }
		l.claims, l.days, l.oldest = claims.Val(), days.Val(), fields.Val()["oldest"]
		l.live = LiveCounts{
			Now: now, Window: number(0), Used: number(1), Files: open.Val(), Shippers: shippers.Val(), Claimed: claimed.Val(), Days: known.Val(),
			Subscriber: parseSubscriber(l.subscriber, settings.Val(), fields.Val()),
		}
		return nil
	})
}

// readFiles reads the files that are being counted.
func (l *liveReader) readFiles(ctx context.Context) error {
	if len(l.claims) == 0 {
		return nil
	}
	return l.db.Retry(ctx, func() error {
		pipe := l.db.Pipeline()
		records := make([]*redis.SliceCmd, len(l.claims))
		for i, id := range l.claims {
			records[i] = pipe.HMGet(ctx, l.keys.file(id), "name", "admitted", "raw", "upload", fieldLines+":"+l.subscriber)
		}
		_, err := pipe.Exec(ctx)
		l.live.Counting = nil
		for _, fields := range records {
			text := func(i int) string { text, _ := fields.Val()[i].(string); return text }
			if err == nil && text(0) != "" {
				l.live.Counting = append(l.live.Counting, LiveFile{text(0), parseMillis(text(1)), parseInt(text(2)), parseInt(text(3)), parseInt(text(4))})
			}
		}
		slices.SortFunc(l.live.Counting, func(a, b LiveFile) int { return strings.Compare(a.Name, b.Name) })
		return err
	})
}

// readTables reads the cells of the newest days, up to a bound.
func (l *liveReader) readTables(ctx context.Context) error {
	settings, ok := cuts.ParseSettings(l.live.Subscriber.Settings)
	if !ok {
		return nil
	}
	settings.Measures, settings.Visitors = []cuts.Measure{cuts.Requests}, nil
	selection, err := (&cuts.Query{By: settings.Overview()}).Select(settings, "")
	if err != nil {
		return err
	}
	l.live.Settings = settings
	partial := map[int]bool{} // by the index of the cut
	for room := maxLiveCells; len(l.days) > 0 && room > 0 && l.days[0] >= l.oldest; l.days = l.days[1:] {
		var groups []cuts.Group
		for cut := range settings.Cuts {
			if g := (cuts.Group{Day: l.days[0], Cut: cut}); selection.Wants(g) {
				groups = append(groups, g)
			}
		}
		cells, err := l.largest(ctx, groups)
		if err != nil {
			return err
		}
		for i, g := range groups {
			room -= len(cells[i])
			partial[g.Cut] = partial[g.Cut] || len(cells[i]) == livePage
			selection.Add(g, cells[i], 0)
		}
		l.live.DaysShown++
	}
	l.live.Tables = selection.Tables()
	for _, table := range l.live.Tables {
		for i := range table.Rows {
			table.Rows[i].AtLeast = table.Rows[i].AtLeast || partial[table.Cut]
		}
	}
	return nil
}

// largest reads the largest cells of groups.
func (l *liveReader) largest(ctx context.Context, groups []cuts.Group) (cells []map[string]int64, err error) {
	return query(ctx, l.db, func() ([]map[string]int64, error) {
		pipe := l.db.Pipeline()
		pages := make([]*redis.ZSliceCmd, len(groups))
		for i, g := range groups {
			pages[i] = pipe.ZRangeArgsWithScores(ctx, redis.ZRangeArgs{Key: l.own.totals(g.String()), Start: 0, Stop: livePage - 1, Rev: true})
		}
		_, err := pipe.Exec(ctx)
		cells := make([]map[string]int64, len(groups))
		for i, page := range pages {
			cells[i] = map[string]int64{}
			for _, z := range page.Val() {
				member, _ := z.Member.(string)
				cells[i][member] = int64(z.Score)
			}
		}
		return cells, err
	})
}
