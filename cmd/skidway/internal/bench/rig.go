package bench

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"

	"skidway/cmd/skidway/internal/cli"
	"skidway/internal/rdb"
)

// A rig is what measuring a Redis server takes.
type rig struct {
	*cli.App
	db *rdb.DB
}

var errBenchStopped = errors.New("stopped before the end, so there are no figures")

// connect opens a server, under a prefix of its own: with that of others, their
// workers would take jobs of ours.
func (r *rig) connect(ctx context.Context) error {
	r.Prefix = cmp.Or(r.Prefix, rdb.DefaultPrefix) + ":bench-" + strings.ToLower(rand.Text()[:10])
	db, err := r.Open(ctx, r.URL())
	if err != nil {
		return err
	}
	if db.Embedded() {
		err = cli.WrongUsage("the embedded Redis is not what you want to measure: give --redis the URL of a server")
	} else if _, cluster := db.UniversalClient.(*redis.ClusterClient); cluster {
		err = cli.WrongUsage("every server of a Redis Cluster counts memory and commands for itself: give --redis the URL of a single server")
	}
	if err != nil {
		return errors.Join(err, db.Close())
	}
	r.db = db
	return nil
}

// repeat measures so many times, or until it is told to stop, and leaves nothing
// in Redis.
func (r *rig) repeat(ctx context.Context, runs int, measure func(context.Context) error) (err error) {
	defer func() { err = errors.Join(err, r.clean(context.WithoutCancel(ctx))) }()
	ctx, stopper, end := r.Console.Listen(ctx)
	defer end()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-stopper.Quit:
			cancel(errBenchStopped)
		case <-ctx.Done():
		}
	}()
	for run := range runs {
		r.Console.Notice("run %d of %d", run+1, runs)
		err := measure(ctx)
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		if err != nil {
			return err
		}
	}
	return nil
}
