package distribute

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"skidway/distribute/cuts"
	"skidway/internal/handle"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

// The model of two files of three windows each, two shippers, and two subscribers. Each has
// a worker that counts one file at a time, or one worker serves both, or two do. The steps
// of all of them are in any order, each may be killed at any step, and the window be made
// smaller. It uses the scripts, the claims and the commits of the package; only the bytes are
// not there: a segment has modelSegment of them.
const (
	modelSegment  = 100
	modelWindow   = 3 * modelSegment
	modelReserve  = 2 * modelSegment
	modelSegments = 9
	modelLag      = 40 // bytes between a checkpoint and what was read
)

type flowModel struct {
	*rapid.T
	ctx     context.Context
	c       *Channel
	uploads []*modelUpload
	readers []*modelReader
}

// A modelUpload is a file with its shipper.
type modelUpload struct {
	id, shipper string
	shipment    int64 // 0: not admitted
	last        int64 // shipment
	booked      int64
	uploaded    int64
	complete    bool
}

// A modelReader is a worker, which reads one file at a time for its subscribers.
type modelReader struct {
	subscribers []string
	queues      claimQueues
	counts      []*modelCount // of the file that it reads
}

// A modelCount is the count of a file for one subscriber.
type modelCount struct {
	*claim
	progress progress // at the last commit
	position int64    // bytes read of the upload
}

var (
	modelSubscribers = []string{"s", "t"}
	modelReaders     = [][][]string{{{"s"}, {"t"}}, {{"s", "t"}}, {{"s", "t"}, {"t", "s"}}}
)

func newFlowModel(t *rapid.T, ctx context.Context, db *rdb.DB, name string, readers [][]string) *flowModel {
	c, err := Open(ctx, handle.New(db), name)
	if err == nil {
		err = db.HSet(ctx, c.keys.channel(), "window", modelWindow).Err()
	}
	if err != nil {
		t.Fatal(err)
	}
	m := &flowModel{T: t, ctx: ctx, c: c}
	for _, id := range []string{"f", "g"} {
		m.uploads = append(m.uploads, &modelUpload{id: id, shipper: "of " + id})
		m.call(beginScript, target{}, "of "+id, testLeaseMS, modeBatch, "host:1")
	}
	for _, name := range modelSubscribers {
		m.must(c.Subscribe(ctx, name, "words"))
	}
	for _, subscribers := range readers {
		r := &modelReader{subscribers: subscribers}
		m.killWorker(r)
		m.readers = append(m.readers, r)
	}
	return m
}

func (m *flowModel) call(script script, of target, args ...any) rdb.Reply {
	reply, err := m.c.call(m.ctx, script, of, args...)
	m.must(err)
	return reply
}

func (m *flowModel) must(err error) {
	if err != nil {
		m.Fatal(err)
	}
}

// ship does the next step of a shipper.
func (m *flowModel) ship(u *modelUpload) {
	of := target{file: u.id, shipment: u.shipment}
	switch {
	case u.complete:
	case u.shipment == 0:
		reply := m.call(admitScript, of, u.shipper, u.id, "head of "+u.id, map[bool]string{true: u.id}[u.last > 0], u.last, "", modelSegment, 1, modelReserve, testLeaseMS, 0,
			"name", u.id, "codec", "plain", "segment", modelSegment, "unit", modelSegment, "upload", modelSegments*modelSegment, "base", 0)
		if reply.Text(0) == "admitted" {
			u.shipment, u.booked, u.uploaded = reply.Int(1), 1, 0
		}
	case u.uploaded == modelSegments:
		u.complete = true
		if m.call(completeScript, of, u.shipper, u.shipment, u.uploaded*modelSegment, u.id).Int(0) == 2 {
			m.must(m.c.files.freeSegments(m.ctx, u.id))
		}
	case u.uploaded == u.booked:
		if m.call(bookScript, of, u.shipper, u.shipment, u.id, u.booked, modelSegment).Text(0) == "booked" {
			u.booked++
		}
	default:
		m.must(m.c.db.Set(m.ctx, m.c.keys.segment(u.id, u.shipment, int(u.uploaded)), "content", 0).Err())
		u.uploaded++
		m.must(m.c.db.HSet(m.ctx, m.c.keys.file(u.id), "raw", u.uploaded*modelSegment).Err())
	}
}

// killShipper abandons an upload, as any process does when the lease has expired. The next
// shipper uploads the file again.
func (m *flowModel) killShipper(u *modelUpload) {
	if u.shipment == 0 || u.complete {
		return
	}
	m.must(m.c.db.ZAdd(m.ctx, m.c.keys.uploads(), redis.Z{Score: 1, Member: u.id}).Err())
	m.must(m.c.files.sweep(m.ctx))
	u.last, u.shipment = u.shipment, 0
}

// work does the next step of a worker: it claims a file, reads a segment, or commits.
func (m *flowModel) work(r *modelReader) {
	if len(r.counts) == 0 {
		m.claim(r)
		return
	}
	record, err := m.c.files.record(m.ctx, r.counts[0].id)
	m.must(err)
	position := slices.MinFunc(r.counts, func(a, b *modelCount) int { return cmp.Compare(a.position, b.position) }).position
	switch {
	case record.shipment != r.counts[0].shipment || record.state == FileAbandoned:
		m.giveUp(r)
	case position < record.raw:
		n, err := m.c.db.Exists(m.ctx, m.c.keys.segment(record.id, record.shipment, int(position/modelSegment))).Result()
		if m.must(err); n == 0 {
			m.Fatalf("%v need byte %d of %s, which is freed: %+v", r.subscribers, position, record.id, record)
		}
		for _, c := range r.counts {
			c.position = max(c.position, (position/modelSegment+1)*modelSegment)
		}
	case record.state == FileUploaded:
		m.commit(r, true)
	default:
		if record.full {
			m.commit(r, false)
		}
		upload := uploadReader{files: m.c.files, queues: r.queues, record: record, patience: time.Millisecond}
		if upload.checkOlder(m.ctx) != nil {
			m.commit(r, false)
			m.giveUp(r)
		}
	}
}

