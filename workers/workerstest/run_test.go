package workerstest_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"skidway/queue"
	"skidway/workers"
	"skidway/workers/workerstest"
)

type sendEmail struct{ To string }

func (sendEmail) Kind() string { return "email.send" }

var errAway = errors.New("the mail server is away")

func returns(err error) workers.Handler {
	return func(context.Context, *queue.Job) error { return err }
}

func TestOutcomeIsThatOfAPool(t *testing.T) {
	t.Parallel()
	typed := workers.Typed(func(context.Context, *workers.Job[sendEmail]) error { return nil })
	cases := []struct {
		name    string
		handler workers.Handler
		job     workerstest.Job
		want    string
	}{
		{"nil", returns(nil), workerstest.Job{}, "email.send: succeeded"},
		{"typed", typed, workerstest.Job{}, "email.send: succeeded"},
		{"snooze", returns(workers.Snooze(time.Minute)), workerstest.Job{}, "email.send: snoozed for 1m0s"},
		{"discard", returns(workers.Discard("unsubscribed")), workerstest.Job{}, "email.send: discarded: unsubscribed"},
		{"dead", returns(workers.Dead(errAway)), workerstest.Job{}, "email.send: dead: the mail server is away"},
		{"retry after", returns(workers.RetryAfter(time.Hour, errAway)), workerstest.Job{}, "email.send: retry in 1h0m0s: the mail server is away"},
		{"last attempt", returns(errAway), workerstest.Job{Attempt: 25}, "email.send: dead: the mail server is away"},
		{"last attempt of the job's own", returns(errAway), workerstest.Job{Attempt: 2, Options: queue.Options{MaxAttempts: 2}}, "email.send: dead: the mail server is away"},
		{"delay is passed over", returns(nil), workerstest.Job{Options: queue.Options{Delay: time.Hour}}, "email.send: succeeded"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.job.Args = sendEmail{"ann@example.com"}
			if got := workerstest.Run(t, c.handler, c.job).String(); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestRetryWaitsByTheDefaultPolicy(t *testing.T) {
	t.Parallel()
	o := workerstest.Run(t, returns(errAway), workerstest.Job{Args: sendEmail{}, Attempt: 3})
	if o.Disposition != queue.AttemptRetry || o.Wait <= 3*time.Second || o.Wait > 4*time.Second || !errors.Is(o.Err, errAway) {
		t.Errorf("got %s, %v; want a retry in about 4s", o, o.Err)
	}
}

func TestArgsThatCannotBeDecodedMakeTheJobDead(t *testing.T) {
	t.Parallel()
	handler := workers.Typed(func(context.Context, *workers.Job[sendEmail]) error {
		t.Error("the handler was called")
		return nil
	})
	o := workerstest.Run(t, handler, workerstest.Job{Args: queue.Raw("email.send", []byte(`{"To":`))})
	if o.Disposition != queue.AttemptDead || !strings.Contains(o.Reason, "email.send") {
		t.Errorf("got %s", o)
	}
}

func TestPassedDeadlineMakesTheJobDead(t *testing.T) {
	t.Parallel()
	o := workerstest.Run(t, returns(nil), workerstest.Job{Args: sendEmail{}, Options: queue.Options{Deadline: time.Now().Add(-time.Second)}})
	if o.Disposition != queue.AttemptDead || !strings.Contains(o.Reason, "deadline") {
		t.Errorf("got %s", o)
	}
}

func TestPanicIsAnErrorWithItsStack(t *testing.T) {
	t.Parallel()
	o := workerstest.Run(t, func(context.Context, *queue.Job) error { panic(errAway) }, workerstest.Job{Args: sendEmail{}})
	var panicked *workers.PanicError
	if !errors.As(o.Err, &panicked) || !strings.Contains(panicked.Stack, "run_test.go") || !errors.Is(o.Err, errAway) {
		t.Errorf("the error is %v", o.Err)
	}
	if o.Disposition != queue.AttemptRetry {
		t.Errorf("got %s, want a retry", o)
	}
}

func TestHandlerReceivesTheJobOfTheTest(t *testing.T) {
	t.Parallel()
	var seen *queue.Job
	workerstest.Run(t, func(_ context.Context, job *queue.Job) error {
		seen = job
		return nil
	}, workerstest.Job{
		Args:    queue.Raw("blob", []byte("\x00\x01")),
		Options: queue.Options{Queue: "mail", Priority: queue.High, Headers: map[string]string{"tenant": "a"}},
		Attempt: 4,
	})
	if seen.Kind != "blob" || string(seen.Args) != "\x00\x01" || seen.Queue != "mail" || seen.Priority != queue.High ||
		seen.Headers["tenant"] != "a" || seen.Attempts != 3 || seen.ID == "" || seen.State != queue.Active {
		t.Errorf("it has seen %+v", seen)
	}
}

func TestResultProgressAndLogAreInTheOutcome(t *testing.T) {
	t.Parallel()
	w := workerstest.New(t, nil)
	w.Pool.HandleRaw("email.send", func(ctx context.Context, job *queue.Job) error {
		if err := workers.SetProgress(ctx, []byte("half")); err != nil {
			return err
		}
		logs := queue.NewLogHandler(w.Client, job, nil)
		slog.New(logs).Info("sending", "to", "ann")
		workers.SetResult(ctx, []byte("message 7"))
		return logs.Close(ctx)
	}, workers.Kind{})
	enqueue(t, w, sendEmail{}, queue.Options{})
	o := only(t, w.Drain())
	if string(o.Result) != "message 7" || string(o.Progress) != "half" {
		t.Errorf("result %q, progress %q", o.Result, o.Progress)
	}
	if len(o.Log) != 1 || !strings.Contains(o.Log[0], "sending to=ann") {
		t.Errorf("the log is %q", o.Log)
	}
}

func TestContextEndsWithTheCauseOfTheTest(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name  string
		cause error
		want  queue.Disposition
	}{
		{"timeout", workers.ErrTimeout, queue.AttemptRetry},
		{"cancelled", workers.ErrCancelled, queue.AttemptCancelled},
		{"shutdown", workers.ErrShutdown, queue.AttemptReturned},
		{"lease lost", queue.ErrLeaseLost, queue.AttemptReturned},
	}
	for _, c := range cases {
		t.Run(c.name+" before the handler is called", func(t *testing.T) {
			t.Parallel()
			handler := func(ctx context.Context, _ *queue.Job) error {
				if ctx.Err() == nil {
					t.Error("the context has not ended")
				}
				return context.Cause(ctx)
			}
			o := workerstest.Run(t, handler, workerstest.Job{Args: sendEmail{}, Interrupted: c.cause})
			if o.Disposition != c.want || !errors.Is(o.Err, c.cause) {
				t.Errorf("got %s, %v", o, o.Err)
			}
		})
		t.Run(c.name+" in the middle", func(t *testing.T) {
			t.Parallel()
			handler := func(ctx context.Context, _ *queue.Job) error {
				if ctx.Err() != nil {
					t.Error("the context has ended before")
				}
				inner, cancel := context.WithTimeout(ctx, time.Hour)
				defer cancel()
				workerstest.Interrupt(inner, c.cause)
				return context.Cause(ctx)
			}
			o := workerstest.Run(t, handler, workerstest.Job{Args: sendEmail{}})
			if o.Disposition != c.want || !errors.Is(o.Err, c.cause) {
				t.Errorf("got %s, %v", o, o.Err)
			}
		})
	}
}

func TestHandlerThatReturnsNilAfterAnInterruptHasSucceeded(t *testing.T) {
	t.Parallel()
	o := workerstest.Run(t, returns(nil), workerstest.Job{Args: sendEmail{}, Interrupted: workers.ErrShutdown})
	if o.Disposition != queue.AttemptSucceeded {
		t.Errorf("got %s", o)
	}
}

func TestInterruptOfAnotherContextDoesNothing(t *testing.T) {
	t.Parallel()
	workerstest.Interrupt(t.Context(), workers.ErrShutdown)
	if t.Context().Err() != nil {
		t.Error("it has ended")
	}
}

func TestJobsTimeoutEndsTheContext(t *testing.T) {
	t.Parallel()
	handler := func(ctx context.Context, _ *queue.Job) error {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	o := workerstest.Run(t, handler, workerstest.Job{Args: sendEmail{}, Options: queue.Options{Timeout: time.Millisecond}})
	if o.Disposition != queue.AttemptRetry || !errors.Is(o.Err, workers.ErrTimeout) {
		t.Errorf("got %s, %v", o, o.Err)
	}
}

func enqueue(t testing.TB, w *workerstest.Worker, args queue.Args, o queue.Options) string {
	t.Helper()
	id, err := w.Client.Enqueue(context.Background(), args, &o)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func only(t *testing.T, outcomes []workerstest.Outcome) workerstest.Outcome {
	t.Helper()
	if len(outcomes) != 1 {
		t.Fatalf("%d jobs were run, want 1: %v", len(outcomes), outcomes)
	}
	return outcomes[0]
}

func wantOutcomes(t *testing.T, got []workerstest.Outcome, want ...string) {
	t.Helper()
	texts := make([]string, len(got))
	for i, o := range got {
		texts[i] = o.String()
	}
	if !slices.Equal(texts, want) {
		t.Errorf("got  %q\nwant %q", texts, want)
	}
}
