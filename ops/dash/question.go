package dash

import (
	"cmp"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"skidway/ops"
	"skidway/ops/access"
	"skidway/ops/dash/internal/words"
	"skidway/queue"
	"skidway/workers/stats"
)

// questionData is the data of the page that asks before many jobs are changed.
type questionData struct {
	Do       string
	Queue    string
	State    queue.State
	IDs      []string // the ticked jobs; nil: all that match
	Asked    *ops.Question
	Count    string // in words
	AsOf     string // in ms since 1970
	Back     string
	Title    string
	Button   string
	Type     string // what must be typed; empty for nothing
	Looked   string // how far, where not all jobs were read to count them
	Left     string // how many of the ticked jobs are not in the state any more, in words
	LastFail Stamp  // of the attempts that fail still
	Shell    string
}

// maxPicked is the number of jobs that can be changed by their ids at one time: those of a page.
const maxPicked = jobsShown

// rightFor returns the right that a change of jobs needs.
func rightFor(do string) access.Action {
	if do == "delete" {
		return access.Admin
	}
	return access.Operate
}

// changes are the changes of jobs.
var changes = []string{"retry", "priority", "cancel", "delete"}

// questionPage counts the jobs and asks.
func questionPage(p *page) error {
	form := p.request.URL.Query()
	data := questionData{Do: form.Get("do"), Queue: form.Get("queue"), State: queue.State(form.Get("state")), Back: backTo(p, form.Get("back"))}
	if !slices.Contains(changes, data.Do) || !slices.Contains(states, data.State) {
		return &pageError{http.StatusBadRequest, "error.change"}
	}
	var err error
	if form.Get("all") != "" {
		err = askAll(p, &data, form.Get("match"))
	} else {
		err = askPicked(p, &data, form["id"])
	}
	if err != nil {
		return err
	}
	p.Title = data.Title
	p.Crumbs = []Crumb{{words.T("jobs.title"), "/jobs"}, {words.T("question.crumb"), ""}}
	p.Under = "jobs"
	p.Data = data
	return nil
}

// askPicked asks about jobs by their ids.
func askPicked(p *page, data *questionData, ids []string) error {
	if len(ids) == 0 {
		return &pageError{http.StatusBadRequest, "error.none_picked"}
	}
	if err := checkPicked(p, data.Do, ids); err != nil {
		return err
	}
	jobs, err := pickedJobs(p, data.State, ids)
	if err != nil {
		return err
	}
	state, picked := words.T("state."+string(data.State)), len(ids)
	if len(jobs) == 0 {
		p.say(message{Rank: "bad", Key: "said.not_done", Args: []string{words.T("question.none_left", state) + "."}})
		http.Redirect(p.writer, p.request, p.Link(data.Back), http.StatusSeeOther)
		return errAnswered
	}
	ids = nil
	for _, job := range jobs {
		ids = append(ids, job.ID)
	}
	if len(ids) < picked {
		data.Left = words.T("question.left", picked-len(ids), picked, state)
	}
	data.IDs = ids
	data.Count = words.T("question.jobs", len(ids), state)
	data.Title = words.T("question."+data.Do, data.Count)
	data.Button = words.T("question.do_"+data.Do, words.T("question.number", len(ids)))
	shell := append([]string{"jobs", data.Do}, ids...)
	if data.Do == "priority" {
		shell = append(shell, "--to", "PRIORITY")
	}
	data.Shell = command(shell...)
	if data.Do == "retry" {
		data.LastFail, err = jobsFailStill(p, jobs...)
	}
	return err
}

// pickedJobs returns those of the jobs that are in a state.
func pickedJobs(p *page, state queue.State, ids []string) (jobs []*queue.Job, err error) {
	for _, id := range ids {
		job, err := p.dash.ops.Job(p.ctx(), id)
		switch {
		case err == nil && job.State == state:
			jobs = append(jobs, job)
		case err != nil && !errors.Is(err, queue.ErrNoJob):
			return nil, err
		}
	}
	return jobs, nil
}

// checkPicked returns an error unless the principal may change each of the jobs.
func checkPicked(p *page, do string, ids []string) error {
	if len(ids) > maxPicked {
		return &pageError{http.StatusBadRequest, "error.too_many"}
	}
	for _, id := range ids {
		name, _, _ := strings.Cut(id, ":")
		if !p.Who.May(rightFor(do), name) || !p.Who.May(access.View, name) {
			return &pageError{http.StatusForbidden, "error.forbidden"}
		}
	}
	return nil
}

