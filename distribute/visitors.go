package distribute

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/dchest/siphash"
	"github.com/redis/go-redis/v9"

	"skidway/distribute/accesslog"
	"skidway/distribute/accesslog/agents"
	"skidway/distribute/cuts"
	"skidway/distribute/geo"
	"skidway/internal/hyperloglog"
	"skidway/internal/rdb"
)

// MaxSketches bounds the sketches of visitors of a subscriber, of at most 14 KB each. Beyond it
// those of countries on the oldest day are dropped.
const MaxSketches = 5000

// A visitor is a pair of address and agent that is no crawler. Its hash is SipHash-2-4, with the
// key of the subscriber, of the 16 bytes of the address, IPv4 as ::ffff:a.b.c.d, and the bytes of
// the agent as they are in the line, none if it has no agent. It never changes, or visitors would
// count twice. Without the key, what is stored does not show whether a visitor was there.
type visitorKey [16]byte

// newVisitorKey returns a random key as text.
func newVisitorKey() string {
	var key visitorKey
	_, _ = rand.Read(key[:]) // never fails
	return hex.EncodeToString(key[:])
}

// parseVisitorKey parses the text of a key.
func parseVisitorKey(text string) (*visitorKey, error) {
	var key visitorKey
	if bytes, err := hex.DecodeString(text); err != nil || copy(key[:], bytes) != len(key) || len(bytes) != len(key) {
		return nil, fmt.Errorf("the key of its visitors is malformed: %d characters", len(text))
	}
	return &key, nil
}

// hash returns the hash of a visitor. text is for its bytes; the next call may have it.
func (k *visitorKey) hash(addr netip.Addr, agent, text []byte) (hash uint64, used []byte) {
	bytes := addr.As16()
	text = append(append(text[:0], bytes[:]...), agent...)
	return siphash.Hash(binary.LittleEndian.Uint64(k[:8]), binary.LittleEndian.Uint64(k[8:]), text), text
}

// visitorKey reads the key of a subscriber; nil if it has none.
func (s *store) visitorKey(ctx context.Context, subscriber string) (*visitorKey, error) {
	text, err := query(ctx, s.db, func() (string, error) {
		return s.db.HGet(ctx, s.keys.subscriber(subscriber).record(), "visitors").Result()
	})
	switch {
	case errors.Is(err, redis.Nil):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read the key of the visitors of %q: %w", subscriber, err)
	}
	return parseVisitorKey(text)
}

// withVisitors returns the aggregation that counts visitors with a key, if the settings have
// visitors.
func (a *Counting) withVisitors(key *visitorKey) *Counting {
	with := *a
	with.visitors = key
	return &with
}

// A visitorCounter collects the visitors of lines. It is not safe for concurrent use.
type visitorCounter struct {
	key       *visitorKey
	byCountry bool
	sketches  map[visitorCell]*hyperloglog.Sketch
	text      []byte
}

// A visitorCell is a day, or a country on it.
type visitorCell struct {
	day     accesslog.Day
	country int // its index; -1: all
}

// maxCountedSketches bounds the sketches between two commits: 16 MB.
const maxCountedSketches = 1000

func (c *visitorCounter) isFull() bool { return len(c.sketches) >= maxCountedSketches }

// add adds the visitor of a line.
func (c *visitorCounter) add(day accesslog.Day, country int, addr netip.Addr, v *accesslog.Values) {
	agent, ok := v.Get(accesslog.Agent)
	if !ok {
		agent = nil
	}
	if crawler, _ := agents.Match(agent); crawler != "" {
		return
	}
	var hash uint64
	hash, c.text = c.key.hash(addr, agent, c.text)
	c.sketch(visitorCell{day, -1}).Add(hash)
	if c.byCountry {
		c.sketch(visitorCell{day, min(country, unknownCountry)}).Add(hash)
	}
}

