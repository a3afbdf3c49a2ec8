package jobs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"skidway/cmd/skidway/internal/cli"
	"skidway/queue"
	"skidway/workers/kinds"
)

// readThen reads the jobs of --then: a JSON list, or @FILE that holds it.
func readThen(text string) ([]queue.Insert, error) {
	list := []byte(text)
	if file, named := strings.CutPrefix(text, "@"); named {
		var err error
		if list, err = os.ReadFile(file); err != nil {
			return nil, fmt.Errorf("--then: %w", err)
		}
	}
	if err := checkJSON(list); err != nil {
		return nil, cli.WrongUsage("--then: its jobs %w", err)
	}
	if first := bytes.TrimSpace(list); first[0] != '[' {
		return nil, cli.WrongUsage(`--then: want a list of jobs such as [{"kind":"email.send","args":{}}]`)
	}
	var jobs []queue.Insert
	if err := json.Unmarshal(list, &jobs); err != nil {
		return nil, cli.WrongUsage("--then: %w", err)
	}
	if err := CheckThen(jobs); err != nil {
		return nil, cli.WrongUsage("--then: %w", err)
	}
	return jobs, nil
}

// CheckThen says what is wrong with the args of jobs that follow, and those that
// follow them, where their kinds are built in.
func CheckThen(jobs []queue.Insert) error {
	for i, job := range jobs {
		args, err := queue.Bytes(job.Args)
		if err == nil {
			err = checkTemplate(job.Args.Kind(), args)
		}
		if err == nil {
			err = CheckThen(job.Options.Then)
		}
		if err != nil {
			return fmt.Errorf("then[%d]: %w", i, err)
		}
	}
	return nil
}

// checkTemplate is checkArgs for args with {{ in some fields, which will have
// other values when the job is enqueued: what is wrong with such a field may be
// right then. What comes after it is not seen.
func checkTemplate(kind string, args []byte) error {
	err := CheckArgs(kind, args)
	var wrong *kinds.FieldError
	if !errors.As(err, &wrong) {
		return err
	}
	field := wrong.Field
	if end := strings.IndexAny(field, ".["); end > 0 {
		field = field[:end]
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(args, &fields) == nil && bytes.Contains(fields[field], []byte("{{")) {
		return nil
	}
	return err
}

// CheckArgs says what is wrong with the args of a job, where its kind is one of
// the built-in ones, as far as that can be told without the worker's settings.
func CheckArgs(kind string, args []byte) error {
	return kinds.Check(kind, args)
}
