package group_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"skidway/distribute/chat"
	"skidway/distribute/chat/group"
	"skidway/distribute/chat/internal/chattest"
)

// A model is what a group chat promises, in plain Go.
type model struct {
	kind    group.Kind
	last    uint64
	kept    []modelMessage
	cursors map[string]uint64
	seen    map[string]time.Time
	limits  group.Limits
	grace   time.Time // until when no member is dropped
}

// A modelMessage is one whose body begins with its id.
type modelMessage struct {
	id, bytes uint64
	sent      time.Time
}

// clean drops the messages that all members have acknowledged.
func (m *model) clean() {
	if len(m.cursors) == 0 {
		return
	}
	low := slices.Min(slices.Collect(maps.Values(m.cursors)))
	m.kept = slices.DeleteFunc(m.kept, func(message modelMessage) bool { return message.id <= low })
}

// limit drops what limits let go.
func (m *model) limit(now time.Time) {
	for len(m.kept) > 0 {
		l, first := m.limits, m.kept[0]
		if (l.Messages == 0 || uint64(len(m.kept)) <= l.Messages) &&
			(l.Bytes == 0 || m.bytes() <= l.Bytes || len(m.kept) == 1) &&
			(l.Age == 0 || now.Sub(first.sent) <= l.Age) {
			return
		}
		m.kept = m.kept[1:]
	}
}

func (m *model) bytes() (sum uint64) {
	for _, message := range m.kept {
		sum += message.bytes
	}
	return sum
}

// enforce does what limits want by now, and reports whether the chat ends with
// that or has ended before.
func (m *model) enforce(now time.Time) (ended bool) {
	if m.limits.Away > 0 {
		m.dropAway(now)
		m.clean()
	}
	m.limit(now)
	return m.kind == group.People && len(m.cursors) == 0
}

func (m *model) leave(name string) {
	delete(m.cursors, name)
	delete(m.seen, name)
	m.clean()
}

func (m *model) join(name string, start group.Start, now time.Time) {
	m.seen[name] = now
	if _, member := m.cursors[name]; member {
		return
	}
	m.cursors[name] = m.last
	if start == group.FromOldest && len(m.kept) > 0 {
		m.cursors[name] = m.kept[0].id - 1
	}
}

func (m *model) send(name string, bytes int, now time.Time) error {
	cursor, member := m.cursors[name]
	if m.kind == group.People && !member {
		return chat.ErrNotMember
	}
	m.last++
	m.kept = append(m.kept, modelMessage{m.last, uint64(bytes), now})
	m.limit(now)
	if member {
		m.seen[name] = now
		if cursor == m.last-1 || m.kept[0].id == m.last {
			m.cursors[name] = m.last
			m.clean()
		}
	}
	return nil
}

func (m *model) pending(name string, after uint64, limit int) (ids []uint64) {
	if after > m.last {
		after = 0 // it is of an earlier chat
	}
	for _, message := range m.kept {
		if message.id > max(m.cursors[name], after) && len(ids) < limit {
			ids = append(ids, message.id)
		}
	}
	return ids
}

// missed counts what limits dropped after a member's cursor.
func (m *model) missed(name string) uint64 {
	oldest := m.last + 1
	if len(m.kept) > 0 {
		oldest = m.kept[0].id
	}
	return max(oldest-1, m.cursors[name]) - m.cursors[name]
}

func (m *model) ack(name string, upTo uint64) {
	m.cursors[name] = max(m.cursors[name], upTo)
	m.clean()
}

// A machine drives a chat in Redis and its model side by side.
type machine struct {
	group fixture
	id    string
	model *model    // nil: there is no such chat
	now   time.Time // of a server whose clock can be set; else zero, and nothing ages
}

// Tick lets time pass.
func (m *machine) Tick(t *rapid.T) {
	if !m.group.db.Embedded() {
		t.Skip("it has a clock of its own")
	}
	m.now = m.now.Add(time.Duration(rapid.IntRange(1, 40).Draw(t, "seconds")) * time.Second)
	chattest.WantErr(t, m.group.db.SetEmbeddedTime(m.now), nil)
	m.enforce()
}

// enforce lets the model do what time and limits want.
func (m *machine) enforce() {
	if m.model != nil && m.model.enforce(m.now) {
		m.model = nil
	}
}

func (m *machine) limits(t *rapid.T) group.Limits {
	l := group.Limits{
		Messages: rapid.SampledFrom([]uint64{0, 0, 1, 3, 8}).Draw(t, "messages"),
		Bytes:    rapid.SampledFrom([]uint64{0, 0, 1, 30, 100}).Draw(t, "bytes"),
	}
	if m.group.db.Embedded() {
		l.Age = rapid.SampledFrom([]time.Duration{0, 0, time.Millisecond, 30 * time.Second, time.Minute}).Draw(t, "age")
		l.Away = rapid.SampledFrom([]time.Duration{0, 0, time.Minute, 90 * time.Second}).Draw(t, "away")
	}
	return l
}

