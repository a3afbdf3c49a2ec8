package logs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"skidway/distribute"
	"skidway/workers"
)

// ShipArgs are the args of logs.ship: which files go to which channel.
type ShipArgs struct {
	Channel string `json:"channel"`

	// Paths of files and folders. In them %Y, %m, %d and the like stand for
	// the day, and *, ? and [ match as in a shell.
	Paths []string `json:"paths"`

	// Subscribers are created if there are none of these names.
	Subscribers []string `json:"subscribers,omitempty"`

	Day
}

// Kind is logs.ship.
func (ShipArgs) Kind() string { return "logs.ship" }

// Check gives a fields.Error for the first field that can't be right.
func (a ShipArgs) Check() error {
	if err := checkLogName("channel", "channel", a.Channel); err != nil {
		return err
	}
	for i, name := range a.Subscribers {
		if err := checkLogName(fmt.Sprintf("subscribers[%d]", i), "subscriber", name); err != nil {
			return err
		}
	}
	if err := checkPaths(a.Paths); err != nil {
		return err
	}
	return a.Day.check()
}

// A ShipResult is, as JSON, the result of logs.ship.
type ShipResult struct {
	Channel string `json:"channel"`
	Day     string `json:"day"`
	Files   int    `json:"files"`
	Shipped int    `json:"shipped"` // the others were known, or are empty
	Empty   int    `json:"empty"`
	Bytes   int64  `json:"bytes"` // uploaded, as the files are, compressed or not

	// Lines of the files that each subscriber has counted.
	Lines map[string]int64 `json:"lines"`
}

// Ship uploads the files and ends when every subscriber has counted them. A
// repeat uploads only what is not there yet. It is an error, to be tried again,
// that a file is not there, can't be read, or that nobody subscribes.
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
		return fmt.Errorf("channel %s has no subscriber: nobody would count the files", args.Channel)
	}
	results, err := distribute.NewShipper(channel, distribute.ShipperConfig{Wait: true, Notify: tellJob(ctx)}).Ship(ctx, files)
	if err != nil {
		return err
	}
	return setShipped(ctx, ShipResult{Channel: args.Channel, Day: day.String(), Files: len(files)}, results)
}

// setShipped sums up what became of the files.
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

// setResult sets what a job came to, as JSON.
func setResult(ctx context.Context, result any) error {
	text, err := json.Marshal(result)
	if err == nil {
		err = workers.SetResult(ctx, text)
	}
	if err != nil {
		return workers.Dead(fmt.Errorf("set the result: %w", err))
	}
	return nil
}

// invalidName makes a job dead whose channel or subscriber can't have its name.
func invalidName(err error) error {
	var name *distribute.InvalidNameError
	if errors.As(err, &name) {
		return workers.Dead(err)
	}
	return err
}

// tellJob writes what happens into the job's log.
func tellJob(ctx context.Context) distribute.Notify {
	log := workers.Logger(ctx)
	return func(e distribute.Event) {
		if e.Err != nil {
			log.Error("log file", "file", e.File, "error", e.Err)
			return
		}
		log.Info(e.Text, "file", e.File)
	}
}
