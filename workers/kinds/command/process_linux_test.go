package command_test

import (
	"os"
	"os/exec"
	"testing"

	"skidway/workers/kinds/command"
)

// lifelineVariable is set in the worker that the test below starts and kills.
const lifelineVariable = "SKIDWAY_TEST_LIFELINE"

func TestKilledWorkerTakesItsCommandAlong(t *testing.T) {
	if path := os.Getenv(lifelineVariable); path != "" {
		e := script(t, `exec 3>$LIFE; echo up >&3; exec sleep 1000`, command.Command{Env: map[string]string{"LIFE": path, "PATH": "/bin:/usr/bin"}})
		t.Fatal(run(t, e, command.Args{}))
	}
	t.Parallel()
	life := newLifeline(t)
	worker := exec.Command(os.Args[0], "-test.run=^TestKilledWorkerTakesItsCommandAlong$")
	worker.Env = append(os.Environ(), lifelineVariable+"="+string(life.fifo))
	if err := worker.Start(); err != nil {
		t.Fatal(err)
	}
	life.up()
	if err := worker.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = worker.Wait() // it was killed
	life.ended(t)
}
