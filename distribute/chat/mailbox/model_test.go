package mailbox_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"skidway/distribute/chat"
	"skidway/distribute/chat/internal/chattest"
	"skidway/distribute/chat/mailbox"
)

// A boxModel is what a mailbox promises, in plain Go.
type boxModel struct {
	states []mailbox.State // of the messages 1, 2, 3…
	limits mailbox.Limits
}

func (m *boxModel) unread() (ids []uint64) {
	for i, state := range m.states {
		if state == mailbox.StateUnread {
			ids = append(ids, uint64(i+1))
		}
	}
	return ids
}

// keep drops all but the newest n.
func (m *boxModel) keep(n int) {
	ids := m.unread()
	for _, id := range ids[:max(len(ids)-n, 0)] {
		m.states[id-1] = mailbox.StateDropped
	}
}

func (m *boxModel) send() error {
	if len(m.unread()) >= m.limits.Messages {
		if m.limits.Full == mailbox.Refuse {
			return chat.ErrFull
		}
		m.keep(m.limits.Messages - 1)
	}
	m.states = append(m.states, mailbox.StateUnread)
	return nil
}

// ack returns how many of them were unread.
func (m *boxModel) ack(ids []uint64) (n int) {
	for _, id := range ids {
		if id > 0 && id <= uint64(len(m.states)) && m.states[id-1] == mailbox.StateUnread {
			m.states[id-1] = mailbox.StateRead
			n++
		}
	}
	return n
}

// A boxMachine drives a mailbox in Redis and its model side by side.
type boxMachine struct {
	mailbox fixture
	box     string
	model   boxModel
}

// body is small or big, by the id.
func (m *boxMachine) body(id int) []byte {
	if id%3 == 0 {
		return fmt.Appendf(nil, "%5000d", id)
	}
	return fmt.Appendf(nil, "%d", id)
}

func (m *boxMachine) Send(t *rapid.T) {
	id, err := m.mailbox.Send(context.Background(), m.box, "ann", chat.Content{Body: m.body(len(m.model.states) + 1)})
	chattest.WantErr(t, err, m.model.send())
	if err == nil && id != uint64(len(m.model.states)) {
		t.Fatalf("the message got id %d, want %d", id, len(m.model.states))
	}
}

func (m *boxMachine) Read(t *rapid.T) {
	after, limit := rapid.IntRange(0, 20).Draw(t, "after"), rapid.IntRange(1, 15).Draw(t, "limit")
	messages, err := m.mailbox.Read(context.Background(), m.box, uint64(after), limit)
	chattest.WantErr(t, err, nil)
	if after > len(m.model.states) {
		after = 0 // it is of an earlier box
	}
	want := slices.DeleteFunc(m.model.unread(), func(id uint64) bool { return id <= uint64(after) })
	m.compare(t, messages, want[:min(len(want), limit)])
}

func (m *boxMachine) Newest(t *rapid.T) {
	n := rapid.IntRange(1, 15).Draw(t, "n")
	messages, err := m.mailbox.Newest(context.Background(), m.box, n)
	chattest.WantErr(t, err, nil)
	want := m.model.unread()
	m.compare(t, messages, want[max(len(want)-n, 0):])
}

func (m *boxMachine) Ack(t *rapid.T) {
	ids := rapid.SliceOfN(rapid.Uint64Range(0, 30), 0, 5).Draw(t, "ids")
	n, err := m.mailbox.Ack(context.Background(), m.box, ids...)
	chattest.WantErr(t, err, nil)
	if want := m.model.ack(ids); n != want {
		t.Fatalf("acknowledged %d, want %d", n, want)
	}
}

func (m *boxMachine) Take(t *rapid.T) {
	limit := rapid.IntRange(1, 5).Draw(t, "limit")
	messages, err := m.mailbox.Take(context.Background(), m.box, limit)
	chattest.WantErr(t, err, nil)
	want := m.model.unread()
	want = want[:min(len(want), limit)]
	m.compare(t, messages, want)
	m.model.ack(want)
}

func (m *boxMachine) Keep(t *rapid.T) {
	n := rapid.IntRange(0, 10).Draw(t, "n")
	chattest.WantErr(t, m.mailbox.Keep(context.Background(), m.box, n), nil)
	m.model.keep(n)
}

