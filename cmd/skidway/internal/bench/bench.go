// Package bench has the commands below "skidway bench".
package bench

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/internal/rdb"
)

// Command returns the command "bench".
func Command(a *cli.App) *cobra.Command {
	bench := cli.Group(&cobra.Command{
		Use:   "bench",
		Short: "Measures this machine and this Redis",
		Long: `Measures what Skidway does on this machine with this Redis, beside what the
machine could do at most, in the same run: machines differ, ratios less.`,
		Example: `  skidway bench logs
  skidway bench queue --json
  skidway bench chat`,
	})
	bench.AddCommand(logsCommand(a), queueCommand(a), chatCommand(a))
	return bench
}

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

// info reads one value of what the server tells about itself.
func (r *rig) info(ctx context.Context, section, key string) (string, error) {
	text, err := r.db.Info(ctx, section).Result()
	if err != nil {
		return "", fmt.Errorf("ask Redis about itself: %w", err)
	}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok && name == key {
			return value, nil
		}
	}
	return "", fmt.Errorf("this Redis does not tell its %s: nothing can be measured by it", key)
}

func (r *rig) count(ctx context.Context, section, key string) (float64, error) {
	text, err := r.info(ctx, section, key)
	if err != nil {
		return 0, err
	}
	value, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, fmt.Errorf("read %s from Redis: %w", key, err)
	}
	return value, nil
}

func (r *rig) memory(ctx context.Context, key string) (float64, error) {
	return r.count(ctx, "memory", key)
}

// commands counts all that Redis has ever run, those inside scripts included.
func (r *rig) commands(ctx context.Context) (float64, error) {
	return r.count(ctx, "stats", "total_commands_processed")
}

// server says what is measured.
func (r *rig) server(ctx context.Context) (string, error) {
	server, err := r.db.Check(ctx)
	if err != nil {
		return "", err
	}
	aof, err := r.info(ctx, "persistence", "aof_enabled")
	if err != nil {
		return "", err
	}
	text := server.Name + " " + server.Version
	if aof == "1" {
		text += " with an append-only file"
	}
	return text, nil
}

// appendOnly calls f while the server writes an append-only file that it syncs
// each second, and sets it back to how it was.
func (r *rig) appendOnly(ctx context.Context, f func() error) (err error) {
	for _, setting := range []struct{ name, value string }{{"appendfsync", "everysec"}, {"appendonly", "yes"}} {
		was, err := r.db.ConfigGet(ctx, setting.name).Result()
		if err != nil {
			return fmt.Errorf("read the setting %s: %w: leave --aof out", setting.name, err)
		}
		if err := r.set(ctx, setting.name, setting.value); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, r.set(context.WithoutCancel(ctx), setting.name, was[setting.name])) }()
	}
	if err := r.awaitRewrite(ctx); err != nil {
		return err
	}
	return f()
}

func (r *rig) set(ctx context.Context, name, value string) error {
	if err := r.db.ConfigSet(ctx, name, value).Err(); err != nil {
		return fmt.Errorf("set %s to %s: %w", name, value, err)
	}
	return nil
}

// awaitRewrite waits until the server has written down what it held when its
// file was switched on.
func (r *rig) awaitRewrite(ctx context.Context) error {
	for _, key := range []string{"aof_rewrite_scheduled", "aof_rewrite_in_progress"} {
		for {
			state, err := r.info(ctx, "persistence", key)
			if err != nil {
				return err
			}
			if state == "0" {
				break
			}
			if err := pause(ctx, 20*time.Millisecond); err != nil {
				return err
			}
		}
	}
	return nil
}

// clean deletes all that was made, by name.
func (r *rig) clean(ctx context.Context) error {
	keys := r.db.Scan(ctx, 0, r.db.Prefix()+":*", 1000).Iterator()
	for keys.Next(ctx) {
		if err := r.db.Unlink(ctx, keys.Val()).Err(); err != nil {
			return fmt.Errorf("delete %s, which was made to measure: %w", keys.Val(), err)
		}
	}
	if err := keys.Err(); err != nil {
		return fmt.Errorf("delete the keys under %s, which were made to measure: %w", r.db.Prefix(), err)
	}
	return nil
}
