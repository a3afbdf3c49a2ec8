package jobs

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/delayed"
	"skidway/queue"
)

// Cron returns the command "cron".
func Cron(a *cli.App) *cobra.Command {
	c := cli.Group(&cobra.Command{
		Use:   "cron",
		Short: "Schedules that add jobs",
		Long: `Schedules add a job to a queue each time that a cron expression says.

Every worker of the queue watches its schedules; there is no leader. Each time
fires once, however many watch. While no worker of the queue is alive nothing
fires; what becomes of those times --catch-up says.

An expression has five fields: minute, hour, day of the month, month, day of the
week; or six, with seconds first; or it is @hourly, @daily, @weekly, @monthly,
@yearly, or "@every 90s".`,
		Example: `  skidway cron add nightly "30 2 * * *" reports logs.report \
      '{"channel":"web","subscriber":"countries"}'
  skidway cron list`,
	})
	c.AddCommand(cronList(a), cronAdd(a), cronRemove(a), cronRun(a))
	return c
}

func cronAdd(a *cli.App) *cobra.Command {
	var options jobFlags
	var location cli.Zone
	catchUp := cli.Choice{Word: string(queue.CatchUpNone), Words: []string{"none", "last", "all"}}
	c := &cobra.Command{
		Use:   "add NAME EXPR QUEUE KIND [ARGS|-]",
		Short: "Adds or changes a schedule",
		Long: `Adds a schedule, or changes the one of this name in the queue, at once. ARGS is
JSON, {} if it is left out, or - to read it from standard input.

Where the clocks go forward, times that do not exist fire when the clock has
jumped; where they go back, a schedule at a certain hour fires once, and one of
every hour or minute fires in both.

--catch-up says what becomes of times that passed while no worker of the queue
was alive, or Redis was away for half a minute or longer: none of them fires,
the last one, or all.`,
		Example: `  skidway cron add nightly "30 2 * * *" reports logs.report \
      '{"channel":"web","subscriber":"countries"}' --tz Europe/Berlin
  skidway cron add beat "@every 30s" default http.request \
      '{"url":"https://example.com/beat"}' --catch-up last`,
		Args: cobra.RangeArgs(4, 5),
	}
	options.add(c)
	for _, flag := range []string{"in", "at"} {
		_ = c.Flags().MarkHidden(flag) // the library refuses them, by name
	}
	c.Flags().Var(&location, "tz", "time zone of the expression (default UTC)")
	c.Flags().Var(&catchUp, "catch-up", "what becomes of times that nobody watched")
	cli.Complete(c, "catch-up", catchUp.Words...)
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		jobOptions, err := options.get()
		if err != nil {
			return err
		}
		insert, err := insertOf(c, args[3:], jobOptions)
		if err != nil {
			return err
		}
		text, err := insert.Args.(interface{ MarshalJSON() ([]byte, error) }).MarshalJSON()
		if err != nil {
			return err
		}
		s := queue.Schedule{
			Name: args[0], Expr: args[1], Zone: location.String(), Queue: args[2], Kind: args[3], Args: text,
			Options: jobOptions, CatchUp: queue.CatchUp(catchUp.Word),
		}
		return withQueues(a, c.Context(), func(client *queue.Client) error { return addSchedule(a, c.Context(), client, s) })
	})
	return c
}

func addSchedule(a *cli.App, ctx context.Context, client *queue.Client, s queue.Schedule) error {
	changed, err := delayed.AddSchedule(ctx, client, s)
	if err != nil {
		return err
	}
	if !changed {
		a.Console.Notice("the schedule was there already, as it is")
	}
	next, err := delayed.Next(s.Expr, s.Zone, time.Now(), 3)
	if err != nil {
		return err
	}
	texts := make([]string, len(next))
	for i, at := range next {
		texts[i] = at.Format(time.RFC3339)
	}
	a.Console.Notice("next: %s", strings.Join(texts, ", "))
	tellIfNobodyServes(a, ctx, client, s.Queue, "the schedule fires only while one does")
	return nil
}

