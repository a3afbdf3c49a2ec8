package messages

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute/chat/room"
)

// A roomMessage is a message to a room, as it is printed in JSON.
type roomMessage struct {
	message
	Nick string `json:"nick,omitempty"`
}

func roomMessageOf(m room.Message) roomMessage {
	return roomMessage{messageOf("", m.Message), m.Nick}
}

// A roomChange tells in JSON that a message was taken back.
type roomChange struct {
	Position  uint64    `json:"position"`
	Retracted uint64    `json:"retracted"`
	By        string    `json:"by"` // empty: an operator
	Time      time.Time `json:"time"`
}

func roomChangeOf(change room.Retraction) roomChange {
	return roomChange{change.Position, change.Message, change.By, change.Time.UTC()}
}

// A roomSettings is the settings of a room, as JSON has them.
type roomSettings struct {
	TTL      float64               `json:"ttl_seconds"`
	Presence float64               `json:"presence_seconds"`
	Max      int                   `json:"max"`
	Keep     int                   `json:"keep"`
	Password bool                  `json:"password"`
	Owner    string                `json:"owner"`
	Mutes    map[string]*time.Time `json:"mutes"` // null: for good
}

func roomSettingsOf(s room.Settings) roomSettings {
	out := roomSettings{s.TTL.Seconds(), s.Presence.Seconds(), s.Max, s.Keep, s.Password, s.Owner, map[string]*time.Time{}}
	for id, until := range s.Mutes {
		out.Mutes[id] = utc(until)
	}
	return out
}

// utc gives a time for JSON, nil for none.
func utc(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	at = at.UTC()
	return &at
}

// A roomNews is a page of a room, as JSON has it.
type roomNews struct {
	Messages []roomMessage `json:"messages"`
	Changes  []roomChange  `json:"changes"`
	First    uint64        `json:"first"` // 0: the page is empty
	Position uint64        `json:"position"`
	More     bool          `json:"more"`
	Oldest   uint64        `json:"oldest"`
	TTL      float64       `json:"ttl_seconds"`
	Online   int           `json:"online"`
	Settings roomSettings  `json:"settings"`
}

func roomNewsOf(news room.News) roomNews {
	out := roomNews{
		Messages: []roomMessage{}, Changes: []roomChange{}, // never null
		First: news.First, Position: news.Position, More: news.More, Oldest: news.Oldest,
		TTL: news.TTL.Seconds(), Online: news.Online, Settings: roomSettingsOf(news.Settings),
	}
	for _, m := range news.Messages {
		out.Messages = append(out.Messages, roomMessageOf(m))
	}
	for _, change := range news.Changes {
		out.Changes = append(out.Changes, roomChangeOf(change))
	}
	return out
}

// typeRetraction is the type that what was taken back has in CSV.
const typeRetraction = "retraction"

// roomLines returns messages and what was taken back in their order.
func roomLines(news room.News) []message {
	var lines []message
	for _, m := range news.Messages {
		line := messageOf("", m.Message)
		if m.Nick != "" {
			line.shown = fmt.Sprintf("%s (%s)", m.Nick, m.Sender)
		}
		lines = append(lines, line)
	}
	for _, change := range news.Changes {
		lines = append(lines, message{
			ID: change.Position, Sender: cmp.Or(change.By, "operator"), Time: change.Time.UTC(),
			Type: typeRetraction, Text: fmt.Sprintf("(took back message %d)", change.Message),
		})
	}
	slices.SortStableFunc(lines, func(a, b message) int { return cmp.Compare(a.ID, b.ID) })
	return lines
}

// roomObjects gives messages and what was taken back in their order.
func roomObjects(news room.News) []any {
	var objects []any
	changes := news.Changes
	for _, m := range news.Messages {
		for ; len(changes) > 0 && changes[0].Position < m.ID; changes = changes[1:] {
			objects = append(objects, roomChangeOf(changes[0]))
		}
		objects = append(objects, roomMessageOf(m))
	}
	for _, change := range changes {
		objects = append(objects, roomChangeOf(change))
	}
	return objects
}

// rough is a length of time for people.
func rough(d time.Duration) string {
	if d < time.Minute {
		return d.Round(time.Second / 10).String()
	}
	return d.Round(time.Second).String()
}

