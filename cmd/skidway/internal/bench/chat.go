package bench

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute/chat/group"
	"skidway/distribute/chat/mailbox"
	"skidway/internal/handle"
)

// chatBench is the command "bench chat".
type chatBench struct {
	rig
	members                    counts
	messages, payload, senders cli.Number

	group   *group.Client
	crowds  []figures // by index of members
	figures figures   // of mailbox, conversation and room
}

// counts are whole numbers above one.
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
		rig: rig{App: a, runs: 3}, members: counts{2, 100, 10_000}, messages: 5000, payload: 100, senders: 16,
		figures: figures{},
	}
	c := &cobra.Command{
		Use:   "chat",
		Short: "Measures sending and reading messages",
		Long: `Measures how many messages a second are sent to a group chat, one per call, and
read and acknowledged by two of its members, in pages of 100; and the memory
that messages and members take in Redis. It repeats this with several numbers
of members: the cost of sending should not grow with them.

For comparison it does the same with one Redis Stream per chat and a consumer
group per member (XADD, XREADGROUP, XACK). A stream checks no senders, deletes
no messages that all have read, and remembers unacknowledged messages for each
member. Then it sends to and reads from a mailbox, a conversation and a room.
All figures are medians over the runs.

The keys have a temporary prefix below --prefix and are deleted afterwards.`,
		Example: `  skidway bench chat
  skidway bench chat --members 2,1000 --runs 1 --json`,
		Args: cobra.NoArgs,
	}
	c.Flags().Var(&b.members, "members", "numbers of members of a chat")
	c.Flags().Var(&b.messages, "messages", "messages to send per measurement")
	c.Flags().Var(&b.payload, "payload", "text of each message in bytes")
	c.Flags().Var(&b.senders, "senders", "goroutines that send at once")
	b.addFlags(c)
	c.RunE = cli.Action(func(c *cobra.Command, _ []string) error { return b.measureAndPrint(c.Context()) })
	return c
}

func (b *chatBench) check() error {
	if b.messages < benchPage || b.messages > mailbox.DefaultMessages {
		return cli.WrongUsage("--messages must be %d to %d: a mailbox holds no more", benchPage, mailbox.DefaultMessages)
	}
	if limit := cli.Number(mailbox.DefaultBytes / mailbox.DefaultMessages); b.payload > limit {
		return cli.WrongUsage("--payload must be %d or less: a mailbox holds no more", limit)
	}
	if b.runs == 0 || b.senders == 0 {
		return cli.WrongUsage("--runs and --senders must be 1 or more")
	}
	return nil
}

func (b *chatBench) measureAndPrint(ctx context.Context) error {
	if err := b.check(); err != nil {
		return err
	}
	for range b.members {
		b.crowds = append(b.crowds, figures{})
	}
	open := func() error {
		b.group = group.NewClient(handle.New(b.db))
		return nil
	}
	server, err := b.run(ctx, open, b.measure)
	if err != nil {
		return err
	}
	return b.printMedians(server)
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
	for _, one := range []struct {
		name    string
		measure func(context.Context) error
	}{{"mailbox", b.measureMailbox}, {"conversation", b.measureConversation}, {"room", b.measureRoom}} {
		if err := one.measure(ctx); err != nil {
			return fmt.Errorf("measure a %s: %w", one.name, err)
		}
	}
	return nil
}

var crowdTable = []figure{
	{"sent/s", "send_per_s", "stream_send_per_s", 0},
	{"read and acknowledged/s", "read_per_s", "stream_read_per_s", 0},
	{"Redis bytes a message", "bytes_per_message", "stream_bytes_per_message", 0},
	{"Redis bytes a member", "bytes_per_member", "stream_bytes_per_member", 0},
	{"and a message it has not acknowledged", "", "stream_bytes_per_pending", 0},
}

var pairTable = []figure{
	{"mailbox: sent/s", "mailbox_send_per_s", "", 0},
	{"mailbox: read and acknowledged/s", "mailbox_read_per_s", "", 0},
	{"conversation: sent/s", "conversation_send_per_s", "", 0},
	{"conversation: read/s", "conversation_read_per_s", "", 0},
	{"room: sent/s", "room_send_per_s", "", 0},
	{"room: read/s", "room_read_per_s", "", 0},
}

func (b *chatBench) printMedians(server string) error {
	object := b.figures.medians()
	object["messages"], object["payload_bytes"], object["senders"] = b.messages, b.payload, b.senders
	groups := []any{}
	for i, n := range b.members {
		group := b.crowds[i].medians()
		group["members"] = n
		groups = append(groups, group)
	}
	object["groups"] = groups
	load := fmt.Sprintf("%s messages of %d bytes, %d senders, %d readers, pages of %d",
		humanize.Comma(int64(b.messages)), b.payload, b.senders, benchReaders, benchPage)
	return b.report(server, load, object, "STREAM", b.rows())
}

func (b *chatBench) rows() (rows []tableRow) {
	for i, n := range b.members {
		rows = append(rows, tableRow{figure: figure{name: fmt.Sprintf("group of %s", humanize.Comma(int64(n)))}})
		for _, f := range crowdTable {
			f.name = "  " + f.name
			rows = append(rows, tableRow{f, b.crowds[i]})
		}
	}
	for _, f := range pairTable {
		rows = append(rows, tableRow{f, b.figures})
	}
	return rows
}
