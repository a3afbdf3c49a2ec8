// Package workerstest tests handlers and the code that enqueues jobs, without a Redis to
// install and without sleeping, and with the scripts of production.
//
// [Run] calls one handler with a new job and returns its outcome:
//
//	func TestBusyServerIsRetried(t *testing.T) {
//		handler := workers.Typed(mailer{busyServer}.send)
//		outcome := workerstest.Run(t, handler, workerstest.Job{Args: SendEmail{To: "ann"}, Attempt: 3})
//		if outcome.Disposition != queue.AttemptRetry {
//			t.Error(outcome)
//		}
//	}
//
// A [Worker] is for tests of several jobs. It has a client for the code under test and
// a pool for its handlers; [Worker.Drain] runs the waiting jobs, in order, and
// [Worker.Advance] moves the clock:
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
// Jobs are stored in an embedded Redis, one for each test, and handlers are called by
// [workers.Pool.Attempt]. So middleware, typed args, timeouts, panics, retry policies,
// hooks, unique keys, priorities, pauses, results, progress and logs behave as in
// production, and the handler may use the client, also for its own job.
//
// # What is not
//
// Jobs run one at a time, so that concurrency and weights have no effect, and crashes
// and lost leases do not occur. A [queue.Client.Cancel] does not reach a running
// handler: [Interrupt] cancels its context with any cause. If a handler does not return
// within [workers.Config.Grace] after that, the test ends; a pool would abandon the
// handler.
package workerstest
