package jobs

import (
	"fmt"
	"time"

	"skidway/queue"
)

// overdue is how late a delayed job must be to be reported: a mover is at most
// some milliseconds late.
const overdue = 5 * time.Second

// serving returns the workers that serve a queue.
func serving(workers []*workerProcess, name string) (found []*workerProcess) {
	for _, worker := range workers {
		if worker.serves(name) {
			found = append(found, worker)
		}
	}
	return found
}

// diagnose returns whether the jobs of a queue are run, and if not, why and what to
// do. workers are those that serve it. The most important finding comes first.
func diagnose(s *queueStatus, workers []*workerProcess, now time.Time) []string {
	waiting, delayed := s.depth.Waiting, s.depth.Delayed
	late := now.Sub(s.depth.NextDue)
	var found []string
	add := func(format string, values ...any) { found = append(found, fmt.Sprintf(format, values...)) }
	switch {
	case waiting+delayed+s.depth.Active == 0:
		add("It is empty: no job waits or runs.")
	case waiting == 0 && delayed == 0:
		add("No job waits: all its jobs are running.")
	case waiting == 0 && late < overdue:
		add("All waiting jobs are delayed: the next one is due in %s, at %s.", age(max(-late, time.Millisecond)), s.depth.NextDue.Local().Format(time.DateTime))
	}
	if s.depth.Paused {
		add("It is paused: 'skidway queues resume %s' resumes it.", s.name)
	}
	blocked := blockedReasons(workers, now)
	switch {
	case len(workers) == 0 && waiting+delayed > 0:
		add("No worker serves it: start one with 'skidway worker --queue %s --config FILE', where FILE has settings for the kinds of its jobs.", s.name)
	case len(workers) == 0:
		add("No worker serves it.")
	case len(blocked) > 0 && waiting > 0 && !s.depth.Paused:
		found = append(found, blocked...)
	case waiting > 0 && !s.depth.Paused:
		add("It has %s with free slots: it drains.", plural(len(workers), "worker"))
	}
	if delayed > 0 && late >= overdue && !s.depth.NextDue.IsZero() {
		add("Delayed jobs are overdue by %s: no worker makes them ready.", age(late))
	}
	for _, worker := range workers {
		if worker.Stuck > 0 {
			add("Worker %s has %d handlers that ignore their timeout: restart it.", worker.Name, worker.Stuck)
		}
	}
	if s.depth.Dead > 0 {
		add("%s: 'skidway jobs list %s --state dead' shows why.", stateCount(s.depth.Dead, queue.Dead), s.name)
	}
	return found
}

// blockedReasons returns why no worker of a queue can take a job; nil if one can.
func blockedReasons(workers []*workerProcess, now time.Time) (found []string) {
	quiet, late, slots := 0, 0, 0
	var solo, longest *workerProcess
	for _, worker := range workers {
		switch {
		case worker.left() < 0:
			late++
		case worker.State == "quiet" || worker.State == "stopping":
			quiet++
		case worker.solo() != "":
			solo = worker
		case worker.Concurrency > 0 && worker.held() >= worker.Concurrency:
			slots += worker.Concurrency
			if len(worker.jobs) > 0 && (longest == nil || worker.jobs[0].Taken.Before(longest.jobs[0].Taken)) {
				longest = worker
			}
		default:
			return nil
		}
	}
	add := func(format string, values ...any) { found = append(found, fmt.Sprintf(format, values...)) }
	if slots > 0 {
		add("All slots of its workers (%d) are held by jobs: start more workers, or raise --concurrency.", slots)
	}
	if longest != nil {
		job := longest.jobs[0]
		add("The longest runs for %s: %s (%s) on worker %s.", age(now.Sub(job.Taken)), job.ID, job.Kind, longest.Name)
	}
	if solo != nil {
		add("Worker %s runs job %s alone, because workers died with it: it takes more jobs when that one has ended.", solo.Name, solo.solo())
	}
	if quiet > 0 {
		add("Workers that are quiet or stopping take no more jobs (%d): start others.", quiet)
	}
	if late > 0 {
		add("Workers that did not renew their lease in time (%d) hang, or can't reach Redis.", late)
	}
	return found
}
