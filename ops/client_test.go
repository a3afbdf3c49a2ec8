package ops_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"slices"
	"testing"
	"time"

	"skidway"
	"skidway/internal/handle"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/ops"
	"skidway/queue"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// A fixture is a client and that of its queues.
type fixture struct {
	testing.TB
	db     *rdb.DB
	queues *queue.Client
	client *ops.Client
}

func setup(t testing.TB, db *rdb.DB) *fixture {
	t.Helper()
	queues, err := queue.NewClient(handle.New(db), nil)
	if err != nil {
		t.Fatal(err)
	}
	client, err := ops.NewClient(queues, nil)
	if err != nil {
		t.Fatal(err)
	}
	client.Unlimited()
	return &fixture{t, db, queues, client}
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// add enqueues a job.
func (f *fixture) add(name, kind, args string, options queue.Options) string {
	f.Helper()
	options.Queue = name
	id, err := f.queues.Enqueue(f.Context(), queue.Raw(kind, []byte(args)), &options)
	f.must(err)
	return id
}

// serve makes a pool known that serves queues.
func (f *fixture) serve(pool string, names ...string) {
	f.Helper()
	info := &queue.PoolInfo{Name: pool, Queues: names, Concurrency: 2, State: "running"}
	_, err := f.queues.Beat(f.Context(), queue.PoolBeat{Pool: pool, Length: time.Minute, Info: info})
	f.must(err)
}

func TestReportJoinsQueueAndWorkers(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	for range 3 {
		f.add("mail", "a", "", queue.Options{})
	}
	f.add("other", "a", "", queue.Options{})
	f.serve("w", "mail", "x*")
	q, err := f.queues.ForPool("mail")
	f.must(err)
	lease, err := q.NewLease("w.1", time.Minute)
	f.must(err)
	fetched, err := lease.Fetch(t.Context(), queue.FetchLimits{Jobs: 2, Bytes: 1000})
	f.must(err)
	report, err := f.client.Report(t.Context(), "mail")
	f.must(err)
	if report.Depth.Active != 2 || report.Depth.Waiting != 1 || ops.Jobs(report.Depth) != 3 || report.Slots != 2 || len(report.Days) != 7 {
		t.Errorf("the report is %+v", report)
	}
	isFirst := func(job *queue.Job) bool { return job.ID == fetched.Jobs[0].ID }
	if len(report.Workers) != 1 || report.Workers[0].Held() != 2 || !slices.ContainsFunc(report.Workers[0].Jobs, isFirst) || report.Workers[0].Condition() != "running" {
		t.Errorf("the workers are %+v", report.Workers)
	}
	if !slices.Contains(report.Findings, "All slots of its workers (2) are held by jobs: start more workers, or raise --concurrency.") {
		t.Errorf("the findings are %q", report.Findings)
	}
	statuses, err := f.client.Statuses(t.Context(), nil)
	f.must(err)
	notes := map[string]string{}
	for _, status := range statuses {
		notes[status.Name] = status.Note()
	}
	if len(notes) != 2 || notes["mail"] != "" || notes["other"] != "no worker serves it" {
		t.Errorf("the notes are %q", notes)
	}
}

func TestReportFindsAStalledQueueByItsSamples(t *testing.T) {
	t.Parallel()
	db := redistest.Open(t, "embedded:")
	f := setup(t, db)
	now := time.Date(2026, 11, 20, 14, 0, 50, 0, time.UTC)
	f.must(db.SetEmbeddedTime(now))
	f.serve("w", "mail")
	f.add("mail", "a", "", queue.Options{})
	sample := func(at time.Time, free int) {
		key := db.Prefix() + ":{mail:0}:stats:1m:" + fmt.Sprint(at.Unix()/60)
		f.must(db.HSet(t.Context(), key, " waiting", 1, " oldest", at.Sub(now).Milliseconds(), " at", at.UnixMilli(), " taken", 0, " free", free).Err())
	}
	diagnoses := func(at time.Time) (names []string) {
		f.must(db.SetEmbeddedTime(at))
		f.serve("w", "mail")
		report, err := f.client.Report(t.Context(), "mail")
		f.must(err)
		for _, d := range report.Diagnoses {
			names = append(names, d.Name)
		}
		return names
	}
	sample(now.Add(time.Second), 2)
	if got := diagnoses(now.Add(59 * time.Second)); got != nil {
		t.Errorf("early: %q", got)
	}
	if got := diagnoses(now.Add(61 * time.Second)); !slices.Equal(got, []string{"stalled"}) {
		t.Errorf("after a minute: %q", got)
	}
	sample(now.Add(55*time.Second), 0)
	if got := diagnoses(now.Add(61 * time.Second)); got != nil {
		t.Errorf("no slot was free then: %q", got)
	}
}

func TestSlotsThatHoldJobsOfOtherQueuesAreNotFree(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		f := setup(t, db)
		f.serve("w", "mail", "other")
		f.serve("v", "mail")
		for range 2 {
			f.add("other", "a", "", queue.Options{})
		}
		f.add("mail", "a", "", queue.Options{})
		free := func() int {
			statuses, err := f.client.Statuses(t.Context(), []string{"mail"})
			f.must(err)
			return statuses[0].Free
		}
		if n := free(); n != 4 {
			t.Errorf("%d slots are free, want 4", n)
		}
		q, err := f.queues.ForPool("other")
		f.must(err)
		lease, err := q.NewLease("w.1", time.Minute)
		f.must(err)
		_, err = lease.Fetch(t.Context(), queue.FetchLimits{Jobs: 2, Bytes: 1000})
		f.must(err)
		if n := free(); n != 2 {
			t.Errorf("%d slots are free, want those of the other worker: 2", n)
		}
	})
}

