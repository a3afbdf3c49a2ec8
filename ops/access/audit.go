package access

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/redis/go-redis/v9"

	"skidway"
	"skidway/internal/handle"
	"skidway/internal/rdb"
	"skidway/queue"
)

// Bounds of the audit.
const (
	maxEntries    = 10_000
	maxRefused    = 2_000
	maxEntryName  = 128 // of who, from, action and queue, in bytes as JSON
	maxEntryText  = 400 // of filter and outcome
	maxEntryPage  = 500
	followTimeout = 5 * time.Second
)

// An Entry is a row of the audit. A change has two: one before it, without an outcome, and one after
// it.
type Entry struct {
	ID     string // of the row
	Change string // joins the rows of a change
	Time   time.Time

	Who    string // the name of a user, "token ID (NAME)", or user@host
	Proven bool   // whether Who has logged in; the command line's user@host has not
	From   string // the address, or "command line"

	Action  string // such as "retry"
	Queue   string
	Filter  string // which jobs, or what else is changed
	Count   int    // jobs; zero where it is not known
	Outcome string // "done", or the error; empty before the change
}

// An EntryFilter selects entries by parts of their texts. The zero value selects all.
type EntryFilter struct{ Who, Action, Queue string }

// Matches reports whether the filter selects an entry.
func (f EntryFilter) Matches(e Entry) bool {
	return strings.Contains(e.Who, f.Who) && strings.Contains(e.Action, f.Action) && strings.Contains(e.Queue, f.Queue)
}

// NewEntry returns an entry for the principal and the address of a request's context.
func NewEntry(ctx context.Context, action, queue string) Entry {
	e := Entry{Action: action, Queue: queue, From: "unknown"}
	if p := FromContext(ctx); p != nil {
		if e.Who, e.Proven = p.Name, p.Proven; p.Token {
			e.Who = "token " + p.ID
			if p.Name != p.ID {
				e.Who += " (" + p.Name + ")"
			}
		}
	}
	if address := AddressFromContext(ctx); address.IsValid() {
		e.From = address.String()
	}
	return e
}

// Audit is the list of the last 10,000 or so entries, in Redis, which are also logged. It is safe
// for concurrent use. The last 2,000 or so that were recorded by [Audit.Refuse] are kept apart, so that
// clients without a right can't push the others out.
type Audit struct {
	db           *rdb.DB
	key, refused string // streams
	logger       *slog.Logger
}

// NewAudit returns the audit of a Redis. A nil logger means [slog.Default]. Nothing is sent to
// Redis.
func NewAudit(db *skidway.DB, logger *slog.Logger) *Audit {
	if logger == nil {
		logger = slog.Default()
	}
	conn := handle.Conn(db)
	keys := keysOf(conn)
	return &Audit{conn, keys[keyAudit], keys[keyRefused], logger}
}

// freeing are the words of the actions that go on if Redis is too full for an entry, because they make
// room or stop what fills it, let in who does that, or take a right away. An operation that makes no
// room can't continue then.
var freeing = []string{
	"purge", "delete", "cancel", "pause", "resume", "quiet", "stop", "continue", "login", "logout", "revoke", "remove", "password",
}

func isFreeing(action string) bool {
	return slices.ContainsFunc(strings.Fields(action), func(word string) bool { return slices.Contains(freeing, word) })
}

// Begin adds the entry before a change, and returns what adds the one after it, to be called with
// the error of the change and the number of jobs changed, -1 if it is not known. With an error
// of Begin the change must not be made. It is no error for a change that makes room, stops
// something or takes a right away if Redis is full. end can't be cancelled by ctx.
func (a *Audit) Begin(ctx context.Context, e Entry) (end func(outcome error, count int) error, err error) {
	var id [8]byte
	_, _ = rand.Read(id[:]) // never fails
	e.Change, e.Outcome = hex.EncodeToString(id[:]), ""
	if err := a.add(ctx, a.key, maxEntries, e); err != nil {
		return nil, err
	}
	return func(outcome error, count int) error {
		e := e
		if e.Outcome = "done"; outcome != nil {
			e.Outcome = outcome.Error()
		}
		if count >= 0 {
			e.Count = count
		}
		return a.add(context.WithoutCancel(ctx), a.key, maxEntries, e)
	}, nil
}

// Record adds an entry of what is no change: a login, or that hidden values were read.
func (a *Audit) Record(ctx context.Context, e Entry) error { return a.add(ctx, a.key, maxEntries, e) }

// Refuse adds an entry of a login or a signed request that was refused.
func (a *Audit) Refuse(ctx context.Context, e Entry) error {
	return a.add(ctx, a.refused, maxRefused, e)
}

