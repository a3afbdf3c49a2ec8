package queue

import (
	"fmt"
	"strings"
)

// entryIDs are the ids of some of the [plainEntries], as words.
func entryIDs(first, last int) string {
	var ids []string
	for i := first; i <= last; i++ {
		ids = append(ids, fmt.Sprintf("%d-1", i))
	}
	return strings.Join(ids, " ")
}

// holdingMoved lets the worker w hold the job d1, which was delayed once.
const holdingMoved = `lease_open w 60000 about
	XADD :normal:due 1-1 id d1 job {kind=a,unique=k}
	HSET :moved d1 '5 1-1'
	HSET :unique k d1
	fetch w 1 1000
	`

var finishCases = []scriptCase{
	{
		claim: "a worker without a lease finishes nothing",
		given: holding + "ZREM :leases w",
		call:  "finish w ok 6 1 1-1", reply: "lost", unchanged: true,
	}, {
		claim: "a dead worker finishes nothing",
		given: holding + "ZREM :leases w\nZADD :tombs 1 w",
		call:  "finish w dead 6 1-1 n1-1 '' '' {kind=a}", reply: "lost", unchanged: true,
	}, {
		claim: "a job that succeeded is gone",
		given: holding,
		call:  "finish w ok 6 1 1-1", reply: "ok 1", again: "ok 0",
		after: "XLEN :normal:fresh = 0\nHGET :counts total:done = 1\nXPENDING :normal:fresh workers = 0.*",
	}, {
		claim: "a job that nobody holds is passed over",
		given: "lease_open w 60000 about\n" + plainEntries(1),
		call:  "finish w ok 6 1 1-1", reply: "ok 0", unchanged: true,
	}, {
		claim: "a batch leaves an earlier job that another worker holds",
		given: plainEntries(20) + "lease_open other 60000 about\nfetch other 1 1000\nlease_open w 60000 about\nfetch w 19 1000",
		call:  "finish w ok 6 19 " + entryIDs(2, 20), reply: "ok 19", again: "ok 0",
		after: `XRANGE :normal:fresh - + = 1-1 kind a args x
			reread other 6 0 10 = ok \d+ 6 1 '' 1-1 4 kind a args x`,
	}, {
		claim: "a batch leaves a job between its own that another worker holds",
		given: plainEntries(40) + `lease_open w 60000 about
			fetch w 19 1000
			lease_open other 60000 about
			fetch other 1 1000
			fetch w 19 1000`,
		call: "finish w ok 6 38 " + entryIDs(1, 19) + " " + entryIDs(21, 39), reply: "ok 38", again: "ok 0",
		after: "XRANGE :normal:fresh - + = 20-1 kind a args x 40-1 kind a args x",
	}, {
		claim: "a batch leaves jobs that wait",
		given: plainEntries(22) + "lease_open w 60000 about\nfetch w 20 1000",
		call:  "finish w ok 6 20 " + entryIDs(1, 20), reply: "ok 20", again: "ok 0",
		after: "XRANGE :normal:fresh - + = 21-1 kind a args x 22-1 kind a args x",
	}, {
		claim: "a result is kept for those who wait for the end of the job",
		given: holding + "ZADD :waited @now+60000 n1-1\nHSET :logs n1-1 line\nHSET :progress n1-1 half",
		call:  "finish w ok 6 1 1-1", reply: "ok 1", again: "ok 0",
		after: `XRANGE :done - + = \S+ id n1-1
			HGET :results:jobs n1-1 = 1n4:kind1:a4:args1:x7:outcome9:succeeded5:ended13:\d+
			EXISTS :waited :logs :progress = 0`,
	}, {
		claim: "an event is written where the queue has events",
		given: "events 100\n" + holding,
		call:  "finish w ok 6 1 1-1", reply: "ok 1", again: "ok 0",
		after: `XRANGE :events - + = \S+ event succeeded id n1-1`,
	},

	{
		claim: "a job that ended is kept for as long as it wants, without its key",
		given: holdingMoved,
		call:  "finish w end 5 1-1 d1 succeeded k finished 60000 {kind=a}", reply: "ok 1", again: "ok 0",
		after: `HGET :results:jobs d1 = 1n4:kind1:a5:ended13:\d+
			EXISTS :unique :moved :normal:due = 1
			XLEN :normal:due = 0
			HGET :counts total:done = 1`,
	}, {
		claim: "a job that is not kept leaves nothing",
		given: holdingMoved + "HSET :logs d1 line\nHSET :progress d1 half\nHSET :cancelled d1 1",
		call:  "finish w end 5 1-1 d1 cancelled k finished 0 {kind=a}", reply: "ok 1", again: "ok 0",
		after: "EXISTS :results :logs :progress :cancelled :unique :moved = 0\nHGET :counts total:cancelled = 1",
	}, {
		claim: "a key that is held for a duration outlives the job",
		given: holdingMoved,
		call:  "finish w end 5 1-1 d1 discarded k duration 0 {kind=a}", reply: "ok 1", again: "ok 0",
		after: "HGET :unique k = d1\nHGET :counts total:discarded = 1",
	}, {
		claim: "a key that another job holds is kept",
		given: holdingMoved + "HSET :unique k d2",
		call:  "finish w end 5 1-1 d1 succeeded k finished 0 {kind=a}", reply: "ok 1", again: "ok 0",
		after: "HGET :unique k = d2",
	}, {
		claim: "jobs that follow are added once",
		given: holding,
		call:  "finish w then 2 n {kind=b} '' '' '' '' h {kind=c} 60000 '' '' '' end 6 1-1 n1-1 succeeded '' '' 0 {kind=a}",
		reply: "ok 1", again: "ok 0",
		after: `XRANGE :normal:fresh - + = \S+ job 1n4:kind1:b
			ZCARD :delayed = 1
			HGET :counts total:enqueued = 2`,
	}, {
		claim: "jobs that follow are not added after a lost lease",
		given: holding + "ZREM :leases w",
		call:  "finish w then 1 n {kind=b} '' '' '' '' end 6 1-1 n1-1 succeeded '' '' 0 {kind=a}", reply: "lost", unchanged: true,
	},

	{
		claim: "a job that failed waits for its next attempt",
		given: holdingMoved,
		call:  "finish w retry 5 1-1 d1 {kind=a,attempts=1} 60000 1", reply: "ok 1", again: "ok 0",
		after: `HGET :delayed:jobs d1 = 1n4:kind1:a8:attempts1:1
			ZRANGE :delayed 0 -1 = d1
			EXISTS :moved = 0
			HGET :unique k = d1
			HGET :counts total:retried = 1
			XRANGE :control - + = \S+ do due`,
	}, {
		claim: "it waits for that long", exactTime: true,
		given: holding,
		call:  "finish w retry 6 1-1 n1-1 {kind=a} 60000 1", reply: "ok 1", again: "ok 0",
		after: "ZRANGEBYSCORE :delayed @now+60000 @now+60000 = n1-1",
	}, {
		claim: "a snooze is no failure",
		given: holding,
		call:  "finish w retry 6 1-1 n1-1 {kind=a} 60000 0", reply: "ok 1", again: "ok 0",
		after: "HEXISTS :counts total:failed = 0\nZCARD :delayed = 1",
	}, {
		claim: "a cancelled job that failed is cancelled",
		given: holdingMoved + "HSET :cancelled d1 1",
		call:  "finish w retry 5 1-1 d1 {kind=a,unique=k} 60000 1", reply: "ok 1", again: "ok 0",
		after: "EXISTS :delayed :delayed:jobs :cancelled :unique :moved = 0\nHGET :counts total:cancelled = 1",
	}, {
		claim: "a job that failed for good is dead, without its key",
		given: holdingMoved,
		call:  "finish w dead 5 1-1 d1 k finished {kind=a,reason=because}", reply: "ok 1", again: "ok 0",
		after: `HGET :dead:jobs d1 = 1n4:kind1:a6:reason7:because5:ended13:\d+
			EXISTS :unique :moved = 0
			HGET :counts total:dead = 1
			HGET :counts total:failed = 1
			HGET :meta dead_bytes = \d+`,
	}, {
		claim: "a key that is held for a duration outlives a job that failed for good",
		given: holdingMoved,
		call:  "finish w dead 5 1-1 d1 k duration {kind=a}", reply: "ok 1", again: "ok 0",
		after: "HGET :unique k = d1",
	}, {
		claim: "a job that is handed back is the next of its priority",
		given: holding,
		call:  "finish w back 6 1-1 n1-1", reply: "ok 1", again: "ok 0",
		after: `XRANGE :normal:returned - + = \S+ kind a args x id n1-1
			HGET :moved n1-1 = 4 \S+
			XLEN :normal:fresh = 0`,
	}, {
		claim: "a cancelled job that is handed back is cancelled",
		given: holdingMoved + "HSET :cancelled d1 1",
		call:  "finish w back 5 1-1 d1", reply: "ok 1", again: "ok 0",
		after: "XLEN :normal:returned = 0\nEXISTS :cancelled :unique :moved = 0\nHGET :counts total:cancelled = 1",
	}, {
		claim: "an entry that is no job is dead with the reason",
		given: "lease_open w 60000 about\nXADD :normal:fresh 1-1 args x\nfetch w 1 1000",
		call:  "finish w malformed 6 1-1 'malformed: no kind'", reply: "ok 1", again: "ok 0",
		after: `HGET :dead:jobs n1-1 = 1n4:kind0:4:args9:4:args1:x6:reason18:malformed: no kind5:ended13:\d+`,
	}, {
		claim: "each of several endings is counted",
		given: "lease_open w 60000 about\n" + plainEntries(3) + "fetch w 3 1000",
		call:  "finish w back 6 3-1 n3-1 dead 6 2-1 n2-1 '' '' {kind=a} ok 6 1 1-1", reply: "ok 1 1 1", again: "ok 0 0 0",
	},
}

