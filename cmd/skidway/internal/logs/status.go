package logs

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute"
)

func status(a *cli.App) *cobra.Command {
	var channel string
	c := &cobra.Command{
		Use:   "status",
		Short: "Shows how a channel stands",
		Long: `Shows how a channel stands: how full its window is, the files in Redis and
whom they wait for, the subscribers with what lies before them, who is shipping,
and uploads that were given up.`,
		Example: `  skidway logs status --channel web
  watch skidway logs status --channel web -o table`,
		Args: cobra.NoArgs,
	}
	channelFlag(c, &channel)
	output := cli.OutputFlag(c)
	c.RunE = cli.Action(func(c *cobra.Command, _ []string) error {
		return withChannel(a, c.Context(), distribute.OpenExisting, channel, func(channel *distribute.Channel) error {
			return printStatus(a, c.Context(), channel, output.Word)
		})
	})
	return c
}

func printStatus(a *cli.App, ctx context.Context, channel *distribute.Channel, format string) error {
	s, err := channel.Status(ctx)
	if err != nil {
		return err
	}
	view := statusView{channel.Name(), s}
	return a.Print(format, view.table, view.csv, view.json)
}

// A statusView prints the status of a channel.
type statusView struct {
	channel string
	distribute.Status
}

func (v *statusView) table(out io.Writer) error {
	var text strings.Builder
	fmt.Fprintf(&text, "channel %s: files remembered: %s\n", v.channel, humanize.Comma(v.Known))
	fmt.Fprintf(&text, "window %s  %s of %s\n", bar(v.Used, v.Window, 40), humanize.IBytes(uint64(max(0, v.Used))), humanize.IBytes(uint64(max(0, v.Window))))
	v.shippers(&text)
	v.files(&text)
	v.subscribers(&text)
	for _, file := range v.Abandoned {
		fmt.Fprintf(&text, "\ngiven up, to be shipped again: %s", cli.Printable(file))
	}
	_, err := fmt.Fprintln(out, strings.TrimRight(text.String(), "\n"))
	return err
}

func (v *statusView) shippers(text *strings.Builder) {
	if len(v.Shippers) == 0 {
		fmt.Fprintln(text, "nobody is shipping")
	}
	for _, shipper := range v.Shippers {
		fmt.Fprintf(text, "shipping: %s\n", cli.Tail(shipper, cli.TableWidth-10))
	}
}

// listed is how many files the table shows.
const listed = 20

func (v *statusView) files(text *strings.Builder) {
	if len(v.Open) == 0 {
		fmt.Fprint(text, "no file waits in Redis\n")
		return
	}
	t := cli.Table{Heads: []string{"FILE", "STATE", "THERE", "SIZE", "WAITS FOR"}, Right: []bool{false, false, true, true, false}}
	for _, f := range v.Open[:min(len(v.Open), listed)] {
		waits := "no subscriber"
		if len(v.Subscribers) > 0 {
			waits = strings.Join(f.Waiting, ", ")
		}
		t.Add(cli.Tail(f.Name, 26), f.State, percent(f.Uploaded, f.Size), humanize.IBytes(uint64(max(0, f.Size))), cli.Cut(waits, 20))
	}
	fmt.Fprintln(text)
	_ = t.Write(text) // a strings.Builder takes everything
	if more := len(v.Open) - listed; more > 0 {
		fmt.Fprintf(text, "and %d more\n", more)
	}
}

func (v *statusView) subscribers(text *strings.Builder) {
	if len(v.Subscribers) == 0 {
		fmt.Fprint(text, "\nno subscriber: nothing is counted or freed\n")
		return
	}
	t := cli.Table{
		Heads: []string{"SUBSCRIBER", "PENDING", "COUNTING", "FILES", "LINES", "LINES/S", "SEEN"},
		Right: []bool{false, true, true, true, true, true, false},
	}
	var notes []string
	for _, s := range v.Subscribers {
		t.Add(cli.Cut(s.Name, 18), humanize.Comma(s.Pending), strconv.Itoa(s.Counting), humanize.Comma(s.Tally.Files),
			humanize.Comma(s.Tally.Lines), humanize.Comma(rate(s.Subscriber)), v.seen(s.Seen))
		if s.Settings != "" {
			notes = append(notes, fmt.Sprintf("%s counts %s", s.Name, s.Settings))
		}
		if s.Tally.Partial+s.Tally.Failed > 0 {
			notes = append(notes, fmt.Sprintf("%s counted in part: %d, failed: %d", s.Name, s.Tally.Partial, s.Tally.Failed))
		}
	}
	fmt.Fprintln(text)
	_ = t.Write(text)
	for _, note := range notes {
		fmt.Fprintln(text, cli.Printable(note))
	}
}

// rate is how many lines a subscriber's workers count in a second of work.
func rate(s distribute.Subscriber) int64 {
	if s.Busy <= 0 {
		return 0
	}
	return int64(float64(s.Tally.Lines) / s.Busy.Seconds())
}