// add adds an entry to a stream of at most about length entries.
func (a *Audit) add(ctx context.Context, stream string, length int64, e Entry) error {
	for _, name := range []*string{&e.Who, &e.From, &e.Action, &e.Queue} {
		*name = shorten(*name, maxEntryName)
	}
	e.Filter, e.Outcome = shorten(e.Filter, maxEntryText), shorten(e.Outcome, maxEntryText)
	a.logger.LogAttrs(ctx, slog.LevelInfo, "audit", slog.String("change", e.Change), slog.String("who", e.Who), slog.Bool("proven", e.Proven),
		slog.String("from", e.From), slog.String("action", e.Action), slog.String("queue", e.Queue), slog.String("filter", e.Filter),
		slog.Int("count", e.Count), slog.String("outcome", e.Outcome))
	text, err := encode(storedEntry{format, e.Change, e.Who, e.Proven, e.From, e.Action, e.Queue, e.Filter, e.Count, e.Outcome})
	if err != nil {
		return err
	}
	err = a.db.Retry(ctx, func() error { // a repeated entry is harmless
		return a.db.XAdd(ctx, &redis.XAddArgs{Stream: stream, MaxLen: length, Approx: true, Values: []any{"entry", text}}).Err()
	})
	if redis.HasErrorPrefix(err, "OOM") && isFreeing(e.Action) {
		a.logger.LogAttrs(ctx, slog.LevelError, "the audit has no entry of this change: Redis is full", slog.String("change", e.Change), slog.String("action", e.Action))
		return nil
	}
	if err != nil {
		return &AuditError{err}
	}
	return nil
}

// encode returns a value as JSON, with < > & as they are.
func encode(v any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return bytes.TrimSpace(text.Bytes()), err
}

// shorten returns a text of which the JSON has at most that many bytes, with a mark if that is not
// all of it.
func shorten(text string, most int) string {
	valid := strings.ToValidUTF8(text, "�")
	size := func(r rune) int {
		encoded, _ := encode(string(r)) // texts only
		return len(encoded) - len(`""`)
	}
	mark := fmt.Sprintf("... (%d bytes)", len(text))
	used, fits := 0, 0 // fits: the bytes before the mark
	for i, r := range valid {
		if used += size(r); used > most {
			return valid[:fits] + mark
		}
		if used+len(mark) <= most {
			fits = i + utf8.RuneLen(r)
		}
	}
	return valid
}

// An AuditError is the error for an entry that can't be written. If it is one of [Audit.Begin], the
// change was not made.
type AuditError struct{ Err error }

func (e *AuditError) Error() string { return fmt.Sprintf("write the audit: %v", e.Err) }
func (e *AuditError) Unwrap() error { return e.Err }

// A storedEntry is an entry as it is stored.
type storedEntry struct {
	Format  int    `json:"format"`
	Change  string `json:"change,omitempty"`
	Who     string `json:"who"`
	Proven  bool   `json:"proven,omitempty"`
	From    string `json:"from,omitempty"`
	Action  string `json:"action"`
	Queue   string `json:"queue,omitempty"`
	Filter  string `json:"filter,omitempty"`
	Count   int    `json:"count,omitempty"`
	Outcome string `json:"outcome,omitempty"`
}

// decodeEntry decodes an entry. One that can't be read has that as its outcome.
func decodeEntry(message redis.XMessage) Entry {
	var s storedEntry
	text, _ := message.Values["entry"].(string)
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		s = storedEntry{Outcome: "malformed entry: " + err.Error()}
	} else if s.Format != format {
		s = storedEntry{Outcome: formatError("the entry", s.Format).Error()}
	}
	e := Entry{message.ID, s.Change, time.Time{}, s.Who, s.Proven, s.From, s.Action, s.Queue, s.Filter, s.Count, s.Outcome}
	var ms int64
	if _, err := fmt.Sscanf(message.ID, "%d-", &ms); err == nil {
		e.Time = time.UnixMilli(ms)
	}
	return e
}

// List returns at most limit entries (1 to 500), the latest first, and the cursor of the next ones,
// which is empty if there are no more. An empty cursor is that of the latest.
func (a *Audit) List(ctx context.Context, cursor string, limit int) (entries []Entry, next string, err error) {
	return a.ListNewer(ctx, 0, cursor, limit)
}

