package distribute

import (
	"errors"
	"fmt"
	"testing"
)

func TestProblemsOfAWorkerAreTheLatestOnes(t *testing.T) {
	t.Parallel()
	w := &Worker{}
	fail := func(name, reason string) { w.record(&subscription{}, name, &fileResult{failure: errors.New(reason)}) }
	for i := range maxProblems + 3 {
		fail(fmt.Sprintf("%d.log", i), "cut off")
	}
	fail("5.log", "cut off again")
	if n := len(w.problems); n != maxProblems {
		t.Fatalf("%d problems, want %d", n, maxProblems)
	}
	for place, want := range map[int]string{0: "3.log: cut off", 1: "4.log: cut off", 2: "6.log: cut off", maxProblems - 1: "5.log: cut off again"} {
		if got := w.problems[place].Error(); got != want {
			t.Errorf("problem %d is %q, want %q", place, got, want)
		}
	}
}