func (m *boxMachine) SetLimits(t *rapid.T) {
	m.model.limits.Messages = rapid.IntRange(1, 10).Draw(t, "messages")
	m.model.limits.Full = rapid.SampledFrom([]mailbox.Policy{mailbox.Refuse, mailbox.DropOldest}).Draw(t, "full")
	chattest.WantErr(t, m.mailbox.SetLimits(context.Background(), m.box, m.model.limits), nil)
	if m.model.limits.Full == mailbox.DropOldest {
		m.model.keep(m.model.limits.Messages)
	}
}

func (m *boxMachine) Delete(t *rapid.T) {
	chattest.WantErr(t, m.mailbox.Delete(context.Background(), m.box), nil)
	m.model = boxModel{limits: mailbox.Limits{Messages: mailbox.DefaultMessages, Full: mailbox.Refuse}}
}

// Check compares what can be seen of the box as a whole after every step.
func (m *boxMachine) Check(t *rapid.T) {
	info, err := m.mailbox.Info(context.Background(), m.box)
	chattest.WantErr(t, err, nil)
	ids := m.model.unread()
	want := mailbox.Info{Unread: uint64(len(ids)), Last: uint64(len(m.model.states)), Since: info.Since, Seen: info.Seen, Limits: m.model.limits}
	want.Limits.Bytes = mailbox.DefaultBytes
	for _, id := range ids {
		want.Bytes += uint64(max(len(m.body(int(id))), 1024))
	}
	if len(ids) > 0 {
		want.Oldest = ids[0]
	}
	if info != want {
		t.Fatalf("got %+v, want %+v", info, want)
	}
	id := rapid.IntRange(1, len(m.model.states)+1).Draw(t, "id")
	state, err := m.mailbox.Status(context.Background(), m.box, uint64(id))
	chattest.WantErr(t, err, nil)
	if wanted := append(slices.Clone(m.model.states), mailbox.StateNotSent)[id-1]; state != wanted {
		t.Fatalf("message %d is %s, want %s", id, state, wanted)
	}
}

func (m *boxMachine) compare(t *rapid.T, got []chat.Message, want []uint64) {
	ids := make([]uint64, 0, len(got))
	for _, message := range got {
		if message.Err != nil || string(message.Body) != string(m.body(int(message.ID))) {
			t.Fatalf("damaged message %+v", message)
		}
		ids = append(ids, message.ID)
	}
	if !slices.Equal(ids, want) {
		t.Fatalf("read %d, want %d", ids, want)
	}
}

func TestMailboxDoesAsItsModel(t *testing.T) {
	on.Backends(t, func(t *testing.T, m fixture) {
		round := 0
		rapid.Check(t, func(rt *rapid.T) {
			round++
			machine := &boxMachine{mailbox: m, box: fmt.Sprint("box", round)}
			machine.Delete(rt)
			rt.Repeat(map[string]func(*rapid.T){
				"send": machine.Send, "send more": machine.Send, "send even more": machine.Send, "read": machine.Read, "newest": machine.Newest,
				"ack": machine.Ack, "take": machine.Take, "keep": machine.Keep, "limits": machine.SetLimits, "delete": machine.Delete, "": machine.Check,
			})
			machine.Delete(rt)
			if keys := m.db.Keys(context.Background(), m.db.Prefix()+":mail:*").Val(); len(keys) > 0 {
				rt.Fatalf("left over: %q", keys)
			}
		})
	})
}

func TestManySendersAndTakersMissNothingAndShareNothing(t *testing.T) {
	on.AllBackends(t, func(t *testing.T, m fixture) {
		const senders, takers, each = 5, 4, 60
		done := make(chan []uint64, takers)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for range takers {
			go func() {
				var taken []uint64
				for {
					messages, err := m.Take(t.Context(), "bob", 7)
					if err != nil {
						t.Error(err)
					}
					for _, message := range messages {
						taken = append(taken, message.ID)
					}
					if len(messages) > 0 {
						continue
					}
					if err := m.Wait(ctx, "bob", 0); errors.Is(err, context.Canceled) {
						done <- taken
						return
					} else if err != nil {
						t.Error(err)
					}
				}
			}()
		}
		sendMany(t, m, senders, each)
		for boxInfo(t, m, "bob").Unread > 0 {
		}
		cancel()
		var all []uint64
		for range takers {
			taken := <-done
			if !slices.IsSorted(taken) {
				t.Errorf("not in order: %d", taken)
			}
			all = append(all, taken...)
		}
		slices.Sort(all)
		for i, id := range all {
			if id != uint64(i+1) {
				t.Fatalf("message %d was taken as number %d", id, i+1)
			}
		}
		if len(all) != senders*each {
			t.Fatalf("%d were taken, want %d", len(all), senders*each)
		}
	})
}
