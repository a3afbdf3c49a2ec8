package dash

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"skidway/ops"
	"skidway/ops/dash/internal/chart"
	"skidway/ops/dash/internal/words"
	"skidway/queue"
	"skidway/workers/stats"
)

// queueData is the data of the page of a queue.
type queueData struct {
	Name       string
	Queue      *ops.SampledQueue
	Badge      Badge
	Why        []troubleRow
	Range      stats.Range
	Ranges     []stats.Range
	Span       Span
	Total      stats.Counts
	Plot       *chart.Plot
	Kinds      []kindRow
	Priorities []priorityRow
	Due        Stamp // of the next delayed job
	Serve      Value // how many workers serve it
	Workers    []servingRow
	More       Value // workers that are not listed
	Errors     []failingRow
	Kept       []keptRow
	Version    string // of what is kept
	Purge      []purgeRow
	Old        bool // Redis does not answer: Workers, Errors and Kept are not known
}

// A kindRow is what became of the jobs of a kind.
type kindRow struct {
	ID, Kind                     string
	Done, Failed, Dead           Value
	Wait50, Wait95, Run50, Run95 Value
	Spark                        *chart.Spark
}

// newKindRow returns the row of a kind.
func newKindRow(p *page, kind string, c *stats.Counts, done []float64) kindRow {
	id := "kind " + kind
	time := func(name string, of *stats.Histogram, q float64) Value {
		return p.Val(name+" "+id, words.About(of.Quantile(q)))
	}
	p.recorder.row("kinds", id)
	return kindRow{
		ID: id, Kind: kind, Done: p.Val("done "+id, c.Done), Failed: p.Bad("failed "+id, c.Failed, c.Failed*10 > c.Attempts()), Dead: p.Val("died "+id, c.Dead),
		Wait50: time("wait50", &c.Wait, 0.5), Wait95: time("wait95", &c.Wait, 0.95), Run50: time("run50", &c.Run, 0.5), Run95: time("run95", &c.Run, 0.95),
		Spark: p.liveSpark(id, chart.Line(words.T("queue.spark", kind), done)),
	}
}

// A priorityRow is the waiting jobs of a priority.
type priorityRow struct {
	Name  string
	Count Value
	Bar   chart.Bar
}

// A servingRow is a worker of the queue.
type servingRow struct {
	ID, Name string
	Held     Value // of its slots, and its state
	Bar      chart.Bar
}

// workersListed is the number of workers that the page of a queue lists.
const workersListed = 50

// setWorkers sets the workers that serve the queue.
func (d *queueData) setWorkers(p *page, fleet *ops.Fleet) {
	serving := fleet.Serving(d.Name)
	d.Serve = p.Val("serve", words.T("queue.serve", len(serving)))
	d.More = p.Val("more workers", "")
	if more := len(serving) - workersListed; more > 0 {
		d.More = p.Val("more workers", words.T("queue.more_workers", more))
	}
	for i, worker := range serving[:min(workersListed, len(serving))] {
		id := "worker " + worker.Name
		if !p.Who.SeesWorker(worker.Queues) {
			id = "unnamed worker " + words.Text(i+1)
		}
		text := words.T("queue.held", worker.Held(), words.T("workers.slots", worker.Concurrency))
		if condition := worker.Condition(); condition != "running" {
			text += " · " + condition
		}
		p.recorder.row("workers", id)
		bar := p.LiveBar(id, chart.Share("", float64(worker.Held()), float64(worker.Concurrency), false))
		d.Workers = append(d.Workers, servingRow{id, p.NameOf(worker), p.Val(id, text), bar})
	}
}

// A failingRow is a group of errors of the queue.
type failingRow struct {
	stats.ErrorGroup
	Row          string
	Failed, Dead Value
	Last         Stamp
}

// errorsListed is the number of errors that the page of a queue lists, those that were seen last.
const errorsListed = 5

// setErrors sets the errors. Their order is that in which they were new, because every failed attempt would
// change that in which they were seen last.
func (d *queueData) setErrors(p *page, groups []stats.ErrorGroup) {
	slices.SortStableFunc(groups, func(a, b stats.ErrorGroup) int { return b.First.Compare(a.First) })
	for _, group := range groups {
		id := "error " + group.ID
		p.recorder.row("errors", id)
		d.Errors = append(d.Errors, failingRow{group, id, p.Val("failed "+id, group.Failed), p.Val("died "+id, group.Dead), p.LiveTime(id, p.Age(group.Last, p.Now()))})
	}
}

