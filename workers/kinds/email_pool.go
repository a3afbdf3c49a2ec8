package kinds

import (
	"context"
	"slices"
	"sync"
	"time"
)

// An smtpPool keeps connections for the next message. The last one used is used
// first, so that those that aren't needed become idle and are closed.
type smtpPool struct {
	config EmailConfig
	slots  chan struct{} // one for each connection in use

	mu     sync.Mutex
	idle   []*smtpConn
	closed bool

	leaving sync.WaitGroup // connections that are being closed
}

func newSMTPPool(config EmailConfig) *smtpPool {
	return &smtpPool{config: config, slots: make(chan struct{}, config.Connections)}
}

// send sends a message on a connection of the pool. Servers close connections
// that they find idle: when one was lost that had been used before, and the
// server surely has not taken the message, the next one is tried, at last a
// fresh one.
func (p *smtpPool) send(ctx context.Context, m *emailMessage) (reply string, err error) {
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
