package distribute

import "fmt"

// Shippers of the cases are a and b, the file is f, its head's index key is h.

const testLeaseMS = 10_000

func (s scriptRunner) now() string { return s.run(nowScript, target{}) }

func (s scriptRunner) begin(shipper string) string {
	return s.run(beginScript, target{}, shipper, testLeaseMS, modeBatch, "host:1")
}

func (s scriptRunner) beat(shipper string, shipment int) string {
	id := ""
	if shipment > 0 {
		id = "f"
	}
	return s.run(beatScript, target{file: id}, shipper, testLeaseMS, shipment, id, testLeaseMS)
}

func (s scriptRunner) end(shipper string, onlyExpired int) string {
	return s.run(endScript, target{}, shipper, onlyExpired)
}

// admit asks for file f with last as its last shipment.
func (s scriptRunner) admit(shipper string, last, cost int) string {
	index := ""
	if last > 0 {
		index = "f"
	}
	return s.admitFile(shipper, "f", index, last, cost)
}

// admitFile asks for a file whose head the index holds as index.
func (s scriptRunner) admitFile(shipper, id, index string, last, cost int) string {
	return s.admitReserve(shipper, id, index, last, cost, 0)
}

// admitReserve asks for a file that has a reserve.
func (s scriptRunner) admitReserve(shipper, id, index string, last, cost, reserve int) string {
	return s.run(admitScript, target{file: id},
		shipper, id, "h", index, last, "head", cost, 1, reserve, testLeaseMS, 0, "name", "access.log", "codec", "plain", "size", 100, "segment", 100, "unit", 100)
}

// book books a segment of f's first shipment.
func (s scriptRunner) book(shipper string, number, cost int) string {
	return s.bookFile(shipper, "f", number, cost)
}

// bookFile books a segment of a file's first shipment.
func (s scriptRunner) bookFile(shipper, id string, number, cost int) string {
	return s.run(bookScript, target{file: id, shipment: 1}, shipper, 1, id, number, cost)
}

// trim frees segments of f.
func (s scriptRunner) trim(shipment int64, from, to int) string {
	of := target{file: "f", shipment: shipment}
	for n := from; n < to; n++ {
		of.more = append(of.more, s.k.segment("f", shipment, n))
	}
	return s.run(trimScript, of, shipment, "f", from, to)
}

// room is what the window and the file f use, and how much of f is booked and freed.
func (s scriptRunner) room() string {
	file := s.k.file("f")
	return fmt.Sprintf("used %s, held %s, booked %s, freed %s, full %s", s.field(s.k.channel(), "used"), s.field(s.k.held(), "f"),
		s.field(file, "booked"), s.field(file, "freed"), s.field(file, "full"))
}

func (s scriptRunner) complete(shipper string, shipment int64, length int) string {
	return s.run(completeScript, target{file: "f", shipment: shipment}, shipper, shipment, length, "f")
}

func (s scriptRunner) abandon(shipper string, shipment int64) string {
	return s.run(abandonScript, target{file: "f", shipment: shipment}, shipper, shipment, "f", 60_000, 1, "")
}

// abandonWithNote abandons f, which is not expected again, with a note for s and t.
func (s scriptRunner) abandonWithNote(shipper string, shipment int64) string {
	of := target{file: "f", shipment: shipment, more: []string{s.k.subscriber("s").problems(), s.k.subscriber("t").problems()}}
	return s.run(abandonScript, of, shipper, shipment, "f", 60_000, 0, "cut", "s", "t")
}

// notes are the notes for s and t.
func (s scriptRunner) notes() string {
	file := s.k.file("f")
	return s.field(file, "cut:s") + " " + s.field(file, "cut:t") + " " + s.text("SMEMBERS", s.k.subscriber("s").problems()) + " " + s.exists(s.k.subscriber("t").problems())
}

func (s scriptRunner) markDone() string { return s.run(markDoneScript, target{file: "f"}, "f") }

func (s scriptRunner) free(shipment int64, last int) string {
	of := target{file: "f", shipment: shipment, more: []string{s.k.segment("f", shipment, 0)}}
	return s.run(freeScript, of, shipment, "f", last)
}

func (s scriptRunner) forget(before int) string {
	return s.run(forgetScript, target{file: "f"}, "f", before)
}

