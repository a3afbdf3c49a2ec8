package chat

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Bounds of what one call moves.
const (
	// MaxMessages is the most messages that one call gives for a chat.
	MaxMessages = 500

	// DefaultMessages is how many it gives when the limit is zero.
	DefaultMessages = 100
)

// lastExact is the highest id: the numbers of Lua and of sorted sets are
// exact up to here.
const lastExact = 1<<53 - 1

// A Message is one that was sent.
type Message struct {
	ID     uint64    // 1, 2, 3… within its chat
	Sender string    // who sent it
	Time   time.Time // when Redis took it, to the millisecond
	Content

	// Err is a *[CorruptError] when the entry in Redis can't be read. The
	// other fields then hold what could be made out. Such a message is
	// skipped by acknowledging it like any other.
	Err error
}

// parseMessage reads one entry of a log. Fields that it does not know are for
// newer releases.
func parseMessage(entry redis.XMessage) Message {
	var m Message
	corrupt := func(format string, args ...any) Message {
		m.Err = &CorruptError{Where: entry.ID, Reason: fmt.Sprintf(format, args...)}
		return m
	}
	head, tail, _ := strings.Cut(entry.ID, "-")
	number, err := strconv.ParseUint(head, 10, 64)
	m.ID = number
	if err != nil || tail != "0" {
		return corrupt("the id of a message is a number and -0")
	}
	for _, name := range []string{"sender", "body", "time"} {
		if _, ok := entry.Values[name].(string); !ok {
			return corrupt("the field %s is missing", name)
		}
	}
	m.Sender, m.Body = entry.Values["sender"].(string), []byte(entry.Values["body"].(string))
	m.Type, _ = entry.Values["type"].(string)
	m.URL, _ = entry.Values["url"].(string)
	if err := checkName("sender", m.Sender); err != nil {
		return corrupt("%v", err)
	}
	text := entry.Values["time"].(string)
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil || ms < 0 || ms > lastExact {
		return corrupt("the time %.40q is no number of milliseconds", text)
	}
	m.Time = time.UnixMilli(ms)
	if err := m.check(MaxBody); err != nil {
		return corrupt("%v", err)
	}
	return m
}

func parseMessages(entries []redis.XMessage) []Message {
	messages := make([]Message, len(entries))
	for i, entry := range entries {
		messages[i] = parseMessage(entry)
	}
	return messages
}

// parseEntries reads the answer of XRANGE as a script hands it on. What is no
// entry is left out: Redis does not send such.
func parseEntries(value any) []redis.XMessage {
	list, _ := value.([]any)
	entries := make([]redis.XMessage, 0, len(list))
	for _, item := range list {
		pair, _ := item.([]any)
		if len(pair) != 2 {
			continue
		}
		fields, _ := pair[1].([]any)
		entry := redis.XMessage{Values: make(map[string]any, len(fields)/2)}
		entry.ID, _ = pair[0].(string)
		for i := 0; i+1 < len(fields); i += 2 {
			if name, ok := fields[i].(string); ok {
				entry.Values[name] = fields[i+1]
			}
		}
		entries = append(entries, entry)
	}
	return entries
}
