package queue

import (
	"context"
	"fmt"
)

// Signals returns the signals after a cursor, and the cursor for the next call:
// [skidway.DB.Wait] blocks until another signal comes. A cursor without an ID
// stands for the latest signal.
func (q *PoolQueue) Signals(ctx context.Context, cursor StreamCursor) ([]Signal, StreamCursor, error) {
	key := q.keys[keyControl]
	if cursor.ID == "" {
		last, err := lastEntry(ctx, q.client.db, key)
		if err != nil {
			return nil, cursor, fmt.Errorf("queue %s: read signals: %w", q.name, err)
		}
		return nil, StreamCursor{Key: key, ID: last}, nil
	}
	entries, err := entriesAfter(ctx, q.client.db, key, cursor.ID, maxSignals)
	if err != nil {
		return nil, cursor, fmt.Errorf("queue %s: read signals: %w", q.name, err)
	}
	var signals []Signal
	for _, entry := range entries {
		cursor.ID = entry.ID
		kind, _ := entry.Values["do"].(string)
		local, _ := entry.Values["id"].(string)
		worker, _ := entry.Values["worker"].(string)
		signal := Signal{Kind: SignalKind(kind), Worker: worker}
		if local != "" {
			signal.Job = globalID(q.name, local)
		}
		signals = append(signals, signal)
	}
	return signals, cursor, nil
}
