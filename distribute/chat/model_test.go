package chat_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"skidway/distribute/chat"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

// A model is what a group chat promises, in plain Go.
type model struct {
	kind    chat.Kind
	last    uint64
	kept    []uint64 // ids; the body of a message is its id
	cursors map[string]uint64
}

func (m *model) clean() {
	if len(m.cursors) == 0 {
		return
	}
	low := slices.Min(slices.Collect(maps.Values(m.cursors)))
	m.kept = slices.DeleteFunc(m.kept, func(id uint64) bool { return id <= low })
}

func (m *model) join(name string, start chat.Start) {
	if _, member := m.cursors[name]; member {
		return
	}
	m.cursors[name] = m.last
	if start == chat.FromOldest && len(m.kept) > 0 {
		m.cursors[name] = m.kept[0] - 1
	}
}

func (m *model) send(name string) error {
	cursor, member := m.cursors[name]
	if m.kind == chat.People && !member {
		return chat.ErrNotMember
	}
	m.last++
	m.kept = append(m.kept, m.last)
	if member && cursor == m.last-1 {
		m.cursors[name] = m.last
		m.clean()
	}
	return nil
}

func (m *model) pending(name string, after uint64, limit int) (ids []uint64) {
	for _, id := range m.kept {
		if id > max(m.cursors[name], after) && len(ids) < limit {
			ids = append(ids, id)
		}
	}
	return ids
}

func (m *model) ack(name string, upTo uint64) {
	m.cursors[name] = max(m.cursors[name], upTo)
	m.clean()
}

// A machine drives a chat in Redis and its model side by side.
type machine struct {
	group *chat.Group
	id    string
	model *model // nil: there is no such chat
}

var names = []string{"ann", "bob", "cem", "dot"}

func (m *machine) name(t *rapid.T) string { return rapid.SampledFrom(names).Draw(t, "name") }

// want gives the error that an operation of a member must end with.
func (m *machine) want(name string) error {
	if m.model == nil {
		return chat.ErrNoChat
	}
	if _, member := m.model.cursors[name]; !member {
		return chat.ErrNotMember
	}
	return nil
}

func (m *machine) Create(t *rapid.T) {
	kind := rapid.SampledFrom([]chat.Kind{chat.People, chat.Channel}).Draw(t, "kind")
	first := rapid.SliceOfNDistinct(rapid.SampledFrom(names), 1, 3, rapid.ID).Draw(t, "members")
	_, err := m.group.Create(context.Background(), m.id, chat.CreateOptions{Kind: kind, Members: first})
	if m.model != nil {
		same(t, err, chat.ErrExists)
		return
	}
	same(t, err, nil)
	m.model = &model{kind: kind, cursors: map[string]uint64{}}
	for _, name := range first {
		m.model.cursors[name] = 0
	}
}

func (m *machine) Join(t *rapid.T) {
	name := m.name(t)
	start := rapid.SampledFrom([]chat.Start{chat.FromNow, chat.FromOldest}).Draw(t, "start")
	err := m.group.Join(context.Background(), m.id, name, start)
	if m.model == nil {
		same(t, err, chat.ErrNoChat)
		return
	}
	same(t, err, nil)
	m.model.join(name, start)
}

func (m *machine) Leave(t *rapid.T) {
	name := m.name(t)
	same(t, m.group.Leave(context.Background(), m.id, name), nil)
	if m.model == nil {
		return
	}
	delete(m.model.cursors, name)
	if m.model.clean(); m.model.kind == chat.People && len(m.model.cursors) == 0 {
		m.model = nil
	}
}

func (m *machine) Send(t *rapid.T) {
	name := m.name(t)
	body := "none"
	if m.model != nil {
		body = fmt.Sprint(m.model.last + 1)
	}
	id, err := m.group.Send(context.Background(), m.id, name, chat.Text(body))
	if m.model == nil {
		same(t, err, chat.ErrNoChat)
		return
	}
	same(t, err, m.model.send(name))
	if err == nil && id != m.model.last {
		t.Fatalf("the message got id %d, want %d", id, m.model.last)
	}
}

