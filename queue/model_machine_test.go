package queue_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"skidway/internal/handle"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/queue"
)

func TestEveryJobIsInOneStateOrHasEndedOnce(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		t.Run("any interleaving", func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { runMachine(t, db) })
		})
		for round := range redistest.Rounds(t, 0) {
			t.Run(fmt.Sprint("more ", round), func(t *testing.T) {
				rapid.Check(t, func(t *rapid.T) {
					for range 3 {
						runMachine(t, db)
					}
				})
			})
		}
	})
}

// keysOf returns the keys of a queue, and the node that has them.
func keysOf(db *rdb.DB, base string) (node redis.Cmdable, keys []string, err error) {
	node = db
	if cluster, ok := db.UniversalClient.(*redis.ClusterClient); ok {
		if node, err = cluster.MasterForKey(context.Background(), base); err != nil {
			return nil, nil, err
		}
	}
	keys, err = node.Keys(context.Background(), base+"*").Result()
	return node, keys, err
}

// empty deletes all keys of a queue.
func empty(db *rdb.DB, base string) error {
	node, keys, err := keysOf(db, base)
	if err != nil || len(keys) == 0 {
		return err
	}
	return node.Del(context.Background(), keys...).Err()
}

func runMachine(t *rapid.T, db *rdb.DB) {
	base := db.Prefix() + ":{" + modelQueue + ":0}:"
	if err := empty(db, base); err != nil {
		t.Fatal(err)
	}
	client, err := queue.NewClient(handle.New(db), nil)
	if err != nil {
		t.Fatal(err)
	}
	q, err := client.ForPool(modelQueue)
	if err != nil {
		t.Fatal(err)
	}
	client.SetNativeFrom(rapid.SampledFrom([]int{1, 1000}).Draw(t, "native from"))
	m := &machine{
		model:  &model{unique: map[string]*heldKey{}, counts: map[string]int{}, waited: map[string]bool{}},
		db:     db,
		client: client,
		queue:  q,
		base:   base,
		issued: map[string]bool{},
	}
	if rapid.Bool().Draw(t, "events") {
		m.redis(t, db.HSet(context.Background(), m.base+"meta", "events", 1000000))
		m.model.events = []string{}
	}
	for range 2 {
		m.Open(t)
		m.EnqueueMany(t)
	}
	actions := rapid.StateMachineActions(m)
	for range 3 { // what happens most
		actions[fmt.Sprint("Work", len(actions))] = m.Work
		actions[fmt.Sprint("Fetch", len(actions))] = m.Fetch
		actions[fmt.Sprint("Finish", len(actions))] = m.Finish
	}
	t.Repeat(actions) // 30 steps, on average
	if !db.Embedded() {
		t.Repeat(actions)
	}
}

const modelQueue = "model"

// A machine drives a queue in Redis and its model side by side.
type machine struct {
	model   *model
	db      *rdb.DB
	client  *queue.Client
	queue   *queue.PoolQueue
	base    string
	seen    *snapshot     // after the last step
	checked time.Time     // when that was checked
	slack   time.Duration // between two readings of the clock since then, at most
	leases  map[*modelWorker]*queue.Lease
	issued  map[string]bool // ids of jobs, also of those that Redis has lost
	serial  int
	scores  int          // of what the test makes old
	only    *modelWorker // the worker that acts, if it is already chosen
}

var ctx = context.Background()

func (m *machine) redis(t *rapid.T, cmd redis.Cmder) {
	if err := cmd.Err(); err != nil {
		t.Fatalf("%v: %v", cmd.Args(), err)
	}
}

// old returns a time long ago, later than the previous ones.
func (m *machine) old() float64 {
	m.scores++
	return float64(m.scores)
}

func pick[T any](t *rapid.T, what string, from []T) T {
	if len(from) == 0 {
		t.Skip("no " + what)
	}
	return from[rapid.IntRange(0, len(from)-1).Draw(t, what)]
}

// insert draws a job. Delays are far apart from each other and from now.
func (m *machine) insert(t *rapid.T) *modelJob {
	m.serial++
	j := &modelJob{kind: "k" + fmt.Sprint(m.serial%3), args: fmt.Sprintf(`{"n":%d}`, m.serial)}
	o := &j.options
	o.Queue = modelQueue
	o.Priority = rapid.SampledFrom([]queue.Priority{queue.Normal, queue.High, queue.Low}).Draw(t, "priority")
	switch rapid.IntRange(0, 3).Draw(t, "headers") {
	case 0:
		o.Headers = map[string]string{"traceparent": fmt.Sprintf("00-%032x-01", m.serial)}
	case 1:
		o.Headers = map[string]string{"tenant": "waiting", "name": "\"é\"\n"}
	}
	switch rapid.SampledFrom([]string{"plain", "plain", "now", "delay", "at", "past"}).Draw(t, "when") {
	case "plain":
		return j
	case "delay":
		o.Delay = time.Duration(rapid.IntRange(1, 9).Draw(t, "hours")) * time.Hour
	case "at":
		o.At = time.UnixMilli(nowMillis() + int64(rapid.IntRange(1, 9).Draw(t, "days"))*86400000)
	case "past": // the clock of an embedded server may be some milliseconds behind
		o.At = time.UnixMilli(nowMillis() - int64(rapid.IntRange(1, 9).Draw(t, "seconds ago"))*1000)
	}
	if rapid.IntRange(0, 2).Draw(t, "only its time") == 0 {
		return j
	}
	if rapid.Bool().Draw(t, "unique") {
		o.Unique.Key = rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "key")
		o.Unique.Scope = rapid.SampledFrom([]queue.Scope{queue.UntilFinished, queue.WhileWaiting, queue.ForDuration}).Draw(t, "scope")
		if o.Unique.Scope == queue.ForDuration {
			o.Unique.For = time.Hour
		}
	}
	if rapid.IntRange(0, 2).Draw(t, "retain") == 0 {
		o.Retain = 50 * 24 * time.Hour
	}
	if rapid.Bool().Draw(t, "more options") {
		o.MaxAttempts, o.Timeout = m.serial, time.Duration(m.serial)*time.Millisecond
	}
	return j
}