func (m *flowModel) claim(r *modelReader) {
	found, err := r.queues.next(m.ctx)
	m.must(err)
	for _, claim := range found.claims {
		record, err := m.c.files.record(m.ctx, claim.id)
		m.must(err)
		c := &modelCount{claim: claim, progress: record.counted[claim.subscriber]}
		if c.progress.part == record.shipment {
			claim.commits = c.progress.commits
		} else {
			c.progress.keep = 0
		}
		c.position, claim.segment = c.progress.keep, modelSegment
		r.counts = append(r.counts, c)
	}
}

func (m *flowModel) giveUp(r *modelReader) {
	for _, c := range r.counts {
		m.must(c.release(m.ctx))
	}
	r.counts = nil
}

// commit commits what a worker has read.
func (m *flowModel) commit(r *modelReader, last bool) {
	r.counts = slices.DeleteFunc(r.counts, func(c *modelCount) bool { return !m.commitCount(c, last) || last })
}

// commitCount commits what was read for a subscriber, and reports whether it has the claim.
func (m *flowModel) commitCount(c *modelCount, last bool) bool {
	result := &fileResult{cells: map[cellName]int64{}, progress: c.progress}
	if n := (c.position - c.progress.resume) / modelSegment; n > 0 {
		result.cells[cellName{"day", c.id}] = n
		result.progress.resume = c.position
	}
	result.progress.keep = max(c.progress.keep, c.position-modelLag)
	allCounted, err := c.commit(m.ctx, part{result: result, last: last})
	if err == errClaimLost {
		return false
	}
	m.must(err)
	c.progress = result.progress
	keep := c.progress.keep
	if last {
		keep = c.position
	}
	m.must(c.foldAndFree(m.ctx, cuts.Settings{}, allCounted, keep))
	return true
}

// killWorker forgets all that a worker had; its claims have expired.
func (m *flowModel) killWorker(r *modelReader) {
	for _, c := range r.counts {
		m.must(m.c.db.ZAdd(m.ctx, m.c.keys.subscriber(c.subscriber).claims(), redis.Z{Score: 1, Member: c.id}).Err())
	}
	r.counts, r.queues = nil, nil
	for _, name := range r.subscribers {
		r.queues.add(&claimQueue{channel: m.c, subscriber: name, lease: time.Minute})
	}
}

// resize sets the window.
func (m *flowModel) resize(window int64) {
	m.must(m.c.db.HSet(m.ctx, m.c.keys.channel(), "window", window).Err())
}

// check compares the window with what the files hold.
func (m *flowModel) check() {
	used, err := m.c.db.HGet(m.ctx, m.c.keys.channel(), "used").Int64()
	if err == nil && (used > modelWindow || used < 0) {
		m.Fatalf("%d bytes of the window of %d are used", used, modelWindow)
	}
}

// finish does the steps of all in turn, until all is counted.
func (m *flowModel) finish() {
	for range 500 {
		for i := range m.uploads {
			m.ship(m.uploads[i])
			m.work(m.readers[i%len(m.readers)])
			m.check()
		}
		if open, err := m.c.db.Exists(m.ctx, m.c.keys.open()).Result(); err == nil && open == 0 && m.uploads[0].complete && m.uploads[1].complete {
			break
		}
	}
	for _, u := range m.uploads {
		record, err := m.c.files.record(m.ctx, u.id)
		if m.must(err); record.state != FileDone || record.inRedis() {
			m.Fatalf("the work does not come to its end: %+v, %+v", *u, record)
		}
		for _, subscriber := range modelSubscribers {
			counts, err := m.c.totals(subscriber).counts(m.ctx, "day", nil)
			if m.must(err); counts[u.id] != modelSegments {
				m.Fatalf("%s has counted %d segments of %s, want %d", subscriber, counts[u.id], u.id, modelSegments)
			}
		}
	}
}

func TestModelOfTheWindowComesToItsEndInAnyOrder(t *testing.T) {
	t.Parallel()
	db, channels := redistest.DB(t), 0
	rapid.Check(t, func(t *rapid.T) {
		channels++
		m := newFlowModel(t, context.Background(), db, fmt.Sprint("model", channels), rapid.SampledFrom(modelReaders).Draw(t, "readers"))
		for range rapid.IntRange(0, 80).Draw(t, "steps") {
			i := rapid.IntRange(0, 1).Draw(t, "which")
			switch rapid.IntRange(0, 19).Draw(t, "step") {
			case 0:
				m.killWorker(m.readers[i%len(m.readers)])
			case 1:
				m.killShipper(m.uploads[i])
			case 2:
				m.resize(rapid.Int64Range(modelReserve, modelWindow).Draw(t, "window"))
			case 3, 4, 5, 6, 7, 8, 9, 10:
				m.ship(m.uploads[i])
			default:
				m.work(m.readers[i%len(m.readers)])
			}
			m.check()
		}
		m.finish()
	})
}
