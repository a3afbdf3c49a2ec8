package queue

// The states in which a job can be, for cases that need one.
const (
	oneDelayed  = "HSET :delayed:jobs d1 {kind=a,unique=k}\nZADD :delayed @now+60000 d1\nHSET :unique k d1\n"
	oneDead     = "HSET :dead:jobs d1 {kind=a,unique=k,scope=finished,attempts=3,reason=bad}\nZADD :dead 1 d1\nHSET :meta dead_bytes 57\n"
	oneFinished = "HSET :results:jobs d1 {kind=a,outcome=succeeded}\nZADD :results @now+60000 d1\nHSET :meta result_bytes 31\n"
)

var operateCases = []scriptCase{
	{
		claim: "a job that is nowhere is not deleted",
		call:  "change delete d1", reply: "none", unchanged: true,
	}, {
		claim: "a job in another state is left alone",
		given: oneDelayed,
		call:  "change delete d1 dead", reply: "state delayed", unchanged: true,
	}, {
		claim: "an active job is not deleted",
		given: holding,
		call:  "change delete n1-1", reply: "state active '' ''", unchanged: true,
	}, {
		claim: "a delayed job is deleted with its key",
		given: oneDelayed + "HSET :logs d1 line",
		call:  "change delete d1", reply: "ok delayed '' ''", again: "none",
		after: "EXISTS :delayed :delayed:jobs :unique :logs = 0\nHGET :counts total:deleted = 1",
	}, {
		claim: "a waiting job is deleted with its key",
		given: "XADD :normal:due 1-1 id d1 job {kind=a,unique=k}\nHSET :moved d1 '5 1-1'\nHSET :unique k d1",
		call:  "change delete d1 waiting", reply: "ok waiting '' ''", again: "none",
		after: "EXISTS :moved :unique = 0\nXLEN :normal:due = 0",
	}, {
		claim: "a dead job is deleted",
		given: oneDead,
		call:  "change delete d1", reply: "ok dead '' ''", again: "none",
		after: `EXISTS :dead :dead:jobs = 0`,
	}, {
		claim: "a key that another job holds is kept",
		given: oneDelayed + "HSET :unique k d2",
		call:  "change delete d1", reply: "ok delayed '' ''", again: "none",
		after: "HGET :unique k = d2",
	}, {
		claim: "those who wait for a job learn that it is deleted",
		given: oneDelayed + "ZADD :waited @now+60000 d1",
		call:  "change delete d1", reply: "ok delayed '' ''", again: "none",
		after: `XRANGE :done - + = \S+ id d1`,
	},

	{
		claim: "a delayed job is cancelled",
		given: oneDelayed,
		call:  "change cancel d1", reply: "ok delayed '' ''", again: "none",
		after: "EXISTS :delayed :delayed:jobs :unique = 0\nHGET :counts total:cancelled = 1",
	}, {
		claim: "a cancelled job is kept for as long as it wants",
		given: "HSET :delayed:jobs d1 {kind=a,retain=60000}\nZADD :delayed 1 d1",
		call:  "change cancel d1", reply: "ok delayed '' ''", again: "state finished '' ''",
		after: `HGET :results:jobs d1 = .*7:outcome9:cancelled5:ended13:\d+`,
	}, {
		claim: "the worker of an active job is asked to end it",
		given: holding,
		call:  "change cancel n1-1", reply: "ok active '' ''", full: "OOM", advances: true,
		after: `HEXISTS :cancelled n1-1 = 1
			XRANGE :control - + = \S+ do cancel id n1-1
			XPENDING :normal:fresh workers = 1 1-1 1-1 w 1`,
	}, {
		claim: "a dead job is not cancelled",
		given: oneDead,
		call:  "change cancel d1", reply: "state dead '' ''", unchanged: true,
	}, {
		claim: "a job with a damaged record is cancelled",
		given: "ZADD :delayed 1 d1",
		call:  "change cancel d1", reply: "ok delayed '' ''", again: "none",
		after: "EXISTS :delayed = 0",
	},

	{
		claim: "a delayed job runs now",
		given: oneDelayed,
		call:  "change retry d1", reply: "ok delayed '' ''", again: "state waiting '' ''",
		after: `XRANGE :normal:due - + = \S+ id d1 job 1n4:kind1:a6:unique1:k
			EXISTS :delayed :delayed:jobs = 0
			HGET :unique k = d1`,
	}, {
		claim: "a dead job runs again, with its key and its attempts forgiven",
		given: oneDead,
		call:  "change retry d1", reply: "ok dead '' ''", again: "state waiting '' ''", full: "OOM",
		after: `XRANGE :normal:due - + = \S+ id d1 job 1n4:kind1:a6:unique1:k5:scope8:finished8:attempts1:38:forgiven1:3
			HGET :unique k = d1
			HGET :counts total:revived = 1
			EXISTS :dead :dead:jobs = 0`,
	}, {
		claim: "a dead job whose key another holds is not retried",
		given: oneDead + "HSET :unique k d2",
		call:  "change retry d1", reply: "duplicate dead k d2", unchanged: true,
	}, {
		claim: "a job that ended is not retried",
		given: oneFinished,
		call:  "change retry d1", reply: "state finished '' ''", unchanged: true,
	}, {
		claim: "what is no job is not retried",
		given: "HSET :dead:jobs d1 {kind=,args=x}\nZADD :dead 1 d1",
		call:  "change retry d1", reply: "malformed dead '' ''", unchanged: true,
	}, {
		claim: "a time without a record is not retried",
		given: "ZADD :delayed 1 d1",
		call:  "change retry d1", reply: "malformed delayed '' ''", unchanged: true,
	},

	{
		claim: "a delayed job gets another time",
		given: oneDelayed,
		call:  "change reschedule d1 12345", reply: "ok delayed '' ''", full: "OOM",
		after: `ZRANGEBYSCORE :delayed 12345 12345 = d1
			XRANGE :control - + = \S+ do due`,
	}, {
		claim: "only a delayed job gets another time",
		given: oneDead,
		call:  "change reschedule d1 12345", reply: "state dead '' ''", unchanged: true,
	}, {
		claim: "a time without a record stays",
		given: "ZADD :delayed 1 d1",
		call:  "change reschedule d1 12345", reply: "malformed delayed '' ''", unchanged: true,
	}, {
		claim: "a job that is nowhere gets no time",
		call:  "change reschedule d1 12345", reply: "none", unchanged: true,
	},

	{
		claim: "the jobs that pass the filter are deleted",
		given: "HSET :delayed:jobs d1 {kind=a} d2 {kind=b}\nZADD :delayed 1 d1 2 d2",
		call:  "change_all delete delayed '' 10 1000 b 0 0 '' ''", reply: "ok '' 1", again: "ok '' 0",
		after: "ZRANGE :delayed 0 -1 = d1\nHLEN :delayed:jobs = 1",
	}, {
		claim: "it goes on after as many as it looked at",
		given: "HSET :delayed:jobs d1 {kind=a} d2 {kind=b}\nZADD :delayed 1 d1 2 d2",
		call:  "change_all cancel delayed '' 1 1000 '' 0 0 '' ''", reply: "ok 1 d1 1", again: "ok 2 d2 1", advances: true,
	}, {
		claim: "jobs are counted only",
		given: oneDead,
		call:  "change_all count dead '' 10 1000 '' 0 0 bad bad", reply: "ok '' 1", unchanged: true,
	}, {
		claim: "active jobs are not deleted",
		given: holding,
		call:  "change_all delete active '' 10 1000 '' 0 0 '' ''", reply: "ok '' 0", unchanged: true,
	}, {
		claim: "all dead jobs run again",
		given: oneDead,
		call:  "change_all retry dead '' 10 1000 '' 0 0 '' ''", reply: "ok '' 1", again: "ok '' 0", full: "OOM",
		after: "XLEN :normal:due = 1",
	},
}

