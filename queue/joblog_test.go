package queue_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/queue"
)

func countString(text, part string) int { return strings.Count(text, part) }

func TestLogKeepsTheLastLinesWithinItsBounds(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		id := d.add("a", queue.Options{})
		if err := d.queue.AppendLog(t.Context(), &queue.Job{ID: id}, []string{"early"}); !errors.Is(err, queue.ErrState) {
			t.Errorf("for a waiting job: %v", err)
		}
		d.fetch(d.lease("w"), 1)
		for i := range 25 {
			var lines []string
			for j := range 10 {
				lines = append(lines, itoa(10*i+j))
			}
			d.must(d.queue.AppendLog(t.Context(), &queue.Job{ID: id}, lines))
		}
		lines, err := d.client.Log(t.Context(), id)
		if err != nil || len(lines) != queue.MaxLogLines || lines[0] != "150" || lines[99] != "249" {
			t.Errorf("%d lines, the log is %v: %v", len(lines), lines, err)
		}
		d.must(d.queue.AppendLog(t.Context(), &queue.Job{ID: id}, []string{"two\nlines\n", strings.Repeat("x", 5000), strings.Repeat("y", 5000), strings.Repeat("ü", 5000), strings.Repeat("z", 3000)}))
		lines, err = d.client.Log(t.Context(), id)
		size := len(strings.Join(lines, "\n")) + 1
		if err != nil || size > queue.MaxLogBytes || size < queue.MaxLogBytes/2 || lines[len(lines)-1][0] != 'z' {
			t.Errorf("%d bytes in %d lines: %v", size, len(lines), err)
		}
		d.must(d.queue.AppendLog(t.Context(), &queue.Job{ID: id}, []string{"two\nlines\n"}))
		if lines, err = d.client.Log(t.Context(), id); err != nil || lines[len(lines)-1] != `two\nlines` {
			t.Errorf("the last line is %q: %v", lines[len(lines)-1], err)
		}
	})
}

func TestLogAndProgressStayWithDeadAndRetainedJobsOnly(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		l := d.lease("w")
		for name, c := range map[string]struct {
			o    queue.Options
			as   queue.Disposition
			stay bool
		}{
			"forgotten": {queue.Options{}, queue.AttemptSucceeded, false},
			"retained":  {queue.Options{Retain: time.Hour}, queue.AttemptSucceeded, true},
			"dead":      {queue.Options{}, queue.AttemptDead, true},
			"retried":   {queue.Options{}, queue.AttemptRetry, true},
		} {
			id := d.add("a", c.o)
			jobs := d.fetch(l, 1)
			d.must(d.queue.AppendLog(t.Context(), &queue.Job{ID: id}, []string{"hello"}))
			d.must(d.queue.SetProgress(t.Context(), &queue.Job{ID: id}, []byte("1/2")))
			d.end(l, c.as, jobs...)
			lines, err := d.client.Log(t.Context(), id)
			d.must(err)
			progress, err := d.client.Progress(t.Context(), id)
			d.must(err)
			if (len(lines) == 1) != c.stay || (string(progress) == "1/2") != c.stay {
				t.Errorf("%s: the log is %q, the progress %q", name, lines, progress)
			}
		}
	})
}

// A dead job has kept its log. What Redis runs to finish a batch is counted, in scripts too.
func TestOneKeptLogAddsOneCommandToABatchOfSuccesses(t *testing.T) {
	t.Parallel()
	d := setup(t, redistest.Open(t, redistest.Start(t).URL(0)))
	const batch = 500
	l := d.lease("w")
	finish := func() (commands int) {
		jobs := make([]queue.NewJob, batch)
		for i := range jobs {
			jobs[i] = queue.NewJob{Args: queue.Raw("a", nil), Options: queue.Options{Queue: "q"}}
		}
		d.client.EnqueueMany(t.Context(), jobs)
		fetched := d.fetch(l, batch)
		completions := make([]queue.Completion, batch)
		for i, job := range fetched {
			completions[i] = queue.Completion{Job: job, Disposition: queue.AttemptSucceeded}
		}
		d.must(d.db.ConfigResetStat(t.Context()).Err())
		n, err := l.Finish(t.Context(), completions)
		if err != nil || n != batch {
			t.Fatalf("finished %d of %d jobs: %v", n, batch, err)
		}
		stats, err := d.db.Info(t.Context(), "commandstats").Result()
		d.must(err)
		for line := range strings.Lines(stats) {
			if _, counts, ok := strings.Cut(line, ":calls="); ok {
				calls, _, _ := strings.Cut(counts, ",")
				n, err := strconv.Atoi(calls)
				d.must(err)
				commands += n
			}
		}
		return commands
	}
	finish() // Redis does not know the script yet
	without := finish()
	id := d.add("a", queue.Options{Priority: queue.High})
	jobs := d.fetch(l, 1)
	d.must(d.queue.AppendLog(t.Context(), &queue.Job{ID: id}, []string{"hello"}))
	d.end(l, queue.AttemptDead, jobs...)
	if with := finish(); with > without+1 || without > batch/10 {
		t.Errorf("%d commands for %d jobs beside a kept log, %d without one", with, batch, without)
	}
	if lines, err := d.client.Log(t.Context(), id); err != nil || len(lines) != 1 {
		t.Errorf("the kept log is %q: %v", lines, err)
	}
}

