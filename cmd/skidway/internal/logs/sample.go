package logs

import (
	"fmt"
	"io"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute"
	"skidway/internal/samplelog"
)

func sample(a *cli.App) *cobra.Command {
	lines, files, days := cli.Number(samplelog.DefaultLines), cli.Number(samplelog.DefaultFiles), cli.Number(samplelog.DefaultDays)
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
		Args: cli.ExactlyOne("DIR: name the directory to write to"),
	}
	flags := c.Flags()
	flags.Var(&lines, "lines", "lines to write in all")
	flags.Var(&files, "files", "files to write")
	flags.Var(&days, "days", "days to spread the lines over")
	flags.Uint64Var(&seed, "seed", 0, "chooses the lines: any `NUMBER`")
	c.RunE = cli.Action(func(_ *cobra.Command, args []string) error {
		if lines == 0 || files == 0 || days == 0 {
			return cli.WrongUsage("--lines, --files and --days start at 1")
		}
		paths, err := samplelog.Write(args[0], samplelog.Options{Lines: int(lines), Files: int(files), Days: int(days), Seed: seed})
		if err != nil {
			return err
		}
		if err := a.Write(func(out io.Writer) error {
			_, err := fmt.Fprintln(out, strings.Join(paths, "\n"))
			return err
		}); err != nil {
			return err
		}
		a.Console.Notice("%s lines, %s", humanize.Comma(int64(lines)), humanize.IBytes(uint64(distribute.Bytes(paths))))
		return nil
	})
	return c
}
