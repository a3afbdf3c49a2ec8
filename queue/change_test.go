package queue_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/queue"
)

// traces returns the queue's keys that still mention jobs.
func (d *fixture) traces() (left []string) {
	d.Helper()
	for _, name := range []string{"moved", "unique", "unique:expiry", "delayed", "delayed:jobs", "dead", "dead:jobs", "results", "results:jobs", "logs", "progress", "cancelled"} {
		n, err := d.db.Exists(d.Context(), d.key(name)).Result()
		d.must(err)
		if n > 0 {
			left = append(left, name)
		}
	}
	for _, field := range []string{"dead_bytes", "result_bytes"} {
		if n := d.db.HGet(d.Context(), d.key("meta"), field).Val(); n != "" && n != "0" {
			left = append(left, field+"="+n)
		}
	}
	return left
}

// inEach adds a job with a unique key in every state but active.
func (d *fixture) inEach(scope queue.Unique) map[queue.State]string {
	d.Helper()
	with := func(o queue.Options, key string) queue.Options {
		o.Unique = scope
		o.Unique.Key = key
		return o
	}
	ids := map[queue.State]string{}
	ids[queue.Dead] = d.bury("a", with(queue.Options{}, "dead"))
	l := d.lease(fmt.Sprintf("w-%d", time.Now().UnixNano()))
	ids[queue.Finished] = d.add("a", with(queue.Options{Retain: time.Hour}, "finished"))
	job := d.fetch(l, 1)[0]
	d.must(d.queue.AppendLog(d.Context(), job, []string{"hello"}))
	d.must(d.queue.SetProgress(d.Context(), job, []byte("50%")))
	d.end(l, queue.AttemptSucceeded, job)
	ids[queue.Delayed] = d.add("a", with(queue.Options{Delay: time.Hour}, "delayed"))
	ids[queue.Waiting] = d.add("a", with(queue.Options{At: time.Now()}, "waiting"))
	return ids
}

var scopes = map[string]queue.Unique{
	"until finished": {Scope: queue.UntilFinished},
	"while waiting":  {Scope: queue.WhileWaiting},
	"for a duration": {Scope: queue.ForDuration, For: time.Hour},
}

func TestDeletedJobLeavesNothingBehind(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		for name, scope := range scopes {
			for state, id := range d.inEach(scope) {
				d.must(d.client.Delete(t.Context(), id))
				if _, err := d.client.Get(t.Context(), id); !errors.Is(err, queue.ErrNoJob) {
					t.Errorf("%s, %s: Get: %v", name, state, err)
				}
				if err := d.client.Delete(t.Context(), id); !errors.Is(err, queue.ErrNoJob) {
					t.Errorf("%s, %s: the second Delete: %v", name, state, err)
				}
			}
			if left := d.traces(); len(left) > 0 {
				t.Errorf("%s: left behind: %v", name, left)
			}
		}
	})
}

func TestActiveJobCanNotBeDeleted(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		id := d.add("a", queue.Options{})
		l := d.lease("w")
		jobs := d.fetch(l, 1)
		if err := d.client.Delete(t.Context(), id); !errors.Is(err, queue.ErrState) {
			t.Errorf("Delete: %v", err)
		}
		d.end(l, queue.AttemptSucceeded, jobs...)
	})
}

func TestCancelledJobEndsAndIsRetainedAsCancelled(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		for _, o := range []queue.Options{{Retain: time.Hour}, {Retain: time.Hour, Delay: time.Hour}} {
			o.Unique.Key = "k"
			id := d.add("a", o)
			was, err := d.client.Cancel(t.Context(), id)
			if want := map[bool]queue.State{true: queue.Waiting, false: queue.Delayed}[o.Delay == 0]; err != nil || was != want {
				t.Errorf("it was %s: %v", was, err)
			}
			if job := d.get(id); job.State != queue.Finished || job.Outcome != queue.Cancelled {
				t.Errorf("the job is %+v", job)
			}
			if _, err := d.client.Cancel(t.Context(), id); !errors.Is(err, queue.ErrState) {
				t.Errorf("the second Cancel: %v", err)
			}
		}
		if f, err := d.lease("w").Fetch(t.Context(), queue.FetchLimits{Jobs: 10, Bytes: 1 << 20}); err != nil || len(f.Jobs) != 0 {
			t.Errorf("fetched %v: %v", f.Jobs, err)
		}
	})
}

