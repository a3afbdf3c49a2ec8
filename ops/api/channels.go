package api

import (
	"context"
	"encoding/csv"
	"net/http"
	"slices"
	"strconv"
	"time"

	"skidway/distribute"
	"skidway/distribute/cuts"
)

// A Channel is a log channel.
type Channel struct {
	Name        string    `json:"name"`
	Created     time.Time `json:"created,omitzero"`
	Used        time.Time `json:"used,omitzero"`
	Files       int64     `json:"files" jsonschema:"that have a record"`
	Open        int64     `json:"open" jsonschema:"files in Redis"`
	Subscribers int64     `json:"subscribers"`
	Bytes       int64     `json:"bytes" jsonschema:"of memory that the files in Redis use"`
	Window      int64     `json:"window" jsonschema:"bytes that they may use"`
}

func channelOf(i distribute.ChannelInfo) Channel {
	return Channel{i.Name, utc(i.Created), utc(i.Used), i.Files, i.Open, i.Subscribers, i.Bytes, i.Window}
}

func listChannels(ctx context.Context, c *call) (any, error) {
	all, err := distribute.Channels(ctx, c.db)
	if err != nil {
		return nil, err
	}
	return listOf(ctx, c, all, time.Time{}, channelOf)
}

// A ChannelStatus is the state of a log channel.
type ChannelStatus struct {
	Name        string       `json:"name"`
	AsOf        time.Time    `json:"as_of"`
	Window      int64        `json:"window"`
	Used        int64        `json:"used"`
	Known       int64        `json:"known" jsonschema:"files that have a record"`
	Shippers    []string     `json:"shippers"`
	Subscribers []Subscriber `json:"subscribers"`
	Files       []File       `json:"files" jsonschema:"those in Redis"`
	Abandoned   []string     `json:"abandoned" jsonschema:"files that must be shipped again"`
}

// A Subscriber counts the files of a channel.
type Subscriber struct {
	Name     string    `json:"name"`
	Settings string    `json:"settings"`
	Seen     time.Time `json:"seen,omitzero" jsonschema:"last heartbeat of one of its workers"`
	Pending  int64     `json:"pending" jsonschema:"files that it has not counted"`
	Counting int       `json:"counting"`
	Tally
}

// A Tally is a sum of lines and files.
type Tally struct {
	Lines      int64  `json:"lines"`
	Counted    int64  `json:"counted"`
	Unknown    int64  `json:"unknown_country"`
	Filtered   int64  `json:"filtered"`
	Expired    int64  `json:"expired"`
	Unparsable int64  `json:"unparsable"`
	Private    int64  `json:"private"`
	Crawlers   *int64 `json:"crawlers,omitempty" jsonschema:"absent if they are not counted"`
	Bytes      int64  `json:"bytes"`
	Files      int64  `json:"files"`
	Partial    int64  `json:"partial"`
	Failed     int64  `json:"failed"`
}

// tallyOf returns the sums of a subscriber with settings.
func tallyOf(t distribute.Tally, settings cuts.Settings) Tally {
	tally := Tally{
		Lines: t.Lines, Counted: t.Counted, Unknown: t.Unknown, Filtered: t.Filtered, Expired: t.Expired, Unparsable: t.Unparsable,
		Private: t.Private, Bytes: t.Bytes, Files: t.Files, Partial: t.Partial, Failed: t.Failed,
	}
	if settings.HasCrawlers() {
		tally.Crawlers = &t.Crawlers
	}
	return tally
}

// A File is a log file in Redis.
type File struct {
	Name     string    `json:"name"`
	State    string    `json:"state"`
	Uploaded int64     `json:"uploaded" jsonschema:"bytes"`
	Size     int64     `json:"size,omitzero"`
	Held     int64     `json:"held" jsonschema:"bytes of the window"`
	Since    time.Time `json:"since,omitzero"`
	Waiting  []string  `json:"waiting" jsonschema:"subscribers that have not counted it"`
}

// openChannel opens the channel of the path.
func openChannel(ctx context.Context, c *call) (*distribute.Channel, error) {
	return distribute.OpenExisting(ctx, c.db, c.values["channel"])
}

