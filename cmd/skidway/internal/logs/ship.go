package logs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"skidway"
	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute"
	"skidway/distribute/stream"
)

// A shipper is the command "logs ship".
type shipper struct {
	*cli.App
	inputs
	channel     string
	subscribers []string
	window      cli.Size
	force, wait bool
	follow      bool
	dryRun      bool
	output      *cli.Choice
	lease       cli.Span
}

const shipHelp = `Uploads log files to Redis in pieces and announces them to the subscribers of a
channel. Compressed files stay compressed. When the window of the channel is
full, it waits until workers have counted some files, and prints which
subscribers it waits for.

It recognises files that were shipped before, and uploads only the new lines of
one that has grown. So a directory can be shipped again and again. Before it
ships more of a file, it waits until the part that was shipped before is
counted.

A PATH of - is standard input. It and FIFOs are read once, to their end, in any
compression that 'logs count' detects by the content. If this process dies
before that, what it had read is counted and reported as cut off. The same
content sent again is read over up to there.

` + sameFile

func ship(a *cli.App) *cobra.Command {
	s := &shipper{App: a, lease: cli.Span(distribute.DefaultLease)}
	c := &cobra.Command{
		Use:   "ship PATH...",
		Short: "Uploads files to a channel, for workers to count",
		Long:  shipHelp,
		Example: `  skidway logs ship /var/log/nginx --channel web --subscriber countries
  skidway logs ship access.log.1 --channel web --wait
  zcat access.log.*.gz | skidway logs ship - --channel web
  skidway logs ship /var/log/nginx --channel web --follow
  skidway logs ship logs/ --channel web --window 4GiB --force`,
		Args: s.args("PATH: name the files or directories to ship"),
	}
	flags := c.Flags()
	channelFlag(c, &s.channel)
	s.inputs.addFlags(c)
	flags.StringArrayVar(&s.subscribers, "subscriber", nil, "`NAME` of a subscriber to create if it does not exist; may be repeated")
	flags.Var(&s.window, "window", "size of the files of the channel that are in Redis at once (default: unchanged; 1 GiB for a new channel)")
	flags.BoolVar(&s.force, "force", false, "ship files that were counted before, too: they are counted again")
	flags.BoolVar(&s.wait, "wait", false, "return when all subscribers have counted the files, and report those that could not be counted")
	flags.BoolVar(&s.follow, "follow", false, "go on with new files and new lines, until Ctrl-C")
	c.MarkFlagsMutuallyExclusive("wait", "follow")
	c.MarkFlagsMutuallyExclusive("force", "follow")
	flags.BoolVar(&s.dryRun, "dry-run", false, "print the files with their formats and what is new of them, and ship nothing")
	s.output = cli.OutputFlag(a, c)
	c.MarkFlagsMutuallyExclusive("dry-run", "follow")
	c.MarkFlagsMutuallyExclusive("dry-run", "wait")
	flags.Var(&s.lease, "lease", "time after the last heartbeat until this process counts as dead")
	c.RunE = cli.Action(func(c *cobra.Command, paths []string) error {
		if flags := c.Flags(); !s.dryRun && (flags.Changed("output") || flags.Changed("csv-raw")) {
			return cli.WrongUsage("--output and --csv-raw go with --dry-run: otherwise there are no rows")
		}
		paths, err := s.read(c, paths)
		if err != nil {
			return err
		}
		if s.follow && s.stdin != nil {
			return cli.WrongUsage("--follow -: standard input can't be followed: without --follow it is read to its end")
		}
		named := slices.Concat(paths, s.listed)
		if bucket := slices.IndexFunc(named, isObject); s.follow && bucket >= 0 {
			return cli.WrongUsage("--follow %s: buckets can't be followed; ship them again instead", named[bucket])
		}
		if s.dryRun {
			return s.preview(c.Context(), paths)
		}
		return withDBAndChannel(c.Context(), a, distribute.Open, s.channel, func(db *skidway.DB, channel *distribute.Channel) error {
			return s.run(c.Context(), db, channel, paths)
		})
	})
	return c
}

func (s *shipper) run(ctx context.Context, db *skidway.DB, channel *distribute.Channel, paths []string) error {
	if err := s.prepare(ctx, channel); err != nil {
		return err
	}
	if err := checkMemory(ctx, s.App, db); err != nil {
		return err
	}
	ctx, stopping, end := s.Console.Listen(ctx)
	defer end()
	if s.follow {
		return s.goOn(ctx, stopping, channel, paths)
	}
	return s.once(ctx, stopping, channel, paths)
}

