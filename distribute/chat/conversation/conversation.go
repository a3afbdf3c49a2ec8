package conversation

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"strconv"
	"strings"

	"skidway"
	"skidway/distribute/chat"
	"skidway/distribute/chat/internal/store"
	"skidway/internal/handle"
	"skidway/internal/rdb"
)

//go:embed lua
var luaFiles embed.FS

var (
	scripts = store.LoadScripts("conversation", luaFiles, nil, nil)

	sendScript    = scripts.Script("send", "send a message")
	readScript    = scripts.Idempotent("read", "read messages")
	peekScript    = scripts.Idempotent("peek", "read unread messages")
	ackScript     = scripts.Idempotent("ack", "acknowledge messages")
	historyScript = scripts.Idempotent("history", "read the history")
	lookScript    = scripts.Idempotent("look", "look at the conversation")
	presentScript = scripts.Idempotent("present", "note who is present")
	deleteScript  = scripts.Idempotent("delete", "delete the conversation")
)

// keysOf returns the keys of conversations. The name of one is that of its pair.
//
//	dm:{A/B}             hash    v (1), last id, oldest kept id, at (ms of the newest), listed,
//	                             and for the first and second of the pair, in order of their
//	                             names: sent1 sent2 (messages ever), cursor1 cursor2 (last id
//	                             acknowledged), read1 read2 (the peer's acknowledged messages),
//	                             here1 here2 (end of the presence, ms),
//	                             reads1 reads2 (the last 32 reads, for repeated calls)
//	dm:{A/B}:log         stream  entry N-0 is message N: sender, body, time (ms), type, url,
//	                             sent1 and sent2 as they were then
//	person:{NAME}:peers  zset    peer → when this was written (ms)
//	person:{NAME}:wake   stream  the last change of the list, for a minute
//
// A and B are the two names in order; '%' and '/' in them are %25 and %2F. The
// lists are an index of the hashes: both are written before the first message,
// which is refused if that took longer than 30 s, so that it is in both lists.
func keysOf(prefix string) store.Keys { return store.Keys{Tag: prefix + ":dm:"} }

// A pair is two people, in order.
type pair struct{ first, second string }

func pairOf(a, b string) pair { return pair{min(a, b), max(a, b)} }

// escape makes names that contain a '/' unambiguous.
var escape = strings.NewReplacer("%", "%25", "/", "%2F")

// String returns the unique name of the pair.
func (p pair) String() string { return escape.Replace(p.first) + "/" + escape.Replace(p.second) }

// Defaults of [Config].
const (
	DefaultKeep      = 10_000
	DefaultMaxUnread = 10_000
)

// A Config bounds the history of conversations. It is not stored in Redis: each
// Send applies that of its client. The zero value is ready to use.
type Config struct {
	// Keep is the number of messages of a conversation that stay in Redis. Send drops the
	// oldest beyond them, but only those that both people have read. Zero means
	// [DefaultKeep].
	Keep uint64

	// MaxUnread is the number of messages that may be unread for one person. Zero means
	// [DefaultMaxUnread].
	MaxUnread uint64
}

// A Client is for all conversations in one Redis. It has no state of its own and is
// safe for concurrent use. While Redis is unreachable every method blocks, for at
// most the patience of its database.
//
// Invalid names, and a conversation with oneself, are an *[chat.InvalidError].
type Client struct {
	db     *rdb.DB
	keys   store.Keys
	peers  store.List
	config Config
}

// NewClient returns a client for the conversations of db. A nil config is the zero
// one. Closing db is left to the caller.
func NewClient(db *skidway.DB, config *Config) *Client {
	conn := handle.Conn(db)
	return &Client{conn, keysOf(db.Prefix()), store.List{DB: conn, Tag: db.Prefix() + ":person:", Name: "peers"}, config.withDefaults()}
}

func (c *Config) withDefaults() Config {
	var config Config
	if c != nil {
		config = *c
	}
	return Config{
		Keep:      min(cmp.Or(config.Keep, DefaultKeep), store.LastExact),
		MaxUnread: min(cmp.Or(config.MaxUnread, DefaultMaxUnread), store.LastExact),
	}
}

