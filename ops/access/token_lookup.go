package access

import (
	"context"
	"time"
)

// A lookup finds out whether tokens that were not there when all were read have been created since. There
// is one every 0.1 s at most, with one command for all ids, because clients without a token can make it
// necessary. Requests wait for it, so that a token is good as soon as it has been created.
type lookup struct {
	ids  map[string]bool
	done bool
	err  error
}

// find returns a token as it was at most 5 s ago, and Redis's time. For one that was not there, it waits
// for a lookup.
func (t *Tokens) find(ctx context.Context, id string) (row tokenRecord, known bool, now time.Time, err error) {
	l, wait, row, now, err := t.cached(ctx, id)
	if err != nil || l == nil {
		return row, err == nil, now, err
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return row, false, now, context.Cause(ctx)
	}
	if err = t.lock(ctx); err != nil {
		return row, false, now, err
	}
	defer func() { <-t.turn }()
	if !l.done { // the first request that goes on does it for all
		t.next, l.done = nil, true
		l.err = t.lookUp(ctx, l)
		t.missed = t.now()
	}
	row, known = t.rows[id]
	return row, known, t.redisTime(), l.err
}

// cached returns a token and Redis's time, or the lookup of a token that is not there, and how long to
// wait before it.
func (t *Tokens) cached(ctx context.Context, id string) (l *lookup, wait time.Duration, row tokenRecord, now time.Time, err error) {
	if err = t.lock(ctx); err != nil {
		return nil, 0, row, now, err
	}
	defer func() { <-t.turn }()
	if err = t.refresh(ctx); err != nil {
		return nil, 0, row, now, err
	}
	row, known := t.rows[id]
	if known {
		return nil, 0, row, t.redisTime(), nil
	}
	if t.next == nil {
		t.next = &lookup{ids: map[string]bool{}}
	}
	if len(t.next.ids) >= maxMissed && !t.next.ids[id] {
		return nil, 0, row, now, ErrTokensBusy
	}
	t.next.ids[id] = true
	return t.next, min(tokenMissed, tokenMissed-t.now().Sub(t.missed)), row, now, nil
}

// redisTime returns Redis's time.
func (t *Tokens) redisTime() time.Time { return t.at.Add(t.now().Sub(t.read)) }

// lock waits for the turn to use what is cached.
func (t *Tokens) lock(ctx context.Context) error {
	select {
	case t.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// refresh reads the tokens if that is due. One request reads for all that wait,
// until its deadline, and its failure is theirs.
func (t *Tokens) refresh(ctx context.Context) error {
	age, lasts := t.now().Sub(t.read), tokensCached
	if t.failed != nil {
		lasts = tokensFailed
	}
	if !t.read.IsZero() && age >= 0 && age < lasts {
		return t.failed
	}
	return t.readNow(ctx)
}

// readNow reads the tokens until the deadline of a request, also if its client goes away.
func (t *Tokens) readNow(ctx context.Context) error {
	ctx, cancel := detached(ctx)
	defer cancel()
	began := t.now()
	t.rows, t.at, t.failed = t.readAll(ctx)
	if t.read = began; t.failed != nil {
		t.read = t.now()
	}
	return t.failed
}

// detached returns a context that has the deadline of a request, and does not end with it.
func detached(ctx context.Context) (context.Context, context.CancelFunc) {
	free := context.WithoutCancel(ctx)
	if deadline, ok := ctx.Deadline(); ok {
		return context.WithDeadlineCause(free, deadline, errAway)
	}
	return free, func() {}
}

// lookUp reads all tokens again if one of the ids has been created.
func (t *Tokens) lookUp(ctx context.Context, l *lookup) error {
	var ids []string
	for id := range l.ids {
		if _, known := t.rows[id]; !known { // else all were read while the request waited
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return t.failed
	}
	within, cancel := detached(ctx)
	defer cancel()
	created := false
	err := t.db.Retry(within, func() error {
		found, err := t.db.HMGet(within, t.keys[keyTokens], ids...).Result()
		for _, value := range found {
			created = created || value != nil
		}
		return err
	})
	if err != nil || !created {
		return err
	}
	return t.readNow(ctx)
}
