package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"skidway/distribute/chat"
	"skidway/internal/rdb"
)

// A List accesses the lists of group chats, or of conversation partners, that
// each person has. A list may lie on another slot than the chats, so no script can
// change both. The chat decides about membership; the list is an index. It is
// written before the chat and again after it: so a chat is in the list before it
// is joined, and an entry that another process removed in between is restored. An
// entry for a chat without this member is removed only when it is so old that no
// process can be between the two writes; a list of nothing else expires then.
type List struct {
	DB *rdb.DB

	// TAG{PERSON}:NAME is the list of a person, a sorted set, and TAG{PERSON}:wake the
	// stream that ends waits for its changes.
	Tag, Name string
}

func (x List) keys(person string) []string {
	tag := x.Tag + "{" + person + "}:"
	return []string{tag + x.Name, tag + "wake"}
}

var (
	listScripts = rdb.LoadScripts("chat", sharedLua, rdb.Keys{"list", "wake"}, rdb.Words{})

	listWriteScript = listScripts.Idempotent("list_write", "write the list of chats")
	listReadScript  = listScripts.Idempotent("list_read", "read the list of chats")
	listDropScript  = listScripts.Idempotent("list_drop", "clean the list of chats")
)

// minForgetAge is how old an entry must be to be removed.
const minForgetAge = time.Minute

// chatsPerTrip is the number of chats that one round trip reads.
const chatsPerTrip = 100

// A Listing is a person's list at one time.
type Listing struct {
	person string
	wake   string               // id of the last wake-up, before the list was read
	chats  map[string]listEntry // by id
}

type listEntry struct {
	score string // when it was written, as stored
	old   bool   // it may be removed
}

// Mark returns the place in the wake stream from which to wait for changes.
func (x List) Mark(l Listing) rdb.Mark { return rdb.Mark{Key: x.keys(l.person)[1], ID: l.wake} }

// Read returns the list of a person.
func (x List) Read(ctx context.Context, person string) (Listing, error) {
	list := Listing{person: person, chats: map[string]listEntry{}}
	for next := "0"; ; {
		a, err := listReadScript.Run(ctx, x.DB, x.keys(person), next)
		if err != nil {
			return Listing{}, fmt.Errorf("member %q: %w", person, err)
		}
		if list.wake == "" {
			list.wake = a.Text(1)
		}
		now := float64(a.Uint(0))
		for i := 3; i+1 < a.Len(); i += 2 {
			score, err := strconv.ParseFloat(a.Text(i+1), 64)
			old := err != nil || score < now-float64(minForgetAge.Milliseconds())
			list.chats[a.Text(i)] = listEntry{a.Text(i + 1), old}
		}
		if next = a.Text(2); next == "0" || next == "" {
			return list, nil
		}
	}
}

// Add adds a chat to the lists of these people.
func (x List) Add(ctx context.Context, id string, people ...string) error {
	for batch := range slices.Chunk(people, chatsPerTrip) {
		calls := make([]rdb.Call, len(batch))
		for i, person := range batch {
			calls[i] = rdb.Call{Keys: x.keys(person), Args: []any{id}}
		}
		replies, err := listWriteScript.RunAll(ctx, x.DB, calls)
		if err != nil {
			return err
		}
		for i, reply := range replies {
			if reply.Err != nil {
				return fmt.Errorf("member %q: %w", batch[i], reply.Err)
			}
		}
	}
	return nil
}

// Forget removes chats from a list that do not have the person, unless they were
// added after the list was read.
func (x List) Forget(ctx context.Context, list Listing, ids ...string) error {
	for batch := range slices.Chunk(ids, chatsPerTrip) {
		args := []any{minForgetAge.Milliseconds()}
		for _, id := range batch {
			if entry, listed := list.chats[id]; listed {
				args = append(args, id, entry.score, entry.old)
			}
		}
		if len(args) == 1 {
			continue
		}
		if _, err := listDropScript.Run(ctx, x.DB, x.keys(list.person), args...); err != nil {
			return fmt.Errorf("member %q: %w", list.person, err)
		}
	}
	return nil
}

// Ask runs a script for all chats of the list, and calls f with each result, in
// the order of the ids. Chats with the result chat.ErrNoChat or chat.ErrNotMember
// are removed from the list instead. The first error of f ends it.
func (x List) Ask(ctx context.Context, list Listing, s *rdb.Script, call func(id string) rdb.Call, f func(id string, r rdb.Result) error) error {
	var gone []string
	for batch := range slices.Chunk(slices.Sorted(maps.Keys(list.chats)), chatsPerTrip) {
		var ids []string // with a valid name
		var calls []rdb.Call
		for _, id := range batch {
			if err := CheckName("chat", id); err != nil { // not written by this package
				if err := f(id, rdb.Result{Err: err}); err != nil {
					return err
				}
				continue
			}
			ids, calls = append(ids, id), append(calls, call(id))
		}
		replies, err := s.RunAll(ctx, x.DB, calls)
		if err != nil {
			return err
		}
		for i, r := range replies {
			if errors.Is(r.Err, chat.ErrNoChat) || errors.Is(r.Err, chat.ErrNotMember) {
				gone = append(gone, ids[i])
				continue
			}
			if err := f(ids[i], r); err != nil {
				return err
			}
		}
	}
	return x.Forget(ctx, list, gone...)
}
