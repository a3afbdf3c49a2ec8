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

// A Change has the settings of a room to change; nil ones stay. The values are as
// in [CreateOptions], but zero is not a default.
type Change struct {
	TTL      *time.Duration // starts with the change
	Presence *time.Duration // applies from the next send or read of each person
	Max      *int           // people inside stay
	Keep     *int
	Password *string // "": removes it
	Owner    *string // "": removes it
}

// args returns the arguments of the script for all but the password: field, value, field,
// value… Values that are not allowed are errors.
func (c *Change) args() (args []any, err error) {
	add := func(invalid error, field string, value any) {
		err, args = errors.Join(err, invalid), append(args, field, value)
	}
	if c.TTL != nil {
		add(checkSpan("ttl", *c.TTL), "ttl", c.TTL.Milliseconds())
	}
	if c.Presence != nil {
		add(checkSpan("presence", *c.Presence), "presence", c.Presence.Milliseconds())
	}
	if c.Max != nil {
		add(checkMax(*c.Max), "max", *c.Max)
	}
	if c.Keep != nil {
		add(checkKeep(*c.Keep), "keep", *c.Keep)
	}
	if c.Password != nil {
		err = errors.Join(err, checkPassword(*c.Password))
	}
	if c.Owner != nil {
		add(checkOwner(*c.Owner), "owner", *c.Owner)
	}
	return args, err
}

// Set changes settings of a room, all or none, and returns the credential for it
// from now on. With a new password all other people are removed and have to enter
// again. The owner and operators may call it; without an owner, people inside may
// too. For other callers the error is [ErrNotAllowed].
func (r *Client) Set(ctx context.Context, credential Credential, change Change) (Credential, error) {
	args, err := change.args()
	if err != nil {
		return Credential{}, err
	}
	next := credential
	if change.Password != nil {
		var hash passwordHash
		if hash, next.Key, err = r.hashPassword(*change.Password); err != nil {
			return Credential{}, err
		}
		args = append(args, "salt", hash.salt, "rounds", hash.rounds, "digest", hash.digest)
	}
	if _, err := r.run(ctx, setScript, credential, append([]any{rand.Text()}, args...)...); err != nil {
		return Credential{}, err
	}
	return next, nil
}

// Mute refuses messages of a person, inside or not, for a duration; zero is without
// end. A muted person can read. A person who may call [Client.Set] may call it.
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

// Unmute ends a mute. It is no error if the person is not muted.
func (r *Client) Unmute(ctx context.Context, credential Credential, id string) error {
	if err := store.CheckName("muted", id); err != nil {
		return err
	}
	_, err := r.run(ctx, muteScript, credential, id, "")
	return err
}

// checkSpan returns an error for a duration that is too short for Redis.
func checkSpan(field string, d time.Duration) error {
	if d < time.Millisecond {
		return store.Invalid(field, d.String(), "want a length of time of at least a millisecond")
	}
	return nil
}

func checkMax(n int) error {
	if n < 0 || uint64(n) > store.LastExact { // the highest number of scripts
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

// checkContent returns an error for a content that is neither a text nor an image,
// audio or video by its URL.
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