// askAll counts the jobs that match, and asks about them.
func askAll(p *page, data *questionData, match string) (err error) {
	if !p.Who.May(rightFor(data.Do), data.Queue) || !p.Who.May(access.View, data.Queue) {
		return &pageError{http.StatusForbidden, "error.forbidden"}
	}
	if _, err := p.dash.ops.Queue(p.ctx(), data.Queue); err != nil {
		return err
	}
	data.Asked, err = p.dash.ops.Operations().Ask(p.ctx(), ops.Change{Queue: data.Queue, Do: data.Do, State: data.State, Match: match, By: p.who()})
	if err != nil {
		return err
	}
	data.setAsked()
	if data.Do == "delete" {
		data.Type = data.Queue
	}
	shell := []string{"jobs", data.Do, "--queue", data.Queue, "--state", string(data.State)}
	if data.Asked.Match != "" {
		shell = append(shell, "--match", data.Asked.Match)
	}
	if data.Do == "priority" {
		shell = append(shell, "--to", "PRIORITY")
	}
	data.Shell = command(shell...)
	if data.Do == "retry" {
		return allFailStill(p, data)
	}
	return nil
}

// Nothing reports whether no job matches.
func (d questionData) Nothing() bool {
	return d.Asked != nil && d.Asked.Count == 0 && !d.Asked.AtLeast
}

// setAsked sets the words of a question about all jobs that match.
func (d *questionData) setAsked() {
	asked, state := d.Asked, words.T("state."+string(d.State))
	d.AsOf = strconv.FormatInt(asked.AsOf.UnixMilli(), 10)
	number, of := words.T("question.number", asked.Count), words.T("question.jobs", max(asked.Of, asked.Looked), state)
	d.Count = words.T("question.jobs", asked.Count, state)
	switch {
	case asked.AtLeast && asked.Count == 0:
		d.Count, number = words.T("question.unknown", state), words.T("question.all")
		d.Looked = words.T("question.looked_none", asked.Looked, of)
	case asked.AtLeast:
		d.Count, number = words.T("question.at_least", d.Count), words.T("question.all_at_least", asked.Count)
		d.Looked = words.T("question.looked", asked.Count, asked.Looked, of)
	}
	d.Button = words.T("question.do_"+d.Do, number)
	if d.Nothing() {
		d.Title = words.T("question.nothing", state, d.Queue)
		return
	}
	d.Title = words.T("question.of", words.T("question."+d.Do, d.Count), d.Queue)
}

// allFailStill notes when an attempt failed last, if that was lately: with the error of the group
// whose jobs are asked about, or else any in the queue.
func allFailStill(p *page, data *questionData) error {
	report, err := errorsOf(p, data.Queue)
	if err != nil {
		return err
	}
	groups := report.Groups
	if i := slices.IndexFunc(groups, func(g ops.QueueError) bool { return ops.GroupMatch(g.ErrorGroup) == data.Asked.Match }); i >= 0 {
		groups = groups[i : i+1]
	}
	data.LastFail = lastFail(p, groups)
	return nil
}

// jobsFailStill returns when an attempt failed last with an error that one of the jobs has, if that was
// lately.
func jobsFailStill(p *page, jobs ...*queue.Job) (Stamp, error) {
	type cause struct{ queue, kind, shape string }
	causes, names := map[cause]bool{}, []string{}
	for _, job := range jobs {
		if !slices.Contains(names, job.Queue) {
			names = append(names, job.Queue)
		}
		causes[cause{job.Queue, job.Kind, stats.Shape(job.Reason)}] = true
		for _, failure := range job.Errors {
			causes[cause{job.Queue, job.Kind, stats.Shape(failure.Error)}] = true
		}
	}
	report, err := errorsOf(p, names...)
	if err != nil {
		return Stamp{}, err
	}
	return lastFail(p, slices.DeleteFunc(report.Groups, func(g ops.QueueError) bool { return !causes[cause{g.Queue, g.Kind, g.Shape}] })), nil
}

// errorsOf returns all groups of errors of queues.
func errorsOf(p *page, names ...string) (*ops.ErrorReport, error) {
	return p.dash.ops.ErrorsIn(p.ctx(), names, ops.ErrorFilter{Limit: stats.MaxErrorGroups})
}

