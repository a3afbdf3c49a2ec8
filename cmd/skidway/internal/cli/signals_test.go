package cli

import (
	"context"
	"os"
	"syscall"
	"testing"
)

// Not parallel: it sends signals to its own process.
func TestSecondSignalEndsAtOnce(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = null.Close() }()
	ctx, stopping, end := (&Console{Out: null}).Listen(context.Background())
	defer end()
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-stopping.Done()
	if ctx.Err() != nil || stopping.Err() == nil {
		t.Fatal("the first signal ends at once")
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
	if context.Cause(ctx) != ErrStoppedAtOnce {
		t.Fatal(context.Cause(ctx))
	}
}
