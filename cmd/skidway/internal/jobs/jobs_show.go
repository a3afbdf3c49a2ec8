package jobs

import (
	"cmp"
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
	"skidway/ops"
	"skidway/queue"
)

func jobsShow(a *cli.App) *cobra.Command {
	var whole bool
	c := &cobra.Command{
		Use:   "show ID",
		Short: "Shows a job",
		Long: `Shows a job: its state and options, failed attempts, crashes of its workers,
progress, result and log lines. A job that has succeeded is deleted, unless it
was enqueued with --retain.`,
		Example: `  skidway jobs show mail:0:n1795299599363-0
  skidway jobs show mail:0:n1795299599363-0 -o json`,
		Args: cli.Args("ID"),
	}
	c.Flags().BoolVar(&whole, "args", false, "print the whole args and result, however long")
	output := cli.OutputFlag(a, c)
	return runService(a, c, func(ctx context.Context, client service, ids []string) error {
		view, err := showJob(ctx, client, ids[0])
		if err != nil {
			return err
		}
		view.whole = whole
		return a.Print(cmp.Or(output.Word, "table"), view.table, view.csv, view.json) // one job makes no rows
	})
}

// A jobView prints one job.
type jobView struct {
	*queue.Job
	now      time.Time // by Redis's clock
	progress []byte
	log      []string
	whole    bool
}

func showJob(ctx context.Context, client service, id string) (*jobView, error) {
	job, progress, err := client.Job(ctx, id)
	if err != nil {
		return nil, gone(id, err)
	}
	view := &jobView{Job: job, progress: progress}
	if view.now, err = client.Now(ctx, job.Queue); err != nil {
		return nil, err
	}
	view.log, err = client.Log(ctx, id)
	return view, err
}

// gone explains the error of a job that is in no state.
func gone(id string, err error) error {
	if errors.Is(err, queue.ErrNoJob) {
		return fmt.Errorf("job %s: finished or unknown: a job that has succeeded or was cancelled or deleted is not kept, unless it was enqueued with --retain", id)
	}
	return err
}

// A fact is a line about a job.
type fact struct{ name, value string }

