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
