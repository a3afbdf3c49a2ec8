package email

import (
	"context"
	"slices"
	"sync"
	"time"

	"skidway/workers"
)

// An smtpPool keeps connections for the next message. The last one used is used
// first, so that those that aren't needed become idle and are closed.
type smtpPool struct {
	config Config
	slots  chan struct{} // one for each connection in use

	mu     sync.Mutex
	idle   []*smtpConn
	closed bool

	leaving sync.WaitGroup // connections that are being closed
}

func newSMTPPool(config Config) *smtpPool {
	return &smtpPool{config: config, slots: make(chan struct{}, config.Connections)}
}

// send sends a message on a connection of the pool. Servers close connections
// that they find idle: when one was lost that had been used before, and the
// server surely has not taken the message, the next one is tried, at last a
// fresh one.
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
		p.give(conn)
		if !again {
			return reply, err
		}
	}
}

// take gives a connection that is idle, nil if there is none.
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

func (p *smtpPool) give(conn *smtpConn) {
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
		p.leaving.Go(conn.quit)
	}
}

// close ends what is idle and waits until all good-byes are said.
func (p *smtpPool) close() {
	p.mu.Lock()
	p.closed = true
	for _, conn := range p.idle {
		conn.idle.Stop()
		p.leaving.Go(conn.quit)
	}
	p.idle = nil
	p.mu.Unlock()
	p.leaving.Wait()
}

// goodbye is how long a server has to answer to it.
const goodbye = time.Second

func (conn *smtpConn) quit() {
	conn.wire.timeout = min(conn.wire.timeout, goodbye)
	_ = conn.client.Quit()
	_ = conn.wire.Close()
}

// A pacer lets one message through every interval: a bucket of one token.
type pacer struct {
	interval time.Duration // zero: no limit

	mu   sync.Mutex
	next time.Time // when the next message may go
	line time.Time // when the next job that is snoozed comes back, at the earliest
}

func newPacer(perMinute int) *pacer {
	if perMinute == 0 {
		return &pacer{}
	}
	return &pacer{interval: time.Minute / time.Duration(perMinute)}
}

// maxSnooze bounds how far behind one another jobs are snoozed: no turn may be
// left unused because all are asleep, and a worker with another rate may come.
const maxSnooze = 15 * time.Minute

// wait returns when a message may be sent. Where that takes more than half of
// the time that is left, it snoozes the job at once: an attempt shall not be used
// up by waiting.
func (p *pacer) wait(ctx context.Context) error {
	left := time.Duration(1<<63 - 1)
	if deadline, has := ctx.Deadline(); has {
		left = time.Until(deadline)
	}
	turn, granted := p.take(left / 2)
	if !granted {
		return workers.Snooze(turn)
	}
	timer := time.NewTimer(turn)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// take gives the time until the next turn, and the turn itself if that is no
// longer than most; else the time after which to ask again.
func (p *pacer) take(most time.Duration) (turn time.Duration, granted bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	turn = max(0, p.next.Sub(now))
	if turn > most {
		// One after another: if all came back for the same turn, all but one
		// would be fetched, made and snoozed for nothing, again and again.
		back := p.line
		if back.Before(p.next) || back.Sub(now) > maxSnooze {
			back = p.next // also where the line is too long: then several share a turn
		}
		p.line = back.Add(p.interval)
		return back.Sub(now), false
	}
	p.next = now.Add(turn + p.interval)
	return turn, true
}
