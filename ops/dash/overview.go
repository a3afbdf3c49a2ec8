package dash

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"skidway/ops"
	"skidway/ops/access"
	"skidway/ops/dash/internal/chart"
	"skidway/ops/dash/internal/words"
)

// Overview returns what the principal may see of the shared overview, the same for the whole page.
func (p *page) Overview() *ops.Overview {
	if p.overview == nil {
		latest, changed := p.dash.sampler.Overview(p.ctx())
		p.overview = latest.For(func(name string) bool { return p.Who.May(access.View, name) }, p.Who.May(access.View, access.All))
		p.changed = changed
	}
	return p.overview
}

// Now returns the time by Redis's clock, or the local one if that is not known yet, the same for the whole page.
func (p *page) Now() time.Time {
	if p.now.IsZero() {
		if p.now = p.Overview().Clock(); p.now.IsZero() {
			p.now = time.Now()
		}
	}
	return p.now
}

// AsOf returns the time of the figures, by the same clock.
func (p *page) AsOf() time.Time { return cmp.Or(p.asOf, p.Overview().Now, p.Now()) }

// overviewRows is the number of queues that the first page lists; the others are on that of all
// queues.
const overviewRows = 25

// overviewData is the data of the first page.
type overviewData struct {
	Figures  overviewFigures
	Troubles []troubleRow
	Rows     []queueRow
	More     int // queues that are not listed
	Plot     *chart.Plot
	Next     []nextRow
	Whole    bool // whether the principal may see the Redis and the channels

	Schedules, NoNext Value // how many schedules there are, and why none is listed
	All               Value // how many queues there are
	Doctor            Value // how many findings the doctor has
	Channels          Value // how many channels there are
	NoChannels        Value // why none is listed
}

// A nextRow is a place in the list of times at which schedules fire. What is in it changes in place: each time
// that has come would change the order of rows.
type nextRow struct {
	ID   string
	Time Stamp
	Name Value
}

// overviewFigures are sums over all queues.
type overviewFigures struct {
	Waiting, Delayed, Active, Dead int
	Oldest                         time.Duration
	OldestIn                       string
	Done, Failed, Died, Day, Ratio any // of the last hour, and the day; a dash if they are not known
}

// overviewPage is the first page.
func overviewPage(p *page) error {
	o := p.Overview()
	if err := unread(o); err != nil {
		return err
	}
	data := overviewData{Figures: sum(o), Troubles: troubleRows(p, o.Troubles), Whole: p.May(string(access.View), access.All)}
	data.Rows = queueRows(p, o.Queues[:min(overviewRows, len(o.Queues))])
	if data.More = o.Names - len(data.Rows); data.More > 0 {
		p.recorder.row("more", "more queues")
	}
	data.All = p.Val("all", words.T("overview.all", o.Names))
	data.setNext(p, o)
	data.Plot = dayPlot(p, o)
	if data.Whole {
		data.Doctor = p.Val("doctor", doctorText(o))
		serverRows(p)
		data.Channels, data.NoChannels = p.Val("channels", words.T("overview.all", len(o.Channels))), p.Val("no channels", words.T("channels.reading"))
		if o.Listed {
			data.NoChannels = p.Val("no channels", words.T("overview.no_channels"))
		}
	}
	for _, c := range o.Channels { // none unless Whole
		p.recorder.row("channels", "channel "+c.Name)
	}
	p.Title = words.T("overview.title")
	p.Data = data
	return nil
}

// unread returns an error if nothing has been read yet.
func unread(o *ops.Overview) error {
	switch {
	case !o.Now.IsZero():
		return nil
	case o.Away != nil:
		return o.Away
	}
	return context.DeadlineExceeded
}

// sum adds up the figures of the queues.
func sum(o *ops.Overview) (f overviewFigures) {
	hour, day, known := ops.Hour{}, int64(0), len(o.Queues) == 0
	for _, q := range o.Queues {
		f.Waiting += q.Depth.Waiting
		f.Delayed += q.Depth.Delayed
		f.Active += q.Depth.Active
		f.Dead += q.Depth.Dead
		if q.Depth.Oldest > f.Oldest {
			f.Oldest, f.OldestIn = q.Depth.Oldest, q.Name
		}
		if q.Hour != nil {
			known = true
			hour.Done += q.Hour.Done
			hour.Failed += q.Hour.Failed
			hour.Died += q.Hour.Died
		}
		for _, n := range q.Done {
			day += n
		}
	}
	f.Done, f.Failed, f.Died, f.Day = words.None, words.None, words.None, words.None
	if known {
		f.Done, f.Failed, f.Died, f.Day = hour.Done, hour.Failed, hour.Died, day
	}
	f.Ratio = words.Ratio(hour.Failed, hour.Done+hour.Failed)
	return f
}

// nextShown is the number of schedules that the first page lists.
const nextShown = 5

