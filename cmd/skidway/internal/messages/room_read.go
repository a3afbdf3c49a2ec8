package messages

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute/chat"
	"skidway/distribute/chat/room"
)

func roomRead(a *cli.App) *cobra.Command {
	var since uint64
	c := &cobra.Command{
		Use:   "read NAME",
		Short: "Prints the new messages of a room",
		Long: `Prints the messages of a room, and which ones were retracted, since a position.
Each read prints its position on standard error, for --since of the next one.
Without --since it prints all messages.

JSON is one object with "messages", "changes" (retracted messages), "position",
"ttl_seconds" (until the room expires without a new message), "online" (number
of people inside) and "settings". With --follow it is one object per line, a
message or a retraction.`,
		Example: `  skidway room read lobby --as ann
  skidway room read lobby --as ann --since 12 -o json
  skidway room read lobby --as ann --follow`,
		Args: cli.Args(roomArg),
	}
	c.Flags().Uint64Var(&since, "since", 0, "only messages after this `POSITION`")
	reader := newReader(a, c, false, false)
	return inRoom(a, c, member, func(ctx context.Context, r *room.Client, pass room.Credential, _ []string) error {
		rr := &roomReader{reader, r, pass}
		if reader.follow {
			return rr.follow(ctx, since)
		}
		return rr.printAll(ctx, room.HistoryOptions{From: since, Forward: true})
	})
}

func roomHistory(a *cli.App) *cobra.Command {
	var before, after uint64
	limit := cli.Number(chat.DefaultMessages)
	c := &cobra.Command{
		Use:   "history NAME",
		Short: "Prints the history of a room",
		Long: `Prints a page of the history of a room, oldest first: the newest messages, or
those before or after a position. --after 0 begins with the oldest. For a
retracted message it prints only that it was retracted. JSON is as in "room
read".`,
		Example: `  skidway room history lobby --as ann
  skidway room history lobby --as ann --before 57 --limit 20
  skidway room history lobby --as ann --after 0 --limit 0 -o json`,
		Args: cli.Args(roomArg),
	}
	c.Flags().Uint64Var(&before, "before", 0, "only messages before this `POSITION`, the nearest ones")
	c.Flags().Uint64Var(&after, "after", 0, "only messages after this `POSITION`, the nearest ones")
	c.Flags().Var(&limit, "limit", "number of messages and retractions at most; 0: all")
	c.MarkFlagsMutuallyExclusive("before", "after")
	reader := &reader{App: a, output: cli.OutputFlag(a, c)}
	return inRoom(a, c, member, func(ctx context.Context, r *room.Client, pass room.Credential, _ []string) error {
		page := room.HistoryOptions{From: before, Limit: int(limit)}
		if c.Flags().Changed("after") {
			page.From, page.Forward = after, true
		}
		return (&roomReader{reader, r, pass}).printAll(ctx, page)
	})
}

// A roomReader prints the messages of a room, and which were taken back.
type roomReader struct {
	*reader
	room *room.Client
	pass room.Credential
}

// printAll prints a page of any length.
func (r *roomReader) printAll(ctx context.Context, page room.HistoryOptions) error {
	news, err := r.all(ctx, page)
	if err != nil {
		return err
	}
	messages, _ := roomLines(news)
	if err := printMessages(r.App, r.output.Word, messages, roomPageView.Object(news)); err != nil || r.output.Word == "json" {
		return err
	}
	more := ""
	if news.More {
		more = "; there are more"
	}
	r.Console.Notice("position %d, people inside: %d, the room lives for %s%s",
		news.Position, news.Online, rough(news.TTL), more)
	return nil
}

// all reads and joins as many pages as the limit needs; 0 means all.
func (r *roomReader) all(ctx context.Context, page room.HistoryOptions) (all room.Page, err error) {
	limit, n := page.Limit, 0
	for {
		if page.Limit = chat.MaxMessages; limit > 0 {
			page.Limit = min(page.Limit, limit-n)
		}
		news, err := r.room.History(ctx, r.pass, &page)
		if err != nil {
			return all, err
		}
		if news.First > 0 {
			all = join(all, news, page.Forward)
		} else if n == 0 {
			all = news
		}
		n = len(all.Messages) + len(all.Changes)
		if all.More = news.More; !news.More || n == limit {
			return all, nil
		}
		if page.From = all.Position; !page.Forward {
			page.From = all.First
		}
	}
}

