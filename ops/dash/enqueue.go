package dash

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"net/url"
	"strings"
	"unicode/utf8"

	"skidway/ops"
	"skidway/ops/access"
	"skidway/ops/dash/internal/words"
	"skidway/queue"
)

// enqueueData is the data of the form that adds a job.
type enqueueData struct {
	Queue, Kind, Args, Priority, At, Unique string

	Queues []string
	Shell  string
}

// command returns the command that adds the job of the form.
func (d enqueueData) command(when []string) string {
	args, input := argsWord(d.Args)
	line := []string{"enqueue", cmp.Or(d.Queue, "QUEUE"), cmp.Or(d.Kind, "KIND"), args}
	if d.Priority != queue.Normal.String() {
		line = withFlags(line, "priority", d.Priority)
	}
	return command(withFlags(withFlags(line, when...), "unique", d.Unique)...) + input
}

// enqueuePage is the form that adds a job.
func enqueuePage(p *page) error {
	p.Title = words.T("enqueue.title")
	data := enqueueData{
		Queue: p.request.FormValue("queue"), Kind: p.request.FormValue("kind"), Args: p.typed("args", "{}"),
		Priority: p.typed("priority", queue.Normal.String()), At: p.typed("at", ""), Unique: p.typed("unique", ""), Queues: queueNames(p),
	}
	data.Shell = data.command(timeFlags(p, data.At))
	p.Data = data
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

// copyData is the data of the form for a changed copy of a job.
type copyData struct {
	*queue.Job
	Args, Queue, Priority, At string

	Binary bool
	when   []string // flags of the command for At
}

// Shell returns the command that adds such a job, whose args it reads from standard input.
func (d copyData) Shell() string {
	words, input := []string{"jobs", "copy", d.ID}, ""
	if !d.Binary {
		words, input = append(words, "-"), " < args.json"
	}
	words = append(words, "--queue", d.Queue)
	if d.Unique.Key != "" {
		words = append(words, "--unique", "") // the form copies no unique key
	}
	if d.Priority != d.Job.Priority.String() {
		words = withFlags(words, "priority", d.Priority)
	}
	words = withFlags(words, d.when...)
	return command(words...) + input
}

// copyPage is the form for a changed copy of a job.
func copyPage(p *page) error {
	job, err := p.dash.ops.Job(p.ctx(), p.request.PathValue("id"))
	if err != nil {
		return err
	}
	data := copyData{Job: job, Args: string(job.Args), Queue: p.typed("queue", job.Queue), Priority: p.typed("priority", job.Priority.String()), At: p.typed("at", ""), Binary: !utf8.Valid(job.Args)}
	if shown := payload(job.Args); !shown.Cut && !shown.Binary {
		data.Args = shown.Text
	}
	data.Args, data.when = p.typed("args", data.Args), timeFlags(p, data.At)
	p.Title = words.T("copy.title", job.Kind)
	p.Crumbs = []Crumb{{words.T("jobs.title"), "/jobs"}, {job.ID, jobPath(job.ID)}, {words.T("copy.crumb"), ""}}
	p.Under = "jobs"
	p.Data = data
	return nil
}

// copyJob is the action that adds a changed copy of a job.
func copyJob(p *page) (string, message, error) {
	id, form := p.request.PathValue("id"), p.request.PostForm
	to := jobPath(id) + "/copy"
	if name, _, _ := strings.Cut(id, ":"); !p.Who.May(access.View, name) { // the copy shows what is in the job
		return to, message{}, &pageError{403, "error.forbidden"}
	}
	job, err := p.dash.queues.Get(p.ctx(), id)
	if err != nil {
		return to, message{}, err
	}
	args, err := editedArgs(p, job)
	if err != nil {
		return to, message{}, err
	}
	changes := map[string]json.RawMessage{}
	for name, value := range map[string]string{"queue": strings.TrimSpace(form.Get("queue")), "priority": form.Get("priority"), "unique": ""} {
		changes[name], _ = json.Marshal(value) // a text
	}
	copied, err := ops.CopyJob(job, changes)
	if err != nil {
		return to, message{}, err
	}
	copied.Args = queue.Raw(job.Kind, args) // which may be no JSON
	if at := strings.TrimSpace(form.Get("at")); at != "" {
		if copied.Options.At, err = parseTime(p, copied.Options.Queue, at); err != nil {
			return to, message{}, err
		}
	}
	if err := p.Who.CheckJob(copied); err != nil {
		return to, message{}, err
	}
	if !p.Who.May(access.Enqueue, copied.Options.Queue) {
		return to, message{}, &pageError{403, "error.forbidden"}
	}
	if hides(p.dash.ops.Redactor().Job(job), job) && !p.Who.May(access.Reveal, job.Queue) {
		return to, message{}, &textError{words.T("copy.hidden")} // the copy could carry the values to another place
	}
	added := ""
	err = p.audited("copy", copied.Options.Queue, "id == "+id, 1, func() error {
		added, err = p.dash.queues.Enqueue(p.ctx(), copied.Args, &copied.Options)
		return err
	})
	if err == nil {
		to = jobPath(added)
	}
	return to, done("copy.did", added), err
}

// editedArgs returns the args of the form for a copy of a job, with the values that were hidden there.
func editedArgs(p *page, job *queue.Job) ([]byte, error) {
	form := p.request.PostForm
	if !form.Has("args") {
		return job.Args, nil
	}
	args := []byte(strings.ReplaceAll(form.Get("args"), "\r\n", "\n"))
	if json.Valid(job.Args) {
		var small bytes.Buffer
		if deep(args) || json.Compact(&small, args) != nil {
			return nil, &textError{words.T("copy.no_json")}
		}
		args = small.Bytes()
	}
	return p.dash.ops.Redactor().Restore(job, args)
}

// hides reports whether a view of a job lacks what a copy of the job would have.
func hides(view, job *queue.Job) bool {
	shown, _ := json.Marshal(view.Then) // they were stored as JSON
	all, _ := json.Marshal(job.Then)
	return !bytes.Equal(view.Args, job.Args) || !maps.Equal(view.Headers, job.Headers) || !bytes.Equal(shown, all)
}
