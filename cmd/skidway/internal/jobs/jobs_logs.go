package jobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/queue"
)

func jobsLogs(a *cli.App) *cobra.Command {
	var follow bool
	c := &cobra.Command{
		Use:   "logs ID",
		Short: "Prints the last log lines of a job",
		Long: `Prints the last lines that were logged for a job: at most 100 are kept, as long
as the job is there. --follow goes on until the job has ended; of one that is
not retained the last lines vanish with it.`,
		Example: `  skidway jobs logs mail:0:n1795299599363-0
  skidway jobs logs mail:0:n1795299599363-0 --follow`,
		Args: cli.Args("ID"),
	}
	c.Flags().BoolVarP(&follow, "follow", "f", false, "print lines as they come, until the job has ended or Ctrl-C")
	c.RunE = cli.Action(func(c *cobra.Command, ids []string) error {
		return withQueues(c.Context(), a, func(client *queue.Client) error {
			tail := &logTail{App: a, client: client, id: ids[0]}
			if follow {
				return tail.follow(c.Context())
			}
			if _, err := tail.print(c.Context()); err != nil {
				return gone(ids[0], err)
			}
			if tail.seen == nil {
				a.Console.Notice("nothing was logged for job %s so far", ids[0])
			}
			return nil
		})
	})
	return c
}

// A logTail prints the log lines of a job that it has not printed yet.
type logTail struct {
	*cli.App
	client *queue.Client
	id     string
	seen   []string
}

// errEnded ends the following of a job that has ended.
var errEnded = errors.New("the job has ended")

// lookAgain is how often the log of a job is read: nothing in Redis tells of new
// lines.
const lookAgain = 500 * time.Millisecond

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
			l.seen = []string{} // it was there
		}
		return nil
	}
	wait := func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lookAgain):
			return nil
		}
	}
	if err := l.App.Follow(ctx, take, wait); !errors.Is(err, errEnded) {
		return err
	}
	return nil
}

// print prints the new lines and gives the job. The job is looked at first: what
// is logged before its end is then not missed.
func (l *logTail) print(ctx context.Context) (*queue.Job, error) {
	job, err := l.client.Get(ctx, l.id)
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

// newLines gives the lines that came after those seen, of which the first may
// have been dropped meanwhile.
func newLines(seen, lines []string) []string {
	for first := range seen {
		if n := len(seen) - first; n <= len(lines) && slices.Equal(seen[first:], lines[:n]) {
			return lines[n:]
		}
	}
	return lines
}