// A purgeRow is a state whose jobs can be deleted.
type purgeRow struct {
	State    queue.State
	Text     Value // with the number of jobs
	Selected bool
}

// setPurge sets the states whose jobs can be deleted.
func (d *queueData) setPurge(p *page) {
	selected := false
	for _, state := range []queue.State{queue.Dead, queue.Waiting, queue.Delayed, queue.Finished} {
		n := ops.InState(d.Queue.Depth, state)
		d.Purge = append(d.Purge, purgeRow{state, p.Val("purge "+string(state), string(state)+": "+words.Text(n)), n > 0 && !selected})
		selected = selected || n > 0
	}
}

// queueRanges are the times whose counts the page shows.
var queueRanges = []stats.Range{stats.Hour, stats.Day, stats.Month}

// queuePage is the page of a queue.
func queuePage(p *page) error {
	name := p.queueName()
	known, err := p.dash.ops.Queue(p.ctx(), name)
	if err != nil {
		return err
	}
	data := queueData{Name: known.Name(), Ranges: queueRanges, Range: stats.Range(cmp.Or(p.request.FormValue("range"), string(stats.Day)))}
	if !slices.Contains(data.Ranges, data.Range) {
		return &pageError{400, "error.range"}
	}
	if data.Queue, err = sampled(p, known); err != nil {
		return err
	}
	until, fixed, err := p.until()
	if err != nil {
		return err
	}
	if !fixed {
		until = time.Time{} // by the clock of the read
	}
	series, err := p.dash.ops.StatsUntil(p.ctx(), data.Name, data.Range, until)
	if err != nil {
		return err
	}
	data.Span = p.span(series.Start(), series.End(), fixed).live(p)
	if series.Width > data.Range.Width() {
		data.Span.Steps = words.Age(series.Width)
	}
	fleet, err := p.dash.ops.Fleet(p.ctx(), &ops.FleetOptions{Queue: data.Name, WithoutJobs: true})
	if err != nil {
		return err
	}
	groups, err := p.dash.ops.Errors(p.ctx(), data.Name, "", errorsListed)
	if err != nil {
		return err
	}
	data.setErrors(p, groups)
	data.setWorkers(p, fleet)
	if data.Kept, data.Version, err = keptRows(p, data.Name); err != nil {
		return err
	}
	data.setSeries(p, series)
	data.show(p)
	return nil
}

// lastQueue shows a queue as the sampler has read it last, with the counts of an hour.
func lastQueue(p *page) bool {
	found := p.Overview().Queue(p.queueName())
	if found == nil || found.Time.IsZero() || found.Err != nil {
		return false
	}
	data := queueData{Name: found.Name, Queue: found, Ranges: queueRanges, Range: stats.Hour, Old: true}
	data.Serve = p.Val("serve", words.T("queue.serve", found.Workers))
	if series := found.Series(); series != nil {
		data.Span = p.span(series.Start(), series.End(), false)
		data.setSeries(p, series)
	}
	data.show(p)
	return true
}

// show sets what the page shows.
func (d *queueData) show(p *page) {
	d.setState(p)
	p.Title = words.T("queue.title", d.Name)
	p.Crumbs = []Crumb{{words.T("queues.title"), "/queues"}, {d.Name, ""}}
	p.Under = "queues"
	p.Data = d
}

// sampled returns the queue of the shared overview with its depth of now, so that a change is seen
// at once.
func sampled(p *page, q *queue.Queue) (*ops.SampledQueue, error) {
	depth, err := q.Depth(p.ctx())
	if err != nil {
		return nil, err
	}
	found := &ops.SampledQueue{QueueStatus: ops.QueueStatus{Name: q.Name()}}
	if there := p.Overview().Queue(q.Name()); there != nil {
		copied := *there
		found = &copied
	}
	found.Depth, found.Time, found.Stored = depth, p.Now(), false
	return found, nil
}

