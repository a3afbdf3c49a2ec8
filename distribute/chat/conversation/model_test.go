package conversation_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"skidway/distribute/chat"
	"skidway/distribute/chat/conversation"
	"skidway/distribute/chat/internal/chattest"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

// A talkModel is what a conversation of ann and bob promises, in plain Go. The
// body of a message is its id.
type talkModel struct {
	kept   []modelMessage
	last   uint64
	total  uint64 // messages since the conversation was deleted
	cursor map[string]uint64
	reads  map[string][]uint64 // the cursors before the last reads
	here   map[string]bool
}

type modelMessage struct {
	id   uint64
	from string
}

const (
	modelKeep   = 5
	modelHere   = time.Hour
	modelUnread = 6
)

func newTalkModel() *talkModel {
	return &talkModel{cursor: map[string]uint64{}, reads: map[string][]uint64{}, here: map[string]bool{}}
}

// unread returns the ids of a person's unread messages after an id.
func (m *talkModel) unread(reader string, after uint64) (ids []uint64) {
	for _, s := range m.kept {
		if s.from != reader && s.id > max(after, m.cursor[reader]) {
			ids = append(ids, s.id)
		}
	}
	return ids
}

func (m *talkModel) send(from string) bool {
	waits := len(m.unread(from, 0)) > 0
	if len(m.unread(peer(from), 0)) >= modelUnread || waits && len(m.kept) >= modelKeep+modelUnread {
		return false
	}
	m.last++
	m.total++
	m.kept = append(m.kept, modelMessage{m.last, from})
	if !waits {
		m.cursor[from] = m.last
	}
	low := min(m.cursor["ann"], m.cursor["bob"])
	for _, before := range slices.Concat(m.reads["ann"], m.reads["bob"]) {
		low = min(low, before) // it could be asked for again
	}
	for len(m.kept) > modelKeep && m.kept[0].id <= low {
		m.kept = m.kept[1:]
	}
	return true
}

func (m *talkModel) read(reader string, limit int) []uint64 {
	page := m.unread(reader, 0)
	to := m.last
	if len(page) >= limit {
		page = page[:limit]
		to = page[limit-1]
	}
	if len(page) > 0 {
		reads := append(m.reads[reader], m.cursor[reader])
		m.reads[reader] = reads[max(0, len(reads)-32):]
	}
	m.cursor[reader] = max(m.cursor[reader], to)
	return page
}

func (m *talkModel) history(which conversation.HistoryOptions) (ids []uint64) {
	for _, s := range m.kept {
		if s.id > which.After && (which.Before == 0 || s.id < which.Before) {
			ids = append(ids, s.id)
		}
	}
	switch {
	case len(ids) <= which.Limit:
		return ids
	case which.Oldest || which.After > 0:
		return ids[:which.Limit]
	}
	return ids[len(ids)-which.Limit:]
}

// A talkMachine drives a conversation in Redis and its model side by side.
type talkMachine struct {
	talk
	model *talkModel
}

func (m *talkMachine) name(t *rapid.T) string {
	return rapid.SampledFrom([]string{"ann", "bob"}).Draw(t, "name")
}

func (m *talkMachine) Send(t *rapid.T) {
	from := m.name(t)
	sent, err := m.talk.Send(m.t.Context(), from, peer(from), chat.Text(fmt.Sprint(m.model.last+1)))
	if !m.model.send(from) {
		chattest.WantErr(t, err, chat.ErrFull)
		return
	}
	chattest.WantErr(t, err, nil)
	if want := (conversation.Sent{ID: m.model.last, Notify: !m.model.here[peer(from)]}); sent != want {
		t.Fatalf("sent %+v, want %+v", sent, want)
	}
}

func (m *talkMachine) Read(t *rapid.T) {
	reader, limit := m.name(t), rapid.IntRange(1, 4).Draw(t, "limit")
	unread := len(m.model.unread(reader, 0))
	page, err := m.talk.Read(m.t.Context(), reader, peer(reader), limit)
	chattest.WantErr(t, err, nil)
	m.compare(t, page, unread, m.model.read(reader, limit))
}

