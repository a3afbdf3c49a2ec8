package dash

import (
	"cmp"
	"slices"
	"time"

	"skidway/distribute"
	"skidway/distribute/cuts"
	"skidway/ops"
	"skidway/ops/dash/internal/words"
)

// A ChannelPanel is a log channel with its files and subscribers.
type ChannelPanel struct {
	ops.SampledChannel
	Why         []TroubleRow
	Subscribers []SubscriberRow
	Files       []distribute.OpenFile
}

// A SubscriberRow is a subscriber of a channel.
type SubscriberRow struct {
	distribute.SubscriberStatus
	Laggard *distribute.Laggard // for which files the window waits; nil if it has counted all
	Icon    Icon
}

// filesShown is the number of files of a channel that the page lists.
const filesShown = 50

// channelsPage is the list of log channels, from the shared overview.
func channelsPage(p *page) error {
	o := p.Overview()
	if err := unread(o); err != nil {
		return err
	}
	panels := []ChannelPanel{}
	for i := range o.Channels {
		c := &o.Channels[i]
		panel := ChannelPanel{SampledChannel: *c, Files: c.Status.Open[:min(filesShown, len(c.Status.Open))]}
		for _, t := range o.Troubles {
			if t.Channel != nil && t.Channel.Name == c.Name {
				panel.Why = append(panel.Why, troubleRows(p, []ops.Trouble{t})...)
			}
		}
		laggards := c.Status.Laggards()
		for _, s := range c.Status.Subscribers {
			row := SubscriberRow{SubscriberStatus: s, Icon: p.GrayIcon("ok", words.T("channels.all_counted"))}
			for j := range laggards {
				if laggards[j].Subscriber == s.Name {
					row.Laggard, row.Icon = &laggards[j], p.Icon("run", words.T("state.running"))
					if laggards[j].Gone() {
						row.Icon = p.Icon("bad", words.T("state.problem"))
					}
				}
			}
			panel.Subscribers = append(panel.Subscribers, row)
		}
		p.recorder.row("channels", c.Name)
		panels = append(panels, panel)
	}
	p.Title = words.T("channels.title")
	p.Data = panels
	return nil
}

// countsData is the data of the page of counts.
type countsData struct {
	Channel, Subscriber, From, To string
	Choices                       []CountChoice
	Rows                          []cuts.Row
	Columns                       []string
	Total                         int64
	More                          int // rows that are not shown
	Moving                        bool
}

// A CountChoice is a subscriber whose counts can be shown.
type CountChoice struct{ Channel, Subscriber string }

// countsShown is the number of rows that the page shows, those with the most requests.
const countsShown = 500

// countsBack is how far the page looks back without a first day.
const countsBack = 31 * 24 * time.Hour

// countsPage is the table of the counts of a subscriber. Without one it is that of the first channel.
func countsPage(p *page) error {
	data := countsData{Channel: p.request.FormValue("channel"), Subscriber: p.request.FormValue("subscriber"), From: p.request.FormValue("from"), To: p.request.FormValue("to")}
	for _, c := range p.Overview().Channels {
		for _, s := range c.Status.Subscribers {
			data.Choices = append(data.Choices, CountChoice{c.Name, s.Name})
		}
	}
	if len(data.Choices) > 0 && data.Channel == "" {
		data.Channel, data.Subscriber = data.Choices[0].Channel, cmp.Or(data.Subscriber, data.Choices[0].Subscriber)
	}
	data.From = cmp.Or(data.From, p.Now().Add(-countsBack).UTC().Format(time.DateOnly))
	p.Title = words.T("counts.title")
	if data.Channel != "" {
		if !slices.Contains(data.Choices, CountChoice{data.Channel, data.Subscriber}) {
			return notFound(p)
		}
		channel, err := distribute.OpenExisting(p.ctx(), p.dash.db, data.Channel)
		if err != nil {
			return err
		}
		report, err := channel.Report(p.ctx(), data.Subscriber, &cuts.Query{From: data.From, To: data.To})
		if err != nil {
			return err
		}
		table := report.Tables[0]
		data.Rows = table.Top(countsShown)
		data.More, data.Moving, data.Total = len(table.Rows)-len(data.Rows), report.Moving, report.Subscriber.Tally.Lines
		data.Columns = table.By
	}
	p.Data = data
	return nil
}
