package worker

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// reloadFor is how long taking over a configuration may take: what is not in
// Redis by then is not taken over.
const reloadFor = 5 * time.Second

// errReload is why a reload was given up.
var errReload = errors.New("redis did not take it over within " + reloadFor.String())

// reload takes over the configuration as it is now, if it is right.
func (s *service) reload(ctx context.Context) {
	notifySystemd(daemon.SdNotifyReloading)
	defer notifySystemd(daemon.SdNotifyReady)
	if s.shift.pool.IsQuiet() { // a new shift would take jobs again, and outlive "workers stop"
		s.log.Warn("told to take no more jobs: the configuration is not read again")
		return
	}
	ctx, cancel := context.WithTimeoutCause(ctx, reloadFor, errReload)
	defer cancel()
	c, err := s.read()
	if err == nil {
		err = s.begin(ctx, c)
	}
	if err != nil {
		s.log.Error("the new configuration can't be used; the old one stays", "error", err)
		return
	}
	s.level.Set(c.Log.level())
	for setting, changed := range map[string]bool{
		"redis": c.Redis != s.config.Redis, "prefix": c.Prefix != s.config.Prefix,
		"listen": c.Listen != s.config.Listen, "log.format": c.Log.Format != s.config.Log.Format,
	} {
		if changed {
			s.log.Warn("a setting has changed that needs a restart: the old one stays", "setting", setting)
		}
	}
	s.log.Info("new configuration; jobs that run go on under the old one", s.about(c)...)
}

// logger logs as the configuration says, from a level on that may change.
func (c *logConfig) logger(out io.Writer, level *slog.LevelVar) *slog.Logger {
	level.Set(c.level())
	options := &slog.HandlerOptions{Level: level}
	if c.Format == "json" {
		return slog.New(slog.NewJSONHandler(out, options))
	}
	return slog.New(slog.NewTextHandler(out, options))
}

// level is from where on messages are logged; what it is not was refused before.
func (c *logConfig) level() slog.Level {
	var level slog.Level
	if c.Level != "" {
		_ = level.UnmarshalText([]byte(c.Level))
	}
	return level
}

func queueNames(c *config) []string {
	names := make([]string, len(c.Queues))
	for i, q := range c.Queues {
		names[i] = q.Name
	}
	return names
}
