package logs

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute"
	"skidway/distribute/cuts"
)

func status(a *cli.App) *cobra.Command {
	var channel string
	c := &cobra.Command{
		Use:   "status",
		Short: "Shows the state of a channel",
		Long: `Shows the state of a channel: how full its window is, the files in Redis and the
subscribers that they wait for, the subscribers and their pending files, the
processes that ship, and uploads that were abandoned.`,
		Example: `  skidway logs status --channel web
  watch skidway logs status --channel web -o table`,
		Args: cobra.NoArgs,
	}
	channelFlag(c, &channel)
	output := cli.OutputFlag(a, c)
	c.RunE = cli.Action(func(c *cobra.Command, _ []string) error {
		return withChannel(c.Context(), a, distribute.OpenExisting, channel, func(channel *distribute.Channel) error {
			s, err := channel.Status(c.Context())
			if err != nil {
				return err
			}
			view := statusView{channel.Name(), s}
			return a.Print(output.Word, view.table, view.csv, view.json)
		})
	})
	return c
}

// A statusView prints the status of a channel.
type statusView struct {
	channel string
	distribute.Status
}

func (v *statusView) table(out io.Writer) error {
	var text strings.Builder
	fmt.Fprintf(&text, "channel %s: files remembered: %s\n", v.channel, humanize.Comma(v.Known))
	fmt.Fprintln(&text, "window", windowLine(v.Used, v.Window))
	v.shippers(&text)
	v.files(&text, v.fileView())
	v.subscribers(&text)
	for _, file := range v.Abandoned {
		fmt.Fprintf(&text, "\ngiven up, to be shipped again: %s", cli.Printable(file))
	}
	_, err := fmt.Fprintln(out, strings.TrimRight(text.String(), "\n"))
	return err
}

// windowLine returns how full a window is.
func windowLine(used, window int64) string {
	return fmt.Sprintf("%s  %s of %s", bar(used, window, 40), channelSize(used), channelSize(window))
}

func (v *statusView) shippers(text *strings.Builder) {
	if len(v.Shippers) == 0 {
		fmt.Fprintln(text, "no shipper is running")
	}
	for _, shipper := range v.Shippers {
		fmt.Fprintf(text, "shipping: %s\n", cli.Tail(shipper, cli.TableWidth-10))
	}
}

// maxListed bounds the files in the table.
const maxListed = 20

// files prints the files in Redis by a view.
func (v *statusView) files(text *strings.Builder, view cli.View[distribute.OpenFile]) {
	if len(v.Open) == 0 {
		fmt.Fprint(text, "no file waits in Redis\n")
		return
	}
	fmt.Fprintln(text)
	_ = view.Table(v.Open[:min(len(v.Open), maxListed)]).Write(text) // a strings.Builder returns no error
	if more := len(v.Open) - maxListed; more > 0 {
		fmt.Fprintf(text, "and %d more\n", more)
	}
}

func (v *statusView) subscribers(text *strings.Builder) {
	if len(v.Subscribers) == 0 {
		fmt.Fprint(text, "\nno subscriber: nothing is counted or freed\n")
		return
	}
	var notes []string
	for _, s := range v.Subscribers {
		if s.Settings != "" {
			notes = append(notes, fmt.Sprintf("%s counts %s", s.Name, s.Settings))
		}
		if s.Sources > 0 {
			notes = append(notes, fmt.Sprintf("%s has imported sources: %d, with %s lines", s.Name, s.Sources, humanize.Comma(s.ImportedLines)))
		}
		if s.Tally.Partial+s.Tally.Failed > 0 {
			notes = append(notes, fmt.Sprintf("%s counted in part: %d, failed: %d", s.Name, s.Tally.Partial, s.Tally.Failed))
		}
	}
	for _, l := range v.Laggards() {
		if l.Gone() {
			notes = append(notes, l.String(), "  "+unsubscribeHint(v.channel, l))
		}
	}
	fmt.Fprintln(text)
	_ = v.subscriberView().Table(v.Subscribers).Write(text)
	for _, note := range notes {
		fmt.Fprintln(text, cli.Printable(note))
	}
}