// setNext sets the schedules that fire next.
func (d *overviewData) setNext(p *page, o *ops.Overview) {
	for _, s := range o.Schedules {
		if !s.Next.IsZero() && len(d.Next) < nextShown {
			id := fmt.Sprint("next ", len(d.Next)+1)
			p.recorder.row("next", id)
			d.Next = append(d.Next, nextRow{id, p.LiveTime(id, p.Clock(s.Next, p.Now())), p.Val(id, s.Name)})
		}
	}
	number, none := "overview.all", "overview.no_schedules"
	switch {
	case p.Reading() != "":
		number, none = "overview.at_least", "schedules.reading"
	case slices.ContainsFunc(o.Queues, func(q *ops.SampledQueue) bool { return q.SchedulesErr != nil }):
		none = "schedules.unread"
	}
	d.Schedules, d.NoNext = p.Val("schedules", words.T(number, len(o.Schedules))), p.Val("no next", words.T(none))
}

// doctorText returns how many findings the doctor has.
func doctorText(o *ops.Overview) string {
	switch {
	case len(o.Findings) > 0:
		return words.T("redis.doctor", words.T("verdict.warnings", len(o.Findings)))
	case o.Examined:
		return words.T("redis.fine")
	}
	return words.T("redis.unchecked")
}

// serverRows records the parts of the panel of the server, which has no more of them until it is loaded.
func serverRows(p *page) {
	server := p.Overview().Server
	if server == nil {
		return
	}
	p.recorder.row("server", "server")
	if server.Max > 0 {
		p.recorder.row("server", "server memory")
	}
	for _, replica := range server.Replicas {
		p.recorder.row("server", "server "+replica.Address)
	}
}

// dayPlot draws the jobs of the last 24 hours; nil if no statistics are known.
func dayPlot(p *page, o *ops.Overview) *chart.Plot {
	const hours = 24
	done, failed := make([]float64, hours), make([]float64, hours)
	known := false
	for _, q := range o.Queues {
		known = known || q.Done != nil
		for i, n := range q.Done {
			done[i] += float64(n)
			failed[i] += float64(q.Failed[i])
		}
	}
	if !known {
		return nil
	}
	label := words.T("overview.plot", slices.Max(done), done[hours-1], failed[hours-1])
	p.recorder.row("plots", "plot")
	return p.livePlot("day", chart.New(label, axis(p, o.Now, 24*time.Hour, 4, "15:04", true), done, nil, failed))
}

// axis returns the labels of a time axis. The last one is "now" if it ends now.
func axis(p *page, end time.Time, back time.Duration, steps int, layout string, now bool) (labels []string) {
	for i := range steps + 1 {
		labels = append(labels, end.Add(-back+time.Duration(i)*back/time.Duration(steps)).In(p.Settings.zone).Format(layout))
	}
	if now {
		labels[steps] = words.T("time.now")
	}
	return labels
}

// A troubleRow is a row of the list of troubles.
type troubleRow struct {
	ID          string
	Icon        Icon
	Name, Href  string // what it is about
	About       string // what tells it from others of this name
	Text, Code  string
	Since       Stamp
	Act, ActRef string
}

// troubleRows returns the lines of troubles.
func troubleRows(p *page, troubles []ops.Trouble) (rows []troubleRow) {
	seen := map[string]int{}
	for _, t := range troubles {
		row := troubleRow{Icon: rankIcon(p, t.Rank)}
		switch {
		case t.Queue != nil:
			queueTrouble(p, &row, t)
		case t.Worker != nil:
			row.Name, row.Href = words.T("trouble.worker", t.Worker.Name), p.Link("/workers")
			row.Text, row.Act = words.T("trouble.vanished"), words.T("trouble.show_worker")
		case t.Schedule != nil:
			row.Name, row.Href = words.T("trouble.schedule", t.Schedule.Name), p.Link("/schedules")
			row.Text, row.Act = words.T("trouble."+t.Name, p.Clock(t.Schedule.Next, p.Now()).Text, t.Schedule.Queue), words.T("trouble.show_schedule")
		case t.Channel != nil:
			row.Name, row.Href = words.T("trouble.channel", t.Channel.Name), p.Link("/channels")
			why := words.T("trouble.unseen", words.Age(t.Laggard.Idle))
			if t.Laggard.Lost {
				why = words.T("trouble.lost")
			}
			row.Text, row.Act = words.T("trouble."+t.Name, t.Laggard.Subscriber, why), words.T("trouble.show_channel")
		default:
			row.Name, row.Href = words.T("trouble.redis"), p.Link("/redis")
			row.Text, row.Act = t.Finding.Topic+": "+t.Finding.Found, words.T("trouble.show_redis")
			row.About = strings.TrimSpace(t.Finding.Topic + " " + t.Finding.Server)
		}
		row.ID, row.ActRef = numbered(seen, strings.TrimSpace(t.Name+" "+row.Name+" "+row.About)), cmp.Or(row.ActRef, row.Href)
		if row.Since.Text == "" && !t.Since.IsZero() {
			row.Since = p.Since(t.Since, p.Now())
		}
		rows = append(rows, row.live(p))
	}
	return rows
}

