package group

import (
	"cmp"
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"fmt"
	"slices"
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
	moreKeys = rdb.Keys{"cursors", "seen"}

	scripts = store.LoadScripts("group", luaFiles, moreKeys, rdb.Words{
		"notmember": rdb.Refusal(chat.ErrNotMember),
	})

	createScript    = scripts.Idempotent("create", "create the chat")
	joinScript      = scripts.Idempotent("join", "join")
	leaveScript     = scripts.Idempotent("leave", "leave")
	sendScript      = scripts.Script("send", "send a message")
	cursorScript    = scripts.Idempotent("cursor", "read the cursor")
	pendingScript   = scripts.Idempotent("pending", "read pending messages")
	ackScript       = scripts.Idempotent("ack", "acknowledge messages")
	membersScript   = scripts.Idempotent("members", "list the members")
	infoScript      = scripts.Idempotent("info", "read the chat")
	setLimitsScript = scripts.Idempotent("set_limits", "limit the chat")
	deleteScript    = scripts.Idempotent("delete", "delete the chat")
)

// keysOf returns the keys of group chats.
//
//	chat:{ID}            hash    v (format version, 1), kind, last and oldest id, created (ms), token (of the creation),
//	                             big (id of the newest message above 16 KiB), sent (bytes of all messages ever),
//	                             limits ("messages bytes age-ms away-ms"), first ("id before time" of the oldest
//	                             message, once it was a big one and limits were applied),
//	                             grace (ms until which no member is dropped because all were away)
//	chat:{ID}:log        stream  entry N-0 is message N: sender, body, time (ms), type, url,
//	                             before (bytes of all messages before it)
//	chat:{ID}:cursors    zset    member → id of the last acknowledged message
//	chat:{ID}:seen       zset    member → last visit (ms), written at most once a second
//	{chats}:last         string  the last number that was used as an id
//	member:{NAME}:chats  zset    chat → when this was written (ms)
//	member:{NAME}:wake   stream  the last change of the list, for a minute
func keysOf(prefix string) store.Keys { return store.Keys{Tag: prefix + ":chat:", More: moreKeys} }

// A Kind determines how a group chat ends.
type Kind string

const (
	// People is a chat between people: it is deleted with its last member, and
	// only members may send.
	People Kind = "people"

	// Channel is a chat that outlives its members: without members it keeps
	// every message. Any name may send.
	Channel Kind = "channel"
)

// MaxFirstMembers bounds the members that a chat can be created with. Others can
// join.
const MaxFirstMembers = 500

// CreateOptions are the settings of a new chat.
type CreateOptions struct {
	Kind    Kind     // empty means People
	Members []string // at most MaxFirstMembers; People needs at least one
	Limits  Limits   // see [Client.SetLimits]
}

func (o *CreateOptions) withDefaults() CreateOptions {
	var options CreateOptions
	if o != nil {
		options = *o
	}
	options.Kind = cmp.Or(options.Kind, People)
	return options
}

func (o CreateOptions) validate(g *Client) error {
	if o.Kind != People && o.Kind != Channel {
		return store.Invalid("kind", string(o.Kind), "it is neither people nor channel")
	}
	if len(o.Members) > MaxFirstMembers {
		return store.Invalid("members", strconv.Itoa(len(o.Members)), "more than 500: let the others join")
	}
	if o.Kind == People && len(o.Members) == 0 {
		return store.Invalid("members", "", "a chat between people needs one")
	}
	for _, name := range o.Members {
		if err := g.check("member", name); err != nil {
			return err
		}
	}
	return o.Limits.validate()
}

// A Start is the first message that a new member reads.
type Start int

const (
	FromNow    Start = iota // the next message
	FromOldest              // the oldest message that is kept
)

// A Client is for all group chats in one Redis. It has no state of its own and is
// safe for concurrent use. While Redis is unreachable every method blocks, for at
// most the patience of its database.
type Client struct {
	groups   store.Chats
	chats    store.List // of the members
	reserved bool       // it may use reserved names
}

// NewClient returns a client for the group chats of db. Closing db is left to the
// caller.
func NewClient(db *skidway.DB) *Client {
	conn := handle.Conn(db)
	return &Client{
		groups: store.Chats{DB: conn, Keys: keysOf(db.Prefix()), Noun: "chat"},
		chats:  store.List{DB: conn, Tag: db.Prefix() + ":member:", Name: "chats"},
	}
}

// ReservedPrefix begins the ids of chats and the names of members and senders that
// belong to the channels of package distribute. A client refuses them as a
// *[chat.InvalidError], so that no person can read or end such a chat.
const ReservedPrefix = "logs:"

