package jobs

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"skidway/cmd/skidway/internal/cli"
	"skidway/queue"
)

func TestWaitReportPrintsEachFailedAttemptOnce(t *testing.T) {
	t.Parallel()
	file, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	report := waitReport{App: &cli.App{Console: &cli.Console{Out: file}}}
	began := time.Now()
	job := &queue.Job{State: queue.Delayed, Due: began.Add(16 * time.Second), Errors: []queue.Failure{{Attempt: 1, Time: began, Error: "refused"}}}
	report.print(job)
	report.print(job)
	job.State = queue.Waiting
	job.Errors = append(job.Errors, queue.Failure{Attempt: 2, Error: "refused again"})
	report.print(job)
	job.State = queue.Dead
	job.Errors = append(job.Errors, queue.Failure{Attempt: 3, Error: "the reason of its end"})
	report.print(job)
	const want = "attempt 1 failed: refused; the next attempt follows in 16s\nattempt 2 failed: refused again\n"
	if text, err := os.ReadFile(file.Name()); err != nil || string(text) != want {
		t.Errorf("printed %q, %v", text, err)
	}
}