// away makes a lease one that ended while Redis was away: the last action of a process, the
// end of the lease and the time of the next action were a minute ago, one after the other.
func (s scriptRunner) away(leases, member string) {
	s.t.Helper()
	now, err := s.c.store.now(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	last := now.UnixMilli() - 60_000
	s.do([]any{"HSET", s.k.channel(), "beat", last, "due", last + 6000}, []any{"ZADD", leases, last + 10_000, member})
}

// amnesty is the last action before Redis was away, and the end of the amnesty.
func (s scriptRunner) amnesty() string {
	return withoutTimes(s.field(s.k.channel(), "outage") + " " + s.field(s.k.channel(), "amnesty"))
}

// States, each built on one before it.

func nothing(scriptRunner) {}

func registered(s scriptRunner) {
	s.begin("a")
	s.begin("b")
}

// deletedChannel has shippers that do not know that it was deleted.
func deletedChannel(s scriptRunner) {
	registered(s)
	s.do([]any{"DEL", s.k.channel()})
}

func admitted(s scriptRunner) {
	registered(s)
	s.admit("a", 0, 100)
	s.append(1)
}

// append appends 100 bytes to a shipment.
func (s scriptRunner) append(shipment int64) {
	s.do([]any{"SET", s.k.segment("f", shipment, 0), "content"}, []any{"HSET", s.k.file("f"), "raw", 100})
}

// twoSegments has two of three booked segments of f uploaded, with a part of the third.
func twoSegments(s scriptRunner) {
	admitted(s)
	s.book("a", 1, 100)
	s.book("a", 2, 100)
	s.do([]any{"SET", s.k.segment("f", 1, 1), "content"}, []any{"SET", s.k.segment("f", 1, 2), "content"}, []any{"HSET", s.k.file("f"), "raw", 250})
}

// countedTo is twoSegments, of which subscribers have counted parts.
func countedTo(keep map[string]int) func(scriptRunner) {
	return func(s scriptRunner) {
		twoSegments(s)
		for name, bytes := range keep {
			s.subscribe(name, "words")
			s.do([]any{"HSET", s.k.file("f"), "part:" + name, 1, "keep:" + name, bytes})
		}
	}
}

// withReserves has a window that is full but for the reserve of the oldest file, f.
func withReserves(s scriptRunner) {
	registered(s)
	s.admitReserve("a", "f", "", 0, 100, 400)
	s.admitReserve("b", "g", "f", 0, testWindow-400, 400)
}

// inSmallerWindow is withReserves after the window was made smaller than what is used.
func inSmallerWindow(s scriptRunner) {
	withReserves(s)
	s.do([]any{"HSET", s.k.channel(), "window", 1000})
}

func completed(s scriptRunner) {
	admitted(s)
	s.complete("a", 1, 100)
}

// aStream is an upload that can't be repeated.
func aStream(s scriptRunner) {
	admitted(s)
	s.do([]any{"HSET", s.k.file("f"), "stream", 1})
}

// cutAndFreed is a stream that was cut off, and what was uploaded of it counted.
func cutAndFreed(s scriptRunner) {
	aStream(s)
	s.subscribe("s", "words")
	s.abandon("a", 1)
	s.claim("c1", 1)
	s.seal("c1", 1, 0)
	s.free(1, 1)
}

// streamEnd is how the upload of f ended, what the scripts return to its readers, and whether it is
// expected to be shipped again or freed.
func (s scriptRunner) streamEnd() string {
	file := s.k.file("f")
	return fmt.Sprint(s.field(file, "state"), " ", s.field(file, "cut"), " ", s.text("XRANGE", s.k.fileWake("f", 1), "-", "+"),
		" ", s.exists(s.k.abandoned()), " ", s.exists(s.k.spent()))
}

func abandonedUpload(s scriptRunner) {
	admitted(s)
	s.abandon("a", 1)
}

func freed(s scriptRunner) {
	sealed(s)
	s.free(1, 1)
}

// shippedAgain is counted, freed, shipped and counted again.
func shippedAgain(s scriptRunner) {
	freed(s)
	s.admit("a", 1, 100)
	s.append(2)
	s.complete("a", 2, 100)
	s.claim("c2", 2)
	s.seal("c2", 2, 0)
}

// waiting has a shipper in line for a window that the file fills.
func waiting(s scriptRunner) {
	registered(s)
	s.admit("b", 0, testWindow)
	s.admitFile("a", "g", "f", 0, 100)
}

var shippingScripts = []scriptCase{
	{name: "now: any time", given: nothing, call: scriptRunner.now, want: "TIME", keeps: true},

	{name: "begin: new", given: nothing, call: func(s scriptRunner) string { return s.begin("a") }, want: "1"},
	{
		name: "begin: registered", given: func(s scriptRunner) { registered(s); s.expire(s.k.leases(), "a") },
		call: func(s scriptRunner) string { return s.begin("a") }, want: "1",
		look: func(s scriptRunner) string {
			return s.field(s.k.channel(), "shipments") + " " + s.score(s.k.leases(), "a")
		}, sees: "2 TIME",
	},

	{name: "begin: deleted channel", given: deletedChannel, call: func(s scriptRunner) string { return s.begin("a") }, want: "0", keeps: true},

	{
		name: "beat: alone", given: func(s scriptRunner) { registered(s); s.expire(s.k.leases(), "a") },
		call: func(s scriptRunner) string { return s.beat("a", 0) }, want: "1",
		look: func(s scriptRunner) string { return s.score(s.k.leases(), "a") }, sees: "TIME",
	},
	{
		name: "beat: with an upload", given: func(s scriptRunner) { admitted(s); s.expire(s.k.uploads(), "f") },
		call: func(s scriptRunner) string { return s.beat("a", 1) }, want: "1",
		look: func(s scriptRunner) string { return s.score(s.k.uploads(), "f") }, sees: "TIME",
	},
	{
		name: "beat: another's upload", given: func(s scriptRunner) { admitted(s); s.expire(s.k.uploads(), "f") },
		call: func(s scriptRunner) string { return s.beat("b", 1) }, want: "1", keeps: true,
		look: func(s scriptRunner) string { return s.score(s.k.uploads(), "f") }, sees: "1",
	},
	{
		name: "beat: another shipment", given: func(s scriptRunner) { admitted(s); s.expire(s.k.uploads(), "f") },
		call: func(s scriptRunner) string { return s.beat("a", 2) }, want: "1", keeps: true,
		look: func(s scriptRunner) string { return s.score(s.k.uploads(), "f") }, sees: "1",
	},
	{
		name: "beat: Redis was away", given: func(s scriptRunner) { admitted(s); s.away(s.k.uploads(), "f") },
		call: func(s scriptRunner) string { return s.beat("a", 1) }, want: "1",
		look: scriptRunner.amnesty, sees: "TIME TIME",
	},
	{name: "beat: taken for dead", given: nothing, call: func(s scriptRunner) string { return s.beat("a", 0) }, want: "0", keeps: true},

	{name: "end: done", given: registered, call: func(s scriptRunner) string { return s.end("a", 0) }, want: "1", again: "0"},
	{name: "end: deleted channel", given: deletedChannel, call: func(s scriptRunner) string { return s.end("a", 0) }, want: "0", keeps: true},
	{name: "end: lease not run out", given: registered, call: func(s scriptRunner) string { return s.end("a", 1) }, want: "0", keeps: true},
	{
		name: "end: lease run out", given: func(s scriptRunner) { registered(s); s.expire(s.k.leases(), "a") },
		call: func(s scriptRunner) string { return s.end("a", 1) }, want: "1", again: "0",
	},
	{
		name: "end: lease run out while Redis was away", given: func(s scriptRunner) { registered(s); s.away(s.k.leases(), "a") },
		call: func(s scriptRunner) string { return s.end("a", 1) }, want: "0",
		look: scriptRunner.amnesty, sees: "TIME TIME",
	},
	{
		name: "end: in the line", given: waiting, call: func(s scriptRunner) string { return s.end("a", 0) }, want: "1", again: "0",
		look: func(s scriptRunner) string { return s.exists(s.k.line()) }, sees: "0",
	},

	{name: "admit: new file", given: registered, call: func(s scriptRunner) string { return s.admit("a", 0, 100) }, want: "[admitted 1 TIME]"},
	{name: "admit: deleted channel", given: deletedChannel, call: func(s scriptRunner) string { return s.admit("a", 0, 100) }, want: "gone", keeps: true},
	{
		name: "admit: as large as the window", given: registered,
		call: func(s scriptRunner) string { return s.admit("a", 0, testWindow) }, want: "[admitted 1 TIME]",
	},
	{
		name: "admit: larger than the window", given: registered, keeps: true,
		call: func(s scriptRunner) string { return s.admit("a", 0, testWindow+1) }, want: fmt.Sprintf("[large %d]", testWindow),
	},
	{
		name: "admit: to a channel that is being deleted", given: func(s scriptRunner) {
			registered(s)
			s.do([]any{"HSET", s.k.channel(), "window", 0})
		},
		call: func(s scriptRunner) string { return s.admit("a", 0, 100) }, want: "[large 0]", keeps: true,
	},
	{
		name: "admit: index changed", given: registered, keeps: true, want: "changed",
		call: func(s scriptRunner) string { return s.admitFile("a", "f", "other", 0, 100) },
	},
	{
		name: "admit: shipment changed", given: registered, keeps: true, want: "changed",
		call: func(s scriptRunner) string { return s.admitFile("a", "f", "", 1, 100) },
	},
	{
		name: "admit: another uploads it", given: admitted, keeps: true, want: "changed",
		call: func(s scriptRunner) string { return s.admit("b", 1, 100) },
	},
	{
		name: "admit: not counted yet", given: completed, keeps: true, want: "changed",
		call: func(s scriptRunner) string { return s.admit("b", 1, 100) },
	},
	{
		name: "admit: not freed yet", given: sealed, keeps: true, want: "changed",
		call: func(s scriptRunner) string { return s.admit("b", 1, 100) },
	},
	{
		name: "admit: changed in the line", given: waiting,
		call: func(s scriptRunner) string { return s.admitFile("a", "g", "other", 0, 100) }, want: "changed",
		look: func(s scriptRunner) string { return s.exists(s.k.line()) }, sees: "0",
	},
	{
		name: "admit: too large in the line", given: func(s scriptRunner) {
			waiting(s)
			s.do([]any{"HSET", s.k.channel(), "window", 99})
		},
		call: func(s scriptRunner) string { return s.admitFile("a", "g", "f", 0, 100) }, want: "[large 99]",
		look: func(s scriptRunner) string { return s.exists(s.k.line()) }, sees: "0",
	},
	{
		name: "admit: window full", given: func(s scriptRunner) { registered(s); s.admit("b", 0, testWindow-99) },
		call: func(s scriptRunner) string { return s.admitFile("a", "g", "f", 0, 100) }, want: fmt.Sprintf("[full %d]", testWindow-99),
	},
	{
		name: "admit: another asked first", given: func(s scriptRunner) { waiting(s); s.abandon("b", 1); s.free(1, 1) },
		call: func(s scriptRunner) string { return s.admitFile("b", "i", "f", 0, 100) }, want: "[line 0]",
	},
	{
		name: "admit: a dead shipper asked first", given: func(s scriptRunner) { waiting(s); s.abandon("b", 1); s.free(1, 1); s.expire(s.k.leases(), "a") },
		call: func(s scriptRunner) string { return s.admitFile("b", "i", "f", 0, 100) }, want: "[admitted 1 TIME]",
		look: func(s scriptRunner) string { return s.exists(s.k.line()) }, sees: "0",
	},
	{name: "admit: counted and freed", given: freed, call: func(s scriptRunner) string { return s.admit("b", 1, 100) }, want: "[admitted 2 TIME]"},
	{
		name: "admit: abandoned and freed", given: func(s scriptRunner) { abandonedUpload(s); s.free(1, 1) },
		call: func(s scriptRunner) string { return s.admit("b", 1, 100) }, want: "[admitted 2 TIME]",
		look: func(s scriptRunner) string { return s.exists(s.k.abandoned()) }, sees: "0",
	},

	{
		name: "admit: reserve larger than the window", given: registered, keeps: true,
		call: func(s scriptRunner) string { return s.admitReserve("a", "f", "", 0, 100, testWindow+1) }, want: fmt.Sprintf("[large %d]", testWindow),
	},
	{
		name: "admit: room but for the reserve of the oldest file", given: withReserves,
		call: func(s scriptRunner) string { return s.admitFile("a", "i", "f g", 0, 101) }, want: fmt.Sprintf("[full %d]", testWindow-300),
	},
	{
		name: "admit: room with the reserve of the oldest file", given: func(s scriptRunner) { withReserves(s); s.abandon("a", 1); s.free(1, 1) },
		call: func(s scriptRunner) string { return s.admitFile("a", "i", "f g", 0, 400) }, want: "[admitted 1 TIME]",
	},
	{
		name: "admit: room when the oldest file is uploaded", given: func(s scriptRunner) {
			withReserves(s)
			s.subscribe("s", "words")
			s.append(1)
			s.complete("a", 1, 100)
		},
		call: func(s scriptRunner) string { return s.admitFile("a", "i", "f g", 0, 300) }, want: "[admitted 1 TIME]",
	},
	{
		name: "admit: behind a file of a clock that was ahead", given: func(s scriptRunner) {
			admitted(s)
			s.do([]any{"ZADD", s.k.open(), 9e12, "f"})
		},
		call: func(s scriptRunner) string { return s.admitFile("b", "g", "f", 0, 100) }, want: "[admitted 1 9000000000001]",
	},

	{
		name: "book: room", given: admitted, call: func(s scriptRunner) string { return s.book("a", 1, 100) }, want: "booked",
		look: scriptRunner.room, sees: "used 200, held 200, booked 2, freed 0, full <nil>",
	},
	{name: "book: by another", given: admitted, call: func(s scriptRunner) string { return s.book("b", 1, 100) }, want: "lost", keeps: true},
	{name: "book: abandoned", given: abandonedUpload, call: func(s scriptRunner) string { return s.book("a", 1, 100) }, want: "lost", keeps: true},
	{name: "book: complete", given: completed, call: func(s scriptRunner) string { return s.book("a", 1, 100) }, want: "lost", keeps: true},
	{name: "book: another shipment", given: shippedAgain, call: func(s scriptRunner) string { return s.book("a", 1, 100) }, want: "lost", keeps: true},
	{name: "book: a gap", given: admitted, call: func(s scriptRunner) string { return s.book("a", 2, 100) }, want: "lost", keeps: true},
	{
		name: "book: window full", given: admitted, call: func(s scriptRunner) string { return s.book("a", 1, testWindow-99) }, want: "[full 100]",
		look: func(s scriptRunner) string { return s.room() + ", " + s.text("XRANGE", s.k.fileWake("f", 1), "-", "+") }, sees: "used 100, held 100, booked 1, freed 0, full 100, [[100-1 [full 1]]]",
	},
	{
		name: "book: full is over", given: func(s scriptRunner) { admitted(s); s.book("a", 1, testWindow) },
		call: func(s scriptRunner) string { return s.book("a", 1, 100) }, want: "booked",
		look: scriptRunner.room, sees: "used 200, held 200, booked 2, freed 0, full <nil>",
	},
	{
		name: "book: the reserve of the oldest file, by that", given: withReserves,
		call: func(s scriptRunner) string { return s.book("a", 1, 300) }, want: "booked",
	},
	{
		name: "book: the reserve of the oldest file, by another", given: withReserves,
		call: func(s scriptRunner) string { return s.bookFile("b", "g", 1, 1) }, want: fmt.Sprintf("[full %d]", testWindow-300),
	},
	{
		name: "book: the reserve of the oldest file, in a smaller window", given: inSmallerWindow,
		call: func(s scriptRunner) string { return s.book("a", 1, 300) }, want: "booked",
	},
	{
		name:  "book: the reserve before a file that is done is freed",
		given: func(s scriptRunner) { inSmallerWindow(s); s.do([]any{"SADD", s.k.spent(), "done"}) },
		call:  func(s scriptRunner) string { return s.book("a", 1, 300) }, want: fmt.Sprintf("[full %d]", testWindow-300),
	},
	{
		name: "book: more than the reserve, in a smaller window", given: inSmallerWindow,
		call: func(s scriptRunner) string { return s.book("a", 1, 301) }, want: fmt.Sprintf("[full %d]", testWindow-300),
	},
	{
		name: "book: a younger file, in a smaller window", given: inSmallerWindow,
		call: func(s scriptRunner) string { return s.bookFile("b", "g", 1, 1) }, want: fmt.Sprintf("[full %d]", testWindow-300),
	},
	{
		name: "book: window smaller than the reserve", given: func(s scriptRunner) { withReserves(s); s.do([]any{"HSET", s.k.channel(), "window", 399}) },
		call: func(s scriptRunner) string { return s.book("a", 1, 1) }, want: "[large 399]", keeps: true,
	},
	{
		name: "book: the reserve while others wait to admit a file", given: func(s scriptRunner) { withReserves(s); s.admitFile("b", "i", "f g", 0, 400) },
		call: func(s scriptRunner) string { return s.book("a", 1, 300) }, want: "booked",
	},
	{
		name: "book: more than the reserve while others wait", given: func(s scriptRunner) { admitted(s); s.admitFile("b", "i", "f", 0, testWindow) },
		call: func(s scriptRunner) string { return s.book("a", 1, 100) }, want: "[line 100]",
	},

	{
		name: "trim: counted by all", given: countedTo(map[string]int{"s": 200, "t": 250}), call: func(s scriptRunner) string { return s.trim(1, 0, 2) }, want: "1", again: "0",
		look: func(s scriptRunner) string {
			return s.room() + " " + s.exists(s.k.segment("f", 1, 0), s.k.segment("f", 1, 1)) + s.exists(s.k.segment("f", 1, 2))
		}, sees: "used 100, held 100, booked 3, freed 2, full <nil> 01",
	},
	{name: "trim: one needs it", given: countedTo(map[string]int{"s": 199, "t": 250}), call: func(s scriptRunner) string { return s.trim(1, 0, 2) }, want: "0", keeps: true},
	{
		name: "trim: one has counted nothing", given: func(s scriptRunner) { countedTo(map[string]int{"s": 250})(s); s.subscribe("t", "words") },
		call: func(s scriptRunner) string { return s.trim(1, 0, 1) }, want: "0", keeps: true,
	},
	{
		name: "trim: one came late", given: func(s scriptRunner) {
			countedTo(map[string]int{"s": 250})(s)
			s.trim(1, 0, 1)
			s.subscribe("t", "words")
		}, call: func(s scriptRunner) string { return s.trim(1, 1, 2) }, want: "1", again: "0",
	},
	{
		name: "trim: one has finished", given: func(s scriptRunner) {
			countedTo(map[string]int{"s": 0, "t": 250})(s)
			s.do([]any{"HSET", s.k.file("f"), "ship:s", 1})
		}, call: func(s scriptRunner) string { return s.trim(1, 0, 2) }, want: "1", again: "0",
	},
	{name: "trim: a segment that is being uploaded", given: countedTo(map[string]int{"s": 400}), call: func(s scriptRunner) string { return s.trim(1, 0, 3) }, want: "0", keeps: true},
	{name: "trim: no subscriber", given: twoSegments, call: func(s scriptRunner) string { return s.trim(1, 0, 1) }, want: "0", keeps: true},
	{name: "trim: not the first one", given: countedTo(map[string]int{"s": 250}), call: func(s scriptRunner) string { return s.trim(1, 1, 2) }, want: "0", keeps: true},
	{name: "trim: another shipment", given: countedTo(map[string]int{"s": 250}), call: func(s scriptRunner) string { return s.trim(2, 0, 1) }, want: "0", keeps: true},
	{name: "trim: abandoned", given: func(s scriptRunner) { countedTo(map[string]int{"s": 250})(s); s.abandon("a", 1) }, call: func(s scriptRunner) string { return s.trim(1, 0, 1) }, want: "0", keeps: true},

	{name: "complete: all uploaded", given: admitted, call: func(s scriptRunner) string { return s.complete("a", 1, 100) }, want: "1"},
	{
		name: "complete: no subscriber reads on", given: cutShort, call: func(s scriptRunner) string { return s.complete("a", 1, 100) }, want: "2",
		look: func(s scriptRunner) string { return s.field(s.k.file("f"), "state") + s.text("SMEMBERS", s.k.spent()) }, sees: "done[f]",
	},
	{name: "complete: by another", given: admitted, call: func(s scriptRunner) string { return s.complete("b", 1, 100) }, want: "0", keeps: true},
	{name: "complete: another shipment", given: admitted, call: func(s scriptRunner) string { return s.complete("a", 2, 100) }, want: "0", keeps: true},
	{name: "complete: another length", given: admitted, call: func(s scriptRunner) string { return s.complete("a", 1, 99) }, want: "0", keeps: true},
	{name: "complete: abandoned", given: abandonedUpload, call: func(s scriptRunner) string { return s.complete("a", 1, 100) }, want: "0", keeps: true},
	{
		name: "complete: cut off", given: func(s scriptRunner) {
			admitted(s)
			s.do([]any{"HSET", s.k.file("f"), "state", "uploaded", "cut", "its shipper died"})
		},
		call: func(s scriptRunner) string { return s.complete("a", 1, 100) }, want: "0", keeps: true,
	},
	{name: "complete: counted and freed", given: freed, call: func(s scriptRunner) string { return s.complete("a", 1, 100) }, want: "2", keeps: true},
	{name: "complete: cut off, counted and freed", given: cutAndFreed, call: func(s scriptRunner) string { return s.complete("a", 1, 100) }, want: "0", keeps: true},
	{
		name: "complete: after one that was cut off", given: func(s scriptRunner) {
			cutAndFreed(s)
			s.admit("a", 1, 100)
			s.append(2)
		}, call: func(s scriptRunner) string { return s.complete("a", 2, 100) }, want: "1",
	},
	{name: "complete: counted already", given: sealed, call: func(s scriptRunner) string { return s.complete("a", 1, 100) }, want: "2", keeps: true},

	{name: "abandon: by its shipper", given: admitted, call: func(s scriptRunner) string { return s.abandon("a", 1) }, want: "1"},
	{name: "abandon: by another", given: admitted, call: func(s scriptRunner) string { return s.abandon("b", 1) }, want: "0", keeps: true},
	{name: "abandon: lease not run out", given: admitted, call: func(s scriptRunner) string { return s.abandon("", 1) }, want: "0", keeps: true},
	{
		name: "abandon: lease run out", given: func(s scriptRunner) { admitted(s); s.expire(s.k.uploads(), "f") },
		call: func(s scriptRunner) string { return s.abandon("", 1) }, want: "1",
	},
	{
		name: "abandon: lease run out while Redis was away", given: func(s scriptRunner) { admitted(s); s.away(s.k.uploads(), "f") },
		call: func(s scriptRunner) string { return s.abandon("", 1) }, want: "0",
		look: scriptRunner.amnesty, sees: "TIME TIME",
	},
	{
		name: "abandon: lease run out before Redis was away", given: func(s scriptRunner) { admitted(s); s.away(s.k.uploads(), "f"); s.expire(s.k.uploads(), "f") },
		call: func(s scriptRunner) string { return s.abandon("", 1) }, want: "1",
	},
	{
		name: "abandon: not renewed in the amnesty",
		given: func(s scriptRunner) {
			admitted(s)
			s.away(s.k.uploads(), "f")
			s.abandon("", 1)
			s.do([]any{"HSET", s.k.channel(), "amnesty", 1})
		},
		call: func(s scriptRunner) string { return s.abandon("", 1) }, want: "1",
	},
	{name: "abandon: another shipment", given: admitted, call: func(s scriptRunner) string { return s.abandon("a", 2) }, want: "0", keeps: true},
	{
		name: "abandon: counted in part by one", given: func(s scriptRunner) { inParts(s); s.subscribe("t", "words") },
		call: func(s scriptRunner) string { return s.abandonWithNote("a", 1) }, want: "2",
		look: scriptRunner.notes, sees: "cut <nil> [f] 0",
	},
	{
		name: "abandon: again, with a note", given: func(s scriptRunner) { inParts(s); s.abandon("a", 1) },
		call: func(s scriptRunner) string { return s.abandonWithNote("a", 1) }, want: "2",
		look: scriptRunner.notes, sees: "cut <nil> [f] 0",
	},
	{
		name: "abandon: not counted", given: claimedEarly,
		call: func(s scriptRunner) string { return s.abandonWithNote("a", 1) }, want: "1",
		look: scriptRunner.notes, sees: "<nil> <nil> [] 0",
	},
	{
		name: "abandon: a stream", given: aStream, call: func(s scriptRunner) string { return s.abandon("a", 1) }, want: "0",
		look: scriptRunner.streamEnd, sees: "uploaded its shipper stopped or died before its end [[100-2 [complete 1]]] 0 0",
	},
	{
		name: "abandon: a stream, with a reason", given: aStream, call: func(s scriptRunner) string { return s.abandonWithNote("a", 1) }, want: "0",
		look: scriptRunner.streamEnd, sees: "uploaded cut [[100-2 [complete 1]]] 0 0",
	},
	{
		name: "abandon: a stream that no subscriber reads on", given: func(s scriptRunner) { cutShort(s); s.do([]any{"HSET", s.k.file("f"), "stream", 1}) },
		call: func(s scriptRunner) string { return s.abandon("a", 1) }, want: "0",
		look: func(s scriptRunner) string { return s.field(s.k.file("f"), "state") + s.text("SMEMBERS", s.k.spent()) }, sees: "done[f]",
	},
	{name: "abandon: a stream, by another", given: aStream, call: func(s scriptRunner) string { return s.abandon("", 1) }, want: "0", keeps: true},
	{name: "abandon: complete", given: completed, call: func(s scriptRunner) string { return s.abandon("a", 1) }, want: "0", keeps: true},

	{name: "markdone: other subscriber is gone", given: func(s scriptRunner) { sealedByOne(s); s.unsubscribe("t") }, call: scriptRunner.markDone, want: "1"},
	{name: "markdone: other subscriber counts", given: sealedByOne, call: scriptRunner.markDone, want: "0", keeps: true},
	{name: "markdone: no subscriber", given: completed, call: scriptRunner.markDone, want: "0", keeps: true},
	{name: "markdone: uploading", given: admitted, call: scriptRunner.markDone, want: "0", keeps: true},

	{
		name: "free: what trim has left", given: func(s scriptRunner) {
			countedTo(map[string]int{"s": 250})(s)
			s.trim(1, 0, 2)
			s.abandon("a", 1)
		}, call: func(s scriptRunner) string { return s.free(1, 1) }, want: "1", again: "0",
		look: scriptRunner.room, sees: "used 0, held <nil>, booked <nil>, freed <nil>, full <nil>",
	},
	{name: "free: done", given: sealed, call: func(s scriptRunner) string { return s.free(1, 1) }, want: "1", again: "0"},
	{name: "free: abandoned", given: abandonedUpload, call: func(s scriptRunner) string { return s.free(1, 1) }, want: "1", again: "0"},
	{
		name: "free: not the last segments", given: sealed, call: func(s scriptRunner) string { return s.free(1, 0) }, want: "0",
		look: func(s scriptRunner) string { return s.field(s.k.channel(), "used") + " " + s.exists(s.k.spent()) }, sees: "100 1",
	},
	{name: "free: an earlier shipment", given: shippedAgain, call: func(s scriptRunner) string { return s.free(1, 1) }, want: "0", keeps: true},
	{name: "free: uploading", given: admitted, call: func(s scriptRunner) string { return s.free(1, 1) }, want: "0", keeps: true},
	{name: "free: not counted yet", given: completed, call: func(s scriptRunner) string { return s.free(1, 1) }, want: "0", keeps: true},

	{
		name: "forget: long ago", given: func(s scriptRunner) {
			freed(s)
			s.expire(s.k.files(), "f")
			s.do([]any{"HSET", s.k.heads(), "h", "e f g"})
		},
		call: func(s scriptRunner) string { return s.forget(1) }, want: "1", again: "0",
		look: func(s scriptRunner) string { return s.field(s.k.heads(), "h") }, sees: "e g",
	},
	{
		name: "forget: the only one of its head", given: func(s scriptRunner) { freed(s); s.expire(s.k.files(), "f") },
		call: func(s scriptRunner) string { return s.forget(1) }, want: "1", again: "0",
		look: func(s scriptRunner) string { return s.exists(s.k.heads()) }, sees: "0",
	},
	{name: "forget: touched lately", given: freed, call: func(s scriptRunner) string { return s.forget(1) }, want: "0", keeps: true},
	{
		name: "forget: in Redis", given: func(s scriptRunner) { completed(s); s.expire(s.k.files(), "f") },
		call: func(s scriptRunner) string { return s.forget(1) }, want: "0", keeps: true,
	},
	{name: "forget: unknown", given: nothing, call: func(s scriptRunner) string { return s.forget(1) }, want: "0", keeps: true},
}
