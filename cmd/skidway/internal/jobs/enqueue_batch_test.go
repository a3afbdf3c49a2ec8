package jobs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"skidway/cmd/skidway/internal/cli"
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

// A serviceOfCalls answers each call by a function of its number, from 1.
type serviceOfCalls struct {
	service
	calls  *int
	answer func(call int) queue.Result
}

func (s serviceOfCalls) Validate(queue.NewJob) error { return nil }

func (s serviceOfCalls) EnqueueMany(_ context.Context, jobs []queue.NewJob) []queue.Result {
	*s.calls++
	results := make([]queue.Result, len(jobs))
	for i := range results {
		results[i] = s.answer(*s.calls)
	}
	return results
}

// longBatch runs a batch of good lines, one call and some more, with bad ones near the begin and near the end.
func longBatch(t *testing.T, ids io.Writer, answer func(call int) queue.Result) (b *batch, calls int, printed string, err error) {
	t.Helper()
	console, err := os.Create(filepath.Join(t.TempDir(), "console"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = console.Close() }()
	lines := "{\"kind\":\"k\"}\nbad\n" + strings.Repeat("{\"kind\":\"k\"}\n", maxSend) + "bad\n"
	e := &enqueueCmd{App: &cli.App{Console: &cli.Console{Out: console, Quiet: true}}, batch: batchFlags{ids: true, skipBad: true}}
	b = &batch{enqueueCmd: e, client: serviceOfCalls{calls: &calls, answer: answer}, name: "f", queue: "q", kinds: map[string]bool{}, ids: bufio.NewWriter(ids)}
	err = b.run(t.Context(), strings.NewReader(lines), 0)
	text, readErr := os.ReadFile(console.Name())
	if readErr != nil {
		t.Fatal(readErr)
	}
	return b, calls, string(text), err
}

func TestBatchThatEndsEarlyReportsTheBadLinesBehindIt(t *testing.T) {
	t.Parallel()
	b, _, printed, err := longBatch(t, io.Discard, func(call int) queue.Result {
		if call == 1 {
			return queue.Result{ID: "q:0:1-1"}
		}
		return queue.Result{Err: errors.New("refused")}
	})
	if err == nil || !strings.Contains(err.Error(), "no job after line 501 was added") {
		t.Error(err)
	}
	if b.bad != 1 || strings.Count(printed, "f: line 2: ") != 1 || strings.Contains(printed, "line 503") {
		t.Errorf("bad lines: %d, printed:\n%s", b.bad, printed)
	}
}

func TestBatchReportsTheBadLinesUpToTheNextJobIfAReplyWasLost(t *testing.T) {
	t.Parallel()
	lost := queue.Result{Err: &rdb.OutcomeUnknownError{Op: "enqueue", Err: errors.New("reset")}}
	for name, c := range map[string]struct {
		lost  int   // the call
		lines []int // that are reported
		done  int
	}{
		"the first call": {1, []int{2}, 501},
		"the last call":  {2, []int{2, 503}, 503},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, _, printed, err := longBatch(t, io.Discard, func(call int) queue.Result {
				if call == c.lost {
					return lost
				}
				return queue.Result{ID: "q:0:1-1"}
			})
			if err == nil || !strings.Contains(err.Error(), "may be in the queue or not") {
				t.Error(err)
			}
			for _, line := range c.lines {
				if strings.Count(printed, fmt.Sprintf("f: line %d: ", line)) != 1 {
					t.Errorf("line %d is not reported once:\n%s", line, printed)
				}
			}
			if b.bad != len(c.lines) || b.done != c.done {
				t.Errorf("%d bad lines of %d, printed:\n%s", b.bad, b.done, printed)
			}
		})
	}
}

func TestBatchThatCannotPrintItsIDsAddsNoMoreJobs(t *testing.T) {
	t.Parallel()
	reader, writer := io.Pipe()
	_ = reader.Close()
	_, calls, _, err := longBatch(t, writer, func(int) queue.Result { return queue.Result{ID: "q:0:1-1"} })
	if calls != 1 {
		t.Errorf("%d calls", calls)
	}
	if want := "print the ids: io: read/write on closed pipe: no job after line 501 was added; go on there, with: "; err == nil || strings.Count(err.Error(), "pipe") != 1 || !strings.HasPrefix(err.Error(), want) {
		t.Error(err)
	}
}
