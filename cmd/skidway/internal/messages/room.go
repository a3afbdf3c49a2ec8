package messages

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute/chat"
	"skidway/distribute/chat/room"
)

// Room returns the command "room".
func Room(a *cli.App) *cobra.Command {
	c := cli.Group(&cobra.Command{
		Use:   "room",
		Short: "Named places to meet, which end by themselves",
		Long: `A room is a named place that people enter and leave. It ends by itself when
nobody spoke for its time to live; that nobody is inside ends nothing. Who
neither sends nor reads for a while is no longer inside.

Who acts is said with --as. Without it an operator acts, who is nobody in the
room, but may do all that its owner may. Names are claims: whoever can use this
Redis can act as anybody. A password keeps out those who only have the commands.`,
		Example: `  skidway room create lobby --as ann
  skidway room enter lobby --as ann --nick Annie
  skidway room send lobby --as ann "hello"
  skidway room read lobby --as ann --follow`,
	})
	c.AddCommand(roomCreate(a), roomEnter(a), roomLeave(a), roomSend(a), roomRead(a), roomHistory(a), roomRetract(a),
		roomSet(a), roomMute(a), roomUnmute(a), roomDelete(a), roomInfo(a), roomPeople(a))
	return c
}

// A visitor is who acts in a room, as flags say.
type visitor struct{ as, passwordFile, keyFile string }

// add adds the flags of a command. needed is whether an operator can't do it.
func (v *visitor) add(c *cobra.Command, needed bool) {
	if needed {
		asFlag(c, &v.as)
	} else {
		c.Flags().StringVar(&v.as, "as", "", "`NAME` of who does this (default: an operator)")
	}
	c.Flags().StringVar(&v.passwordFile, "password-file", "", "`FILE` with the password of the room in its first line")
	c.Flags().StringVar(&v.keyFile, "key-file", "", "`FILE` with the key that 'room enter -o json' gave, which is faster")
	c.MarkFlagsMutuallyExclusive("password-file", "key-file")
}

// pass makes the pass for a room out of the flags.
func (v *visitor) pass(c *cobra.Command, r *room.Client, name string) (room.Pass, error) {
	pass := room.Pass{Room: name, ID: v.as}
	err := refuseEmpty(c, "as", "password-file", "key-file", "new-password-file")
	switch {
	case err != nil:
	case v.keyFile != "":
		pass.Key, err = cli.ReadSecret(v.keyFile)
	case v.passwordFile != "":
		var password string
		if password, err = cli.ReadSecret(v.passwordFile); err == nil {
			pass.Key, err = r.Key(c.Context(), name, password)
		}
	}
	return pass, err
}

// in opens the shared Redis and makes the pass, for as long as f runs.
func (v *visitor) in(c *cobra.Command, a *cli.App, name string, f func(*room.Client, room.Pass) error) error {
	return cli.WithClient(c.Context(), a, room.New, func(r *room.Client) error {
		pass, err := v.pass(c, r, name)
		if err != nil {
			return err
		}
		return f(r, pass)
	})
}

func roomCreate(a *cli.App) *cobra.Command {
	ttl, presence := cli.Span(room.DefaultTTL), cli.Span(room.DefaultPresence)
	keep := cli.Number(room.DefaultKeep)
	var most cli.Number
	var options room.Options
	var passwordFile string
	c := &cobra.Command{
		Use:   "create NAME",
		Short: "Creates a room",
		Long: `Creates a room. With --as it has an owner, who alone may change, mute and
delete; without, everybody inside may. Its creator still has to enter it.`,
		Example: `  skidway room create lobby
  skidway room create cellar --as ann --password-file secret.txt --ttl 24h
  skidway room create booth --max 2 --keep 100 --presence 1m`,
		Args: cli.Args("NAME of the room"),
	}
	flags := c.Flags()
	flags.Var(&ttl, "ttl", "how long the room lives after the last word")
	flags.Var(&presence, "presence", "how long who neither sends nor reads stays inside")
	flags.Var(&most, "max", "most people inside; 0: no limit")
	flags.Var(&keep, "keep", "how many messages of history to keep")
	flags.StringVar(&options.Owner, "as", "", "`NAME` of the owner (default: none)")
	flags.StringVar(&passwordFile, "password-file", "", "`FILE` with a password for the room in its first line")
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		if err := refuseEmpty(c, "as", "password-file"); err != nil {
			return err
		}
		options.TTL, options.Presence = time.Duration(ttl), time.Duration(presence)
		options.Max, options.Keep = int(most), int(keep)
		if keep == 0 {
			return cli.WrongUsage("--keep starts at 1")
		}
		if passwordFile != "" {
			var err error
			if options.Password, err = cli.ReadSecret(passwordFile); err != nil {
				return err
			}
			if options.Password == "" {
				return fmt.Errorf("%s: its first line is empty, want a password there", passwordFile)
			}
		}
		return cli.WithClient(c.Context(), a, room.New, func(r *room.Client) error { return r.Create(c.Context(), args[0], options) })
	})
	return c
}

