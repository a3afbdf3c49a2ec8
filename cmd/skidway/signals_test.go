package main

import (
	"context"
	"os"
	"syscall"
	"testing"
)

// Not parallel: it sends signals to its own process.
func TestSecondSignalEndsAtOnce(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	put(t, err)
	defer func() { _ = null.Close() }()
	ctx, stop, end := (&console{out: null}).listen(context.Background())
	defer end()
	put(t, syscall.Kill(os.Getpid(), syscall.SIGTERM))
	<-stop.quit
	if ctx.Err() != nil || !stop.stopped() {
		t.Fatal("the first signal ends at once")
	}
	put(t, syscall.Kill(os.Getpid(), syscall.SIGINT))
	<-ctx.Done()
	if context.Cause(ctx) != errStoppedAtOnce {
		t.Fatal(context.Cause(ctx))
	}
}
