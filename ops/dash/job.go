package dash

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"skidway/ops"
	"skidway/ops/access"
	"skidway/ops/dash/internal/words"
	"skidway/queue"
)

// jobData is the data of the page of a job.
type jobData struct {
	*queue.Job
	Badge     Badge
	Shown     Value  // on what the rest of the page depends
	Rest      Value  // what else does not change in place
	DueAt     Stamp  // when it is due
	TakenAt   Stamp  // when a worker took it
	Prior     Value  // its priority
	Heading   string // why it ended, or the last error
	Attempts  []Attempt
	Args      Payload
	Result    *Payload
	Log       []string
	Progress  string
	Paused    bool
	Headers   []Header
	Then      []Following
	Same      string // the query of the jobs with the same error
	Waited    time.Duration
	Ran       time.Duration
	Shell     string
	Hidden    bool  // values are hidden
	LastFail  Stamp // of the attempts that fail still with an error of the job
	CanRetry  bool
	CanRun    bool
	CanCancel bool
	CanDelete bool
	CanMove   bool
}

// An Attempt is an attempt that failed.
type Attempt struct {
	queue.Failure
	Of    int    // zero: for the worker to say
	Pool  string // of the worker, empty if that is not known
	Stack []StackLine
}

// A StackLine is a line of a stack. Own ones are of the program's own code.
type StackLine struct {
	Text string
	Own  bool
}

// A Payload is args or a result as they are shown.
type Payload struct {
	Size   int
	Text   string
	Binary bool
	Cut    bool
}

// A Header is a header of a job.
type Header struct{ Name, Value string }

// A Following is a job that is added when this one succeeds.
type Following struct{ Kind, Queue string }

// jobPage is the page of a job.
func jobPage(p *page) error {
	id := p.request.PathValue("id")
	job, err := p.dash.ops.Job(p.ctx(), id)
	if err != nil {
		return err
	}
	return showJob(p, job)
}

// revealPage is the page of a job with its hidden values. That it was asked for is in the audit.
func revealPage(p *page) error {
	id := p.request.PathValue("id")
	name, _, _ := strings.Cut(id, ":")
	entry := access.NewEntry(p.ctx(), "reveal", name)
	entry.Filter, entry.Count, entry.Outcome = "id == "+id, 1, "done"
	if err := p.dash.audit.Record(p.ctx(), entry); err != nil {
		return err
	}
	job, err := p.dash.ops.Reveal(p.ctx(), id)
	if err != nil {
		return err
	}
	p.revealed = true
	return showJob(p, job)
}

// showJob sets what the page of a job shows.
func showJob(p *page, job *queue.Job) (err error) {
	id := job.ID
	data := jobData{Job: job, Heading: jobError(job), Args: payload(job.Args)}
	data.Badge = p.Badge(stateIcons[job.State], words.T("state."+string(job.State)))
	if job.State == queue.Dead {
		data.Badge.Class = "bad"
	}
	if len(job.Result) > 0 {
		result := payload(job.Result)
		data.Result = &result
	}
	data.Badge = p.LiveBadge("state", data.Badge)
	data.Hidden = !p.revealed && hasHidden(job)
	if data.Log, err = p.dash.ops.Log(p.ctx(), id); err != nil {
		return err
	}
	progress, err := p.dash.ops.Progress(p.ctx(), id)
	if err != nil {
		return err
	}
	data.Progress = strings.ToValidUTF8(string(progress), "�")
	if q, err := p.dash.queues.Queue(job.Queue); err == nil {
		if depth, err := q.Depth(p.ctx()); err == nil {
			data.Paused = depth.Paused
		}
	}
	data.fill()
	if data.CanRetry && p.recorder == nil { // the question does not change in place
		if data.LastFail, err = jobsFailStill(p, job); err != nil {
			return err
		}
	}
	for i, text := range data.Log {
		data.Log[i] = strings.ToValidUTF8(text, "�")
	}
	p.Title = words.T("job.title", id)
	p.Crumbs = []Crumb{{words.T("queues.title"), "/queues"}, {job.Queue, queuePath(job.Queue, "")}, {words.T("state." + string(job.State)), "/jobs?" + (jobFilter{Queue: job.Queue, State: job.State}).values().Encode()}, {words.T("job.crumb"), ""}}
	p.Under = "jobs"
	p.recorder.set("state", string(job.State))
	data.DueAt, data.Prior = p.LiveTime("due", p.ClockSeconds(job.Due, p.Now())), p.Val("priority", job.Priority)
	data.TakenAt = p.LiveTime("taken", p.Ago(job.Taken, p.Now()))
	data.Rest = p.Rest("job", job.Due.IsZero(), job.Worker, job.Taken.IsZero(), job.Deadline, job.Unique.Key, data.Paused, data.Outcome, data.Group, data.GroupSize)
	data.Shown = p.Val("page", fmt.Sprint(job.State, " ", job.Attempts))
	p.Data = data
	return nil
}

