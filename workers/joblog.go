package workers

import (
	"context"
	"log/slog"
	"time"

	"skidway/queue"
)

// closeWait is how long the end of a job waits for its log to be written.
const closeWait = 2 * time.Second

// A jobLog is where a handler logs.
type jobLog struct {
	handler *queue.LogHandler
	logger  *slog.Logger
}

// Logger gives a handler's logger, whose latest lines of level Info and above
// are kept with the job, see [queue.LogHandler]. All of them go on to
// [Config.Logger], with the id and the kind of the job. ctx is the handler's;
// outside of a handler it is slog.Default().
func Logger(ctx context.Context) *slog.Logger {
	r, ok := ctx.Value(runKey{}).(*attempt)
	if !ok {
		return slog.Default()
	}
	pool := r.queue.pool
	next := pool.log.With("id", r.job.ID, "kind", r.job.Kind)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return next
	}
	if r.log == nil {
		handler := queue.NewLogHandler(pool.client, r.job, next.Handler())
		r.log = &jobLog{handler, slog.New(handler)}
	}
	return r.log.logger
}

// closeLog writes what was logged; it comes before the end of the job is
// written, from when on the job has no more lines.
func (r *attempt) closeLog() {
	r.mu.Lock()
	log, over := r.log, r.over
	r.over = true
	r.mu.Unlock()
	if log == nil || over {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeWait)
	defer cancel()
	_ = log.handler.Close(ctx) // lines that can't be kept went to the pool's log
}
