package dash

import (
	"cmp"
	"html/template"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"skidway/distribute"
	"skidway/distribute/cuts"
	"skidway/distribute/worldmap"
	"skidway/ops/dash/internal/chart"
	"skidway/ops/dash/internal/words"
)

// countsData is the data of the page of counts.
type countsData struct {
	Channel, Subscriber, From, To string
	Choices                       []CountChoice
	Total                         Value // lines that were counted, in all
	People                        Value // lines that are in rows, and those of people, if crawlers are counted
	PeopleBy                      string
	Map                           *countMap
	Plot                          *chart.Plot
	Members                       []memberRow
	Tables                        []countTable // those with rows
	Fixed                         string       // the address that shows the same to others later; empty if the page has it
	Moving                        Value
	Shell                         string
}

// A CountChoice is a subscriber whose counts can be shown.
type CountChoice struct{ Channel, Subscriber string }

// A countTable has the counts of one cut.
type countTable struct {
	Name     string // of the cut: "day, country"
	Columns  []string
	Visitors bool // rows have visitors
	Rows     []countRow
	More     Value // rows that are not shown
}

// A countMap is the map of the requests by country, with its scale.
type countMap struct {
	SVG   template.HTML
	Steps []countStep
}

// A countStep is a class of the scale of a map.
type countStep struct {
	Class int
	Label Value
}

// A countRow is a count, such as that of a day and a country.
type countRow struct {
	ID       string
	Values   []string
	Requests Value
	Visitors Value
}

// A memberRow is the sum of a value, such as a country, over all times of the page.
type memberRow struct {
	Name     string
	Requests Value
	Share    chart.Bar
}

// Bounds of the page of counts.
const (
	countsShown  = 100 // rows of all tables, those with the most requests
	membersFirst = 12  // values, those with the most requests
	countsBack   = 31  // days that the page looks back without a first day
)

// countsPage is the chart and the table of the counts of a subscriber. Without one it is that of
// the first channel.
func countsPage(p *page) error {
	if err := unread(p.Overview()); err != nil {
		return err
	}
	get := func(name string) string { return strings.TrimSpace(p.request.FormValue(name)) }
	data := countsData{From: get("from"), To: get("to")}
	if p.Overview().Listed {
		data.Channel, data.Subscriber = get("channel"), get("subscriber")
	}
	settings := map[CountChoice]string{}
	for _, c := range p.Overview().Channels {
		for _, s := range c.Status.Subscribers {
			choice := CountChoice{c.Name, s.Name}
			data.Choices, settings[choice] = append(data.Choices, choice), s.Settings
			p.row("subscribers", c.Name+" "+s.Name)
		}
	}
	if len(data.Choices) > 0 && data.Channel == "" {
		data.Channel, data.Subscriber = data.Choices[0].Channel, cmp.Or(data.Subscriber, data.Choices[0].Subscriber)
	}
	_, byDay := cuts.ParseSettings(settings[CountChoice{data.Channel, data.Subscriber}])
	p.Title = words.T("counts.title")
	p.Data = &data
	if data.Channel == "" {
		return nil
	}
	if !slices.Contains(data.Choices, CountChoice{data.Channel, data.Subscriber}) {
		return notFound(p)
	}
	report, err := data.read(p, byDay)
	if err != nil {
		return err
	}
	data.Total, data.Moving = p.Val("total", report.Subscriber.Tally.Lines), p.Val("moving", "")
	if report.Moving {
		data.Moving = p.Val("moving", words.T("counts.moving"))
	}
	if tally := report.Subscriber.Tally; report.Settings.HasCrawlers() {
		data.People = p.Val("people", words.T("counts.people", tally.All(), tally.People()))
	}
	data.PeopleBy = report.Settings.WithCrawlers()
	for i := range report.Tables {
		data.add(p, &report.Tables[i], countsShown/len(report.Tables))
	}
	data.Shell = command(withFlags([]string{"logs", "report", "--channel", data.Channel, "--subscriber", data.Subscriber}, "from", data.From, "to", data.To)...)
	return nil
}

