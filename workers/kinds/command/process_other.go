//go:build !unix

package command

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"skidway/queue"
)

// supported refuses: without process groups what a command has started
// could outlive its job.
func supported() error {
	return fmt.Errorf("%w: it needs a Unix, this is %s", errors.ErrUnsupported, runtime.GOOS)
}

func (e *Runner) execute(context.Context, *queue.Job, Args, Command) error { return supported() }
