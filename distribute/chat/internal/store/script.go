package store

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/distribute/chat"
	"skidway/internal/rdb"
)

//go:embed lua
var sharedLua embed.FS

// LoadScripts declares the scripts of a package. Their first key is HASH and
// their second one LOG, for the shared Lua, followed by more. words are those of
// this package alone.
func LoadScripts(name string, files fs.FS, more rdb.Keys, words rdb.Words) *rdb.Scripts {
	all := maps.Clone(sharedWords)
	maps.Copy(all, words)
	return rdb.LoadScripts(name, files, append(rdb.Keys{"hash", "log"}, more...), all, sharedLua)
}

// Keys builds the keys of the chats of one kind. The name in braces is a hash tag: all
// keys of one chat lie on one slot of a Redis Cluster. Names have no braces.
type Keys struct {
	Tag  string   // TAG{NAME} is the hash of a chat, and TAG{NAME}:log its stream
	More rdb.Keys // TAG{NAME}:KEY are its other keys
}

// All returns the keys of every script of a chat.
func (k Keys) All(name string) []string {
	keys := []string{k.Hash(name), k.Log(name)}
	for _, key := range k.More {
		keys = append(keys, k.Hash(name)+":"+key)
	}
	return keys
}

// Hash returns the key of the hash of a chat.
func (k Keys) Hash(name string) string { return k.Tag + "{" + name + "}" }

// Log returns the key of the messages of a chat.
func (k Keys) Log(name string) string { return k.Hash(name) + ":log" }

// Chats are all chats of one kind in one Redis.
type Chats struct {
	*rdb.DB
	Keys
	Noun string // of one, for errors
}

// Run runs a script of one chat.
func (c *Chats) Run(ctx context.Context, s *rdb.Script, name string, args ...any) (rdb.Reply, error) {
	a, err := s.Run(ctx, c.DB, c.All(name), args...)
	if err != nil {
		return rdb.Reply{}, fmt.Errorf("%s %q: %w", c.Noun, name, err)
	}
	return a, nil
}

var sharedWords = rdb.Words{
	"nochat": rdb.Refusal(chat.ErrNoChat),
	"exists": rdb.Refusal(chat.ErrExists),
	"newer": func(r rdb.Reply) error {
		return fmt.Errorf("%s: %w", r.Op, &chat.FormatError{Version: r.Text(0)})
	},
	"corrupt": func(r rdb.Reply) error {
		return fmt.Errorf("%s: %w", r.Op, Corrupt(r.Text(0), fmt.Sprintf("its value is %.40q; delete the chat, or mend it by hand", r.Text(1))))
	},
	"ahead": func(r rdb.Reply) error { return fmt.Errorf("%s: %w", r.Op, &AheadError{r.Uint(0)}) },
}

// AheadError is the error for an id that no message has yet. Callers replace it
// by an InvalidError with the name of the argument.
type AheadError struct{ Last uint64 }

func (e *AheadError) Error() string { return fmt.Sprintf("the last message is %d", e.Last) }

// Ack calls ack, which acknowledges the messages up to an id, with that id as an argument
// of a script, and returns the cursor. An id that no message has yet is an InvalidError.
func Ack(upTo uint64, ack func(number string) (rdb.Reply, error)) (cursor uint64, err error) {
	number := strconv.FormatUint(upTo, 10)
	if upTo > LastExact {
		return 0, Invalid("upTo", number, "no message has so high an id")
	}
	a, err := ack(number)
	var ahead *AheadError
	switch {
	case errors.As(err, &ahead):
		return 0, Invalid("upTo", number, ahead.Error())
	case err != nil:
		return 0, err
	}
	return a.Uint(0), nil
}

// Unreadable reports whether err concerns the data of one chat, so that other
// chats may be readable.
func Unreadable(err error) bool {
	var format *chat.FormatError
	var corrupt *chat.CorruptError
	var invalid *chat.InvalidError
	var answer redis.Error
	return errors.As(err, &format) || errors.As(err, &corrupt) || errors.As(err, &invalid) ||
		errors.As(err, &answer) && strings.Contains(answer.Error(), "WRONGTYPE")
}

// WaitTimeout bounds one blocked read. It frees the connections of waits whose
// context is done.
const WaitTimeout = 5 * time.Second

// maxBlocked bounds the connections of one wait on a Cluster, where each slot needs
// one: other calls need connections of the pool too. Further chats are looked at
// every WaitTimeout.
const maxBlocked = 50

// Wait calls look until it reports that there are messages for a person. In
// between it blocks until an entry follows one of the marks, which look takes
// before it reads.
func Wait(ctx context.Context, db *rdb.DB, person string, look func() (marks []rdb.Mark, found bool, err error)) error {
	for {
		marks, found, err := look()
		if err != nil || found {
			return err
		}
		if _, cluster := db.UniversalClient.(*redis.ClusterClient); cluster {
			marks = marks[:min(len(marks), maxBlocked)]
		}
		if _, err := db.Wait(ctx, WaitTimeout, marks...); err != nil {
			return fmt.Errorf("wait for messages for %q: %w", person, err)
		}
	}
}
