package queue

import (
	"fmt"
	"strings"
)

// plainEntries are lines that add n plain jobs to the normal line, n1-1 first.
func plainEntries(n int) string {
	var lines strings.Builder
	for i := range n {
		fmt.Fprintf(&lines, "XADD :normal:fresh %d-1 kind a args x\n", i+1)
	}
	return lines.String()
}

// holding lets the worker w hold the job n1-1.
var holding = "lease_open w 60000 about\n" + plainEntries(1) + "fetch w 1 1000000\n"

var leaseCases = []scriptCase{
	{
		claim: "a lease is opened",
		call:  "lease_open w 300 about", reply: "ok",
		after: "HGET :workers w = about\nHGET :meta format = 1\nZCARD :leases = 1",
	}, {
		claim: "it lasts as long as was asked for", exactTime: true,
		call: "lease_open w 300 about", reply: "ok",
		after: "ZRANGEBYSCORE :leases @now+300 @now+300 = w",
	}, {
		claim: "the name of a dead worker is refused",
		given: "ZADD :tombs @now w",
		call:  "lease_open w 300 about", reply: "lost", unchanged: true,
	},

	{
		claim: "a lease is prolonged",
		given: "ZADD :leases @now+60000 w",
		call:  "lease_beat w 90000", reply: "ok 0",
	}, {
		claim: "it lasts from now", exactTime: true,
		given: "ZADD :leases @now+100 w",
		call:  "lease_beat w 300", reply: "ok 0",
		after: "ZRANGEBYSCORE :leases @now+300 @now+300 = w",
	}, {
		claim: "a lease that has ended is not opened again",
		call:  "lease_beat w 300", reply: "lost", unchanged: true,
	}, {
		claim: "a dead worker stays dead",
		given: "ZADD :tombs @now w",
		call:  "lease_beat w 300", reply: "lost", unchanged: true,
	}, {
		claim: "a late lease that is still there goes on",
		given: "ZADD :leases @now-5000 w",
		call:  "lease_beat w 90000", reply: "ok 0",
	}, {
		claim: "a tombstone is something to recover",
		given: "ZADD :leases @now+60000 w\nZADD :tombs 1 dead",
		call:  "lease_beat w 90000", reply: "ok 1",
	}, {
		claim: "another's late lease is something to recover", exactTime: true,
		given: "ZADD :leases @now+60000 w @now-1 late",
		call:  "lease_beat w 90000", reply: "ok 1",
	}, {
		claim: "another's lease that ends now is not late", exactTime: true,
		given: "ZADD :leases @now+60000 w @now last",
		call:  "lease_beat w 90000", reply: "ok 0",
	},

	{
		claim: "a lease that has ended is left alone",
		given: "ZADD :tombs 1 w\nHSET :workers w about",
		call:  "lease_close w", reply: "ok", unchanged: true,
	}, {
		claim: "an idle worker leaves nothing",
		given: holding + "HSET :alone w '6 1-1'\nfinish w ok 6 1 1-1",
		call:  "lease_close w", reply: "ok",
		after: "EXISTS :leases :tombs :workers :alone = 0\nXINFO CONSUMERS :normal:fresh workers = ''",
	}, {
		claim: "jobs that are held keep their consumer, and are no suspects",
		given: holding,
		call:  "lease_close w", reply: "ok",
		after: "ZRANGE :tombs 0 -1 = w\nHGET :alone w = none\nXPENDING :normal:fresh workers = 1 1-1 1-1 w 1\nHGET :workers w = about",
	}, {
		claim: "a job in a later line is found",
		given: holding + "XADD :high:fresh 1-1 kind a args x\nfetch w 1 1000\nfinish w ok 3 1 1-1",
		call:  "lease_close w", reply: "ok",
		after: "ZRANGE :tombs 0 -1 = w\nXINFO CONSUMERS :high:fresh workers = ''\nXPENDING :normal:fresh workers = 1 1-1 1-1 w 1",
	},

	{
		claim: "a worker without a lease is not described",
		call:  "lease_note w describe about", reply: "lost", unchanged: true,
	}, {
		claim: "a worker without a lease runs nothing alone",
		given: "ZADD :tombs 1 w",
		call:  "lease_note w alone '6 1-1'", reply: "lost", unchanged: true,
	}, {
		claim: "a worker is described",
		given: "lease_open w 60000 before",
		call:  "lease_note w describe after", reply: "ok",
		after: "HGET :workers w = after",
	}, {
		claim: "a job that runs alone is noted",
		given: "lease_open w 60000 about",
		call:  "lease_note w alone '6 1-1'", reply: "ok",
		after: "HGET :alone w = 6 1-1",
	}, {
		claim: "the end of running alone is noted",
		given: "lease_open w 60000 about\nlease_note w alone '6 1-1'",
		call:  "lease_note w alone ''", reply: "ok",
		after: "HEXISTS :alone w = 0",
	},
}

