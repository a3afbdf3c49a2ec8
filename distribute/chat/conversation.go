package chat

import (
	"context"
	"fmt"
	"strconv"

	"skidway/internal/rdb"
)

// Defaults of [ConversationConfig].
const (
	DefaultKeep      = 10_000
	DefaultMaxUnread = 10_000
)

// A ConversationConfig says how much history conversations have. It is not
// kept in Redis: each message that is sent applies that of its sender. The zero
// value is ready to use.
type ConversationConfig struct {
	// Keep is how many messages of a conversation stay in Redis. The oldest
	// ones beyond are dropped when something is sent, but only what both
	// people have read. Zero means [DefaultKeep].
	Keep uint64

	// MaxUnread is how many messages may wait for one person before no more
	// can be sent there. Zero means [DefaultMaxUnread].
	MaxUnread uint64
}

// A Conversation is the way to all conversations of two people in one Redis.
// The two have one history, in whichever order they are named; it begins with
// the first message. A Conversation holds no state of its own and is safe for
// concurrent use. Every method may block while Redis is away, for at most the
// patience that db was opened with.
//
// Names that can't be used, and a conversation with oneself, are an
// *[InvalidError].
type Conversation struct {
	db     *rdb.DB
	keys   keys
	peers  index
	config ConversationConfig
}

// NewConversation gives the conversations of db, which stays the caller's to
// close.
func NewConversation(db *rdb.DB, config ConversationConfig) *Conversation {
	if config.Keep == 0 {
		config.Keep = DefaultKeep
	}
	if config.MaxUnread == 0 {
		config.MaxUnread = DefaultMaxUnread
	}
	config.Keep, config.MaxUnread = min(config.Keep, lastExact), min(config.MaxUnread, lastExact)
	k := keys{db.Prefix()}
	return &Conversation{db, k, index{db, k.peers}, config}
}

// call gives the arguments that every script of a conversation has.
func (c *Conversation) call(me, peer string, args ...any) rdb.Call {
	p, side := pairOf(me, peer), "1"
	if me != p.first {
		side = "2"
	}
	return rdb.Call{Keys: c.keys.conversation(p), Args: append([]any{side}, args...)}
}

// run runs a script of one conversation.
func (c *Conversation) run(ctx context.Context, s script, me, peer string, args ...any) (answer, error) {
	call := c.call(me, peer, args...)
	a, err := s.run(ctx, c.db, call.Keys, call.Args...)
	if err != nil {
		return nil, fmt.Errorf("conversation of %q with %q: %w", me, peer, err)
	}
	return a, nil
}

// checkPair checks two people, who are called by these fields.
func checkPair(field, name, peerField, peer string) error {
	if err := checkName(field, name); err != nil {
		return err
	}
	if err := checkName(peerField, peer); err != nil {
		return err
	}
	if name == peer {
		return &InvalidError{peerField, peer, "a conversation is one of two people"}
	}
	return nil
}

// A Sent says what became of a message.
type Sent struct {
	ID uint64 // one more than that of the message before

	// Notify says whether the receiver should be told, by other means, that a
	// message waits. It need not be while it is present, see
	// [Conversation.Present].
	Notify bool
}

// Send sends a message. Its body has at most [MaxText] bytes. Somebody who has
// nothing unread has thereby read its own message.
//
// The error matches [ErrFull] when MaxUnread messages wait for the receiver, or
// when Keep and MaxUnread messages together are in Redis and the sender itself
// has to read before any can be dropped.
//
// When the answer of Redis was lost, the error is a *rdb.OutcomeUnknownError:
// the message may be there or not, and sending it again may send it twice.
func (c *Conversation) Send(ctx context.Context, from, to string, content Content) (Sent, error) {
	if err := checkPair("from", from, "to", to); err != nil {
		return Sent{}, err
	}
	if err := content.checkNew(MaxText); err != nil {
		return Sent{}, err
	}
	for listed := "0"; ; {
		args := append([]any{listed, c.config.Keep, c.config.MaxUnread, from}, content.args()...)
		a, err := c.run(ctx, conversationSendScript, from, to, args...)
		if err != nil {
			return Sent{}, err
		}
		switch a.text(0) {
		case "full":
			return Sent{}, fmt.Errorf("conversation of %q with %q: %w: %d messages wait for %q, who has to read some first", from, to, ErrFull, a.number(1), to)
		case "unread":
			return Sent{}, fmt.Errorf("conversation of %q with %q: %w: %d messages are kept, because %q has not read what waits there: read it first", from, to, ErrFull, a.number(1), from)
		case "unlisted":
			if err := c.enlist(ctx, from, to); err != nil {
				return Sent{}, err
			}
			listed = a.text(1)
			continue
		}
		if listed != "0" {
			// Written again only to wake who waits: it did not know this
			// conversation. A failure makes it find out seconds later.
			_ = c.enlist(ctx, from, to)
		}
		return Sent{ID: a.number(1), Notify: a.number(2) == 1}, nil
	}
}

// enlist writes each into the list of the other.
func (c *Conversation) enlist(ctx context.Context, a, b string) error {
	if err := c.peers.enlist(ctx, a, b); err != nil {
		return err
	}
	return c.peers.enlist(ctx, b, a)
}

// Delete ends a conversation by hand, with all messages, read or not. One that
// there is not is no error. Within a day the ids go on where they were, later
// they start at 1 again.
func (c *Conversation) Delete(ctx context.Context, me, peer string) error {
	if err := checkPair("person", me, "peer", peer); err != nil {
		return err
	}
	_, err := c.run(ctx, conversationDeleteScript, me, peer)
	return err
}

// idText is an id as an argument of a script, which knows none beyond exact.
func idText(id uint64) string { return strconv.FormatUint(min(id, lastExact), 10) }