// Reserved returns a client that may use reserved names. Members with such a name
// have no list of their chats: [Client.PendingAll], [Client.Unread] and
// [Client.Wait] find none for them.
func (g *Client) Reserved() *Client {
	reserved := *g
	reserved.reserved = true
	return &reserved
}

func isReserved(name string) bool { return strings.HasPrefix(name, ReservedPrefix) }

// check returns an error for a name that this client can't use.
func (g *Client) check(field, name string) error {
	if isReserved(name) && !g.reserved {
		return store.Invalid(field, name, "names that begin with "+ReservedPrefix+" belong to log channels")
	}
	return store.CheckName(field, name)
}

// checkNames checks the id of a chat and the name of a member.
func (g *Client) checkNames(id, member string) error {
	if err := g.check("chat", id); err != nil {
		return err
	}
	return g.check("member", member)
}

// list adds a chat to the lists of its members, except the reserved ones.
func (g *Client) list(ctx context.Context, id string, members ...string) error {
	return g.chats.Add(ctx, id, slices.DeleteFunc(slices.Clone(members), isReserved)...)
}

// run runs a script of one chat until it has nothing more to delete, and returns
// its last reply without the first value.
func (g *Client) run(ctx context.Context, s *rdb.Script, id string, args ...any) (rdb.Reply, error) {
	for {
		a, err := g.groups.Run(ctx, s, id, args...)
		if err != nil {
			return rdb.Reply{}, err
		}
		if a.Uint(0) == 0 {
			return a.From(1), nil
		}
	}
}

// Create creates a chat and returns its id. An empty id means the next free
// number; another id that is taken is the error [chat.ErrExists].
func (g *Client) Create(ctx context.Context, id string, options *CreateOptions) (string, error) {
	if id != "" {
		if err := g.check("chat", id); err != nil {
			return "", err
		}
	}
	filled := options.withDefaults()
	if err := filled.validate(g); err != nil {
		return "", err
	}
	if id != "" {
		return id, g.create(ctx, id, filled)
	}
	for { // a number may be taken as an id
		id, err := g.nextID(ctx)
		if err != nil {
			return "", err
		}
		if err := g.create(ctx, id, filled); !errors.Is(err, chat.ErrExists) {
			return id, err
		}
	}
}

// nextID returns a number that it has never returned before.
func (g *Client) nextID(ctx context.Context) (id string, err error) {
	err = g.groups.Retry(ctx, func() error { // a lost reply leaves a gap
		n, err := g.groups.Incr(ctx, g.groups.Prefix()+":{chats}:last").Result()
		id = strconv.FormatInt(n, 10)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("find a free chat id: %w", err)
	}
	return id, nil
}

func (g *Client) create(ctx context.Context, id string, options CreateOptions) error {
	if err := g.list(ctx, id, options.Members...); err != nil {
		return err
	}
	args := []any{string(options.Kind), rand.Text(), options.Limits.note()}
	for _, name := range options.Members {
		args = append(args, name)
	}
	if _, err := g.run(ctx, createScript, id, args...); err != nil {
		return err
	}
	return g.list(ctx, id, options.Members...)
}

// Join adds a member. If it is a member already, its cursor stays, whatever start
// is.
func (g *Client) Join(ctx context.Context, id, member string, start Start) error {
	if err := g.checkNames(id, member); err != nil {
		return err
	}
	from := "now"
	if start == FromOldest {
		from = "oldest"
	}
	if err := g.list(ctx, id, member); err != nil {
		return err
	}
	if _, err := g.run(ctx, joinScript, id, member, from); err != nil {
		return err
	}
	return g.list(ctx, id, member)
}

// Send appends a message to the chat and returns its id: one more than the one
// before. In a chat between people the sender must be a member, or the error
// is [chat.ErrNotMember]. If the sender has no unread messages, its own one counts
// as read. The body may have [chat.MaxBody] bytes.
//
// If the reply of Redis was lost, the error is a *skidway.OutcomeUnknownError: the
// message may have been sent, and sending it again may send it twice.
func (g *Client) Send(ctx context.Context, id, sender string, content chat.Content) (uint64, error) {
	if err := g.check("chat", id); err != nil {
		return 0, err
	}
	if err := g.check("sender", sender); err != nil {
		return 0, err
	}
	if err := store.CheckContent(&content, chat.MaxBody); err != nil {
		return 0, err
	}
	a, err := g.run(ctx, sendScript, id, append([]any{sender}, store.ContentArgs(content)...)...)
	if err != nil {
		return 0, err
	}
	return a.Uint(0), nil
}

// Delete deletes a chat with its members and messages. It is no error if the chat
// does not exist. The members' lists drop it when they are next read.
func (g *Client) Delete(ctx context.Context, id string) error {
	if err := g.check("chat", id); err != nil {
		return err
	}
	_, err := g.run(ctx, deleteScript, id)
	return err
}
