//go:build unix

package kinds_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"skidway/queue"
	"skidway/workers"
	"skidway/workers/kinds"
	"skidway/workers/workerstest"
)

func TestEndOfTheContextEndsTheWholeProcessGroup(t *testing.T) {
	t.Parallel()
	const never, soon = 5 * time.Minute, 50 * time.Millisecond
	for name, c := range map[string]struct {
		grace        time.Duration
		script, says string
	}{
		"by SIGTERM":                       {never, `trap 'echo bye >&3; exit 0' TERM; echo up >&3; while :; do :; done`, "bye\n"},
		"by SIGKILL":                       {soon, `trap '' TERM; echo up >&3; sleep 1000; sleep 1000`, ""},
		"grandchildren that ignore it":     {soon, `echo up >&3; (trap '' TERM; sleep 1000; sleep 1000) & sleep 1000`, ""},
		"grandchildren without output":     {soon, `echo up >&3; (trap '' TERM; sleep 1000 >/dev/null 2>&1) & sleep 1000`, ""},
		"with a grandchild holding stdout": {soon, `trap '' TERM; (echo up >&3; sleep 1000) & exec 3>&-; trap - TERM; exec sleep 1000`, ""},
		"stopped processes":                {soon, `echo up >&3; kill -STOP $$`, ""},
		"a writer that never stops":        {soon, `echo up >&3; exec yes`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			life := newLifeline(t)
			command := life.command("exec 3>$LIFE; " + c.script)
			e := commands(t, kinds.ExecConfig{Grace: c.grace, Commands: map[string]kinds.Command{"script": command}})
			outcome := runUntilUp(t, e, life, workers.ErrCancelled)
			if outcome.As != queue.AsCancelled || !errors.Is(outcome.Err, workers.ErrCancelled) {
				t.Error(outcome)
			}
			if got := life.ended(t); got != c.says {
				t.Errorf("it said %q, want %q", got, c.says)
			}
		})
	}
}

// runUntilUp makes one attempt and ends its context when the script says that it
// is up.
func runUntilUp(t *testing.T, e *kinds.Exec, life *lifeline, cause error) workerstest.Outcome {
	t.Helper()
	handler := func(ctx context.Context, job *queue.Job) error {
		go func() {
			life.up()
			workerstest.Interrupt(ctx, cause)
		}()
		return workers.Typed(e.Run)(ctx, job)
	}
	return workerstest.Run(t, handler, workerstest.Job{Args: kinds.ExecArgs{Command: "script"}})
}

func TestTimeoutOfTheCommandIsRetried(t *testing.T) {
	t.Parallel()
	e := script(t, `exec sleep 1000`, kinds.Command{Timeout: 50 * time.Millisecond})
	outcome := run(t, e, kinds.ExecArgs{})
	if outcome.As != queue.AsRetry || !errors.Is(outcome.Err, workers.ErrTimeout) || !strings.Contains(outcome.Reason, "50ms") {
		t.Error(outcome)
	}
}

func TestWhatACommandLeavesBehindIsEnded(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"silent":         `exec 3>$LIFE; sleep 1000 >/dev/null 2>&1 & echo done`,
		"holding stdout": `exec 3>$LIFE; sleep 1000 & echo done`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			life := newLifeline(t)
			e := commands(t, kinds.ExecConfig{Grace: 100 * time.Millisecond, Commands: map[string]kinds.Command{"script": life.command(text)}})
			if got := outputOf(t, run(t, e, kinds.ExecArgs{})).Stdout; got != "done\n" {
				t.Errorf("%q", got)
			}
			life.ended(t)
		})
	}
}

func TestOutputThatComesAfterTheCommandsEndIsKept(t *testing.T) {
	t.Parallel()
	life := makeFIFO(t) // the reader in the background hears of the end of its only writer
	command := life.command(`(read x <$LIFE; sleep 0.1; echo late) & exec 4>$LIFE`)
	e := commands(t, kinds.ExecConfig{Grace: time.Minute, Commands: map[string]kinds.Command{"script": command}})
	if got := outputOf(t, run(t, e, kinds.ExecArgs{})).Stdout; got != "late\n" {
		t.Errorf("%q", got)
	}
}
