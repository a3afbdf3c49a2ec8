package dash

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"skidway/ops"
	"skidway/ops/access"
	"skidway/ops/dash/internal/words"
	"skidway/queue"
)

// workersData is the data of the page of workers.
type workersData struct {
	numberedPage
	Vanished []queue.PoolInfo // the first of them
	Rows     []workerRow
	Shown    string // which workers these are, if there are more
	Count    Value
	Gone     Value    // how many have vanished
	Versions []string // more than one: they are mixed
	Longest  []runningRow
	Some     Value // how many of the jobs that workers hold these are, as far as they were read
	Problems []string
}

// workersPerPage is the number of workers that a page of them lists.
const workersPerPage = 200

// A workerRow is a living worker.
type workerRow struct {
	*ops.Worker
	ID      string // of the question
	Key     string // of the row and its live values
	Named   bool   // whether the principal sees its name and host
	Short   string // the host, or the name, or what replaces them
	Badge   Badge
	Lease   Stamp // how long it lasts
	Served  []ServedQueue
	Longest time.Duration // that it has held a job
	Odd     bool          // whether its version is not that of most
	Up      Stamp         // since when it runs
	Holds   Value         // jobs, of its slots
	Stuck   Value         // how many handlers ignore their timeout, empty for none
	Solo    Value         // that it runs one job alone, empty if it does not
	Kinds   Value         // of the jobs that it holds
	Rest    Value
	Why     string // no signal can be sent to it
}

// LongestText returns how long the worker has held one of its jobs.
func (r workerRow) LongestText() string { return oldest(r.Longest) }

// A ServedQueue is a queue of a worker, or a pattern without a page of its own.
type ServedQueue struct{ Name, Href string }

// A runningRow is a job that a worker holds for long.
type runningRow struct {
	*queue.Job
	ID       words.LongID
	Worker   Value
	Progress Value
	At, For  Stamp // when it was taken, and since then
}

// longestShown is the number of jobs in the list of those that run longest.
const longestShown = 10

// A sharedFleet is the workers as they were read last, for all viewers whatever they may see.
type sharedFleet struct {
	turn   chan struct{} // holds a token while they are read
	latest *ops.Fleet
	read   time.Time
	took   time.Duration
}

// get returns the workers. It reads them if that was not done a short time ago.
func (s *sharedFleet) get(p *page) (*ops.Fleet, error) {
	select {
	case s.turn <- struct{}{}:
	case <-p.ctx().Done():
		return nil, p.ctx().Err()
	}
	defer func() { <-s.turn }()
	if s.latest != nil && time.Since(s.read) < drawEvery(p.route.every, s.took) {
		return s.latest, nil
	}
	began := time.Now()
	leased, err := queue.LeasedQueues(p.ctx(), p.dash.queues)
	if err != nil {
		return nil, err
	}
	active := append([]string{}, leased...) // not nil, which means all
	overview, _ := p.dash.sampler.Overview(p.ctx())
	for _, q := range overview.Queues { // jobs of workers that are dead have no open lease
		if q.Depth.Active > 0 || q.Stored || q.Time.IsZero() || q.Err != nil {
			active = append(active, q.Name)
		}
	}
	options := ops.FleetOptions{Active: active}
	if len(overview.Queues) == 0 {
		options.Active = nil // it has not been read
	}
	fleet, err := p.dash.ops.Fleet(p.ctx(), &options)
	if err == nil {
		s.latest, s.read, s.took = fleet, time.Now(), time.Since(began)
	}
	return fleet, err
}

// workersPage is the page of workers and of what they run.
func workersPage(p *page) error {
	whole, err := p.dash.fleet.get(p)
	if err != nil {
		return err
	}
	return showWorkers(p, whole)
}

// lastWorkers shows the workers as the sampler has read them last. It has no parts of them.
func lastWorkers(p *page) bool {
	return !p.Overview().Now.IsZero() && p.Who.May(access.View, access.All) && showWorkers(p, p.Overview().Fleet()) == nil
}

