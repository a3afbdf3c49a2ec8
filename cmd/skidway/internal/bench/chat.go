package bench

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute/chat"
)

// chatBench is the command "bench chat".
type chatBench struct {
	rig
	members                       counts
	messages, payload, runs, many cli.Number
	json                          bool

	group   *chat.Group
	crowds  []queueFigures // by index of members
	figures queueFigures   // of chats without so many members
}

// counts are whole numbers above zero.
type counts []int

func (c *counts) Set(text string) error {
	*c = nil
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < 2 {
			return errors.New("want numbers of 2 and more, such as 2,100,10000")
		}
		*c = append(*c, n)
	}
	return nil
}

func (c *counts) String() string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint([]int(*c)), "[]"), " ", ",")
}

func (*counts) Type() string { return "N,N" }

func chatCommand(a *cli.App) *cobra.Command {
	b := &chatBench{
		rig: rig{App: a}, members: counts{2, 100, 10_000}, messages: 5000, payload: 100, runs: 3, many: 16,
		figures: queueFigures{},
	}
	c := &cobra.Command{
		Use:   "chat",
		Short: "Measures sending and reading messages",
		Long: `Measures how many messages a second are sent to a group chat, one a call, and
read and acknowledged by two of its members, by pages of 100; and what messages
and members cost Redis in memory. It does so with various numbers of members:
the cost of sending should not grow with them.

In turn with that it does the same with a Redis Stream per chat and a consumer
group per member (XADD, XREADGROUP, XACK), which checks no sender and deletes
nothing that all have read; it keeps what each member has read and not
acknowledged. Then it sends to and reads from a mailbox, a conversation and a
room. Printed are medians over the runs.

Keys have a prefix of their own, below --prefix, and are deleted afterwards.`,
		Example: `  skidway bench chat
  skidway bench chat --members 2,1000 --runs 1 --json`,
		Args: cobra.NoArgs,
	}
	c.Flags().Var(&b.members, "members", "how many members a chat has")
	c.Flags().Var(&b.messages, "messages", "messages to send, each time")
	c.Flags().Var(&b.payload, "payload", "bytes of text in each message")
	c.Flags().Var(&b.many, "senders", "goroutines that send")
	c.Flags().Var(&b.runs, "runs", "how often to measure everything")
	c.Flags().BoolVar(&b.json, "json", false, "print the figures as JSON")
	c.RunE = cli.Action(func(c *cobra.Command, _ []string) error { return b.run(c.Context()) })
	return c
}

func (b *chatBench) check() error {
	if b.messages < benchPage || b.messages > chat.DefaultMailboxMessages {
		return cli.WrongUsage("--messages must be %d to %d: a mailbox holds no more", benchPage, chat.DefaultMailboxMessages)
	}
	if most := cli.Number(chat.DefaultMailboxBytes / chat.DefaultMailboxMessages); b.payload > most {
		return cli.WrongUsage("--payload must be %d or less: a mailbox holds no more", most)
	}
	if b.runs == 0 || b.many == 0 {
		return cli.WrongUsage("--runs and --senders must be 1 or more")
	}
	return nil
}

func (b *chatBench) run(ctx context.Context) (err error) {
	if err := b.check(); err != nil {
		return err
	}
	if err := b.connect(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.db.Close()) }()
	b.group = chat.NewGroup(b.db)
	for range b.members {
		b.crowds = append(b.crowds, queueFigures{})
	}
	server, err := b.server(ctx)
	if err != nil {
		return err
	}
	if err := b.repeat(ctx, int(b.runs), b.measure); err != nil {
		return err
	}
	return b.print(server)
}

// measure measures everything once.
func (b *chatBench) measure(ctx context.Context) error {
	for i, n := range b.members {
		names := make([]string, n)
		for i := range names {
			names[i] = "member" + strconv.Itoa(i)
		}
		if err := b.measureGroup(ctx, names, b.crowds[i]); err != nil {
			return fmt.Errorf("measure a group of %d: %w", n, err)
		}
		if err := b.measureStream(ctx, names, b.crowds[i]); err != nil {
			return fmt.Errorf("measure a stream of %d: %w", n, err)
		}
	}
	for _, measure := range []func(context.Context) error{b.measureMailbox, b.measureConversation, b.measureRoom} {
		if err := measure(ctx); err != nil {
			return err
		}
	}
	return nil
}