// hasHidden reports whether values of a job are hidden.
func hasHidden(job *queue.Job) bool {
	shown := string(job.Args) + string(job.Result) + job.Reason
	for _, value := range job.Headers {
		shown += value
	}
	for _, failure := range job.Errors {
		shown += failure.Error + failure.Stack
	}
	return strings.Contains(shown, ops.Hidden)
}

// fill sets what follows from the job itself.
func (d *jobData) fill() {
	job := d.Job
	for i, failure := range slices.Backward(job.Errors) {
		attempt := Attempt{Failure: failure, Of: job.MaxAttempts, Pool: queue.WorkerInfo{Name: failure.Worker}.Pool(), Stack: stackLines(failure.Stack)}
		attempt.Error = strings.ToValidUTF8(attempt.Error, "�")
		d.Ran += failure.Took
		d.Attempts = append(d.Attempts, attempt)
		if i == 0 && !failure.Started.IsZero() {
			d.Waited = failure.Started.Sub(job.Enqueued)
		}
	}
	for name, value := range job.Headers {
		d.Headers = append(d.Headers, Header{name, value})
	}
	slices.SortFunc(d.Headers, func(a, b Header) int { return strings.Compare(a.Name, b.Name) })
	for _, next := range job.Then {
		d.Then = append(d.Then, Following{next.Args.Kind(), cmp.Or(next.Options.Queue, job.Queue)})
	}
	if d.Heading != "" {
		f := jobFilter{Queue: job.Queue, State: queue.Dead, Match: "kind == " + ops.Quote(job.Kind) + " && error contains " + ops.Quote(words.Cut(firstLine(d.Heading), 80))}
		d.Same = f.values().Encode()
	}
	d.CanRetry = job.State == queue.Dead
	d.CanRun = job.State == queue.Delayed
	d.CanCancel = slices.Contains([]queue.State{queue.Waiting, queue.Delayed, queue.Active}, job.State)
	d.CanDelete = job.State != queue.Active
	d.CanMove = slices.Contains([]queue.State{queue.Waiting, queue.Delayed, queue.Dead}, job.State)
	do := "show"
	switch {
	case d.CanRetry:
		do = "retry"
	case d.CanRun:
		do = "run-now"
	case job.State == queue.Active:
		do = "cancel"
	}
	d.Shell = command("jobs", do, job.ID)
}

func firstLine(text string) string {
	first, _, _ := strings.Cut(strings.ToValidUTF8(text, ""), "\n")
	return first
}

// stackLines divides a stack into the lines of the program's own code and those of the runtime and of
// this module. The line behind a function is the place in its file.
func stackLines(stack string) (lines []StackLine) {
	own := true
	for text := range strings.Lines(strings.ToValidUTF8(stack, "�")) {
		if !strings.HasPrefix(text, "\t") {
			name := strings.TrimPrefix(text, "created by ")
			own = !strings.HasPrefix(name, "skidway/") && !strings.HasPrefix(name, "runtime") && !strings.HasPrefix(name, "panic(") && !strings.HasPrefix(name, "goroutine ")
		}
		lines = append(lines, StackLine{text, own})
	}
	return lines
}

// Bounds of what is shown of a payload.
const (
	maxPretty = 64 << 10
	maxDepth  = 64
)

