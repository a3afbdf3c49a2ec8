package store

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
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
