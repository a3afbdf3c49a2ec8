package ops

import (
	"fmt"
	"time"

	"skidway/queue"
)

// overdue is how late a delayed job must be to be reported: a mover is at most some
// milliseconds late.
const overdue = 5 * time.Second

// explain returns whether the jobs of a queue are run, and if not, why and what to do. workers
// are those that serve it. The most important finding comes first.
func explain(s *QueueStatus, workers []*Worker) []string {
	waiting, delayed := s.Depth.Waiting, s.Depth.Delayed
	late := s.Time.Sub(s.Depth.NextDue)
	var found []string
	add := func(format string, values ...any) { found = append(found, fmt.Sprintf(format, values...)) }
	switch {
	case waiting+delayed+s.Depth.Active == 0:
		add("It is empty: no job waits or runs.")
	case waiting == 0 && delayed == 0:
		add("No job waits: all its jobs are running.")
	case waiting == 0 && late < overdue:
		add("All waiting jobs are delayed: the next one is due in %s, at %s.", Age(max(-late, time.Millisecond)), s.Depth.NextDue.Local().Format(time.DateTime))
	}
	if s.Depth.Paused {
		add("It is paused: 'skidway queues resume %s' resumes it.", s.Name)
	}
	blocked := blockedReasons(s.Name, workers, s.Time)
	switch {
	case len(workers) == 0 && waiting+delayed > 0:
		add("No worker serves it: start one with 'skidway worker --queue %s --config FILE', where FILE has settings for the kinds of its jobs.", s.Name)
	case len(workers) == 0:
		add("No worker serves it.")
	case len(blocked) > 0 && waiting > 0 && !s.Depth.Paused:
		found = append(found, blocked...)
	case waiting > 0 && !s.Depth.Paused:
		add("It has %s with free slots: it drains.", Plural(len(workers), "worker"))
	}
	if delayed > 0 && late >= overdue && !s.Depth.NextDue.IsZero() {
		add("Delayed jobs are overdue by %s: no worker makes them ready.", Age(late))
	}
	for _, worker := range workers {
		if worker.Stuck > 0 {
			add("Worker %s has %d handlers that ignore their timeout: restart it.", worker.Name, worker.Stuck)
		}
	}
	if s.Depth.Dead > 0 {
		add("%s: 'skidway jobs list %s --state dead' shows why.", Plural(s.Depth.Dead, string(queue.Dead)+" job"), s.Name)
	}
	return found
}

// blockedReasons returns why no worker of a queue can take a job; nil if one can.
func blockedReasons(name string, workers []*Worker, now time.Time) (found []string) {
	quiet, late, slots, limited := 0, 0, 0, 0
	var solo, longest *Worker
	for _, worker := range workers {
		switch {
		case worker.Left() < 0:
			late++
		case !worker.TakesJobs():
			quiet++
		case worker.Solo() != "":
			solo = worker
		case worker.Concurrency > 0 && worker.Held() >= worker.Concurrency:
			slots += worker.Concurrency
			if len(worker.Jobs) > 0 && (longest == nil || worker.Jobs[0].Taken.Before(longest.Jobs[0].Taken)) {
				longest = worker
			}
		case worker.Concurrency > 0 && worker.Free(name, worker.heldBy()) == 0:
			limited += worker.heldBy()[name]
		default:
			return nil
		}
	}
	add := func(format string, values ...any) { found = append(found, fmt.Sprintf(format, values...)) }
	if slots > 0 {
		add("All slots of its workers (%d) are held by jobs: start more workers, or raise --concurrency.", slots)
	}
	if limited > 0 {
		add("Its workers run as many jobs of it (%d) as its concurrency in their configuration allows: start more workers, or raise it.", limited)
	}
	if longest != nil {
		job := longest.Jobs[0]
		add("The longest runs for %s: %s (%s) on worker %s.", Age(now.Sub(job.Taken)), job.ID, job.Kind, longest.Name)
	}
	if solo != nil {
		add("Worker %s runs job %s alone, because workers died with it: it takes more jobs when that one has ended.", solo.Name, solo.Solo())
	}
	if quiet > 0 {
		add("Workers that are quiet or stopping take no more jobs (%d): start others.", quiet)
	}
	if late > 0 {
		add("Workers that did not renew their lease in time (%d) hang, or can't reach Redis.", late)
	}
	return found
}