// setState sets what depends on the state of the queue.
func (d *queueData) setState(p *page) {
	icon, text := queueState(d.Queue)
	d.Badge = p.LiveBadge("state", p.Badge(icon, text))
	for _, t := range p.Overview().Troubles {
		if t.Queue != nil && t.Queue.Name == d.Name && t.Name != "paused" {
			d.Why = append(d.Why, troubleRows(p, []ops.Trouble{t})...)
		}
	}
	if d.Queue.Depth.Paused {
		row := troubleRow{ID: "paused", Icon: p.Icon("pause", words.T("state.paused")), Name: words.T("trouble.queue", d.Name), Href: p.QueueLink(d.Name, ""), Text: pauseText(p, d.Queue), Since: p.Since(d.Queue.Depth.PausedAt, p.Now())}
		d.Why = append(d.Why, row.live(p))
	}
	if d.Queue.Slots > 0 && d.Queue.Free == 0 && d.Queue.Depth.Waiting > 0 {
		row := troubleRow{ID: "slots", Icon: p.Icon("warn", words.T("state.warning")), Name: words.T("queue.slots_held", d.Queue.Slots), Href: p.Link("/workers"), Text: words.T("queue.more_slots")}
		d.Why = append(d.Why, row.live(p))
	}
	for _, priority := range []queue.Priority{queue.High, queue.Normal, queue.Low} {
		n := d.Queue.Depth.WaitingBy[priority]
		bar := chart.Share("", float64(n), float64(d.Queue.Depth.Waiting), false)
		d.Priorities = append(d.Priorities, priorityRow{priority.String(), p.Val("waits "+priority.String(), n), p.LiveBar("waits "+priority.String(), bar)})
	}
	if at := d.Queue.Depth.NextDue; !at.IsZero() {
		d.Due = p.Clock(at, p.Now())
		d.Due.Text = words.T("queue.next_due", d.Due.Text)
	}
	d.Due = p.LiveTime("due", d.Due)
	d.setPurge(p)
}

// seriesPoints is the number of points of a chart.
const seriesPoints = 60

// setSeries sets the chart and the kinds.
func (d *queueData) setSeries(p *page, series *stats.Series) {
	n := min(seriesPoints, len(series.Buckets))
	added, done, failed := make([]float64, n), make([]float64, n), make([]float64, n)
	kinds := series.Kinds()
	sparks := map[string][]float64{}
	for name := range kinds {
		sparks[name] = make([]float64, n)
	}
	for i := range series.Buckets {
		bucket, at := &series.Buckets[i], i*n/len(series.Buckets)
		total := bucket.Total("")
		added[at] += float64(bucket.Added)
		done[at] += float64(total.Done)
		failed[at] += float64(total.Failed)
		for name, counts := range bucket.Kinds {
			sparks[name][at] += float64(counts.Done)
		}
	}
	for _, counts := range kinds {
		d.Total.Add(counts)
	}
	for _, name := range slices.SortedFunc(maps.Keys(kinds), func(a, b string) int {
		return cmp.Or(cmp.Compare(kinds[b].Attempts(), kinds[a].Attempts()), strings.Compare(a, b))
	}) {
		d.Kinds = append(d.Kinds, newKindRow(p, name, kinds[name], sparks[name]))
	}
	back := series.Width * time.Duration(len(series.Buckets))
	layout := "15:04"
	if series.Range == stats.Month {
		layout = "2 Jan"
	}
	if d.Span.Now != "" {
		layout = "2 Jan 15:04"
	}
	label := words.T("queue.plot", words.T("range."+string(series.Range)), d.Total.Done, words.T("queue.failed_attempts", d.Total.Failed))
	d.Plot = p.livePlot("jobs", chart.New(label, axis(p, series.End(), back, 4, layout, d.Span.Now == ""), done, added, failed))
}

// RangeLink returns the address of this page with another range.
func (e *exchange) RangeLink(of stats.Range) string { return e.with("range", string(of)) }

// WaitQuantile and the others return times of the jobs in the range, as far as they are known.
func (d *queueData) WaitQuantile(q float64) string { return words.About(d.Total.Wait.Quantile(q)) }

// RunQuantile returns the time that attempts took.
func (d *queueData) RunQuantile(q float64) string { return words.About(d.Total.Run.Quantile(q)) }

// namedQueue returns the queue of an action.
func namedQueue(p *page) (*queue.Queue, error) { return p.dash.ops.Queue(p.ctx(), p.queueName()) }

// pauseQueue is the action that pauses a queue with a note.
func pauseQueue(p *page) (string, message, error) {
	to := queuePath(p.queueName(), "")
	q, err := namedQueue(p)
	if err != nil {
		return "/queues", message{}, err
	}
	note := strings.TrimSpace(p.request.PostForm.Get("note"))
	err = p.audited("pause", q.Name(), note, 0, func() error { return q.Pause(p.ctx(), p.who(), note) })
	return to, done("queue.paused", q.Name()), err
}

// resumeQueue is the action that resumes a queue.
func resumeQueue(p *page) (string, message, error) {
	q, err := namedQueue(p)
	if err != nil {
		return "/queues", message{}, err
	}
	err = p.audited("resume", q.Name(), "", 0, func() error { return q.Resume(p.ctx()) })
	return queuePath(q.Name(), ""), done("queue.resumed", q.Name()), err
}