func roomInfo(a *cli.App) *cobra.Command {
	var v visitor
	c := &cobra.Command{
		Use:   "info NAME",
		Short: "Tells about a room",
		Long: `Tells about a room: how long it lives, how many people are inside, its settings.
Who is inside may ask, its owner, and operators.`,
		Example: `  skidway room info lobby
  skidway room info cellar --password-file secret.txt -o json`,
		Args: cli.Args("NAME of the room"),
	}
	v.add(c, false)
	output := cli.OutputFlag(c)
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		return v.in(c, a, args[0], func(r *room.Client, pass room.Pass) error {
			info, err := r.Info(c.Context(), pass)
			if err != nil {
				return err
			}
			return printRoom(a, output.Word, args[0], info)
		})
	})
	return c
}

// printRoom prints one thing a line, or in JSON an object.
func printRoom(a *cli.App, format, name string, info room.Info) error {
	s := info.Settings
	seconds := func(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }
	rows := [][]string{{"what", "value"}}
	shown := cli.Table{Heads: []string{"ROOM", cli.Printable(name)}, Right: []bool{false, false}}
	add := func(what, value, text string) {
		rows = append(rows, []string{what, value})
		shown.Add(strings.TrimSuffix(what, "_seconds"), cli.Printable(text))
	}
	plain := func(what, value string) { add(what, value, value) }
	add("created", cli.Stamp(info.Created), cli.LocalTime(info.Created))
	add("ttl_seconds", seconds(info.TTL), rough(info.TTL)+" of "+rough(s.TTL))
	plain("online", strconv.Itoa(info.Online))
	plain("last", cli.Digits(info.Last))
	plain("oldest", cli.Digits(info.Oldest))
	plain("kept", cli.Digits(info.Kept))
	plain("owner", s.Owner)
	plain("password", strconv.FormatBool(s.Password))
	plain("max", strconv.Itoa(s.Max))
	plain("keep", strconv.Itoa(s.Keep))
	add("presence_seconds", seconds(s.Presence), rough(s.Presence))
	return a.Print(format, shown.Write,
		func(out io.Writer) error { return cli.WriteCSV(out, rows) },
		func(out io.Writer) error {
			return cli.WriteJSON(out, struct {
				Room     string       `json:"room"`
				Created  time.Time    `json:"created"`
				TTL      float64      `json:"ttl_seconds"`
				Online   int          `json:"online"`
				Last     uint64       `json:"last"`
				Oldest   uint64       `json:"oldest"`
				Kept     uint64       `json:"kept"`
				Settings roomSettings `json:"settings"`
			}{name, info.Created.UTC(), info.TTL.Seconds(), info.Online, info.Last, info.Oldest, info.Kept, roomSettingsOf(s)})
		})
}

var peopleView = cli.View[room.Person]{
	{Key: "id", Head: "ID", Value: func(p room.Person) any { return p.ID }},
	{Key: "nick", Head: "NICK", Value: func(p room.Person) any { return p.Nick }, Omit: true},
	{Key: "inside_until", Head: "INSIDE UNTIL", Value: func(p room.Person) any { return p.Until }, Cell: insideText, Only: "csv"},
	{Key: "inside", Value: func(p room.Person) any { return p.Inside }, Only: "json"},
	{Key: "until", Value: func(p room.Person) any { return p.Until.UTC() }, Omit: true, Only: "json"},
	{Key: "muted", Head: "MUTED", Value: func(p room.Person) any { return p.Muted }, Cell: mutedText},
	{Key: "muted_until", Value: func(p room.Person) any { return p.MutedUntil.UTC() }, Omit: true}, // none: for good
}

func insideText(p room.Person) string {
	if !p.Inside {
		return "not inside"
	}
	return cli.LocalTime(p.Until)
}

func mutedText(p room.Person) string {
	switch {
	case p.Muted && p.MutedUntil.IsZero():
		return "for good"
	case p.Muted:
		return "until " + cli.LocalTime(p.MutedUntil)
	}
	return ""
}

func roomPeople(a *cli.App) *cobra.Command {
	var v visitor
	c := &cobra.Command{
		Use:   "people NAME",
		Short: "Lists who is inside a room, and who is muted",
		Long: `Lists who is inside a room and until when, unless they send or read, and who is
muted. Who is inside may ask, the owner, and operators.`,
		Example: `  skidway room people lobby
  skidway room people lobby --as ann -o json`,
		Args: cli.Args("NAME of the room"),
	}
	v.add(c, false)
	output := cli.OutputFlag(c)
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		return v.in(c, a, args[0], func(r *room.Client, pass room.Pass) error {
			people, err := r.People(c.Context(), pass)
			if err != nil {
				return err
			}
			return cli.PrintView(a, output.Word, peopleView, people, nil)
		})
	})
	return c
}
