package distribute

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"skidway/internal/handle"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

// The model of two files of three windows each, two shippers, and two subscribers with one
// worker each that counts one file at a time. The steps of all of them are in any order, and
// each may be killed at any step. It uses the scripts, the claims and the commits of the
// package; only the bytes are not there: a segment has modelSegment of them.
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

// A modelReader is the worker of a subscriber.
type modelReader struct {
	subscriber string
	queue      *claimQueue
	claim      *claim
	progress   progress // at the last commit
	position   int64    // bytes read of the upload
}

func newFlowModel(t *rapid.T, ctx context.Context, db *rdb.DB, name string) *flowModel {
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
	for _, name := range []string{"s", "t"} {
		if err := c.Subscribe(ctx, name, "words"); err != nil {
			t.Fatal(err)
		}
		m.readers = append(m.readers, &modelReader{subscriber: name})
		m.killWorker(m.readers[len(m.readers)-1])
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
		reply := m.call(admitScript, of, u.shipper, u.id, "head of "+u.id, map[bool]string{true: u.id}[u.last > 0], u.last, "", modelSegment, 1, modelReserve, testLeaseMS,
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
	if r.claim == nil {
		found, err := r.queue.next(m.ctx)
		m.must(err)
		if r.claim = found.claim; r.claim == nil {
			return
		}
		record, err := m.c.files.record(m.ctx, r.claim.id)
		m.must(err)
		r.progress = record.counted[r.subscriber]
		if r.progress.part == record.shipment {
			r.claim.commits = r.progress.commits
		} else {
			r.progress.keep = 0
		}
		r.position, r.claim.segment = r.progress.keep, modelSegment
		return
	}
	record, err := m.c.files.record(m.ctx, r.claim.id)
	m.must(err)
	switch {
	case record.shipment != r.claim.shipment || record.state == FileAbandoned:
		m.giveUp(r)
	case r.position < record.raw:
		n, err := m.c.db.Exists(m.ctx, m.c.keys.segment(record.id, record.shipment, int(r.position/modelSegment))).Result()
		if m.must(err); n == 0 {
			m.Fatalf("%s needs byte %d of %s, which is freed: %+v", r.subscriber, r.position, r.claim.id, record)
		}
		r.position = (r.position/modelSegment + 1) * modelSegment
	case record.state == FileUploaded:
		m.commit(r, true)
	default:
		if record.full {
			m.commit(r, false)
		}
		upload := uploadReader{files: m.c.files, subscriber: r.subscriber, record: record, patience: time.Millisecond}
		if upload.checkOlder(m.ctx) != nil && r.claim != nil {
			m.commit(r, false)
			m.giveUp(r)
		}
	}
}

func (m *flowModel) giveUp(r *modelReader) {
	m.must(r.claim.release(m.ctx))
	r.claim = nil
}

// commit commits what a worker has read.
func (m *flowModel) commit(r *modelReader, last bool) {
	result := &fileResult{cells: map[cellName]int64{}, progress: r.progress}
	if n := (r.position - r.progress.resume) / modelSegment; n > 0 {
		result.cells[cellName{"day", r.claim.id}] = n
		result.progress.resume = r.position
	}
	result.progress.keep = max(r.progress.keep, r.position-modelLag)
	allCounted, err := r.claim.commit(m.ctx, part{result: result, last: last})
	if err == errClaimLost {
		r.claim = nil
		return
	}
	m.must(err)
	r.progress = result.progress
	keep := r.progress.keep
	if last {
		keep = r.position
	}
	m.must(r.claim.foldAndFree(m.ctx, allCounted, keep))
	if last {
		r.claim = nil
	}
}

// killWorker forgets all that a worker had; its claims have expired.
func (m *flowModel) killWorker(r *modelReader) {
	if r.claim != nil {
		m.must(m.c.db.ZAdd(m.ctx, m.c.keys.claims(r.subscriber), redis.Z{Score: 1, Member: r.claim.id}).Err())
	}
	r.claim = nil
	r.queue = &claimQueue{channel: m.c, subscriber: r.subscriber, lease: time.Minute}
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
			m.work(m.readers[i])
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
		for _, r := range m.readers {
			counts, err := m.c.totals(r.subscriber).counts(m.ctx, "day", nil)
			if m.must(err); counts[u.id] != modelSegments {
				m.Fatalf("%s has counted %d segments of %s, want %d", r.subscriber, counts[u.id], u.id, modelSegments)
			}
		}
	}
}

func TestModelOfTheWindowComesToItsEndInAnyOrder(t *testing.T) {
	t.Parallel()
	db, channels := redistest.DB(t), 0
	rapid.Check(t, func(t *rapid.T) {
		channels++
		m := newFlowModel(t, context.Background(), db, fmt.Sprint("model", channels))
		for range rapid.IntRange(0, 80).Draw(t, "steps") {
			i := rapid.IntRange(0, 1).Draw(t, "which")
			switch rapid.IntRange(0, 19).Draw(t, "step") {
			case 0:
				m.killWorker(m.readers[i])
			case 1:
				m.killShipper(m.uploads[i])
			case 2, 3, 4, 5, 6, 7, 8, 9, 10:
				m.ship(m.uploads[i])
			default:
				m.work(m.readers[i])
			}
			m.check()
		}
		m.finish()
	})
}