func (m *machine) SetLimits(t *rapid.T) {
	limits := m.limits(t)
	err := m.group.SetLimits(context.Background(), m.id, limits)
	if m.model == nil {
		chattest.WantErr(t, err, chat.ErrNoChat)
		return
	}
	chattest.WantErr(t, err, nil)
	m.model.limits = limits
}

var names = []string{"ann", "bob", "cem", "dot"}

func (m *machine) name(t *rapid.T) string { return rapid.SampledFrom(names).Draw(t, "name") }

// here returns the error that an operation of a member must end with. Without one
// the member has been here.
func (m *machine) here(name string) error {
	if m.model == nil {
		return chat.ErrNoChat
	}
	if _, member := m.model.cursors[name]; !member {
		return chat.ErrNotMember
	}
	m.model.seen[name] = m.now
	return nil
}

func (m *machine) Create(t *rapid.T) {
	kind := rapid.SampledFrom([]group.Kind{group.People, group.Channel}).Draw(t, "kind")
	first := rapid.SliceOfNDistinct(rapid.SampledFrom(names), 1, 3, rapid.ID).Draw(t, "members")
	limits := m.limits(t)
	_, err := m.group.Create(context.Background(), m.id, &group.CreateOptions{Kind: kind, Members: first, Limits: limits})
	if m.model != nil {
		chattest.WantErr(t, err, chat.ErrExists)
		return
	}
	chattest.WantErr(t, err, nil)
	m.model = &model{kind: kind, cursors: map[string]uint64{}, seen: map[string]time.Time{}, limits: limits}
	for _, name := range first {
		m.model.join(name, group.FromNow, m.now)
	}
}

func (m *machine) Join(t *rapid.T) {
	name := m.name(t)
	start := rapid.SampledFrom([]group.Start{group.FromNow, group.FromOldest}).Draw(t, "start")
	err := m.group.Join(context.Background(), m.id, name, start)
	if m.model == nil {
		chattest.WantErr(t, err, chat.ErrNoChat)
		return
	}
	chattest.WantErr(t, err, nil)
	m.model.join(name, start, m.now)
}

func (m *machine) Leave(t *rapid.T) {
	name := m.name(t)
	chattest.WantErr(t, m.group.Leave(context.Background(), m.id, name), nil)
	if m.model != nil {
		m.model.leave(name)
	}
}

func (m *machine) Send(t *rapid.T) {
	name := m.name(t)
	body := "none"
	if m.model != nil {
		body = fmt.Sprint(m.model.last+1, strings.Repeat("x", rapid.IntRange(0, 30).Draw(t, "size")))
	}
	id, err := m.group.Send(context.Background(), m.id, name, chat.Text(body))
	if m.model == nil {
		chattest.WantErr(t, err, chat.ErrNoChat)
		return
	}
	chattest.WantErr(t, err, m.model.send(name, len(name)+len(body), m.now))
	if err == nil && id != m.model.last {
		t.Fatalf("the message got id %d, want %d", id, m.model.last)
	}
}

func (m *machine) Pending(t *rapid.T) {
	name := m.name(t)
	after := rapid.Uint64Range(0, 30).Draw(t, "after")
	limit := rapid.IntRange(1, 15).Draw(t, "limit")
	messages, err := m.group.Pending(context.Background(), m.id, name, after, limit)
	if want := m.here(name); want != nil {
		chattest.WantErr(t, err, want)
		return
	}
	chattest.WantErr(t, err, nil)
	m.compare(t, messages, m.model.pending(name, after, limit))
}

func (m *machine) PendingAll(t *rapid.T) {
	name := m.name(t)
	batches, err := m.group.PendingAll(context.Background(), name, 0)
	chattest.WantErr(t, err, nil)
	var messages []chat.Message
	for _, batch := range batches {
		if batch.Chat == m.id {
			messages = batch.Messages
		}
	}
	if m.here(name) != nil {
		m.compare(t, messages, nil)
		return
	}
	m.compare(t, messages, m.model.pending(name, 0, chat.DefaultMessages))
}

func (m *machine) Ack(t *rapid.T) {
	name := m.name(t)
	upTo := rapid.Uint64Range(0, 30).Draw(t, "up to")
	cursor, err := m.group.Ack(context.Background(), m.id, name, upTo)
	if want := m.here(name); want != nil {
		chattest.WantErr(t, err, want)
		return
	}
	var invalid *chat.InvalidError
	if errors.As(err, &invalid) != (upTo > m.model.last) {
		t.Fatalf("ack %d of %d: %v", upTo, m.model.last, err)
	}
	if err != nil {
		return
	}
	m.model.ack(name, upTo)
	if cursor != m.model.cursors[name] {
		t.Fatalf("the cursor is %d, want %d", cursor, m.model.cursors[name])
	}
}

