package room_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"skidway/distribute/chat"
	"skidway/distribute/chat/internal/chattest"
	"skidway/distribute/chat/room"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

var names = []string{"ann", "bob", "cem", "dot"}

// A roomModel is what a room promises, in plain Go.
type roomModel struct {
	ttl, presence time.Duration
	max, keep     int
	owner         string
	dies          time.Time
	last, trimmed uint64
	log           []roomEntry
	people, mutes map[string]time.Time // until when
}

// A roomEntry is a message, or the notice that one was taken back.
type roomEntry struct {
	id, retracts uint64
	by           string
}

func (m *roomModel) allowed(id string, now time.Time) error {
	switch inside := m.people[id].After(now); {
	case id == "" || id == m.owner:
		return nil
	case !inside:
		return room.ErrNotInRoom
	case m.owner != "":
		return room.ErrNotAllowed
	case m.mutes[id].After(now):
		return room.ErrMuted
	}
	return nil
}

func (m *roomModel) append(entry roomEntry) {
	m.last++
	entry.id = m.last
	m.log = append(m.log, entry)
}

func (m *roomModel) trim() {
	if n := len(m.log) - m.keep; n > 0 {
		m.log = m.log[n:]
		m.trimmed = m.log[0].id - 1
	}
}

func (m *roomModel) online(now time.Time) (n int) {
	for _, until := range m.people {
		if until.After(now) {
			n++
		}
	}
	return n
}

// A roomMachine drives a room in Redis and its model side by side. Where the
// clock can be set time passes; elsewhere nothing takes so long.
type roomMachine struct {
	db    *rdb.DB
	room  *room.Client
	now   time.Time
	model *roomModel // nil: there is no such room
}

func (m *roomMachine) pass(t *rapid.T) room.Credential {
	return room.Credential{Room: "r", ID: rapid.SampledFrom([]string{"", "ann", "bob", "cem"}).Draw(t, "id")}
}

// inside returns the error that an operation of a person in the room must end with.
func (m *roomMachine) inside(id string) error {
	switch {
	case m.model == nil:
		return room.ErrNoRoom
	case !m.model.people[id].After(m.now):
		return room.ErrNotInRoom
	}
	return nil
}

// allowed returns the error that an operation of an owner must end with.
func (m *roomMachine) allowed(id string) error {
	if m.model == nil {
		return room.ErrNoRoom
	}
	return m.model.allowed(id, m.now)
}

func (m *roomMachine) Create(t *rapid.T) {
	o := room.CreateOptions{
		TTL: time.Hour, Presence: 10 * time.Minute,
		Max: rapid.IntRange(0, 3).Draw(t, "max"), Keep: rapid.IntRange(1, 9).Draw(t, "keep"),
		Owner: rapid.SampledFrom([]string{"", "ann"}).Draw(t, "owner"),
	}
	err := m.room.Create(context.Background(), "r", &o)
	if m.model != nil {
		chattest.WantErr(t, err, chat.ErrExists)
		return
	}
	chattest.WantErr(t, err, nil)
	m.model = &roomModel{
		ttl: o.TTL, presence: o.Presence, max: o.Max, keep: o.Keep, owner: o.Owner, dies: m.now.Add(o.TTL),
		people: map[string]time.Time{}, mutes: map[string]time.Time{},
	}
}

func (m *roomMachine) Enter(t *rapid.T) {
	id := rapid.SampledFrom(names).Draw(t, "id")
	_, err := m.room.Enter(context.Background(), "r", &room.EnterOptions{ID: id})
	switch {
	case m.model == nil:
		chattest.WantErr(t, err, room.ErrNoRoom)
	case m.inside(id) == nil:
		chattest.WantErr(t, err, room.ErrTaken)
	case m.model.max > 0 && m.model.online(m.now) >= m.model.max:
		chattest.WantErr(t, err, chat.ErrFull)
	default:
		chattest.WantErr(t, err, nil)
		m.model.people[id] = m.now.Add(m.model.presence)
	}
}

func (m *roomMachine) Leave(t *rapid.T) {
	pass := m.pass(t)
	err := m.room.Leave(context.Background(), pass)
	if m.model == nil {
		chattest.WantErr(t, err, room.ErrNoRoom)
		return
	}
	chattest.WantErr(t, err, nil)
	delete(m.model.people, pass.ID)
}

