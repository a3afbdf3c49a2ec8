package serve

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"skidway"
	"skidway/cmd/skidway/internal/cli"
	"skidway/ops/access"
)

// User returns the command "user".
func User(a *cli.App) *cobra.Command { return (&userCommand{a, access.HashPassword}).command() }

// A userCommand is the command "user".
type userCommand struct {
	*cli.App
	hash func(password string) (string, error)
}

func (u *userCommand) command() *cobra.Command {
	c := cli.Group(&cobra.Command{
		Use:   "user",
		Short: "Adds, changes, removes and lists users of the dashboard",
		Long: `Users of the dashboard are entries of a file, which running servers read again
when it changes. Changes of the file are written to the audit in Redis.

The role view may look; operate may also retry, cancel, pause and add jobs;
admin may also delete, purge and change schedules. --queues and --kinds restrict
it to queues and kinds that match patterns. Kinds below exec., http., email.,
logs. and skidway. must be named, as in "email.*". --reveal allows to see the
values that are hidden from others.`,
		Example: `  skidway user add ada --role admin --users users.yaml
  skidway user add bob --role operate --queues 'shop-*' --users users.yaml
  skidway user list --users users.yaml`,
	})
	c.AddCommand(u.add(), u.password(), u.remove(), u.list())
	return c
}

// usersFlag adds the flag with the file.
func usersFlag(c *cobra.Command) *string {
	file := c.Flags().String("users", "", "`FILE` of users")
	_ = c.MarkFlagRequired("users")
	return file
}

// edit changes the file of users, with an entry in the audit.
func (u *userCommand) edit(c *cobra.Command, file string, change func([]access.User) ([]access.User, error)) error {
	began := false
	err := cli.With(c.Context(), u.App, func(db *skidway.DB) (*skidway.DB, error) { return db, nil }, func(*skidway.DB) error {
		began = true
		return access.EditUsers(file, change)
	})
	if err != nil && !began && cli.Unreachable(err) {
		err = fmt.Errorf("%s is unchanged, because a change must be in the audit first (without Redis, edit the file: servers read it again): %w", file, err)
	}
	return err
}

// indexOf returns the place of a user, who must exist.
func indexOf(users []access.User, name string) (int, error) {
	i := slices.IndexFunc(users, func(u access.User) bool { return u.Name == name })
	if i < 0 {
		return 0, fmt.Errorf("there is no user %.80s", name)
	}
	return i, nil
}

func (u *userCommand) add() *cobra.Command {
	var added access.User
	role := cli.Choice{Words: []string{access.ViewRole, access.OperateRole, access.AdminRole}}
	c := &cobra.Command{
		Use:   "add NAME",
		Short: "Adds a user",
		Long: `Adds a user. The password, of 8 to 72 bytes, is asked for on the terminal, or
read from the first line of standard input.`,
		Example: `  skidway user add ada --role admin --reveal --users users.yaml
  skidway user add bob --role operate --queues 'shop-*' --users users.yaml \
      <password.txt`,
		Args: cli.Args("NAME"),
	}
	c.Flags().Var(&role, "role", "what the user may do")
	c.Flags().StringSliceVar(&added.Queues, "queues", nil, "`PATTERNS` of the queues (default all)")
	c.Flags().StringSliceVar(&added.Kinds, "kinds", nil, "`PATTERNS` of the kinds of jobs to add (default *)")
	c.Flags().BoolVar(&added.Reveal, "reveal", false, "may see hidden values")
	c.Flags().BoolVar(&added.Scale, "scale", false, "may read how many workers a queue needs")
	_ = c.MarkFlagRequired("role")
	cli.Complete(c, "role", role.Words...)
	file := usersFlag(c)
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		hash, err := u.readPassword(c)
		if err != nil {
			return err
		}
		added.Name, added.Role, added.Password = args[0], role.Word, hash
		return u.edit(c, *file, func(users []access.User) ([]access.User, error) {
			if _, err := indexOf(users, added.Name); err == nil {
				return nil, fmt.Errorf("user %s exists: remove it first, or change the password or the file", added.Name)
			}
			return append(users, added), nil
		})
	})
	return c
}

