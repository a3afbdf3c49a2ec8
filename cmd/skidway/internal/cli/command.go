package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"
)

// Group completes a command that only has subcommands: without one it prints its help,
// and an unknown subcommand is wrong usage. (Cobra prints the help for an unknown command
// below the first level.)
func Group(c *cobra.Command) *cobra.Command {
	c.Args = cobra.ArbitraryArgs
	c.RunE = Action(func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return c.Help()
		}
		return unknownCommand(c, args[0])
	})
	return c
}

func unknownCommand(c *cobra.Command, name string) error {
	return WrongUsage("unknown command %q for %q%s", name, c.CommandPath(), didYouMean(c, name))
}

// didYouMean returns the end of an error about an unknown name: the subcommands with
// names that are most like it.
func didYouMean(c *cobra.Command, name string) string {
	var near []string
	for c.SuggestionsMinimumDistance = 1; len(near) == 0; c.SuggestionsMinimumDistance++ {
		if c.SuggestionsMinimumDistance > 2 {
			return ""
		}
		near = c.SuggestionsFor(name)
	}
	slices.Sort(near)
	return ": did you mean " + strings.Join(slices.Compact(near), " or ") + "?"
}

// DidYouMean returns the end of an error about an unknown name: those of the known names
// that are like it. Cobra compares names of commands only, so they become commands.
func DidYouMean(name string, known []string) string {
	c := &cobra.Command{}
	for _, other := range known {
		c.AddCommand(&cobra.Command{Use: other, Run: func(*cobra.Command, []string) {}})
	}
	return didYouMean(c, name)
}

// FlagError adds to the error of an unknown flag which flags are like it, and to that of
// a switch with an invalid value which values it has.
func FlagError(c *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) && invalid.GetFlag().Value.Type() == "bool" {
		return fmt.Errorf("invalid argument %q for \"--%s\" flag: want true or false", invalid.GetValue(), invalid.GetFlag().Name)
	}
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return err
	}
	var known []string
	c.Flags().VisitAll(func(flag *pflag.Flag) {
		if !flag.Hidden {
			known = append(known, "--"+flag.Name)
		}
	})
	return fmt.Errorf("%w%s", err, DidYouMean("--"+unknown.GetSpecifiedName(), known))
}

// The annotations by which cobra marks the flags of a group: each value has the names of all its flags.
const (
	exclusiveGroup   = "cobra_annotation_mutually_exclusive"
	oneRequiredGroup = "cobra_annotation_one_required"
)

// CheckFlagGroups returns an error if flags are given that exclude each other, or no flag of a group of which
// one is needed. It must be called before cobra checks the same, whose errors are not for people.
func CheckFlagGroups(c *cobra.Command) (err error) {
	c.Flags().VisitAll(func(flag *pflag.Flag) {
		for _, group := range flag.Annotations[exclusiveGroup] {
			if given := givenFlags(c, strings.Fields(group)); len(given) > 1 && err == nil {
				err = WrongUsage("give %s or %s, not both", given[0], given[1])
			}
		}
		for _, group := range flag.Annotations[oneRequiredGroup] {
			if names := strings.Fields(group); len(givenFlags(c, names)) == 0 && err == nil {
				err = WrongUsage("give at least one of --%s", strings.Join(names, ", --"))
			}
		}
	})
	return err
}

// givenFlags returns those of some flags that are on the command line, each with its dashes.
func givenFlags(c *cobra.Command, names []string) (given []string) {
	for _, name := range names {
		if c.Flags().Changed(name) {
			given = append(given, "--"+name)
		}
	}
	return given
}

// HelpCommand returns the command "help".
func HelpCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]...",
		Short:   "Shows the help of a command",
		Long:    "Shows what a command does, its flags and examples.",
		Example: "  skidway help logs count",
		RunE: Action(func(c *cobra.Command, args []string) error {
			wanted, rest, err := c.Root().Find(args)
			if err != nil {
				return AsUsage(err)
			}
			if len(rest) > 0 {
				return unknownCommand(wanted, rest[0])
			}
			wanted.InitDefaultHelpFlag()
			return wanted.Help()
		}),
	}
}

// Action returns f as a RunE that marks its errors, for [ExitCode].
func Action(f func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		err := f(c, args)
		if err == nil {
			return nil
		}
		return &actionError{err}
	}
}

// Args declares the arguments of a command by their names. A name in brackets is
// optional.
func Args(names ...string) cobra.PositionalArgs {
	surplus := "one is enough"
	if len(names) > 1 {
		surplus = "put words that belong together in quotes"
	}
	return ArgsOr(surplus, names...)
}

// ArgsOr is [Args] with the hint for a surplus argument.
func ArgsOr(surplus string, names ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) > len(names) {
			return fmt.Errorf("unexpected %q: %s", args[len(names)], surplus)
		}
		if missing := names[len(args):]; len(missing) > 0 && !strings.HasPrefix(missing[0], "[") {
			return errors.New("missing " + missing[0])
		}
		return nil
	}
}

// OneOrMore declares one or more arguments with this name.
func OneOrMore(name string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return errors.New("missing " + name)
		}
		return nil
	}
}

// YesFlag adds the flag that skips [App.Confirm].
func YesFlag(c *cobra.Command, yes *bool) {
	c.Flags().BoolVarP(yes, "yes", "y", false, "skip the question for confirmation")
}

var errNotConfirmed = errors.New("nothing was changed")

// IsTerminal reports whether input or output is a terminal.
func IsTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// StandardInput returns standard input, of which a command that - names wants content, such as that of a
// command source. A terminal is wrong usage.
func StandardInput(c *cobra.Command, content, source string) (io.Reader, error) {
	in := c.InOrStdin()
	if IsTerminal(in) {
		return nil, WrongUsage("-: standard input is a terminal: send it %s, as '%s | %s -'", content, source, c.CommandPath())
	}
	return in, nil
}

// Confirm asks a question on the terminal. Any answer but yes is an error, and so is
// the lack of a terminal.
func (a *App) Confirm(c *cobra.Command, question string) error {
	in := c.InOrStdin()
	if !IsTerminal(in) || !a.Console.Terminal {
		return WrongUsage("%s There is no terminal to confirm it: give --yes", question)
	}
	if _, err := fmt.Fprint(a.Console.Out, Printable(question)+" [y/N] "); err != nil {
		return err
	}
	answer, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return errNotConfirmed
}
