package workers_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"skidway/internal/redistest"
	"skidway/queue"
	"skidway/workers"
)

func TestWhatIsSaidOutsideOfAHandlerOrTooLongIsAnError(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.Open(t, "embedded:"))
	if err := workers.SetResult(f.ctx, nil); !errors.Is(err, queue.ErrInvalid) {
		t.Errorf("result: %v", err)
	}
	if err := workers.SetProgress(f.ctx, nil); !errors.Is(err, queue.ErrInvalid) {
		t.Errorf("progress: %v", err)
	}
	workers.Logger(f.ctx).Debug("this goes to the default logger")
	p := f.pool(workers.Config{})
	errs := make(chan error, 1)
	p.Handle("k", func(ctx context.Context, _ *queue.Job) error {
		errs <- workers.SetResult(ctx, make([]byte, workers.MaxResult+1))
		return nil
	}, workers.Kind{})
	f.add("k", queue.Options{})
	f.run(p)
	if err := await(f, errs, "error"); !errors.Is(err, queue.ErrInvalid) {
		t.Errorf("a long result: %v", err)
	}
}

func TestProgressAndLogsStayWithTheJob(t *testing.T) {
	onAllBackends(t, func(f *fixture) {
		p := f.pool(workers.Config{})
		halfway, gate := make(chan error), make(chan struct{})
		p.Handle("k", func(ctx context.Context, _ *queue.Job) error {
			workers.Logger(ctx).With("step", 1).Info("began")
			halfway <- workers.SetProgress(ctx, []byte("50 %"))
			<-gate
			workers.Logger(ctx).Info("gave up")
			return workers.Dead(errBroken)
		}, workers.Kind{})
		id := f.add("k", queue.Options{})
		f.run(p)
		f.must(await(f, halfway, "progress"))
		if progress, err := f.client.Progress(f.ctx, id); string(progress) != "50 %" || err != nil {
			f.Errorf("progress %q, %v", progress, err)
		}
		close(gate)
		_, err := f.client.Wait(f.ctx, id)
		f.must(err)
		lines, err := f.client.Log(f.ctx, id)
		f.must(err)
		if len(lines) != 2 || !strings.Contains(lines[0], "msg=began step=1") || !strings.Contains(lines[1], `msg="gave up"`) {
			f.Errorf("the log is %q", lines)
		}
		if !strings.Contains(f.kept.String(), "id="+id) {
			f.Error("the pool's log has none of it")
		}
	})
}