func (m *roomMachine) Send(t *rapid.T) {
	pass := m.pass(t)
	id, err := m.room.Send(context.Background(), pass, chat.Text("x"))
	if want := m.inside(pass.ID); want != nil {
		chattest.WantErr(t, err, want)
		return
	}
	var muted *room.MutedError
	if errors.As(err, &muted) != m.model.mutes[pass.ID].After(m.now) {
		t.Fatalf("muted until %v, got %v", m.model.mutes[pass.ID], err)
	}
	if muted != nil {
		return
	}
	chattest.WantErr(t, err, nil)
	m.model.append(roomEntry{by: pass.ID})
	m.model.trim()
	m.model.dies = m.now.Add(m.model.ttl)
	m.model.people[pass.ID] = m.now.Add(m.model.presence)
	if id != m.model.last {
		t.Fatalf("the message got id %d, want %d", id, m.model.last)
	}
}

func (m *roomMachine) History(t *rapid.T) {
	pass := m.pass(t)
	page := room.HistoryOptions{
		From: rapid.Uint64Range(0, 12).Draw(t, "from"), Forward: rapid.Bool().Draw(t, "forward"),
		Limit: rapid.IntRange(1, 12).Draw(t, "limit"),
	}
	got, err := m.room.History(context.Background(), pass, &page)
	if want := m.inside(pass.ID); want != nil {
		chattest.WantErr(t, err, want)
		return
	}
	var invalid *chat.InvalidError
	if errors.As(err, &invalid) != (page.From > m.model.last) {
		t.Fatalf("%+v of %d: %v", page, m.model.last, err)
	}
	if invalid != nil {
		return
	}
	chattest.WantErr(t, err, nil)
	m.model.people[pass.ID] = m.now.Add(m.model.presence)
	var want []roomEntry
	for _, entry := range m.model.log {
		if page.Forward && entry.id > page.From || !page.Forward && (page.From == 0 || entry.id < page.From) {
			want = append(want, entry)
		}
	}
	more := len(want) > page.Limit
	switch {
	case more && page.Forward:
		want = want[:page.Limit]
	case more:
		want = want[len(want)-page.Limit:]
	}
	m.compare(t, got, want)
	if got.More != more {
		t.Fatalf("more: %v, want %v", got.More, more)
	}
}

func (m *roomMachine) compare(t *rapid.T, got room.Page, want []roomEntry) {
	var entries []roomEntry
	for _, message := range got.Messages {
		entries = append(entries, roomEntry{id: message.ID, by: message.Sender})
	}
	for _, change := range got.Changes {
		entries = append(entries, roomEntry{id: change.Position, retracts: change.Message, by: change.By})
	}
	slices.SortFunc(entries, func(a, b roomEntry) int { return int(a.id) - int(b.id) })
	if !slices.Equal(entries, want) {
		t.Fatalf("got %+v, want %+v", entries, want)
	}
	if len(want) > 0 && (got.First != want[0].id || got.Position != want[len(want)-1].id) {
		t.Fatalf("from %d to %d of %+v", got.First, got.Position, want)
	}
	m.compareInfo(t, got.Info)
}

func (m *roomMachine) compareInfo(t *rapid.T, got room.Info) {
	ttl := m.model.dies.Sub(m.now)
	if !m.db.Embedded() {
		ttl = got.TTL
	}
	if got.Last != m.model.last || got.Oldest != m.model.trimmed+1 || got.Kept != uint64(len(m.model.log)) ||
		got.Online != m.model.online(m.now) || got.TTL != ttl || got.Settings.Owner != m.model.owner || got.Settings.Max != m.model.max {
		t.Fatalf("got %+v, want %+v", got, m.model)
	}
}

func (m *roomMachine) Mute(t *rapid.T) {
	pass, target := m.pass(t), rapid.SampledFrom(names).Draw(t, "target")
	length := rapid.SampledFrom([]time.Duration{0, 5 * time.Minute}).Draw(t, "for")
	err := m.room.Mute(context.Background(), pass, target, length)
	chattest.WantErr(t, err, m.allowed(pass.ID))
	if err == nil {
		m.model.mutes[target] = m.now.Add(length)
		if length == 0 {
			m.model.mutes[target] = m.now.AddDate(100, 0, 0)
		}
	}
}

