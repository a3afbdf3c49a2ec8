package chat

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"

	"skidway/internal/rdb"
)

var (
	//go:embed lua/group.lua
	groupSource string // put before the others: what they share

	//go:embed lua/group_create.lua
	createSource string
	//go:embed lua/group_join.lua
	joinSource string
	//go:embed lua/group_leave.lua
	leaveSource string
	//go:embed lua/group_send.lua
	sendSource string
	//go:embed lua/group_cursor.lua
	cursorSource string
	//go:embed lua/group_ack.lua
	ackSource string
	//go:embed lua/group_members.lua
	membersSource string
	//go:embed lua/group_info.lua
	infoSource string
	//go:embed lua/group_delete.lua
	deleteSource string

	//go:embed lua/index_write.lua
	indexWriteSource string
	//go:embed lua/index_list.lua
	indexListSource string
	//go:embed lua/index_drop.lua
	indexDropSource string
)

var (
	createScript  = newScript(rdb.NewIdempotentScript, "create the chat", groupSource+createSource)
	joinScript    = newScript(rdb.NewIdempotentScript, "join", groupSource+joinSource)
	leaveScript   = newScript(rdb.NewIdempotentScript, "leave", groupSource+leaveSource)
	sendScript    = newScript(rdb.NewScript, "send a message", groupSource+sendSource)
	cursorScript  = newScript(rdb.NewIdempotentScript, "read the cursor", groupSource+cursorSource)
	ackScript     = newScript(rdb.NewIdempotentScript, "acknowledge messages", groupSource+ackSource)
	membersScript = newScript(rdb.NewIdempotentScript, "list the members", groupSource+membersSource)
	infoScript    = newScript(rdb.NewIdempotentScript, "read the chat", groupSource+infoSource)
	deleteScript  = newScript(rdb.NewIdempotentScript, "delete the chat", groupSource+deleteSource)

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
	cmd, err := s.lua.Run(ctx, db, keys, args...)
	if err != nil {
		return nil, err
	}
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
	case "ahead":
		return &aheadError{last: a.number(1)}
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
