package room

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"skidway/internal/rdb"
)

// Settings are the current settings of a room, see [CreateOptions].
type Settings struct {
	TTL      time.Duration
	Presence time.Duration
	Max      int
	Keep     int
	Password bool // whether it has one
	Owner    string

	// Mutes has the end of each mute by the id of the person; a zero time means
	// that it never ends. It has at most a hundred, those that end first.
	// [Client.People] returns all.
	Mutes map[string]time.Time
}

// An Info is the state of a room.
type Info struct {
	Settings Settings
	Created  time.Time     // by the clock of Redis
	TTL      time.Duration // until the room ends without another message
	Online   int           // people inside
	Last     uint64        // newest position; 0: nothing was sent
	Oldest   uint64        // position from which every message is kept that was not retracted
	Kept     uint64        // messages and retractions in Redis
}

// Info returns the state of a room. People inside, the owner and operators may
// call it.
func (r *Client) Info(ctx context.Context, credential Credential) (Info, error) {
	a, err := r.run(ctx, infoScript, credential)
	if err != nil {
		return Info{}, err
	}
	return parseInfo(a.List(0)), nil
}

// parseInfo parses the state of a room as state_of in room.lua returns it.
func parseInfo(a rdb.Reply) Info {
	ms := func(i int) time.Duration { return time.Duration(a.Uint(i)) * time.Millisecond }
	info := Info{
		TTL: ms(0), Online: int(a.Uint(1)), Last: a.Uint(2), Oldest: a.Uint(3) + 1, Kept: a.Uint(4),
		Created: time.UnixMilli(int64(a.Uint(5))),
		Settings: Settings{
			Owner: a.Text(6), TTL: ms(7), Presence: ms(8), Max: int(a.Uint(9)), Keep: int(a.Uint(10)),
			Password: a.Uint(11) == 1, Mutes: map[string]time.Time{},
		},
	}
	muted := a.List(12)
	for i := 0; i+1 < muted.Len(); i += 2 {
		info.Settings.Mutes[muted.Text(i)] = muted.Time(i + 1)
	}
	return info
}

// A Person is inside a room, or muted there, or both.
type Person struct {
	ID         string
	Nick       string
	Inside     bool
	Until      time.Time // when the presence ends without another send or read
	Muted      bool
	MutedUntil time.Time // zero: without end
}

// People returns all people who are inside or muted, ordered by id. People
// inside, the owner and operators may call it. Large rooms are read in several steps, so
// the result may be of slightly different times.
func (r *Client) People(ctx context.Context, credential Credential) ([]Person, error) {
	found := map[string]Person{}
	for _, key := range []string{"3", "5"} { // those inside, then the muted
		for next := "0"; ; {
			a, err := r.run(ctx, peopleScript, credential, key, next)
			if err != nil {
				return nil, err
			}
			for i := 1; i+3 < a.Len(); i += 4 {
				p := Person{ID: a.Text(i), Nick: a.Text(i + 2)}
				if p.Inside = a.Text(i+1) != "0"; p.Inside {
					p.Until = a.Time(i + 1)
				}
				if p.Muted = a.Text(i+3) != "0"; p.Muted {
					p.MutedUntil = a.Time(i + 3)
				}
				if p.Inside || p.Muted {
					found[p.ID] = p
				}
			}
			if next = a.Text(0); next == "0" || next == "" {
				break
			}
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b Person) int { return cmp.Compare(a.ID, b.ID) }), nil
}