// showWorkers sets what the page shows of workers.
func showWorkers(p *page, whole *ops.Fleet) error {
	fleet := whole
	if !p.Who.May(access.View, access.All) {
		fleet = whole.Within(queueNames(p))
	}
	data := workersData{Vanished: p.Overview().Vanished, Versions: fleet.Versions()}
	data.setTop(p, fleet)
	signalled, named := map[string]bool{}, map[string]bool{} // by all queues of the workers
	for _, worker := range whole.Workers {
		signalled[worker.Name], named[worker.Name] = p.Who.MaySignal(worker.Queues), p.Who.SeesWorker(worker.Queues)
	}
	keys := map[string]string{}
	for i, worker := range fleet.Workers {
		keys[worker.Name] = worker.Name
		if !named[worker.Name] {
			keys[worker.Name] = "unnamed " + words.Text(i+1)
		}
	}
	held, slots := 0, 0
	data.numberedPage = p.numbered(len(fleet.Workers), workersPerPage)
	for i, worker := range fleet.ByTrouble() {
		held += worker.Held()
		slots += worker.Concurrency
		if i < data.first || i >= data.end {
			continue
		}
		row := workerRow{Worker: worker, ID: "tell-" + words.Text(i), Key: keys[worker.Name], Named: named[worker.Name]}
		row.fill(p, fleet, data.Versions)
		if !signalled[worker.Name] {
			row.Why = words.T("workers.lacks")
		}
		data.Rows = append(data.Rows, row)
	}
	if len(data.Rows) < len(fleet.Workers) {
		data.Shown = words.T("queues.shown", data.first+1, data.end, words.T("workers.number", len(fleet.Workers)))
	}
	data.Count = p.Val("count", words.T("workers.count", len(fleet.Living()), words.T("workers.hold", held), words.T("workers.slots", slots), p.ClockSeconds(fleet.Now, p.Now()).Text))
	if err := data.setLongest(p, fleet, named); err != nil {
		return err
	}
	p.Title = words.T("workers.title")
	p.Data = data
	return nil
}

// setTop sets what stands above the rows.
func (d *workersData) setTop(p *page, fleet *ops.Fleet) {
	d.Gone = p.Val("vanished", "")
	if n := len(d.Vanished); n > 0 {
		d.Gone = p.Val("vanished", words.T("workers.vanished_count", n))
	}
	d.Vanished = d.Vanished[:min(len(d.Vanished), workersPerPage)]
	for _, pool := range d.Vanished {
		p.recorder.row("vanished", "vanished "+pool.Name)
	}
	if len(d.Versions) > 1 {
		for _, version := range d.Versions {
			p.recorder.row("versions", "version "+version)
		}
	}
	for _, err := range fleet.Unreadable {
		d.Problems = append(d.Problems, err.Error())
		p.recorder.row("problems", err.Error())
	}
}

// setLongest sets the jobs that run longest. named are the workers whose names the principal sees.
func (d *workersData) setLongest(p *page, fleet *ops.Fleet, named map[string]bool) error {
	jobs, all := fleet.Longest(longestShown)
	d.Some = p.Val("some", words.T("workers.some", len(jobs), all))
	for _, job := range jobs {
		progress, err := p.dash.queues.Progress(p.ctx(), job.ID)
		if err != nil {
			return err
		}
		text := p.dash.ops.Redactor().Text(strings.ToValidUTF8(string(progress), "�"))
		row := runningRow{Job: job, ID: words.Long(job.ID), Progress: p.Val("progress "+job.ID, cmp.Or(text, words.None))}
		row.Worker = p.Val("by "+job.ID, words.None)
		if pool := (queue.WorkerInfo{Name: job.Worker}).Pool(); named[pool] {
			row.Worker = p.Val("by "+job.ID, pool)
		}
		row.At, row.For = p.LiveTime("at "+job.ID, p.ClockSeconds(job.Taken, p.Now())), p.LiveTime("for "+job.ID, p.Age(job.Taken, p.Now()))
		p.row("longest", job.ID)
		d.Longest = append(d.Longest, row)
	}
	return nil
}

// fill sets what a row shows of its worker.
func (r *workerRow) fill(p *page, fleet *ops.Fleet, versions []string) {
	r.Lease = p.LiveTime("lease "+r.Key, p.aged(fleet.Now.Add(r.Left()), words.T("workers.lease", "%s"), r.Left()))
	r.Short = words.T("workers.unnamed")
	if r.Named {
		r.Short = cmp.Or(r.Host, r.Name)
	}
	for _, name := range r.QueueNames() {
		served := ServedQueue{Name: name}
		if queue.CheckQueueName(name) == nil && p.Who.May(access.View, name) {
			served.Href = p.QueueLink(name, "")
		}
		r.Served = append(r.Served, served)
	}
	if len(r.Jobs) > 0 {
		r.Longest = fleet.Now.Sub(r.Jobs[0].Taken)
	}
	r.Badge = p.LiveBadge("worker "+r.Key, workerBadge(p, r.Worker))
	r.Odd = len(versions) > 1 && r.Version != versions[0]
	p.recorder.row("workers", r.Key)
	r.setLive(p)
}

