package chat

import (
	"context"
	"time"
)

// Present says that me is looking at its conversation with peer for as long as
// d, by the clock of Redis; zero or less ends it. Presence expires by itself, so
// who stays calls again in time. It silences notices, see [Sent], and nothing
// else: messages wait, and are counted, as ever. It ends with the conversation.
func (c *Conversation) Present(ctx context.Context, me, peer string, d time.Duration) error {
	if err := checkPair("person", me, "peer", peer); err != nil {
		return err
	}
	ms := max(d, 0).Milliseconds()
	if d > 0 && d%time.Millisecond > 0 {
		ms++
	}
	_, err := c.run(ctx, conversationPresentScript, me, peer, ms)
	return err
}

// PresentUntil tells until when peer is present in its conversation with me;
// the zero time when it is not.
func (c *Conversation) PresentUntil(ctx context.Context, me, peer string) (time.Time, error) {
	if err := checkPair("person", me, "peer", peer); err != nil {
		return time.Time{}, err
	}
	a, err := c.run(ctx, conversationLookScript, me, peer)
	return a.time(4), orEmpty(err)
}
