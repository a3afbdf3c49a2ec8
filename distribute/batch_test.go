package distribute

import (
	"testing"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

// A Redis without free memory refuses the heartbeat of the registry, but not those of workers.
func TestBatchWhoseWorkerActsIsNotCleaned(t *testing.T) {
	t.Parallel()
	redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
		s := newScriptRunner(t, db)
		s.subscribe(batchSubscriber, "")
		registry := batchRegistry{db}
		s.do([]any{"HSET", registry.key(), s.c.name, 1})
		s.run(renewScript, target{subscriber: batchSubscriber}, batchSubscriber, testLeaseMS)
		for _, channels := range []string{"1", "0"} {
			if err := registry.clean(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := s.text("EXISTS", s.k.channel()); got != channels || s.text("HLEN", registry.key()) != channels {
				t.Fatalf("%s channels are left, want %s", got, channels)
			}
			s.do([]any{"HSET", s.k.channel(), "beat", 1}) // the worker was killed long ago
		}
	})
}
