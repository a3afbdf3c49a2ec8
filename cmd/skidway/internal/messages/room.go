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
		Short: "Named rooms that people enter and leave",
		Long: `People enter and leave a room by its name. A room expires when no message was
sent for its time to live, whether people are inside or not. People who neither
send nor read for a while are no longer inside.

--as names the person who acts. Without it an operator acts, who is not inside
but can do all that the owner can. Names are not checked: anyone who can use
this Redis can act under any name. A password keeps out people who only have
these commands.`,
		Example: `  skidway room create lobby --as ann
  skidway room enter lobby --as ann --nick Annie
  skidway room send lobby --as ann "hello"
  skidway room read lobby --as ann --follow`,
	})
	c.AddCommand(roomCreate(a), roomEnter(a), roomLeave(a), roomSend(a), roomRead(a), roomHistory(a), roomRetract(a),
		roomSet(a), roomMute(a), roomUnmute(a), roomDelete(a), roomInfo(a), roomPeople(a))
	return c
}

// An actor is the person who acts in a room, as the flags name it.
type actor struct{ as, passwordFile, keyFile string }

// newActor adds the flags of an actor to a command.
func newActor(c *cobra.Command, asRequired bool) *actor {
	p := &actor{}
	if asRequired {
		asFlag(c, &p.as)
	} else {
		c.Flags().StringVar(&p.as, "as", "", "`NAME` of the person who acts (default: an operator)")
	}
	passwordFlag(c, &p.passwordFile, "the password of the room")
	c.Flags().StringVar(&p.keyFile, "key-file", "", "`FILE` with the key that 'room enter -o json' printed, which is faster")
	c.MarkFlagsMutuallyExclusive("password-file", "key-file")
	return p
}

