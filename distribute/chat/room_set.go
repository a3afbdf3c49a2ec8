package chat

import (
	"context"
	"crypto/rand"
	"errors"
	"strconv"
	"time"
)

// A RoomChange says which settings of a room to change; what is nil stays. The
// values are as in [RoomOptions], but have no defaults.
type RoomChange struct {
	TTL      *time.Duration // counts from the change until somebody speaks
	Presence *time.Duration // of who sends or reads from now on
	Max      *int           // those inside may stay
	Keep     *int
	Password *string // "": no longer one
	Owner    *string // "": no longer one
}

func (c *RoomChange) check() error {
	var errs []error
	add := func(err error) { errs = append(errs, err) }
	if c.TTL != nil {
		add(checkSpan("ttl", *c.TTL))
	}
	if c.Presence != nil {
		add(checkSpan("presence", *c.Presence))
	}
	if c.Max != nil {
		add(checkMax(*c.Max))
	}
	if c.Keep != nil {
		add(checkKeep(*c.Keep))
	}
	if c.Password != nil {
		add(checkPassword(*c.Password))
	}
	if c.Owner != nil {
		add(checkOwner(*c.Owner))
	}
	return errors.Join(errs...)
}

// args gives the change as the script takes it: field, value, field, value…
func (c *RoomChange) args(l lock) []any {
	var args []any
	if c.TTL != nil {
		args = append(args, "ttl", c.TTL.Milliseconds())
	}
	if c.Presence != nil {
		args = append(args, "presence", c.Presence.Milliseconds())
	}
	if c.Max != nil {
		args = append(args, "max", *c.Max)
	}
	if c.Keep != nil {
		args = append(args, "keep", *c.Keep)
	}
	if c.Password != nil {
		args = append(args, "salt", l.salt, "rounds", l.rounds, "digest", l.digest)
	}
	if c.Owner != nil {
		args = append(args, "owner", *c.Owner)
	}
	return args
}

// Set changes settings of a room, all or none, and gives the pass that opens it
// from now on. With a new password everybody else is out and has to enter again.
// The owner may, and operators; where there is no owner, who is inside. Others
// get [ErrNotAllowed].
func (r *Room) Set(ctx context.Context, pass Pass, change RoomChange) (Pass, error) {
	if err := change.check(); err != nil {
		return Pass{}, err
	}
	next, fresh := pass, lock{}
	if change.Password != nil {
		var err error
		if fresh, next.Key, err = r.lock(*change.Password); err != nil {
			return Pass{}, err
		}
	}
	if _, err := r.run(ctx, roomSetScript, pass, append([]any{rand.Text()}, change.args(fresh)...)...); err != nil {
		return Pass{}, err
	}
	return next, nil
}

// Mute keeps somebody from sending, be it inside or not, for a length of time;
// zero is for good. The muted can read. Who may is said at [Room.Set].
func (r *Room) Mute(ctx context.Context, pass Pass, id string, length time.Duration) error {
	if err := checkName("muted", id); err != nil {
		return err
	}
	if length != 0 {
		if err := checkSpan("for", length); err != nil {
			return err
		}
	}
	_, err := r.run(ctx, roomMuteScript, pass, id, strconv.FormatInt(length.Milliseconds(), 10))
	return err
}

// Unmute lets somebody send again; who is not muted is no error.
func (r *Room) Unmute(ctx context.Context, pass Pass, id string) error {
	if err := checkName("muted", id); err != nil {
		return err
	}
	_, err := r.run(ctx, roomMuteScript, pass, id, "")
	return err
}