// call returns a call of a script, with the arguments that every script has.
func (c *Client) call(me, peer string, args ...any) rdb.Call {
	p, side := pairOf(me, peer), "1"
	if me != p.first {
		side = "2"
	}
	return rdb.Call{Keys: c.keys.All(p.String()), Args: append([]any{side}, args...)}
}

// run runs a script of one conversation.
func (c *Client) run(ctx context.Context, s *rdb.Script, me, peer string, args ...any) (rdb.Reply, error) {
	call := c.call(me, peer, args...)
	a, err := s.Run(ctx, c.db, call.Keys, call.Args...)
	if err != nil {
		return rdb.Reply{}, fmt.Errorf("conversation of %q with %q: %w", me, peer, err)
	}
	return a, nil
}

// checkPair checks two people, with the names of their fields for the error.
func checkPair(field, name, peerField, peer string) error {
	if err := store.CheckName(field, name); err != nil {
		return err
	}
	if err := store.CheckName(peerField, peer); err != nil {
		return err
	}
	if name == peer {
		return store.Invalid(peerField, peer, "a conversation is one of two people")
	}
	return nil
}

// A Sent is the result of [Client.Send].
type Sent struct {
	ID uint64 // one more than the id of the message before

	// Notify reports whether the receiver is not present, and should be notified
	// by other means. See [Client.Present].
	Notify bool
}

// Send sends a message. Its body may have [chat.MaxText] bytes. If the sender has no
// unread messages, its own one counts as read.
//
// The error matches [chat.ErrFull] if MaxUnread messages are unread for the
// receiver, or if Keep and MaxUnread messages together are in Redis and the sender
// itself has to read before any can be dropped.
//
// If the reply of Redis was lost, the error is a *skidway.OutcomeUnknownError: the
// message may have been sent, and sending it again may send it twice.
func (c *Client) Send(ctx context.Context, from, to string, content chat.Content) (Sent, error) {
	if err := checkPair("from", from, "to", to); err != nil {
		return Sent{}, err
	}
	if err := store.CheckContent(&content, chat.MaxText); err != nil {
		return Sent{}, err
	}
	for listed := "0"; ; {
		args := append([]any{listed, c.config.Keep, c.config.MaxUnread, from}, store.ContentArgs(content)...)
		a, err := c.run(ctx, sendScript, from, to, args...)
		if err != nil {
			return Sent{}, err
		}
		switch a.Text(0) {
		case "full":
			return Sent{}, fmt.Errorf("conversation of %q with %q: %w: %d messages wait for %q, who has to read some first", from, to, chat.ErrFull, a.Uint(1), to)
		case "unread":
			return Sent{}, fmt.Errorf("conversation of %q with %q: %w: %d messages are kept, because %q has not read what waits there: read it first", from, to, chat.ErrFull, a.Uint(1), from)
		case "unlisted":
			if err := c.addToLists(ctx, from, to); err != nil {
				return Sent{}, err
			}
			listed = a.Text(1)
			continue
		}
		if listed != "0" {
			// Again, to end waits that did not include this conversation. If it
			// fails, they find the message seconds later.
			_ = c.addToLists(ctx, from, to)
		}
		return Sent{ID: a.Uint(1), Notify: a.Uint(2) == 1}, nil
	}
}

// addToLists adds each person to the list of the other.
func (c *Client) addToLists(ctx context.Context, a, b string) error {
	if err := c.peers.Add(ctx, a, b); err != nil {
		return err
	}
	return c.peers.Add(ctx, b, a)
}

// Delete deletes a conversation with all messages, read or not. It is no error if
// it does not exist. Within a day the ids continue, later they start at 1 again.
func (c *Client) Delete(ctx context.Context, me, peer string) error {
	if err := checkPair("person", me, "peer", peer); err != nil {
		return err
	}
	_, err := c.run(ctx, deleteScript, me, peer)
	return err
}

// idText returns an id as an argument of a script.
func idText(id uint64) string { return strconv.FormatUint(min(id, store.LastExact), 10) }