func showChannel(ctx context.Context, c *call) (any, error) {
	channel, err := openChannel(ctx, c)
	if err != nil {
		return nil, err
	}
	status, err := channel.Status(ctx)
	if err != nil {
		return nil, err
	}
	answer := ChannelStatus{
		Name: channel.Name(), AsOf: utc(status.Now), Window: status.Window, Used: status.Used, Known: status.Known,
		Shippers: nonNil(status.Shippers), Abandoned: nonNil(status.Abandoned), Subscribers: []Subscriber{}, Files: []File{},
	}
	for _, s := range status.Subscribers {
		settings, _ := cuts.ParseSettings(s.Settings) // others count no crawlers
		answer.Subscribers = append(answer.Subscribers, Subscriber{s.Name, s.Settings, utc(s.Seen), s.Pending, s.Counting, tallyOf(s.Tally, settings)})
	}
	for _, f := range status.Open {
		answer.Files = append(answer.Files, File{f.Name, string(f.State), f.Uploaded, f.Size, f.Held, utc(f.Since), nonNil(f.Waiting)})
	}
	return answer, nil
}

// ChannelCounts are the counts of a subscriber.
type ChannelCounts struct {
	Channel    string     `json:"channel"`
	Subscriber string     `json:"subscriber"`
	Settings   string     `json:"settings"`
	Columns    []string   `json:"columns" jsonschema:"what the values of the rows are"`
	Rows       []CountRow `json:"rows"`
	Visitors   *int64     `json:"visitors,omitempty" jsonschema:"of all rows, estimated; absent if they are not counted by these columns"`
	People     *int64     `json:"people,omitempty" jsonschema:"of the lines that are counted or of an unknown country, those that are not of crawlers; absent if crawlers are not counted"`
	PeopleBy   string     `json:"people_by,omitempty" jsonschema:"what would count people, where crawlers are not counted"`
	Moving     bool       `json:"moving" jsonschema:"whether the rows are of different times"`
	Tally
}

// A CountRow is one count.
type CountRow struct {
	Values   []string `json:"values" jsonschema:"one for each of the columns, such as a day and a country"`
	Requests int64    `json:"requests"`
	Visitors *int64   `json:"visitors,omitempty" jsonschema:"estimated; absent if they are not counted by these columns"`
}

// visitorsOf returns the visitors of counts of a table, nil if they are not known.
func visitorsOf(table *cuts.Table, counts cuts.Counts) *int64 {
	if !table.HasVisitors {
		return nil
	}
	return &counts.Visitors
}

func channelCounts(ctx context.Context, c *call) (any, error) {
	name := c.query.Get("subscriber")
	top, err := c.number("top", 1, 1_000_000, 0)
	if err != nil {
		return nil, err
	}
	channel, err := openChannel(ctx, c)
	if err != nil {
		return nil, err
	}
	report, err := channel.Report(ctx, name, &cuts.Query{From: c.query.Get("from"), To: c.query.Get("to")})
	if err != nil {
		return nil, err
	}
	table := &report.Tables[0]
	rows := table.Top(top)
	if c.accepts(jsonType, csvType) == csvType {
		writeCounts(c.w, table, rows)
		return written, nil
	}
	answer := ChannelCounts{
		Channel: channel.Name(), Subscriber: name, Settings: report.Subscriber.Settings, Columns: nonNil(table.By),
		Rows: []CountRow{}, Visitors: visitorsOf(table, table.Total), Moving: report.Moving, Tally: tallyOf(report.Subscriber.Tally, report.Settings),
		PeopleBy: report.Settings.WithCrawlers(),
	}
	if report.Settings.HasCrawlers() {
		people := report.Subscriber.Tally.People()
		answer.People = &people
	}
	for _, row := range rows {
		answer.Rows = append(answer.Rows, CountRow{row.Values, row.Requests, visitorsOf(table, row.Counts)})
	}
	return answer, nil
}

// writeCounts writes counts as CSV, with the columns of the dimensions.
func writeCounts(w http.ResponseWriter, table *cuts.Table, rows []cuts.Row) {
	w.Header().Set("Content-Type", csvType)
	w.Header().Set("Content-Disposition", `attachment; filename="counts.csv"`)
	out := csv.NewWriter(w)
	columns := append(slices.Clone(table.By), "requests")
	if table.HasVisitors {
		columns = append(columns, "visitors")
	}
	_ = out.Write(columns)
	for _, row := range rows {
		cells := append(slices.Clone(row.Values), strconv.FormatInt(row.Requests, 10))
		if visitors := visitorsOf(table, row.Counts); visitors != nil {
			cells = append(cells, strconv.FormatInt(*visitors, 10))
		}
		_ = out.Write(safeCells(cells))
	}
	out.Flush() // an error means that the client is gone
}