// ListNewer is [Audit.List] for the entries that are not older than maxAge, by Redis's clock; zero means all.
func (a *Audit) ListNewer(ctx context.Context, maxAge time.Duration, cursor string, limit int) (entries []Entry, next string, err error) {
	if limit < 1 || limit > maxEntryPage {
		return nil, "", fmt.Errorf("%w: limit %d: want 1 to %d", queue.ErrInvalid, limit, maxEntryPage)
	}
	from := [2]string{"+", "+"} // of both streams
	if cursor != "" {
		if from, err = parseCursor(cursor); err != nil {
			return nil, "", err
		}
	}
	oldest := "-"
	if maxAge > 0 {
		now, err := a.db.TimeOf(ctx, a.key)
		if err != nil {
			return nil, "", fmt.Errorf("read the audit: %w", err)
		}
		oldest = strconv.FormatInt(max(0, now.Add(-maxAge).UnixMilli()), 10)
	}
	pages, err := a.both(ctx, func(stream string, i int) *redis.XMessageSliceCmd {
		return a.db.XRevRangeN(ctx, stream, from[i], oldest, int64(limit))
	})
	if err != nil {
		return nil, "", err
	}
	for len(entries) < limit && len(pages[0])+len(pages[1]) > 0 {
		i := 0
		if len(pages[0]) == 0 || len(pages[1]) > 0 && isBefore(pages[0][0].ID, pages[1][0].ID) {
			i = 1
		}
		entries = append(entries, decodeEntry(pages[i][0]))
		from[i], pages[i] = "("+pages[i][0].ID, pages[i][1:]
	}
	if len(entries) == limit {
		next = from[0] + from[1]
	}
	return entries, next, nil
}

// both reads both streams.
func (a *Audit) both(ctx context.Context, read func(stream string, i int) *redis.XMessageSliceCmd) (pages [2][]redis.XMessage, err error) {
	for i, stream := range []string{a.key, a.refused} {
		err = a.db.Retry(ctx, func() (err error) {
			pages[i], err = read(stream, i).Result()
			return err
		})
		if err != nil {
			return pages, fmt.Errorf("read the audit: %w", err)
		}
	}
	return pages, nil
}

// isBefore reports whether an id of a stream is lower than another one.
func isBefore(id, other string) bool {
	of := func(id string) (ms, sequence uint64) {
		_, _ = fmt.Sscanf(id, "%d-%d", &ms, &sequence)
		return ms, sequence
	}
	ms, sequence := of(id)
	otherMS, otherSequence := of(other)
	return cmp.Or(cmp.Compare(ms, otherMS), cmp.Compare(sequence, otherSequence)) < 0
}

// parseCursor returns the positions in both streams of a cursor, each "+" or "(" and an id.
func parseCursor(cursor string) (from [2]string, err error) {
	split := strings.LastIndexAny(cursor, "+(")
	if split < 1 {
		return from, fmt.Errorf("%w: %.50q is no cursor of the audit", queue.ErrInvalid, cursor)
	}
	from = [2]string{cursor[:split], cursor[split:]}
	for _, position := range from {
		id, isID := strings.CutPrefix(position, "(")
		if !isID && position != "+" {
			return from, fmt.Errorf("%w: %.50q is no cursor of the audit", queue.ErrInvalid, cursor)
		}
		if isID {
			err = cmp.Or(err, checkEntryID(id))
		}
	}
	return from, err
}

// checkEntryID returns an error if an id is none of an entry.
func checkEntryID(id string) error {
	var ms, sequence uint64
	var rest string
	if n, _ := fmt.Sscanf(id, "%d-%d%s", &ms, &sequence, &rest); n != 2 || len(id) > 41 {
		return fmt.Errorf("%w: %.50q is no cursor of the audit", queue.ErrInvalid, id)
	}
	return nil
}

// Follow calls a function with each entry after a given one, as they are added, until ctx ends or
// the function returns an error. An empty id means those that are added from now on.
func (a *Audit) Follow(ctx context.Context, after string, f func(Entry) error) error {
	if after == "" {
		latest, _, err := a.List(ctx, "", 1)
		if err != nil {
			return err
		}
		if after = "0-0"; len(latest) > 0 {
			after = latest[0].ID
		}
	} else if err := checkEntryID(after); err != nil {
		return err
	}
	last := [2]string{after, after}
	for {
		pages, err := a.both(ctx, func(stream string, i int) *redis.XMessageSliceCmd {
			return a.db.XRangeN(ctx, stream, "("+last[i], "+", maxEntryPage)
		})
		if err != nil {
			return err
		}
		found := slices.Concat(pages[0], pages[1])
		for i, page := range pages {
			if len(page) > 0 {
				last[i] = page[len(page)-1].ID
			}
		}
		slices.SortStableFunc(found, func(a, b redis.XMessage) int {
			if isBefore(a.ID, b.ID) {
				return -1
			}
			return 1
		})
		for _, message := range found {
			if err := f(decodeEntry(message)); err != nil {
				return err
			}
		}
		if len(found) > 0 {
			continue
		}
		if _, err := a.db.Wait(ctx, followTimeout, rdb.Mark{Key: a.key, ID: last[0]}, rdb.Mark{Key: a.refused, ID: last[1]}); err != nil {
			return err
		}
	}
}
