package queue

import (
	"context"
	"embed"
	"fmt"
	"strconv"

	"skidway/internal/rdb"
)

//go:embed lua
var luaFiles embed.FS

var scripts = rdb.LoadScripts("queue", luaFiles, keyNames[:], nil)

// What scripts share, put before them.
var (
	//go:embed lua/keys.lua
	keysSource string
	//go:embed lua/record.lua
	recordSource string
	//go:embed lua/place.lua
	placeSource string
	//go:embed lua/return.lua
	returnSource string
	//go:embed lua/unique.lua
	uniqueSource string
)

var (
	//go:embed lua/enqueue.lua
	enqueueSource string
	//go:embed lua/enqueue_plain.lua
	enqueuePlainSource string
	//go:embed lua/enqueue_job.lua
	enqueueJobSource string
	//go:embed lua/lease_open.lua
	leaseOpenSource string
	//go:embed lua/lease_beat.lua
	leaseBeatSource string
	//go:embed lua/lease_close.lua
	leaseCloseSource string
	//go:embed lua/lease_note.lua
	leaseNoteSource string
	//go:embed lua/fetch.lua
	fetchSource string
	//go:embed lua/fetch_taken.lua
	fetchTakenSource string
	//go:embed lua/reread.lua
	rereadSource string
	//go:embed lua/finish.lua
	finishSource string
	//go:embed lua/finish_others.lua
	finishOthersSource string
	//go:embed lua/recover.lua
	recoverSource string
	//go:embed lua/move.lua
	moveSource string
)

var (
	withRecords = keysSource + recordSource + placeSource
	withReturns = withRecords + returnSource

	enqueueScript      = newScript(rdb.NewScript, "enqueue", keysSource+later("job_adder", recordSource+placeSource+uniqueSource+enqueueJobSource)+enqueueSource)
	enqueuePlainScript = newScript(rdb.NewScript, "enqueue", enqueuePlainSource)
	leaseOpenScript    = newScript(rdb.NewIdempotentScript, "open a lease", keysSource+leaseOpenSource)
	leaseBeatScript    = newScript(rdb.NewIdempotentScript, "prolong a lease", keysSource+leaseBeatSource)
	leaseCloseScript   = newScript(rdb.NewIdempotentScript, "close a lease", keysSource+leaseCloseSource)
	leaseNoteScript    = newScript(rdb.NewIdempotentScript, "note something of a worker", keysSource+leaseNoteSource)
	fetchScript        = newScript(rdb.NewScript, "fetch jobs", keysSource+later("taker", recordSource+placeSource+fetchTakenSource)+fetchSource)
	rereadScript       = newScript(rdb.NewIdempotentScript, "read held jobs again", keysSource+rereadSource)
	finishScript       = newScript(rdb.NewIdempotentScript, "finish jobs", keysSource+later("operations", recordSource+placeSource+returnSource+uniqueSource+later("job_adder", enqueueJobSource)+finishOthersSource)+finishSource)
	recoverScript      = newScript(rdb.NewIdempotentScript, "recover jobs", withReturns+recoverSource)
	moveScript         = newScript(rdb.NewIdempotentScript, "move due jobs", withRecords+moveSource)
)

// later makes a function of sources, which returns what they return. The scripts
// that are called for every job make what only some jobs need when one of those
// comes: making all of it takes Redis 20 microseconds.
func later(name, sources string) string {
	return "local function " + name + "()\n" + sources + "\nend\n"
}

// A script is a script of Redis whose answer starts with a word: ok, or why
// not.
type script struct {
	name string // what failed, in errors
	lua  *rdb.Script
}

func newScript(make func(name, source string) *rdb.Script, name, source string) script {
	return script{name, make(name, source)}
}

// run gives the answer of a script on a queue, with its first word. The words
// that every script may answer become errors.
func (s script) run(ctx context.Context, q *Queue, args ...any) (answer, error) {
	return s.runOn(ctx, q, q.keys, args...)
}

// runOn is run with some of the queue's keys.
func (s script) runOn(ctx context.Context, q *Queue, keys []string, args ...any) (answer, error) {
	cmd, err := s.lua.Do(ctx, q.client.db, keys, args...)
	if err != nil {
		return nil, fmt.Errorf("queue %s: %w", q.name, err)
	}
	values, err := cmd.Slice()
	if err != nil {
		return nil, fmt.Errorf("queue %s: %s: %w", q.name, s.name, err)
	}
	a := answer(values)
	switch a.text(0) {
	case "newer":
		return nil, &FormatError{Queue: q.name, Version: a.text(1)}
	case "lost":
		return nil, ErrLeaseLost
	}
	return a, nil
}

// An answer is what a script returned.
type answer []any

// text gives the string at i, or "" if there is none.
func (a answer) text(i int) string {
	if i >= len(a) {
		return ""
	}
	text, _ := a[i].(string)
	return text
}

// number gives the number at i, or 0 if there is none.
func (a answer) number(i int) int64 {
	if i >= len(a) {
		return 0
	}
	if n, ok := a[i].(int64); ok {
		return n
	}
	n, _ := strconv.ParseInt(a.text(i), 10, 64)
	return n
}
