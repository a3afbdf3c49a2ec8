package distribute

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/distribute/stream"
)

// A fileStore holds a channel's file records and the segments of their uploads.
type fileStore struct{ *store }

// record reads the record of a file. It is empty if the channel has none.
func (f fileStore) record(ctx context.Context, id string) (record, error) {
	fields, err := query(ctx, f.db, func() (map[string]string, error) { return f.db.HGetAll(ctx, f.keys.file(id)).Result() })
	if err != nil {
		return record{}, fmt.Errorf("read the record of a file: %w", err)
	}
	return parseRecord(id, fields), nil
}

// each calls do for every file that has a record.
func (f fileStore) each(ctx context.Context, do func(id string) error) error {
	return f.scanSet(ctx, f.keys.files(), do)
}

// sketches are the sketches of heads that were read before, by file. A recorded head
// only grows, so a sketch that differs stays different.
type sketches map[string]stream.Sketch

// maxSketches bounds them: some 5 MB.
const maxSketches = 20_000

// add adds the sketch of a record.
func (s sketches) add(r record) {
	if len(s) >= maxSketches {
		clear(s)
	}
	s[r.id] = r.head.Sketch()
}

// lookup returns the index entry of a file and the records whose head matches, those with the
// longest heads first. A record that was created with this head matches, however it has grown
// since. Of many files with the same first line it reads only those heads whose sketches are not
// known, or do not differ.
func (f fileStore) lookup(ctx context.Context, src *stream.Source, known sketches) (string, []record, error) {
	key := src.Head.IndexKey()
	index, err := query(ctx, f.db, func() ([]any, error) { return f.db.HMGet(ctx, f.keys.heads(), key, stream.UnfinishedLine).Result() })
	if err != nil {
		return "", nil, err
	}
	entry, _ := index[0].(string)
	unfinished, _ := index[1].(string)
	ids := strings.Fields(entry)
	if key != stream.UnfinishedLine {
		ids = append(ids, strings.Fields(unfinished)...)
	}
	sketch := src.Head.Fingerprint().Sketch()
	ids = slices.DeleteFunc(ids, func(id string) bool { return known[id].Differs(sketch) })
	var matches []record
	for batch := range slices.Chunk(ids, lookupBatch) {
		heads, err := f.records(ctx, batch, "head", "hole")
		if err != nil {
			return "", nil, err
		}
		for _, r := range heads {
			known.add(r)
			if r.head.Length > 0 && (r.id == src.ID() || r.hole == src.Hole && r.head.SameFile(src.Head)) {
				matches = append(matches, r)
			}
		}
	}
	slices.SortStableFunc(matches, func(a, b record) int { return b.head.Length - a.head.Length })
	ids = ids[:0]
	for _, r := range matches {
		ids = append(ids, r.id)
	}
	matches, err = f.records(ctx, ids)
	return entry, matches, err
}

// lookupBatch is the number of heads that are read with one round trip: at most
// 700 KB.
const lookupBatch = 100

