package rdb

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// A blocked read cannot be interrupted, and keeps its connection until its time is over.
// So a read goes on while no streams are added, and reads are short while there are new
// entries: only if there were none for a while a read blocks for up to maxBlock.
const (
	minBlock = 250 * time.Millisecond
	maxBlock = 15 * time.Second
)

// After a read has found entries, their groups are added again soon: the next read begins
// when a group is, at the latest after regroupTime. Reads that begin without them would have
// to be replaced, which is limited.
const regroupTime = 25 * time.Millisecond

// Reads that replace one with outdated marks begin at most every minReadInterval on
// average; up to readBurst of them without a pause.
const (
	minReadInterval = 20 * time.Millisecond
	readBurst       = 5
)

// block watches by blocked reads until the mode changes or ctx is done.
func (n *watchNode) block(ctx context.Context) {
	var reads sync.WaitGroup
	reading, cancel := context.WithCancel(ctx)
	defer reads.Wait()
	defer cancel()
	block := minBlock
	var nextRead time.Time // if all reads that replace others had the minimum interval
	for ctx.Err() == nil {
		marks := n.marks()
		if n.mode() != modeBlock { // now, since the marks tell how many there are
			return
		}
		if len(marks) == 0 {
			n.awaitAdded(ctx, nil)
			continue
		}
		ended, timeout := make(chan bool, 1), block
		reads.Go(func() { ended <- n.read(reading, timeout, marks) })
		found, replace := n.awaitAdded(ctx, ended)
		switch {
		case replace:
			block = minBlock
			if now := time.Now(); nextRead.Before(now) {
				nextRead = now
			}
			_ = Sleep(ctx, time.Until(nextRead)-readBurst*minReadInterval)
			nextRead = nextRead.Add(minReadInterval)
		case found:
			block = minBlock
			regroup, cancel := context.WithTimeout(ctx, regroupTime)
			n.awaitAdded(regroup, nil)
			cancel()
		default:
			block = min(4*block, maxBlock)
		}
	}
}

// marks returns the marks of all groups, in an order that depends on them alone: so a read
// at the same marks that is still blocked is joined, also one of an earlier watch.
func (n *watchNode) marks() (marks []Mark) {
	for _, group := range n.takeAll() {
		marks = append(marks, group.marks...)
	}
	slices.SortFunc(marks, func(a, b Mark) int { return cmp.Or(strings.Compare(a.Key, b.Key), strings.Compare(a.ID, b.ID)) })
	return marks
}

// awaitAdded blocks until groups were added since the last call of takeAll, a read has
// ended or ctx is done. It returns what the read returned, and reports whether groups were
// added.
func (n *watchNode) awaitAdded(ctx context.Context, ended <-chan bool) (found, added bool) {
	for {
		select {
		case <-ctx.Done():
			return false, false
		case found := <-ended:
			return found, false
		case <-n.added:
			if n.hasFresh() {
				return false, true
			}
		}
	}
}

// read blocks until one of the streams has an entry, or the time is over, and calls the
// functions of their groups: of all groups after an error of the connection. It reports
// whether there was an entry.
func (n *watchNode) read(ctx context.Context, timeout time.Duration, marks []Mark) (found bool) {
	streams, err := n.watch.db.wait(ctx, timeout, marks)
	switch {
	case err == nil:
	case ctx.Err() != nil:
	case transient(err):
		n.broken(ctx, 0) // wait has paused
	default:
		n.watch.log.Warn("waiting for new entries failed", "error", err)
		_ = Sleep(ctx, DefaultMaxPause)
	}
	n.notifyFound(streams, marks)
	return len(streams) > 0
}

// notifyFound calls the functions of the groups whose streams have entries after marks.
func (n *watchNode) notifyFound(streams []redis.XStream, marks []Mark) {
	if len(streams) == 0 {
		return
	}
	at := make(map[string][]Mark, len(marks))
	for _, mark := range marks {
		at[mark.Key] = append(at[mark.Key], mark)
	}
	bytes := 0
	var found []Mark
	for _, stream := range streams {
		found = append(found, at[stream.Stream]...)
		for _, message := range stream.Messages {
			for _, value := range message.Values {
				text, _ := value.(string)
				bytes += len(text)
			}
		}
	}
	if bytes > maxBroughtBytes {
		n.watch.mu.Lock()
		n.trackLocked(time.Now().Add(trackLarge))
		n.watch.mu.Unlock()
	}
	n.notify(found...)
}
