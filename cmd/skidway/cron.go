package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"skidway/delayed"
	"skidway/queue"
)

func (a *app) cron() *cobra.Command {
	c := group(&cobra.Command{
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
	c.AddCommand(a.cronList(), a.cronAdd(), a.cronRemove(), a.cronRun())
	return c
}

func (a *app) cronAdd() *cobra.Command {
	var options jobFlags
	var location zone
	catchUp := choice{word: string(queue.CatchUpNone), words: []string{"none", "last", "all"}}
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
	complete(c, "catch-up", catchUp.words...)
	c.RunE = action(func(c *cobra.Command, args []string) error {
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
			Options: jobOptions, CatchUp: queue.CatchUp(catchUp.word),
		}
		return a.withQueues(c.Context(), func(client *queue.Client) error { return a.addSchedule(c.Context(), client, s) })
	})
	return c
}

func (a *app) addSchedule(ctx context.Context, client *queue.Client, s queue.Schedule) error {
	changed, err := delayed.AddSchedule(ctx, client, s)
	if err != nil {
		return err
	}
	if !changed {
		a.console.notice("the schedule was there already, as it is")
	}
	next, err := delayed.Next(s.Expr, s.Zone, time.Now(), 3)
	if err != nil {
		return err
	}
	texts := make([]string, len(next))
	for i, at := range next {
		texts[i] = at.Format(time.RFC3339)
	}
	a.console.notice("next: %s", strings.Join(texts, ", "))
	a.tellIfNobodyServes(ctx, client, s.Queue, "the schedule fires only while one does")
	return nil
}

// queueFlag says in which queue a schedule is.
func queueFlag(c *cobra.Command, name *string) {
	c.Flags().StringVar(name, "queue", "", "`NAME` of the queue (default: all of them)")
}

func (a *app) cronRemove() *cobra.Command {
	var in string
	c := &cobra.Command{
		Use:   "remove NAME",
		Short: "Removes a schedule",
		Long: `Removes a schedule, at once. Jobs that it has added stay.

One that is in the configuration of a worker comes again when a worker starts
or reads the configuration again: take it out there first. Taken out there only,
it stays until it is removed here.`,
		Example: "  skidway cron remove nightly",
		Args:    exactlyOne("NAME"),
	}
	queueFlag(c, &in)
	c.RunE = action(func(c *cobra.Command, args []string) error {
		return a.withSchedule(c.Context(), in, args[0], func(client *queue.Client, in string) error {
			if err := delayed.RemoveSchedule(c.Context(), client, in, args[0]); err != nil {
				return err
			}
			a.console.notice("removed schedule %s of queue %s", args[0], in)
			return nil
		})
	})
	return c
}

func (a *app) cronRun() *cobra.Command {
	var in string
	c := &cobra.Command{
		Use:   "run NAME",
		Short: "Lets a schedule fire now",
		Long: `Adds the job of a schedule now, and prints its id. The times at which the
schedule fires stay as they are.`,
		Example: "  skidway cron run nightly",
		Args:    exactlyOne("NAME"),
	}
	queueFlag(c, &in)
	c.RunE = action(func(c *cobra.Command, args []string) error {
		return a.withSchedule(c.Context(), in, args[0], func(client *queue.Client, in string) error {
			id, err := delayed.FireNow(c.Context(), client, in, args[0])
			if err != nil {
				return err
			}
			return a.write(func(out io.Writer) error {
				_, err := fmt.Fprintln(out, id)
				return err
			})
		})
	})
	return c
}

// withSchedule finds the queue that a schedule is in, unless it is said.
func (a *app) withSchedule(ctx context.Context, in, name string, f func(client *queue.Client, in string) error) error {
	return a.withQueues(ctx, func(client *queue.Client) error {
		if in != "" {
			return f(client, in)
		}
		infos, err := a.schedules(ctx, client, "")
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
		return wrongUsage("schedule %s is in the queues %s: say which with --queue", name, strings.Join(found, ", "))
	})
}

// schedules gives those of a queue, or of all. Of all, a queue that can't be read
// is told and passed over.
func (a *app) schedules(ctx context.Context, client *queue.Client, in string) (infos []queue.ScheduleInfo, err error) {
	names := []string{in}
	if in == "" {
		if names, err = client.Queues(ctx); err != nil {
			return nil, err
		}
	}
	for _, name := range names {
		some, err := delayed.Schedules(ctx, client, name)
		if err != nil {
			if in != "" || ctx.Err() != nil || exitCode(&actionError{err}) == exitUnreachable {
				return nil, err
			}
			a.console.problem("", err) // which names it
			continue
		}
		infos = append(infos, some...)
	}
	return infos, nil
}

func (a *app) cronList() *cobra.Command {
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
	output := outputFlag(c)
	c.RunE = action(func(c *cobra.Command, _ []string) error {
		return a.withQueues(c.Context(), func(client *queue.Client) error {
			infos, err := a.schedules(c.Context(), client, in)
			if err != nil {
				return err
			}
			v := scheduleView(infos)
			return errors.Join(a.print(output.word, v.table, v.csv, v.json), v.unreadable())
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
	t := table{heads: []string{"NAME", "QUEUE", "WHEN", "NEXT", "LAST", "JOB"}, right: make([]bool, 6)}
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
		t.add(cut(s.Name, 16), cut(s.Queue, 10), cut(when, 24), next, last, printable(job))
	}
	return t.write(out)
}

func (v scheduleView) csv(out io.Writer) error {
	w := csv.NewWriter(out)
	_ = w.Write([]string{"name", "queue", "expression", "zone", "kind", "catch_up", "next", "last", "job"}) // Error tells
	for _, s := range v {
		last, job := "", ""
		if len(s.Last) > 0 {
			last, job = stamp(s.Last[0].Due), s.Last[0].JobID
		}
		_ = w.Write([]string{s.Name, s.Queue, s.Expr, s.Zone, s.Kind, string(s.CatchUp), stamp(s.Next), last, job})
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
			CatchUp: string(s.CatchUp), Revision: s.Revision, Next: stamp(s.Next), Last: []firingJSON{},
		}
		for _, f := range s.Last {
			one.Last = append(one.Last, firingJSON{stamp(f.Due), stamp(f.Fired), f.JobID, f.HeldBy, f.Manual})
		}
		if s.Err != nil {
			one.Error = s.Err.Error()
		}
		list = append(list, one)
	}
	return writeJSON(out, list)
}
