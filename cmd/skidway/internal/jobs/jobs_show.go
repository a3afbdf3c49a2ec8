package jobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/internal/rdb"
	"skidway/queue"
)

func jobsShow(a *cli.App) *cobra.Command {
	var whole bool
	c := &cobra.Command{
		Use:   "show ID",
		Short: "Shows all that is known of a job",
		Long: `Shows all that is known of a job: where it is, how it is to be run, each failed
attempt that is remembered, crashes of its workers, progress, result and log
lines. A job that has succeeded leaves nothing but counters, unless it was
enqueued with --retain: then it is finished, or never was.`,
		Example: `  skidway jobs show mail:0:n1795299599363-0
  skidway jobs show mail:0:n1795299599363-0 -o json`,
		Args: cli.Args("ID"),
	}
	c.Flags().BoolVar(&whole, "args", false, "show the whole args and result, however long")
	output := cli.OutputFlag(c)
	c.RunE = cli.Action(func(c *cobra.Command, ids []string) error {
		return withRedis(c.Context(), a, func(db *rdb.DB, client *queue.Client) error {
			view, err := showJob(c.Context(), db, client, ids[0])
			if err != nil {
				return err
			}
			view.whole = whole
			format := output.Word
			if format == "" {
				format = "table" // there is one job, so there are no rows
			}
			return a.Print(format, view.table, view.csv, view.json)
		})
	})
	return c
}

// A jobView prints one job.
type jobView struct {
	*queue.Job
	now      time.Time // by Redis's clock
	progress []byte
	log      []string
	whole    bool
}

func showJob(ctx context.Context, db *rdb.DB, client *queue.Client, id string) (*jobView, error) {
	job, err := client.Get(ctx, id)
	if err != nil {
		return nil, gone(id, err)
	}
	view := &jobView{Job: job}
	if view.now, err = db.Time(ctx).Result(); err != nil {
		return nil, err
	}
	if view.progress, err = client.Progress(ctx, id); err != nil {
		return nil, err
	}
	view.log, err = client.Log(ctx, id)
	return view, err
}

// gone says what it means that a job is in no state.
func gone(id string, err error) error {
	if errors.Is(err, queue.ErrNoJob) {
		return fmt.Errorf("job %s: finished or unknown: what has succeeded, was cancelled or deleted leaves only counters, unless it was enqueued with --retain", id)
	}
	return err
}

// A fact is a line of what is known of a job.
type fact struct{ name, value string }

// facts gives all but errors, progress, result and log.
func (v *jobView) facts() (facts []fact) {
	add := func(name, format string, values ...any) {
		facts = append(facts, fact{name, fmt.Sprintf(format, values...)})
	}
	add("id", "%s", v.ID)
	add("kind", "%s", v.Kind)
	add("queue", "%s, priority %s", v.Queue, v.Priority)
	add("state", "%s", v.where())
	if v.Reason != "" {
		add("reason", "%s", v.Reason)
	}
	if !v.Enqueued.IsZero() {
		add("enqueued", "%s", v.when(v.Enqueued))
	}
	if v.State == queue.Active {
		add("worker", "%s, since %s", v.Worker, v.when(v.Taken))
	}
	most := "as many as the worker allows"
	if v.MaxAttempts > 0 {
		most = strconv.Itoa(v.MaxAttempts)
	}
	add("attempts", "%d failed, of %s", v.Attempts-v.Forgiven, most)
	if v.Forgiven > 0 {
		add("before", "%d failed before it was let run again", v.Forgiven)
	}
	if v.Crashes > 0 {
		add("crashes", "its worker died %d times while it ran alone", v.Crashes)
	}
	if v.Suspected > 0 {
		add("suspected", "its worker died %d times in a row while it had it and others", v.Suspected)
	}
	if v.Timeout > 0 {
		add("timeout", "%s", v.Timeout)
	}
	if !v.Deadline.IsZero() {
		add("deadline", "%s", v.when(v.Deadline))
	}
	if v.Unique.Key != "" {
		add("unique", "%s, %s", v.Unique.Key, scopeText(v.Unique))
	}
	if v.Retain > 0 {
		add("retain", "%s", v.Retain)
	}
	for _, name := range slices.Sorted(maps.Keys(v.Headers)) {
		add("header", "%s=%s", name, v.Headers[name])
	}
	for _, next := range v.Then {
		add("then", "%s", next.Args.Kind())
	}
	add("args", "%s", v.bounded(v.Args))
	return facts
}

func scopeText(u queue.Unique) string {
	switch u.Scope {
	case queue.WhileWaiting:
		return "until a worker takes it"
	case queue.ForDuration:
		return "for " + u.For.String()
	}
	return "until it has ended"
}

// where says in which state the job is, and until or since when.
func (v *jobView) where() string {
	switch v.State {
	case queue.Delayed:
		return "delayed, due " + v.when(v.Due)
	case queue.Dead:
		return "dead, " + v.when(v.Ended)
	case queue.Finished:
		return fmt.Sprintf("finished, %s, %s", v.Outcome, v.when(v.Ended))
	}
	return string(v.State)
}

// when gives a time and how far it is, which is what people count in.
func (v *jobView) when(at time.Time) string {
	if at.IsZero() {
		return "at an unknown time"
	}
	text := at.Local().Format(time.DateTime)
	if ago := v.now.Sub(at); ago >= 0 {
		return text + ", " + age(max(ago, time.Millisecond)) + " ago"
	}
	return text + ", in " + age(at.Sub(v.now))
}

// shownBytes bounds what is shown of args and results.
const shownBytes = 2000

func (v *jobView) bounded(data []byte) string {
	if v.whole || len(data) <= shownBytes {
		return string(data)
	}
	return fmt.Sprintf("%s… (%d bytes: --args shows all)", data[:shownBytes], len(data))
}

func (v *jobView) table(out io.Writer) error {
	var text strings.Builder
	line := func(name, value string) { fmt.Fprintf(&text, "%-10s %s\n", name, cli.Printable(value)) }
	for _, fact := range v.facts() {
		line(fact.name, fact.value)
	}
	for _, failure := range v.Errors {
		line("failed", fmt.Sprintf("attempt %d, %s: %s", failure.Attempt, v.when(failure.Time), failure.Error))
	}
	if len(v.progress) > 0 {
		line("progress", string(v.progress))
	}
	if len(v.Result) > 0 {
		line("result", v.bounded(v.Result))
	}
	for _, entry := range v.log {
		line("log", entry)
	}
	_, err := io.WriteString(out, text.String())
	return err
}

// csv has one fact a line.
func (v *jobView) csv(out io.Writer) error {
	rows := [][]string{{"field", "value"}}
	for _, fact := range v.facts() {
		rows = append(rows, []string{fact.name, fact.value})
	}
	for _, failure := range v.Errors {
		rows = append(rows, []string{"failed", fmt.Sprintf("%d %s %s", failure.Attempt, cli.Stamp(failure.Time), failure.Error)})
	}
	rows = append(rows, []string{"progress", string(v.progress)}, []string{"result", v.bounded(v.Result)})
	for _, line := range v.log {
		rows = append(rows, []string{"log", line})
	}
	return cli.WriteCSV(out, rows)
}

func (v *jobView) json(out io.Writer) error {
	object := jobObject(v.Job)
	object.Progress, object.Log = opaque(v.progress), v.log
	return cli.WriteJSON(out, object)
}