func (m *machine) Fetch(t *rapid.T) {
	name := m.name(t)
	limit := rapid.IntRange(1, 5).Draw(t, "limit")
	messages, err := m.group.Fetch(context.Background(), m.id, name, limit)
	if want := m.here(name); want != nil {
		chattest.WantErr(t, err, want)
		return
	}
	chattest.WantErr(t, err, nil)
	want := m.model.pending(name, 0, limit)
	m.compare(t, messages, want)
	if len(want) > 0 {
		m.model.ack(name, want[len(want)-1])
	}
}

// Check compares what can be seen of the chat as a whole after every step.
func (m *machine) Check(t *rapid.T) {
	m.enforce()
	info, err := m.group.Info(context.Background(), m.id)
	if m.model == nil {
		chattest.WantErr(t, err, chat.ErrNoChat)
		return
	}
	chattest.WantErr(t, err, nil)
	oldest := uint64(0)
	if len(m.model.kept) > 0 {
		oldest = m.model.kept[0].id
	}
	if info.Kind != m.model.kind || info.Last != m.model.last || info.Oldest != oldest ||
		info.Kept != uint64(len(m.model.kept)) || info.Bytes != m.model.bytes() || info.Limits != m.model.limits || info.Members != uint64(len(m.model.cursors)) {
		t.Fatalf("got %+v, want %+v", info, m.model)
	}
}

func (m *machine) Members(t *rapid.T) {
	members, err := m.group.Members(context.Background(), m.id)
	if m.model == nil {
		chattest.WantErr(t, err, chat.ErrNoChat)
		return
	}
	chattest.WantErr(t, err, nil)
	for _, member := range members {
		cursor, ok := m.model.cursors[member.Name]
		missed := m.model.missed(member.Name)
		if !ok || cursor != member.Cursor || member.Missed != missed || member.Unread != m.model.last-cursor-missed {
			t.Fatalf("got member %+v, want cursor %d of %d, missed %d", member, cursor, m.model.last, missed)
		}
		if seen := m.model.seen[member.Name]; m.group.db.Embedded() && !member.Seen.Equal(seen) {
			t.Fatalf("got member %+v, want it seen at %v", member, seen)
		}
	}
}

func (m *machine) Unread(t *rapid.T) {
	name := m.name(t)
	chats, err := m.group.Unread(context.Background(), name)
	chattest.WantErr(t, err, nil)
	for _, got := range chats {
		if got.Chat != m.id {
			continue
		}
		cursor, missed := m.model.cursors[name], m.model.missed(name)
		if got.Err != nil || got.Kind != m.model.kind || got.Last != m.model.last || got.Missed != missed || got.Unread != m.model.last-cursor-missed {
			t.Fatalf("got %+v, want cursor %d of %d, missed %d", got, cursor, m.model.last, missed)
		}
	}
}

func (m *machine) compare(t *rapid.T, got []chat.Message, want []uint64) {
	ids := make([]uint64, 0, len(got))
	for _, message := range got {
		if message.Err != nil || strings.TrimRight(string(message.Body), "x") != fmt.Sprint(message.ID) {
			t.Fatalf("damaged message %+v", message)
		}
		ids = append(ids, message.ID)
	}
	if !slices.Equal(ids, want) {
		t.Fatalf("pending %d, want %d", ids, want)
	}
}

func TestGroupDoesAsItsModel(t *testing.T) {
	on.AllBackends(t, func(t *testing.T, g fixture) {
		round := 0
		rapid.Check(t, func(rt *rapid.T) {
			round++
			m := &machine{group: g, id: fmt.Sprint("chat", round)}
			if g.db.Embedded() {
				m.now = time.UnixMilli(1763700000000)
				chattest.WantErr(rt, g.db.SetEmbeddedTime(m.now), nil)
			}
			rt.Repeat(map[string]func(*rapid.T){
				"create": m.Create, "join": m.Join, "leave": m.Leave, "limits": m.SetLimits, "tick": m.Tick,
				"send": m.Send, "send more": m.Send, "pending": m.Pending, "pending all": m.PendingAll,
				"ack": m.Ack, "fetch": m.Fetch, "members": m.Members, "unread": m.Unread, "": m.Check,
			})
			_ = m.group.Delete(context.Background(), m.id)
			for _, name := range names {
				_ = g.db.Del(context.Background(), g.db.Prefix()+":member:{"+name+"}:chats").Err()
			}
		})
	})
}
