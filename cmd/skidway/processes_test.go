package main

import (
	"bufio"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"skidway/cmd/skidway/internal/cli"
	"skidway/internal/processtest"
	"skidway/queue"
)

// processes are worker processes with one configuration.
type processes struct {
	*fixture
	config  string // the file
	workers []*processtest.Process
}

func newProcesses(t testing.TB, config string) *processes {
	t.Helper()
	c := &processes{fixture: newFixture(t), config: filepath.Join(t.TempDir(), "skidway.yaml")}
	c.configure(config)
	return c
}

// configure writes the configuration.
func (c *processes) configure(config string) {
	c.Helper()
	if err := os.WriteFile(c.config, []byte(config), 0o600); err != nil {
		c.Fatal(err)
	}
}

// worker starts one more worker and waits until it is ready.
func (c *processes) worker() *processtest.Process {
	c.Helper()
	p := c.watched("worker", "--config", c.config, "--http-allow-private", "--redis", c.url)
	p.Await("worker is ready")
	c.workers = append(c.workers, p)
	return p
}

// watched starts a process whose standard error is logged if the test fails.
func (c *processes) watched(args ...string) *processtest.Process {
	c.Helper()
	p := start(c, c.TempDir(), args...)
	c.Cleanup(func() {
		if c.Failed() {
			output, _ := p.End() // the end of the test has killed it
			c.Logf("process %d, skidway %s, logged:\n%s", p.PID(), args[0], output)
		}
	})
	return p
}

// kill ends a worker with SIGKILL.
func (c *processes) kill(p *processtest.Process) {
	c.Helper()
	p.Signal(syscall.SIGKILL)
	p.End()
	c.leave(p)
}

// terminate ends a worker with SIGTERM.
func (c *processes) terminate(p *processtest.Process) {
	c.Helper()
	p.Signal(syscall.SIGTERM)
	if _, code := p.End(); code != cli.ExitDone {
		c.Errorf("a worker ended after SIGTERM with code %d", code)
	}
	c.leave(p)
}

func (c *processes) leave(p *processtest.Process) {
	for i, other := range c.workers {
		if other == p {
			c.workers = append(c.workers[:i], c.workers[i+1:]...)
			return
		}
	}
}

// stop terminates all workers.
func (c *processes) stop() {
	c.Helper()
	for len(c.workers) > 0 {
		c.terminate(c.workers[0])
	}
}

// holder returns the worker that runs a job.
func (c *processes) holder(id string) *processtest.Process {
	c.Helper()
	job, err := c.client.Get(c.Context(), id)
	if err != nil {
		c.Fatal(err)
	}
	pools, err := c.client.Pools(c.Context())
	if err != nil {
		c.Fatal(err)
	}
	for _, pool := range pools {
		for _, p := range c.workers {
			if strings.HasPrefix(job.Worker, pool.Name+".") && p.PID() == pool.PID {
				return p
			}
		}
	}
	c.Fatalf("job %s is %s, with no worker of this test", id, job.State)
	return nil
}

// untilLogged waits until the log of a job has a line that contains part.
func (d *fixture) untilLogged(id, part string) {
	d.Helper()
	c := command(d, d.TempDir(), "jobs", "logs", id, "--follow", "--redis", d.url)
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		d.Fatal(err)
	}
	defer func() {
		_ = c.Process.Kill()
		_ = c.Wait() // it was killed
	}()
	late := time.AfterFunc(waitLimit, func() { _ = c.Process.Kill() })
	defer late.Stop()
	for scanner := bufio.NewScanner(out); scanner.Scan(); {
		if strings.Contains(scanner.Text(), part) {
			return
		}
	}
	d.Fatalf("nothing with %q was logged for job %s", part, id)
}

// An eventLog has the events of the jobs of a queue, from the first one on.
type eventLog struct {
	*fixture
	queue  *queue.PoolQueue
	next   string
	events []queue.Event // read, but not returned yet
}

func (d *fixture) eventLog(name string) *eventLog {
	d.Helper()
	q, err := d.client.ForPool(name)
	if err == nil {
		err = q.KeepEvents(d.Context(), 1_000_000)
	}
	if err != nil {
		d.Fatal(err)
	}
	return &eventLog{fixture: d, queue: q}
}

// until waits for an event of a kind and returns its job. It skips other events.
func (l *eventLog) until(kind queue.EventKind) (id string) {
	l.Helper()
	ctx, cancel := context.WithTimeoutCause(l.Context(), waitLimit, errors.New("it did not happen"))
	defer cancel()
	for {
		for i, event := range l.events {
			if event.Kind == kind {
				l.events = l.events[i+1:]
				return event.Job
			}
		}
		var err error
		if l.events, l.next, err = l.queue.Events(ctx, l.next, waitLimit); err != nil || ctx.Err() != nil {
			depth, _ := l.queue.Depth(l.Context()) // for the message
			l.Fatalf("queue %s: awaiting that a job is %s: %v, %v; there is %+v", l.queue.Name(), kind, err, context.Cause(ctx), depth)
		}
	}
}
