package workers_test

import (
	"context"
	"encoding/json"
	"runtime"
	"strings"
	"testing"
	"time"

	"skidway/queue"
	"skidway/workers"
)

// A report, a letter with its figures, and a note in another queue.
func TestJobsThatFollowReceiveTheResultAndAreAddedOnce(t *testing.T) {
	onAllBackends(t, func(f *fixture) {
		p := f.pool(workers.Config{Queues: []workers.Queue{{Name: "q"}, {Name: "other"}}})
		p.HandleRaw("report", func(ctx context.Context, _ *queue.Job) error {
			return workers.SetResult(ctx, []byte(`{"lines":9007199254740993,"top":{"country":"DE"},"days":["a","b"]}`))
		}, workers.Kind{})
		ran := make(chan *queue.Job, 10)
		for _, kind := range []string{"letter", "note", "last"} {
			p.HandleRaw(kind, func(ctx context.Context, job *queue.Job) error {
				ran <- job
				return workers.SetResult(ctx, []byte("done"))
			}, workers.Kind{})
		}
		f.add("report", queue.Options{Then: []queue.NewJob{
			{Args: queue.Raw("letter", []byte(`{"text":"{{.result.lines}} lines, most of {{.result.top.country}}, by {{.job.kind}}","n":7,"data":"{{.result}}","days":["{{.result.days}}"]}`)),
				Options: queue.Options{Then: []queue.NewJob{{Args: queue.Raw("last", []byte(`"{{.result}}"`))}}}},
			{Args: queue.Raw("note", []byte(`{}`)), Options: queue.Options{Queue: "other", Priority: queue.High}},
		}})
		f.run(p)
		got := map[string]*queue.Job{}
		for range 3 {
			job := await(f, ran, "job that follows")
			got[job.Kind] = job
		}
		var letter struct {
			Text string
			N    int
			Data struct{ Lines json.Number }
			Days [][]string
		}
		f.must(json.Unmarshal(got["letter"].Args, &letter))
		if letter.Text != "9007199254740993 lines, most of DE, by report" || letter.N != 7 ||
			letter.Data.Lines != "9007199254740993" || len(letter.Days) != 1 || len(letter.Days[0]) != 2 {
			f.Errorf("the letter is %s", got["letter"].Args)
		}
		if string(got["last"].Args) != `"done"` {
			f.Errorf("the last is %s", got["last"].Args)
		}
		if note := got["note"]; note.Queue != "other" || note.Priority != queue.High {
			f.Errorf("the note is in %s, %s", note.Queue, note.Priority)
		}
	})
}

func TestJobThatFollowsAndIsADuplicateIsLogged(t *testing.T) {
	onAllBackends(t, func(f *fixture) {
		p := f.pool(workers.Config{})
		p.HandleRaw("k", func(context.Context, *queue.Job) error { return nil }, workers.Kind{})
		key := queue.Options{Delay: time.Hour, Unique: queue.Unique{Key: "only one"}}
		owner := f.add("k", key)
		id := f.add("k", queue.Options{Then: []queue.NewJob{{Args: queue.Raw("k", []byte("{}")), Options: key}}})
		f.run(p)
		ended, err := f.client.Wait(f.ctx, id)
		f.must(err)
		if ended.Outcome != queue.Succeeded || !strings.Contains(ended.Reason, "is held by job "+owner) {
			f.Errorf("got %s: %s", ended.Outcome, ended.Reason)
		}
		for !strings.Contains(f.kept.String(), "a job that follows another one was not added") {
			f.must(f.ctx.Err())
			runtime.Gosched()
		}
		if log := f.kept.String(); !strings.Contains(log, "job="+id) || !strings.Contains(log, owner) {
			f.Errorf("logged %s", log)
		}
	})
}

func TestJobWhoseFollowersCannotBeEnqueuedIsDead(t *testing.T) {
	onAllBackends(t, func(f *fixture) {
		p := f.pool(workers.Config{})
		p.HandleRaw("k", func(context.Context, *queue.Job) error { return nil }, workers.Kind{})
		id := f.add("k", queue.Options{Then: []queue.NewJob{{Args: queue.Raw("letter", []byte(`{"text":"{{.result.lines}}"}`))}}})
		f.run(p)
		ended, err := f.client.Wait(f.ctx, id)
		f.must(err)
		if ended.State != queue.Dead || !strings.Contains(ended.Reason, "it succeeded") || !strings.Contains(ended.Reason, `letter: text: {{.result.lines}}`) {
			f.Errorf("got %s: %s", ended.State, ended.Reason)
		}
	})
}
