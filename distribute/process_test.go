package distribute_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/distribute"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

// The crash tests run this test binary again as a shipper or a worker: a
// process of its own, which a signal can end at a chosen moment.

// Settings of such a process, in its environment.
const (
	envRole = "SKIDWAY_TEST_ROLE" // "ship" or "work"
	envURL  = "SKIDWAY_TEST_URL"
	envAt   = "SKIDWAY_TEST_SIGNAL_AT" // number of the Redis command at which it sends itself the signal
	envWhen = "SKIDWAY_TEST_WHEN"      // "before" the command is sent or "after" its answer came
	envSig  = "SKIDWAY_TEST_SIGNAL"
)

// testLease is short, so that what dead processes hold is free soon.
const testLease = 300 * time.Millisecond

func TestMain(m *testing.M) {
	if role := os.Getenv(envRole); role != "" {
		if err := play(role); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	redistest.Main(m)
}

// play is the life of such a process.
func play(role string) error {
	ctx := context.Background()
	db, err := rdb.Open(ctx, os.Getenv(envURL), rdb.Options{})
	if err != nil {
		return err
	}
	if at, err := strconv.Atoi(os.Getenv(envAt)); err == nil {
		number, _ := strconv.Atoi(os.Getenv(envSig))
		db.AddHook(&signalHook{at: int64(at), after: os.Getenv(envWhen) == "after", signal: syscall.Signal(number)})
	}
	channel, err := distribute.Open(ctx, db, "web")
	if err != nil {
		return err
	}
	if role == "ship" {
		results, err := distribute.NewShipper(channel, distribute.ShipperConfig{Lease: testLease}).Ship(ctx, os.Args[1:])
		for _, r := range results {
			err = errors.Join(err, r.Err)
		}
		return err
	}
	aggregation, err := distribute.NewCountryDay(distribute.CountryDayConfig{})
	if err != nil {
		return err
	}
	worker, err := distribute.NewWorker(ctx, channel, os.Args[1], aggregation,
		distribute.WorkerConfig{Lease: testLease, UntilDone: true, Workers: 2})
	if err != nil {
		return err
	}
	_, err = worker.Work(ctx)
	return err
}

// A signalHook sends the process a signal at its nth Redis command.
type signalHook struct {
	commands atomic.Int64
	at       int64
	after    bool
	signal   syscall.Signal
}

func (h *signalHook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *signalHook) around(run func() error) error {
	now := h.commands.Add(1) == h.at
	if now && !h.after {
		h.strike()
	}
	err := run()
	if now && h.after {
		h.strike()
	}
	return err
}

func (h *signalHook) strike() {
	fmt.Println("now")
	_ = syscall.Kill(os.Getpid(), h.signal)
	if h.signal == syscall.SIGKILL {
		select {} // it arrives in a moment
	}
}

func (h *signalHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		return h.around(func() error { return next(ctx, cmd) })
	}
}

func (h *signalHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		return h.around(func() error { return next(ctx, cmds) })
	}
}

// A process is a shipper or worker that runs.
type process struct {
	*exec.Cmd
	stdout io.Reader
	stderr *strings.Builder
}

// start starts a process. settings are further variables of its environment.
func start(t testing.TB, url, role string, args []string, settings ...string) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), append(settings, envRole+"="+role, envURL+"="+url)...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{cmd, bufio.NewReader(stdout), &stderr}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return p
}

// end waits for the process and reports whether it ended well, or was killed.
func (p *process) end(t testing.TB) (killed bool) {
	t.Helper()
	_, _ = io.Copy(io.Discard, p.stdout)
	err := p.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		return true
	}
	if err != nil {
		t.Errorf("%v: %s", err, p.stderr)
	}
	return false
}

// run runs a process to its end, which must be a good one.
func run(t testing.TB, url, role string, args ...string) {
	t.Helper()
	if start(t, url, role, args).end(t) {
		t.Error("the process was killed")
	}
}

func at(command int, when string, signal syscall.Signal) []string {
	return []string{
		fmt.Sprintf("%s=%d", envAt, command), envWhen + "=" + when, fmt.Sprintf("%s=%d", envSig, int(signal)),
	}
}
