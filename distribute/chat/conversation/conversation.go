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

// keys names the keys of conversations. Names in braces are hash tags: all keys
// of one pair lie on one slot of a Redis Cluster. Names of people have no braces.
type keys struct{ prefix string }

// all returns the keys that every script is handed: the pair itself (hash) and
// its log (stream).
func (k keys) all(p pair) []string { return []string{k.prefix + ":dm:{" + p.String() + "}", k.log(p)} }

func (k keys) log(p pair) string { return k.prefix + ":dm:{" + p.String() + "}:log" }

// peers returns the keys of the list of people that a person has a conversation
// with.
func (k keys) peers(person string) []string {
	tag := k.prefix + ":person:{" + person + "}"
	return []string{tag + ":peers", tag + ":wake"}
}

// A pair is two people, in order.
type pair struct{ first, second string }

func pairOf(a, b string) pair { return pair{min(a, b), max(a, b)} }

// escape keeps names apart that a '/' joins.
var escape = strings.NewReplacer("%", "%25", "/", "%2F")

// String returns a name that no other pair has.
func (p pair) String() string { return escape.Replace(p.first) + "/" + escape.Replace(p.second) }

// Defaults of [Config].
const (
	DefaultKeep      = 10_000
	DefaultMaxUnread = 10_000
)

// A Config says how much history conversations have. It is not
// kept in Redis: each message that is sent applies that of its sender. The zero
// value is ready to use.
type Config struct {
	// Keep is how many messages of a conversation stay in Redis. The oldest
	// ones beyond are dropped when something is sent, but only what both
	// people have read. Zero means [DefaultKeep].
	Keep uint64

	// MaxUnread is how many messages may wait for one person before no more
	// can be sent there. Zero means [DefaultMaxUnread].
	MaxUnread uint64
}

// A Client reaches all conversations of two people in one Redis.
// The two have one history, in whichever order they are named; it begins with
// the first message. A Client holds no state of its own and is safe for
// concurrent use. Every method may block while Redis is away, for at most the
// patience that db was opened with.
//
// Names that can't be used, and a conversation with oneself, are an
// *[chat.InvalidError].
type Client struct {
	db     *rdb.DB
	keys   keys
	peers  store.List
	config Config
}

// New gives the conversations of db, which stays the caller's to
// close.
func NewClient(db *skidway.DB, config *Config) *Client {
	k := keys{db.Prefix()}
	return &Client{db, k, store.List{DB: db, Keys: k.peers}, config.withDefaults()}
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

// call gives the arguments that every script of a conversation has.
func (c *Client) call(me, peer string, args ...any) rdb.Call {
	p, side := pairOf(me, peer), "1"
	if me != p.first {
		side = "2"
	}
	return rdb.Call{Keys: c.keys.all(p), Args: append([]any{side}, args...)}
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

// checkPair checks two people, who are called by these fields.
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

// A Sent says what became of a message.
type Sent struct {
	ID uint64 // one more than that of the message before

	// Notify says whether the receiver should be told, by other means, that a
	// message waits. It need not be while it is present, see
	// [Client.Present].
	Notify bool
}

// Send sends a message. Its body has at most [chat.MaxText] bytes. Somebody who has
// nothing unread has thereby read its own message.
//
// The error matches [chat.ErrFull] when MaxUnread messages wait for the receiver, or
// when Keep and MaxUnread messages together are in Redis and the sender itself
// has to read before any can be dropped.
//
// When the answer of Redis was lost, the error is a *rdb.OutcomeUnknownError:
// the message may be there or not, and sending it again may send it twice.
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
			if err := c.enlist(ctx, from, to); err != nil {
				return Sent{}, err
			}
			listed = a.Text(1)
			continue
		}
		if listed != "0" {
			// Written again only to wake who waits: it did not know this
			// conversation. A failure makes it find out seconds later.
			_ = c.enlist(ctx, from, to)
		}
		return Sent{ID: a.Uint(1), Notify: a.Uint(2) == 1}, nil
	}
}

// enlist writes each into the list of the other.
func (c *Client) enlist(ctx context.Context, a, b string) error {
	if err := c.peers.Add(ctx, a, b); err != nil {
		return err
	}
	return c.peers.Add(ctx, b, a)
}

// Delete ends a conversation by hand, with all messages, read or not. One that
// there is not is no error. Within a day the ids go on where they were, later
// they start at 1 again.
func (c *Client) Delete(ctx context.Context, me, peer string) error {
	if err := checkPair("person", me, "peer", peer); err != nil {
		return err
	}
	_, err := c.run(ctx, deleteScript, me, peer)
	return err
}

// idText is an id as an argument of a script, which knows none beyond exact.
func idText(id uint64) string { return strconv.FormatUint(min(id, store.LastExact), 10) }
