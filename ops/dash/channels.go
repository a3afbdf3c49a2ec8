package dash

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"

	"skidway/distribute"
	"skidway/ops"
	"skidway/ops/access"
	"skidway/ops/dash/internal/chart"
	"skidway/ops/dash/internal/words"
)

// A channelPanel is a log channel with its files and subscribers.
type channelPanel struct {
	ops.SampledChannel
	ID          string // of its questions
	Why         []troubleRow
	Used        Value
	Fill        chart.Bar
	Lanes       []laneRow
	Subscribers []subscriberRow
	Files       []fileRow
	About       Value // how many files and shippers there are
	Abandoned   Value // files to ship again
}

// A fileRow is a file of a channel that is in Redis.
type fileRow struct {
	distribute.OpenFile
	State, Held, Waits Value
}

// channelsData is the data of the page of channels.
type channelsData struct {
	Panels []channelPanel
	Count  Value
}

// A laneRow is the files in Redis as a subscriber sees them; without a name it is how far they are
// uploaded.
type laneRow struct {
	Name string
	*chart.Lane
}

// A subscriberRow is a subscriber of a channel.
type subscriberRow struct {
	distribute.SubscriberStatus
	ID   string // of the question whether to drop it
	Icon Icon
	Rate Value // lines in a second

	Before, Counting, Holds, Lines, Counted Value
	When                                    Stamp // it was seen last
}

// filesShown is the number of files of a channel that the page lists.
const filesShown = 50

// channelsPage is the list of log channels, from the shared overview.
func channelsPage(p *page) error {
	o := p.Overview()
	if err := unread(o); err != nil {
		return err
	}
	panels := []channelPanel{}
	for i := range o.Channels {
		panels = append(panels, newChannelPanel(p, &o.Channels[i], strconv.Itoa(i)))
	}
	p.Title = words.T("channels.title")
	p.Data = channelsData{panels, p.Val("count", words.T("channels.count", len(panels)))}
	return nil
}

// newChannelPanel returns what the page shows of a channel.
func newChannelPanel(p *page, c *ops.SampledChannel, id string) channelPanel {
	panel := channelPanel{SampledChannel: *c, ID: id}
	p.recorder.row("channels", "channel "+c.Name)
	for _, t := range p.Overview().Troubles {
		if t.Channel != nil && t.Channel.Name == c.Name {
			panel.Why = append(panel.Why, troubleRows(p, []ops.Trouble{t})...)
		}
	}
	window := words.T("channels.window", words.Bytes(c.Status.Used), words.Bytes(c.Status.Window))
	panel.Used = p.Val("window "+c.Name, window)
	panel.Fill = p.LiveBar("window "+c.Name, chart.Share(window, float64(c.Status.Used), float64(c.Status.Window), c.Status.Full()))
	panel.setFiles(p, c)
	laggards := c.Status.Laggards()
	for i, s := range c.Status.Subscribers {
		row := subscriberRow{SubscriberStatus: s, ID: id + "-" + strconv.Itoa(i), Icon: p.GrayIcon("ok", words.T("channels.all_counted"))}
		holds := words.None
		for j := range laggards {
			if laggards[j].Subscriber == s.Name {
				holds, row.Icon = words.Bytes(laggards[j].Bytes), p.Icon("run", words.T("state.running"))
				if laggards[j].Gone() {
					row.Icon = p.Icon("bad", words.T("state.problem"))
				}
			}
		}
		key := c.Name + " " + s.Name
		row.Icon, row.Holds, row.Counting = p.liveShape("subscriber "+key, row.Icon), p.Val("holds "+key, holds), p.Val("counting "+key, s.Counting)
		row.Before, row.Lines, row.Counted, row.Rate = p.Val("before "+key, s.Pending), p.Val("lines "+key, s.Tally.Lines), p.Val("counted "+key, s.Tally.Files), p.Val("rate "+key, words.None)
		row.When = p.LiveTime("seen "+key, p.Age(s.Seen, p.Now()))
		if rate, known := c.Rates[s.Name]; known {
			row.Rate = p.Val("rate "+key, rate.Lines)
		}
		p.row("subscribers "+c.Name, key)
		panel.Subscribers = append(panel.Subscribers, row)
	}
	return panel
}

