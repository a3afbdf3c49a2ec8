package jobs

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/internal/rdb"
	"skidway/queue"
)

// Queues returns the command "queues".
func Queues(a *cli.App) *cobra.Command {
	c := cli.Group(&cobra.Command{
		Use:   "queues",
		Short: "Shows queues, pauses, resumes and empties them",
		Long: `Queues are lines of jobs, each with three priorities. They come into being with
their first job. These commands show how they stand and stop and start them.`,
		Example: `  skidway queues list
  skidway queues show mail
  skidway queues pause mail`,
	})
	c.AddCommand(queuesList(a), queuesShow(a), queuesWatch(a), queuesPause(a), queuesResume(a), queuesPurge(a))
	return c
}

// withRedis opens the shared Redis for as long as f runs.
func withRedis(ctx context.Context, a *cli.App, f func(*rdb.DB, *queue.Client) error) error {
	return a.WithRedis(ctx, "", func(db *rdb.DB) error {
		client, err := queue.NewClient(db, nil)
		if err != nil {
			return err
		}
		return cli.InvalidAsUsage(f(db, client))
	})
}

// withQueues is withRedis for those who need the client only.
func withQueues(ctx context.Context, a *cli.App, f func(*queue.Client) error) error {
	return withRedis(ctx, a, func(_ *rdb.DB, client *queue.Client) error { return f(client) })
}

// existing gives a queue that is known or has jobs: a name that is mistyped is
// no empty queue.
func existing(ctx context.Context, client *queue.Client, name string) (*queue.Queue, error) {
	q, err := client.Queue(name)
	if err != nil {
		return nil, err
	}
	names, err := client.Queues(ctx)
	if err != nil || slices.Contains(names, q.Name()) {
		return q, err
	}
	depth, err := q.Depth(ctx)
	if err != nil {
		return nil, err
	}
	if depth.Waiting.Total()+depth.Active.Total()+depth.Delayed+depth.Dead+depth.Finished > 0 {
		return q, nil // its jobs were added by XADD
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("there is no queue %s, and no other: is it the right Redis and --prefix?", q.Name())
	}
	return nil, fmt.Errorf("there is no queue %s: there are %s", q.Name(), some(names, 20))
}

// some names a few of many.
func some(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// completeQueues offers the names of queues in the shell.
func completeQueues(a *cli.App) cobra.CompletionFunc {
	return func(c *cobra.Command, _ []string, _ string) (names []string, _ cobra.ShellCompDirective) {
		err := withQueues(c.Context(), a, func(client *queue.Client) (err error) {
			names, err = client.Queues(c.Context())
			return err
		})
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
