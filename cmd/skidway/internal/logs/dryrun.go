package logs

import (
	"bytes"
	"context"
	"fmt"

	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute"
	"skidway/distribute/accesslog"
	"skidway/distribute/stream"
)

// A plannedFile is a row of a dry run.
type plannedFile struct {
	distribute.Preview
	format, state string
}

var plannedView = cli.View[plannedFile]{
	{Key: "file", Head: "FILE", Whole: true, Value: func(f plannedFile) any { return f.Path }},
	{Key: "codec", Head: "CODEC", Value: func(f plannedFile) any { return string(f.Codec) }},
	{Key: "format", Head: "FORMAT", Value: func(f plannedFile) any { return f.format }},
	{Key: "bytes", Head: "BYTES", Right: true, Value: func(f plannedFile) any {
		if f.Size == stream.UnknownSize {
			return nil
		}
		return f.Size
	}},
	{Key: "state", Head: "STATE", Fit: true, Value: func(f plannedFile) any { return f.state }},
}

// dryRun prints what the shipper would do with files, and whether they could be counted. Nil
// detects the format of each file, and counts none.
func dryRun(ctx context.Context, a *cli.App, output string, shipper *distribute.Shipper, counting *distribute.Counting, files []string, missing int) error {
	var rows []plannedFile
	failed := missing
	err := shipper.Preview(ctx, files, func(p distribute.Preview) {
		if counting != nil && p.Result.Outcome == distribute.Shipped && p.SameAs == "" {
			if _, err := counting.Begin(p.Head, ""); err != nil {
				p.Result = distribute.ShippedFile{Path: p.Path, Err: &stream.FileError{Path: p.Path, Err: err}}
			}
		}
		if p.Result.Outcome == distribute.Failed {
			failed++
		}
		row := plannedFile{p, formatOf(p, counting), stateOf(p)}
		row.Head = nil // they may be many
		rows = append(rows, row)
	})
	if err != nil {
		return err
	}
	if err := cli.PrintView(a, output, plannedView, rows, nil); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("some files can't be read; failed: %d", failed)
	}
	return nil
}

// formatOf returns the name of the format of a file.
func formatOf(p distribute.Preview, counting *distribute.Counting) string {
	if len(p.Head) == 0 {
		return ""
	}
	if counting != nil && counting.Format() != "auto" {
		return counting.Format()
	}
	lines, _ := stream.FirstLines(bytes.TrimSuffix(p.Head, []byte("\n")), accesslog.DetectLines)
	e := accesslog.Explain(lines)
	if !e.Fits {
		return "unknown"
	}
	return e.Format.Name()
}

// stateOf returns what would be new of a file.
func stateOf(p distribute.Preview) string {
	switch {
	case p.Result.Err != nil:
		return cli.WithHint(p.Result.Err.(*stream.FileError).Err)
	case p.SameAs != "":
		return "begins as " + p.SameAs + ": what it has more is new (all if it differs there)"
	case p.Result.Outcome == distribute.Shipped && p.Result.Base > 0:
		return fmt.Sprintf("new from byte %d on", p.Result.Base)
	case p.Result.Outcome == distribute.Shipped:
		return "new"
	}
	return shippedText(p.Result)
}