// setFiles sets the files that are in Redis, and how they lie in the window.
func (panel *channelPanel) setFiles(p *page, c *ops.SampledChannel) {
	files := c.Status.Open[:min(filesShown, len(c.Status.Open))]
	panel.Lanes = channelLanes(c, files)
	for _, lane := range panel.Lanes {
		p.liveLane(strings.TrimSpace("lane "+c.Name+" "+lane.Name), lane.Lane)
	}
	for _, file := range files {
		key := c.Name + " " + file.Name
		p.row("files "+c.Name, "file "+key)
		waits := cmp.Or(strings.Join(file.Waiting, ", "), words.None)
		panel.Files = append(panel.Files, fileRow{file, p.Val("file state "+key, string(file.State)), p.Val("file held "+key, words.Bytes(file.Held)), p.Val("file waits "+key, waits)})
	}
	text := words.T("channels.all_files", len(files))
	if len(files) < len(c.Status.Open) {
		text = words.T("channels.files", len(files), len(c.Status.Open))
	}
	panel.About = p.Val("about "+c.Name, text+" "+words.T("channels.shippers", len(c.Status.Shippers)))
	panel.Abandoned = p.Val("abandoned "+c.Name, "")
	if len(c.Status.Abandoned) > 0 {
		panel.Abandoned = p.Val("abandoned "+c.Name, words.T("channels.abandoned", strings.Join(c.Status.Abandoned, ", ")))
	}
}

// channelLanes returns a lane of the files in Redis and one for each subscriber, the oldest file at the
// left. A width is the bytes of the window that a file uses; the whole is the window.
func channelLanes(c *ops.SampledChannel, files []distribute.OpenFile) []laneRow {
	if len(files) == 0 {
		return nil
	}
	whole := max(c.Status.Window, c.Status.Used)
	lanes := []laneRow{{"", chart.NewLane(words.T("channels.lane", len(files), words.Ratio(c.Status.Used, whole)))}}
	for _, s := range c.Status.Subscribers {
		counted := 0
		for _, file := range files {
			if !slices.Contains(file.Waiting, s.Name) {
				counted++
			}
		}
		lanes = append(lanes, laneRow{s.Name, chart.NewLane(words.T("channels.lane_of", s.Name, counted, words.T("channels.lane_files", len(files))))})
	}
	behind := int64(0)
	for _, file := range files {
		size := words.T("channels.lane_file", file.Name, words.Bytes(file.Held))
		lanes[0].Add(file.Name, size, "g", behind, file.Held, whole)
		for i := range lanes[1:] {
			lane := &lanes[i+1]
			if slices.Contains(file.Waiting, lane.Name) {
				lane.Add(file.Name, words.T("channels.lane_waits", file.Name), "w", behind, file.Held, whole)
			} else {
				lane.Add(file.Name, size, "f", behind, file.Held, whole)
			}
		}
		behind += file.Held
	}
	return lanes
}

// channelOf returns the channel that a form names.
func channelOf(p *page) (*distribute.Channel, error) {
	return distribute.OpenExisting(p.ctx(), p.dash.db, p.request.PostForm.Get("channel"))
}

// setWindow is the action that changes how many bytes the files of a channel may use in Redis.
func setWindow(p *page) (string, message, error) {
	const to = "/channels"
	channel, err := channelOf(p)
	if err != nil {
		return to, message{}, err
	}
	text := strings.TrimSpace(p.request.PostForm.Get("window"))
	bytes, err := humanize.ParseBytes(text)
	if err != nil || bytes == 0 || bytes > maxWindow {
		return to, message{}, &textError{words.T("channels.no_size", words.Cut(text, 80))}
	}
	err = p.audited("window", access.All, channel.Name()+" "+text, 0, func() error { return channel.SetWindow(p.ctx(), int64(bytes)) })
	return to, done("channels.did_window", channel.Name(), words.Bytes(bytes)), err
}

// maxWindow bounds what a form may set as a window.
const maxWindow = 1 << 44

// dropSubscriber is the action that removes a subscriber of a channel with its counts. Its name
// must have been typed.
func dropSubscriber(p *page) (string, message, error) {
	const to = "/channels"
	channel, err := channelOf(p)
	if err != nil {
		return to, message{}, err
	}
	name := p.request.PostForm.Get("subscriber")
	if p.request.PostForm.Get("name") != name {
		return to, message{}, errors.New(words.T("channels.wrong_name"))
	}
	err = p.audited("unsubscribe", access.All, channel.Name()+" "+name, 1, func() error { return channel.Unsubscribe(p.ctx(), name) })
	return to, done("channels.did_drop", name, channel.Name()), err
}
