package distribute

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
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

// claimBatch is how many announcements one look takes.
const claimBatch = 50

// A search is the outcome of looking for a file to claim.
type search struct {
	claim   *claim
	pending bool          // there are files, all held by others
	retryIn time.Duration // when the first lease of those ends, if nobody renews it
}

// find claims the first file that is free, and acknowledges what is dealt with.
func (w *Worker) find(ctx context.Context) (search, error) {
	c, found := w.channel, search{}
	inOrder := true // all before was dealt with, so the cursor may move
	for after := uint64(0); ; {
		messages, err := c.chat.Pending(ctx, c.chatID(), w.subscriber, after, claimBatch)
		if err != nil || len(messages) == 0 {
			return found, err
		}
		var shipments []announcement
		var malformed []error
		for _, m := range messages {
			a, err := announcement{}, m.Err
			if err == nil {
				a, err = parseAnnouncement(m.Body)
			}
			shipments, malformed = append(shipments, a), append(malformed, err)
		}
		verdicts, err := w.tryClaim(ctx, shipments, malformed, &found)
		if err != nil {
			return found, err
		}
		dealtWith := uint64(0)
		for i, gone := range verdicts {
			inOrder = inOrder && gone
			if inOrder {
				dealtWith = messages[i].ID
				if malformed[i] != nil {
					w.config.Notify.tell(Event{Text: fmt.Sprintf("skipped message %d of the channel", dealtWith), Err: malformed[i]})
				}
			}
		}
		if dealtWith > 0 {
			if _, err := c.chat.Ack(ctx, c.chatID(), w.subscriber, dealtWith); err != nil {
				return found, err
			}
		}
		if found.claim != nil {
			return found, nil
		}
		after = messages[len(messages)-1].ID
	}
}

// tryClaim asks for the first of some shipments that is free. It reports for
// each that was looked at whether the subscriber is past it.
func (w *Worker) tryClaim(ctx context.Context, shipments []announcement, malformed []error, found *search) ([]bool, error) {
	k, token := w.channel.keys, rand.Text()
	names := []string{k.subscribers(), k.subscriber(w.subscriber), k.claims(w.subscriber), k.owners(w.subscriber)}
	args := []any{w.subscriber, token, w.config.Lease.Milliseconds()}
	for i, a := range shipments {
		if malformed[i] == nil {
			names = append(names, k.file(a.File), k.staged(w.subscriber, a.File))
			args = append(args, a.File, a.Shipment)
		}
	}
	answer, err := claimScript.Strings(ctx, w.channel.db, names, args...)
	if err != nil {
		return nil, err
	}
	if len(answer) == 0 {
		return nil, fmt.Errorf("subscriber %q was removed from channel %q: %w", w.subscriber, w.channel.name, ErrNoSubscriber)
	}
	now, answer := parseInt(answer[0]), answer[1:]
	var past []bool
	for i, a := range shipments {
		if malformed[i] != nil {
			past = append(past, true)
			continue
		}
		if len(answer) == 0 {
			break
		}
		verdict := parseInt(answer[0])
		answer = answer[1:]
		past = append(past, verdict < 0)
		switch {
		case verdict == 0:
			found.claim = &claim{id: a.File, shipment: a.Shipment, token: token}
		case verdict > 0:
			left := time.Duration(verdict-now) * time.Millisecond
			if !found.pending || left < found.retryIn {
				found.pending, found.retryIn = true, left
			}
		}
	}
	return past, nil
}

// release gives a claim back at once, even when ctx is done, so that nobody
// has to wait for its lease to end.
func (w *Worker) release(ctx context.Context, cl *claim) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	k := w.channel.keys
	_, err := releaseScript.Int(ctx, w.channel.db,
		[]string{k.claims(w.subscriber), k.owners(w.subscriber), k.staged(w.subscriber, cl.id), k.wake()}, cl.id, cl.token)
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
	cs.held[cl.id] = cl
	return ctx
}

func (cs *claims) drop(cl *claim) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	delete(cs.held, cl.id)
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
	k := w.channel.keys
	args := []any{w.subscriber, w.config.Lease.Milliseconds()}
	for _, cl := range held {
		args = append(args, cl.id, cl.token)
	}
	lost, err := renewScript.Strings(ctx, w.channel.db,
		[]string{k.subscribers(), k.subscriber(w.subscriber), k.claims(w.subscriber), k.owners(w.subscriber)}, args...)
	if err != nil {
		return
	}
	for _, id := range lost {
		for _, cl := range held {
			if cl.id == id {
				cl.lose(errClaimLost)
			}
		}
	}
}
