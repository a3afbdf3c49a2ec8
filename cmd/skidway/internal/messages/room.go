package messages

import (
	"context"
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

// An actor is the person who acts in a room, as flags say.
type actor struct{ as, passwordFile, keyFile string }

// newActor adds the flags of an actor to a command.
func newActor(c *cobra.Command, asRequired bool) *actor {
	v := &actor{}
	if asRequired {
		asFlag(c, &v.as)
	} else {
		c.Flags().StringVar(&v.as, "as", "", "`NAME` of who does this (default: an operator)")
	}
	passwordFlag(c, &v.passwordFile, "the password of the room")
	c.Flags().StringVar(&v.keyFile, "key-file", "", "`FILE` with the key that 'room enter -o json' gave, which is faster")
	c.MarkFlagsMutuallyExclusive("password-file", "key-file")
	return v
}

// credential returns the credential of the actor for a room.
func (v *actor) credential(c *cobra.Command, r *room.Client, name string) (room.Pass, error) {
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

// Who may use a command.
const (
	member   = true  // a person in the room: --as is required
	operator = false // without --as it is an operator
)

// inRoom adds the flags of an actor to a command whose first argument is a room,
// and returns its RunE. do gets the arguments after the first.
func inRoom(a *cli.App, c *cobra.Command, asRequired bool, do func(ctx context.Context, r *room.Client, pass room.Pass, args []string) error) func(*cobra.Command, []string) error {
	v := newActor(c, asRequired)
	return cli.Using(a, openRooms, func(ctx context.Context, r *room.Client, args []string) error {
		pass, err := v.credential(c, r, args[0])
		if err != nil {
			return err
		}
		return do(ctx, r, pass, args[1:])
	})
}

func passwordFlag(c *cobra.Command, file *string, what string) {
	c.Flags().StringVar(file, "password-file", "", "`FILE` with "+what+" in its first line")
}

// roomArg is the argument of a command that acts on a room.
const roomArg = "NAME of the room"

// roomSettings are the flags with the settings of a room.
type roomSettings struct {
	ttl, presence cli.Span
	max, keep     cli.Number
}

func (s *roomSettings) add(c *cobra.Command) {
	c.Flags().Var(&s.ttl, "ttl", "how long the room lives after the last word")
	c.Flags().Var(&s.presence, "presence", "how long who neither sends nor reads stays inside")
	c.Flags().Var(&s.max, "max", "most people inside; 0: no limit")
	c.Flags().Var(&s.keep, "keep", "how many messages of history to keep")
}

func roomCreate(a *cli.App) *cobra.Command {
	settings := roomSettings{ttl: cli.Span(room.DefaultTTL), presence: cli.Span(room.DefaultPresence), keep: room.DefaultKeep}
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
		Args: cli.Args(roomArg),
	}
	settings.add(c)
	c.Flags().StringVar(&options.Owner, "as", "", "`NAME` of the owner (default: none)")
	passwordFlag(c, &passwordFile, "a password for the room")
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		if err := refuseEmpty(c, "as", "password-file"); err != nil {
			return err
		}
		options.TTL, options.Presence = time.Duration(settings.ttl), time.Duration(settings.presence)
		options.Max, options.Keep = int(settings.max), int(settings.keep)
		if settings.keep == 0 {
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
		return cli.With(c.Context(), a, openRooms, func(r *room.Client) error { return r.Create(c.Context(), args[0], options) })
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
		Args: cli.Args(roomArg),
	}
	c.Flags().StringVar(&options.ID, "as", "", "`NAME` that nobody else has inside (default: a new one)")
	c.Flags().StringVar(&options.Nick, "nick", "", "`NAME` to be called by")
	passwordFlag(c, &passwordFile, "the password of the room")
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
		return cli.With(c.Context(), a, openRooms, func(r *room.Client) error {
			pass, err := r.Enter(c.Context(), args[0], options)
			if err != nil {
				return err
			}
			return a.PrintWord(output.Word, pass.ID, cli.Object{
				{Key: "room", Value: pass.Room}, {Key: "id", Value: pass.ID}, {Key: "key", Value: pass.Key},
			})
		})
	})
	return c
}

func roomLeave(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:     "leave NAME",
		Short:   "Leaves a room",
		Long:    "Leaves a room. Its messages stay for those who come back.",
		Example: `  skidway room leave lobby --as ann`,
		Args:    cli.Args(roomArg),
	}
	c.RunE = inRoom(a, c, member, func(ctx context.Context, r *room.Client, pass room.Pass, _ []string) error {
		return r.Leave(ctx, pass)
	})
	return c
}

func roomDelete(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:     "delete NAME",
		Short:   "Deletes a room",
		Long:    "Deletes a room with all that is in it. Its owner may, and operators.",
		Example: `  skidway room delete lobby`,
		Args:    cli.Args(roomArg),
	}
	c.RunE = inRoom(a, c, operator, func(ctx context.Context, r *room.Client, pass room.Pass, _ []string) error {
		return r.Delete(ctx, pass)
	})
	return c
}

