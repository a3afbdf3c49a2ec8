//go:build !unix

package kinds

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"skidway/queue"
)

// execSupported refuses: without process groups what a command has started
// could outlive its job.
func execSupported() error {
	return fmt.Errorf("%w: it needs a Unix, this is %s", errors.ErrUnsupported, runtime.GOOS)
}

func (e *Exec) execute(context.Context, *queue.Job, ExecArgs, Command) error { return execSupported() }
