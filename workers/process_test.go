package workers_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/internal/rdb"
	"skidway/queue"
	"skidway/workers"
)

// The chaos tests run this test binary again as worker processes: a signal can
// end or stop one of them at a chosen moment, and the others know nothing of it.

// planVariable of the environment makes this binary a worker.
const planVariable = "SKIDWAY_TEST_WORKER"

// A workerPlan is all that a worker process is told.
type workerPlan struct {
	Name        string // starts the names of its leases
	URL, Prefix string
	Queues      []string
	Concurrency int
	Lease       time.Duration

	// The Redis command, counted from 1, at which it sends itself a signal,
	// before the command is sent or after its answer came.
	SignalAt int
	After    bool
	Signal   syscall.Signal
}

// playWorker is the life of such a process: it runs jobs until SIGTERM.
func playWorker(text string) error {
	var plan workerPlan
	if err := json.Unmarshal([]byte(text), &plan); err != nil {
		return err
	}
	go func() { // the test holds the other end
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(3)
	}()
	rdb.LogTo(slog.New(slog.DiscardHandler))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	db, err := rdb.Open(ctx, plan.URL, rdb.Options{Prefix: plan.Prefix})
	if err != nil {
		return err
	}
	notes, err := rdb.Open(ctx, plan.URL, rdb.Options{Prefix: plan.Prefix})
	if err != nil {
		return err
	}
	hook := &commandHook{at: int64(plan.SignalAt), after: plan.After, signal: plan.Signal}
	db.AddHook(hook)
	client, err := queue.New(db, queue.Config{})
	if err != nil {
		return err
	}
	config := workers.Config{
		Concurrency: plan.Concurrency, Lease: plan.Lease, Name: plan.Name,
		Logger: slog.New(slog.NewJSONHandler(os.Stderr, nil)),
	}
	for _, name := range plan.Queues {
		config.Queues = append(config.Queues, workers.Queue{Name: name})
	}
	pool, err := workers.New(db, client, config)
	if err != nil {
		return err
	}
	addChaosKinds(pool, notes, plan.Name)
	fmt.Println("ready")
	err = pool.Run(ctx)
	fmt.Println("commands", hook.commands.Load())
	return err
}

// A commandHook counts commands and sends the process a signal at one of them.
type commandHook struct {
	commands atomic.Int64
	at       int64
	after    bool
	signal   syscall.Signal
}

func (h *commandHook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *commandHook) around(run func() error) error {
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

func (h *commandHook) strike() {
	fmt.Println("now")
	_ = syscall.Kill(os.Getpid(), h.signal)
	if h.signal == syscall.SIGKILL {
		select {} // it arrives in a moment
	}
}

func (h *commandHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		return h.around(func() error { return next(ctx, cmd) })
	}
}

func (h *commandHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		return h.around(func() error { return next(ctx, cmds) })
	}
}

// A workerProcess is a worker that runs, or did.
type workerProcess struct {
	plan   workerPlan
	cmd    *exec.Cmd
	says   *bufio.Reader // its standard output
	ended  chan struct{} // closed when it has; what is below may be read then
	err    error
	stderr strings.Builder
}

// startWorker starts a worker and waits until it is about to run jobs.
func startWorker(t testing.TB, plan workerPlan) *workerProcess {
	t.Helper()
	text, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	p := &workerProcess{plan: plan, cmd: exec.Command(os.Args[0]), ended: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), planVariable+"="+string(text))
	p.cmd.Stderr = &p.stderr
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Stdout, p.says = in, bufio.NewReader(out)
	if _, err = p.cmd.StdinPipe(); err == nil { // closed by Wait, or with this process
		err = p.cmd.Start()
	}
	_ = in.Close()
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		p.err = p.cmd.Wait()
	}()
	t.Cleanup(func() {
		p.kill()
		_ = out.Close()
		p.check(t)
	})
	p.hears("ready")
	return p
}

func (p *workerProcess) signal(t testing.TB, signal syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(signal); err != nil {
		t.Fatalf("worker %s: %v", p.plan.Name, err)
	}
}

// pause is SIGSTOP, and waits until it has taken effect.
func (p *workerProcess) pause(t testing.TB) {
	t.Helper()
	p.signal(t, syscall.SIGSTOP)
	for {
		var status syscall.WaitStatus
		_, err := syscall.Wait4(p.cmd.Process.Pid, &status, syscall.WUNTRACED, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil || !status.Stopped() {
			t.Fatalf("worker %s did not stop: %v", p.plan.Name, err)
		}
		return
	}
}

// kill is kill -9.
func (p *workerProcess) kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}

// stop ends the worker as a deploy does, and waits until it has ended.
func (p *workerProcess) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	<-p.ended
}

// running reports whether the process has not ended.
func (p *workerProcess) running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// killed reports whether a process that has ended was ended by SIGKILL.
func (p *workerProcess) killed() bool {
	var exit *exec.ExitError
	return errors.As(p.err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
}

// check looks for what must not happen in a process that has ended.
func (p *workerProcess) check(t testing.TB) {
	t.Helper()
	log := p.stderr.String()
	if p.err != nil && !p.killed() || strings.Contains(log, "DATA RACE") {
		t.Errorf("worker %s: %v\n%s", p.plan.Name, p.err, log)
	}
}

var lostLease = regexp.MustCompile(`"lease lost[^\n]*"worker":"([^"]+)"`)

// lost gives the leases that a process which has ended saw lost.
func (p *workerProcess) lost() (leases []string) {
	for _, found := range lostLease.FindAllStringSubmatch(p.stderr.String(), -1) {
		leases = append(leases, found[1])
	}
	return leases
}

// hears waits for the process to say a word and gives what follows it; false:
// it ended and has not said it.
func (p *workerProcess) hears(word string) (rest string, heard bool) {
	for {
		line, err := p.says.ReadString('\n')
		if err != nil {
			return "", false
		}
		if rest, heard = strings.CutPrefix(strings.TrimSpace(line), word); heard {
			return strings.TrimSpace(rest), true
		}
	}
}
