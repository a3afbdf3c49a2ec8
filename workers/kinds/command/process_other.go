//go:build !unix

package command

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"skidway/workers"
)

// supported returns an error: without process groups the processes that a command has
// started could outlive its job.
func supported() error {
	return fmt.Errorf("%w: it needs a Unix, this is %s", errors.ErrUnsupported, runtime.GOOS)
}

func (e *Runner) execute(context.Context, *workers.Job[Args], Command) error { return supported() }

func killGroup(int) {}
