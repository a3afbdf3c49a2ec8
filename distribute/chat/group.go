package chat

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"

	"skidway/internal/rdb"
)

// A Kind says how a group chat ends.
type Kind string

const (
	// People is a chat between people: it ends, with all that is in it, with
	// its last member, and only members may send.
	People Kind = "people"

	// Channel is a chat that outlives its members: without any, it keeps
	// every message. Everybody may send.
	Channel Kind = "channel"
)

// MaxFirstMembers is the most members that a chat can be created with. More
// can join.
const MaxFirstMembers = 500

// CreateOptions say what chat to create.
type CreateOptions struct {
	Kind    Kind     // empty means People
	Members []string // at most MaxFirstMembers; People needs at least one
	Limits  Limits   // see [Group.SetLimits]
}

func (o *CreateOptions) check() error {
	switch o.Kind {
	case "":
		o.Kind = People
	case People, Channel:
	default:
		return &InvalidError{"kind", string(o.Kind), "it is neither people nor channel"}
	}
	if len(o.Members) > MaxFirstMembers {
		return &InvalidError{"members", strconv.Itoa(len(o.Members)), "more than 500: let the others join"}
	}
	if o.Kind == People && len(o.Members) == 0 {
		return &InvalidError{"members", "", "a chat between people needs one"}
	}
	for _, name := range o.Members {
		if err := checkName("member", name); err != nil {
			return err
		}
	}
	return o.Limits.check()
}

// A Start says which message a new member reads first.
type Start int

const (
	FromNow    Start = iota // what is sent from now on
	FromOldest              // the oldest that is still kept
)

// A Group is the way to all durable group chats in one Redis. It holds no
// state of its own and is safe for concurrent use. Every method may block
// while Redis is away, for at most the patience that db was opened with.
type Group struct {
	db    *rdb.DB
	keys  keys
	chats index
}

// NewGroup gives the group chats of db, which stays the caller's to close.
func NewGroup(db *rdb.DB) *Group {
	k := keys{db.Prefix()}
	return &Group{db, k, index{db, k.chats}}
}

// run runs a script of one chat, again until it has nothing more to delete, and
// gives what it answered after that.
func (g *Group) run(ctx context.Context, s script, id string, args ...any) (answer, error) {
	for {
		a, err := s.run(ctx, g.db, g.keys.group(id), args...)
		if err != nil {
			return nil, fmt.Errorf("chat %q: %w", id, err)
		}
		if len(a) == 0 || a.number(0) == 0 {
			return a[min(1, len(a)):], nil
		}
	}
}

// Create creates a chat and gives its id: the one that is asked for, which fails
// with [ErrExists] when it is taken, or for "" the next free number.
func (g *Group) Create(ctx context.Context, id string, options CreateOptions) (string, error) {
	if id != "" {
		if err := checkName("chat", id); err != nil {
			return "", err
		}
	}
	if err := options.check(); err != nil {
		return "", err
	}
	if id != "" {
		return id, g.create(ctx, id, options)
	}
	for { // people may have taken numbers by hand
		id, err := g.nextID(ctx)
		if err != nil {
			return "", err
		}
		if err := g.create(ctx, id, options); !errors.Is(err, ErrExists) {
			return id, err
		}
	}
}

// nextID gives a number that it never gave before.
func (g *Group) nextID(ctx context.Context) (id string, err error) {
	err = g.db.Retry(ctx, func() error { // a number that is lost on the way leaves a gap
		n, err := g.db.Incr(ctx, g.keys.groupNumbers()).Result()
		id = strconv.FormatInt(n, 10)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("find a free chat id: %w", err)
	}
	return id, nil
}

func (g *Group) create(ctx context.Context, id string, options CreateOptions) error {
	if err := g.chats.enlist(ctx, id, options.Members...); err != nil {
		return err
	}
	args := []any{string(options.Kind), rand.Text(), options.Limits.note()}
	for _, name := range options.Members {
		args = append(args, name)
	}
	if _, err := g.run(ctx, groupCreateScript, id, args...); err != nil {
		return err
	}
	return g.chats.enlist(ctx, id, options.Members...)
}

// Join makes member a member. Who is one already stays where it is, whatever
// start says.
func (g *Group) Join(ctx context.Context, id, member string, start Start) error {
	if err := checkNames(id, member); err != nil {
		return err
	}
	from := "now"
	if start == FromOldest {
		from = "oldest"
	}
	if err := g.chats.enlist(ctx, id, member); err != nil {
		return err
	}
	if _, err := g.run(ctx, groupJoinScript, id, member, from); err != nil {
		return err
	}
	return g.chats.enlist(ctx, id, member)
}

// Send appends a message to the chat and gives its id: one more than the one
// before. In a chat between people the sender must be a member, or the error
// is [ErrNotMember]. A member who had nothing unread has thereby read its own
// message. The body has at most [MaxBody] bytes.
//
// When the answer of Redis was lost, the error is a *rdb.OutcomeUnknownError:
// the message may be there or not, and sending it again may send it twice.
func (g *Group) Send(ctx context.Context, id, sender string, content Content) (uint64, error) {
	if err := checkName("chat", id); err != nil {
		return 0, err
	}
	if err := checkName("sender", sender); err != nil {
		return 0, err
	}
	if err := content.checkNew(MaxBody); err != nil {
		return 0, err
	}
	a, err := g.run(ctx, groupSendScript, id, append([]any{sender}, content.args()...)...)
	if err != nil {
		return 0, err
	}
	return a.number(0), nil
}

// Delete ends a chat by hand, with all members and messages. A chat that does
// not exist is no error. The members' lists forget it when they are next read.
func (g *Group) Delete(ctx context.Context, id string) error {
	if err := checkName("chat", id); err != nil {
		return err
	}
	_, err := g.run(ctx, groupDeleteScript, id)
	return err
}