func TestSlotsAboveTheLimitOfAQueueAreNotFree(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	info := &queue.PoolInfo{Name: "w", Queues: []string{"ma*", "mail", "*"}, Limits: []int{5, 2, 0}, Concurrency: 8, State: "running"}
	_, err := f.queues.Beat(t.Context(), queue.PoolBeat{Pool: "w", Length: time.Minute, Info: info})
	f.must(err)
	want := func(mail, main, other int) {
		t.Helper()
		statuses, err := f.client.Statuses(t.Context(), []string{"mail", "main", "other"})
		f.must(err)
		for i, n := range []int{mail, main, other} {
			if statuses[i].Free != n || statuses[i].Slots != 8 {
				t.Errorf("queue %s has %d of %d slots free, want %d", statuses[i].Name, statuses[i].Free, statuses[i].Slots, n)
			}
		}
	}
	want(2, 5, 8)
	for range 3 {
		f.add("mail", "a", "", queue.Options{})
	}
	q, err := f.queues.ForPool("mail")
	f.must(err)
	lease, err := q.NewLease("w.1", time.Minute)
	f.must(err)
	for _, free := range []int{1, 0} {
		_, err = lease.Fetch(t.Context(), queue.FetchLimits{Jobs: 1, Bytes: 1000})
		f.must(err)
		want(free, 5, 6+free)
	}
}

func TestQueueThatDoesNotExistIsNamed(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	var none *ops.NoQueueError
	if _, err := f.client.Report(t.Context(), "mail"); !errors.As(err, &none) || none.Name != "mail" || len(none.Known) > 0 {
		t.Errorf("without queues: %v", err)
	}
	f.add("mails", "a", "", queue.Options{})
	if _, err := f.client.QueueNames(t.Context(), "mail"); !errors.As(err, &none) || !slices.Equal(none.Known, []string{"mails"}) {
		t.Errorf("with another queue: %v", err)
	}
}

func TestQueueOfANewerReleaseDoesNotHideOthers(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	f.add("mail", "a", "", queue.Options{})
	f.add("new", "a", "", queue.Options{})
	f.must(f.db.HSet(t.Context(), f.db.Prefix()+":{new:0}:meta", "format", "9").Err())
	statuses, err := f.client.Statuses(t.Context(), nil)
	f.must(err)
	var format *queue.FormatError
	for _, status := range statuses {
		if errors.As(status.Err, &format) != (status.Name == "new") {
			t.Errorf("%s: %v", status.Name, status.Err)
		}
	}
	fleet, err := f.client.Fleet(t.Context(), nil)
	f.must(err)
	if len(fleet.Unreadable) != 1 || !errors.As(fleet.Unreadable[0], &format) || format.Queue != "new" {
		t.Errorf("the queues that can't be read: %v", fleet.Unreadable)
	}
}

func TestSignalReachesAWorkerThroughAQueue(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	f.add("mail", "a", "", queue.Options{})
	f.serve("w", "ma*")
	f.serve("lost", "none*")
	q, err := f.queues.ForPool("mail")
	f.must(err)
	_, cursor, err := q.Signals(t.Context(), queue.StreamCursor{})
	f.must(err)
	fleet, err := f.client.Fleet(t.Context(), &ops.FleetOptions{WithoutJobs: true})
	f.must(err)
	results := map[string]error{}
	for _, worker := range fleet.Living() {
		results[worker.Name] = f.client.Signal(t.Context(), fleet, worker, queue.SignalQuiet)
	}
	if len(results) != 2 || results["w"] != nil || results["lost"] == nil {
		t.Errorf("the results are %v", results)
	}
	signals, _, err := q.Signals(t.Context(), cursor)
	f.must(err)
	if len(signals) != 1 || signals[0].Kind != queue.SignalQuiet || signals[0].Worker != "w" {
		t.Errorf("the signals are %+v", signals)
	}
}

func Example() {
	ctx := context.Background()
	db, err := skidway.Open(ctx, "embedded:", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	queues, err := queue.NewClient(db, nil)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := queues.Enqueue(ctx, queue.Raw("email.send", nil), &queue.Options{Queue: "mail"}); err != nil {
		log.Fatal(err)
	}
	client, err := ops.NewClient(queues, nil)
	if err != nil {
		log.Fatal(err)
	}
	report, err := client.Report(ctx, "mail")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Depth.Waiting, report.Note())
	// Output: 1 no worker serves it
}
