package logs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute/accesslog"
	"skidway/distribute/stream"
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
pairs by the keys of the address and of the time. 'skidway logs explain FILE'
tells what of this a file needs.`,
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
		list = append(list, listedFormat{w.Name + ":…", "wrapper", w.Description, w.Example, w.Specification, nil, nil})
	}
	return list
}

func explain(a *cli.App) *cobra.Command {
	var k formatFlags
	lines := cli.Number(3)
	c := &cobra.Command{
		Use:   "explain FILE",
		Short: "Shows how the lines of a file are read",
		Long: `Shows how the lines of a file are read: the format and the wrappers, how sure
that is, and what each field of the first lines is. Where lines cannot be read,
it shows the field that does not match, and what to do. A FILE of - is standard
input, of which it reads the first lines.`,
		Example: `  skidway logs explain /var/log/nginx/access.log
  kubectl logs web | skidway logs explain -
  skidway logs explain --format json --field address=ip --field time=at app.log`,
		Args: cli.Args("FILE: name the file to explain"),
	}
	k.addFlags(c)
	c.Flags().Var(&lines, "lines", "number of lines to show")
	output := cli.OutputFlag(a, c)
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		if lines == 0 {
			return cli.WrongUsage("--lines starts at 1")
		}
		name, err := k.name()
		if err != nil {
			return err
		}
		path, open := args[0], func() (stream.Object, error) { return stream.Open(args[0]) }
		if path == stdinPath {
			stdin, err := standardInput(c)
			if err != nil {
				return err
			}
			path, open = stdinName, func() (stream.Object, error) { return pipeOf(stdin), nil }
		}
		e, err := explainFile(path, open, name, int(lines))
		if err != nil {
			return err
		}
		if err := a.Print(output.Word, e.table, e.csv, e.json); err != nil {
			return err
		}
		if !e.Fits {
			return errors.New(e.advice())
		}
		return nil
	})
	return c
}

// An explainedFile is a file whose first lines are explained.
type explainedFile struct {
	accesslog.Explanation
	path  string
	codec stream.Codec
	lines []accesslog.LineExplanation

	layout string // that reads lines in no known format
	reads  string // what it reads of the first of them
}

// explainFile explains the first lines of a file that open opens in the named format, or in
// the one that is detected if the name is "auto".
func explainFile(path string, open func() (stream.Object, error), name string, most int) (e explainedFile, err error) {
	var head []byte
	for source, err := range stream.Sources(path, open, stream.Members{}, stream.Decoding{}) { // of an archive, its first member
		if err != nil {
			return e, fmt.Errorf("%s: %w", source.Path, err)
		}
		e.path, e.codec, head = source.Path, source.Packed, source.Head
		break
	}
	lines, _ := stream.FirstLines(bytes.TrimSuffix(head, []byte("\n")), accesslog.DetectLines)
	e.Explanation = accesslog.Explain(lines)
	if name != "auto" {
		format, err := accesslog.ByName(name)
		if err != nil {
			return e, cli.AsUsage(err)
		}
		e.Explanation = format.ExplainLines(lines)
	}
	if !e.Fits {
		e.layout = accesslog.SuggestLayout(e.Format.Unwrapped(lines))
	}
	if e.layout != "" {
		if e.reads, err = firstRecord(e.Format.Wrapper()+e.layout, lines); err != nil {
			return e, err
		}
	}
	explain := e.Format.Explainer()
	for _, line := range lines {
		if len(e.lines) == most {
			break
		}
		if l := explain(line); l.Verdict != accesslog.NotALine {
			e.lines = append(e.lines, l)
		}
	}
	return e, nil
}

// firstRecord returns what a format reads of the first line that it can read.
func firstRecord(format string, lines [][]byte) (string, error) {
	f, err := accesslog.ByName(format)
	if err != nil {
		return "", err
	}
	explain := f.Explainer()
	for _, line := range lines {
		if l := explain(line); l.Verdict == accesslog.Parsed {
			return recordText(l.Record), nil
		}
	}
	return "no line", nil
}

func recordText(r accesslog.Record) string {
	return fmt.Sprintf("address %s, day %s", addressText(r), r.Day)
}

// summary returns the line that says which format was chosen.
func (e *explainedFile) summary() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s (%s): ", e.path, e.codec)
	if !e.Fits {
		fmt.Fprintf(&text, "no known format; the nearest is %s", e.Format.Name())
		return text.String()
	}
	fmt.Fprintf(&text, "%s, %d of %d lines", e.Format.Name(), e.Votes, e.Lines)
	if e.Second != "" {
		fmt.Fprintf(&text, "; next %s with %d", e.Second, e.SecondVotes)
	}
	if e.Unsure() {
		text.WriteString("; unsure")
	}
	return text.String()
}

func (e *explainedFile) table(out io.Writer) error {
	if _, err := fmt.Fprintln(out, cli.Printable(e.summary())); err != nil {
		return err
	}
	for i, line := range e.lines {
		result := "not read: " + line.Problem
		if line.Verdict == accesslog.Parsed {
			result = recordText(line.Record)
		}
		if _, err := fmt.Fprintf(out, "\nline %d: %s\n", i+1, cli.Printable(result)); err != nil {
			return err
		}
		if len(line.Fields) == 0 {
			continue
		}
		if err := fieldView.Table(line.Fields).Write(out); err != nil {
			return err
		}
	}
	return nil
}

func addressText(r accesslog.Record) string {
	if !r.Addr.IsValid() {
		return "unknown"
	}
	return r.Addr.String()
}

var fieldView = cli.View[accesslog.FieldValue]{
	{Key: "field", Head: "FIELD", Value: func(f accesslog.FieldValue) any { return f.Name }},
	{Key: "value", Head: "VALUE", Fit: true, Value: func(f accesslog.FieldValue) any { return f.Value }},
}

func (e *explainedFile) csv(out io.Writer) error {
	rows := [][]string{{"line", "field", "value"}}
	for i, line := range e.lines {
		number := cli.Digits(uint64(i + 1))
		for _, f := range line.Fields {
			rows = append(rows, []string{number, f.Name, f.Value})
		}
		if line.Problem != "" {
			rows = append(rows, []string{number, "problem", line.Problem})
		}
	}
	return cli.WriteCSV(out, rows)
}

func (e *explainedFile) json(out io.Writer) error {
	lines := make([]cli.Object, len(e.lines))
	for i, line := range e.lines {
		lines[i] = cli.Object{{Key: "read", Value: line.Verdict == accesslog.Parsed}}
		if line.Verdict == accesslog.Parsed {
			lines[i] = append(lines[i], cli.Field{Key: "address", Value: addressText(line.Record)}, cli.Field{Key: "day", Value: line.Record.Day.String()})
		} else {
			lines[i] = append(lines[i], cli.Field{Key: "problem", Value: line.Problem})
		}
		lines[i] = append(lines[i], cli.Field{Key: "fields", Value: fieldView.Objects(line.Fields)})
	}
	return cli.WriteJSON(out, cli.Object{
		{Key: "file", Value: e.path}, {Key: "codec", Value: string(e.codec)}, {Key: "known", Value: e.Fits},
		{Key: "format", Value: e.Format.Name()}, {Key: "votes", Value: e.Votes}, {Key: "lines", Value: e.Lines},
		{Key: "next", Value: e.Second}, {Key: "next_votes", Value: e.SecondVotes}, {Key: "explained", Value: lines},
	})
}

// advice says what to do about a file in no known format.
func (e *explainedFile) advice() string {
	wrapper := e.Format.Wrapper()
	if len(e.lines) == 0 {
		return e.path + " has no line that can be explained"
	}
	for _, kind := range []string{"json", "logfmt"} {
		if strings.HasPrefix(strings.TrimPrefix(e.Format.Name(), wrapper), kind) {
			return fmt.Sprintf("%s has no known format. Name the keys of its address and its time: skidway logs count --format %s%s --field address=%s --field time=%s %s",
				e.path, wrapper, kind, keyOf(e.lines, "ADDRESS_KEY", accesslog.RankAddress), keyOf(e.lines, "TIME_KEY", accesslog.RankTime), shellText(e.path))
		}
	}
	if e.layout != "" {
		return fmt.Sprintf("%s has no known format: what is shown above is how the nearest one fails. This layout reads it (first line: %s; if that is not the client, put $remote_addr where its address is): skidway logs count --format %s%s %s",
			e.path, e.reads, wrapper, shellText(e.layout), shellText(e.path))
	}
	return fmt.Sprintf("%s has no known format. If a server's configuration has a layout for it (log_format, LogFormat), give it: skidway logs count --format %s'…' %s",
		e.path, wrapper, shellText(e.path))
}

// keyOf returns the key under which the values of lines rank highest together; of several the
// one with more different values, because servers write their own address into each line, and
// then the first one. It is the placeholder if no value ranks.
func keyOf(lines []accesslog.LineExplanation, placeholder string, rank func(value string) int) string {
	best, most, variety := placeholder, 0, 0
	for _, field := range lines[0].Fields {
		sum, values := 0, map[string]bool{}
		for _, line := range lines {
			i := slices.IndexFunc(line.Fields, func(f accesslog.FieldValue) bool { return f.Name == field.Name })
			if i >= 0 {
				sum, values[line.Fields[i].Value] = sum+rank(line.Fields[i].Value), true
			}
		}
		if sum > most || sum > 0 && sum == most && len(values) > variety {
			best, most, variety = field.Name, sum, len(values)
		}
	}
	if most > 0 && strings.ContainsFunc(best, func(r rune) bool {
		return r != '.' && r != '_' && r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		return shellText(best)
	}
	return best
}

// shellText returns a text as a shell takes it; it may have tabs, which a terminal does not show.
func shellText(text string) string {
	if strings.Contains(text, "\t") {
		return "$'" + strings.NewReplacer(`\`, `\\`, "'", `\'`, "\t", `\t`).Replace(text) + "'"
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// formatFlags are the flags that say in which format the lines are.
type formatFlags struct {
	format string
	keys   []string
}

func (k *formatFlags) addFlags(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&k.format, "format", "auto", "`NAME` of the log format, or its layout as nginx or Apache have it; auto: by each file's first lines")
	flags.StringArrayVar(&k.keys, "field", nil, "`FIELD=KEY` of lines in JSON or logfmt, for address and time; may be repeated")
	names := []string{"auto"}
	for _, format := range accesslog.Formats() {
		names = append(names, format.Name()+"\t"+format.Description())
	}
	cli.Complete(c, "format", names...)
}

// chosen returns the format that the flags choose, nil if it is to be detected.
func (k *formatFlags) chosen() (*accesslog.Format, error) {
	name, err := k.name()
	if err != nil || name == "auto" {
		return nil, err
	}
	format, err := accesslog.ByName(name)
	if err != nil {
		return nil, cli.AsUsage(err)
	}
	return &format, nil
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
		keys[field] = key
	}
	at := strings.LastIndex(format, ":") + 1
	f, err := accesslog.ByKeys(format[at:], keys)
	if err != nil {
		return "", cli.AsUsage(err)
	}
	return format[:at] + f.Name(), nil
}