func roomSet(a *cli.App) *cobra.Command {
	var settings roomSettings
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
		Args: cli.Args(roomArg),
	}
	settings.add(c)
	flags := c.Flags()
	flags.StringVar(&owner, "owner", "", "`NAME` of the owner")
	flags.StringVar(&newPasswordFile, "new-password-file", "", "`FILE` with the new password in its first line")
	for _, name := range []string{"ttl", "presence", "max", "keep"} {
		flags.Lookup(name).DefValue = "" // as it is
	}
	c.MarkFlagsOneRequired("ttl", "presence", "max", "keep", "owner", "new-password-file")
	c.RunE = inRoom(a, c, operator, func(ctx context.Context, r *room.Client, pass room.Pass, _ []string) error {
		change := room.Change{
			TTL: ifGiven(c, "ttl", time.Duration(settings.ttl)), Presence: ifGiven(c, "presence", time.Duration(settings.presence)),
			Max: ifGiven(c, "max", int(settings.max)), Keep: ifGiven(c, "keep", int(settings.keep)), Owner: ifGiven(c, "owner", owner),
		}
		if newPasswordFile != "" {
			password, err := cli.ReadSecret(newPasswordFile)
			if err != nil {
				return err
			}
			change.Password = &password
		}
		_, err := r.Set(ctx, pass, change)
		return err
	})
	return c
}

// ifGiven returns the value of a flag, or nil if it is not on the command line.
func ifGiven[T any](c *cobra.Command, flag string, value T) *T {
	if !c.Flags().Changed(flag) {
		return nil
	}
	return &value
}

func roomMute(a *cli.App) *cobra.Command {
	var length cli.Span
	c := &cobra.Command{
		Use:   "mute NAME ID",
		Short: "Keeps somebody from sending to a room",
		Long: `Keeps somebody from sending to a room, be it inside or not, for good or for a
time. The muted can read. The owner of the room may, and operators; where there
is no owner, everybody inside.`,
		Example: `  skidway room mute lobby bob --as ann --for 10m
  skidway room mute lobby bob`,
		Args: argsAnd(roomArg, "ID"),
	}
	c.Flags().Var(&length, "for", "how long (default: for good)")
	c.Flags().Lookup("for").DefValue = ""
	c.RunE = inRoom(a, c, operator, func(ctx context.Context, r *room.Client, pass room.Pass, args []string) error {
		return r.Mute(ctx, pass, args[0], time.Duration(length))
	})
	return c
}

func roomUnmute(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:     "unmute NAME ID",
		Short:   "Lets somebody send to a room again",
		Long:    "Lets somebody send to a room again that was muted.",
		Example: `  skidway room unmute lobby bob --as ann`,
		Args:    argsAnd(roomArg, "ID"),
	}
	c.RunE = inRoom(a, c, operator, func(ctx context.Context, r *room.Client, pass room.Pass, args []string) error {
		return r.Unmute(ctx, pass, args[0])
	})
	return c
}

func roomSend(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "send NAME [MESSAGE]",
		Short: "Sends a message to a room",
		Long: `Sends a message to a room, and prints its id. MESSAGE "-" is read from standard
input. The message is a text of at most 64 KiB, or an image, audio or video that
lies behind a --url; MESSAGE is then its caption, and can be left out.`,
		Example: `  skidway room send lobby --as ann "hello"
  skidway room send lobby --as ann --type image --url https://example.com/a.png
  date | skidway room send lobby --as ann -`,
		Args: argsAnd(roomArg, "[MESSAGE]"),
	}
	v := newActor(c, member)
	send(a, c, openRooms, func(c *cobra.Command, r *room.Client, name string, content chat.Content) (uint64, error) {
		pass, err := v.credential(c, r, name)
		if err != nil {
			return 0, err
		}
		return r.Send(c.Context(), pass, content)
	})
	cli.Complete(c, "type", chat.TypeText, chat.TypeImage, chat.TypeAudio, chat.TypeVideo)
	return c
}

func roomRetract(a *cli.App) *cobra.Command {
	var id uint64
	c := &cobra.Command{
		Use:   "retract NAME MESSAGE-ID",
		Short: "Takes a message back",
		Long: `Takes a message back: it disappears from the history, and those who have read it
are told by their next read. Its sender may, the owner of the room, and
operators.`,
		Example: `  skidway room retract lobby 12 --as ann`,
		Args: func(c *cobra.Command, args []string) error {
			if err := argsAnd(roomArg, "MESSAGE-ID")(c, args); err != nil {
				return err
			}
			var err error
			if id, err = strconv.ParseUint(args[1], 10, 64); err != nil {
				return fmt.Errorf("MESSAGE-ID %q: want a number", args[1])
			}
			return nil
		},
	}
	c.RunE = inRoom(a, c, operator, func(ctx context.Context, r *room.Client, pass room.Pass, _ []string) error {
		return r.Retract(ctx, pass, id)
	})
	return c
}