func TestProgressIsBounded(t *testing.T) {
	d := setup(t, redistest.DB(t))
	id := d.add("a", queue.Options{})
	d.fetch(d.lease("w"), 1)
	d.must(d.queue.SetProgress(t.Context(), &queue.Job{ID: id}, make([]byte, queue.MaxProgress)))
	if err := d.queue.SetProgress(t.Context(), &queue.Job{ID: id}, make([]byte, queue.MaxProgress+1)); !errors.Is(err, queue.ErrInvalid) {
		t.Errorf("one byte more: %v", err)
	}
	if err := d.queue.SetProgress(t.Context(), &queue.Job{ID: "other:0:n1-1"}, nil); !errors.Is(err, queue.ErrInvalid) {
		t.Errorf("of another queue: %v", err)
	}
}

func TestLogHandlerStoresRecordsAndPassesThemOn(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		d.add("a", queue.Options{})
		job := d.fetch(d.lease("w"), 1)[0]
		var next bytes.Buffer
		h := queue.NewLogHandler(d.client, job, slog.NewTextHandler(&next, &slog.HandlerOptions{Level: slog.LevelWarn}))
		log := slog.New(h).With("a", 1).WithGroup("g")
		log.Debug("not kept")
		log.Info("kept", "b", 2)
		log.With("c", 3).Error("both")
		d.must(h.Flush(t.Context()))
		lines, err := d.client.Log(t.Context(), job.ID)
		if err != nil || len(lines) != 2 || !strings.Contains(lines[0], "level=INFO msg=kept a=1 g.b=2") || !strings.Contains(lines[1], "level=ERROR msg=both a=1 g.c=3") {
			t.Errorf("the log is %q: %v", lines, err)
		}
		if text := next.String(); strings.Contains(text, "kept") || !strings.Contains(text, "msg=both a=1 g.c=3") {
			t.Errorf("the next one got %q", text)
		}
		log.Info("the last one")
		d.must(h.Close(t.Context()))
		d.must(h.Close(t.Context()))
		log.Info("too late")
		d.must(h.Flush(t.Context()))
		if lines, err := d.client.Log(t.Context(), job.ID); err != nil || len(lines) != 3 {
			t.Errorf("the log is %q: %v", lines, err)
		}
	})
}

func TestLogHandlerSendsInTheBackground(t *testing.T) {
	d := setup(t, redistest.DB(t))
	d.add("a", queue.Options{})
	job := d.fetch(d.lease("w"), 1)[0]
	h := queue.NewLogHandler(d.client, job, nil)
	slog.New(h).Info("hello")
	for ctx := soon(t); ; {
		lines, err := d.client.Log(ctx, job.ID)
		d.must(err)
		if len(lines) == 1 {
			break
		}
	}
	d.must(h.Close(t.Context()))
}

func TestLogHandlerDropsLinesWhileRedisIsAway(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	db, err := rdb.Open(t.Context(), server.URL(0), rdb.Options{Patience: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	d := setup(t, db)
	d.add("a", queue.Options{})
	job := d.fetch(d.lease("w"), 1)[0]
	h := queue.NewLogHandler(d.client, job, slog.NewTextHandler(io.Discard, nil))
	server.Kill()
	log := slog.New(h)
	for range 10_000 {
		record := slog.NewRecord(time.Now(), slog.LevelInfo, "hello", 0)
		if err := log.Handler().Handle(t.Context(), record); err != nil {
			t.Fatal(err)
		}
	}
	_ = h.Close(t.Context()) // with an error, unless all was dropped before
}

func TestLogHandlerIsSafeForConcurrentUse(t *testing.T) {
	d := setup(t, redistest.DB(t))
	d.add("a", queue.Options{})
	job := d.fetch(d.lease("w"), 1)[0]
	h := queue.NewLogHandler(d.client, job, nil)
	var writers sync.WaitGroup
	for i := range 8 {
		log := slog.New(h).With("writer", i)
		writers.Go(func() {
			for j := range 100 {
				log.LogAttrs(context.Background(), slog.LevelInfo, "line", slog.Int("n", j))
			}
		})
	}
	writers.Wait()
	d.must(h.Close(t.Context()))
	lines, err := d.client.Log(t.Context(), job.ID)
	if err != nil || len(lines) != queue.MaxLogLines {
		t.Errorf("%d lines: %v", len(lines), err)
	}
	for _, line := range lines {
		if !strings.HasPrefix(line, "time=") || countString(line, "msg=") != 1 {
			t.Errorf("a broken line: %q", line)
		}
	}
}
