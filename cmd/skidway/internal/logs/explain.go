package logs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute/accesslog"
	"skidway/distribute/stream"
)

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
			stdin, err := cli.StandardInput(c, "the content of a log", "zcat FILE")
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
	lines []accesslog.LineExplanation // that are shown: as the format reads them, or the one that is proposed

	sample []accesslog.LineExplanation // the lines by which keys are chosen

	layout    string // that reads lines in no known format
	ambiguous bool   // its dates may have the month first
	options   string // that read them; empty if none are known
	reads     string // what they read
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
	e.sample = explained(e.Format, lines, max(most, sampled))
	e.lines = slices.Clone(e.sample[:min(most, len(e.sample))])
	if !e.Fits {
		e.advise(lines)
	}
	return e, nil
}

// explained returns how a format reads the first lines, at most some, without its header lines.
func explained(format accesslog.Format, lines [][]byte, most int) (list []accesslog.LineExplanation) {
	explain := format.Explainer()
	for _, line := range lines {
		if len(list) == most {
			break
		}
		if l := explain(line); l.Verdict != accesslog.NotALine {
			list = append(list, l)
		}
	}
	return list
}

// sampled is the number of lines by which keys are chosen, at least.
const sampled = 100

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
	if e.reads != "" {
		if _, err := fmt.Fprintf(out, "These lines are shown as this command reads them:\n  %s\n", cli.Printable(e.command())); err != nil {
			return err
		}
	}
	for i, line := range e.lines {
		result := "not read: " + line.Problem
		if line.Verdict == accesslog.Parsed && (e.Fits || line.Problem == "") {
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
		number := strconv.Itoa(i + 1)
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
		{Key: "next", Value: e.Second}, {Key: "next_votes", Value: e.SecondVotes}, {Key: "options", Value: e.options}, {Key: "explained", Value: lines},
	})
}
