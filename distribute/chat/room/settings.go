package room

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"skidway/distribute/chat"
	"skidway/distribute/chat/internal/store"
)

// A Change says which settings of a room to change; what is nil stays. The
// values are as in [CreateOptions], but have no defaults.
type Change struct {
	TTL      *time.Duration // counts from the change until somebody speaks
	Presence *time.Duration // of who sends or reads from now on
	Max      *int           // those inside may stay
	Keep     *int
	Password *string // "": no longer one
	Owner    *string // "": no longer one
}

func (c *Change) check() error {
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
func (c *Change) args(l lock) []any {
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
func (r *Client) Set(ctx context.Context, credential Credential, change Change) (Credential, error) {
	if err := change.check(); err != nil {
		return Credential{}, err
	}
	next, fresh := credential, lock{}
	if change.Password != nil {
		var err error
		if fresh, next.Key, err = r.lock(*change.Password); err != nil {
			return Credential{}, err
		}
	}
	if _, err := r.run(ctx, setScript, credential, append([]any{rand.Text()}, change.args(fresh)...)...); err != nil {
		return Credential{}, err
	}
	return next, nil
}

// Mute keeps somebody from sending, be it inside or not, for a length of time;
// zero is for good. The muted can read. Who may is said at [Client.Set].
func (r *Client) Mute(ctx context.Context, credential Credential, id string, length time.Duration) error {
	if err := store.CheckName("muted", id); err != nil {
		return err
	}
	if length != 0 {
		if err := checkSpan("for", length); err != nil {
			return err
		}
	}
	_, err := r.run(ctx, muteScript, credential, id, strconv.FormatInt(length.Milliseconds(), 10))
	return err
}

// Unmute lets somebody send again; who is not muted is no error.
func (r *Client) Unmute(ctx context.Context, credential Credential, id string) error {
	if err := store.CheckName("muted", id); err != nil {
		return err
	}
	_, err := r.run(ctx, muteScript, credential, id, "")
	return err
}

// checkSpan wants a length of time that Redis can measure.
func checkSpan(field string, d time.Duration) error {
	if d < time.Millisecond {
		return store.Invalid(field, d.String(), "want a length of time of at least a millisecond")
	}
	return nil
}

func checkMax(n int) error {
	if n < 0 || uint64(n) > store.LastExact { // scripts know no number beyond
		return store.Invalid("max", strconv.Itoa(n), "want a number of people, or 0 for no limit")
	}
	return nil
}

func checkKeep(n int) error {
	if n < 1 || n > MaxKeep {
		return store.Invalid("keep", strconv.Itoa(n), fmt.Sprintf("want a number of messages from 1 to %d", MaxKeep))
	}
	return nil
}

func checkOwner(id string) error {
	if id == "" {
		return nil
	}
	return store.CheckName("owner", id)
}

func checkPassword(password string) error {
	if len(password) > MaxPassword {
		return store.Invalid("password", "", fmt.Sprintf("it has %d bytes, more than %d", len(password), MaxPassword))
	}
	return nil
}

// checkContent refuses what is neither a text nor an image, audio or video
// that lies behind its URL.
func checkContent(c *chat.Content) error {
	if c.Type != "" && c.Type != chat.TypeText && !store.IsMedia(c) {
		return store.Invalid("type", c.Type, "a room takes text, image, audio and video")
	}
	if err := store.CheckContent(c, chat.MaxText); err != nil {
		return err
	}
	if u, err := url.Parse(c.URL); err == nil && strings.EqualFold(u.Scheme, "data") {
		return store.Invalid("url", c.URL, "it holds the data itself: put that elsewhere and send the URL of it")
	}
	return nil
}
