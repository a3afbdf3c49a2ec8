package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"skidway/distribute"
	"skidway/internal/samplelog"
)

func (a *app) sample() *cobra.Command {
	lines, files, days := number(samplelog.DefaultLines), number(samplelog.DefaultFiles), number(samplelog.DefaultDays)
	var seed uint64
	c := &cobra.Command{
		Use:   "sample DIR",
		Short: "Writes made-up logs to try things on",
		Long: `Writes made-up access logs into a directory, which it creates if need be, and
prints the paths of the files: plain text, gzip and zstd, over several days,
with clients from many countries and now and then a line that is none. The same
seed gives the same lines. A file that exists is never overwritten.`,
		Example: `  skidway logs sample demo --lines 200000 --seed 1
  skidway logs sample demo --lines 5000000 --seed 7 --files 8 --days 30`,
		Args: exactlyOne("DIR: name the directory to write to"),
	}
	flags := c.Flags()
	flags.Var(&lines, "lines", "lines to write in all")
	flags.Var(&files, "files", "files to write")
	flags.Var(&days, "days", "days to spread the lines over")
	flags.Uint64Var(&seed, "seed", 0, "chooses the lines: any `NUMBER`")
	c.RunE = action(func(_ *cobra.Command, args []string) error {
		if lines == 0 || files == 0 || days == 0 {
			return wrongUsage("--lines, --files and --days start at 1")
		}
		paths, err := samplelog.Write(args[0], samplelog.Options{Lines: int(lines), Files: int(files), Days: int(days), Seed: seed})
		if err != nil {
			return err
		}
		if err := a.write(func(out io.Writer) error {
			_, err := fmt.Fprintln(out, strings.Join(paths, "\n"))
			return err
		}); err != nil {
			return err
		}
		a.console.notice("%s lines, %s", humanize.Comma(int64(lines)), humanize.IBytes(uint64(distribute.Bytes(paths))))
		return nil
	})
	return c
}
