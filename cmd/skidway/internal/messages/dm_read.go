package messages

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute/chat"
	"skidway/distribute/chat/conversation"
)

func dmRead(a *cli.App) *cobra.Command {
	var r dmReader
	var follow, peek bool
	var limit cli.Number
	c := &cobra.Command{
		Use:   "read FROM",
		Short: "Prints what somebody sent",
		Long: `Prints what somebody sent and the reader has not read, oldest first. It counts
as read once it is printed, unless there is a --peek.

With --follow it goes on with what comes. The reader is present as long as that
runs, which silences notices to it and nothing else.

In JSON it is one object: total (messages ever sent by both), unread (before
this was read) and messages; with --follow one message a line.`,
		Example: `  skidway dm read ann --as bob
  skidway dm read ann --as bob --peek -o json
  skidway dm read ann --as bob --follow`,
		Args: cli.Args("FROM"),
	}
	asFlag(c, &r.me)
	peekFlag(c, &peek)
	followFlag(c, &follow)
	c.Flags().VarP(&limit, "limit", "n", "print at most `N`, the oldest (default: all)")
	c.MarkFlagsMutuallyExclusive("limit", "follow")
	output := cli.OutputFlag(c)
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		r.app, r.peer, r.peek, r.limit = a, args[0], peek, int(limit)
		return cli.WithClient(c.Context(), a, openConversations, func(conversations *conversation.Client) error {
			r.Client = conversations
			if follow {
				return r.follow(c.Context(), output.Word)
			}
			return r.once(c.Context(), output.Word)
		})
	})
	return c
}

// A dmReader reads what one peer sent.
type dmReader struct {
	*conversation.Client
	app      *cli.App
	me, peer string
	peek     bool
	limit    int    // 0: all
	peeked   uint64 // the id of the last message that was printed and is left unread
}

// once prints all that is unread, up to the limit.
func (r *dmReader) once(ctx context.Context, format string) error {
	all, err := r.all(ctx)
	if err != nil {
		return err
	}
	messages := messagesOf("", all.Messages)
	if err := printMessages(r.app, format, messages, dmPage{all.Total, all.Unread, messages}); err != nil {
		return err
	}
	return r.done(ctx, all.Messages)
}

// all reads what is unread, up to the limit.
func (r *dmReader) all(ctx context.Context) (all conversation.Page, err error) {
	for after := uint64(0); ; {
		left := 0
		if r.limit > 0 {
			left = r.limit - len(all.Messages)
		}
		page, err := r.Peek(ctx, r.me, r.peer, after, left)
		if err != nil {
			return all, err
		}
		if all.Messages == nil {
			all.Total, all.Unread = page.Total, page.Unread
		}
		all.Messages = append(all.Messages, page.Messages...)
		if len(page.Messages) == 0 || len(all.Messages) == r.limit {
			return all, nil
		}
		after = page.Messages[len(page.Messages)-1].ID
	}
}

// done acknowledges what was printed, or notes it where that is left unread.
func (r *dmReader) done(ctx context.Context, messages []chat.Message) error {
	if len(messages) == 0 {
		return nil
	}
	last := messages[len(messages)-1].ID
	if r.peek {
		r.peeked = last
		return nil
	}
	_, err := r.Ack(ctx, r.me, r.peer, last)
	var invalid *chat.InvalidError
	if errors.As(err, &invalid) {
		return nil // the conversation was deleted meanwhile
	}
	return err
}

// follow prints what is unread and what comes, until Ctrl-C.
func (r *dmReader) follow(ctx context.Context, format string) error {
	leave, err := r.stay(ctx)
	if err != nil {
		return err
	}
	defer leave()
	feed := feed{app: r.app, format: format}
	take := func(ctx context.Context) error {
		page, err := r.Peek(ctx, r.me, r.peer, r.peeked, 0)
		if err != nil || len(page.Messages) == 0 {
			return err
		}
		if err := feed.printMessages(messagesOf("", page.Messages)); err != nil {
			return err
		}
		return r.done(ctx, page.Messages)
	}
	wait := func(ctx context.Context) error { return r.WaitFrom(ctx, r.me, r.peer, r.peeked) }
	return r.app.Follow(ctx, take, wait)
}

// presence is how long somebody who follows stays present when its process
// dies. It says so three times as often.
const presence = time.Minute

// stay makes the reader present until leave is called.
func (r *dmReader) stay(ctx context.Context) (leave func(), err error) {
	if err := r.Present(ctx, r.me, r.peer, presence); err != nil {
		return nil, err
	}
	staying, stop := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() {
		for tick := time.Tick(presence / 3); ; {
			select {
			case <-staying.Done():
				return
			case <-tick:
				// Presence only silences notices: where it fails, reading tells.
				_ = r.Present(staying, r.me, r.peer, presence)
			}
		}
	})
	return func() {
		stop()
		work.Wait()
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = r.Present(ending, r.me, r.peer, 0) // else it expires
	}, nil
}