// join joins a page to those that were read before it.
func join(all, page room.Page, forward bool) room.Page {
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

// follow prints page by page, and waits for more. If Redis comes back without its
// newest messages, as after a failover, it goes on after the last message that is left.
func (r *roomReader) follow(ctx context.Context, since uint64) error {
	begun := false // the room once had the position since
	take := func(ctx context.Context) error {
		news, err := r.room.Read(ctx, r.pass, since, 0)
		if err != nil {
			return err
		}
		if err := r.printPage(roomLines(news)); err != nil {
			return fmt.Errorf("read on with --since %d: %w", since, err)
		}
		since, begun = news.Position, true
		return nil
	}
	wait := func(ctx context.Context) error { return r.room.Wait(ctx, r.pass, since) }
	resume := func(step func(context.Context) error) func(context.Context) error {
		return func(ctx context.Context) error {
			err := step(ctx)
			var invalid *chat.InvalidError
			if !begun || !errors.As(err, &invalid) || invalid.Field != "position" {
				return err
			}
			newest, err := r.room.History(ctx, r.pass, &room.HistoryOptions{Limit: 1})
			if err != nil {
				return err
			}
			r.Console.Notice("position %d is no longer in the room: Redis has lost messages; reading on after %d", since, newest.Position)
			since = newest.Position
			return nil
		}
	}
	return r.Follow(ctx, resume(take), resume(wait))
}

// typeRetraction is the type of retractions in CSV.
const typeRetraction = "retraction"

// roomLines returns messages and retractions in their order, as lines and as JSON
// objects.
func roomLines(news room.Page) (lines []message, objects []cli.Object) {
	changes := news.Changes
	addChanges := func(before uint64) {
		for ; len(changes) > 0 && changes[0].Position < before; changes = changes[1:] {
			change := changes[0]
			lines = append(lines, message{Message: chat.Message{
				ID: change.Position, Sender: cmp.Or(change.By, "operator"), Time: change.Time,
				Content: chat.Content{Type: typeRetraction, Body: fmt.Appendf(nil, "(took back message %d)", change.Message)},
			}})
			objects = append(objects, retractionView.Object(change))
		}
	}
	for _, m := range news.Messages {
		addChanges(m.ID)
		line := message{Message: m.Message, nick: m.Nick}
		lines, objects = append(lines, line), append(objects, messageView.Object(line))
	}
	addChanges(math.MaxUint64)
	return lines, objects
}

var retractionView = cli.View[room.Retraction]{
	{Key: "position", Value: func(r room.Retraction) any { return r.Position }},
	{Key: "retracted", Value: func(r room.Retraction) any { return r.Message }},
	{Key: "by", Value: func(r room.Retraction) any { return r.By }}, // empty: an operator
	{Key: "time", Value: func(r room.Retraction) any { return r.Time.UTC() }},
}

var roomPageView = cli.View[room.Page]{
	{Key: "messages", Value: func(n room.Page) any {
		objects := make([]cli.Object, len(n.Messages))
		for i, m := range n.Messages {
			objects[i] = messageView.Object(message{Message: m.Message, nick: m.Nick})
		}
		return objects
	}},
	{Key: "changes", Value: func(n room.Page) any { return retractionView.Objects(n.Changes) }},
	{Key: "first", Value: func(n room.Page) any { return n.First }}, // 0: the page is empty
	{Key: "position", Value: func(n room.Page) any { return n.Position }},
	{Key: "more", Value: func(n room.Page) any { return n.More }},
	{Key: "oldest", Value: func(n room.Page) any { return n.Oldest }},
	{Key: "ttl_seconds", Value: func(n room.Page) any { return n.TTL.Seconds() }},
	{Key: "online", Value: func(n room.Page) any { return n.Online }},
	{Key: "settings", Value: func(n room.Page) any { return settingsView.Object(n.Settings) }},
}