var nineLines = func() string {
	var lines strings.Builder
	for _, name := range keyNames[:lineCount] {
		fmt.Fprintf(&lines, "XADD :%s 1-1 kind a args x\n", name)
	}
	return lines.String()
}()

var fetchCases = []scriptCase{
	{
		claim: "a worker without a lease gets nothing",
		given: plainEntries(1),
		call:  "fetch w 1 1000", reply: "lost", unchanged: true,
	}, {
		claim: "a dead worker gets nothing",
		given: "ZADD :tombs 1 w\n" + plainEntries(1),
		call:  "fetch w 1 1000", reply: "lost", unchanged: true,
	}, {
		claim: "a paused queue gives nothing",
		given: "lease_open w 60000 about\npause pause\n" + plainEntries(1),
		call:  "fetch w 1 1000", reply: "paused", unchanged: true,
	}, {
		claim: "a queue without jobs says where new ones would be",
		given: "lease_open w 60000 about",
		call:  "fetch w 1 1000", reply: "empty 0 0 0 0 0 0 0 0 0", unchanged: true,
	}, {
		claim: "a line whose jobs are held says after which entry a new one would be",
		given: holding,
		call:  "fetch w 1 1000", reply: "empty 0 0 0 0 0 1-1 0 0 0", unchanged: true,
	}, {
		claim: "what was fetched is pending until it is finished",
		given: "lease_open w 60000 about\n" + plainEntries(1),
		call:  "fetch w 1 1000", reply: `ok \d+ 6 1 a 1-1 x`, again: "empty 0 0 0 0 0 1-1 0 0 0",
		after: "XPENDING :normal:fresh workers = 1 1-1 1-1 w 1",
	}, {
		claim: "a job with more fields comes with all of them",
		given: "lease_open w 60000 about\nXADD :normal:due 1-1 id d1 job {kind=a}",
		call:  "fetch w 1 1000", reply: `ok \d+ 5 1 '' 1-1 4 id d1 job 1n4:kind1:a`, again: "empty 0 0 0 0 1-1 0 0 0 0",
	}, {
		claim: "lines are read in order",
		given: "lease_open w 60000 about\n" + nineLines,
		call:  "fetch w 9 1000", reply: `ok \d+ 1 1 a 1-1 x 2 1 a 1-1 x 3 1 a 1-1 x 4 1 a 1-1 x 5 1 a 1-1 x 6 1 a 1-1 x 7 1 a 1-1 x 8 1 a 1-1 x 9 1 a 1-1 x`,
		again: "empty 1-1 1-1 1-1 1-1 1-1 1-1 1-1 1-1 1-1",
	}, {
		claim: "no more are taken than were asked for",
		given: "lease_open w 60000 about\n" + plainEntries(3),
		call:  "fetch w 2 1000", reply: `ok \d+ 6 2 a 1-1 x 2-1 x`, again: `ok \d+ 6 1 a 3-1 x`, advances: true,
	}, {
		claim: "none are taken after the bytes that were asked for",
		given: "lease_open w 60000 about\n" + plainEntries(6),
		call:  "fetch w 9 1", reply: `ok \d+ 6 4 a 1-1 x 2-1 x 3-1 x 4-1 x`, again: `ok \d+ 6 2 a 5-1 x 6-1 x`, advances: true,
	}, {
		claim: "a key that is held while its job waits is released",
		given: "lease_open w 60000 about\nXADD :normal:fresh 1-1 job {kind=a,unique=k,scope=waiting}\nHSET :unique k n1-1",
		call:  "fetch w 1 1000", reply: `ok \d+ 6 1 '' 1-1 2 job .*`, again: "empty .*",
		after: "HEXISTS :unique k = 0",
	}, {
		claim: "a key that another job holds is kept",
		given: "lease_open w 60000 about\nXADD :normal:fresh 1-1 job {kind=a,unique=k,scope=waiting}\nHSET :unique k n2-1",
		call:  "fetch w 1 1000", reply: `ok \d+ 6 1 '' 1-1 2 job .*`, again: "empty .*",
		after: "HGET :unique k = n2-1",
	}, {
		claim: "a key that is held until the job is finished is kept",
		given: "lease_open w 60000 about\nXADD :normal:fresh 1-1 job {kind=waiting,unique=k,scope=finished}\nHSET :unique k n1-1",
		call:  "fetch w 1 1000", reply: `ok \d+ 6 1 '' 1-1 2 job .*`, again: "empty .*",
		after: "HGET :unique k = n1-1",
	},

	{
		claim: "a worker without a lease reads nothing again",
		given: holding + "ZREM :leases w",
		call:  "reread w 6 0 10", reply: "lost", unchanged: true,
	}, {
		claim: "a line that is not there is empty",
		given: "lease_open w 60000 about",
		call:  "reread w 6 0 10", reply: "empty", unchanged: true,
	}, {
		claim: "a line that nobody has read is empty",
		given: "lease_open w 60000 about\n" + plainEntries(1),
		call:  "reread w 6 0 10", reply: "empty", unchanged: true,
	}, {
		claim: "jobs of another worker are not returned",
		given: holding + "lease_open other 60000 about",
		call:  "reread other 6 0 10", reply: "empty", unchanged: true,
	}, {
		claim: "jobs that the worker holds are returned",
		given: holding,
		call:  "reread w 6 0 10", reply: `ok \d+ 6 1 '' 1-1 4 kind a args x`, unchanged: true,
	}, {
		claim: "it goes on after an entry, up to some number",
		given: "lease_open w 60000 about\n" + plainEntries(4) + "fetch w 4 1000",
		call:  "reread w 6 1-1 2", reply: `ok \d+ 6 2 '' 2-1 4 kind a args x 3-1 4 kind a args x`, unchanged: true,
	}, {
		claim: "an entry that is gone has no fields",
		given: holding + "XDEL :normal:fresh 1-1",
		call:  "reread w 6 0 10", reply: `ok \d+ 6 1 '' 1-1 0`, unchanged: true,
	},
}

