package store

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/distribute/chat"
	"skidway/internal/rdb"
)

// LastExact is the highest id: up to it, numbers of Lua and scores of sorted sets
// are exact.
const LastExact = 1<<53 - 1

// ParseMessage parses one entry of a log. It ignores unknown fields, for newer
// releases.
func ParseMessage(entry redis.XMessage) chat.Message {
	var m chat.Message
	corrupt := func(format string, args ...any) chat.Message {
		m.Err = Corrupt(entry.ID, fmt.Sprintf(format, args...))
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
	if err := CheckName("sender", m.Sender); err != nil {
		return corrupt("%v", err)
	}
	text := entry.Values["time"].(string)
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil || ms < 0 || ms > LastExact {
		return corrupt("the time %.40q is no number of milliseconds", text)
	}
	m.Time = time.UnixMilli(ms)
	if err := checkContent(&m.Content, chat.MaxBody); err != nil {
		return corrupt("%v", err)
	}
	return m
}

// ParseMessages parses entries of a log.
func ParseMessages(entries []redis.XMessage) []chat.Message {
	messages := make([]chat.Message, len(entries))
	for i, entry := range entries {
		messages[i] = ParseMessage(entry)
	}
	return messages
}

// ParseEntries parses the reply of XRANGE as a script returns it. Malformed entries
// are left out; Redis sends none.
func ParseEntries(value any) []redis.XMessage {
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

// The size of a message is unknown until it is read. So a page begins with few
// messages, reads twice as many each time, up to maxUnknownRead, and ends once it has
// PageBytes. One reply of Redis then has at most 4 bodies of the maximum size
// (1.2 ms, measured), or maxUnknownRead after small ones. Where all messages are known
// to be small, MaxRead are read each time.
const (
	PageBytes = chat.MaxBody
	FirstRead = 4
	MaxRead   = 64

	maxUnknownRead = 16
)

// ReadLog reads a page of a log without a script, which would have to copy each
// body (5 times slower for messages of 100 bytes, 20 times for 1 MiB). It reads
// ahead entries first, [FirstRead] where large ones may follow, or else [MaxRead]. Then
// it reads up to twice as many each time, but few after large ones, until it has limit
// entries or maxBytes. command reads n entries after the
// id last, which is "" at first.
func ReadLog(ctx context.Context, db *rdb.DB, ahead, limit, maxBytes int, command func(last string, n int64) *redis.XMessageSliceCmd) ([]redis.XMessage, error) {
	var entries []redis.XMessage
	last, total, maxAhead := "", 0, max(ahead, maxUnknownRead)
	for len(entries) < limit && total < maxBytes {
		want := min(ahead, limit-len(entries))
		var page []redis.XMessage
		err := db.Retry(ctx, func() (err error) {
			page, err = command(last, int64(want)).Result()
			return err
		})
		if err != nil {
			return nil, err
		}
		bytes := 0
		for _, entry := range page {
			last = entry.ID
			for _, value := range entry.Values { // also of malformed entries
				text, _ := value.(string)
				bytes += len(text)
			}
		}
		entries = append(entries, page...)
		if len(page) < want {
			break
		}
		total += bytes
		ahead = min(2*ahead, maxAhead)
		if bytes > PageBytes/FirstRead {
			ahead = FirstRead
		}
	}
	return entries, nil
}

// LastUnder returns the highest entry id with the number of this message.
func LastUnder(number uint64) string {
	return strconv.FormatUint(number, 10) + "-18446744073709551615"
}

// PageLimit returns how many messages a call with this limit returns at most.
func PageLimit(limit int) int {
	if limit <= 0 {
		return chat.DefaultMessages
	}
	return min(limit, chat.MaxMessages)
}
