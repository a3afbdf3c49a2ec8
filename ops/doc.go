// Package ops answers what operators of queues and workers ask: which queues there are and how
// many jobs they have, who works on them, why jobs do not run, and what is wrong with the Redis.
// The command line prints these answers and computes nothing itself; programs with pages or an
// API of their own can do the same.
//
//	client, err := ops.NewClient(queues, nil)
//	report, err := client.Report(ctx, "mail")
//	for _, finding := range report.Findings {
//		fmt.Println(finding)
//	}
//
// A [QueueStatus] has the numbers of one queue. A [Fleet] is the workers of all processes, with
// the jobs that they run. A [Report] joins both for one queue and explains in words whether its
// jobs run. [Examine] checks the Redis itself.
//
// # Search
//
// [Client.Search] returns the jobs of a state that match an expression, page by page:
//
//	page, err := client.Search(ctx, "mail", ops.SearchOptions{
//		State: queue.Dead,
//		Match: `kind == "email.send" && error contains "timeout" && died >= "-12h"`,
//	})
//
// An expression compares fields with constants: == != < <= > >=, in ["a", "b"], startsWith,
// contains and matches (RE2), joined by && || ! and parentheses; nil is a missing value. A time is
// before now ("-12h", "-3d"), or of the form of RFC 3339, "2006-01-02" or "2006-01-02 15:04" in
// UTC. All else is refused. The fields:
//
//	id kind state priority   texts
//	attempts                 the number of failed ones
//	error                    why it ended, and each remembered error: one must match
//	shape                    of these errors, see [stats.Shape]
//	enqueued due died        times; died also of finished jobs
//	text                     all args
//	args.NAME                a value of args in JSON: args.user.id, args["to"][0]
//	headers["NAME"]
//
// # Hidden values
//
// [Config.Redact] hides values by their names and by patterns. This is the one place where that is
// done: all that a client returns of a job is without them, and a filter sees the same view, so that a
// search can't find them out. [Client.Reveal] returns a job with them. The command line, which has
// the Redis itself, hides nothing.
//
// # Operations
//
// A change of many jobs, such as the retry of all dead jobs that match, is an operation:
//
//	asked, err := client.Operations().Ask(ctx, ops.Change{Queue: "mail", Do: "retry", State: queue.Dead, Match: match, Rate: 100})
//	fmt.Println("Retry", asked) // "12,000 dead jobs"
//	run, err := client.Operations().Begin(ctx, asked)
//	err = run.Run(ctx, func(op queue.Operation) { fmt.Println(op.Changed) })
//
// [Operations.Ask] counts the jobs as of a time by Redis's clock, AsOf, for at most 2 s. The promise is
// that an operation changes each job that matched then at most once, and no other one: a job that
// came into the state at AsOf or later is left alone, also one that matched, left and came again. If
// all were counted, no more than that number are changed. Its count of changed jobs is exact.
//
// An operation runs in the process that called [OperationRun.Run]. It reads the jobs as a search does,
// matches them, and sends the ids of at most 100 that match in each step. The step is one script,
// in the slot of the queue, which changes those that are in the state still and came into it
// before AsOf, and stores the cursor, the counts and the number of the step with the changes. A
// repeated step changes nothing, so a lost reply costs nothing. A purge, which deletes all waiting
// jobs, reads no jobs: its steps find them.
//
// One process at a time has the turn of a queue, for 15 s after each step. If it dies the
// operation is interrupted: [Operations.Continue] takes it over from the cursor of its last step,
// under the name of another owner, and refuses the steps of the process that had it before.
// [Operations.Stop] stops one whichever process runs it. Continuing does not ask again: Match,
// AsOf and the count stay.
//
// [Change.Rate] bounds the jobs changed in a second. Without it an operation uses at most half of
// Redis's time, and it may wait for that time between steps. That is measured as for searches, but
// on a busy machine round trips take longer than Redis does, so no more counts than the processor
// time that INFO shows. In Redis are
// one hash for each operation, kept for 31 days after its last step, one that names whose turn it
// is in the queue, and the list of the last 100 ids.
//
// # Diagnoses
//
// A [Diagnosis] is one of a few conditions that someone should know of. They are the rows of one
// table, [DefaultRules], with their thresholds and their rank:
//
//	unserved   problem   jobs wait, and no worker serves the queue, for 60 s
//	stalled    problem   jobs wait, workers have free slots, and nothing is taken for 60 s
//	failing    problem   at least 20 attempts in 10 min, of which 20 % failed
//	grows      warning   the oldest waiting job is above 5 min old, and got older for 10 min
//
// [Config] can change a row, and [ParseRules] reads such changes from a file. [Client.AlertRules] writes
// the same rows as rules for Prometheus, from the metrics of workers/metrics; deploy/alerts.yaml is made
// by it.
//
// [Client.Diagnose] judges a [History], to which a process adds the statuses that it reads, so
// what is to be seen over time needs a process that runs as long. A [Report] also uses the
// statistics of the last hour, which show that a queue fails, grows or is stalled, and since when.
// A pool takes one sample of a queue in a minute: it may take two minutes until they show that it is
// stalled.
//
// # Statistics
//
// [Client.Stats] returns what became of the jobs of a queue over the last hour, day or month, and
// [Client.Errors] its errors in groups. Package workers/stats keeps both. [Client.Running] asks the
// workers which handlers run now.
package ops