// setLive sets what else the stream changes in place.
func (r *workerRow) setLive(p *page) {
	r.Up = p.LiveTime("up "+r.Key, p.Age(r.Started, p.Now()))
	r.Holds = p.Val("of "+r.Key, words.T("queue.held", r.Held(), words.T("workers.slots", r.Concurrency)))
	r.Stuck, r.Solo = p.Val("stuck "+r.Key, ""), p.Val("solo "+r.Key, "")
	if n := r.Worker.Stuck; n > 0 {
		r.Stuck = p.Val("stuck "+r.Key, words.T("workers.stuck", n))
	}
	if r.Worker.Solo() != "" {
		r.Solo = p.Val("solo "+r.Key, words.T("workers.solo"))
	}
	var kinds []string
	for _, k := range r.HeldKinds() {
		kinds = append(kinds, words.Text(k.Count)+" × "+k.Kind)
	}
	r.Kinds = p.Val("kinds "+r.Key, cmp.Or(strings.Join(kinds, ", "), words.None))
	r.Rest = p.Rest(r.Key, r.Short, r.Served, r.Version, r.Odd, r.Dead())
}

// maxState is the length above which the state that a worker reports is cut.
const maxState = 24

// workerBadge returns the state of a worker.
func workerBadge(p *page, worker *ops.Worker) Badge {
	switch condition := worker.Condition(); {
	case condition == "dead" || condition == "late":
		return p.Badge("warn", words.Of("workers.", condition))
	case condition != "running":
		return p.Badge("pause", words.Cut(words.Of("workers.", condition), maxState))
	case worker.Full():
		return Badge{Text: words.T("workers.full"), Icon: p.GrayIcon("run", "")}
	case worker.Held() > 0:
		return Badge{Text: words.T("workers.running"), Icon: p.GrayIcon("run", "")}
	}
	return Badge{Text: words.T("workers.idle"), Icon: p.GrayIcon("off", "")}
}

// NameOf returns the name of a worker, or what replaces it for a principal that does not see it.
func (p *page) NameOf(worker *ops.Worker) string {
	if p.Who.SeesWorker(worker.Queues) {
		return worker.Name
	}
	return words.T("workers.unnamed")
}

// signals are the words that can be sent to a worker.
var signals = map[string]queue.SignalKind{"quiet": queue.SignalQuiet, "stop": queue.SignalStop}

// signalWorker is the action that makes a worker quiet or stops it.
func signalWorker(p *page) (string, message, error) {
	name, do := p.request.PostForm.Get("worker"), p.request.PostForm.Get("do")
	kind, known := signals[do]
	if !known {
		return "/workers", message{}, &pageError{400, "error.change"}
	}
	fleet, err := p.dash.ops.Fleet(p.ctx(), &ops.FleetOptions{WithoutJobs: true})
	if err != nil {
		return "/workers", message{}, err
	}
	i := slices.IndexFunc(fleet.Workers, func(w *ops.Worker) bool { return w.Name == name && !w.Dead() })
	if i < 0 && !p.Who.MaySignal(nil) || i >= 0 && !p.Who.MaySignal(fleet.Workers[i].Queues) {
		return "/workers", message{}, &pageError{403, "error.forbidden"}
	}
	if i < 0 {
		return "/workers", message{}, errors.New(words.T("workers.gone", words.Cut(name, 80)))
	}
	err = p.audited(do+" worker", access.All, name, 1, func() error { return p.dash.ops.Signal(p.ctx(), fleet, fleet.Workers[i], kind) })
	return "/workers", done("workers.did_"+do, name), err
}

// Vanished returns when a worker that vanished was expected to report.
func (p *page) Vanished(pool queue.PoolInfo) Stamp {
	return p.Ago(p.AsOf().Add(pool.Expires), p.Now())
}
