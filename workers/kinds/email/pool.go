package email

import (
	"context"
	"slices"
	"sync"
	"time"

	"skidway/workers"
)

// An smtpPool keeps connections for the next message. The most recently used one is
// taken first, so that the others stay idle and are closed.
type smtpPool struct {
	config Config
	slots  chan struct{} // one for each connection in use

	mu     sync.Mutex
	idle   []*smtpConn
	closed bool

	closing sync.WaitGroup // connections that are being closed
}

func newSMTPPool(config Config) *smtpPool {
	return &smtpPool{config: config, slots: make(chan struct{}, config.Connections)}
}

// send sends a message on a connection of the pool. Servers close idle connections:
// if a kept connection is lost and the server has certainly not accepted the
// message, send tries the next one, and finally a new one.
func (p *smtpPool) send(ctx context.Context, m *outgoing) (reply string, err error) {
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	defer func() { <-p.slots }()
	for {
		conn := p.take()
		if conn == nil {
			if conn, err = p.config.connect(ctx); err != nil {
				return "", err
			}
		}
		reply, err = conn.deliver(ctx, m)
		again := conn.state == broken && conn.reused && ctx.Err() == nil
		p.put(conn)
		if !again {
			return reply, err
		}
	}
}

// take returns an idle connection, nil if there is none.
func (p *smtpPool) take() *smtpConn {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.idle) - 1
	if last < 0 {
		return nil
	}
	conn := p.idle[last]
	p.idle = p.idle[:last]
	conn.idle.Stop()
	return conn
}

// put keeps a connection, or closes it if it cannot be used again.
func (p *smtpPool) put(conn *smtpConn) {
	if conn.state != usable {
		_ = conn.wire.Close()
		return
	}
	if !p.keep(conn) {
		conn.quit()
	}
}

func (p *smtpPool) keep(conn *smtpConn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	conn.reused = true
	conn.idle = time.AfterFunc(p.config.IdleTimeout, func() { p.drop(conn) })
	p.idle = append(p.idle, conn)
	return true
}

// drop closes a connection unless it has been taken.
func (p *smtpPool) drop(conn *smtpConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.idle, conn); i >= 0 {
		p.idle = slices.Delete(p.idle, i, i+1)
		p.closing.Go(conn.quit)
	}
}

// close closes the idle connections and blocks until that is done.
func (p *smtpPool) close() {
	p.mu.Lock()
	p.closed = true
	for _, conn := range p.idle {
		conn.idle.Stop()
		p.closing.Go(conn.quit)
	}
	p.idle = nil
	p.mu.Unlock()
	p.closing.Wait()
}

// quitTimeout bounds the wait for the answer to QUIT.
const quitTimeout = time.Second

func (conn *smtpConn) quit() {
	conn.wire.timeout = min(conn.wire.timeout, quitTimeout)
	_ = conn.client.Quit()
	_ = conn.wire.Close()
}

// A rateLimiter lets one message through every interval: a bucket of one token.
type rateLimiter struct {
	interval time.Duration // zero: no limit

	mu       sync.Mutex
	nextSend time.Time // when the next message may be sent
	nextWake time.Time // when the next job that is snoozed comes back, at the earliest
}

func newRateLimiter(perMinute int) *rateLimiter {
	if perMinute == 0 {
		return &rateLimiter{}
	}
	return &rateLimiter{interval: time.Minute / time.Duration(perMinute)}
}

// maxSnooze bounds how long jobs are snoozed, so that no slot is left unused while
// all jobs are snoozed, and a worker with another rate may come.
const maxSnooze = 15 * time.Minute

// wait blocks until a message may be sent. If that takes more than half of the time
// that is left, it returns an error that snoozes the job, so that waiting uses up no
// attempt.
func (l *rateLimiter) wait(ctx context.Context) error {
	left := time.Duration(1<<63 - 1)
	if deadline, has := ctx.Deadline(); has {
		left = time.Until(deadline)
	}
	delay, reserved := l.reserve(left / 2)
	if !reserved {
		return workers.Snooze(delay)
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// reserve reserves the next message's time if it is at most maxDelay away, and
// returns the delay until then; otherwise it returns the delay after which to try
// again.
func (l *rateLimiter) reserve(maxDelay time.Duration) (delay time.Duration, reserved bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	delay = max(0, l.nextSend.Sub(now))
	if delay > maxDelay {
		// Snoozed jobs come back one after another: if all came back at the same
		// time, all but one would be fetched and snoozed again and again.
		wake := l.nextWake
		if wake.Before(l.nextSend) || wake.Sub(now) > maxSnooze {
			wake = l.nextSend // beyond maxSnooze several jobs share a time
		}
		l.nextWake = wake.Add(l.interval)
		return wake.Sub(now), false
	}
	l.nextSend = now.Add(delay + l.interval)
	return delay, true
}