var inspectCases = []scriptCase{
	{
		claim: "a job that is nowhere can't be awaited",
		call:  "await d1 1000", reply: "none", unchanged: true,
	}, {
		claim: "the end of a job is asked for", exactTime: true,
		given: oneDelayed,
		call:  "await d1 1000", reply: "ok 0",
		after: "ZRANGEBYSCORE :waited @now+1000 @now+1000 = d1",
	}, {
		claim: "the question needs memory",
		given: oneDelayed,
		call:  "await d1 1000", reply: "ok 0", full: "OOM",
	}, {
		claim: "a job that has ended is returned",
		given: oneFinished,
		call:  "await d1 1000", reply: `ok 1 d1 finished @now+60000 '' 0 '' 2 job 1n4:kind1:a7:outcome9:succeeded`, unchanged: true,
	}, {
		claim: "a dead job is returned",
		given: oneDead,
		call:  "await d1 1000", reply: "ok 1 d1 dead 1 '' 0 '' 2 job .*", unchanged: true,
	},

	{
		claim: "a job that is nowhere is not found",
		call:  "lookup d1", reply: "none", unchanged: true,
	}, {
		claim: "an active job is returned with its worker",
		given: holding,
		call:  "lookup n1-1", reply: `ok n1-1 active \d+ w 6 1-1 4 kind a args x`, unchanged: true,
	}, {
		claim: "a waiting job is returned",
		given: plainEntries(1),
		call:  "lookup n1-1", reply: "ok n1-1 waiting '' '' 6 1-1 4 kind a args x", unchanged: true,
	}, {
		claim: "a result whose time is over is not found", exactTime: true,
		given: oneFinished + "ZADD :results @now d1",
		call:  "lookup d1", reply: "none", unchanged: true,
	},

	{
		claim: "delayed jobs are listed by time",
		given: "HSET :delayed:jobs d1 {kind=a} d2 {kind=b}\nZADD :delayed 2 d1 1 d2",
		call:  "list delayed '' 10 10 1000 '' 0 0 '' ''", reply: "ok '' 2 d2 delayed 1 '' 0 '' 2 job 1n4:kind1:b d1 delayed 2 '' 0 '' 2 job 1n4:kind1:a", unchanged: true,
	}, {
		claim: "a page ends with a cursor",
		given: plainEntries(2),
		call:  "list waiting '' 1 10 1000 '' 0 0 '' ''", reply: "ok 6 1-1 2-1 1 n1-1 waiting '' '' 6 1-1 4 kind a args x", unchanged: true,
	}, {
		claim: "the next page begins after it",
		given: plainEntries(2),
		call:  "list waiting '6 1-1 2-1' 10 10 1000 '' 0 0 '' ''", reply: "ok '' 1 n2-1 waiting '' '' 6 2-1 4 kind a args x", unchanged: true,
	},

	{
		claim: "an empty queue is counted",
		call:  "depth", reply: "ok 0 0 0 0 '' -1" + " 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0", unchanged: true,
	}, {
		claim: "every state is counted",
		given: holding + "pause pause\nXADD :normal:fresh 2-1 kind a args x\nZADD :delayed 12345 d1\nZADD :dead 1 d2\nZADD :results @now+60000 d3 1 d4",
		call:  "depth", reply: `ok 1 1 1 1 12345 \d{13} 0 0 0 0 0 0 0 0 0 0 1 1 0 0 0 0 0 0`, unchanged: true,
	},

	{
		claim: "counters are of all time and of each day",
		given: "enqueue plain 6 a 2 x y",
		call:  "counters 2 enqueued done", reply: `ok \d+ 2 0 2 0 0 0`, unchanged: true,
	},

	{
		claim: "a worker is listed with what it holds",
		given: "lease_open w 60000 about\n" + plainEntries(2) + "fetch w 2 1000\nlease_note w alone '6 1-1'",
		call:  "workers", reply: `ok w \d+ 0 2 n1-1 about`, unchanged: true,
	}, {
		claim: "dead and unknown workers are listed as dead",
		given: holding + "ZREM :leases w\nHDEL :workers w\nZADD :tombs 1 dead",
		call:  "workers", reply: "ok dead 0 1 0 '' '' w 0 1 1 '' ''", unchanged: true,
	},

	{
		claim: "a job that is not active keeps no log",
		given: plainEntries(1),
		call:  "joblog n1-1 '' log 10 1000 line", reply: "state", unchanged: true,
	}, {
		claim: "a job that is nowhere keeps no progress",
		call:  "joblog n1-1 '' progress half", reply: "state", unchanged: true,
	}, {
		claim: "another delivery of the job is not heard",
		given: holding,
		call:  "joblog n1-1 '6 1-1 other' progress half", reply: "state", unchanged: true,
	}, {
		claim: "a worker that lost its lease is not heard",
		given: holding + "ZREM :leases w",
		call:  "joblog n1-1 '6 1-1 w' progress half", reply: "state", unchanged: true,
	}, {
		claim: "the worker's progress is kept",
		given: holding,
		call:  "joblog n1-1 '6 1-1 w' progress half", reply: "ok", full: "OOM",
		after: "HGET :progress n1-1 = half",
	}, {
		claim: "the last lines of a log are kept",
		given: holding + "joblog n1-1 '6 1-1 w' log 2 1000 'one\ttwo\t'",
		call:  "joblog n1-1 '6 1-1 w' log 2 1000 three", reply: "ok", full: "OOM", advances: true,
		after: "HGET :logs n1-1 = one\ttwo\tthree",
	},

	{
		claim: "a queue is paused",
		call:  "pause pause", reply: "ok", advances: true,
		after: "HEXISTS :meta paused = 1\nXRANGE :control - + = \\S+ do pause",
	}, {
		claim: "a queue that is paused goes on",
		given: "pause pause",
		call:  "pause resume", reply: "ok", advances: true,
		after: "HEXISTS :meta paused = 0",
	}, {
		claim: "the time of the first pause stays",
		given: "HSET :meta paused 12345",
		call:  "pause pause", reply: "ok", advances: true,
		after: "HGET :meta paused = 12345",
	},

	{
		claim: "a queue keeps events",
		call:  "events 100", reply: "ok", full: "OOM",
		after: "HGET :meta events = 100",
	}, {
		claim: "a queue keeps no more events",
		given: "events 100\nenqueue plain 6 a 1 x",
		call:  "events 0", reply: "ok",
		after: "EXISTS :events = 0\nHEXISTS :meta events = 0",
	},

	{
		claim: "bounds are kept, and defaults are not",
		given: "HSET :meta dead_most_ms 7",
		call:  "retention 10 20 0 0 0 30", reply: "ok", full: "OOM",
		after: "HMGET :meta dead_most dead_most_bytes dead_most_ms results_most results_most_ms = 10 20 - - 30",
	},

	{
		claim: "what is too old is dropped", exactTime: true,
		given: `HSET :results:jobs d1 {kind=a} d2 {kind=b}
			ZADD :results @now d1 @now+1 d2
			HSET :dead:jobs d3 {kind=a}
			ZADD :dead 1 d3
			HSET :unique old d4 new d5
			ZADD :unique:expiry @now old @now+1 new
			ZADD :waited @now d6 @now+1 d7
			HSET :counts 1:done 5 total:done 5`,
		call: "tidy 0 100", reply: "ok '' 0",
		after: `HKEYS :results:jobs = d2
			EXISTS :dead :dead:jobs = 0
			HGETALL :unique = new d5
			ZRANGE :waited 0 -1 = d7
			HGETALL :counts = .*total:dead_dropped 1 total:done 5
			HEXISTS :counts 1:done = 0`,
	}, {
		claim: "there is more of what is dropped in steps",
		given: "ZADD :waited 1 d1 2 d2",
		call:  "tidy '' 1", reply: "ok '' 1", again: "ok '' 1", advances: true,
		after: "ZRANGE :waited 0 -1 = d2",
	},
}
