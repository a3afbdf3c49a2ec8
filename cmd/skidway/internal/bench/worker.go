package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"skidway/distribute"
)

// A benchWorker is this program, run again as "logs work".
type benchWorker struct {
	command *exec.Cmd
	errors  strings.Builder
	ended   chan struct{}
	err     error // how it ended
}

const benchSubscriber = "bench"

// startWorker starts a worker and waits until it waits for files.
func (b *logsBench) startWorker(ctx context.Context, channel *distribute.Channel) (*benchWorker, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	w := &benchWorker{ended: make(chan struct{}), command: exec.CommandContext(ctx, program, "logs", "work", "--quiet",
		"--channel", channel.Name(), "--subscriber", benchSubscriber, "--until-done", "--prefix", b.Prefix)}
	// By the environment: a password in the URL would be seen in the list of
	// processes.
	w.command.Env = append(os.Environ(), "SKIDWAY_REDIS="+b.URL())
	w.command.Stderr = &w.errors
	if err := w.command.Start(); err != nil {
		return nil, err
	}
	go func() {
		w.err = w.command.Wait()
		close(w.ended)
	}()
	for {
		subscribers, err := channel.Subscribers(ctx)
		if err == nil && len(subscribers) > 0 && !subscribers[0].Seen.IsZero() {
			return w, nil
		}
		select {
		case <-w.ended:
			_, err = w.end(nil)
			return nil, fmt.Errorf("the worker ended before there was work: %w", err)
		case <-time.After(5 * time.Millisecond):
		}
		if err != nil {
			_, err = w.end(err)
			return nil, err
		}
	}
}

// end waits for the worker, which ends by itself when all went well, and gives
// its peak memory in bytes.
func (w *benchWorker) end(err error) (peak int64, _ error) {
	if err != nil {
		_ = w.command.Process.Kill()
		<-w.ended
		return 0, err
	}
	<-w.ended
	if w.err != nil {
		return 0, fmt.Errorf("the worker failed: %w: %s", w.err, strings.TrimSpace(w.errors.String()))
	}
	return peakMemory(w.command.ProcessState), nil
}
