package jobs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"skidway/internal/rdb"
	"skidway/queue"
)

// A batchService answers the jobs of one batch.
type batchService struct {
	service
	results []queue.Result
}

func (s batchService) EnqueueMany(context.Context, []queue.NewJob) []queue.Result {
	return s.results
}

func TestErrorOfABatchTellsWhereToGoOn(t *testing.T) {
	t.Parallel()
	tooLarge := fmt.Errorf("%w: too large", queue.ErrInvalid)
	results := map[rune]error{
		'+': nil, 'd': &queue.DuplicateError{Owner: "q:0:1-1"}, '-': tooLarge,
		'?': &rdb.OutcomeUnknownError{Op: "enqueue", Err: errors.New("reset")}, 'u': &rdb.UnconfirmedError{ID: "q:0:1-1", Err: errors.New("no replica")},
		'x': errors.New("not sent"),
	}
	const goOn = "; go on there, with: tail -n +"
	for jobs, want := range map[string][]string{
		"++d":     nil,
		"--":      {"f: lines 11 to 12: ", "too large: no job after line 10 was added" + goOn + "11 "},
		"++--":    {"f: lines 13 to 14: ", "no job after line 12 was added" + goOn + "13 "},
		"+-+-d--": {"f: the jobs up to line 15 were added, but not lines 12 to 12, 14 to 14: ", "too large: no job after line 15 was added" + goOn + "16 "},
		"+??x":    {"f: lines 12 to 13: they may be in the queue or not, later ones are not: enqueue: the answer was lost"},
		"-+-??x":  {"f: lines 14 to 15: they may be in the queue or not, later ones are not: ", ", but not lines 11 to 11, 13 to 13: "},
		"-u-":     {"f: up to line 12: jobs were added, but it is not confirmed", ", but not lines 11 to 11: ", goOn + "13 "},
	} {
		b := batch{enqueueCmd: &enqueueCmd{}, name: "f", queue: "q", done: 10, kinds: map[string]bool{}, ids: bufio.NewWriter(io.Discard)}
		var service batchService
		var added []queue.NewJob
		var lines []int
		for i, as := range jobs {
			service.results = append(service.results, queue.Result{Err: results[as]})
			added, lines = append(added, queue.NewJob{Args: queue.Raw("k", nil)}), append(lines, 11+i)
		}
		b.client = service
		err := b.sendJobs(t.Context(), added, lines)
		if want == nil && (err != nil || b.done != lines[len(lines)-1]) {
			t.Errorf("%s: %v, done are %d lines", jobs, err, b.done)
		}
		if errors.Is(err, queue.ErrInvalid) {
			t.Errorf("%s: a line is no wrong usage: %v", jobs, err)
		}
		for _, part := range want {
			if text := fmt.Sprint(err); !strings.Contains(text, part) {
				t.Errorf("%s: %q is not in %s", jobs, part, text)
			}
		}
		if text := fmt.Sprint(err); strings.Contains(jobs, "?") && strings.Contains(text, goOn) {
			t.Errorf("%s: jobs may be added twice: %s", jobs, text)
		}
	}
}