// facts returns all but errors, progress, result and log.
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
	limit := " (the worker sets the limit)"
	if v.MaxAttempts > 0 {
		limit = ", of " + strconv.Itoa(v.MaxAttempts)
	}
	add("attempts", "%d failed%s", v.Attempts-v.Forgiven, limit)
	if v.Forgiven > 0 {
		add("before", "%d failed before it was retried by hand", v.Forgiven)
	}
	if v.Crashes > 0 {
		add("crashes", "%d workers died that had no other job to blame", v.Crashes)
	}
	if v.Group != "" {
		add("quarantine", "group of %d", v.GroupSize)
	}
	if v.Quarantines > 0 {
		add("suspected", "it was quarantined %d times in a row, since its worker died while it held the job", v.Quarantines)
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

// where returns the state of the job, and until or since when it is in it.
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

// when returns a time and how far away it is.
func (v *jobView) when(at time.Time) string {
	if at.IsZero() {
		return "at an unknown time"
	}
	text := at.Local().Format(time.DateTime)
	if ago := v.now.Sub(at); ago >= 0 {
		return text + ", " + ops.Age(max(ago, time.Millisecond)) + " ago"
	}
	return text + ", in " + ops.Age(at.Sub(v.now))
}

// maxShownBytes bounds args and results without --args.
const maxShownBytes = 2000

func (v *jobView) bounded(data []byte) string {
	text := readable(data)
	if v.whole || len(text) <= maxShownBytes {
		return text
	}
	return fmt.Sprintf("%s… (%d bytes: --args shows all)", text[:maxShownBytes], len(data))
}

func (v *jobView) table(out io.Writer) error {
	var text strings.Builder
	line := func(name, value string) { fmt.Fprintf(&text, "%-10s %s\n", name, cli.Printable(value)) }
	for _, fact := range v.facts() {
		line(fact.name, fact.value)
	}
	for _, failure := range v.Errors {
		line("failed", fmt.Sprintf("attempt %d, %s%s: %s", failure.Attempt, v.when(failure.Time), onWorker(failure), failure.Error))
		if failure.Stack != "" {
			line("", "with a stack: -o json has it")
		}
	}
	if len(v.progress) > 0 {
		line("progress", readable(v.progress))
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

// onWorker returns where a failed attempt ran and for how long, if that is known.
func onWorker(failure queue.Failure) string {
	if failure.Worker == "" {
		return ""
	}
	text := " on " + failure.Worker
	if failure.Took > 0 {
		text += " after " + ops.Age(failure.Took)
	}
	return text
}

// csv prints one fact a line.
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
	return cli.WriteJSON(out, jobObject(v.Job, v.progress, v.log))
}

func jobsLogs(a *cli.App) *cobra.Command {
	var follow bool
	c := &cobra.Command{
		Use:   "logs ID",
		Short: "Prints the last log lines of a job",
		Long: `Prints the last log lines of a job. A job keeps 100 lines, until it is deleted.
--follow prints new lines until the job has ended. (A job without --retain is
deleted when it succeeds: its last lines may be missed.)`,
		Example: `  skidway jobs logs mail:0:n1795299599363-0
  skidway jobs logs mail:0:n1795299599363-0 --follow`,
		Args: cli.Args("ID"),
	}
	c.Flags().BoolVarP(&follow, "follow", "f", false, "wait for new lines, until the job has ended or Ctrl-C")
	return runService(a, c, func(ctx context.Context, client service, ids []string) error {
		tail := &logTail{App: a, client: client, id: ids[0]}
		if follow {
			return tail.follow(ctx)
		}
		if _, err := tail.print(ctx); err != nil {
			return gone(ids[0], err)
		}
		if tail.seen == nil {
			a.Console.Notice("nothing was logged for job %s so far", ids[0])
		}
		return nil
	})
}

// A logTail prints the log lines of a job, each once.
type logTail struct {
	*cli.App
	client service
	id     string
	seen   []string
}

// errEnded ends the following of a job that has ended.
var errEnded = errors.New("the job has ended")

// logInterval is how often the log of a job is read: Redis has no signal for new
// lines.
const logInterval = 500 * time.Millisecond

func (l *logTail) follow(ctx context.Context) error {
	take := func(ctx context.Context) error {
		job, err := l.print(ctx)
		switch {
		case errors.Is(err, queue.ErrNoJob) && l.seen != nil:
			l.Console.Notice("job %s has finished", l.id)
			return errEnded
		case err != nil:
			return gone(l.id, err)
		case job.State == queue.Dead || job.State == queue.Finished:
			l.Console.Notice("job %s is %s", l.id, job.Outcome)
			return errEnded
		}
		if l.seen == nil {
			l.seen = []string{} // the job exists
		}
		return nil
	}
	wait := func(ctx context.Context) error { return rdb.Sleep(ctx, logInterval) }
	if err := l.App.Follow(ctx, take, wait); !errors.Is(err, errEnded) {
		return err
	}
	return nil
}

// print prints the new lines and returns the job. It reads the job first, so that it
// misses no line that is logged before the end of the job.
func (l *logTail) print(ctx context.Context) (*queue.Job, error) {
	job, _, err := l.client.Job(ctx, l.id)
	if err != nil {
		return nil, err
	}
	lines, err := l.client.Log(ctx, l.id)
	if err != nil {
		return nil, err
	}
	fresh := newLines(l.seen, lines)
	if len(lines) > 0 {
		l.seen = lines
	}
	return job, l.Write(func(out io.Writer) error {
		for _, line := range fresh {
			if _, err := fmt.Fprintln(out, cli.Printable(line)); err != nil {
				return err
			}
		}
		return nil
	})
}

// newLines returns the lines that came after those seen. The first of these may have
// been dropped meanwhile.
func newLines(seen, lines []string) []string {
	for first := range seen {
		if n := len(seen) - first; n <= len(lines) && slices.Equal(seen[first:], lines[:n]) {
			return lines[n:]
		}
	}
	return lines
}