func TestCancelledActiveJobIsSignalledAndDoesNotRunAgain(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		for name, as := range map[string]queue.Disposition{"failed": queue.AttemptRetry, "handed back": queue.AttemptReturned} {
			t.Run(name, func(t *testing.T) {
				d := setup(t, db)
				_, mark, err := d.queue.Signals(t.Context(), queue.StreamCursor{})
				d.must(err)
				id := d.add("a", queue.Options{Retain: time.Hour})
				l := d.lease("w-" + name[:3])
				jobs := d.fetch(l, 1)
				if was, err := d.client.Cancel(t.Context(), id); err != nil || was != queue.Active {
					t.Fatalf("it was %s: %v", was, err)
				}
				signals, _, err := d.queue.Signals(t.Context(), mark)
				d.must(err)
				if len(signals) != 1 || signals[0].Kind != queue.SignalCancel || signals[0].Job != id || signals[0].Precedes(jobs[0]) {
					t.Errorf("the signals are %v", signals)
				}
				d.end(l, as, jobs...)
				if job := d.get(id); job.State != queue.Finished || job.Outcome != queue.Cancelled {
					t.Errorf("the job is %+v", job)
				}
			})
		}
	})
}

func TestDeadJobThatIsRetriedHasAllItsAttemptsAgain(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		id := d.bury("a", queue.Options{MaxAttempts: 1, Deadline: time.Now().Add(-time.Hour), Unique: queue.Unique{Key: "k"}})
		d.must(d.client.Retry(t.Context(), id))
		l := d.lease("w")
		job := d.fetch(l, 1)[0]
		if job.ID != id || job.MaxAttempts != 1 || job.Attempts != 1 || job.Forgiven != 1 || len(job.Errors) != 1 || !job.Deadline.IsZero() || job.Reason != "" || !job.Ended.IsZero() {
			t.Errorf("the job is %+v", job)
		}
		var duplicate *queue.DuplicateError
		if _, err := d.client.Enqueue(t.Context(), queue.Raw("b", nil), &queue.Options{Queue: "q", Unique: queue.Unique{Key: "k"}}); !errors.As(err, &duplicate) || duplicate.Owner != id {
			t.Errorf("its unique key: %v", err)
		}
		d.end(l, queue.AttemptDead, job) // and once more
		d.must(d.client.Retry(t.Context(), id))
		if job := d.fetch(l, 1)[0]; job.Attempts != 2 || job.Forgiven != 2 {
			t.Errorf("the job is %+v", job)
		}
	})
}

func TestDeadJobStaysDeadWhileItsKeyIsHeld(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		for name, scope := range map[string]queue.Scope{"f": queue.UntilFinished, "w": queue.WhileWaiting} {
			u := queue.Unique{Key: name, Scope: scope}
			id := d.bury("a", queue.Options{Unique: u})
			owner := d.add("a", queue.Options{Unique: u})
			var duplicate *queue.DuplicateError
			if err := d.client.Retry(t.Context(), id); !errors.As(err, &duplicate) || duplicate.Owner != owner || duplicate.Key != name {
				t.Errorf("Retry: %v", err)
			}
			if job := d.get(id); job.State != queue.Dead || job.Reason != "because" {
				t.Errorf("the job is %+v", job)
			}
			if n, err := d.changeAll("retry", queue.Dead); n != 0 || err != nil {
				t.Errorf("all of them: changed %d: %v", n, err)
			}
			d.must(d.client.Delete(t.Context(), id))
		}
	})
}

func TestRetriedDelayedJobRunsNow(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		id := d.add("a", queue.Options{Delay: time.Hour})
		d.must(d.client.Retry(t.Context(), id))
		if job := d.fetch(d.lease("w"), 1)[0]; job.ID != id {
			t.Errorf("fetched %s, want %s", job.ID, id)
		}
		if err := d.client.Retry(t.Context(), id); !errors.Is(err, queue.ErrState) {
			t.Errorf("Retry of an active job: %v", err)
		}
	})
}

