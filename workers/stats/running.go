package stats

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"skidway/internal/handle"
	"skidway/queue"
)

// Pools report what they run only while it is watched: each ReportEvery, until WatchFor after the
// latest [queue.SignalWatch].
const (
	ReportEvery = 5 * time.Second
	WatchFor    = 30 * time.Second
)

// Bounds of what a pool reports of a queue.
const (
	maxReported      = 100
	maxReportedBytes = 8 << 10
)

// A RunningJob is a job whose handler runs.
type RunningJob struct {
	ID      string
	Kind    string
	Attempt int           // its number, from 1
	For     time.Duration // since its handler was called
	Pool    string        // that runs it
}

// A PoolReport is what a pool ran of a queue when it last reported.
type PoolReport struct {
	Pool string
	Age  time.Duration // since it reported
	Jobs []RunningJob  // the longest first, at most 100; their For includes Age
	More int           // jobs that are not among them
}

// storedReport is a report in Redis.
type storedReport struct {
	More int         `json:"more,omitempty"`
	Jobs []storedJob `json:"jobs"`
}

type storedJob struct {
	ID      string `json:"id"`
	Kind    string `json:"kind"`
	Attempt int    `json:"attempt"`
	Millis  int64  `json:"ms"`
}

// Watch asks the pools of a queue to report what they run. They have been asked already if it was
// called within the last 10 s.
func Watch(ctx context.Context, client *queue.Client, name string) error {
	q, err := client.ForPool(name)
	if err != nil {
		return err
	}
	reply, err := runningScript.Run(ctx, handle.Conn(client.DB()), runningKeys(q.Queue))
	if err != nil || reply.Int(1) == 0 {
		return err
	}
	return q.Signal(ctx, queue.Signal{Kind: queue.SignalWatch})
}

// Report writes what a pool runs of a queue.
func Report(ctx context.Context, client *queue.Client, q *queue.Queue, pool string, jobs []RunningJob) error {
	_, err := runningScript.Run(ctx, handle.Conn(client.DB()), runningKeys(q), pool, encodeReport(jobs))
	return err
}

// EndReport removes what a pool has reported of a queue.
func EndReport(ctx context.Context, client *queue.Client, q *queue.Queue, pool string) error {
	db := handle.Conn(client.DB())
	return db.Retry(ctx, func() error { return db.HDel(ctx, q.Key("running"), pool).Err() })
}

// encodeReport returns jobs as they are stored, the longest first, without those that are too many.
func encodeReport(jobs []RunningJob) []byte {
	jobs = slices.Clone(jobs)
	slices.SortFunc(jobs, func(a, b RunningJob) int { return cmp.Or(cmp.Compare(b.For, a.For), strings.Compare(a.ID, b.ID)) })
	var report storedReport
	for _, job := range jobs[:min(len(jobs), maxReported)] {
		report.Jobs = append(report.Jobs, storedJob{job.ID, job.Kind, job.Attempt, job.For.Milliseconds()})
	}
	for {
		report.More = len(jobs) - len(report.Jobs)
		text, _ := json.Marshal(report) // strings and numbers always marshal
		if len(text) <= maxReportedBytes {
			return text
		}
		report.Jobs = report.Jobs[:len(report.Jobs)*3/4]
	}
}

// Reports returns the latest reports of the pools of a queue that [Watch] was called for.
func Reports(ctx context.Context, client *queue.Client, name string) (reports []PoolReport, err error) {
	q, err := client.Queue(name)
	if err != nil {
		return nil, err
	}
	db := handle.Conn(client.DB())
	var rows map[string]string
	var now time.Time
	err = db.Retry(ctx, func() (err error) {
		if rows, err = db.HGetAll(ctx, q.Key("running")).Result(); err == nil {
			now, err = client.Now(ctx, name)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read what runs of queue %s: %w", q.Name(), err)
	}
	for pool, row := range rows {
		if report, ok := parseReport(row, now); ok {
			report.Pool = pool
			for i := range report.Jobs {
				report.Jobs[i].Pool = pool
			}
			reports = append(reports, report)
		}
	}
	slices.SortFunc(reports, func(a, b PoolReport) int { return strings.Compare(a.Pool, b.Pool) })
	return reports, nil
}

// parseReport parses a report, and returns false for one that is damaged or too old.
func parseReport(row string, now time.Time) (report PoolReport, ok bool) {
	at, text, _ := strings.Cut(row, " ")
	ms, err := strconv.ParseInt(at, 10, 64)
	if err != nil || ms < 0 || ms > maxAmount {
		return report, false
	}
	var stored storedReport
	report.Age = max(0, now.Sub(time.UnixMilli(ms)))
	if report.Age > WatchFor || json.Unmarshal([]byte(text), &stored) != nil || stored.More < 0 || len(stored.Jobs) > maxReported {
		return report, false
	}
	report.More = stored.More
	for _, job := range stored.Jobs {
		if job.Millis < 0 || job.Millis > maxOldest.Milliseconds() {
			return PoolReport{}, false
		}
		report.Jobs = append(report.Jobs, RunningJob{ID: job.ID, Kind: job.Kind, Attempt: job.Attempt, For: time.Duration(job.Millis)*time.Millisecond + report.Age})
	}
	return report, true
}

// runningKeys returns the keys of running.lua.
func runningKeys(q *queue.Queue) []string { return []string{q.Key("watched"), q.Key("running")} }
