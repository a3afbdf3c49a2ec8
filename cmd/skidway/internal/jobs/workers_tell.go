package jobs

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/queue"
)

// workersTell makes "workers quiet" and "workers stop".
func workersTell(a *cli.App, do string) *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:     do + " NAME...|--all",
		Short:   "Tells workers to take no more jobs",
		Long:    "Tells workers, by name or all of them, to take no more jobs. What they have\nthey end. There is no way back but to start them again.",
		Example: "  skidway workers quiet mailer-7\n  skidway workers quiet --all",
	}
	if do == "stop" {
		c.Short = "Tells workers to end"
		c.Long = `Tells workers, by name or all of them, to take no more jobs, to end those that
they have within the time that they were given, and to exit. What has not ended
by then goes back to the front of its queue.`
		c.Example = "  skidway workers stop mailer-7\n  skidway workers stop --all"
	}
	c.Flags().BoolVar(&all, "all", false, "all workers of all queues")
	c.RunE = cli.Action(func(c *cobra.Command, names []string) error {
		if all == (len(names) > 0) {
			return cli.WrongUsage("give NAMEs of workers or --all")
		}
		return withQueues(a, c.Context(), func(client *queue.Client) error {
			return tellWorkers(a, c.Context(), client, do, names)
		})
	})
	return c
}

func tellWorkers(a *cli.App, ctx context.Context, client *queue.Client, do string, names []string) error {
	queues, err := client.Queues(ctx)
	if err != nil {
		return err
	}
	fleet, err := fleetOf(a, ctx, client, queues, false)
	if err != nil {
		return err
	}
	living := map[string]*fleetWorker{}
	var known []string
	for _, worker := range fleet {
		if !worker.dead() {
			living[worker.Name] = worker
			known = append(known, worker.Name)
		}
	}
	if len(names) == 0 {
		names = known
	}
	if len(known) == 0 {
		return errors.New("no worker is there")
	}
	return each(a, "workers", names, func(name string) (string, error) {
		worker := living[name]
		if worker == nil {
			return "", fmt.Errorf("there is no worker %s: there are %s", name, some(known, 10))
		}
		for _, lease := range worker.leases { // any one is heard, all are surer
			if err := lease.queue.Signal(ctx, queue.Signal{Do: do, Worker: lease.Name}); err != nil {
				return "", err
			}
		}
		return "was told to " + map[string]string{"quiet": "take no more jobs", "stop": "stop"}[do], nil
	})
}