func TestRescheduledJobIsDueAtItsNewTimeAndWakesTheMover(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		id := d.add("a", queue.Options{Delay: 2 * time.Hour})
		_, mark, err := d.queue.Signals(t.Context(), queue.StreamCursor{})
		d.must(err)
		later, sooner := time.UnixMilli(time.Now().Add(24*time.Hour).UnixMilli()), time.UnixMilli(time.Now().Add(time.Hour).UnixMilli())
		d.must(d.client.Reschedule(t.Context(), id, later))
		signals, mark, err := d.queue.Signals(t.Context(), mark)
		if err != nil || len(signals) != 0 || !d.get(id).Due.Equal(later) {
			t.Errorf("later: signals %v, due %s: %v", signals, d.get(id).Due, err)
		}
		d.must(d.client.Reschedule(t.Context(), id, sooner))
		signals, _, err = d.queue.Signals(t.Context(), mark)
		if err != nil || len(signals) != 1 || signals[0].Kind != queue.SignalDue || !d.get(id).Due.Equal(sooner) {
			t.Errorf("sooner: signals %v, due %s: %v", signals, d.get(id).Due, err)
		}
		waiting := d.add("a", queue.Options{})
		if err := d.client.Reschedule(t.Context(), waiting, sooner); !errors.Is(err, queue.ErrState) {
			t.Errorf("a waiting job: %v", err)
		}
		for name, at := range map[string]time.Time{"in 200 years": time.Now().AddDate(200, 0, 0), "the zero time": {}} {
			if err := d.client.Reschedule(t.Context(), id, at); !errors.Is(err, queue.ErrInvalid) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestBulkChangesAffectAllJobsOfAStateAndNoOthers(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		jobs := 410 // more than two steps
		if db.Embedded() {
			jobs = 30
		}
		d := setup(t, db)
		l := d.lease("w")
		put := map[queue.State]func(kind string){
			queue.Waiting: func(kind string) { d.add(kind, queue.Options{Unique: queue.Unique{Key: kind + time.Now().String()}}) },
			queue.Delayed: func(kind string) { d.add(kind, queue.Options{Delay: time.Hour}) },
			queue.Dead: func(kind string) {
				d.add(kind, queue.Options{Priority: queue.High})
				d.end(l, queue.AttemptDead, d.fetch(l, 1)...)
			},
			queue.Finished: func(kind string) {
				d.add(kind, queue.Options{Priority: queue.High, Retain: time.Hour})
				d.end(l, queue.AttemptSucceeded, d.fetch(l, 1)...)
			},
			queue.Active: func(kind string) {
				d.add(kind, queue.Options{Priority: queue.High})
				d.fetch(l, 1)
			},
		}
		for name, c := range map[string]struct {
			do    string
			state queue.State
		}{
			"delete waiting":  {"delete", queue.Waiting},
			"delete delayed":  {"delete", queue.Delayed},
			"delete dead":     {"delete", queue.Dead},
			"delete finished": {"delete", queue.Finished},
			"cancel waiting":  {"cancel", queue.Waiting},
			"cancel delayed":  {"cancel", queue.Delayed},
			"retry delayed":   {"retry", queue.Delayed},
			"retry dead":      {"retry", queue.Dead},
		} {
			for i := range jobs {
				put[c.state](map[bool]string{true: "odd", false: "even"}[i%2 == 1])
			}
			if n, err := d.changeAll(c.do, c.state, "other"); n != 0 || err != nil {
				t.Errorf("%s: %d jobs are of another kind: %v", name, n, err)
			}
			if n, err := d.changeAll(c.do, c.state, "odd"); n != jobs/2 || err != nil {
				t.Errorf("%s: %d odd ones: %v", name, n, err)
			}
			if n, err := d.changeAll(c.do, c.state); n != jobs/2 || err != nil {
				t.Errorf("%s: %d others: %v", name, n, err)
			}
			if left := d.all(c.state, 100); len(left) != 0 {
				t.Errorf("%s: %d jobs are left", name, len(left))
			}
			if _, err := d.changeAll("delete", queue.Waiting); err != nil {
				t.Error(err)
			}
			if left := d.traces(); len(left) > 0 {
				t.Errorf("%s: left behind: %v", name, left)
			}
		}
		for range 10 {
			put[queue.Active]("a")
		}
		put[queue.Waiting]("a")
		if n, err := d.changeAll("cancel", queue.Active, "a"); n != 10 || err != nil {
			t.Errorf("cancelled %d active ones: %v", n, err)
		}
		if n := db.HLen(t.Context(), d.key("cancelled")).Val(); n != 10 {
			t.Errorf("%d are marked", n)
		}
	})
}

func TestPurgeOfWaitingJobsKeepsStreamsGroupsAndActiveJobs(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		l := d.lease("w")
		d.add("a", queue.Options{})
		held := d.fetch(l, 1)
		d.add("a", queue.Options{})
		d.add("a", queue.Options{Priority: queue.Low, Unique: queue.Unique{Key: "k"}})
		if n, err := d.changeAll("delete", queue.Waiting); n != 2 || err != nil {
			t.Fatalf("purged %d: %v", n, err)
		}
		d.end(l, queue.AttemptSucceeded, held...)
		groups, err := db.XInfoGroups(t.Context(), d.key("2:normal:fresh")).Result()
		if err != nil || len(groups) != 1 {
			t.Errorf("the groups are %v: %v", groups, err)
		}
		d.add("a", queue.Options{Unique: queue.Unique{Key: "k"}})
		d.fetch(l, 1)
	})
}

