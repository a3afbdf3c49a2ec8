package chat

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"
)

// RoomSettings are what a room was created with or changed to, see
// [RoomOptions].
type RoomSettings struct {
	TTL      time.Duration
	Presence time.Duration
	Max      int
	Keep     int
	Password bool // whether it has one
	Owner    string

	// Mutes says who may not send, and until when; a zero time is for good. It
	// holds a hundred at most, those that end first. [Room.People] gives all.
	Mutes map[string]time.Time
}

// A RoomInfo describes a room.
type RoomInfo struct {
	Settings RoomSettings
	Created  time.Time     // by the clock of Redis
	TTL      time.Duration // until the room ends if nobody speaks
	Online   int           // people inside
	Last     uint64        // newest position; 0: nothing was sent
	Oldest   uint64        // position from which on all is kept that was not taken back
	Kept     uint64        // messages and changes in Redis
}

// Info tells about a room. Who is inside may ask, the owner, and operators.
func (r *Room) Info(ctx context.Context, pass Pass) (RoomInfo, error) {
	a, err := r.run(ctx, roomInfoScript, pass)
	if err != nil {
		return RoomInfo{}, err
	}
	return parseRoomInfo(a.list(0)), nil
}

// parseRoomInfo reads what room.lua tells about a room.
func parseRoomInfo(a answer) RoomInfo {
	ms := func(i int) time.Duration { return time.Duration(a.number(i)) * time.Millisecond }
	info := RoomInfo{
		TTL: ms(0), Online: int(a.number(1)), Last: a.number(2), Oldest: a.number(3) + 1, Kept: a.number(4),
		Created: time.UnixMilli(int64(a.number(5))),
		Settings: RoomSettings{
			Owner: a.text(6), TTL: ms(7), Presence: ms(8), Max: int(a.number(9)), Keep: int(a.number(10)),
			Password: a.number(11) == 1, Mutes: map[string]time.Time{},
		},
	}
	muted := a.list(12)
	for i := 0; i+1 < len(muted); i += 2 {
		info.Settings.Mutes[muted.text(i)] = muted.time(i + 1)
	}
	return info
}

// list gives the list at i, or an empty one if there is none.
func (a answer) list(i int) answer {
	if i >= len(a) {
		return nil
	}
	list, _ := a[i].([]any)
	return list
}

// A Person is in a room, or muted there, or both.
type Person struct {
	ID         string
	Nick       string
	Inside     bool
	Until      time.Time // when the presence ends without another send or read
	Muted      bool
	MutedUntil time.Time // zero: for good
}

// People gives all who are inside or muted, ordered by id. Who is inside may ask,
// the owner, and operators. More than a hundred or so are read in several steps,
// so that what happens meanwhile may be seen for some and not for others.
func (r *Room) People(ctx context.Context, pass Pass) ([]Person, error) {
	found := map[string]Person{}
	for _, key := range []string{"3", "5"} { // those inside, then the muted
		for next := "0"; ; {
			a, err := r.run(ctx, roomPeopleScript, pass, key, next)
			if err != nil {
				return nil, err
			}
			for i := 1; i+3 < len(a); i += 4 {
				p := Person{ID: a.text(i), Nick: a.text(i + 2)}
				if p.Inside = a.text(i+1) != "0"; p.Inside {
					p.Until = a.time(i + 1)
				}
				if p.Muted = a.text(i+3) != "0"; p.Muted {
					p.MutedUntil = a.time(i + 3)
				}
				if p.Inside || p.Muted {
					found[p.ID] = p
				}
			}
			if next = a.text(0); next == "0" || next == "" {
				break
			}
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b Person) int { return cmp.Compare(a.ID, b.ID) }), nil
}
