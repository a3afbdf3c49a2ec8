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
	s := open(t, redistest.Open(t, "embedded:"))
	if err := workers.SetResult(s.ctx, nil); !errors.Is(err, queue.ErrInvalid) {
		t.Errorf("result: %v", err)
	}
	if err := workers.SetProgress(s.ctx, nil); !errors.Is(err, queue.ErrInvalid) {
		t.Errorf("progress: %v", err)
	}
	workers.Logger(s.ctx).Debug("this goes to the default logger")
	p := s.pool(workers.Config{})
	errs := make(chan error, 1)
	p.Handle("k", func(ctx context.Context, _ *queue.Job) error {
		errs <- workers.SetResult(ctx, make([]byte, workers.MaxResult+1))
		return nil
	}, workers.Kind{})
	s.add("k", queue.Options{})
	s.run(p)
	if err := await(s, errs, "error"); !errors.Is(err, queue.ErrInvalid) {
		t.Errorf("a long result: %v", err)
	}
}

func TestProgressAndLogsStayWithTheJob(t *testing.T) {
	everywhere(t, func(s *shop) {
		p := s.pool(workers.Config{})
		halfway, gate := make(chan error), make(chan struct{})
		p.Handle("k", func(ctx context.Context, _ *queue.Job) error {
			workers.Logger(ctx).With("step", 1).Info("began")
			halfway <- workers.SetProgress(ctx, []byte("50 %"))
			<-gate
			workers.Logger(ctx).Info("gave up")
			return workers.Dead(errBroken)
		}, workers.Kind{})
		id := s.add("k", queue.Options{})
		s.run(p)
		s.must(await(s, halfway, "progress"))
		if progress, err := s.client.Progress(s.ctx, id); string(progress) != "50 %" || err != nil {
			s.Errorf("progress %q, %v", progress, err)
		}
		close(gate)
		_, err := s.client.Wait(s.ctx, id)
		s.must(err)
		lines, err := s.client.Log(s.ctx, id)
		s.must(err)
		if len(lines) != 2 || !strings.Contains(lines[0], "msg=began step=1") || !strings.Contains(lines[1], `msg="gave up"`) {
			s.Errorf("the log is %q", lines)
		}
		if !strings.Contains(s.kept.String(), "id="+id) {
			s.Error("the pool's log has none of it")
		}
	})
}
