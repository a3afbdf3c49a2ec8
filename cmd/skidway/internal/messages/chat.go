package messages

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute/chat"
	"skidway/internal/rdb"
)

// Chat returns the command "chat".
func Chat(a *cli.App) *cobra.Command {
	c := cli.Group(&cobra.Command{
		Use:   "chat",
		Short: "Group chats that wait for their readers",
		Long: `Group chats whose messages wait for their readers: who is away misses nothing.

Messages have numbers 1, 2, 3... in their chat. A message is deleted when every
member has read it, or when the chat's limits say so. A chat ends with its last
member, unless it is a channel.`,
		Example: `  skidway chat create --id lunch --as ann --member bob "noon?"
  skidway chat read --as bob --follow
  skidway chat send lunch --as bob "gladly"`,
	})
	c.AddCommand(chatCreate(a), chatSend(a), chatRead(a), chatJoin(a), chatLeave(a),
		chatMembers(a), chatList(a), chatDrop(a), chatLimit(a), chatInfo(a))
	return c
}

// withGroup opens the group chats of the shared Redis for as long as f runs.
func withGroup(a *cli.App, ctx context.Context, f func(*chat.Group) error) error {
	return a.WithRedis(ctx, "", func(db *rdb.DB) error { return cli.InvalidAsUsage(f(chat.NewGroup(db))) })
}

// chatAction is an action on the group chats. Its first argument names one.
func chatAction(a *cli.App, f func(ctx context.Context, g *chat.Group, id string) error) func(*cobra.Command, []string) error {
	return cli.Action(func(c *cobra.Command, args []string) error {
		return withGroup(a, c.Context(), func(g *chat.Group) error { return f(c.Context(), g, args[0]) })
	})
}

// atMost wants up to n arguments.
func atMost(n int) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) > n {
			return fmt.Errorf("unexpected %q: put words that belong together in quotes", args[n])
		}
		return nil
	}
}

// idAnd wants the id of a chat and up to n arguments more.
func idAnd(n int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return errors.New("missing ID")
		}
		return atMost(1+n)(c, args)
	}
}

// chatLimits are the flags for limits of a chat.
type chatLimits struct {
	messages  cli.Number
	bytes     cli.Size
	age, away cli.Span
}

func (l *chatLimits) add(c *cobra.Command) {
	c.Flags().Var(&l.messages, "keep", "keep at most so many messages, read or not")
	c.Flags().Var(&l.bytes, "keep-bytes", "keep messages of at most so many bytes in all")
	c.Flags().Var(&l.age, "keep-age", "keep messages for at most so long")
	c.Flags().Var(&l.away, "drop-away", "drop members who neither read nor send for so long")
	for _, flag := range []string{"keep-age", "drop-away"} {
		c.Flags().Lookup(flag).DefValue = "" // no limit
	}
}

// change gives limits with those that were given on the command line.
func (l *chatLimits) change(c *cobra.Command, limits chat.Limits) chat.Limits {
	if c.Flags().Changed("keep") {
		limits.Messages = uint64(l.messages)
	}
	if c.Flags().Changed("keep-bytes") {
		limits.Bytes = uint64(l.bytes)
	}
	if c.Flags().Changed("keep-age") {
		limits.Age = time.Duration(l.age)
	}
	if c.Flags().Changed("drop-away") {
		limits.Away = time.Duration(l.away)
	}
	return limits
}

func chatCreate(a *cli.App) *cobra.Command {
	var id, as string
	var members []string
	var channel bool
	var limits chatLimits
	c := &cobra.Command{
		Use:   "create [MESSAGE]",
		Short: "Creates a chat and prints its id",
		Long: `Creates a chat and prints its id, the next free number unless --id is given. Who
creates it is a member, too, and sends MESSAGE ("-" for standard input) if there
is one. It ends with its last member, and only members can send; with --channel
it outlives them, and everybody can send.`,
		Example: `  skidway chat create --id lunch --as ann --member bob "noon?"
  skidway chat create --as ann --channel --keep 1000 --keep-age 720h`,
		Args: atMost(1),
	}
	asFlag(c, &as)
	c.Flags().StringVar(&id, "id", "", "the chat's `ID` (default: the next free number)")
	c.Flags().StringArrayVar(&members, "member", nil, "`NAME` of another member; can be repeated")
	c.Flags().BoolVar(&channel, "channel", false, "keep the chat when nobody is in it")
	limits.add(c)
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		options := chat.CreateOptions{Members: firstMembers(as, members), Limits: limits.change(c, chat.Limits{})}
		if channel {
			options.Kind = chat.Channel
		}
		return withGroup(a, c.Context(), func(g *chat.Group) error { return create(a, c, g, id, as, options, args) })
	})
	return c
}

// firstMembers gives who creates a chat and the others, each once.
func firstMembers(as string, others []string) []string {
	members := append([]string{as}, others...)
	slices.Sort(members)
	return slices.Compact(members)
}

func create(a *cli.App, c *cobra.Command, g *chat.Group, id, as string, options chat.CreateOptions, args []string) error {
	var first chat.Content
	if len(args) > 0 { // read it all before there is a chat
		content, err := new(contentFlags).content(c, args)
		if err != nil {
			return err
		}
		if len(content.Body) > chat.MaxBody { // for the chat it would be too late
			return cli.WrongUsage("MESSAGE has more than %d bytes", chat.MaxBody)
		}
		first = content
	}
	id, err := g.Create(c.Context(), id, options)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(a.Out, id); err != nil {
		return fmt.Errorf("created chat %q, but can't print its id: %w", id, err)
	}
	if len(args) == 0 {
		return nil
	}
	if _, err := g.Send(c.Context(), id, as, first); err != nil {
		return fmt.Errorf("created chat %q, but not surely sent its first message: %w", id, err)
	}
	return nil
}

func chatSend(a *cli.App) *cobra.Command {
	var as string
	var flags contentFlags
	c := &cobra.Command{
		Use:   "send ID [MESSAGE]",
		Short: "Sends a message and prints its number",
		Long: `Sends a message to a chat and prints its number. MESSAGE "-" is read from
standard input; with --url it can be left out.`,
		Example: `  skidway chat send lunch --as ann "noon?"
  skidway chat send lunch --as ann --type image --url https://example.com/a.png
  date | skidway chat send lunch --as ann -`,
		Args: idAnd(1),
	}
	asFlag(c, &as)
	flags.add(c)
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		content, err := flags.content(c, args[1:])
		if err != nil {
			return err
		}
		return withGroup(a, c.Context(), func(g *chat.Group) error {
			number, err := g.Send(c.Context(), args[0], as, content)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(a.Out, number)
			return err
		})
	})
	return c
}