var recoverCases = []scriptCase{
	{
		claim: "nothing is done where all live",
		given: holding,
		call:  "recover 100 3 1", reply: "ok 0 0 0", unchanged: true,
	}, {
		claim: "a job of a worker that fell silent is handed back as a suspect",
		given: holding + "ZADD :leases @now-5000 w",
		call:  "recover 100 3 0", reply: "ok 1 0 0", again: "ok 0 0 0",
		after: `XRANGE :normal:returned - + = \S+ kind a args x suspect 1 id n1-1
			EXISTS :leases :tombs :workers :alone = 0
			HGET :counts total:lost_leases = 1
			HGET :counts total:crashed = 1
			XINFO CONSUMERS :normal:fresh workers = ''`,
	}, {
		claim: "a lease that has 40 ms to go is good", exactTime: true,
		given: holding + "ZADD :leases @now+40 w",
		call:  "recover 100 3 1", reply: "ok 0 0 0", unchanged: true,
	}, {
		claim: "a lease that ends now is good", exactTime: true,
		given: holding + "ZADD :leases @now w",
		call:  "recover 100 3 1", reply: "ok 0 0 0", unchanged: true,
	}, {
		claim: "a lease that ended 1 ms ago is not", exactTime: true,
		given: holding + "ZADD :leases @now-1 w",
		call:  "recover 100 3 0", reply: "ok 1 0 0", again: "ok 0 0 0",
	}, {
		claim: "a lease of another worker is left alone", exactTime: true,
		given: holding + "ZADD :leases @now-1 w @now+1 other",
		call:  "recover 100 3 0", reply: "ok 1 0 0", again: "ok 0 0 0",
		after: "ZRANGE :leases 0 -1 = other",
	}, {
		claim: "jobs of a worker that ended by its own will are no suspects",
		given: holding + "lease_close w",
		call:  "recover 100 3 0", reply: "ok 1 0 0", again: "ok 0 0 0",
		after: `XRANGE :normal:returned - + = \S+ kind a args x id n1-1`,
	}, {
		claim: "only the job that ran alone is a suspect",
		given: "lease_open w 60000 about\n" + plainEntries(2) + "fetch w 2 1000\nlease_note w alone '6 2-1'\nZADD :leases 1 w",
		call:  "recover 100 3 0", reply: "ok 2 0 0", again: "ok 0 0 0",
		after: `XRANGE :normal:returned - + = \S+ kind a args x id n1-1 \S+ kind a args x crashes 1 suspect 1 id n2-1`,
	}, {
		claim: "a job that crashed its worker once less than it may is handed back",
		given: "lease_open w 60000 about\nXADD :normal:fresh 1-1 kind a args x crashes 1\nfetch w 1 1000\nlease_note w alone '6 1-1'\nZADD :leases 1 w",
		call:  "recover 100 3 0", reply: "ok 1 0 0", again: "ok 0 0 0",
		after: "ZCARD :dead = 0",
	}, {
		claim: "a job that crashed its worker too often is dead and releases its key",
		given: `lease_open w 60000 about
			XADD :normal:returned 1-1 id n1-1 kind a crashes 2 unique k scope finished
			HSET :moved n1-1 '4 1-1'
			HSET :unique k n1-1
			fetch w 1 1000
			lease_note w alone '4 1-1'
			ZADD :leases 1 w`,
		call: "recover 100 3 0", reply: "ok 0 1 0", again: "ok 0 0 0",
		after: `ZRANGE :dead 0 -1 = n1-1
			HGET :dead:jobs n1-1 = .*7:crashes1:3.*6:reason.*died 3 times.*
			EXISTS :unique :moved = 0
			XLEN :normal:returned = 0`,
	}, {
		claim: "a key that is held for a duration outlives the death",
		given: `lease_open w 60000 about
			XADD :normal:fresh 1-1 kind a crashes 2 unique k scope duration
			HSET :unique k n1-1
			fetch w 1 1000
			lease_note w alone '6 1-1'
			ZADD :leases 1 w`,
		call: "recover 100 3 0", reply: "ok 0 1 0", again: "ok 0 0 0",
		after: "HGET :unique k = n1-1",
	}, {
		claim: "a job that was cancelled ends instead of being handed back",
		given: holding + "ZADD :leases 1 w\nHSET :cancelled n1-1 1",
		call:  "recover 100 3 0", reply: "ok 1 0 0", again: "ok 0 0 0",
		after: "XLEN :normal:returned = 0\nHGET :counts total:cancelled = 1\nEXISTS :cancelled = 0",
	}, {
		claim: "jobs of an unknown worker are not looked for unless it sweeps",
		given: holding + "ZREM :leases w",
		call:  "recover 100 3 0", reply: "ok 0 0 0", unchanged: true,
	}, {
		claim: "a sweep hands back jobs of an unknown worker",
		given: holding + "ZREM :leases w",
		call:  "recover 100 3 1", reply: "ok 1 0 0", again: "ok 0 0 0", full: "OOM",
		after: `XRANGE :normal:returned - + = \S+ kind a args x suspect 1 id n1-1`,
	}, {
		claim: "a tombstone stays until all its jobs are handed back",
		given: "lease_open w 60000 about\n" + plainEntries(3) + "fetch w 3 1000\nZADD :leases 1 w",
		call:  "recover 1 3 0", reply: "ok 1 0 1", again: "ok 1 0 1", advances: true,
		after: "ZRANGE :tombs 0 -1 = w\nXPENDING :normal:fresh workers = 2 2-1 3-1 w 2",
	}, {
		claim: "one call writes some 256 KiB again",
		given: `lease_open w 60000 about
			XADD :normal:fresh 1-1 kind a args @large
			XADD :normal:fresh 2-1 kind a args @large
			XADD :normal:fresh 3-1 kind a args @large
			fetch w 3 1000000
			ZADD :leases 1 w`,
		call: "recover 100 3 0", reply: "ok 2 0 1", again: "ok 1 0 0", advances: true,
		after: "XLEN :normal:fresh = 1",
	}, {
		claim: "an entry that is gone is forgotten",
		given: holding + "ZADD :leases 1 w\nXDEL :normal:fresh 1-1",
		call:  "recover 100 3 0", reply: "ok 0 0 0",
		after: "XPENDING :normal:fresh workers = 0.*",
	}, {
		claim: "an entry with too many fields is dead",
		given: "lease_open w 60000 about\nXADD :normal:fresh 1-1 kind a" + strings.Repeat(" x 1", 100) + "\nfetch w 1 1000\nZADD :leases 1 w",
		call:  "recover 100 3 0", reply: "ok 1 0 0", again: "ok 0 0 0",
		after: "HGET :dead:jobs n1-1 = .*too many fields.*",
	},
}