// accept compares the result of adding a job with the model.
func (m *machine) accept(t *rapid.T, j *modelJob, got queue.Result, now int64) {
	var held *queue.DuplicateError
	owner := m.model.owner(j.options)
	if errors.As(got.Err, &held) != (owner != "") || got.Err != nil && held == nil {
		t.Fatalf("enqueue %+v: %v, its key is held by %q", j.options, got.Err, owner)
	}
	if owner != "" {
		if held.Owner != m.global(owner) || held.Key != j.options.Unique.Key {
			t.Fatalf("the key is held by %s, got %+v", owner, held)
		}
		return
	}
	m.issue(t, strings.TrimPrefix(got.ID, modelQueue+":0:"), j)
	m.model.add(j, now)
}

// issue sets the id of a new job, which no other job may have had.
func (m *machine) issue(t *rapid.T, id string, j *modelJob) {
	if m.issued[id] {
		t.Fatalf("the id %s was issued twice", id)
	}
	m.issued[id], j.id = true, id
}

func (m *machine) global(id string) string { return modelQueue + ":0:" + id }

func (m *machine) Enqueue(t *rapid.T) {
	j := m.insert(t)
	now := nowMillis()
	id, err := m.client.Enqueue(ctx, queue.Raw(j.kind, []byte(j.args)), &j.options)
	m.accept(t, j, queue.Result{ID: id, Err: err}, now)
}

func (m *machine) EnqueueMany(t *rapid.T) {
	var jobs []*modelJob
	for range rapid.IntRange(1, 8).Draw(t, "jobs") {
		jobs = append(jobs, m.insert(t))
	}
	if rapid.IntRange(0, 23).Draw(t, "many") == 0 {
		for range 120 { // more than one call recovers
			m.serial++
			jobs = append(jobs, &modelJob{kind: "k", args: fmt.Sprint(m.serial), options: queue.Options{Queue: modelQueue}})
		}
	}
	m.enqueueMany(t, jobs)
}

func (m *machine) enqueueMany(t *rapid.T, jobs []*modelJob) {
	inserts := make([]queue.NewJob, len(jobs))
	for i, j := range jobs {
		inserts[i] = queue.NewJob{Args: queue.Raw(j.kind, []byte(j.args)), Options: j.options}
	}
	now, signals := nowMillis(), m.model.signals
	for i, got := range m.client.EnqueueMany(ctx, inserts) {
		m.accept(t, jobs[i], got, now)
	}
	m.model.signals = min(m.model.signals, signals+1) // one of all jobs of a call
}

// Foreign adds a job by one command, as other languages do, or a malformed entry.
func (m *machine) Foreign(t *rapid.T) {
	m.serial++
	j := &modelJob{kind: "f", args: fmt.Sprint(m.serial), foreign: true}
	j.options.Priority = rapid.SampledFrom([]queue.Priority{queue.Normal, queue.High, queue.Low}).Draw(t, "priority")
	values := []string{"kind", j.kind, "args", j.args}
	switch rapid.IntRange(0, 4).Draw(t, "sort") {
	case 3:
		values = append(values, "headers", `{"tenant": "t"}`)
		j.options.Headers = map[string]string{"tenant": "t"}
	case 0:
		values = append(values, "max_attempts", "7", "retain", "7200000", "id", "d000000000000001")
		j.options.MaxAttempts, j.options.Retain = 7, 2*time.Hour
	case 1:
		j.kind, j.garbage, values = "", true, []string{"args", "x"}
	case 2:
		j.kind, j.garbage, values = "", true, []string{"job", "2n4:kind99:x"}
	}
	added := m.db.XAdd(ctx, &redis.XAddArgs{Stream: m.base + lineNames[j.first()+3], Values: values})
	m.redis(t, added)
	m.issue(t, j.letter()+added.Val(), j)
	m.model.add(j, nowMillis())
}

// TestModelReadsRecords checks the model's own reader of records.
func TestModelReadsRecords(t *testing.T) {
	fields, err := recordFields("2n4:kind1:a4:kind1:b4:args0:")
	if err != nil || fields["kind"] != "b" || fields["args"] != "" || fields["priority"] != "n" {
		t.Fatalf("%v %v", fields, err)
	}
}