func (m *roomMachine) Unmute(t *rapid.T) {
	pass, target := m.pass(t), rapid.SampledFrom(names).Draw(t, "target")
	err := m.room.Unmute(context.Background(), pass, target)
	chattest.WantErr(t, err, m.allowed(pass.ID))
	if err == nil {
		delete(m.model.mutes, target)
	}
}

func (m *roomMachine) Retract(t *rapid.T) {
	pass, id := m.pass(t), rapid.Uint64Range(0, 12).Draw(t, "message")
	chattest.WantErr(t, m.room.Retract(context.Background(), pass, id), m.retract(pass.ID, id))
}

func (m *roomMachine) retract(by string, id uint64) error {
	may := m.allowed(by)
	if errors.Is(may, room.ErrNoRoom) || errors.Is(may, room.ErrNotInRoom) {
		return may
	}
	at := slices.IndexFunc(m.model.log, func(entry roomEntry) bool { return entry.id == id })
	switch {
	case id == 0 || id > m.model.last:
		return chat.ErrNoMessage
	case at < 0:
		return nil
	case m.model.log[at].retracts > 0:
		return chat.ErrNoMessage
	case may != nil && m.model.log[at].by != by:
		return may
	}
	m.model.log = slices.Delete(m.model.log, at, at+1)
	m.model.append(roomEntry{retracts: id, by: by})
	m.model.trim()
	return nil
}

func (m *roomMachine) Set(t *rapid.T) {
	pass := m.pass(t)
	maxPeople, keep := rapid.IntRange(0, 3).Draw(t, "max"), rapid.IntRange(1, 9).Draw(t, "keep")
	owner := rapid.SampledFrom([]string{"", "ann", "bob"}).Draw(t, "owner")
	ttl := time.Hour
	_, err := m.room.Set(context.Background(), pass, room.Change{Max: &maxPeople, Keep: &keep, Owner: &owner, TTL: &ttl})
	chattest.WantErr(t, err, m.allowed(pass.ID))
	if err == nil {
		m.model.max, m.model.keep, m.model.owner, m.model.dies = maxPeople, keep, owner, m.now.Add(ttl)
		m.model.trim()
	}
}

func (m *roomMachine) Delete(t *rapid.T) {
	pass := m.pass(t)
	err := m.room.Delete(context.Background(), pass)
	chattest.WantErr(t, err, m.allowed(pass.ID))
	if err == nil {
		m.model = nil
	}
}

func (m *roomMachine) LetTimePass(t *rapid.T) {
	if !m.db.Embedded() {
		return
	}
	m.now = m.now.Add(time.Duration(rapid.IntRange(1, 20).Draw(t, "minutes")) * time.Minute)
	if err := m.db.SetEmbeddedTime(m.now); err != nil {
		t.Fatal(err)
	}
	if m.model != nil && !m.model.dies.After(m.now) {
		m.model = nil
	}
}

// Check compares what can be seen of the room as a whole after every step.
func (m *roomMachine) Check(t *rapid.T) {
	info, err := m.room.Info(context.Background(), operator)
	if m.model == nil {
		chattest.WantErr(t, err, room.ErrNoRoom)
		return
	}
	chattest.WantErr(t, err, nil)
	m.compareInfo(t, info)
}

func TestRoomDoesAsItsModel(t *testing.T) {
	redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
		now := time.Now().Truncate(time.Millisecond)
		rapid.Check(t, func(rt *rapid.T) {
			m := &roomMachine{db: db, room: newClient(db), now: now}
			if db.Embedded() {
				chattest.SetTime(t, db, now)
			}
			rt.Repeat(map[string]func(*rapid.T){
				"create": m.Create, "enter": m.Enter, "enter more": m.Enter, "leave": m.Leave,
				"send": m.Send, "send more": m.Send, "history": m.History, "more history": m.History,
				"mute": m.Mute, "unmute": m.Unmute, "retract": m.Retract, "set": m.Set, "delete": m.Delete,
				"let time pass": m.LetTimePass, "": m.Check,
			})
			_ = m.room.Delete(context.Background(), operator)
			now = m.now
		})
	})
}
