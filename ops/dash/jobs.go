package dash

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"skidway/ops"
	"skidway/ops/access"
	"skidway/ops/dash/internal/words"
	"skidway/queue"
)

// A jobFilter is the filter of a list of jobs, as it is in the address of the page.
type jobFilter struct {
	Queue string // empty: all queues
	State queue.State
	Kind  string
	Error string // a part of the error
	Text  string // a part of the args
	Since string // an absolute time, in the form of RFC 3339
	Match string // a filter expression
}

// states are the states of the tabs.
var states = []queue.State{queue.Waiting, queue.Delayed, queue.Active, queue.Dead, queue.Finished}

// readFilter reads the filter of a request.
func readFilter(p *page) (f jobFilter, err error) {
	get := func(name string) string { return strings.TrimSpace(p.request.FormValue(name)) }
	f = jobFilter{get("queue"), queue.State(cmp.Or(get("state"), string(queue.Waiting))), get("kind"), get("error"), get("text"), get("since"), get("match")}
	if !slices.Contains(states, f.State) {
		return f, &pageError{http.StatusBadRequest, "error.state"}
	}
	if f.Queue != "" && !p.Who.May(access.View, f.Queue) {
		return f, &pageError{http.StatusForbidden, "error.forbidden"}
	}
	if _, err := f.expression(); err != nil {
		return f, err
	}
	return f, nil
}

// expression returns the filter as an expression.
func (f jobFilter) expression() (string, error) {
	short := ops.Short{Kind: f.Kind, Error: f.Error, Text: f.Text}
	if f.Since != "" {
		since, err := time.Parse(time.RFC3339, f.Since)
		if err != nil {
			return "", &pageError{http.StatusBadRequest, "error.since"}
		}
		short.Since = since
	}
	return short.Match(f.State, f.Match)
}

// values returns the filter as a query.
func (f jobFilter) values() url.Values {
	values := url.Values{"state": {string(f.State)}}
	for name, value := range map[string]string{"queue": f.Queue, "kind": f.Kind, "error": f.Error, "text": f.Text, "since": f.Since, "match": f.Match} {
		if value != "" {
			values.Set(name, value)
		}
	}
	return values
}

// Without returns the query of the filter without one of its fields.
func (f jobFilter) Without(name string) string {
	values := f.values()
	values.Del(name)
	return values.Encode()
}

// With returns the query of the filter with another value of a field.
func (f jobFilter) With(name, value string) string {
	values := f.values()
	values.Set(name, value)
	return values.Encode()
}

// jobsData is the data of the list of jobs.
type jobsData struct {
	Filter   jobFilter
	Query    string // of the filter
	Matches  string // the expression of the filter; empty if all match
	Tabs     []JobTab
	Queues   []string
	Chips    []Chip
	Rows     []jobRow
	Next     string // the cursor of the next page
	Looked   Value  // how far
	Complete bool
	Shell    string
	Actions  []JobAction
}

// retrying is the filter of delayed jobs that wait for another attempt, which have a tab of their own.
const retrying = "attempts > 0"

// A JobTab is a state with its count; that of retrying jobs has none.
type JobTab struct {
	Name    string
	Icon    Icon
	Count   Value
	Query   string
	Current bool
}

// A Chip is a part of the filter that can be removed.
type Chip struct{ Text, Query string }

// A jobRow is a job of a list.
type jobRow struct {
	ID          words.LongID
	Queue, Kind string
	Error, Args string
	Tries       string
	Age, Time   Stamp
	Quarantined bool
	Rest        Value
}

// A JobAction is what can be done with many jobs.
type JobAction struct {
	Do, Text, Class string
	Why             string // it can't be done
}

// jobsShown is the number of jobs that the page lists.
const jobsShown = 50