// seen says how long ago something was, by the clock of Redis.
func (v *statusView) seen(at time.Time) string {
	if at.IsZero() {
		return "never"
	}
	return max(0, v.Now.Sub(at)).Round(time.Second).String() + " ago"
}

// bar draws how much of all a part is.
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

// csv has one figure a line, so that things of different kinds share columns.
func (v *statusView) csv(out io.Writer) error {
	w := csv.NewWriter(out)
	add := func(cells ...string) { _ = w.Write(cells) } // Error tells
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	add("kind", "name", "figure", "value")
	add("channel", v.channel, "window", number(v.Window))
	add("channel", v.channel, "used", number(v.Used))
	add("channel", v.channel, "remembered", number(v.Known))
	for _, f := range v.Open {
		add("file", f.Name, "state", f.State)
		add("file", f.Name, "uploaded", number(f.Uploaded))
		add("file", f.Name, "size", number(f.Size))
		for _, name := range f.Waiting {
			add("file", f.Name, "waits_for", name)
		}
	}
	for _, s := range v.subscriberList() {
		add("subscriber", s.Name, "settings", s.Settings)
		add("subscriber", s.Name, "seen", s.Seen)
		for _, figure := range []struct {
			name string
			n    int64
		}{
			{"pending", s.Pending}, {"counting", int64(s.Counting)}, {"lines", s.Lines}, {"counted", s.Counted},
			{"unknown_country", s.Unknown}, {"unparsable", s.Unparsable}, {"files", s.Files}, {"partial", s.Partial},
			{"failed", s.Failed}, {"lines_per_second", s.Rate},
		} {
			add("subscriber", s.Name, figure.name, number(figure.n))
		}
	}
	for _, shipper := range v.Shippers {
		add("shipper", shipper, "state", "shipping")
	}
	for _, file := range v.Abandoned {
		add("file", file, "state", "abandoned")
	}
	w.Flush()
	return w.Error()
}

type (
	windowJSON struct {
		Used  int64 `json:"used"`
		Total int64 `json:"total"`
	}
	fileJSON struct {
		Name     string    `json:"name"`
		State    string    `json:"state"`
		Uploaded int64     `json:"uploaded"`
		Size     int64     `json:"size"`
		Since    time.Time `json:"since"`
		WaitsFor []string  `json:"waits_for"`
	}
	subscriberJSON struct {
		Name       string `json:"name"`
		Settings   string `json:"settings"`
		Seen       string `json:"seen"` // RFC 3339, empty: never
		Pending    int64  `json:"pending"`
		Counting   int    `json:"counting"`
		Lines      int64  `json:"lines"`
		Counted    int64  `json:"counted"`
		Unknown    int64  `json:"unknown_country"`
		Unparsable int64  `json:"unparsable"`
		Files      int64  `json:"files"`
		Partial    int64  `json:"partial"`
		Failed     int64  `json:"failed"`
		Rate       int64  `json:"lines_per_second"`
	}
	statusJSON struct {
		Channel     string           `json:"channel"`
		Now         time.Time        `json:"now"`
		Window      windowJSON       `json:"window"`
		Remembered  int64            `json:"remembered"`
		Files       []fileJSON       `json:"files"`
		Subscribers []subscriberJSON `json:"subscribers"`
		Shippers    []string         `json:"shippers"`
		Abandoned   []string         `json:"abandoned"`
	}
)

func (v *statusView) json(out io.Writer) error {
	object := statusJSON{
		Channel: v.channel, Now: v.Now.UTC(), Window: windowJSON{v.Used, v.Window}, Remembered: v.Known,
		Files: []fileJSON{}, Subscribers: v.subscriberList(),
		Shippers: append([]string{}, v.Shippers...), Abandoned: append([]string{}, v.Abandoned...),
	}
	for _, f := range v.Open {
		object.Files = append(object.Files, fileJSON{f.Name, f.State, f.Uploaded, f.Size, f.Since.UTC(), append([]string{}, f.Waiting...)})
	}
	return cli.WriteJSON(out, object)
}

func (v *statusView) subscriberList() []subscriberJSON {
	list := []subscriberJSON{}
	for _, s := range v.Subscribers {
		one, t := subscriberJSON{Name: s.Name, Settings: s.Settings, Pending: s.Pending, Counting: s.Counting, Rate: rate(s.Subscriber)}, s.Tally
		one.Lines, one.Counted, one.Unknown, one.Unparsable = t.Lines, t.Counted, t.Unknown, t.Unparsable
		one.Files, one.Partial, one.Failed = t.Files, t.Partial, t.Failed
		if !s.Seen.IsZero() {
			one.Seen = s.Seen.UTC().Format(time.RFC3339)
		}
		list = append(list, one)
	}
	return list
}
