package distribute

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A claim is a worker's right to count one shipment of a file for its
// subscriber, kept alive by the worker's heartbeat. Its token is random and
// never used again: whatever a claim writes names it, and is refused once
// another claim has the file.
type claim struct {
	id       string
	shipment int64
	token    string
	lose     context.CancelCauseFunc
	lines    atomic.Int64 // counted so far
}

// errClaimLost ends the work on a file that was given to another claim.
var errClaimLost = errors.New("the claim on the file was lost: its lease ran out")

// tryClaim asks for the first file of the backlog, from a place on, that is free,
// and drops from it what the subscriber is past. It gives the place behind those
// that it has asked for.
func (w *Worker) tryClaim(ctx context.Context, from int, found *search) (int, error) {
	k, token := w.channel.keys, rand.Text()
	of := subject{subscriber: w.subscriber}
	files := w.backlog.open[from:min(len(w.backlog.open), from+claimBatch)]
	args := []any{w.subscriber, token, w.config.Lease.Milliseconds()}
	for _, a := range files {
		of.more = append(of.more, k.file(a.File), k.staged(w.subscriber, a.File))
		args = append(args, a.File, a.Shipment)
	}
	answer, err := w.channel.call(ctx, claimScript, of, args...)
	if err != nil {
		return from, err
	}
	if answer.Len() == 0 {
		return from, fmt.Errorf("subscriber %q was removed from channel %q: %w", w.subscriber, w.channel.name, ErrNoSubscriber)
	}
	now, verdicts := answer.Int(0), answer.From(1)
	var kept []announced
	for i := range verdicts.Len() {
		verdict := verdicts.Int(i)
		if verdict >= 0 {
			kept = append(kept, files[i])
		}
		switch {
		case verdict == 0:
			found.claim = &claim{id: files[i].File, shipment: files[i].Shipment, token: token}
		case verdict > 0:
			left := time.Duration(verdict-now) * time.Millisecond
			if !found.pending || left < found.retryIn {
				found.pending, found.retryIn = true, left
			}
		}
	}
	w.backlog.open = slices.Replace(w.backlog.open, from, from+verdicts.Len(), kept...)
	return from + len(kept), nil
}

// release gives a claim back at once, even when ctx is done, so that nobody
// has to wait for its lease to end.
func (w *Worker) release(ctx context.Context, cl *claim) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	_, err := w.channel.call(ctx, releaseScript, subject{subscriber: w.subscriber, file: cl.id}, cl.id, cl.token)
	return err
}

// claims are those that a worker holds; its heartbeat renews them.
type claims struct {
	mu   sync.Mutex
	held map[string]*claim // by file
}

// hold adds a claim and gives the context for the work on it, which ends with
// errClaimLost as its cause when the claim is lost.
func (cs *claims) hold(ctx context.Context, cl *claim) context.Context {
	ctx, cl.lose = context.WithCancelCause(ctx)
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.held == nil {
		cs.held = map[string]*claim{}
	}
	if old := cs.held[cl.id]; old != nil {
		old.lose(errClaimLost) // it ran out, or this one would not have been granted
	}
	cs.held[cl.id] = cl
	return ctx
}

func (cs *claims) drop(cl *claim) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.held[cl.id] == cl {
		delete(cs.held, cl.id)
	}
	cl.lose(nil)
}

func (cs *claims) list() []*claim {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	list := make([]*claim, 0, len(cs.held))
	for _, cl := range cs.held {
		list = append(list, cl)
	}
	return list
}

// renew is the worker's heartbeat: it shows that the worker lives, and renews its
// claims. When Redis is away they may end meanwhile; the next heartbeat, or the
// commit, finds out.
func (w *Worker) renew(ctx context.Context) {
	held := w.claims.list()
	args := []any{w.subscriber, w.config.Lease.Milliseconds()}
	for _, cl := range held {
		args = append(args, cl.id, cl.token)
	}
	lost, err := w.channel.call(ctx, renewScript, subject{subscriber: w.subscriber}, args...)
	if err != nil {
		return
	}
	for _, id := range lost.Texts() {
		for _, cl := range held {
			if cl.id == id {
				cl.lose(errClaimLost)
			}
		}
	}
}
