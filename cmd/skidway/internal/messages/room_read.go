package messages

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute/chat"
	"skidway/distribute/chat/room"
)

func roomRead(a *cli.App) *cobra.Command {
	var v visitor
	var since uint64
	var follow bool
	c := &cobra.Command{
		Use:   "read NAME",
		Short: "Prints what is new in a room",
		Long: `Prints the messages of a room, and which were taken back, since a position: that
of the last read, which is told on standard error, and in JSON as "position".
Without --since all that is kept is new.

JSON is one object, with "messages", "changes" (what was taken back),
"position", "ttl_seconds" (how long the room lives unless somebody speaks),
"online" (people inside) and "settings"; with --follow it is one object a line,
a message or what was taken back.`,
		Example: `  skidway room read lobby --as ann
  skidway room read lobby --as ann --since 12 -o json
  skidway room read lobby --as ann --follow`,
		Args: cli.Args("NAME of the room"),
	}
	v.add(c, true)
	c.Flags().Uint64Var(&since, "since", 0, "only what came after this `POSITION`")
	followFlag(c, &follow)
	output := cli.OutputFlag(c)
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		return v.in(c, a, args[0], func(r *room.Client, pass room.Pass) error {
			reader := &roomReader{app: a, room: r, pass: pass, format: output.Word}
			if follow {
				return reader.follow(c.Context(), since)
			}
			return reader.read(c.Context(), room.Page{From: since, Forward: true})
		})
	})
	return c
}

func roomHistory(a *cli.App) *cobra.Command {
	var v visitor
	var before, after uint64
	limit := cli.Number(chat.DefaultMessages)
	c := &cobra.Command{
		Use:   "history NAME",
		Short: "Prints a page of what was said in a room",
		Long: `Prints a page of what was said in a room, oldest first: the newest messages, or
those before or after a position. --after 0 begins with the oldest. What was
taken back is not in it, but that it was. JSON is as that of "room read".`,
		Example: `  skidway room history lobby --as ann
  skidway room history lobby --as ann --before 57 --limit 20
  skidway room history lobby --as ann --after 0 --limit 0 -o json`,
		Args: cli.Args("NAME of the room"),
	}
	v.add(c, true)
	c.Flags().Uint64Var(&before, "before", 0, "only what came before this `POSITION`, the nearest")
	c.Flags().Uint64Var(&after, "after", 0, "only what came after this `POSITION`, the nearest")
	c.Flags().Var(&limit, "limit", "at most so many messages and changes; 0: all")
	c.MarkFlagsMutuallyExclusive("before", "after")
	output := cli.OutputFlag(c)
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		page := room.Page{From: before, Limit: int(limit)}
		if c.Flags().Changed("after") {
			page.From, page.Forward = after, true
		}
		return v.in(c, a, args[0], func(r *room.Client, pass room.Pass) error {
			reader := &roomReader{app: a, room: r, pass: pass, format: output.Word}
			return reader.read(c.Context(), page)
		})
	})
	return c
}

// A roomReader reads a room for printing.
type roomReader struct {
	app    *cli.App
	room   *room.Client
	pass   room.Pass
	format string
}

// read prints one page, of any length.
func (r *roomReader) read(ctx context.Context, page room.Page) error {
	news, err := r.all(ctx, page)
	if err != nil {
		return err
	}
	if err := printMessages(r.app, r.format, roomLines(news), roomNewsOf(news)); err != nil || r.format == "json" {
		return err
	}
	more := ""
	if news.More {
		more = "; there are more"
	}
	r.app.Console.Notice("position %d, people inside: %d, the room lives for %s%s",
		news.Position, news.Online, rough(news.TTL), more)
	return nil
}

// all joins as many pages as the limit takes; zero is all.
func (r *roomReader) all(ctx context.Context, page room.Page) (all room.News, err error) {
	most, n := page.Limit, 0
	for {
		if page.Limit = chat.MaxMessages; most > 0 {
			page.Limit = min(page.Limit, most-n)
		}
		news, err := r.room.History(ctx, r.pass, page)
		if err != nil {
			return all, err
		}
		if news.First > 0 {
			all = join(all, news, page.Forward)
		} else if n == 0 {
			all = news
		}
		n = len(all.Messages) + len(all.Changes)
		if all.More = news.More; !news.More || n == most {
			return all, nil
		}
		if page.From = all.Position; !page.Forward {
			page.From = all.First
		}
	}
}

// join adds a page to what was read before it.
func join(all, page room.News, forward bool) room.News {
	if all.First == 0 {
		return page
	}
	first, second := all, page
	if !forward {
		first, second = page, all
	}
	page.Messages = append(first.Messages, second.Messages...)
	page.Changes = append(first.Changes, second.Changes...)
	page.First, page.Position = first.First, second.Position
	return page
}

// follow prints page by page, and waits for more.
func (r *roomReader) follow(ctx context.Context, since uint64) error {
	feed := feed{app: r.app, format: r.format}
	take := func(ctx context.Context) error {
		news, err := r.room.Read(ctx, r.pass, since, 0)
		if err != nil {
			return err
		}
		if err := feed.print(roomLines(news), roomObjects(news)); err != nil {
			return fmt.Errorf("read on with --since %d: %w", since, err)
		}
		since = news.Position
		return nil
	}
	return r.app.Follow(ctx, take, func(ctx context.Context) error { return r.room.Wait(ctx, r.pass, since) })
}