func TestLostAnswerOfAChangeIsReportedAndNotRepeated(t *testing.T) {
	t.Parallel()
	proxy := redistest.StartProxy(t, redistest.URL(t))
	d := setup(t, redistest.Open(t, proxy.URL))
	d.must(d.client.Delete(t.Context(), d.add("a", queue.Options{}))) // Redis knows the script now
	id := d.add("a", queue.Options{Delay: time.Hour})
	sent := proxy.Commands()
	proxy.DropReply(1)
	var unknown *rdb.OutcomeUnknownError
	if err := d.client.Delete(t.Context(), id); !errors.As(err, &unknown) {
		t.Errorf("Delete: %v", err)
	}
	if sent = proxy.Commands() - sent; sent != 1 {
		t.Errorf("%d commands were sent, want 1", sent)
	}
	if _, err := d.client.Get(t.Context(), id); !errors.Is(err, queue.ErrNoJob) {
		t.Errorf("the job was not deleted: %v", err)
	}
}

func TestChangeOnlyIfLeavesJobsInOtherStatesAlone(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		waiting, delayed, dead := d.add("a", queue.Options{}), d.add("a", queue.Options{Delay: time.Hour}), d.bury("a", queue.Options{})
		only := queue.OnlyIf(queue.Delayed)
		if state, err := d.client.Cancel(t.Context(), waiting, only); state != queue.Waiting || !errors.Is(err, queue.ErrState) {
			t.Errorf("cancel a waiting job: %s, %v", state, err)
		}
		if err := d.client.Retry(t.Context(), dead, only); !errors.Is(err, queue.ErrState) {
			t.Errorf("retry a dead job: %v", err)
		}
		if err := d.client.Delete(t.Context(), dead, only); !errors.Is(err, queue.ErrState) {
			t.Errorf("delete a dead job: %v", err)
		}
		if err := d.client.SetPriority(t.Context(), waiting, queue.High, only); !errors.Is(err, queue.ErrState) || d.get(waiting).Priority != queue.Normal {
			t.Errorf("change the priority of a waiting job: %v", err)
		}
		for id, want := range map[string]queue.State{waiting: queue.Waiting, dead: queue.Dead} {
			if state := d.get(id).State; state != want {
				t.Errorf("the %s job is %s", want, state)
			}
		}
		d.must(d.client.Retry(t.Context(), delayed, only))
		if state := d.get(delayed).State; state != queue.Waiting {
			t.Errorf("the delayed job is %s", state)
		}
	})
}

func TestPurgeIsFastThoughSomeJobsHaveLogs(t *testing.T) {
	t.Parallel()
	d := setup(t, redistest.DB(t))
	var jobs []queue.NewJob
	for range 1000 {
		jobs = append(jobs, queue.NewJob{Args: queue.Raw("a", nil), Options: queue.Options{Queue: "q"}})
	}
	results := d.client.EnqueueMany(t.Context(), jobs)
	last := results[len(results)-1].ID
	row := last[len("q:0:"):]
	d.must(d.db.HSet(t.Context(), d.key("logs"), row, "line\n", "n1-1", "of a job that is gone\n").Err())
	op := queue.Operation{Do: "delete", State: queue.Waiting, AsOf: time.Now().Add(time.Second), Count: len(jobs)}
	op, err := d.queue.Operate(t.Context(), op, queue.OperationCall{Do: "begin", Owner: "o", Turn: time.Minute, MaxAge: time.Hour})
	d.must(err)
	op, err = d.queue.Operate(t.Context(), op, queue.OperationCall{Do: "purge", Owner: "o", Turn: time.Minute, Step: 1, Max: 500})
	d.must(err)
	if op.Changed <= 100 {
		t.Errorf("a step has deleted %d jobs", op.Changed)
	}
	if rows, err := d.db.HKeys(t.Context(), d.key("logs")).Result(); err != nil || len(rows) != 1 || rows[0] != "n1-1" {
		t.Errorf("the logs are of %v: %v", rows, err)
	}
	if _, err := d.client.Get(t.Context(), last); !errors.Is(err, queue.ErrNoJob) {
		t.Errorf("the job with a log: %v", err)
	}
}