// credential returns the credential of the actor for a room.
func (p *actor) credential(c *cobra.Command, r *room.Client, name string) (room.Credential, error) {
	pass := room.Credential{Room: name, ID: p.as}
	err := refuseEmpty(c, "as", "password-file", "key-file", "new-password-file")
	switch {
	case err != nil:
	case p.keyFile != "":
		pass.Key, err = cli.ReadSecret(p.keyFile)
	case p.passwordFile != "":
		var password string
		if password, err = cli.ReadSecret(p.passwordFile); err == nil {
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

// inRoom completes a command whose first argument is a room: it adds the flags of an
// actor. do gets the arguments after the first.
func inRoom(a *cli.App, c *cobra.Command, asRequired bool, do func(ctx context.Context, r *room.Client, pass room.Credential, args []string) error) *cobra.Command {
	actor := newActor(c, asRequired)
	return cli.Run(a, c, openRooms, func(ctx context.Context, r *room.Client, args []string) error {
		pass, err := actor.credential(c, r, args[0])
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
	c.Flags().Var(&s.ttl, "ttl", "time to live of the room after the last message")
	c.Flags().Var(&s.presence, "presence", "time that a person who neither sends nor reads stays inside")
	c.Flags().Var(&s.max, "max", "number of people inside at most; 0: no limit")
	c.Flags().Var(&s.keep, "keep", "number of messages to keep")
}

func roomCreate(a *cli.App) *cobra.Command {
	settings := roomSettings{ttl: cli.Span(room.DefaultTTL), presence: cli.Span(room.DefaultPresence), keep: room.DefaultKeep}
	var options room.CreateOptions
	var passwordFile string
	c := &cobra.Command{
		Use:   "create NAME",
		Short: "Creates a room",
		Long: `Creates a room. With --as it has an owner: only the owner can change, mute and
delete. Without an owner everyone inside can. The creator has to enter it, too.`,
		Example: `  skidway room create lobby
  skidway room create cellar --as ann --password-file secret.txt --ttl 24h
  skidway room create booth --max 2 --keep 100 --presence 1m`,
		Args: cli.Args(roomArg),
	}
	settings.add(c)
	c.Flags().StringVar(&options.Owner, "as", "", "`NAME` of the owner (default: none)")
	passwordFlag(c, &passwordFile, "the password of the new room")
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
		return cli.With(c.Context(), a, openRooms, func(r *room.Client) error { return r.Create(c.Context(), args[0], &options) })
	})
	return c
}

func roomEnter(a *cli.App) *cobra.Command {
	var options room.EnterOptions
	var passwordFile string
	c := &cobra.Command{
		Use:   "enter NAME",
		Short: "Enters a room",
		Long: `Enters a room and prints the id of the person, for --as of the other commands.
Without --as it creates an id. For a room with a password, -o json also prints a
key: keep it in a file for --key-file, which is faster than the password.

The error is the same for an unknown room and for a wrong password.`,
		Example: `  skidway room enter lobby --as ann --nick Annie
  id=$(skidway room enter lobby)
  skidway room enter cellar --as ann --password-file secret.txt -o json`,
		Args: cli.Args(roomArg),
	}
	c.Flags().StringVar(&options.ID, "as", "", "`NAME` of the person, unique in the room (default: a new one)")
	c.Flags().StringVar(&options.Nick, "nick", "", "`NAME` to show to others")
	passwordFlag(c, &passwordFile, "the password of the room")
	output := cli.OutputFlag(a, c)
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
			pass, err := r.Enter(c.Context(), args[0], &options)
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
	return inRoom(a, &cobra.Command{
		Use:     "leave NAME",
		Short:   "Leaves a room",
		Long:    "Leaves a room. Its messages stay for people who come back.",
		Example: `  skidway room leave lobby --as ann`,
		Args:    cli.Args(roomArg),
	}, member, func(ctx context.Context, r *room.Client, pass room.Credential, _ []string) error {
		return r.Leave(ctx, pass)
	})
}

func roomDelete(a *cli.App) *cobra.Command {
	return inRoom(a, &cobra.Command{
		Use:     "delete NAME",
		Short:   "Deletes a room",
		Long:    "Deletes a room with all its messages. The owner and operators can do this.",
		Example: `  skidway room delete lobby`,
		Args:    cli.Args(roomArg),
	}, operator, func(ctx context.Context, r *room.Client, pass room.Credential, _ []string) error {
		return r.Delete(ctx, pass)
	})
}

func roomSet(a *cli.App) *cobra.Command {
	var settings roomSettings
	var owner, newPasswordFile string
	c := &cobra.Command{
		Use:   "set NAME",
		Short: "Changes the settings of a room",
		Long: `Changes the settings of a room that are given. The owner and operators can do
this; without an owner, everyone inside can.

A new --ttl begins now. A new password removes everyone but the person who set
it from the room; an empty file removes the password. An empty --owner removes
the owner.`,
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
	return inRoom(a, c, operator, func(ctx context.Context, r *room.Client, pass room.Credential, _ []string) error {
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
		Short: "Mutes a person in a room",
		Long: `Mutes a person, inside or not, forever or for a time. A muted person can read
but not send. The owner and operators can do this; without an owner, everyone
inside can.`,
		Example: `  skidway room mute lobby bob --as ann --for 10m
  skidway room mute lobby bob`,
		Args: argsAnd(roomArg, "ID"),
	}
	c.Flags().Var(&length, "for", "time to mute (default: forever)")
	c.Flags().Lookup("for").DefValue = ""
	return inRoom(a, c, operator, func(ctx context.Context, r *room.Client, pass room.Credential, args []string) error {
		return r.Mute(ctx, pass, args[0], time.Duration(length))
	})
}

func roomUnmute(a *cli.App) *cobra.Command {
	return inRoom(a, &cobra.Command{
		Use:     "unmute NAME ID",
		Short:   "Unmutes a person in a room",
		Long:    "Unmutes a person, who can send to the room again.",
		Example: `  skidway room unmute lobby bob --as ann`,
		Args:    argsAnd(roomArg, "ID"),
	}, operator, func(ctx context.Context, r *room.Client, pass room.Credential, args []string) error {
		return r.Unmute(ctx, pass, args[0])
	})
}

func roomSend(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "send NAME [MESSAGE]",
		Short: "Sends a message to a room",
		Long: `Sends a message to a room, and prints its id. MESSAGE "-" reads standard input.
A message is a text of at most 64 KiB, or an image, audio or video at a --url;
then MESSAGE is an optional caption.`,
		Example: `  skidway room send lobby --as ann "hello"
  skidway room send lobby --as ann --type image --url https://example.com/a.png
  date | skidway room send lobby --as ann -`,
		Args: argsAnd(roomArg, "[MESSAGE]"),
	}
	actor := newActor(c, member)
	send(a, c, openRooms, func(c *cobra.Command, r *room.Client, name string, content chat.Content) (uint64, error) {
		pass, err := actor.credential(c, r, name)
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
	return inRoom(a, &cobra.Command{
		Use:   "retract NAME MESSAGE-ID",
		Short: "Retracts a message",
		Long: `Retracts a message: it is removed from the history, and readers learn of it with
their next read. The sender, the owner of the room and operators can do this.`,
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
	}, operator, func(ctx context.Context, r *room.Client, pass room.Credential, _ []string) error {
		return r.Retract(ctx, pass, id)
	})
}