var enqueueCases = []scriptCase{
	{
		claim: "plain jobs are added in order",
		call:  "enqueue plain 6 a 2 x y", reply: `ok n\d+-\d+ n\d+-\d+`, full: "OOM", advances: true,
		after: `XRANGE :normal:fresh - + = \S+ kind a args x \S+ kind a args y
			HGET :counts total:enqueued = 2
			HGET :meta format = 1`,
	}, {
		claim: "a job with options is added with its record",
		call:  "enqueue job h {kind=a} '' '' '' ''", reply: `ok h\d+-\d+`, full: "OOM", advances: true,
		after: `XRANGE :high:fresh - + = \S+ job 1n4:kind1:a`,
	}, {
		claim: "a delayed job waits for its time",
		call:  "enqueue job n {kind=a} 60000 '' '' ''", reply: "ok d000000000000001", again: "ok d000000000000002", full: "OOM", advances: true,
		after: `HGET :delayed:jobs d000000000000001 = 1n4:kind1:a8:enqueued13:\d+
			XRANGE :control - + = \S+ do due`,
	}, {
		claim: "it waits for that long", exactTime: true,
		call: "enqueue job n {kind=a} 60000 '' '' ''", reply: "ok d000000000000001", again: "ok d000000000000002", advances: true,
		after: "ZRANGEBYSCORE :delayed @now+60000 @now+60000 = d000000000000001",
	}, {
		claim: "a time that has passed is now", exactTime: true,
		call: "enqueue job n {kind=a} '' @now '' ''", reply: "ok d000000000000001", again: "ok d000000000000002", advances: true,
		after: "EXISTS :delayed = 0\nXLEN :normal:due = 1",
	}, {
		claim: "a time to come is waited for", exactTime: true,
		call: "enqueue job n {kind=a} '' @now+1 '' ''", reply: "ok d000000000000001", again: "ok d000000000000002", advances: true,
		after: "ZRANGEBYSCORE :delayed @now+1 @now+1 = d000000000000001",
	}, {
		claim: "a job takes its unique key",
		call:  "enqueue job n {kind=a} '' '' k ''", reply: `ok n\d+-\d+`, again: `ok =n\d+-\d+`, full: "OOM",
		after: `HGET :unique k = n\d+-\d+
			EXISTS :unique:expiry = 0`,
	}, {
		claim: "a key can be held for a duration", exactTime: true,
		call: "enqueue job n {kind=a} '' '' k 300", reply: `ok n\d+-\d+`, again: `ok =n\d+-\d+`,
		after: "ZRANGEBYSCORE :unique:expiry @now+300 @now+300 = k",
	}, {
		claim: "a job whose key is held is not added, the others are",
		given: "HSET :meta format 1\nHSET :unique k n9-9",
		call:  "enqueue job n {kind=a} '' '' k '' plain 6 a 1 x", reply: `ok =n9-9 n\d+-\d+`, full: "OOM", advances: true,
		after: "XLEN :normal:fresh = 1\nHGET :counts total:enqueued = 1",
	}, {
		claim: "a duplicate changes nothing",
		given: "HSET :meta format 1\nHSET :unique k n9-9\nZADD :unique:expiry @now+60000 k",
		call:  "enqueue job n {kind=a} '' '' k ''", reply: "ok =n9-9", unchanged: true,
	}, {
		claim: "a key is held until its last millisecond", exactTime: true,
		given: "HSET :meta format 1\nHSET :unique k n9-9\nZADD :unique:expiry @now+1 k",
		call:  "enqueue job n {kind=a} '' '' k ''", reply: "ok =n9-9", unchanged: true,
	}, {
		claim: "a key whose time is over is free", exactTime: true,
		given: "HSET :unique k n9-9 old n8-8\nZADD :unique:expiry @now k @now-1 old",
		call:  "enqueue job n {kind=a} '' '' k ''", reply: `ok n\d+-\d+`, again: `ok =n\d+-\d+`,
		after: `HGETALL :unique = k n\d+-\d+
			EXISTS :unique:expiry = 0`,
	},

	{
		claim: "plain jobs are added in order",
		call:  "enqueue_plain 2 a 2 x y 1 b 1 z", reply: `ok n\d+-\d+ n\d+-\d+ h\d+-\d+`, full: "OOM", advances: true,
		after: `XRANGE :normal:fresh - + = \S+ kind a args x \S+ kind a args y
			XRANGE :high:fresh - + = \S+ kind b args z
			HGET :counts total:enqueued = 3
			HGET :meta format = 1`,
	}, {
		claim: "an event is written where the queue has events",
		given: "events 100",
		call:  "enqueue_plain 2 a 1 x", reply: `ok n\d+-\d+`, full: "OOM", advances: true,
		after: `XRANGE :events - + = \S+ event enqueued id n\d+-\d+`,
	},
}

