package dash

import (
	"encoding/json"
	"net/url"
	"strings"

	"skidway/ops/dash/internal/words"
	"skidway/queue"
)

// enqueueData is the data of the form that adds a job.
type enqueueData struct {
	Queue, Kind string
	Queues      []string
}

// enqueuePage is the form that adds a job.
func enqueuePage(p *page) error {
	p.Title = words.T("enqueue.title")
	p.Data = enqueueData{p.request.FormValue("queue"), p.request.FormValue("kind"), queueNames(p)}
	return nil
}

// enqueueJob is the action that adds a job. The principal must be allowed to add jobs of the kind.
func enqueueJob(p *page) (string, message, error) {
	get := func(name string) string { return strings.TrimSpace(p.request.PostForm.Get(name)) }
	to := "/enqueue?" + url.Values{"queue": {get("queue")}, "kind": {get("kind")}}.Encode()
	args := []byte(get("args"))
	if deep(args) || !json.Valid(args) {
		return to, message{}, &textError{words.T("copy.no_json")}
	}
	priority, err := queue.ParsePriority(get("priority"))
	if err != nil {
		return to, message{}, err
	}
	job := queue.NewJob{Args: queue.Raw(get("kind"), args), Options: queue.Options{Queue: get("queue"), Priority: priority}}
	if key := get("unique"); key != "" {
		job.Options.Unique.Key = key
	}
	if at := get("at"); at != "" {
		if job.Options.At, err = parseTime(p, job.Options.Queue, at); err != nil {
			return to, message{}, err
		}
	}
	if err := p.Who.CheckJob(job); err != nil {
		return to, message{}, err
	}
	id := ""
	err = p.audited("enqueue", job.Options.Queue, get("kind"), 1, func() error {
		id, err = p.dash.queues.Enqueue(p.ctx(), job.Args, &job.Options)
		return err
	})
	if err != nil {
		return to, message{}, err
	}
	said := done("copy.did", id)
	if p.May("view", job.Options.Queue) {
		return jobPath(id), said, nil
	}
	return to, said, nil
}
