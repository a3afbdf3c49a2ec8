package workers_test

import (
	"fmt"
	"os"
	"testing"

	"skidway/internal/redistest"
)

// TestMain runs the tests, or makes this process the worker that one of them
// has asked for.
func TestMain(m *testing.M) {
	if plan := os.Getenv(planVariable); plan != "" {
		if err := playWorker(plan); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	redistest.Main(m)
}
