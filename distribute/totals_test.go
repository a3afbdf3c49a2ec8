package distribute

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"skidway/distribute/cuts"
	"skidway/internal/redistest"
)

// An afterEach hook calls f after each command and pipeline.
type afterEach struct{ f func() }

func (h afterEach) DialHook(next redis.DialHook) redis.DialHook { return next }
func (h afterEach) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, command redis.Cmder) error {
		defer h.f()
		return next(ctx, command)
	}
}
func (h afterEach) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, commands []redis.Cmder) error {
		defer h.f()
		return next(ctx, commands)
	}
}

// A report reads the requests of a cell and its bytes together, so one call folds them.
func TestAllMeasuresOfACellAreFoldedByOneCall(t *testing.T) {
	t.Parallel()
	settings, ok := cuts.ParseSettings("country-day by=day,country measure=bytes")
	if !ok {
		t.Fatal("the settings are wrong")
	}
	var groups []string
	for _, place := range seriesOf("2026-11-01\tUS", settings) {
		groups = append(groups, place.group)
	}
	if want := []string{"2026-11-01", "2026-11-01 0 bytes"}; !slices.Equal(groups, want) {
		t.Errorf("groups %q, want %q", groups, want)
	}
}

// A commit has more cells here than one call folds, so that only some of them are in the
// totals for a moment.
func TestReportHasAllOfACommitOrNothing(t *testing.T) {
	t.Parallel()
	const cells = cellBatch + 100
	url := redistest.URL(t)
	s := newScriptRunner(t, redistest.Open(t, url))
	claimedEarly(s)
	s.do([]any{"DEL", s.k.subscriber("s").staged("f")})
	commits := 0
	var busy sync.Mutex
	commitAndFoldInPart := func() {
		busy.Lock()
		defer busy.Unlock()
		commits++
		var pairs []string
		for i := range cells {
			pairs = append(pairs, fmt.Sprintf("day %d\tUS", i), "1")
		}
		for _, part := range [][]string{pairs[:2*cellBatch], pairs[2*cellBatch:]} {
			args := []any{"s", "", "f", 1, "c1", commits, 0, 0}
			for _, text := range part {
				args = append(args, text)
			}
			s.run(stageScript, target{subscriber: "s", file: "f"}, args...)
		}
		name := commitName("f", 1, int64(commits))
		if answer := s.run(sealScript, target{subscriber: "s", file: "f", sealed: name},
			"s", "", "f", 1, "c1", commits, 0, "", cells, 1, fieldResume, 100*commits, "lines", cells); answer != "1" {
			t.Fatalf("seal answers %s", answer)
		}
		for batch := range wholeCells(pairs[:2*cellBatch], cuts.Settings{}) {
			if _, _, err := s.c.totals("s").foldCells(t.Context(), name, batch, cuts.Settings{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	db := redistest.Open(t, url)
	reader := newChannel(db, "web")
	once := make(chan struct{}, 6)
	db.AddHook(afterEach{func() {
		select {
		case once <- struct{}{}: // until it has begun to read the groups
			commitAndFoldInPart()
		default:
		}
	}})
	report, err := reader.Report(t.Context(), "s", nil)
	if err != nil {
		t.Fatal(err)
	}
	var sum int64
	for _, row := range report.Tables[0].Rows {
		sum += row.Requests
	}
	if report.Moving || sum != report.Subscriber.Tally.Lines || sum%cells != 0 {
		t.Errorf("%d requests in the rows, %d lines in the sums, commits of %d, moving %t", sum, report.Subscriber.Tally.Lines, cells, report.Moving)
	}
	if left := s.text("ZCARD", s.k.subscriber("s").readers()); left != "0" {
		t.Errorf("%s reports still read", left)
	}
	report, err = newChannel(s.c.db, "web").Report(t.Context(), "s", nil)
	if err != nil || report.Subscriber.Tally.Lines != int64(commits*cells) || len(report.Tables[0].Rows) != cells || report.Tables[0].Rows[0].Requests != int64(commits) {
		t.Errorf("in the end %+v, %d rows, %v; want %d commits", report.Subscriber.Tally, len(report.Tables[0].Rows), err, commits)
	}
	if strings.Contains(fmt.Sprint(s.text("SMEMBERS", s.k.subscriber("s").sealed())), "f") {
		t.Error("commits stay sealed")
	}
}