func (u *userCommand) password() *cobra.Command {
	c := &cobra.Command{
		Use:   "password NAME",
		Short: "Changes the password of a user",
		Long: `Changes the password of a user, which is asked for on the terminal, or read from
the first line of standard input. All sessions of the user end.`,
		Example: "  skidway user password ada --users users.yaml",
		Args:    cli.Args("NAME"),
	}
	file := usersFlag(c)
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		hash, err := u.readPassword(c)
		if err != nil {
			return err
		}
		return u.edit(c, *file, func(users []access.User) ([]access.User, error) {
			i, err := indexOf(users, args[0])
			if err != nil {
				return nil, err
			}
			users[i].Password = hash
			return users, nil
		})
	})
	return c
}

func (u *userCommand) remove() *cobra.Command {
	c := &cobra.Command{
		Use:     "remove NAME",
		Short:   "Removes a user",
		Long:    "Removes a user. All sessions of the user end.",
		Example: "  skidway user remove ada --users users.yaml",
		Args:    cli.Args("NAME"),
	}
	file := usersFlag(c)
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		return u.edit(c, *file, func(users []access.User) ([]access.User, error) {
			i, err := indexOf(users, args[0])
			if err != nil {
				return nil, err
			}
			return slices.Delete(users, i, i+1), nil
		})
	})
	return c
}

var userView = cli.View[access.User]{
	{Key: "name", Head: "NAME", Whole: true, Value: func(u access.User) any { return u.Name }},
	{Key: "role", Head: "ROLE", Value: func(u access.User) any { return u.Role }},
	{Key: "queues", Head: "QUEUES", Value: func(u access.User) any { return orAll(u.Queues) }, Cell: func(u access.User) string { return strings.Join(orAll(u.Queues), " ") }},
	{Key: "kinds", Head: "KINDS", Value: func(u access.User) any { return orAll(u.Kinds) }, Cell: func(u access.User) string { return strings.Join(orAll(u.Kinds), " ") }},
	{Key: "reveal", Head: "REVEAL", Value: func(u access.User) any { return u.Reveal }},
	{Key: "scale", Head: "SCALE", Value: func(u access.User) any { return u.Scale }},
}

func orAll(patterns []string) []string {
	if len(patterns) == 0 {
		return []string{access.All}
	}
	return patterns
}

func (u *userCommand) list() *cobra.Command {
	c := &cobra.Command{
		Use:     "list",
		Short:   "Lists the users of a file",
		Long:    "Lists the users of a file. It needs no Redis.",
		Example: "  skidway user list --users users.yaml",
		Args:    cli.Args(),
	}
	file := usersFlag(c)
	output := cli.OutputFlag(u.App, c)
	c.RunE = cli.Action(func(*cobra.Command, []string) error {
		users, err := access.ReadUsers(*file)
		if err != nil {
			return cli.InvalidAsUsage(err)
		}
		return cli.PrintView(u.App, output.Word, userView, users, nil)
	})
	return c
}

// readPassword asks for a password twice, or reads it from the first line of standard input, and
// returns its hash.
func (u *userCommand) readPassword(c *cobra.Command) (hash string, err error) {
	in, password := c.InOrStdin(), ""
	if cli.IsTerminal(in) && u.Console.Terminal {
		password, err = u.askPassword(in.(*os.File))
	} else {
		password, err = bufio.NewReader(io.LimitReader(in, 1<<10)).ReadString('\n')
		if errors.Is(err, io.EOF) {
			err = nil
		}
		password = strings.TrimRight(password, "\r\n")
	}
	if err != nil {
		return "", fmt.Errorf("read the password: %w", err)
	}
	hash, err = u.hash(password)
	return hash, cli.InvalidAsUsage(err)
}

func (u *userCommand) askPassword(terminal *os.File) (string, error) {
	var answers [2]string
	for i, question := range []string{"Password: ", "Again: "} {
		if _, err := fmt.Fprint(u.Console.Out, question); err != nil {
			return "", err
		}
		text, err := term.ReadPassword(int(terminal.Fd()))
		_, _ = fmt.Fprintln(u.Console.Out)
		if err != nil {
			return "", err
		}
		answers[i] = string(text)
	}
	if answers[0] != answers[1] {
		return "", errors.New("the two passwords differ")
	}
	return answers[0], nil
}