// numbered returns a key with a number behind it if it has been seen before.
func numbered(seen map[string]int, key string) string {
	if seen[key]++; seen[key] > 1 {
		return fmt.Sprint(key, " ", seen[key])
	}
	return key
}

// live records the row, which the stream changes in place.
func (r troubleRow) live(p *page) troubleRow {
	p.recorder.row("troubles", r.ID)
	p.recorder.set("trouble "+r.ID, r.Text)
	p.recorder.set("code "+r.ID, r.Code)
	r.Icon, r.Since = p.liveShape("trouble "+r.ID, r.Icon), p.LiveTime("trouble "+r.ID, r.Since)
	return r
}

// queueTrouble fills in the line of a trouble of a queue.
func queueTrouble(p *page, row *troubleRow, t ops.Trouble) {
	q := t.Queue
	row.Name, row.Href, row.Act = words.T("trouble.queue", q.Name), p.QueueLink(q.Name, ""), words.T("trouble.show_queue")
	switch t.Name {
	case "unreadable":
		row.Text = words.T("trouble.unreadable", q.Err.Error())
	case "paused":
		row.Text = pauseText(p, q)
	case "unserved":
		row.Text, row.Code = words.T("trouble.unserved", q.Depth.Waiting, words.Age(q.Depth.Oldest)), "skidway worker --queue "+q.Name
	case "schedules":
		row.Text = words.T("trouble.schedules", q.SchedulesErr.Error())
		row.Act, row.ActRef = words.T("trouble.show_schedule"), p.Link("/schedules")
	case "failing":
		row.Text = words.T("trouble.failing", hourRatio(q))
		if q.TopError != nil {
			row.Text, row.Code = words.T("trouble.failing_most", hourRatio(q)), q.TopError.Error
		}
		row.Act, row.ActRef = words.T("trouble.show_errors"), p.Link("/errors?queue="+q.Name)
	default:
		row.Text = words.T("trouble."+t.Name, q.Depth.Waiting, words.Age(q.Depth.Oldest))
	}
}

// pauseText returns who has paused a queue, and why.
func pauseText(p *page, q *ops.SampledQueue) string {
	waiting := words.T("trouble.wait", q.Depth.Waiting)
	switch {
	case q.Depth.PausedNote != "" && q.Depth.PausedBy != "":
		return words.T("trouble.paused_note", q.Depth.PausedBy, q.Depth.PausedNote, waiting)
	case q.Depth.PausedBy != "":
		return words.T("trouble.paused_by", q.Depth.PausedBy, waiting)
	}
	return words.T("trouble.paused", waiting)
}

// hourRatio returns the share of failed attempts in the last hour.
func hourRatio(q *ops.SampledQueue) string {
	if q.Hour == nil {
		return words.T("trouble.many")
	}
	return words.Ratio(q.Hour.Failed, q.Hour.Done+q.Hour.Failed)
}

// rankIcon returns the icon of a rank.
func rankIcon(p *page, rank ops.Rank) Icon {
	switch rank {
	case ops.Problem:
		return p.Icon("bad", words.T("state.problem"))
	case ops.Warning:
		return p.Icon("warn", words.T("state.warning"))
	}
	return p.Icon("pause", words.T("state.paused"))
}

// A findingRow is a finding of the doctor.
type findingRow struct {
	ops.Finding
	Key   string
	Badge Badge
}

// rankBadges are the icons of the ranks of findings.
var rankBadges = map[ops.Rank]string{ops.Problem: "bad", ops.Warning: "warn", ops.Fine: "ok", ops.Unknown: "off"}

// redisPage is what the doctor finds in the Redis now, and in the queues as they were read last.
func redisPage(p *page) error {
	findings, err := p.dash.sampler.Examine(p.ctx())
	if err != nil {
		return err
	}
	rows, seen := []findingRow{}, map[string]int{}
	for _, rank := range []ops.Rank{ops.Problem, ops.Warning, ops.Unknown, ops.Fine} {
		for _, finding := range findings {
			if finding.Rank != rank {
				continue
			}
			row := findingRow{finding, numbered(seen, strings.TrimSpace(finding.Topic+" "+finding.Server)), p.Badge(rankBadges[rank], words.T("finding."+string(rank)))}
			if rank == ops.Fine {
				row.Badge = Badge{Text: row.Badge.Text, Icon: p.GrayIcon("ok", "")}
			}
			row.Badge = p.LiveBadge(row.Key, row.Badge)
			p.recorder.row("findings", "finding "+row.Key)
			rows = append(rows, row)
		}
	}
	serverRows(p)
	p.Title = words.T("redis.title")
	p.Data = rows
	return nil
}
