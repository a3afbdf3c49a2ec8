package chat

import (
	"context"
	"crypto/rand"
	"errors"
	"strconv"
)

// A ConversationPage is some messages of a conversation, and how it stands.
// The zero value is that of two people who never wrote to each other.
type ConversationPage struct {
	Messages []Message // oldest first
	Unread   uint64    // messages that waited for the reader, before it read these
	Total    uint64    // messages ever sent by both
}

// Read gives what peer sent and me has not read, oldest first, and
// acknowledges what it gives, in one step: a reader that crashes after that has
// read it. Whoever can't bear this calls [Conversation.Peek] and
// [Conversation.Ack]. When Redis carried a read out and its answer was lost, it
// is repeated and gives the same messages, unless other processes made 32 reads
// for me meanwhile.
//
// limit is at most [MaxMessages]; zero means [DefaultMessages]. A page of big
// messages is shorter (it ends soon after 64 KiB), and only an empty one says
// that there is nothing more.
func (c *Conversation) Read(ctx context.Context, me, peer string, limit int) (ConversationPage, error) {
	return c.unread(me, peer, func(uint64) (answer, error) {
		return c.run(ctx, conversationReadScript, me, peer, me, pageLimit(limit), rand.Text())
	})
}

// Peek is [Conversation.Read] that changes nothing. It starts after the id
// after, if that is not read yet: the last id of one page gives the next; zero
// starts with the first unread message, and so does an id that no message has yet:
// it is of a conversation that was deleted since.
func (c *Conversation) Peek(ctx context.Context, me, peer string, after uint64, limit int) (ConversationPage, error) {
	return c.unread(me, peer, func(to uint64) (answer, error) {
		return c.run(ctx, conversationPeekScript, me, peer, me, pageLimit(limit), idText(max(after, to)))
	})
}

// unread reads a page. A step that met only what me itself sent gives none, and
// says up to where it came.
func (c *Conversation) unread(me, peer string, step func(to uint64) (answer, error)) (ConversationPage, error) {
	if err := checkPair("person", me, "peer", peer); err != nil {
		return ConversationPage{}, err
	}
	for to := uint64(0); ; {
		a, err := step(to)
		if err != nil {
			return ConversationPage{}, orEmpty(err)
		}
		page := conversationPage(me, peer, a, 4)
		if more := a.number(2) == 1; len(page.Messages) > 0 || !more {
			return page, nil
		}
		to = a.number(3)
	}
}

// conversationPage makes a page of an answer that has its entries at i, and the
// numbers first.
func conversationPage(me, peer string, a answer, i int) ConversationPage {
	page := ConversationPage{Total: a.number(0), Unread: a.number(1)}
	if i < len(a) {
		page.Messages = parseMessages(parseEntries(a[i]))
	}
	for i := range page.Messages {
		if m := &page.Messages[i]; m.Err == nil && m.Sender != me && m.Sender != peer {
			m.Err = &CorruptError{Where: idText(m.ID) + "-0", Reason: "its sender is neither of the two people"}
		}
	}
	return page
}

// orEmpty takes it for no error that two people never wrote to each other.
func orEmpty(err error) error {
	if errors.Is(err, ErrNoChat) {
		return nil
	}
	return err
}

// Ack says that me has read all messages up to the id upTo, and gives the
// cursor, which never moves back. An id that was not given to a message yet is
// an *[InvalidError], and changes nothing.
func (c *Conversation) Ack(ctx context.Context, me, peer string, upTo uint64) (cursor uint64, err error) {
	if err := checkPair("person", me, "peer", peer); err != nil {
		return 0, err
	}
	number := strconv.FormatUint(upTo, 10)
	if upTo > lastExact {
		return 0, &InvalidError{"upTo", number, "no message has so high an id"}
	}
	a, err := c.run(ctx, conversationAckScript, me, peer, number)
	var ahead *aheadError
	switch {
	case errors.Is(err, ErrNoChat) && upTo > 0:
		return 0, &InvalidError{"upTo", number, (&aheadError{}).Error()}
	case errors.As(err, &ahead):
		return 0, &InvalidError{"upTo", number, ahead.Error()}
	}
	return a.number(0), orEmpty(err)
}