// lastFail returns when an attempt of the groups failed last, if that was lately.
func lastFail(p *page, groups []ops.QueueError) Stamp {
	var last time.Time
	for _, group := range groups {
		if group.Last.After(last) {
			last = group.Last
		}
	}
	if p.Now().Sub(last) >= failsStill {
		return Stamp{}
	}
	return p.Ago(last, p.Now())
}

// changeJobs is the action behind the question.
func changeJobs(p *page) (string, message, error) {
	form := p.request.PostForm
	do, back := form.Get("do"), backTo(p, form.Get("back"))
	if !slices.Contains(changes, do) {
		return back, message{}, &pageError{http.StatusBadRequest, "error.change"}
	}
	priority, err := queue.ParsePriority(form.Get("priority"))
	if err != nil {
		return back, message{}, err
	}
	if ids := form["id"]; len(ids) > 0 {
		if err := checkPicked(p, do, ids); err != nil {
			return back, message{}, err
		}
		said, err := changePicked(p, do, queue.State(form.Get("state")), priority, ids)
		return back, said, err
	}
	name := form.Get("queue")
	if !p.Who.May(rightFor(do), name) || !p.Who.May(access.View, name) { // the number of jobs that match tells what is in them
		return back, message{}, &pageError{http.StatusForbidden, "error.forbidden"}
	}
	if do == "delete" && form.Get("name") != name {
		return back, message{}, errors.New(words.T("queue.wrong_name"))
	}
	asked, err := readQuestion(form)
	if err != nil {
		return back, message{}, err
	}
	asked.Do, asked.Priority, asked.By = do, priority, p.who()
	if do == "delete" && asked.Match == "" {
		do = "purge" // it is called so in the audit
	}
	return operate(p, asked, do, back)
}

// readQuestion reads the question that a form answers.
func readQuestion(form url.Values) (*ops.Question, error) {
	count, err := strconv.Atoi(form.Get("count"))
	asOf, wrong := strconv.ParseInt(form.Get("as_of"), 10, 64)
	rate, wrong2 := strconv.Atoi(cmp.Or(form.Get("rate"), "0"))
	if err != nil || wrong != nil || wrong2 != nil || count < 0 {
		return nil, &pageError{http.StatusBadRequest, "error.form"}
	}
	change := ops.Change{Queue: form.Get("queue"), State: queue.State(form.Get("state")), Match: form.Get("match"), Rate: rate}
	return &ops.Question{Change: change, Count: count, AtLeast: form.Get("at_least") != "", AsOf: time.UnixMilli(asOf)}, nil
}

// changePicked changes jobs by their ids, those that are in the state still, and says both halves.
func changePicked(p *page, do string, state queue.State, priority queue.Priority, ids []string) (message, error) {
	changed, failed := 0, error(nil)
	byQueue := map[string][]string{}
	for _, id := range ids {
		name, _, _ := strings.Cut(id, ":")
		byQueue[name] = append(byQueue[name], id)
	}
	for _, name := range slices.Sorted(maps.Keys(byQueue)) {
		part := byQueue[name]
		filter := words.Cut(strings.Join(part, " "), 200)
		err := p.auditedJobs(do, name, filter, len(part), func() (n int, err error) {
			for _, id := range part {
				failure := changeOne(p, do, state, priority, id)
				if failure == nil {
					n++
				}
				err = cmp.Or(err, failure)
			}
			changed += n
			return n, err
		})
		failed = cmp.Or(failed, err)
	}
	switch {
	case failed != nil && changed == 0:
		return message{}, failed
	case failed != nil:
		return message{Rank: "warn", Key: "operation.half_error", Args: []string{words.T("operation."+do, changed), words.Text(len(ids)), errorText(failed)}}, nil
	}
	return done("operation.did", words.T("operation."+do, changed)), nil
}

// changeOne changes a job that is in a state.
func changeOne(p *page, do string, state queue.State, priority queue.Priority, id string) (err error) {
	queues := p.dash.queues
	switch do {
	case "retry":
		err = queues.Retry(p.ctx(), id, queue.OnlyIf(state))
	case "cancel":
		_, err = queues.Cancel(p.ctx(), id, queue.OnlyIf(state))
	case "delete":
		err = queues.Delete(p.ctx(), id, queue.OnlyIf(state))
	case "priority":
		err = queues.SetPriority(p.ctx(), id, priority, queue.OnlyIf(state))
	}
	return err
}