func (c *visitorCounter) sketch(cell visitorCell) *hyperloglog.Sketch {
	s := c.sketches[cell]
	if s == nil {
		s = new(hyperloglog.Sketch)
		c.sketches[cell] = s
	}
	return s
}

// maxStaged bounds the sketches that one call stages, in bytes with their names. Sketches of few
// visitors are small: cellBatch bounds their number.
const maxStaged = 200 << 10

// stageVisitors stages sketches, but for those of days without room, and returns their number.
func (b *stageBatch) stageVisitors(ctx context.Context, sketches map[cellName]*hyperloglog.Sketch) (staged int, err error) {
	for name, sketch := range sketches {
		day, _, _ := parseVisitors(name.group, name.member)
		if b.refused[day] {
			continue
		}
		cell, text := name.group+"\t"+name.member, sketch.Encode()
		if b.size() == cellBatch || b.bytes+len(cell)+len(text) > maxStaged {
			if err := b.send(ctx); err != nil {
				return 0, err
			}
		}
		b.cells, b.bytes, staged = append(b.cells, cell, text), b.bytes+len(cell)+len(text), staged+1
	}
	return staged, b.send(ctx)
}

// visitorSeries follows the day in the group of sealed sketches.
const visitorSeries = " visitors"

// name returns the name of the sketch among the cells of a commit.
func (c visitorCell) name() cellName {
	member := cuts.Any
	if c.country >= 0 {
		member = geo.CountryAt(c.country).String()
	}
	return cellName{c.day.String() + visitorSeries, member}
}

// parseVisitors returns the day and the country of a sealed sketch; the country is empty for all.
func parseVisitors(group, member string) (day, country string, ok bool) {
	day, ok = strings.CutSuffix(group, visitorSeries)
	if member != cuts.Any {
		country = member
	}
	return day, country, ok
}

// A sealedSketch is a sketch of a commit that is not in the totals yet.
type sealedSketch struct{ day, country, text string }

// visitorName returns the name of the sketch in the totals.
func visitorName(day, country string) string { return strings.TrimSuffix(day+" "+country, " ") }

// A sketchCell is the name of a sealed sketch among the cells of a commit, its day and its country.
type sketchCell struct{ name, day, country string }

// foldVisitors merges the sealed sketches among the cells of a scan into the totals, and returns
// the cells. left is that of the last call, -1 while a report reads the totals.
func (t totals) foldVisitors(ctx context.Context, commit string, pairs []string) (cells []string, left int64, err error) {
	var sketches []sketchCell
	for i := 0; i+1 < len(pairs); i += 2 {
		group, member, _ := strings.Cut(pairs[i], "\t")
		if day, country, ok := parseVisitors(group, member); ok {
			sketches = append(sketches, sketchCell{pairs[i], day, country})
		} else {
			cells = append(cells, pairs[i], pairs[i+1])
		}
	}
	left = int64(len(pairs))
	for page := range slices.Chunk(sketches, visitorPage) {
		if left, err = t.mergeVisitors(ctx, commit, page); err != nil || left <= 0 {
			break
		}
	}
	return cells, left, err
}

// mergeVisitors merges sealed sketches in one round trip, or in more of them if it must make room.
func (t totals) mergeVisitors(ctx context.Context, commit string, sketches []sketchCell) (left int64, err error) {
	for len(sketches) > 0 {
		calls := make([]rdb.Call, len(sketches))
		for i, s := range sketches {
			keys := target{subscriber: t.subscriber, sealed: commit, more: []string{t.own.visitorsOf(visitorName(s.day, s.country))}}
			calls[i] = rdb.Call{Keys: t.keysOf(mergeVisitorsScript, keys), Args: []any{commit, t.subscriber, s.name, s.day, s.country, t.maxSketches}}
		}
		results, err := mergeVisitorsScript.RunAll(ctx, t.db, calls)
		if err != nil {
			return 0, err
		}
		var refused []sketchCell
		oldest := "" // day whose countries must be dropped
		for i, r := range results {
			if r.Err != nil {
				return 0, r.Err
			}
			left = r.Int(0)
			if day := r.Text(1); day != "" {
				refused = append(refused, sketches[i])
				if oldest == "" || day < oldest {
					oldest = day
				}
			}
		}
		if sketches = refused; oldest != "" {
			if err := t.dropCountries(ctx, oldest); err != nil {
				return 0, err
			}
		}
	}
	return left, nil
}

