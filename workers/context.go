package workers

import (
	"context"
	"fmt"

	"skidway/queue"
)

// MaxResult is the most bytes of a result.
const MaxResult = 1 << 20

// SetResult sets what the job came to, at most [MaxResult] bytes. It is written
// if the job succeeds, kept if the job is retained, and given to those who wait
// for it. It does not block and doesn't copy result. ctx is the handler's; it is
// an error outside of a handler.
func SetResult(ctx context.Context, result []byte) error {
	r, err := runOf(ctx)
	if err != nil {
		return err
	}
	if len(result) > MaxResult {
		return fmt.Errorf("%w: result of %d bytes: at most %d", queue.ErrInvalid, len(result), MaxResult)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result = result
	return nil
}

// SetProgress writes how far the job is, for people: at most
// [queue.MaxProgress] bytes. It blocks until Redis has it. ctx is the
// handler's; it is an error outside of a handler.
func SetProgress(ctx context.Context, progress []byte) error {
	r, err := runOf(ctx)
	if err != nil {
		return err
	}
	return r.queue.queue.SetJobProgress(ctx, r.job, progress)
}

func runOf(ctx context.Context) (*attempt, error) {
	r, ok := ctx.Value(runKey{}).(*attempt)
	if !ok {
		return nil, fmt.Errorf("%w: this context is not a handler's", queue.ErrInvalid)
	}
	return r, nil
}
