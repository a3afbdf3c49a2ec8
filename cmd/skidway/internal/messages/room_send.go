package messages

import (
	"strconv"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute/chat"
)

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
		Args: nameAnd("MESSAGE", false),
	}
	v.add(c, true)
	flags.add(c)
	cli.Complete(c, "type", chat.TypeText, chat.TypeImage, chat.TypeAudio, chat.TypeVideo)
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		content, err := flags.content(c, args[1:])
		if err != nil {
			return err
		}
		return v.in(c, a, args[0], func(r *chat.Room, pass chat.Pass) error {
			id, err := r.Send(c.Context(), pass, content)
			if err != nil {
				return err
			}
			return a.PrintWord("table", strconv.FormatUint(id, 10), nil)
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
		Args:    nameAnd("MESSAGE-ID", true),
	}
	v.add(c, false)
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		id, err := strconv.ParseUint(args[1], 10, 64)
		if err != nil {
			return cli.WrongUsage("MESSAGE-ID %q: want a number", args[1])
		}
		return v.in(c, a, args[0], func(r *chat.Room, pass chat.Pass) error { return r.Retract(c.Context(), pass, id) })
	})
	return c
}