func (m *machine) Pending(t *rapid.T) {
	name := m.name(t)
	after := rapid.Uint64Range(0, 30).Draw(t, "after")
	limit := rapid.IntRange(1, 15).Draw(t, "limit")
	messages, err := m.group.Pending(context.Background(), m.id, name, after, limit)
	if want := m.want(name); want != nil {
		same(t, err, want)
		return
	}
	same(t, err, nil)
	m.compare(t, messages, m.model.pending(name, after, limit))
}

func (m *machine) PendingAll(t *rapid.T) {
	name := m.name(t)
	batches, err := m.group.PendingAll(context.Background(), name, 0)
	same(t, err, nil)
	var messages []chat.Message
	for _, batch := range batches {
		if batch.Chat == m.id {
			messages = batch.Messages
		}
	}
	if m.want(name) != nil {
		m.compare(t, messages, nil)
		return
	}
	m.compare(t, messages, m.model.pending(name, 0, chat.DefaultMessages))
}

func (m *machine) Ack(t *rapid.T) {
	name := m.name(t)
	upTo := rapid.Uint64Range(0, 30).Draw(t, "up to")
	cursor, err := m.group.Ack(context.Background(), m.id, name, upTo)
	if want := m.want(name); want != nil {
		same(t, err, want)
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
	if want := m.want(name); want != nil {
		same(t, err, want)
		return
	}
	same(t, err, nil)
	want := m.model.pending(name, 0, limit)
	m.compare(t, messages, want)
	if len(want) > 0 {
		m.model.ack(name, want[len(want)-1])
	}
}

// Check compares what can be seen of the chat as a whole after every step.
func (m *machine) Check(t *rapid.T) {
	info, err := m.group.Info(context.Background(), m.id)
	if m.model == nil {
		same(t, err, chat.ErrNoChat)
		return
	}
	same(t, err, nil)
	oldest := uint64(0)
	if len(m.model.kept) > 0 {
		oldest = m.model.kept[0]
	}
	if info.Kind != m.model.kind || info.Last != m.model.last || info.Oldest != oldest ||
		info.Kept != uint64(len(m.model.kept)) || info.Members != uint64(len(m.model.cursors)) {
		t.Fatalf("got %+v, want %+v", info, m.model)
	}
}

func (m *machine) Members(t *rapid.T) {
	members, err := m.group.Members(context.Background(), m.id)
	if m.model == nil {
		same(t, err, chat.ErrNoChat)
		return
	}
	same(t, err, nil)
	for _, member := range members {
		if cursor, ok := m.model.cursors[member.Name]; !ok || cursor != member.Cursor || member.Unread != m.model.last-cursor {
			t.Fatalf("got member %+v, want cursor %d of %d", member, cursor, m.model.last)
		}
	}
}

func (m *machine) compare(t *rapid.T, got []chat.Message, want []uint64) {
	ids := make([]uint64, 0, len(got))
	for _, message := range got {
		if message.Err != nil || string(message.Body) != fmt.Sprint(message.ID) {
			t.Fatalf("damaged message %+v", message)
		}
		ids = append(ids, message.ID)
	}
	if !slices.Equal(ids, want) {
		t.Fatalf("pending %d, want %d", ids, want)
	}
}

func same(t *rapid.T, got, want error) {
	if !errors.Is(got, want) {
		t.Fatalf("got error %v, want %v", got, want)
	}
}

func TestGroupDoesAsItsModel(t *testing.T) {
	redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
		round := 0
		rapid.Check(t, func(rt *rapid.T) {
			round++
			m := &machine{group: chat.NewGroup(db), id: fmt.Sprint("chat", round)}
			rt.Repeat(map[string]func(*rapid.T){
				"create": m.Create, "join": m.Join, "leave": m.Leave,
				"send": m.Send, "send more": m.Send, "pending": m.Pending, "pending all": m.PendingAll,
				"ack": m.Ack, "fetch": m.Fetch, "members": m.Members, "": m.Check,
			})
			_ = m.group.Delete(context.Background(), m.id)
			for _, name := range names {
				_ = db.Del(context.Background(), "skidway:member:{"+name+"}:chats").Err()
			}
		})
	})
}