func roomEnter(a *cli.App) *cobra.Command {
	var options room.EnterOptions
	var passwordFile string
	c := &cobra.Command{
		Use:   "enter NAME",
		Short: "Enters a room",
		Long: `Enters a room and prints the id of who is inside now, for --as of the other
commands. Without --as it makes one. For a room with a password, -o json prints
a key, too: keep it in a file for --key-file, which takes no computing.

Whether there is no such room or the password is wrong is not told.`,
		Example: `  skidway room enter lobby --as ann --nick Annie
  id=$(skidway room enter lobby)
  skidway room enter cellar --as ann --password-file secret.txt -o json`,
		Args: cli.Args("NAME of the room"),
	}
	c.Flags().StringVar(&options.ID, "as", "", "`NAME` that nobody else has inside (default: a new one)")
	c.Flags().StringVar(&options.Nick, "nick", "", "`NAME` to be called by")
	c.Flags().StringVar(&passwordFile, "password-file", "", "`FILE` with the password of the room in its first line")
	output := cli.OutputFlag(c)
	c.RunE = cli.Action(func(c *cobra.Command, args []string) (err error) {
		if err := refuseEmpty(c, "as", "password-file"); err != nil {
			return err
		}
		if passwordFile != "" {
			if options.Password, err = cli.ReadSecret(passwordFile); err != nil {
				return err
			}
		}
		return cli.WithClient(c.Context(), a, room.New, func(r *room.Client) error {
			pass, err := r.Enter(c.Context(), args[0], options)
			if err != nil {
				return err
			}
			return a.PrintWord(output.Word, pass.ID, struct {
				Room string `json:"room"`
				ID   string `json:"id"`
				Key  string `json:"key"`
			}{pass.Room, pass.ID, pass.Key})
		})
	})
	return c
}

func roomLeave(a *cli.App) *cobra.Command {
	var v visitor
	c := &cobra.Command{
		Use:     "leave NAME",
		Short:   "Leaves a room",
		Long:    "Leaves a room. Its messages stay for those who come back.",
		Example: `  skidway room leave lobby --as ann`,
		Args:    cli.Args("NAME of the room"),
	}
	v.add(c, true)
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		return v.in(c, a, args[0], func(r *room.Client, pass room.Pass) error { return r.Leave(c.Context(), pass) })
	})
	return c
}

func roomDelete(a *cli.App) *cobra.Command {
	var v visitor
	c := &cobra.Command{
		Use:     "delete NAME",
		Short:   "Deletes a room",
		Long:    "Deletes a room with all that is in it. Its owner may, and operators.",
		Example: `  skidway room delete lobby`,
		Args:    cli.Args("NAME of the room"),
	}
	v.add(c, false)
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		return v.in(c, a, args[0], func(r *room.Client, pass room.Pass) error { return r.Delete(c.Context(), pass) })
	})
	return c
}

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
		Args: cli.Args("NAME of the room"),
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
		change := room.Change{
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
		return v.in(c, a, args[0], func(r *room.Client, pass room.Pass) error {
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
		Args: argsAnd("NAME of the room", "ID"),
	}
	v.add(c, false)
	c.Flags().Var(&length, "for", "how long (default: for good)")
	c.Flags().Lookup("for").DefValue = ""
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		return v.in(c, a, args[0], func(r *room.Client, pass room.Pass) error {
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
		Args:    argsAnd("NAME of the room", "ID"),
	}
	v.add(c, false)
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		return v.in(c, a, args[0], func(r *room.Client, pass room.Pass) error { return r.Unmute(c.Context(), pass, args[1]) })
	})
	return c
}

func roomSend(a *cli.App) *cobra.Command {
	var v visitor
	var flags contentFlags
	c := &cobra.Command{
		Use:   "send NAME [MESSAGE]",
		Short: "Sends a message to a room",
		Long: `Sends a message to a room, and prints its id. MESSAGE "-" is read from standard
input. The message is a text of at most 64 KiB, or an image, audio or video that
lies behind a --url; MESSAGE is then its caption, and can be left out.`,
		Example: `  skidway room send lobby --as ann "hello"
  skidway room send lobby --as ann --type image --url https://example.com/a.png
  date | skidway room send lobby --as ann -`,
		Args: argsAnd("NAME of the room", "[MESSAGE]"),
	}
	v.add(c, true)
	flags.add(c)
	cli.Complete(c, "type", chat.TypeText, chat.TypeImage, chat.TypeAudio, chat.TypeVideo)
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		content, err := flags.content(c, args[1:])
		if err != nil {
			return err
		}
		return v.in(c, a, args[0], func(r *room.Client, pass room.Pass) error {
			id, err := r.Send(c.Context(), pass, content)
			if err != nil {
				return err
			}
			return a.PrintLine(id)
		})
	})
	return c
}

func roomRetract(a *cli.App) *cobra.Command {
	var v visitor
	c := &cobra.Command{
		Use:   "retract NAME MESSAGE-ID",
		Short: "Takes a message back",
		Long: `Takes a message back: it disappears from the history, and those who have read it
are told by their next read. Its sender may, the owner of the room, and
operators.`,
		Example: `  skidway room retract lobby 12 --as ann`,
		Args:    argsAnd("NAME of the room", "MESSAGE-ID"),
	}
	v.add(c, false)
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		id, err := strconv.ParseUint(args[1], 10, 64)
		if err != nil {
			return cli.WrongUsage("MESSAGE-ID %q: want a number", args[1])
		}
		return v.in(c, a, args[0], func(r *room.Client, pass room.Pass) error { return r.Retract(c.Context(), pass, id) })
	})
	return c
}
