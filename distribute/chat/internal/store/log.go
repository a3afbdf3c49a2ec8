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

// LastExact is the highest id: the numbers of Lua and of sorted sets are exact up
// to here.
const LastExact = 1<<53 - 1

// ParseMessage reads one entry of a log. Fields that it does not know are for
// newer releases.
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

// ParseMessages reads entries of a log.
func ParseMessages(entries []redis.XMessage) []chat.Message {
	messages := make([]chat.Message, len(entries))
	for i, entry := range entries {
		messages[i] = ParseMessage(entry)
	}
	return messages
}

// ParseEntries reads the answer of XRANGE as a script hands it on. What is no
// entry is left out: Redis does not send such.
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

// Nobody knows how big messages are before they are read. So a page asks for
// few first, then for twice as many each time, up to ReadMost, and ends once it
// has PageBytes. Redis then gives 4 bodies of the biggest size in one answer
// (1.2 ms, measured), and ReadMost only where small ones came before them.
const (
	PageBytes = chat.MaxBody
	ReadFirst = 4
	ReadMost  = 64
)

// ReadLog reads a page of a log, by commands of its own where bodies may be big:
// a script would have to copy each (measured with messages of 100 bytes five
// times, of 1 MiB twenty times slower). It reads ahead entries first, then up to
// twice as many each time, but few after big ones, until there are limit of them
// or this many bytes. command reads n of them beyond the last one, "" at first.
func ReadLog(ctx context.Context, db *rdb.DB, ahead, limit, maxBytes int, command func(last string, n int64) *redis.XMessageSliceCmd) ([]redis.XMessage, error) {
	var entries []redis.XMessage
	last, total := "", 0
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
			for _, value := range entry.Values { // a damaged one may be big, too
				text, _ := value.(string)
				bytes += len(text)
			}
		}
		entries = append(entries, page...)
		if len(page) < want {
			break
		}
		total += bytes
		ahead = min(2*ahead, ReadMost)
		if bytes > PageBytes/ReadFirst {
			ahead = ReadFirst
		}
	}
	return entries, nil
}

// LastUnder gives the last id that an entry with the number of this message
// can have.
func LastUnder(number uint64) string {
	return strconv.FormatUint(number, 10) + "-18446744073709551615"
}

// PageLimit returns how many messages a call returns that was asked for limit.
func PageLimit(limit int) int {
	if limit <= 0 {
		return chat.DefaultMessages
	}
	return min(limit, chat.MaxMessages)
}
