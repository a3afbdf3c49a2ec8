// Package workerstest tests handlers and the code that enqueues jobs, without a
// Redis to install, without sleeping, and with the outcome, the scripts and the
// books of the real thing.
//
// [Run] calls one handler with a made-up job and says what becomes of the job:
//
//	func TestSlowServerIsTriedAgain(t *testing.T) {
//		handler := workers.Typed(mailer{slowServer}.send)
//		outcome := workerstest.Run(t, handler, workerstest.Job{Args: SendEmail{To: "ann"}, Attempt: 3})
//		if outcome.Disposition != queue.AttemptRetry {
//			t.Error(outcome)
//		}
//	}
//
// A [Worker] is for what happens between jobs. It has a queue.Client for the
// code under test and a pool for its handlers; [Worker.Drain] runs what waits,
// in order, and [Worker.Advance] moves the clock:
//
//	w := workerstest.New(t, nil)
//	mail.Register(w.Pool)
//	shop.New(w.Client).PlaceOrder(ctx, order)
//	w.Drain()
//	w.Advance(24 * time.Hour)
//	w.Drain() // the reminder
//
// # What is real
//
// Jobs are in Redis, an embedded one for each test, and handlers are called by
// [workers.Pool.Attempt]. So middleware, typed args, timeouts, panics, retry
// policies, hooks, unique keys, priorities, pauses, results, progress and logs
// do what they do in production, and the handler may use the client, also for
// its own job.
//
// # What is not
//
// Jobs run one at a time, so concurrency and weights of queues play no part, and
// what depends on several workers (crashes, leases that are lost) doesn't happen
// by itself. A handler isn't told of a [queue.Client.Cancel] while it runs: see
// [Interrupt], which ends its context with any cause. A handler that goes on
// for longer than [workers.Config.Grace] after that ends the test, where a pool
// would leave it behind.
package workerstest