// records reads some records with one round trip: these fields of them, or all.
func (f fileStore) records(ctx context.Context, ids []string, fields ...string) ([]record, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	records := make([]record, len(ids))
	err := f.db.Retry(ctx, func() error {
		pipe := f.db.Pipeline()
		whole, parts := make([]*redis.MapStringStringCmd, len(ids)), make([]*redis.SliceCmd, len(ids))
		for i, id := range ids {
			if len(fields) == 0 {
				whole[i] = pipe.HGetAll(ctx, f.keys.file(id))
			} else {
				parts[i] = pipe.HMGet(ctx, f.keys.file(id), fields...)
			}
		}
		_, err := pipe.Exec(ctx)
		for i, id := range ids {
			if len(fields) == 0 {
				records[i] = parseRecord(id, whole[i].Val())
				continue
			}
			found := map[string]string{}
			for j, value := range parts[i].Val() {
				found[fields[j]], _ = value.(string)
			}
			records[i] = parseRecord(id, found)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the records of files: %w", err)
	}
	return records, nil
}

// seen records that a file still exists, so that its record is kept.
func (f fileStore) seen(ctx context.Context, id string) error {
	now, err := f.now(ctx)
	if err != nil {
		return err
	}
	return f.db.Retry(ctx, func() error {
		return f.db.ZAddArgs(ctx, f.keys.files(), redis.ZAddArgs{XX: true, GT: true, Members: []redis.Z{{Score: float64(now.UnixMilli()), Member: id}}}).Err()
	})
}

// readersGrace is the time that the wake stream of an abandoned upload stays for
// its readers. A reader that misses it reads the record after its wait times out.
const readersGrace = time.Second

// An abandonment identifies the upload to abandon.
type abandonment struct {
	id       string
	shipment int64
	shipper  string // its shipper; empty: only if the lease has expired
	reship   bool   // the file is expected to be shipped again
	note     string // for subscribers that have counted parts of it; empty: none
}

// abandon ends an upload that will not be completed. It reports whether the upload
// is abandoned, now or by an earlier call, and, if there is a note, whether a
// subscriber has counted a part of it.
func (f fileStore) abandon(ctx context.Context, a abandonment) (abandoned, counted bool, err error) {
	keys := target{file: a.id, shipment: a.shipment}
	args := []any{a.shipper, a.shipment, a.id, readersGrace.Milliseconds(), a.reship, a.note}
	if a.note != "" {
		subscribers, err := f.subscriberNames(ctx)
		if err != nil {
			return false, false, err
		}
		for _, name := range subscribers {
			keys.more, args = append(keys.more, f.keys.subscriber(name).problems()), append(args, name)
		}
	}
	reply, err := f.call(ctx, abandonScript, keys, args...)
	return reply.Int(0) > 0, reply.Int(0) == 2, err
}

// freeSegments deletes the segments of a file that is done or abandoned, with the checkpoints in
// them and the cells that its claims had staged, and returns their space to the window. Repeating
// it changes nothing.
func (f fileStore) freeSegments(ctx context.Context, id string) error {
	r, err := f.record(ctx, id)
	if err != nil {
		return err
	}
	segments := append(r.segmentKeys(f.keys), r.checkpointKeys(f.keys)...)
	if r.state == FileAbandoned {
		subscribers, err := f.subscriberNames(ctx)
		if err != nil {
			return err
		}
		for _, name := range subscribers {
			segments = append(segments, f.keys.subscriber(name).staged(id))
		}
	}
	for {
		batch := segments[:min(len(segments), 100)]
		segments = segments[len(batch):]
		last := 0
		if len(segments) == 0 {
			last = 1
		}
		if _, err := f.call(ctx, freeScript, target{file: id, shipment: r.shipment, more: batch}, r.shipment, id, last); err != nil {
			return err
		}
		if last == 1 {
			return nil
		}
	}
}

// trim frees the first segments of a file that no subscriber needs any more.
func (f fileStore) trim(ctx context.Context, id string) error {
	r, err := f.record(ctx, id)
	if err != nil {
		return err
	}
	subscribers, err := f.subscriberNames(ctx)
	if err != nil {
		return err
	}
	for needless := r.needless(subscribers); r.freed < needless; {
		to := min(needless, r.freed+100)
		keys := target{file: id, shipment: r.shipment, more: r.segmentRange(f.keys, r.freed, to)}
		freed, err := f.call(ctx, trimScript, keys, r.shipment, id, r.freed, to)
		if err != nil || freed.Int(0) == 0 {
			return err
		}
		r.freed = to
	}
	return nil
}

// sweepBatch bounds the entries of each kind that one sweep cleans up.
const sweepBatch = 100

// sweep cleans up after dead processes: it abandons uploads and ends shippers
// whose lease has expired, completes removals of subscribers, and frees the segments
// of files that are done or abandoned. Any process may call it at any time. A process
// calls it before it waits for a change of the channel.
func (f fileStore) sweep(ctx context.Context) error {
	if err := f.sweepLeases(ctx); err != nil {
		return fmt.Errorf("sweep channel %q: %w", f.name, err)
	}
	if err := f.completeRemovals(ctx); err != nil {
		return fmt.Errorf("sweep channel %q: %w", f.name, err)
	}
	spent, err := query(ctx, f.db, func() ([]string, error) { return f.db.SRandMemberN(ctx, f.keys.spent(), sweepBatch).Result() })
	if err != nil {
		return fmt.Errorf("sweep channel %q: %w", f.name, err)
	}
	for _, id := range spent {
		if err := f.freeSegments(ctx, id); err != nil {
			return fmt.Errorf("sweep channel %q: %w", f.name, err)
		}
	}
	return nil
}

func (f fileStore) sweepLeases(ctx context.Context) error {
	now, err := f.now(ctx)
	if err != nil {
		return err
	}
	expired := &redis.ZRangeBy{Min: "-inf", Max: strconv.FormatInt(now.UnixMilli(), 10), Count: sweepBatch}
	var uploads, shippers []string
	err = f.db.Retry(ctx, func() error {
		pipe := f.db.Pipeline()
		u := pipe.ZRangeByScore(ctx, f.keys.uploads(), expired)
		s := pipe.ZRangeByScore(ctx, f.keys.leases(), expired)
		_, err := pipe.Exec(ctx)
		uploads, shippers = u.Val(), s.Val()
		return err
	})
	if err != nil {
		return err
	}
	for _, id := range uploads {
		r, err := f.record(ctx, id)
		if err != nil {
			return err
		}
		if _, _, err := f.abandon(ctx, abandonment{id: id, shipment: r.shipment, reship: true}); err != nil {
			return err
		}
	}
	for _, token := range shippers {
		if _, err := f.call(ctx, endScript, target{}, token, 1); err != nil {
			return err
		}
	}
	return nil
}

// abandonedMaxAge is the time that an abandoned upload is reported.
const abandonedMaxAge = 24 * time.Hour

// abandoned returns the ids of uploads that were abandoned and not shipped again,
// and the time of the last one.
func (f fileStore) abandoned(ctx context.Context) (ids []string, newest time.Time, err error) {
	now, err := f.now(ctx)
	if err != nil {
		return nil, newest, err
	}
	entries, err := query(ctx, f.db, func() ([]redis.Z, error) {
		return f.db.ZRangeByScoreWithScores(ctx, f.keys.abandoned(), &redis.ZRangeBy{
			Min: strconv.FormatInt(now.Add(-abandonedMaxAge).UnixMilli(), 10), Max: "+inf", Count: 1000}).Result()
	})
	for _, entry := range entries {
		id, _ := entry.Member.(string)
		ids, newest = append(ids, id), time.UnixMilli(int64(entry.Score))
	}
	return ids, newest, err
}

// abandonedNames returns the names of the files that [fileStore.abandoned] lists.
func (f fileStore) abandonedNames(ctx context.Context) ([]string, error) {
	ids, _, err := f.abandoned(ctx)
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(ids))
	for _, id := range ids {
		r, err := f.record(ctx, id)
		if err != nil {
			return nil, err
		}
		names = append(names, r.name)
	}
	return names, nil
}

// clearAbandoned removes the abandoned uploads of a file that is shipped with force, under another id:
// those with its own id, and those that were forced. An empty id removes none.
func (f fileStore) clearAbandoned(ctx context.Context, forced string) error {
	if forced == "" {
		return nil
	}
	ids, _, err := f.abandoned(ctx)
	for _, id := range ids {
		if err == nil && (id == forced || strings.HasPrefix(id, forced+"-")) {
			err = f.db.Retry(ctx, func() error { return f.db.ZRem(ctx, f.keys.abandoned(), id).Err() })
		}
	}
	return err
}