// rate returns the lines that the workers of a subscriber count in a second of work.
func rate(s distribute.Subscriber) int64 {
	if s.Busy <= 0 {
		return 0
	}
	return int64(float64(s.Tally.Lines) / s.Busy.Seconds())
}

// seen returns how long ago a time was, by the clock of Redis.
func (v *statusView) seen(at time.Time) string {
	if at.IsZero() {
		return "never"
	}
	return max(0, v.Now.Sub(at)).Round(time.Second).String() + " ago"
}

// bar draws the share that part has of all.
func bar(part, all int64, width int) string {
	full := 0
	if all > 0 {
		full = int(min(max(0, float64(part)/float64(all)), 1) * float64(width))
	}
	return "[" + strings.Repeat("#", full) + strings.Repeat(".", width-full) + "] " + percent(part, all)
}

func percent(part, all int64) string {
	if all <= 0 {
		return "0%"
	}
	return strconv.FormatInt(int64(100*float64(part)/float64(all)), 10) + "%"
}

type subscriber = distribute.SubscriberStatus

func (v *statusView) subscriberView() cli.View[subscriber] {
	return slices.Concat(cli.View[subscriber]{
		{Key: "name", Head: "SUBSCRIBER", Value: func(s subscriber) any { return s.Name }, Cell: func(s subscriber) string { return cli.Cut(s.Name, 18) }},
		{Key: "settings", Value: func(s subscriber) any { return s.Settings }},
		{Key: "seen", Value: func(s subscriber) any { return lastSeen(s) }},
		counted("pending", "PENDING", func(s subscriber) int64 { return s.Pending }),
		counted("counting", "COUNTING", func(s subscriber) int64 { return int64(s.Counting) }),
	}, cli.Of(tallyView, func(s subscriber) setTally {
		settings, _ := cuts.ParseSettings(s.Settings) // others count no crawlers
		return setTally{s.Tally, settings}
	}), cli.View[subscriber]{
		counted("", "FILES", func(s subscriber) int64 { return s.Tally.Files }),
		counted("", "LINES", func(s subscriber) int64 { return s.Tally.Lines }),
		counted("sources", "", func(s subscriber) int64 { return s.Sources }),
		counted("imported_lines", "", func(s subscriber) int64 { return s.ImportedLines }),
		counted("lines_per_second", "LINES/S", func(s subscriber) int64 { return rate(s.Subscriber) }),
		{Head: "SEEN", Cell: func(s subscriber) string { return v.seen(s.Seen) }},
	})
}

// counted returns a column with a number of a subscriber.
func counted(key, head string, value func(subscriber) int64) cli.Column[subscriber] {
	return cli.Column[subscriber]{
		Key: key, Head: head, Right: true, Value: func(s subscriber) any { return value(s) },
		Cell: func(s subscriber) string { return humanize.Comma(value(s)) },
	}
}

// lastSeen returns when a worker of a subscriber was last seen, "" for never.
func lastSeen(s subscriber) string {
	if s.Seen.IsZero() {
		return ""
	}
	return s.Seen.UTC().Format(time.RFC3339)
}

func (v *statusView) fileView() cli.View[distribute.OpenFile] {
	type file = distribute.OpenFile
	return cli.View[file]{
		fileName,
		{Key: "state", Head: "STATE", Value: func(f file) any { return f.State }},
		{Key: "uploaded", Head: "THERE", Right: true, Value: func(f file) any { return f.Uploaded }, Cell: func(f file) string { return arrived(f.Uploaded, f.Size) }},
		{Key: "size", Head: "SIZE", Right: true, Value: func(f file) any { return f.Size }, Cell: func(f file) string {
			if f.Size == 0 {
				return "?"
			}
			return humanize.IBytes(uint64(max(0, f.Size)))
		}},
		{Key: "since", Value: func(f file) any { return f.Since.UTC() }, Only: "json"},
		v.waitsColumn(),
	}
}

