package jobs

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"skidway"
	"skidway/cmd/skidway/internal/cli"
	"skidway/cmd/skidway/internal/remote"
	"skidway/ops"
	"skidway/ops/api"
	"skidway/queue"
	"skidway/workers/kinds"
	"skidway/workers/stats"
)

// A service answers for the queues of a Redis: [direct], or through a server ([viaServer]).
type service interface {
	Queues(ctx context.Context) ([]string, error)
	QueueNames(ctx context.Context, name string) ([]string, error) // of one, or of all for ""
	Now(ctx context.Context, name string) (time.Time, error)       // of a queue, which must exist
	Statuses(context.Context, []string) ([]ops.QueueStatus, error) // of all queues for nil
	Report(ctx context.Context, name string) (*ops.Report, error)  // of a queue
	Statistics(ctx context.Context, name string, back stats.Range, kind string) (*api.Statistics, error)
	Pause(ctx context.Context, name, note string) (queue.Depth, error)
	Resume(ctx context.Context, name string) (queue.Depth, error)
	Retention(ctx context.Context, name string) (queue.Retention, error) // IfVersion is its version
	SetRetention(ctx context.Context, name string, r queue.Retention) error
	DeleteQueue(ctx context.Context, name string) error
	LivingPools(ctx context.Context, name string) ([]queue.PoolInfo, error) // that serve a queue

	Enqueue(context.Context, queue.Args, *queue.Options) (id string, err error)
	EnqueueMany(context.Context, []queue.NewJob) []queue.Result // of one queue
	Copy(ctx context.Context, id string, changes map[string]json.RawMessage) (added string, err error)
	Validate(queue.NewJob) error // sends nothing
	Wait(ctx context.Context, id string) (*queue.Job, error)

	Search(ctx context.Context, name string, options ops.SearchOptions) (*ops.SearchPage, error)
	Running(ctx context.Context, name string) (*ops.Running, error)
	Job(ctx context.Context, id string) (job *queue.Job, progress []byte, err error)
	Log(ctx context.Context, id string) ([]string, error)

	Retry(ctx context.Context, id string) error
	RunNow(ctx context.Context, id string) error
	Cancel(ctx context.Context, id string) (active bool, err error)
	Delete(ctx context.Context, id string) error
	SetPriority(ctx context.Context, id string, priority queue.Priority) error
	Reschedule(ctx context.Context, id string, in time.Duration, at time.Time) error // at, unless in is above zero

	Ask(context.Context, ops.Change) (*ops.Question, error)
	Begin(context.Context, *ops.Question) (operationRun, error)
	StopOperation(ctx context.Context, id string) (queue.Operation, error)
}

// An operationRun is an operation that runs.
type operationRun interface {
	Operation() queue.Operation // as of the last step
	Run(ctx context.Context, report func(queue.Operation)) error
	Advice() string // how to go on after Run, if the operation is not done
}

// withService calls f with the service of the command line.
func withService(ctx context.Context, a *cli.App, f func(service) error) error {
	address, token, err := a.ServerOf()
	if err != nil {
		return err
	}
	if address == "" {
		return cli.With(ctx, a, openService, f)
	}
	client, err := remote.New(address, token)
	if err != nil {
		return cli.AsUsage(err)
	}
	return cli.InvalidAsUsage(f(viaServer{client}))
}

// runService completes a command whose action is f, called by [withService].
func runService(a *cli.App, c *cobra.Command, f func(ctx context.Context, s service, args []string) error) *cobra.Command {
	c.RunE = cli.Action(func(c *cobra.Command, args []string) error {
		return withService(c.Context(), a, func(s service) error { return f(c.Context(), s, args) })
	})
	return c
}

// A viaServer is the service of a server of the HTTP API.
type viaServer struct{ *remote.Client }

func (s viaServer) Begin(ctx context.Context, asked *ops.Question) (operationRun, error) {
	return s.Client.Begin(ctx, asked)
}

// A direct is the service of a Redis.
type direct struct {
	*queue.Client
	ops *ops.Client
}

func openService(db *skidway.DB) (service, error) {
	client, err := openOps(db)
	if err != nil {
		return nil, err
	}
	queues, err := openQueues(db)
	return direct{queues, client}, err
}

func (d direct) QueueNames(ctx context.Context, name string) ([]string, error) {
	return d.ops.QueueNames(ctx, name)
}

func (d direct) Now(ctx context.Context, name string) (time.Time, error) {
	q, err := d.ops.Queue(ctx, name)
	if err != nil {
		return time.Time{}, err
	}
	depth, err := q.Depth(ctx)
	return depth.Time, err
}

func (d direct) Statuses(ctx context.Context, names []string) ([]ops.QueueStatus, error) {
	return d.ops.Statuses(ctx, names)
}

func (d direct) Report(ctx context.Context, name string) (*ops.Report, error) {
	return d.ops.Report(ctx, name)
}

