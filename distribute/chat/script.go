package chat

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/internal/rdb"
)

// What scripts share, put before them.
var (
	//go:embed lua/values.lua
	valuesSource string
	//go:embed lua/log.lua
	logSource string
)

var (
	//go:embed lua/index_write.lua
	indexWriteSource string
	//go:embed lua/index_list.lua
	indexListSource string
	//go:embed lua/index_drop.lua
	indexDropSource string
)

var (
	indexWriteScript = newScript(rdb.NewIdempotentScript, "write the list of chats", indexWriteSource)
	indexListScript  = newScript(rdb.NewIdempotentScript, "read the list of chats", indexListSource)
	indexDropScript  = newScript(rdb.NewIdempotentScript, "clean the list of chats", indexDropSource)
)

// A script is a script of Redis whose answer starts with a word: ok, or why
// not.
type script struct {
	name string // what failed, in errors
	lua  *rdb.Script
}

func newScript(make func(name, source string) *rdb.Script, name, source string) script {
	return script{name, make(name, source)}
}

// run gives what follows the word ok. The other words become errors.
func (s script) run(ctx context.Context, db *rdb.DB, keys []string, args ...any) (answer, error) {
	cmd, err := s.lua.Do(ctx, db, keys, args...)
	if err != nil {
		return nil, err
	}
	return s.read(cmd)
}

// read gives what follows the word ok.
func (s script) read(cmd *redis.Cmd) (answer, error) {
	values, err := cmd.Slice()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	a := answer(values)
	if word := a.text(0); word != "ok" {
		return nil, fmt.Errorf("%s: %w", s.name, a.refusal(word))
	}
	return a[1:], nil
}

// A reply is what one of many runs of a script gave.
type reply struct {
	answer
	err error
}

// runAll is run for many calls in one round trip. The error is that of all of
// them; each has its own beside it.
func (s script) runAll(ctx context.Context, db *rdb.DB, calls []rdb.Call) ([]reply, error) {
	cmds, err := s.lua.DoAll(ctx, db, calls)
	if err != nil {
		return nil, err
	}
	replies := make([]reply, len(cmds))
	for i, cmd := range cmds {
		replies[i].answer, replies[i].err = s.read(cmd)
	}
	return replies, nil
}

// An answer is what a script returned.
type answer []any

func (a answer) refusal(word string) error {
	switch word {
	case "nochat":
		return ErrNoChat
	case "notmember":
		return ErrNotMember
	case "exists":
		return ErrExists
	case "newer":
		return &FormatError{Version: a.text(1)}
	case "corrupt":
		return &CorruptError{Where: a.text(1), Reason: fmt.Sprintf("its value is %.40q; delete the chat, or mend it by hand", a.text(2))}
	case "boxfull":
		return a.mailboxFull()
	case "ahead":
		return &aheadError{last: a.number(1)}
	case "noroom":
		return ErrNoRoom
	case "notinroom":
		return ErrNotInRoom
	case "notallowed":
		return ErrNotAllowed
	case "taken":
		return ErrTaken
	case "full":
		return ErrFull
	case "muted":
		return &MutedError{Until: a.time(1)}
	case "nomessage":
		return ErrNoMessage
	}
	return fmt.Errorf("unexpected answer %.40q from the script", word)
}

// aheadError is turned into an InvalidError by Ack, which knows the argument.
type aheadError struct{ last uint64 }

func (e *aheadError) Error() string { return fmt.Sprintf("the last message is %d", e.last) }

// text gives the string at i, or "" if there is none.
func (a answer) text(i int) string {
	if i >= len(a) {
		return ""
	}
	text, _ := a[i].(string)
	return text
}

// number gives the number at i, or 0 if there is none.
func (a answer) number(i int) uint64 {
	if i < len(a) {
		if n, ok := a[i].(int64); ok {
			return uint64(max(n, 0))
		}
	}
	n, _ := strconv.ParseUint(a.text(i), 10, 64)
	return n
}

// time gives the time at i, which Redis holds in ms, or zero for 0 and "".
func (a answer) time(i int) time.Time {
	if ms := a.number(i); ms > 0 {
		return time.UnixMilli(int64(ms))
	}
	return time.Time{}
}
