package conversation

import (
	"context"
	"time"

	"skidway/distribute/chat/internal/store"
	"skidway/internal/rdb"
)

// A PeerUnread is the state of one conversation.
type PeerUnread struct {
	Peer   string
	Unread uint64
	Total  uint64    // messages ever sent by both
	Newest time.Time // when the newest was sent, by the clock of Redis; zero: none

	// Err is why this conversation, unlike the others, can't be read: a
	// *[chat.FormatError], a *[chat.CorruptError], or a key of another type.
	Err error
}

// Unread returns all conversations of me with their counts, ordered by the peers'
// names. It takes one round trip for each hundred.
func (c *Client) Unread(ctx context.Context, me string) ([]PeerUnread, error) {
	if err := store.CheckName("person", me); err != nil {
		return nil, err
	}
	list, err := c.peers.Read(ctx, me)
	if err != nil {
		return nil, err
	}
	var all []PeerUnread
	err = c.peers.Ask(ctx, list, lookScript, c.lookCall(me), func(peer string, r rdb.Result) error {
		switch {
		case store.Unreadable(r.Err):
			all = append(all, PeerUnread{Peer: peer, Err: r.Err})
		case r.Err != nil:
			return r.Err
		default:
			all = append(all, PeerUnread{
				Peer: peer, Unread: r.Uint(0), Total: r.Uint(2), Newest: r.Time(3),
			})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// lookCall returns the call for the state of a conversation.
func (c *Client) lookCall(me string) func(peer string) rdb.Call {
	return func(peer string) rdb.Call { return c.call(me, peer) }
}

// Wait blocks until a message is unread in any of me's conversations, or ctx is
// done. It includes conversations that begin meanwhile. While it blocks it costs
// Redis one read every few seconds. It uses one connection; on a Redis Cluster, one
// for each conversation.
func (c *Client) Wait(ctx context.Context, me string) error {
	if err := store.CheckName("person", me); err != nil {
		return err
	}
	return store.Wait(ctx, c.db, me, func() ([]rdb.Mark, bool, error) { return c.lookAll(ctx, me) })
}

// WaitFrom is [Client.Wait] for messages of one peer with an id after after.
func (c *Client) WaitFrom(ctx context.Context, me, peer string, after uint64) error {
	if err := checkPair("person", me, "peer", peer); err != nil {
		return err
	}
	return store.Wait(ctx, c.db, me, func() ([]rdb.Mark, bool, error) {
		a, err := c.run(ctx, lookScript, me, peer, "any")
		if err != nil {
			return nil, false, err
		}
		marks := []rdb.Mark{{Key: c.keys.Log(pairOf(me, peer).String()), ID: a.Text(1)}}
		if a.Uint(0) == 0 {
			return marks, false, nil
		}
		// A message that is counted but was deleted from the log by hand must not
		// end the wait, again and again.
		page, err := c.Peek(ctx, me, peer, after, 1)
		return marks, len(page.Messages) > 0, err
	})
}

// lookAll reports whether any message is unread for me. If not, the marks are where
// to wait: they are taken before the conversations are read, so that no later
// message is missed.
func (c *Client) lookAll(ctx context.Context, me string) (marks []rdb.Mark, found bool, err error) {
	list, err := c.peers.Read(ctx, me)
	if err != nil {
		return nil, false, err
	}
	marks = append(marks, c.peers.Mark(list))
	err = c.peers.Ask(ctx, list, lookScript, c.lookCall(me), func(peer string, r rdb.Result) error {
		if r.Err != nil {
			if store.Unreadable(r.Err) {
				return nil // it can't be waited for
			}
			return r.Err
		}
		found = found || r.Uint(0) > 0
		marks = append(marks, rdb.Mark{Key: c.keys.Log(pairOf(me, peer).String()), ID: r.Text(1)})
		return nil
	})
	return marks, found, err
}