// payload returns args or a result as they are shown: JSON of up to 64 KiB is indented, its numbers are
// left as they are.
func payload(content []byte) Payload {
	shown := Payload{Size: len(content)}
	if !utf8.Valid(content) {
		shown.Binary = true
		return shown
	}
	if shown.Cut = len(content) > maxPretty; shown.Cut {
		shown.Text = words.Cut(string(content), maxPretty)
		return shown
	}
	shown.Text = string(content)
	if !deep(content) && json.Valid(content) {
		var out bytes.Buffer
		if json.Indent(&out, content, "", "  ") == nil {
			shown.Text = out.String()
		}
	}
	return shown
}

// deep reports whether JSON is nested so deeply that indenting it would take much memory.
func deep(content []byte) bool {
	depth, inText := 0, false
	for i := 0; i < len(content); i++ {
		switch c := content[i]; {
		case inText && c == '\\':
			i++
		case c == '"':
			inText = !inText
		case !inText && (c == '[' || c == '{'):
			if depth++; depth > maxDepth {
				return true
			}
		case !inText && (c == ']' || c == '}'):
			depth--
		}
	}
	return false
}

// jobAction returns the action of a button of the page of a job.
func jobAction(do string) func(*page) (string, message, error) {
	return func(p *page) (string, message, error) {
		id := p.request.PathValue("id")
		name, _, _ := strings.Cut(id, ":")
		to := jobPath(id)
		job, err := p.dash.ops.Job(p.ctx(), id)
		if err != nil {
			return to, message{}, err
		}
		state := queue.State(cmp.Or(p.request.PostForm.Get("state"), string(job.State))) // that the form has shown
		err = p.audited(do, name, "id == "+id, 1, func() error { return changeJob(p, do, state, id) })
		if gone := do == "delete" || do == "cancel" && job.State != queue.Active; gone && err == nil {
			to = "/jobs?" + (jobFilter{Queue: name, State: state}).values().Encode()
		}
		return to, done("did."+strings.ReplaceAll(do, "-", "_"), id), err
	}
}

// changeJob changes the job of the page, which was in a state.
func changeJob(p *page, do string, state queue.State, id string) error {
	form, queues := p.request.PostForm, p.dash.queues
	switch do {
	case "run-now":
		return queues.Retry(p.ctx(), id, queue.OnlyIf(queue.Delayed))
	case "retry":
		return queues.Retry(p.ctx(), id, queue.OnlyIf(queue.Dead))
	case "cancel":
		_, err := queues.Cancel(p.ctx(), id)
		return err
	case "reschedule":
		name, _, _ := strings.Cut(id, ":")
		at, err := parseTime(p, name, form.Get("at"))
		if err != nil {
			return err
		}
		return queues.Reschedule(p.ctx(), id, at)
	}
	priority, err := queue.ParsePriority(form.Get("priority"))
	if err != nil {
		return err
	}
	return changeOne(p, do, state, priority, id)
}

// parseTime reads a time of a form: "2006-01-02T15:04" in the zone of the settings, or a time from
// now on such as "15m", by the clock of the Redis with a queue.
func parseTime(p *page, name, text string) (time.Time, error) {
	text = strings.TrimSpace(text)
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		now, err := p.dash.ops.Now(p.ctx(), name)
		return now.Add(d), err
	}
	return absoluteTime(p, text)
}

func absoluteTime(p *page, text string) (time.Time, error) {
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02 15:04", time.RFC3339} {
		if at, err := time.ParseInLocation(layout, text, p.Settings.zone); err == nil {
			return at, nil
		}
	}
	return time.Time{}, &textError{words.T("job.no_time", text)}
}

// timeFlags returns the flags of a command for a time of a form, and their values; without a value if it is
// none.
func timeFlags(p *page, text string) []string {
	text = strings.TrimSpace(text)
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return []string{"in", text}
	}
	at, err := absoluteTime(p, text)
	if err != nil {
		return nil
	}
	return []string{"at", at.UTC().Format(time.RFC3339)}
}

// A textError is an error in the words of the pages.
type textError struct{ text string }

func (e *textError) Error() string { return e.text }
