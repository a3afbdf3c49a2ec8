package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"skidway/distribute/chat"
	"skidway/internal/rdb"
)

// A List is a list that every person has, of the group chats or of the people
// that they talk with. It may lie on another slot than these, so no script can
// change both. What the chat says is the truth. The list is written before it
// and again after it; so every chat is in the list before it is joined, and one
// that another process dropped in between is back afterwards. An entry that the
// chat denies is dropped only when it is so old that nobody can be between the
// two writes.
type List struct {
	DB   *rdb.DB
	Keys func(person string) []string // the list (sorted set), the stream that wakes who waits for changes
}

var (
	listScripts = rdb.LoadScripts("chat", sharedLua, rdb.Keys{"list", "wake"}, rdb.Words{})

	listWriteScript = listScripts.Idempotent("list_write", "write the list of chats")
	listReadScript  = listScripts.Idempotent("list_read", "read the list of chats")
	listDropScript  = listScripts.Idempotent("list_drop", "clean the list of chats")
)

const settled = time.Minute

// askedAtOnce is how many chats are asked in one round trip.
const askedAtOnce = 100

// A Listing is a person's list at one time.
type Listing struct {
	person string
	wake   string             // id of the last wake-up, before the list was read
	chats  map[string]written // by the chats' ids
}

// written is when an entry was written.
type written struct {
	score string // as Redis holds it
	old   bool   // longer ago than settled, by the clock of Redis
}

// ids gives what is listed, in order.
func (l Listing) ids() []string {
	ids := make([]string, 0, len(l.chats))
	for id := range l.chats {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// Mark is where a wait for changes of the list starts.
func (x List) Mark(l Listing) rdb.Mark { return rdb.Mark{Key: x.Keys(l.person)[1], ID: l.wake} }

// Read reads the list of a person.
func (x List) Read(ctx context.Context, person string) (Listing, error) {
	list := Listing{person: person, chats: map[string]written{}}
	for next := "0"; ; {
		a, err := listReadScript.Run(ctx, x.DB, x.Keys(person), next)
		if err != nil {
			return Listing{}, fmt.Errorf("member %q: %w", person, err)
		}
		if list.wake == "" {
			list.wake = a.Text(1)
		}
		now := float64(a.Uint(0))
		for i := 3; i+1 < a.Len(); i += 2 {
			score, err := strconv.ParseFloat(a.Text(i+1), 64)
			old := err != nil || score < now-float64(settled.Milliseconds())
			list.chats[a.Text(i)] = written{a.Text(i + 1), old}
		}
		if next = a.Text(2); next == "0" || next == "" {
			return list, nil
		}
	}
}

// Add writes the chat into the lists of these people.
func (x List) Add(ctx context.Context, id string, people ...string) error {
	for some := range slices.Chunk(people, askedAtOnce) {
		calls := make([]rdb.Call, len(some))
		for i, person := range some {
			calls[i] = rdb.Call{Keys: x.Keys(person), Args: []any{id}}
		}
		replies, err := listWriteScript.RunAll(ctx, x.DB, calls)
		if err != nil {
			return err
		}
		for i, reply := range replies {
			if reply.Err != nil {
				return fmt.Errorf("member %q: %w", some[i], reply.Err)
			}
		}
	}
	return nil
}

// Forget drops chats that denied the person, after the list was read.
func (x List) Forget(ctx context.Context, list Listing, ids ...string) error {
	args := []any{}
	for _, id := range ids {
		if entry, listed := list.chats[id]; listed && entry.old {
			args = append(args, id, entry.score)
		}
	}
	for some := range slices.Chunk(args, 2*askedAtOnce) {
		if _, err := listDropScript.Run(ctx, x.DB, x.Keys(list.person), some...); err != nil {
			return fmt.Errorf("member %q: %w", list.person, err)
		}
	}
	return nil
}

// Ask runs a script for all chats of the list, and hands each answer to f, in
// the order of the ids: what the script answered, or why it could not. Chats
// that say with chat.ErrNoChat or chat.ErrNotMember that the person is not in them are
// forgotten instead. The first error of f ends it.
func (x List) Ask(ctx context.Context, list Listing, s *rdb.Script, call func(id string) rdb.Call, f func(id string, r rdb.Result) error) error {
	var denied []string
	for some := range slices.Chunk(list.ids(), askedAtOnce) {
		var ids []string // that can be asked
		var calls []rdb.Call
		for _, id := range some {
			if err := CheckName("chat", id); err != nil { // somebody else wrote it
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
				denied = append(denied, ids[i])
				continue
			}
			if err := f(ids[i], r); err != nil {
				return err
			}
		}
	}
	return x.Forget(ctx, list, denied...)
}
