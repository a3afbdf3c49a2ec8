//go:build unix

package processtest

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"syscall"

	"github.com/redis/go-redis/v9"
)

// Struck is the line that a process prints before it sends itself the signal of
// a [CommandSignal].
const Struck = "now"

// A CommandSignal is a signal that a process sends itself at one of its Redis
// commands. The zero value is none.
type CommandSignal struct {
	At     int  // the command, counted from 1, a pipeline as one
	After  bool // once its reply has come, else before it is sent
	Signal syscall.Signal
}

// Hook returns a hook for a Redis client that counts its commands and sends the
// signal.
func (s CommandSignal) Hook() *SignalHook { return &SignalHook{signal: s} }

// A SignalHook implements [redis.Hook], see [CommandSignal].
type SignalHook struct {
	signal   CommandSignal
	commands atomic.Int64
}

// Commands returns how many commands there were.
func (h *SignalHook) Commands() int { return int(h.commands.Load()) }

// DialHook implements [redis.Hook].
func (h *SignalHook) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements [redis.Hook].
func (h *SignalHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		return h.around(func() error { return next(ctx, cmd) })
	}
}

// ProcessPipelineHook implements [redis.Hook].
func (h *SignalHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		return h.around(func() error { return next(ctx, cmds) })
	}
}

func (h *SignalHook) around(run func() error) error {
	struck := h.commands.Add(1) == int64(h.signal.At)
	if struck && !h.signal.After {
		h.strike()
	}
	err := run()
	if struck && h.signal.After {
		h.strike()
	}
	return err
}

func (h *SignalHook) strike() {
	fmt.Println(Struck)
	_ = syscall.Kill(os.Getpid(), h.signal.Signal)
	if h.signal.Signal == syscall.SIGKILL {
		select {} // it arrives in a moment
	}
}