// queueFlag says in which queue a schedule is.
func queueFlag(c *cobra.Command, name *string) {
	c.Flags().StringVar(name, "queue", "", "`NAME` of the queue (default: all of them)")
}

func cronRemove(a *cli.App) *cobra.Command {
	var in string
	c := &cobra.Command{
		Use:   "remove NAME",
		Short: "Removes a schedule",
		Long: `Removes a schedule, at once. Jobs that it has added stay.

One that is in the configuration of a worker comes again when a worker starts
or reads the configuration again: take it out there first. Taken out there only,
it stays until it is removed here.`,
		Example: "  skidway cron remove nightly",
		Args:    cli.ExactlyOne("NAME"),
	}
	queueFlag(c, &in)
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		return withSchedule(a, c.Context(), in, args[0], func(client *queue.Client, in string) error {
			if err := delayed.RemoveSchedule(c.Context(), client, in, args[0]); err != nil {
				return err
			}
			a.Console.Notice("removed schedule %s of queue %s", args[0], in)
			return nil
		})
	})
	return c
}

func cronRun(a *cli.App) *cobra.Command {
	var in string
	c := &cobra.Command{
		Use:   "run NAME",
		Short: "Lets a schedule fire now",
		Long: `Adds the job of a schedule now, and prints its id. The times at which the
schedule fires stay as they are.`,
		Example: "  skidway cron run nightly",
		Args:    cli.ExactlyOne("NAME"),
	}
	queueFlag(c, &in)
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		return withSchedule(a, c.Context(), in, args[0], func(client *queue.Client, in string) error {
			id, err := delayed.FireNow(c.Context(), client, in, args[0])
			if err != nil {
				return err
			}
			return a.Write(func(out io.Writer) error {
				_, err := fmt.Fprintln(out, id)
				return err
			})
		})
	})
	return c
}

// withSchedule finds the queue that a schedule is in, unless it is said.
func withSchedule(a *cli.App, ctx context.Context, in, name string, f func(client *queue.Client, in string) error) error {
	return withQueues(a, ctx, func(client *queue.Client) error {
		if in != "" {
			return f(client, in)
		}
		infos, err := schedules(a, ctx, client, "")
		if err != nil {
			return err
		}
		var found []string
		for _, info := range infos {
			if info.Name == name {
				found = append(found, info.Queue)
			}
		}
		switch len(found) {
		case 0:
			return fmt.Errorf("schedule %s: %w: 'skidway cron list' lists them", name, queue.ErrNoSchedule)
		case 1:
			return f(client, found[0])
		}
		return cli.WrongUsage("schedule %s is in the queues %s: say which with --queue", name, strings.Join(found, ", "))
	})
}

// schedules gives those of a queue, or of all. Of all, a queue that can't be read
// is told and passed over.
func schedules(a *cli.App, ctx context.Context, client *queue.Client, in string) (infos []queue.ScheduleInfo, err error) {
	names := []string{in}
	if in == "" {
		if names, err = client.Queues(ctx); err != nil {
			return nil, err
		}
	}
	for _, name := range names {
		some, err := delayed.Schedules(ctx, client, name)
		if err != nil {
			if in != "" || ctx.Err() != nil || cli.Unreachable(err) {
				return nil, err
			}
			a.Console.Problem("", err) // which names it
			continue
		}
		infos = append(infos, some...)
	}
	return infos, nil
}

func cronList(a *cli.App) *cobra.Command {
	var in string
	c := &cobra.Command{
		Use:   "list",
		Short: "Lists schedules with their last and next times",
		Long: `Lists schedules: when each fires next, when it fired last, and the job that it
added then. JSON has the last ten.`,
		Example: `  skidway cron list
  skidway cron list --queue reports -o json`,
		Args: cobra.NoArgs,
	}
	queueFlag(c, &in)
	output := cli.OutputFlag(c)
	c.RunE = cli.Action(func(c *cobra.Command, _ []string) error {
		return withQueues(a, c.Context(), func(client *queue.Client) error {
			infos, err := schedules(a, c.Context(), client, in)
			if err != nil {
				return err
			}
			v := scheduleView(infos)
			return errors.Join(a.Print(output.Word, v.table, v.csv, v.json), v.unreadable())
		})
	})
	return c
}