// jobsPage is the list of jobs.
func jobsPage(p *page) error {
	if to := findJob(p); to != "" {
		http.Redirect(p.writer, p.request, p.Link(to), http.StatusSeeOther)
		return errAnswered
	}
	f, err := readFilter(p)
	if err != nil {
		return err
	}
	if f.Queue == "" {
		if err := unread(p.Overview()); err != nil {
			return err
		}
	}
	if within, err := time.ParseDuration(p.request.FormValue("within")); err == nil && within > 0 {
		// A time that stays, so that the address shows the same to others.
		http.Redirect(p.writer, p.request, p.Link("/jobs?"+f.With("since", p.Now().Add(-within).UTC().Format(time.RFC3339))), http.StatusSeeOther)
		return errAnswered
	}
	found, err := searchJobs(p, f, p.request.FormValue("cursor"), jobsShown)
	if err != nil {
		return err
	}
	looked := found.text(f)
	data := jobsData{Filter: f, Query: f.values().Encode(), Queues: queueNames(p), Next: found.next, Complete: found.next == "", Rows: jobRows(p, f.State, found.jobs)}
	data.Matches, _ = f.expression() // it was checked
	if text := readingStates(p.Overview()); f.Queue == "" && text != "" {
		looked += " " + text + "."
	}
	if found.next == "" || len(found.jobs) == jobsShown { // else another search would end elsewhere
		data.Looked = p.Val("looked", looked)
		for _, job := range found.jobs {
			p.recorder.row("jobs", job.ID)
		}
	} else {
		data.Looked = Value{Key: "looked", Text: looked}
		p.recorder.unknownRows("jobs")
	}
	data.Tabs, err = jobTabs(p, f)
	if err != nil {
		return err
	}
	data.Chips = chips(p, f)
	data.Actions = jobActions(p, f)
	data.Shell = f.shell()
	p.Title = words.T("jobs.title_all", words.T("state."+string(f.State)))
	p.Crumbs = []Crumb{{words.T("queues.title"), "/queues"}, {words.T("jobs.title"), ""}}
	if f.Queue != "" {
		p.Title = words.T("jobs.title_of", words.T("state."+string(f.State)), f.Queue)
		p.Crumbs = []Crumb{{words.T("queues.title"), "/queues"}, {f.Queue, queuePath(f.Queue, "")}, {words.T("jobs.title"), ""}}
	}
	p.Data = data
	return nil
}

// findJob returns the path of what was typed into the field of the top bar: of a job, if it is an id,
// or of a list of dead jobs with a text.
func findJob(p *page) string {
	typed := strings.TrimSpace(p.request.FormValue("q"))
	if typed == "" {
		return ""
	}
	if queue.CheckJobID(typed) == nil {
		return "/jobs/" + url.PathEscape(typed)
	}
	text := ops.Quote(strings.ToValidUTF8(typed, ""))
	return "/jobs?" + url.Values{"state": {string(queue.Dead)}, "match": {"kind == " + text + " || text contains " + text + " || error contains " + text}}.Encode()
}

// queueNames returns the queues that the principal may see, by name.
func queueNames(p *page) (names []string) {
	for _, q := range p.Overview().Queues {
		names = append(names, q.Name)
	}
	slices.Sort(names)
	return names
}

// jobTabs returns the states with their counts: those of now for one queue, those of the overview for
// all.
func jobTabs(p *page, f jobFilter) (tabs []JobTab, err error) {
	counts := map[queue.State]int{}
	if f.Queue != "" {
		q, err := p.dash.ops.Queue(p.ctx(), f.Queue)
		if err != nil {
			return nil, err
		}
		depth, err := q.Depth(p.ctx())
		if err != nil {
			return nil, err
		}
		for _, state := range states {
			counts[state] = ops.InState(depth, state)
		}
	} else {
		for _, q := range p.Overview().Queues {
			for _, state := range states {
				counts[state] += ops.InState(q.Depth, state)
			}
		}
	}
	whole, retries := f, f
	if f.Match == retrying {
		whole.Match = ""
	}
	retries.State, retries.Match = queue.Delayed, retrying
	for _, state := range states {
		tabs = append(tabs, JobTab{string(state), stateIcon(p, state, ""), p.Val("count."+string(state), counts[state]), whole.With("state", string(state)), state == f.State && f != retries})
		if state == queue.Delayed {
			tabs = append(tabs, JobTab{Name: "retrying", Icon: stateIcon(p, state, ""), Query: retries.values().Encode(), Current: f == retries})
		}
	}
	return tabs, nil
}

