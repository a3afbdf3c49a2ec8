package chat_test

import (
	"maps"
	"slices"
	"time"

	"skidway/distribute/chat"
)

// A model is what a group chat promises, in plain Go.
type model struct {
	kind    chat.Kind
	last    uint64
	kept    []modelMessage
	cursors map[string]uint64
	seen    map[string]time.Time
	limits  chat.Limits
}

// A modelMessage is one whose body begins with its id.
type modelMessage struct {
	id, bytes uint64
	sent      time.Time
}

// clean drops what all members have dealt with.
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
	for name, seen := range m.seen {
		if m.limits.Away > 0 && now.Sub(seen) >= m.limits.Away {
			m.leave(name)
		}
	}
	if m.limits.Away > 0 {
		m.clean()
	}
	m.limit(now)
	return m.kind == chat.People && len(m.cursors) == 0
}

func (m *model) leave(name string) {
	delete(m.cursors, name)
	delete(m.seen, name)
	m.clean()
}

func (m *model) join(name string, start chat.Start, now time.Time) {
	m.seen[name] = now
	if _, member := m.cursors[name]; member {
		return
	}
	m.cursors[name] = m.last
	if start == chat.FromOldest && len(m.kept) > 0 {
		m.cursors[name] = m.kept[0].id - 1
	}
}

func (m *model) send(name string, bytes int, now time.Time) error {
	cursor, member := m.cursors[name]
	if m.kind == chat.People && !member {
		return chat.ErrNotMember
	}
	m.last++
	m.kept = append(m.kept, modelMessage{m.last, uint64(bytes), now})
	if member {
		m.seen[name] = now
		if cursor == m.last-1 {
			m.cursors[name] = m.last
			m.clean()
		}
	}
	return nil
}

func (m *model) pending(name string, after uint64, limit int) (ids []uint64) {
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
