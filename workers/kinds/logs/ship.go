package logs

import (
	"context"
	"errors"
	"fmt"

	"skidway/distribute"
	"skidway/workers"
)

// ShipArgs are the args of logs.ship: some files, and the channel that they go to.
type ShipArgs struct {
	Channel string `json:"channel"`

	// Paths of files and folders. %Y, %m, %d and the like stand for parts of
	// the day, and *, ? and [ match as in a shell.
	Paths []string `json:"paths"`

	// Subscribers are created if they do not exist.
	Subscribers []string `json:"subscribers,omitempty"`

	Day
}

// Kind returns "logs.ship".
func (ShipArgs) Kind() string { return "logs.ship" }

// Check returns a [workers.FieldError] for the first field that is not allowed.
func (a ShipArgs) Check() error {
	if err := checkName("channel", "channel", a.Channel); err != nil {
		return err
	}
	for i, name := range a.Subscribers {
		if err := checkName(fmt.Sprintf("subscribers[%d]", i), "subscriber", name); err != nil {
			return err
		}
	}
	if err := checkPaths(a.Paths); err != nil {
		return err
	}
	return a.Day.check()
}

// ShipResult is the result of logs.ship, as JSON.
type ShipResult struct {
	Channel string `json:"channel"`
	Day     string `json:"day"` // that %Y, %m and %d stood for
	Files   int    `json:"files"`
	Shipped int    `json:"shipped"` // the others were shipped before, or are empty
	Empty   int    `json:"empty"`
	Bytes   int64  `json:"bytes"` // uploaded, as the files are, compressed or not

	// Lines is the number of lines that each subscriber has counted.
	Lines map[string]int64 `json:"lines"`
}

// Ship is the handler of logs.ship: it uploads the files and blocks until every
// subscriber has counted them. Another attempt uploads only the missing files. If a
// file does not exist or cannot be read, or the channel has no subscriber, the job is
// retried.
func (l *Handlers) Ship(ctx context.Context, job *workers.Job[ShipArgs]) error {
	args := job.Args
	day := args.of(job.Job, args.Day.Day)
	files, err := l.files(args.Paths, day)
	if err != nil {
		return err
	}
	channel, err := distribute.Open(ctx, l.db, args.Channel)
	if err != nil {
		return invalidName(err)
	}
	for _, name := range args.Subscribers {
		if err := channel.Subscribe(ctx, name, ""); err != nil {
			return invalidName(err)
		}
	}
	subscribers, err := channel.Subscribers(ctx)
	if err != nil {
		return err
	}
	if len(subscribers) == 0 {
		return fmt.Errorf("channel %s has no subscriber that would count the files", args.Channel)
	}
	results, err := distribute.NewShipper(channel, &distribute.ShipperConfig{Wait: true, Members: distribute.AccessLogs(false, args.Paths...), Notify: logTo(ctx)}).Ship(ctx, files)
	if err != nil {
		return err
	}
	return setShipped(ctx, ShipResult{Channel: args.Channel, Day: day.String(), Files: len(files)}, results)
}

// setShipped sets the result of some files.
func setShipped(ctx context.Context, result ShipResult, files []distribute.ShippedFile) error {
	result.Lines = map[string]int64{}
	var failed []error
	for _, file := range files {
		switch file.Outcome {
		case distribute.Failed:
			failed = append(failed, file.Err)
		case distribute.Shipped:
			result.Shipped++
		case distribute.Empty:
			result.Empty++
		}
		result.Bytes += file.Bytes
		for subscriber, lines := range file.Lines {
			result.Lines[subscriber] += lines
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("%d of %d files failed: %w", len(failed), len(files), errors.Join(failed...))
	}
	return setResult(ctx, result)
}

// setResult sets the result of a job. The job is dead if it is too large.
func setResult(ctx context.Context, result any) error {
	if err := workers.SetResultJSON(ctx, result); err != nil {
		return workers.Dead(err)
	}
	return nil
}

// invalidName makes a job dead if its channel or subscriber cannot have its name.
func invalidName(err error) error {
	var name *distribute.InvalidNameError
	if errors.As(err, &name) {
		return workers.Dead(err)
	}
	return err
}

// logTo returns a function that logs events with the job.
func logTo(ctx context.Context) distribute.Notify {
	log := workers.Logger(ctx)
	return func(e distribute.Event) {
		attrs := []any{"event", e.Kind, "file", e.File}
		switch {
		case e.Err != nil:
			log.Error("log file", append(attrs, "error", e.Err)...)
			return
		case e.Kind == distribute.EventShipped:
			attrs = append(attrs, "outcome", e.Shipped.Outcome.String())
		case e.Kind == distribute.EventCounted:
			attrs = append(attrs, "lines", e.Lines)
		}
		if e.Problem != nil {
			attrs = append(attrs, "problem", e.Problem.Kind, "detail", e.Problem.Detail)
		}
		log.Info("log file", attrs...)
	}
}
