package distribute

import (
	"cmp"
	"errors"
	"runtime"
	"time"

	"skidway/distribute/stream"
)

// WorkerConfig configures a [Worker]. The zero value is ready to use.
type WorkerConfig struct {
	// Workers is the number of files that are counted at the same time; zero means one
	// for each processor.
	Workers int

	// Lease is how long a claim stays valid after the worker's last
	// heartbeat; zero means DefaultLease.
	Lease time.Duration

	// CommitBytes and CommitInterval bound the work that is done again after a worker
	// dies: it commits what it has counted of a file after so many bytes of content,
	// or that time, whichever comes first. Zero means DefaultCommitBytes and
	// DefaultCommitInterval.
	CommitBytes    int64
	CommitInterval time.Duration

	// UntilDone makes Work return when something was shipped, every shipper
	// that does not follow has ended, and all files are counted.
	UntilDone bool

	// MaxWindow bounds the windows of all compressed files that the worker reads at once, in
	// bytes; one file may have all of it. Zero means DefaultWindows, of which one may have
	// [stream.DefaultMaxWindow]. Where there is no room for its window, a file is counted later.
	MaxWindow int64

	Notify Notify
}

// Defaults of [WorkerConfig].
const (
	DefaultCommitBytes    = 64 << 20
	DefaultCommitInterval = 5 * time.Second
	DefaultWindows        = 4 * stream.DefaultMaxWindow
)

func (c *WorkerConfig) withDefaults() WorkerConfig {
	var config WorkerConfig
	if c != nil {
		config = *c
	}
	config.Workers = cmp.Or(config.Workers, runtime.GOMAXPROCS(0))
	config.Lease = cmp.Or(config.Lease, DefaultLease)
	config.CommitBytes = cmp.Or(config.CommitBytes, DefaultCommitBytes)
	config.CommitInterval = cmp.Or(config.CommitInterval, DefaultCommitInterval)
	return config
}

func (c WorkerConfig) validate() error {
	return errors.Join(checkNotNegative("Workers", c.Workers), checkNotNegative("Lease", c.Lease),
		checkNotNegative("CommitBytes", c.CommitBytes), checkNotNegative("CommitInterval", c.CommitInterval),
		checkNotNegative("MaxWindow", c.MaxWindow))
}
