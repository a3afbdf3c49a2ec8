package messages

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute/chat/room"
)

var settingsView = cli.View[room.Settings]{
	{Key: "ttl_seconds", Value: func(s room.Settings) any { return s.TTL.Seconds() }},
	{Key: "presence_seconds", Value: func(s room.Settings) any { return s.Presence.Seconds() }},
	{Key: "max", Value: func(s room.Settings) any { return s.Max }},
	{Key: "keep", Value: func(s room.Settings) any { return s.Keep }},
	{Key: "password", Value: func(s room.Settings) any { return s.Password }},
	{Key: "owner", Value: func(s room.Settings) any { return s.Owner }},
	{Key: "mutes", Value: func(s room.Settings) any {
		mutes := map[string]*time.Time{} // null: for good
		for id, until := range s.Mutes {
			if mutes[id] = nil; !until.IsZero() {
				until = until.UTC()
				mutes[id] = &until
			}
		}
		return mutes
	}},
}

// rough returns a duration for people.
func rough(d time.Duration) string {
	if d < time.Minute {
		return d.Round(time.Second / 10).String()
	}
	return d.Round(time.Second).String()
}

// seconds returns a duration as CSV has it.
func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }

// A roomRow is the state of a room, with its name.
type roomRow struct {
	name string
	room.Info
}

var roomView = cli.View[roomRow]{
	{Key: "room", Value: func(r roomRow) any { return r.name }, Only: "json"},
	{
		Key: "created", Head: "created", Value: func(r roomRow) any { return r.Created.UTC() },
		Cell: func(r roomRow) string { return cli.LocalTime(r.Created) },
	},
	{
		Key: "ttl_seconds", Head: "ttl", Value: func(r roomRow) any { return seconds(r.TTL) }, Only: "csv",
		Cell: func(r roomRow) string { return rough(r.TTL) + " of " + rough(r.Settings.TTL) },
	},
	{Key: "ttl_seconds", Value: func(r roomRow) any { return r.TTL.Seconds() }, Only: "json"},
	{Key: "online", Head: "online", Value: func(r roomRow) any { return r.Online }},
	{Key: "last", Head: "last", Value: func(r roomRow) any { return r.Last }},
	{Key: "oldest", Head: "oldest", Value: func(r roomRow) any { return r.Oldest }},
	{Key: "kept", Head: "kept", Value: func(r roomRow) any { return r.Kept }},
	{Key: "owner", Head: "owner", Value: func(r roomRow) any { return r.Settings.Owner }, Only: "csv"},
	{Key: "password", Head: "password", Value: func(r roomRow) any { return r.Settings.Password }, Only: "csv"},
	{Key: "max", Head: "max", Value: func(r roomRow) any { return r.Settings.Max }, Only: "csv"},
	{Key: "keep", Head: "keep", Value: func(r roomRow) any { return r.Settings.Keep }, Only: "csv"},
	{
		Key: "presence_seconds", Head: "presence", Value: func(r roomRow) any { return seconds(r.Settings.Presence) }, Only: "csv",
		Cell: func(r roomRow) string { return rough(r.Settings.Presence) },
	},
	{Key: "settings", Value: func(r roomRow) any { return settingsView.Object(r.Settings) }, Only: "json"},
}

func roomInfo(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "info NAME",
		Short: "Shows a room",
		Long: `Shows a room: when it expires, how many people are inside, and its settings.
People inside, the owner and operators can do this.`,
		Example: `  skidway room info lobby
  skidway room info cellar --password-file secret.txt -o json`,
		Args: cli.Args(roomArg),
	}
	output := cli.OutputFlag(a, c)
	return inRoom(a, c, operator, func(ctx context.Context, r *room.Client, pass room.Credential, _ []string) error {
		info, err := r.Info(ctx, pass)
		if err != nil {
			return err
		}
		return cli.PrintFigures(a, output.Word, roomView, roomRow{pass.Room, info}, "what", "ROOM", cli.Printable(pass.Room))
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
	c := &cobra.Command{
		Use:   "people NAME",
		Short: "Lists the people of a room",
		Long: `Lists the people inside a room, until when they are inside unless they send or
read, and the muted people. People inside, the owner and operators can do this.`,
		Example: `  skidway room people lobby
  skidway room people lobby --as ann -o json`,
		Args: cli.Args(roomArg),
	}
	output := cli.OutputFlag(a, c)
	return inRoom(a, c, operator, func(ctx context.Context, r *room.Client, pass room.Credential, _ []string) error {
		people, err := r.People(ctx, pass)
		if err != nil {
			return err
		}
		return cli.PrintView(a, output.Word, peopleView, people, nil)
	})
}
