package messages

import (
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute/chat"
)

func roomInfo(a *cli.App) *cobra.Command {
	var v visitor
	c := &cobra.Command{
		Use:   "info NAME",
		Short: "Tells about a room",
		Long: `Tells about a room: how long it lives, how many people are inside, its settings.
Who is inside may ask, its owner, and operators.`,
		Example: `  skidway room info lobby
  skidway room info cellar --password-file secret.txt -o json`,
		Args: cli.ExactlyOne("NAME of the room"),
	}
	v.add(c, false)
	output := cli.OutputFlag(c)
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		return v.in(c, a, args[0], func(r *chat.Room, pass chat.Pass) error {
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
func printRoom(a *cli.App, format, name string, info chat.RoomInfo) error {
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

// A personView is somebody in a room or muted there, as it is printed.
type personView struct {
	ID         string     `json:"id"`
	Nick       string     `json:"nick,omitempty"`
	Inside     bool       `json:"inside"`
	Until      *time.Time `json:"until,omitempty"`
	Muted      bool       `json:"muted"`
	MutedUntil *time.Time `json:"muted_until,omitempty"` // none: for good
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
		Args: cli.ExactlyOne("NAME of the room"),
	}
	v.add(c, false)
	output := cli.OutputFlag(c)
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		return v.in(c, a, args[0], func(r *chat.Room, pass chat.Pass) error {
			people, err := r.People(c.Context(), pass)
			if err != nil {
				return err
			}
			return printPeople(a, output.Word, people)
		})
	})
	return c
}

func printPeople(a *cli.App, format string, people []chat.Person) error {
	rows := [][]string{{"id", "nick", "inside_until", "muted", "muted_until"}}
	shown := cli.Table{Heads: []string{"ID", "NICK", "INSIDE UNTIL", "MUTED"}, Right: make([]bool, 4)}
	views := []personView{}
	for _, p := range people {
		views = append(views, personView{p.ID, p.Nick, p.Inside, utc(p.Until), p.Muted, utc(p.MutedUntil)})
		rows = append(rows, []string{p.ID, p.Nick, cli.Stamp(p.Until), strconv.FormatBool(p.Muted), cli.Stamp(p.MutedUntil)})
		inside, muted := "not inside", ""
		if p.Inside {
			inside = cli.LocalTime(p.Until)
		}
		switch {
		case p.Muted && p.MutedUntil.IsZero():
			muted = "for good"
		case p.Muted:
			muted = "until " + cli.LocalTime(p.MutedUntil)
		}
		shown.Add(cli.Printable(p.ID), cli.Printable(p.Nick), inside, muted)
	}
	return a.Print(format, shown.Write,
		func(out io.Writer) error { return cli.WriteCSV(out, rows) },
		func(out io.Writer) error { return cli.WriteJSON(out, views) })
}
