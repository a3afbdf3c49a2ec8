package rdb

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/redis/go-redis/v9"
)

// LogTo sends the messages that the Redis client logs beside its errors, such as every
// connection that could not be made, to a logger at debug level. The client
// would print it to stderr. It is for the whole process and should be called
// once, before [Open].
func LogTo(logger *slog.Logger) { redis.SetLogger(clientLog{logger}) }

type clientLog struct{ logger *slog.Logger }

func (l clientLog) Printf(ctx context.Context, format string, v ...any) {
	l.logger.DebugContext(ctx, fmt.Sprintf(format, v...))
}