// stateIcons are the shapes of the states.
var stateIcons = map[queue.State]string{queue.Waiting: "wait", queue.Delayed: "delay", queue.Active: "run", queue.Dead: "dead", queue.Finished: "ok"}

func stateIcon(p *page, state queue.State, label string) Icon {
	return p.Icon(stateIcons[state], label)
}

// chips returns the parts of the filter.
func chips(p *page, f jobFilter) (chips []Chip) {
	for _, part := range []struct{ name, value string }{{"kind", f.Kind}, {"error", f.Error}, {"text", f.Text}, {"since", f.Since}, {"match", f.Match}} {
		if part.value == "" {
			continue
		}
		value := part.value
		if at, err := time.Parse(time.RFC3339, value); err == nil && part.name == "since" {
			value = p.Clock(at, p.Now()).Text
		}
		chips = append(chips, Chip{words.T("jobs.chip_"+part.name, words.Cut(value, 60)), f.Without(part.name)})
	}
	return chips
}

// jobActions returns what can be done with jobs in the state of the list.
func jobActions(p *page, f jobFilter) (actions []JobAction) {
	add := func(do, class string, right access.Action, in ...queue.State) {
		if !slices.Contains(in, f.State) {
			return
		}
		why := p.WhyNot(string(right), cmp.Or(f.Queue, access.All))
		if f.Queue == "" && p.mayAny(right) {
			why = "" // for some jobs; each is checked
		}
		actions = append(actions, JobAction{do, words.T("jobs." + do), class, why})
	}
	add("retry", "pri", access.Operate, queue.Dead, queue.Delayed)
	add("priority", "", access.Operate, queue.Waiting, queue.Delayed, queue.Dead)
	add("cancel", "", access.Operate, queue.Waiting, queue.Delayed, queue.Active)
	add("delete", "dng", access.Admin, queue.Waiting, queue.Delayed, queue.Dead, queue.Finished)
	return actions
}

// shell returns the command that lists the same jobs.
func (f jobFilter) shell() string {
	shell := []string{"jobs", "list", cmp.Or(f.Queue, "QUEUE"), "--state", string(f.State)}
	if match, _ := f.expression(); match != "" {
		shell = append(shell, "--match", match)
	}
	return command(shell...)
}

// preview is the number of bytes of args and errors that a list shows.
const preview = 200

// jobRows returns the rows of jobs.
func jobRows(p *page, state queue.State, jobs []*queue.Job) (rows []jobRow) {
	now := p.Now()
	for _, job := range jobs {
		row := jobRow{ID: words.Long(job.ID), Queue: job.Queue, Kind: job.Kind, Args: line(job.Args), Age: p.Age(job.Enqueued, now)}
		row.Error = words.Cut(jobError(job), preview)
		row.Tries = words.Text(job.Attempts - job.Forgiven)
		if job.MaxAttempts > 0 { // else it is for the worker to say
			row.Tries = words.T("jobs.tries", row.Tries, job.MaxAttempts)
		}
		switch state {
		case queue.Delayed:
			row.Time = p.In(job.Due, now)
		case queue.Active:
			row.Time = p.Age(job.Taken, now)
		case queue.Dead, queue.Finished:
			row.Time = p.Age(job.Ended, now)
		default:
			row.Time = row.Age
		}
		row.Time = p.LiveTime("time "+job.ID, row.Time)
		row.Quarantined = job.Group != ""
		row.Rest = p.Rest(job.ID, row.Error, row.Tries, row.Quarantined)
		rows = append(rows, row)
	}
	return rows
}

// jobError returns why a job ended, or the error of its last attempt.
func jobError(job *queue.Job) string {
	if job.Reason != "" {
		return job.Reason
	}
	if n := len(job.Errors); n > 0 {
		return job.Errors[n-1].Error
	}
	return ""
}

// line returns the beginning of args in one line.
func line(args []byte) string {
	if !utf8.Valid(args[:min(len(args), preview)]) && !utf8.Valid(args) {
		return words.T("job.binary", len(args))
	}
	return strings.Join(strings.Fields(words.Cut(string(args), preview)), " ")
}
