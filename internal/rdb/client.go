package rdb

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/redis/go-redis/v9"
)

// go-redis prints messages beside its errors to stderr, such as one for every connection
// that could not be made. Users get the errors, so the messages go to [slog.Default], at
// level Debug. A program that sets its own logger for go-redis replaces this one.
func init() { redis.SetLogger(clientLog{}) }

type clientLog struct{}

func (clientLog) Printf(ctx context.Context, format string, v ...any) {
	slog.DebugContext(ctx, fmt.Sprintf(format, v...))
}

// sendOnce keeps the Cluster client from repeating a command whose answer was
// lost. It does so up to MaxRedirects times whatever MaxRetries is, and
// without redirects it would be of no use. Pipelines are out of reach of this
// hook: only what may be repeated goes into one.
type sendOnce struct{}

func (sendOnce) DialHook(next redis.DialHook) redis.DialHook { return next }

func (sendOnce) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if err != nil && connection(err) && !notRun(err) {
			return &lostAnswer{err}
		}
		return err
	}
}

func (sendOnce) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// lostAnswer has no Unwrap: the Cluster client must not see what it would try
// again.
type lostAnswer struct{ err error }

func (e *lostAnswer) Error() string { return e.err.Error() }
