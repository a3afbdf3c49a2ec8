package dash

import (
	"cmp"
	"net/url"
	"strings"
	"time"

	"skidway/ops"
	"skidway/ops/access"
	"skidway/ops/dash/internal/chart"
	"skidway/ops/dash/internal/words"
	"skidway/queue"
	"skidway/workers/stats"
)

// Bounds of the page of errors. More queues are read one by one, with the filter.
const (
	errorQueues = 50
	errorRows   = 100
)

// errorsData is the data of the page of errors.
type errorsData struct {
	Queue, Kind, Text string // the filter
	To                string // the end of the counts, as it is in the address; empty for now
	Queues            []string
	Newest            bool // the order: by the first attempt, else by deaths
	Rows              []errorRow
	Count             Value  // of the groups
	Reading           string // how many queues have been read, if not all that fail are known
	Progress          Value  // likewise
	Looked            string // how far, where the filter selects none
	Span              Span
	Unreadable        []string
	Shell             string
}

// An errorRow is a group of errors.
type errorRow struct {
	ops.QueueError
	List, Retry  string // queries of the dead jobs, and of the question
	Failed, Died Value
	New          Stamp // since when it is new; without a text if it is not
	Fails        Value // that attempts fail still, empty if they do not
	Ago, Last    Stamp // when it was seen last
	Paused       Value // that its queue is paused, empty if it is not
	Bars         *chart.Bars
}

// failsStill is the time since the last failed attempt for which a cause is assumed to last.
const failsStill = 5 * time.Minute

// newFor is the time for which an error is new: that of the counts beside it.
const newFor = 24 * time.Hour

// errorsPage is the page of groups of errors.
func errorsPage(p *page) error {
	get := func(name string) string { return strings.TrimSpace(p.request.FormValue(name)) }
	data := errorsData{Queue: get("queue"), Kind: get("kind"), Text: get("text"), To: get("to"), Newest: get("order") == "first", Queues: queueNames(p)}
	if err := unread(p.Overview()); err != nil {
		return err
	}
	names := p.Overview().MostFailing(errorQueues)
	if data.Queue != "" {
		if !p.Who.May(access.View, data.Queue) {
			return &pageError{403, "error.forbidden"}
		}
		if _, err := p.dash.ops.Queue(p.ctx(), data.Queue); err != nil {
			return err
		}
		names = []string{data.Queue}
	}
	filter := ops.ErrorFilter{Kind: data.Kind, Text: data.Text, Newest: data.Newest}
	var err error
	if data.Span, err = errorSpan(p, &filter); err != nil {
		return err
	}
	report, err := p.dash.ops.ErrorsIn(p.ctx(), names, filter)
	if err != nil {
		return err
	}
	for _, group := range report.Groups[:min(errorRows, len(report.Groups))] {
		data.Rows = append(data.Rows, newErrorRow(p, group))
	}
	data.Span = data.Span.live(p)
	if data.Span.Fixed != "" {
		latest := latestFirst(p.Now(), report.Groups)
		data.Span.Fixed = p.span(latest, latest, false).Fixed
	}
	for _, err := range report.Unreadable {
		data.Unreadable = append(data.Unreadable, err.Error())
		p.recorder.row("unreadable", err.Error())
	}
	count := words.T("errors.count", len(report.Groups))
	if report.New > 0 {
		count += " " + words.T("errors.new_count", report.New)
	}
	if len(data.Rows) < len(report.Groups) {
		count += " " + words.T("errors.first", len(data.Rows))
	}
	if data.Queue == "" && len(names) < len(data.Queues) {
		count += " " + words.T("errors.some_queues", len(names), len(data.Queues))
		if data.Reading = p.Reading(); data.Reading != "" {
			count += " " + data.Reading + "."
		}
	}
	if filtered := data.Queue + data.Kind + data.Text + data.To; filtered != "" && len(report.Groups) == 0 {
		data.Looked = words.T("errors.looked", words.T("errors.groups", report.Examined), words.T("queues.count", len(names)))
	}
	data.Count, data.Progress = p.Val("count", count), p.Val("reading", data.Reading)
	data.Shell = command(withFlags([]string{"errors", "list", cmp.Or(data.Queue, "QUEUE")}, "kind", data.Kind, "text", data.Text, "to", data.To)...)
	p.Title = words.T("errors.title")
	p.Data = data
	return nil
}

// latestFirst returns the later of now and the first attempts of groups, which may be later than the other
// figures.
func latestFirst(now time.Time, groups []ops.QueueError) time.Time {
	for _, group := range groups {
		if group.First.After(now) {
			now = group.First
		}
	}
	return now
}

// maxHoursBack is the number of hours after which the counts of a whole day are not kept.
const maxHoursBack = stats.ErrorHours - 24

// errorSpan returns the time whose errors are counted, and sets that of the filter.
func errorSpan(p *page, filter *ops.ErrorFilter) (span Span, err error) {
	until, fixed, err := p.until()
	if err != nil {
		return span, err
	}
	back := int(p.Now().Truncate(time.Hour).Sub(until.Truncate(time.Hour)) / time.Hour)
	lost := back > maxHoursBack
	if lost {
		back = maxHoursBack
		until = p.Now().Truncate(time.Hour).Add(-(maxHoursBack - 1) * time.Hour)
	}
	filter.HoursBack, filter.Since = back, until.Add(-newFor)
	if fixed {
		filter.Until = until
	}
	end := until.Truncate(time.Hour).Add(time.Hour) // whole hours are counted
	if fixed && end.After(p.Now()) {
		span = p.span(end.Add(-newFor), p.Now(), fixed)
	} else {
		span = p.span(end.Add(-newFor), end, fixed)
	}
	span.Lost = lost
	if !fixed {
		span.To = Stamp{}
	}
	return span, nil
}

// newErrorRow returns the row of a group.
func newErrorRow(p *page, group ops.QueueError) errorRow {
	row := errorRow{QueueError: group}
	match := ops.GroupMatch(group.ErrorGroup)
	row.List = jobFilter{Queue: group.Queue, State: queue.Dead, Match: match}.values().Encode()
	row.Retry = url.Values{"do": {"retry"}, "all": {"1"}, "queue": {group.Queue}, "state": {string(queue.Dead)}, "match": {match}, "back": {p.Here()}}.Encode()
	key := group.Queue + " " + group.ID
	row.Failed, row.Died = p.Val("failed "+key, group.DayFailed), p.Val("died "+key, group.DayDead)
	if group.New {
		row.New = p.aged(group.First, words.T("errors.new", "%s"), p.Now().Sub(group.First))
	}
	row.New = p.LiveTime("new "+key, row.New)
	row.Fails, row.Paused = p.Val("fails "+key, ""), p.Val("paused "+key, "")
	if p.Now().Sub(group.Last) < failsStill {
		row.Fails = p.Val("fails "+key, " · "+words.T("errors.still"))
	}
	if q := p.Overview().Queue(group.Queue); q != nil && q.Depth.Paused {
		row.Paused = p.Val("paused "+key, " · "+words.T("errors.paused"))
	}
	row.Ago, row.Last = p.LiveTime("ago "+key, p.Ago(group.Last, p.Now())), p.LiveTime("last "+key, p.Age(group.Last, p.Now()))
	row.Bars = p.liveBars(key, chart.Histogram(words.T("errors.bars", group.DayFailed, group.DayDead), group.DayHours, group.DayDeaths))
	p.recorder.row("errors", key)
	return row
}