// dropCountries deletes the sketches of the countries of a day, before which there are none.
func (t totals) dropCountries(ctx context.Context, day string) error {
	return t.dropVisitors(ctx, dayAfter(day), "["+day+" ", "("+day+"!")
}

// dropVisitors deletes the sketches in a range of names. first is the first day that may have
// sketches of countries from then on; empty: as before.
func (t totals) dropVisitors(ctx context.Context, first, from, to string) error {
	for {
		names, err := t.visitorNames(ctx, from, to, maxDropped)
		if err != nil || len(names) == 0 && first == "" {
			return err
		}
		keys, args := target{subscriber: t.subscriber}, []any{first}
		for _, name := range names {
			keys.more, args = append(keys.more, t.own.visitorsOf(name)), append(args, name)
		}
		reply, err := t.call(ctx, dropVisitorsScript, keys, args...)
		if err != nil || reply.Int(0) == 0 || len(names) < maxDropped {
			return err
		}
	}
}

func dayAfter(day string) string {
	at, _ := time.Parse(time.DateOnly, day) // a day of the totals
	return at.AddDate(0, 0, 1).Format(time.DateOnly)
}

// maxDropped is the number of sketches that one call deletes.
const maxDropped = 100

// visitorNames returns names of sketches in a range, the first ones.
func (t totals) visitorNames(ctx context.Context, from, to string, most int64) ([]string, error) {
	return query(ctx, t.db, func() ([]string, error) {
		return t.db.ZRangeByLex(ctx, t.own.visitors(), &redis.ZRangeBy{Min: from, Max: to, Count: most}).Result()
	})
}

// readVisitors adds the visitors of a snapshot to what a report selects.
func (t totals) readVisitors(ctx context.Context, selection *cuts.Selection, oldest string, sealed []sealedSketch) error {
	var names []string
	for next := "-"; ; {
		page, err := t.visitorNames(ctx, next, "+", countPage)
		if err != nil {
			return err
		}
		names = append(names, slices.DeleteFunc(slices.Clone(page), func(name string) bool {
			day, country, _ := strings.Cut(name, " ")
			return day < oldest || !selection.WantsVisitors(day, country)
		})...)
		if len(page) < countPage {
			break
		}
		next = "(" + page[len(page)-1]
	}
	for names := range slices.Chunk(names, visitorPage) {
		keys := make([]string, len(names))
		for i, name := range names {
			keys[i] = t.own.visitorsOf(name)
		}
		texts, err := query(ctx, t.db, func() ([]any, error) { return t.db.MGet(ctx, keys...).Result() })
		if err != nil {
			return err
		}
		for i, text := range texts {
			day, country, _ := strings.Cut(names[i], " ")
			if text, ok := text.(string); ok {
				if err := selection.AddVisitors(day, country, []byte(text)); err != nil {
					return fmt.Errorf("visitors of %s: %w", names[i], err)
				}
			}
		}
	}
	for _, s := range sealed {
		if s.day >= oldest && selection.WantsVisitors(s.day, s.country) {
			if err := selection.AddVisitors(s.day, s.country, []byte(s.text)); err != nil {
				return fmt.Errorf("sealed visitors of %s: %w", s.day, err)
			}
		}
	}
	return nil
}

// visitorPage is the number of sketches that a report reads with one command, 250 KB, and that a
// fold merges in one round trip: Redis takes some 50 µs for each.
const visitorPage = 20
