package chat

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"skidway/internal/rdb"
)

// An index is a list that every person has, of the group chats or of the people
// that they talk with. It may lie on another slot than these, so no script can
// change both. What the chat says is the truth. The list is written before it
// and again after it; so every chat is in the list before it is joined, and one
// that another process dropped in between is back afterwards. An entry that the
// chat denies is dropped only when it is so old that nobody can be between the
// two writes.
type index struct {
	db   *rdb.DB
	keys func(person string) []string
}

const settled = time.Minute

// askedAtOnce is how many chats are asked in one round trip.
const askedAtOnce = 100

// A listing is a person's list at one time.
type listing struct {
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
func (l listing) ids() []string {
	ids := make([]string, 0, len(l.chats))
	for id := range l.chats {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// mark is where a wait for changes of the list starts.
func (x index) mark(l listing) rdb.Mark { return rdb.Mark{Key: x.keys(l.person)[1], ID: l.wake} }

func (x index) list(ctx context.Context, person string) (listing, error) {
	list := listing{person: person, chats: map[string]written{}}
	for next := "0"; ; {
		a, err := indexListScript.run(ctx, x.db, x.keys(person), next)
		if err != nil {
			return listing{}, fmt.Errorf("member %q: %w", person, err)
		}
		if list.wake == "" {
			list.wake = a.text(1)
		}
		now := float64(a.number(0))
		for i := 3; i+1 < len(a); i += 2 {
			score, err := strconv.ParseFloat(a.text(i+1), 64)
			old := err != nil || score < now-float64(settled.Milliseconds())
			list.chats[a.text(i)] = written{a.text(i + 1), old}
		}
		if next = a.text(2); next == "0" || next == "" {
			return list, nil
		}
	}
}

// enlist writes the chat into the lists of these people.
func (x index) enlist(ctx context.Context, id string, people ...string) error {
	for some := range slices.Chunk(people, askedAtOnce) {
		calls := make([]rdb.Call, len(some))
		for i, person := range some {
			calls[i] = rdb.Call{Keys: x.keys(person), Args: []any{id}}
		}
		replies, err := indexWriteScript.runAll(ctx, x.db, calls)
		if err != nil {
			return err
		}
		for i, reply := range replies {
			if reply.err != nil {
				return fmt.Errorf("member %q: %w", some[i], reply.err)
			}
		}
	}
	return nil
}

// forget drops chats that denied the person, after the list was read.
func (x index) forget(ctx context.Context, list listing, ids ...string) error {
	args := []any{}
	for _, id := range ids {
		if entry, listed := list.chats[id]; listed && entry.old {
			args = append(args, id, entry.score)
		}
	}
	for some := range slices.Chunk(args, 2*askedAtOnce) {
		if _, err := indexDropScript.run(ctx, x.db, x.keys(list.person), some...); err != nil {
			return fmt.Errorf("member %q: %w", list.person, err)
		}
	}
	return nil
}

// ask runs a script for all chats of the list, and hands each answer to f, in
// the order of the ids: what the script answered, or why it could not. Chats
// that say with ErrNoChat or ErrNotMember that the person is not in them are
// forgotten instead. The first error of f ends it.
func (x index) ask(ctx context.Context, list listing, s script, call func(id string) rdb.Call, f func(id string, r reply) error) error {
	var denied []string
	for some := range slices.Chunk(list.ids(), askedAtOnce) {
		var ids []string // that can be asked
		var calls []rdb.Call
		for _, id := range some {
			if err := checkName("chat", id); err != nil { // somebody else wrote it
				if err := f(id, reply{err: err}); err != nil {
					return err
				}
				continue
			}
			ids, calls = append(ids, id), append(calls, call(id))
		}
		replies, err := s.runAll(ctx, x.db, calls)
		if err != nil {
			return err
		}
		for i, r := range replies {
			if errors.Is(r.err, ErrNoChat) || errors.Is(r.err, ErrNotMember) {
				denied = append(denied, ids[i])
				continue
			}
			if err := f(ids[i], r); err != nil {
				return err
			}
		}
	}
	return x.forget(ctx, list, denied...)
}