func (d direct) Statistics(ctx context.Context, name string, back stats.Range, kind string) (*api.Statistics, error) {
	series, err := d.ops.Stats(ctx, name, back)
	if err != nil {
		return nil, err
	}
	return api.StatisticsOf(series, kind), nil
}

func (d direct) Pause(ctx context.Context, name, note string) (queue.Depth, error) {
	return d.change(ctx, name, func(q *queue.Queue) error { return q.Pause(ctx, cli.Caller(), note) })
}

func (d direct) Resume(ctx context.Context, name string) (queue.Depth, error) {
	return d.change(ctx, name, func(q *queue.Queue) error { return q.Resume(ctx) })
}

// change changes a queue and returns its state.
func (d direct) change(ctx context.Context, name string, change func(*queue.Queue) error) (depth queue.Depth, err error) {
	q, err := d.ops.Queue(ctx, name)
	if err == nil {
		err = change(q)
	}
	if err != nil {
		return depth, err
	}
	return q.Depth(ctx)
}

func (d direct) Retention(ctx context.Context, name string) (r queue.Retention, err error) {
	q, err := d.ops.Queue(ctx, name)
	if err == nil {
		var version string
		r, version, err = q.Retention(ctx)
		r.IfVersion = version
	}
	return r, err
}

func (d direct) SetRetention(ctx context.Context, name string, r queue.Retention) error {
	q, err := d.ops.Queue(ctx, name)
	if err != nil {
		return err
	}
	return q.SetRetention(ctx, r)
}

func (d direct) DeleteQueue(ctx context.Context, name string) error {
	q, err := d.ops.Queue(ctx, name)
	if err != nil {
		return err
	}
	return q.Delete(ctx)
}

func (d direct) Search(ctx context.Context, name string, options ops.SearchOptions) (*ops.SearchPage, error) {
	return d.ops.Search(ctx, name, options)
}

func (d direct) Running(ctx context.Context, name string) (*ops.Running, error) {
	return d.ops.Running(ctx, name)
}

func (d direct) Job(ctx context.Context, id string) (job *queue.Job, progress []byte, err error) {
	if job, err = d.Get(ctx, id); err == nil {
		progress, err = d.Progress(ctx, id)
	}
	return job, progress, err
}

func (d direct) Retry(ctx context.Context, id string) error { return d.Client.Retry(ctx, id) }

func (d direct) Delete(ctx context.Context, id string) error { return d.Client.Delete(ctx, id) }

func (d direct) SetPriority(ctx context.Context, id string, priority queue.Priority) error {
	return d.Client.SetPriority(ctx, id, priority)
}

// Copy adds a copy of a job, with changes as [ops.CopyJob] takes them.
func (d direct) Copy(ctx context.Context, id string, changes map[string]json.RawMessage) (string, error) {
	original, err := d.Get(ctx, id)
	if err != nil {
		return "", err
	}
	job, err := ops.CopyJob(original, changes)
	if err != nil {
		return "", err
	}
	if args, changed := changes["args"]; changed {
		if err := kinds.Check(original.Kind, args); err != nil {
			return "", cli.WrongUsage("%w", err)
		}
	}
	return d.Client.Enqueue(ctx, job.Args, &job.Options)
}

func (d direct) Reschedule(ctx context.Context, id string, in time.Duration, at time.Time) error {
	if in > 0 {
		name, _, _ := strings.Cut(id, ":")
		now, err := d.ops.Now(ctx, name)
		if err != nil {
			return err
		}
		at = now.Add(in)
	}
	return d.Client.Reschedule(ctx, id, at)
}

func (d direct) RunNow(ctx context.Context, id string) error {
	return d.Client.Retry(ctx, id, queue.OnlyIf(queue.Delayed))
}

func (d direct) Cancel(ctx context.Context, id string) (active bool, err error) {
	was, err := d.Client.Cancel(ctx, id)
	return was == queue.Active, err
}

func (d direct) Ask(ctx context.Context, change ops.Change) (*ops.Question, error) {
	q, err := d.ops.Queue(ctx, change.Queue)
	if err != nil {
		return nil, err
	}
	change.Queue = q.Name()
	return d.ops.Operations().Ask(ctx, change)
}

func (d direct) Begin(ctx context.Context, asked *ops.Question) (operationRun, error) {
	run, err := d.ops.Operations().Begin(ctx, asked)
	if run == nil {
		return nil, err
	}
	return directRun{run}, nil // also after a lost reply: to run it finds out whether it was begun
}

func (d direct) StopOperation(ctx context.Context, id string) (queue.Operation, error) {
	return d.ops.Operations().Stop(ctx, id)
}

// A directRun is an operation that this process runs.
type directRun struct{ *ops.OperationRun }

func (r directRun) Operation() queue.Operation { return r.OperationRun.Operation }

func (r directRun) Advice() string {
	return "'skidway operations continue " + r.Operation().ID + "' continues the operation"
}