// read reads the counts of the chosen days. Without a first day, these are the last 31 days. If no day
// was chosen and nothing was counted in these, they are the 31 days up to the newest one with counts:
// those of an old log.
func (d *countsData) read(p *page, byDay bool) (report distribute.Report, err error) {
	channel, err := distribute.OpenExisting(p.ctx(), p.dash.db, d.Channel)
	if err != nil {
		return report, err
	}
	today, fixed, open := p.Now().UTC(), d.From != "" && d.To != "", d.From == "" && d.To == ""
	if byDay && d.From == "" {
		d.From = today.AddDate(0, 0, -countsBack).Format(time.DateOnly)
	}
	report, err = channel.Report(p.ctx(), d.Subscriber, &cuts.Query{From: d.From, To: d.To})
	hasRows := func(t cuts.Table) bool { return len(t.Rows) > 0 }
	if err == nil && byDay && open && report.Subscriber.Tally.All() > 0 && !slices.ContainsFunc(report.Tables, hasRows) {
		report, err = channel.Report(p.ctx(), d.Subscriber, &cuts.Query{Last: countsBack})
		if err == nil && len(report.Tables) > 0 {
			d.From, d.To = report.Tables[0].From, report.Tables[0].To
		}
	}
	if byDay && !fixed {
		query := url.Values{"channel": {d.Channel}, "subscriber": {d.Subscriber}, "from": {d.From}, "to": {cmp.Or(d.To, today.Format(time.DateOnly))}}
		d.Fixed = p.Link("/counts?" + query.Encode())
	}
	return report, err
}

// add adds a table of at most so many rows: the last first value first, such as the latest day,
// and of each the highest count. The map and the chart are of the first tables that have them:
// those of others are the same.
func (d *countsData) add(p *page, table *cuts.Table, rows int) {
	if len(table.Rows) == 0 {
		return
	}
	t := countTable{Name: strings.Join(table.By, ", "), Columns: table.By, Visitors: table.HasVisitors}
	shown := slices.SortedStableFunc(slices.Values(table.Rows), func(a, b cuts.Row) int { return cmp.Compare(b.Requests, a.Requests) })
	shown = shown[:min(rows, len(shown))]
	slices.SortStableFunc(shown, func(a, b cuts.Row) int { return strings.Compare(b.Values[0], a.Values[0]) })
	for _, row := range shown {
		id := t.Name + " " + strings.Join(row.Values, " ")
		p.row("counts "+t.Name, id)
		counts := countRow{ID: id, Values: row.Values, Requests: p.Val("count "+id, row.Requests)}
		if t.Visitors {
			counts.Visitors = p.Val("visitors "+id, "≈ "+words.Text(row.Visitors))
		}
		t.Rows = append(t.Rows, counts)
	}
	t.More = p.Val("more "+t.Name, "")
	if more := len(table.Rows) - len(shown); more > 0 {
		t.More = p.Val("more "+t.Name, words.T("counts.more", more))
	}
	d.Tables = append(d.Tables, t)
	if d.Map == nil {
		d.setMap(p, table)
	}
	if d.Plot == nil {
		d.setPlot(p, table)
	}
	if d.Members == nil {
		d.setMembers(p, table)
	}
}

// setMap sets the map of the countries.
func (d *countsData) setMap(p *page, table *cuts.Table) {
	column := slices.Index(table.By, cuts.Country.String())
	if column < 0 {
		return
	}
	found, _ := sums(table, column)
	drawing := worldmap.Draw(found, words.T("counts.unit_one"), words.T("counts.unit"))
	p.livePlaces(drawing.Places)
	d.Map = &countMap{SVG: drawing.SVG}
	for _, step := range drawing.Steps {
		d.Map.Steps = append(d.Map.Steps, countStep{step.Class, p.Val("scale "+strconv.Itoa(step.Class), step.Label)})
	}
}

// sums returns the requests of each value of a column, and the values in their order.
func sums(table *cuts.Table, column int) (map[string]int64, []string) {
	found := map[string]int64{}
	for _, row := range table.Rows {
		found[row.Values[column]] += row.Requests
	}
	return found, slices.Sorted(maps.Keys(found))
}

// setPlot sets the chart of the days.
func (d *countsData) setPlot(p *page, table *cuts.Table) {
	column := slices.Index(table.By, cuts.Day.String())
	if column < 0 {
		return
	}
	found, days := sums(table, column)
	if len(days) < 2 {
		return
	}
	var line []float64
	for _, day := range days {
		line = append(line, float64(found[day]))
	}
	p.recorder.row("plots", "plot")
	axis := []string{days[0], days[len(days)/2], days[len(days)-1]}
	d.Plot = p.livePlot("days", chart.New(words.T("counts.plot", slices.Min(line), slices.Max(line), line[len(line)-1]), axis, line, nil, nil))
}

// setMembers sets the sums by the first column that has no times.
func (d *countsData) setMembers(p *page, table *cuts.Table) {
	column := slices.IndexFunc(table.By, func(name string) bool {
		dimension, err := cuts.ParseDimension(name)
		return err == nil && dimension.Kind > cuts.Hour
	})
	if column < 0 {
		return
	}
	found, names := sums(table, column)
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(found[b], found[a]) })
	for _, name := range names[:min(membersFirst, len(names))] {
		share := chart.Share("", float64(found[name]), float64(table.Total.Requests), false)
		p.recorder.row("members", "most "+name)
		d.Members = append(d.Members, memberRow{name, p.Val("sum "+name, found[name]), p.LiveBar("sum "+name, share)})
	}
}