var moveCases = []scriptCase{
	{
		claim: "nothing is moved where nothing is delayed",
		call:  "move 10 me", reply: "ok 0 -1 0", unchanged: true,
	}, {
		claim: "a job that is due is moved with its record",
		given: "HSET :delayed:jobs d1 {kind=a}\nZADD :delayed 1 d1",
		call:  "move 10 me", reply: "ok 1 -1 0", again: "ok 0 -1 0",
		after: `XRANGE :normal:due - + = \S+ id d1 job 1n4:kind1:a
			HGET :moved d1 = 5 \S+
			EXISTS :delayed :delayed:jobs = 0`,
	}, {
		claim: "a job is moved at its time and not before", exactTime: true,
		given: "HSET :delayed:jobs d1 {kind=a} d2 {kind=b}\nZADD :delayed @now d1 @now+1 d2",
		call:  "move 10 me", reply: "ok 1 1 1", again: "ok 0 1 1",
		after: "ZRANGE :delayed 0 -1 = d2",
	}, {
		claim: "jobs are moved in the order of their times",
		given: "HSET :delayed:jobs d1 {kind=a} d2 {kind=b} d3 {kind=c}\nZADD :delayed 3 d1 2 d2 1 d3",
		call:  "move 10 me", reply: "ok 3 -1 0", again: "ok 0 -1 0",
		after: `XRANGE :normal:due - + = \S+ id d3 job \S+ \S+ id d2 job \S+ \S+ id d1 job \S+`,
	}, {
		claim: "the first to ask for a time comes back at it",
		given: "HSET :delayed:jobs d1 {kind=a}\nZADD :delayed @now+80000000 d1",
		call:  "move 10 me", reply: `ok 0 [78]\d{7} 1`,
		after: "HGET :meta waker = me\nmove 10 other = ok 0 [78]\\d{7} 0",
	}, {
		claim: "more than one step moves is left to the same mover",
		given: "HSET :delayed:jobs d1 {kind=a} d2 {kind=b}\nZADD :delayed 1 d1 2 d2",
		call:  "move 1 me", reply: "ok 1 0 1", again: "ok 1 -1 0", advances: true,
		after: "HGET :meta waker = me\nHEXISTS :meta waker_busy = 1",
	}, {
		claim: "another mover is held off while one is busy", exactTime: true,
		given: "HSET :delayed:jobs d1 {kind=a}\nZADD :delayed 1 d1\nHSET :meta waker other waker_busy @now+100",
		call:  "move 10 me", reply: "ok 0 100 0", unchanged: true,
	}, {
		claim: "the busy mover goes on", exactTime: true,
		given: "HSET :delayed:jobs d1 {kind=a}\nZADD :delayed 1 d1\nHSET :meta waker me waker_busy @now+100",
		call:  "move 10 me", reply: "ok 1 -1 0", again: "ok 0 -1 0",
	}, {
		claim: "another mover goes on when the busy one did not come back", exactTime: true,
		given: "HSET :delayed:jobs d1 {kind=a}\nZADD :delayed 1 d1\nHSET :meta waker other waker_busy @now",
		call:  "move 10 me", reply: "ok 1 -1 0", again: "ok 0 -1 0",
	}, {
		claim: "a mover that is busy for too long to come says that the clock went back", exactTime: true,
		given: "HSET :delayed:jobs d1 {kind=a}\nZADD :delayed 1 d1\nHSET :meta waker other waker_busy @now+101",
		call:  "move 10 me", reply: "ok 1 -1 0", again: "ok 0 -1 0",
	}, {
		claim: "one call writes some 256 KiB",
		given: "HSET :delayed:jobs d1 {kind=a,args=@large} d2 {kind=a,args=@large} d3 {kind=a,args=@large}\nZADD :delayed 1 d1 2 d2 3 d3",
		call:  "move 10 me", reply: "ok 2 0 1", again: "ok 1 -1 0", advances: true,
	}, {
		claim: "a time without a record is dead",
		given: "ZADD :delayed 1 d1",
		call:  "move 10 me", reply: "ok 1 -1 0", again: "ok 0 -1 0",
		after: "HGET :dead:jobs d1 = .*no record.*\nEXISTS :delayed = 0",
	}, {
		claim: "a damaged record is dead",
		given: "ZADD :delayed 1 d1\nHSET :delayed:jobs d1 2n",
		call:  "move 10 me", reply: "ok 1 -1 0", again: "ok 0 -1 0",
		after: "HGET :dead:jobs d1 = .*its record is damaged.*\nEXISTS :delayed :delayed:jobs = 0",
	},
}