func (m *talkMachine) Peek(t *rapid.T) {
	reader, after := m.name(t), rapid.Uint64Range(0, 30).Draw(t, "after")
	page, err := m.talk.Peek(m.t.Context(), reader, peer(reader), after, 0)
	chattest.WantErr(t, err, nil)
	if after > m.model.last { // of a conversation that was deleted since
		after = 0
	}
	m.compare(t, page, len(m.model.unread(reader, 0)), m.model.unread(reader, after))
}

func (m *talkMachine) Ack(t *rapid.T) {
	reader, upTo := m.name(t), rapid.Uint64Range(0, 30).Draw(t, "up to")
	cursor, err := m.talk.Ack(m.t.Context(), reader, peer(reader), upTo)
	var invalid *chat.InvalidError
	if errors.As(err, &invalid) != (upTo > m.model.last) {
		t.Fatalf("ack %d of %d: %v", upTo, m.model.last, err)
	}
	if err != nil {
		return
	}
	m.model.cursor[reader] = max(m.model.cursor[reader], upTo)
	if cursor != m.model.cursor[reader] {
		t.Fatalf("the cursor is %d, want %d", cursor, m.model.cursor[reader])
	}
}

func (m *talkMachine) History(t *rapid.T) {
	bound := rapid.Uint64Range(0, 30)
	which := conversation.HistoryOptions{
		Before: bound.Draw(t, "before"), After: bound.Draw(t, "after"),
		Oldest: rapid.Bool().Draw(t, "oldest"), Limit: rapid.IntRange(1, 15).Draw(t, "limit"),
	}
	reader := m.name(t)
	page, err := m.talk.History(m.t.Context(), reader, peer(reader), &which)
	chattest.WantErr(t, err, nil)
	m.compare(t, page, len(m.model.unread(reader, 0)), m.model.history(which))
}

func (m *talkMachine) Present(t *rapid.T) {
	reader, here := m.name(t), rapid.Bool().Draw(t, "here")
	length := modelHere
	if !here {
		length = 0
	}
	chattest.WantErr(t, m.talk.Present(m.t.Context(), reader, peer(reader), length), nil)
	m.model.here[reader] = here
}

func (m *talkMachine) Delete(t *rapid.T) {
	chattest.WantErr(t, m.talk.Delete(m.t.Context(), "bob", "ann"), nil)
	last := m.model.last // ids go on
	m.model = newTalkModel()
	m.model.last, m.model.cursor = last, map[string]uint64{"ann": last, "bob": last}
}

func (m *talkMachine) Count(t *rapid.T) {
	reader := m.name(t)
	all, err := m.Unread(m.t.Context(), reader)
	chattest.WantErr(t, err, nil)
	var got conversation.PeerUnread
	if len(all) > 0 {
		got = all[0]
	}
	if want := uint64(len(m.model.unread(reader, 0))); got.Unread != want || got.Total != m.model.total {
		t.Fatalf("%s has %+v, want %d of %d", reader, got, want, m.model.total)
	}
}

func (m *talkMachine) compare(t *rapid.T, page conversation.Page, unread int, want []uint64) {
	var got []uint64
	for _, message := range page.Messages {
		if message.Err != nil || string(message.Body) != fmt.Sprint(message.ID) {
			t.Fatalf("damaged message %+v", message)
		}
		got = append(got, message.ID)
	}
	if !slices.Equal(got, want) || page.Unread != uint64(unread) || page.Total != m.model.total {
		t.Fatalf("%d unread of %d, %d; want %d of %d, %d", page.Unread, page.Total, got, unread, m.model.total, want)
	}
}

func TestConversationDoesAsItsModel(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		rapid.Check(t, func(rt *rapid.T) {
			config := conversation.Config{Keep: modelKeep, MaxUnread: modelUnread}
			m := &talkMachine{talking(t, db, config), newTalkModel()}
			keys := db.Prefix() + ":dm:{ann/bob}"
			chattest.WantErr(rt, db.Del(t.Context(), keys, keys+":log").Err(), nil) // what the round before left
			rt.Repeat(map[string]func(*rapid.T){
				"send": m.Send, "send more": m.Send, "and more": m.Send, "read": m.Read, "peek": m.Peek, "ack": m.Ack,
				"history": m.History, "present": m.Present, "delete": m.Delete, "count": m.Count,
			})
		})
	})
}
