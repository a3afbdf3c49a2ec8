package messages

import (
	"time"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute/chat"
)

func roomSet(a *cli.App) *cobra.Command {
	var v visitor
	var ttl, presence cli.Span
	var most, keep cli.Number
	var owner, newPasswordFile string
	c := &cobra.Command{
		Use:   "set NAME",
		Short: "Changes the settings of a room",
		Long: `Changes the settings of a room that are given. Its owner may, and operators;
where there is no owner, everybody inside.

A new --ttl counts from now until somebody speaks. A new password lets out
everybody but who set it; an empty file takes the password away. An empty
--owner leaves the room without one.`,
		Example: `  skidway room set lobby --ttl 24h --max 20
  skidway room set lobby --as ann --owner bob
  skidway room set cellar --password-file old.txt --new-password-file new.txt`,
		Args: cli.ExactlyOne("NAME of the room"),
	}
	v.add(c, false)
	flags := c.Flags()
	flags.Var(&ttl, "ttl", "how long the room lives after the last word")
	flags.Var(&presence, "presence", "how long who neither sends nor reads stays inside")
	flags.Var(&most, "max", "most people inside; 0: no limit")
	flags.Var(&keep, "keep", "how many messages of history to keep")
	flags.StringVar(&owner, "owner", "", "`NAME` of the owner")
	flags.StringVar(&newPasswordFile, "new-password-file", "", "`FILE` with the new password in its first line")
	for _, name := range []string{"ttl", "presence", "max", "keep"} {
		flags.Lookup(name).DefValue = "" // as it is
	}
	c.MarkFlagsOneRequired("ttl", "presence", "max", "keep", "owner", "new-password-file")
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		change := chat.RoomChange{
			TTL: ifGiven(c, "ttl", time.Duration(ttl)), Presence: ifGiven(c, "presence", time.Duration(presence)),
			Max: ifGiven(c, "max", int(most)), Keep: ifGiven(c, "keep", int(keep)), Owner: ifGiven(c, "owner", owner),
		}
		if newPasswordFile != "" {
			password, err := cli.ReadSecret(newPasswordFile)
			if err != nil {
				return err
			}
			change.Password = &password
		}
		return v.in(c, a, args[0], func(r *chat.Room, pass chat.Pass) error {
			_, err := r.Set(c.Context(), pass, change)
			return err
		})
	})
	return c
}

// ifGiven gives the value of a flag, or nil when it was not on the command line.
func ifGiven[T any](c *cobra.Command, flag string, value T) *T {
	if !c.Flags().Changed(flag) {
		return nil
	}
	return &value
}

func roomMute(a *cli.App) *cobra.Command {
	var v visitor
	var length cli.Span
	c := &cobra.Command{
		Use:   "mute NAME ID",
		Short: "Keeps somebody from sending to a room",
		Long: `Keeps somebody from sending to a room, be it inside or not, for good or for a
time. The muted can read. The owner of the room may, and operators; where there
is no owner, everybody inside.`,
		Example: `  skidway room mute lobby bob --as ann --for 10m
  skidway room mute lobby bob`,
		Args: nameAnd("ID", true),
	}
	v.add(c, false)
	c.Flags().Var(&length, "for", "how long (default: for good)")
	c.Flags().Lookup("for").DefValue = ""
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		return v.in(c, a, args[0], func(r *chat.Room, pass chat.Pass) error {
			return r.Mute(c.Context(), pass, args[1], time.Duration(length))
		})
	})
	return c
}

func roomUnmute(a *cli.App) *cobra.Command {
	var v visitor
	c := &cobra.Command{
		Use:     "unmute NAME ID",
		Short:   "Lets somebody send to a room again",
		Long:    "Lets somebody send to a room again that was muted.",
		Example: `  skidway room unmute lobby bob --as ann`,
		Args:    nameAnd("ID", true),
	}
	v.add(c, false)
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		return v.in(c, a, args[0], func(r *chat.Room, pass chat.Pass) error { return r.Unmute(c.Context(), pass, args[1]) })
	})
	return c
}
