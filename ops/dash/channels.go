package dash

import (
	"skidway/distribute"
	"skidway/ops"
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
				panel.Why = append(panel.Why, p.troubleRows([]ops.Trouble{t})...)
			}
		}
		laggards := c.Status.Laggards()
		for _, s := range c.Status.Subscribers {
			row := SubscriberRow{SubscriberStatus: s, Icon: p.GrayIcon("ok", T("channels.all_counted"))}
			for j := range laggards {
				if laggards[j].Subscriber == s.Name {
					row.Laggard, row.Icon = &laggards[j], p.Icon("run", T("state.running"))
					if laggards[j].Gone() {
						row.Icon = p.Icon("bad", T("state.problem"))
					}
				}
			}
			panel.Subscribers = append(panel.Subscribers, row)
		}
		p.live.row("channels", c.Name)
		panels = append(panels, panel)
	}
	p.Title = T("channels.title")
	p.Data = panels
	return nil
}
