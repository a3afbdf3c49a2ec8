package logs

import (
	"strings"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute/accesslog"
)

func formats(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "formats",
		Short: "Lists the log formats and wrappers that are known",
		Long: `Lists the formats of log lines that are known, and the wrappers in which lines
may be. All of them are detected; --format NAME sets one, and --format
WRAPPER:NAME one in a wrapper. With -o csv and -o json the list has an example
of each, the page that specifies it, and where the real lines came from with
which it was tried.

Other lines can be read by the layout that the server's configuration has for
them (nginx's log_format, Apache's LogFormat), and JSON objects and key=value
pairs by the keys of the address and of the time. A column of w3c can be read
instead of its own: --format w3c --field address=X-Forwarded-For. 'skidway logs
explain FILE' tells what of this a file needs.`,
		Example: `  skidway logs formats
  skidway logs formats -o json
  skidway logs count --format docker:combined logs/
  skidway logs count --format '$remote_addr [$time_local] "$request"' logs/
  skidway logs count --format json --field address=ip --field time=at logs/`,
		Args: cobra.NoArgs,
	}
	output := cli.OutputFlag(a, c)
	c.RunE = cli.Action(func(*cobra.Command, []string) error {
		return cli.PrintView(a, output.Word, formatView, listFormats(), nil)
	})
	return c
}

// A listedFormat is a format or a wrapper.
type listedFormat struct {
	name, kind, description, example, specification string

	aliases, origins []string
}

var formatView = cli.View[listedFormat]{
	{Key: "name", Head: "NAME", Whole: true, Value: func(f listedFormat) any { return f.name }},
	{Key: "kind", Value: func(f listedFormat) any { return f.kind }},
	{Key: "aliases", Value: func(f listedFormat) any { return append([]string{}, f.aliases...) }, Only: "json"},
	{Key: "description", Head: "LINES", Fit: true, Value: func(f listedFormat) any { return f.description }},
	{Key: "example", Value: func(f listedFormat) any { return f.example }},
	{Key: "specification", Value: func(f listedFormat) any { return f.specification }},
	{Key: "tried", Value: func(f listedFormat) any { return strings.Join(f.origins, "; ") }},
}

func listFormats() (list []listedFormat) {
	for _, f := range accesslog.Formats() {
		list = append(list, listedFormat{f.Name(), "format", f.Description(), f.Example(), f.Specification(), f.Aliases(), f.Origins()})
	}
	for _, w := range accesslog.Wrappers() {
		var origins []string
		for _, line := range w.Real {
			origins = append(origins, line.Origin)
		}
		list = append(list, listedFormat{w.Name + ":…", "wrapper", w.Description, w.Example, w.Specification, nil, origins})
	}
	return list
}

// formatFlags are the flags that say in which format the lines are.
type formatFlags struct {
	format string
	keys   []string
}

func (k *formatFlags) addFlags(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&k.format, "format", "auto", "`NAME` of the log format, or its layout as nginx or Apache have it; auto: by each file's first lines")
	flags.StringArrayVar(&k.keys, "field", nil, "`FIELD=KEY` of lines in JSON or logfmt, for address and time (time_dmy: day first), or FIELD=COLUMN of w3c; may be repeated")
	names := []string{"auto"}
	for _, format := range accesslog.Formats() {
		names = append(names, format.Name()+"\t"+format.Description())
	}
	cli.Complete(c, "format", names...)
}

// name returns the name of the format that the flags choose.
func (k *formatFlags) name() (string, error) {
	if len(k.keys) == 0 {
		return k.format, nil
	}
	format := k.format
	if format == "auto" {
		format = "json"
	}
	keys := map[accesslog.Field]string{}
	for _, text := range k.keys {
		field, key, err := accesslog.ParseKey(text)
		if err != nil {
			return "", cli.WrongUsage("--field %s: %w", text, err)
		}
		if keys[field] != "" {
			return "", cli.WrongUsage("--field %s: the key of the %s is %s already", text, field, keys[field])
		}
		keys[field] = key
	}
	at := strings.LastIndex(format, ":") + 1
	f, err := accesslog.ByKeys(format[at:], keys)
	if err != nil {
		return "", cli.AsUsage(err)
	}
	return format[:at] + f.Name(), nil
}