// arrived returns how much of a file is in Redis; a size of 0 is that of a stream.
func arrived(uploaded, size int64) string {
	if size == 0 {
		return channelSize(uploaded)
	}
	return percent(uploaded, size)
}

var fileName = cli.Column[distribute.OpenFile]{
	Key: "name", Head: "FILE", Value: func(f distribute.OpenFile) any { return f.Name },
	Cell: func(f distribute.OpenFile) string { return cli.Tail(f.Name, 26) },
}

// waitsColumn is the subscribers that have not counted a file. In CSV each has a row of its own.
func (v *statusView) waitsColumn() cli.Column[distribute.OpenFile] {
	return cli.Column[distribute.OpenFile]{
		Key: "waits_for", Head: "WAITS FOR", Only: "json", Cell: v.waitsFor,
		Value: func(f distribute.OpenFile) any { return append([]string{}, f.Waiting...) },
	}
}

// waitsFor returns the subscribers that have not counted a file.
func (v *statusView) waitsFor(f distribute.OpenFile) string {
	if len(v.Subscribers) == 0 {
		return "no subscriber"
	}
	return cli.Cut(strings.Join(f.Waiting, ", "), 20)
}

// csv prints one figure a line, so that all kinds of rows have the same columns.
func (v *statusView) csv(out io.Writer) error {
	rows := windowFigures(v.channel, v.Used, v.Window)
	add := func(cells ...string) { rows = append(rows, cells) }
	add("channel", v.channel, "remembered", strconv.FormatInt(v.Known, 10))
	rows = append(rows, v.fileFigures(v.fileView())...)
	subscribers := v.subscriberView().CSV(v.Subscribers)
	for _, record := range subscribers[1:] {
		rows = append(rows, figureRows("subscriber", subscribers[0], record)...)
	}
	for _, shipper := range v.Shippers {
		add("shipper", shipper, "state", "shipping")
	}
	for _, file := range v.Abandoned {
		add("file", file, "state", "abandoned")
	}
	return cli.WriteCSV(out, rows)
}

// figureHeads are the heads of the rows of figures.
var figureHeads = []string{"kind", "name", "figure", "value"}

// windowFigures returns the heads, and the rows of the window of a channel.
func windowFigures(channel string, used, window int64) [][]string {
	return [][]string{
		figureHeads,
		{"channel", channel, "window", strconv.FormatInt(window, 10)},
		{"channel", channel, "used", strconv.FormatInt(used, 10)},
	}
}

// fileFigures returns the rows of the files in Redis.
func (v *statusView) fileFigures(view cli.View[distribute.OpenFile]) (rows [][]string) {
	files := view.CSV(v.Open)
	for i, f := range v.Open {
		rows = append(rows, figureRows("file", files[0], files[1+i])...)
		for _, name := range f.Waiting {
			rows = append(rows, []string{"file", f.Name, "waits_for", name})
		}
	}
	return rows
}

// figureRows returns a row for each value of a record behind its name.
func figureRows(kind string, keys, record []string) (rows [][]string) {
	for i, key := range keys[1:] {
		rows = append(rows, []string{kind, record[0], key, record[1+i]})
	}
	return rows
}

func (v *statusView) json(out io.Writer) error {
	return cli.WriteJSON(out, cli.Object{
		{Key: "channel", Value: v.channel}, {Key: "now", Value: v.Now.UTC()},
		windowObject(v.Used, v.Window),
		{Key: "remembered", Value: v.Known},
		{Key: "files", Value: v.fileView().Objects(v.Open)}, {Key: "subscribers", Value: v.subscriberView().Objects(v.Subscribers)},
		{Key: "shippers", Value: append([]string{}, v.Shippers...)}, {Key: "abandoned", Value: append([]string{}, v.Abandoned...)},
	})
}

// windowObject is a window in JSON.
func windowObject(used, window int64) cli.Field {
	return cli.Field{Key: "window", Value: cli.Object{{Key: "used", Value: used}, {Key: "total", Value: window}}}
}