// A scheduleView prints schedules.
type scheduleView []queue.ScheduleInfo

// unreadable is an error where a schedule never fires.
func (v scheduleView) unreadable() error {
	var errs []error
	for _, s := range v {
		if s.Err != nil {
			errs = append(errs, fmt.Errorf("schedule %s of queue %s can't be read and never fires: %w: add it again", s.Name, s.Queue, s.Err))
		}
	}
	return errors.Join(errs...)
}

func (v scheduleView) table(out io.Writer) error {
	t := cli.Table{Heads: []string{"NAME", "QUEUE", "WHEN", "NEXT", "LAST", "JOB"}, Right: make([]bool, 6)}
	for _, s := range v {
		last, job := "never", ""
		if len(s.Last) > 0 {
			last, job = s.Last[0].Due.Local().Format("01-02 15:04:05"), s.Last[0].JobID
			if job == "" {
				job = "none: " + s.Last[0].HeldBy
			}
		}
		when := s.Expr
		if s.Zone != "" && s.Zone != "UTC" {
			when += " " + s.Zone
		}
		next := "never"
		if !s.Next.IsZero() {
			next = s.Next.Local().Format("01-02 15:04:05")
		}
		t.Add(cli.Cut(s.Name, 16), cli.Cut(s.Queue, 10), cli.Cut(when, 24), next, last, cli.Printable(job))
	}
	return t.Write(out)
}

func (v scheduleView) csv(out io.Writer) error {
	w := csv.NewWriter(out)
	_ = w.Write([]string{"name", "queue", "expression", "zone", "kind", "catch_up", "next", "last", "job"}) // Error tells
	for _, s := range v {
		last, job := "", ""
		if len(s.Last) > 0 {
			last, job = cli.Stamp(s.Last[0].Due), s.Last[0].JobID
		}
		_ = w.Write([]string{s.Name, s.Queue, s.Expr, s.Zone, s.Kind, string(s.CatchUp), cli.Stamp(s.Next), last, job})
	}
	w.Flush()
	return w.Error()
}

type (
	firingJSON struct {
		Due    string `json:"due"`
		Fired  string `json:"fired"`
		Job    string `json:"job,omitempty"`
		HeldBy string `json:"held_by,omitempty"`
		Manual bool   `json:"manual,omitempty"`
	}
	scheduleJSON struct {
		Name     string       `json:"name"`
		Queue    string       `json:"queue"`
		Expr     string       `json:"expression"`
		Zone     string       `json:"zone"`
		Kind     string       `json:"kind"`
		Args     any          `json:"args"`
		CatchUp  string       `json:"catch_up"`
		Revision int          `json:"revision,omitempty"`
		Next     string       `json:"next"`
		Last     []firingJSON `json:"last"`
		Error    string       `json:"error,omitempty"`
	}
)

func (v scheduleView) json(out io.Writer) error {
	list := []scheduleJSON{}
	for _, s := range v {
		one := scheduleJSON{
			Name: s.Name, Queue: s.Queue, Expr: s.Expr, Zone: s.Zone, Kind: s.Kind, Args: opaque(s.Args),
			CatchUp: string(s.CatchUp), Revision: s.Revision, Next: cli.Stamp(s.Next), Last: []firingJSON{},
		}
		for _, f := range s.Last {
			one.Last = append(one.Last, firingJSON{cli.Stamp(f.Due), cli.Stamp(f.Fired), f.JobID, f.HeldBy, f.Manual})
		}
		if s.Err != nil {
			one.Error = s.Err.Error()
		}
		list = append(list, one)
	}
	return cli.WriteJSON(out, list)
}
