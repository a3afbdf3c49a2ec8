package distribute

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"

	"skidway/distribute/cuts"
	"skidway/internal/handle"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

func TestLiveHasTheNewestDaysAndTheFilesThatAreCounted(t *testing.T) {
	t.Parallel()
	s := newScriptRunner(t, redistest.DB(t))
	if _, err := s.c.Live(t.Context(), "s"); !errors.Is(err, ErrNoSubscriber) {
		t.Error(err)
	}
	s.subscribe("s", "country-day by=day,country by=day,path,status")
	add := func(day, cut, member string, n int) {
		s.do([]any{"ZADD", s.k.subscriber("s").totals(day + cut), n, member}, []any{"ZADD", s.k.subscriber("s").days(), 0, day})
	}
	for i, day := range []string{"2026-11-01", "2026-11-02"} {
		add(day, "", "DE", 10+i)
		add(day, "", "FR", 1)
		add(day, " 1", "/a\x1f200", 10+i)
		add(day, " 1", "/b\x1f404", 1)
	}
	s.do([]any{"HSET", s.k.subscriber("s").record(), "lines", 24, "counted", 23, "unparsable", 1})
	s.do([]any{"ZADD", s.k.subscriber("s").claims(), 1e15, "f"}, []any{"HSET", s.k.file("f"), "name", "a.log", "raw", 10, "upload", 20, "lines:s", 24})
	s.do([]any{"ZADD", s.k.subscriber("s").claims(), 1, "of a dead worker"})
	live, err := s.c.Live(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	if live.Days != 2 || live.Claimed != 1 || len(live.Counting) != 1 || live.Subscriber.Tally.Lines != 24 || live.Window != testWindow {
		t.Errorf("%+v", live)
	}
	if f := live.Counting[0]; f.Name != "a.log" || f.Uploaded != 10 || f.Size != 20 || f.Lines != 24 {
		t.Errorf("%+v", f)
	}
	want := "[[country] DE 21 FR 2] [[status] 200 21 404 2] "
	if got := tablesOf(live); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	s.do([]any{"HSET", s.k.subscriber("s").record(), "oldest", "2026-11-02"})
	if live, err = s.c.Live(t.Context(), "s"); err != nil || tablesOf(live) != "[[country] DE 11 FR 1] [[status] 200 11 404 1] " {
		t.Errorf("with a day that is not kept: %s, %v", tablesOf(live), err)
	}
	for i := range livePage {
		s.do([]any{"ZADD", s.k.subscriber("s").totals("2026-11-02 1"), 2, fmt.Sprintf("/%d\x1f404", i)})
	}
	live, err = s.c.Live(t.Context(), "s")
	if rows := live.Tables[1].Rows; err != nil || live.Tables[0].Rows[0].AtLeast || !rows[0].AtLeast || rows[1].Requests != 2*livePage-2 {
		t.Errorf("with more cells than are read: %+v, %v", live.Tables, err)
	}
}

func tablesOf(live LiveCounts) (text string) {
	for _, table := range live.Tables {
		text += fmt.Sprint("[", table.Names)
		for _, row := range table.Rows {
			text += fmt.Sprint(" ", row.Values[0], " ", row.Requests)
		}
		text += "] "
	}
	return text
}

func TestOverviewIsOfWhatWasCounted(t *testing.T) {
	t.Parallel()
	for settings, want := range map[string]string{
		"country-day by=day,country,crawler by=day,status": "[[country] [status] [crawler]]",
		"country-day by=continent,crawler_class":           "[[continent] [crawler_class]]",
		"country-day by=hour,path:2":                       "[[path:2]]",
		"country-day by=day":                               "[[day]]",
	} {
		parsed, _ := cuts.ParseSettings(settings)
		if got := fmt.Sprint(parsed.Overview()); got != want {
			t.Errorf("%s: %s, want %s", settings, got, want)
		}
	}
}

// The bounds of what is read: of the days, and of the cells of all days.
func TestLiveReadsTheNewestDaysUpToABound(t *testing.T) {
	t.Parallel()
	s := newScriptRunner(t, redistest.DB(t))
	s.subscribe("s", "country-day by=day,path")
	fill := func(days, cells int) LiveCounts {
		t.Helper()
		for i := range days {
			day := time.Date(2026, 10, 1+i, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
			pairs := []any{"ZADD", s.k.subscriber("s").totals(day)}
			for n := range cells {
				pairs = append(pairs, 1, fmt.Sprint("/", n))
			}
			s.do(pairs, []any{"ZADD", s.k.subscriber("s").days(), 0, day})
		}
		live, err := s.c.Live(t.Context(), "s")
		if err != nil {
			t.Fatal(err)
		}
		return live
	}
	if live := fill(40, 1); live.Days != 40 || live.DaysShown != maxLiveDays || live.Tables[0].Total.Requests != maxLiveDays {
		t.Errorf("%d of %d days, %+v", live.DaysShown, live.Days, live.Tables)
	}
	if live := fill(40, livePage-1); live.DaysShown != 11 || live.Tables[0].Total.Requests != 11*(livePage-1) || live.Tables[0].Rows[0].AtLeast {
		t.Errorf("%d of %d days, %d requests", live.DaysShown, live.Days, live.Tables[0].Total.Requests)
	}
}

// midCommits counts the commits that are not the last one of a file, and the end of a file: each
// is followed by a Begin.
type midCommits struct {
	Aggregation
	n atomic.Int64
}

func (a *midCommits) Begin(sample []byte, state string) (Counter, error) {
	if state != "" && sample == nil {
		a.n.Add(1)
	}
	return a.Aggregation.Begin(sample, state)
}

// On the embedded Redis the commits of a file are fewer than on another one. The counts can be read
// meanwhile, and not any more when the channel is deleted.
func TestBatchHasLiveCountsAndCommitsSeldomOnTheEmbeddedRedis(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.log.gz")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	const lines = DefaultCommitBytes>>19 + 4
	packed := gzip.NewWriter(file)
	for range lines {
		_, _ = packed.Write([]byte("8.8.8.8 2026-11-01 " + strings.Repeat("x", 1<<19) + "\n"))
	}
	if err := errors.Join(packed.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
	for want, db := range map[int64]*rdb.DB{0: redistest.Open(t, "embedded:"), 1: redistest.Open(t, redistest.URL(t))} {
		aggregation := &midCommits{Aggregation: newCounting(t, nil)}
		var during LiveCounts
		var batch *Batch
		batch = NewBatch(handle.New(db), aggregation, &BatchConfig{Workers: 1, Notify: func(e Event) {
			if e.Kind == EventCounted {
				var err error
				if during, err = batch.Live(t.Context()); err != nil {
					t.Error(err)
				}
			}
		}})
		began := time.Now()
		if _, err := batch.Run(t.Context(), []string{path}); err != nil {
			t.Fatal(err)
		}
		took := time.Since(began)
		after, err := batch.Live(t.Context())
		if err != nil || !after.Now.IsZero() || during.Subscriber.Tally.Lines != lines {
			t.Errorf("%+v, then %+v, %v", during, after, err)
		}
		if n := aggregation.n.Load() - 1; n != want && took < DefaultCommitInterval { // which commits, too
			t.Errorf("%d commits within the file, want %d", n, want)
		}
	}
}