// once ships the files that exist now.
func (s *shipper) once(ctx, stopping context.Context, channel *distribute.Channel, paths []string) error {
	files, missing, err := s.list(ctx, s.Console, paths)
	if err != nil {
		return err
	}
	if len(files) == 0 && len(missing) == 0 && s.skipped > 0 {
		return nil
	}
	if len(files) == 0 {
		return fmt.Errorf("nothing to ship; paths without files that can be read: %d", len(missing))
	}
	shipper := distribute.NewShipper(channel, s.config(func(e distribute.Event) { printEvent(s.Console, e) }))
	defer context.AfterFunc(stopping, shipper.Stop)()
	started := time.Now()
	hide := s.Console.ShowBytes(stream.Bytes(files), shipper.Progress, nil)
	results, err := shipper.Ship(ctx, files)
	hide()
	if err != nil {
		return err
	}
	count := countOutcomes(s.Console, results)
	s.sumUp(results, count, time.Since(started))
	failed := s.problems(results)
	failed.Failed += int64(len(missing) + count[distribute.Failed])
	if err := verdict(count, failed); err != nil {
		return err
	}
	if s.wait && stopping.Err() != nil {
		return fmt.Errorf("%w: not all is counted yet", cli.ErrStoppedEarly)
	}
	return nil
}

// problems reports what was wrong with the files for which the command has waited, and returns the numbers
// of those that are not counted, or only in part.
func (s *shipper) problems(results []distribute.ShippedFile) (failed distribute.Tally) {
	for _, r := range results {
		if r.Outcome != distribute.Shipped || r.Problem == nil {
			continue
		}
		s.Console.Problem(r.Path, errors.New(r.Problem.Detail))
		switch r.Problem.Kind {
		case distribute.NotCounted:
			failed.Failed++
		case distribute.CountedInPart:
			failed.Partial++
		}
	}
	return failed
}

// goOn ships new files and new lines until it is stopped.
func (s *shipper) goOn(ctx, stopping context.Context, channel *distribute.Channel, paths []string) error {
	failing := map[string]bool{} // files and directories
	shipper := distribute.NewShipper(channel, s.config(func(e distribute.Event) {
		switch {
		case e.Err != nil:
			failing[e.File] = true
		case e.Kind == distribute.EventRecovered:
			maps.DeleteFunc(failing, func(file string, _ bool) bool {
				return file == e.File || strings.HasPrefix(file, e.File+stream.MemberSeparator)
			})
		}
		printEvent(s.Console, e)
	}))
	defer context.AfterFunc(stopping, shipper.Stop)()
	s.Console.Notice("following; Ctrl-C ends it")
	if err := shipper.Follow(ctx, paths); err != nil {
		return err
	}
	if len(failing) > 0 {
		return fmt.Errorf("some files could not be shipped; failed: %d", len(failing))
	}
	return nil
}

func (s *shipper) config(notify distribute.Notify) *distribute.ShipperConfig {
	return &distribute.ShipperConfig{Lease: time.Duration(s.lease), Force: s.force, Wait: s.wait, Members: s.members(), Names: s.listed, Open: s.open(), MaxWindow: int64(s.memory), Notify: notify}
}

// preview prints what would be shipped. The channel need not exist.
func (s *shipper) preview(ctx context.Context, paths []string) error {
	files, missing, err := s.list(ctx, s.Console, paths)
	if err != nil {
		return err
	}
	print := func(channel *distribute.Channel) error {
		return dryRun(ctx, s.App, s.output.Word, distribute.NewShipper(channel, s.config(nil)), nil, files, len(missing))
	}
	err = withChannel(ctx, s.App, distribute.OpenExisting, s.channel, print)
	if errors.Is(err, distribute.ErrNoChannel) {
		return print(nil)
	}
	return err
}

// prepare creates the subscribers and sets the window of the flags.
func (s *shipper) prepare(ctx context.Context, channel *distribute.Channel) error {
	for _, name := range s.subscribers {
		if err := channel.Subscribe(ctx, name, ""); err != nil {
			return cli.InvalidAsUsage(err)
		}
	}
	if s.window > 0 {
		if err := channel.SetWindow(ctx, int64(s.window)); err != nil {
			return cli.InvalidAsUsage(err)
		}
	}
	subscribers, err := channel.Subscribers(ctx)
	if err == nil && len(subscribers) == 0 {
		s.Console.Notice("channel %q has no subscriber: files wait in Redis, and shipping stops when the window is full, until you run 'skidway logs work --channel %s --subscriber NAME'",
			channel.Name(), channel.Name())
	}
	return err
}

// checkMemory warns if Redis can be full before the windows are.
func checkMemory(ctx context.Context, a *cli.App, db *skidway.DB) error {
	err := distribute.CheckMemory(ctx, db)
	if tight, ok := errors.AsType[*distribute.MemoryError](err); ok {
		a.Console.Notice("warning: %v; lower the window with --window or 'logs window', or raise maxmemory", tight)
		return nil
	}
	return err
}

func (s *shipper) sumUp(results []distribute.ShippedFile, count outcomes, took time.Duration) {
	var bytes int64
	for _, r := range results {
		bytes += r.Bytes
	}
	known := count[distribute.AlreadyCounted] + count[distribute.AlreadyShipped]
	s.Console.Notice("shipped: %d, known before: %d, empty: %d, failed: %d; %s in %.1f s",
		count[distribute.Shipped], known, count[distribute.Empty], count[distribute.Failed], humanize.IBytes(uint64(bytes)), took.Seconds())
}
