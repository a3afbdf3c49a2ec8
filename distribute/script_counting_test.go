package distribute

import "fmt"

// Subscribers of the cases are s and t; the cases call for s. Claims are c1
// and c2.

func (s scriptRunner) subscribe(name, settings string) string {
	return s.run(subscribeScript, target{subscriber: name}, name, settings)
}

// resetTo begins an epoch of s, where the one before was read as epoch.
func (s scriptRunner) resetTo(epoch, next string) string {
	return s.run(resetScript, target{subscriber: "s"}, "s", epoch, next)
}

// countedFile has f counted by s and freed.
func countedFile(s scriptRunner) {
	sealed(s)
	s.free(1, 1)
}

// reset has the first reset of s begun, after it had counts.
func reset(s scriptRunner) {
	countedFile(s)
	s.resetTo("", "1")
}

// afterReset has f claimed by s in its next epoch, with the counts of a commit that is sealed in it.
func afterReset(s scriptRunner) {
	reset(s)
	s.removed("reset 1")
	s.run(admitScript, target{file: "f"}, "a", "f", "h", "f", 1, "head", 100, 1, 0, testLeaseMS, 1, "name", "f", "codec", "plain", "size", 100, "segment", 100, "unit", 100)
	s.claim("c1", 2)
}

// removed notes that a removal of s is complete.
func (s scriptRunner) removed(number string) string {
	return s.run(removedScript, target{}, "s", number)
}

// discard deletes the groups of s and a field of f.
func (s scriptRunner) discard(number string) string {
	return s.run(discardScript, target{file: "f", more: []string{s.k.subscriber("s").groups()}}, "s", number, "ship:s")
}

// leftOfS is what discard deletes.
func (s scriptRunner) leftOfS() string {
	return s.exists(s.k.subscriber("s").groups()) + " " + s.field(s.k.file("f"), "ship:s")
}

// snapshot begins a report that holds the totals for an hour.
func (s scriptRunner) snapshot(subscriber string) string {
	s.t.Helper()
	reply, err := s.c.call(s.t.Context(), snapshotScript, target{subscriber: subscriber}, subscriber, "report", 3_600_000)
	if err != nil {
		s.t.Fatal(err)
	}
	if reply.Len() == 0 {
		return "none"
	}
	return fmt.Sprint(reply.Text(0), " ", reply.List(2).Texts(), " ", reply.List(1).Len())
}

func (s scriptRunner) unsubscribe(name string) string {
	return s.run(unsubscribeScript, target{subscriber: name}, name)
}

// claim claims a shipment of f, and after it the first one of other files.
func (s scriptRunner) claim(claim string, shipment int, more ...string) string {
	of := target{subscriber: "s", more: []string{s.k.file("f"), s.k.subscriber("s").staged("f")}}
	args := []any{"s", claim, testLeaseMS, 1 + len(more), "f", shipment}
	for _, id := range more {
		of.more, args = append(of.more, s.k.file(id), s.k.subscriber("s").staged(id)), append(args, id, 1)
	}
	return s.run(claimScript, of, args...)
}

// claimFor claims f's first shipment for a subscriber, and for other subscribers.
func (s scriptRunner) claimFor(subscriber, claim string, others ...string) string {
	of := target{subscriber: subscriber, more: []string{s.k.file("f"), s.k.subscriber(subscriber).staged("f")}}
	args := []any{subscriber, claim, testLeaseMS, 1, "f", 1}
	for _, other := range others {
		of.more, args = append(of.more, s.k.subscriber(other).claims(), s.k.subscriber(other).owners(), s.k.subscriber(other).staged("f")), append(args, other, "words")
	}
	return s.run(claimScript, of, args...)
}

func (s scriptRunner) renew(claim string) string {
	return s.run(renewScript, target{subscriber: "s"}, "s", testLeaseMS, "f", claim)
}

func (s scriptRunner) release(claim string) string {
	return s.run(releaseScript, target{subscriber: "s", file: "f"}, "f", claim)
}

// stage stages cells for the first commit of f's first shipment.
func (s scriptRunner) stage(claim string) string { return s.stagePart(claim, 1, 1) }

// stagePart stages cells under the number of a commit.
func (s scriptRunner) stagePart(claim string, shipment, commit int) string {
	return s.run(stageScript, target{subscriber: "s", file: "f"}, "s", "", "f", shipment, claim, commit, 0, 0, "day\tUS", 2, "day\tDE", 3)
}

// stageDays stages a cell of a day that the subscriber may have, and one of another day.
func (s scriptRunner) stageDays() string {
	return s.run(stageScript, target{subscriber: "s", file: "f"}, "s", "", "f", 1, "c1", 1, 2, 0, "2026-11-01", "2026-11-02",
		"2026-11-01\tUS", 2, "accounts\t2026-11-01 counted", 2, "2026-11-02\tDE", 3)
}

// checkDay checks whether the subscriber keeps a day of which a commit has no cells.
func (s scriptRunner) checkDay() string {
	return s.run(stageScript, target{subscriber: "s", file: "f"}, "s", "", "f", 1, "c1", 1, 0, 1, "2026-11-01")
}

// stagedDays is what that leaves.
func (s scriptRunner) stagedDays() string {
	return s.text("HLEN", s.k.subscriber("s").staged("f")) + " of " + s.text("ZCARD", s.k.subscriber("s").days())
}

// manyDays adds n days to s.
func (s scriptRunner) manyDays(n int) {
	s.do([]any{"EVAL", "for i = 1, tonumber(ARGV[1]) do redis.call('ZADD', KEYS[1], 0, i) end", 1, s.k.subscriber("s").days(), n})
}

// seal seals so many cells as the first and last part, with a note on the file.
func (s scriptRunner) seal(claim string, shipment, cells int) string {
	return s.sealLast(claim, shipment, 1, cells)
}

// sealLast seals the last part under the number of a commit.
func (s scriptRunner) sealLast(claim string, shipment, commit, cells int) string {
	return s.run(sealScript, target{subscriber: "s", file: "f", sealed: commitName("f", int64(shipment), int64(commit))},
		"s", "", "f", shipment, claim, commit, 1, "", cells, 2, fieldEnd, 100, fieldNote, "damaged", "lines", 5)
}

// sealCut seals the last part under the number of a commit, whatever follows.
func (s scriptRunner) sealCut(claim string, commit, cells int) string {
	return s.run(sealScript, target{subscriber: "s", file: "f", sealed: commitName("f", 1, int64(commit))},
		"s", "", "f", 1, claim, commit, 2, "", cells, 1, fieldNote, "damaged", "lines", 5)
}

// sealPart seals a part that is not the last one, under the number of a commit, with a
// checkpoint.
func (s scriptRunner) sealPart(claim string, shipment, commit, cells int) string {
	return s.run(sealScript, target{subscriber: "s", file: "f", sealed: commitName("f", int64(shipment), int64(commit))},
		"s", "", "f", shipment, claim, commit, 0, fmt.Sprintf("place %d", commit), cells, 1, fieldResume, 100*commit, "lines", 5)
}

// parts is how far s has counted the file, with all that a part changes.
func (s scriptRunner) parts() string {
	file := s.k.file("f")
	return fmt.Sprintf("commit %s of %s at %s, %s lines, sealed %s, %s", s.field(file, "commit:s"), s.field(file, "part:s"), s.field(file, "resume:s"),
		s.field(s.k.subscriber("s").record(), "lines"), s.text("SCARD", s.k.subscriber("s").sealed()), s.text("GET", s.k.subscriber("s").checkpoint("f")))
}

// fold folds cells of f's first shipment.
func (s scriptRunner) fold(members ...string) string { return s.foldBounded(0, members...) }

// foldBounded does it where the day has a bound of its cells.
func (s scriptRunner) foldBounded(bound int, members ...string) string {
	args, places := []any{"f:1:1", "s", "", len(members)}, []any{}
	for _, member := range members {
		args, places = append(args, "day\t"+member), append(places, member, 1)
	}
	of := target{subscriber: "s", sealed: "f:1:1", more: []string{s.k.subscriber("s").totals("day")}}
	return s.run(foldScript, of, append(append(args, places...), "day", bound)...)
}

// oldDays has the accounts of some days.
func oldDays(s scriptRunner) {
	subscribed(s)
	s.do([]any{"HSET", s.k.subscriber("s").record(), "lines", 20, "counted", 15, "unknown", 5, "private", 2, "expired", 1})
	for day, counted := range map[string]int{"2026-11-01": 4, "2026-11-02": 5, "2026-11-03": 6} {
		s.do([]any{"ZADD", s.k.subscriber("s").days(), 0, day}, []any{"ZADD", s.k.subscriber("s").totals("accounts"), counted, day + " counted"})
		s.do([]any{"ZADD", s.k.subscriber("s").groups(), 0, day}, []any{"ZADD", s.k.subscriber("s").totals(day), counted, "US"})
	}
	s.do([]any{"ZADD", s.k.subscriber("s").totals("accounts"), 5, "2026-11-01 unknown", 2, "2026-11-01 private"})
}

// expire sets the oldest day.
func (s scriptRunner) expireDays(oldest string) string {
	return s.run(expireScript, target{subscriber: "s"}, oldest)
}

// account is what that changes.
func (s scriptRunner) account() string {
	return s.text("HMGET", s.k.subscriber("s").record(), "counted", "unknown", "private", "expired", "oldest") + " " +
		s.text("ZRANGE", s.k.subscriber("s").days(), 0, -1) + s.text("ZRANGE", s.k.subscriber("s").totals("accounts"), 0, -1)
}

// drop deletes the cells of the first day.
func (s scriptRunner) drop(oldest string) string {
	return s.run(dropScript, target{subscriber: "s", more: []string{s.k.subscriber("s").totals("2026-11-01")}}, oldest, 1, "2026-11-01")
}

// dropped is what is left of it.
func (s scriptRunner) dropped() string {
	return s.exists(s.k.subscriber("s").totals("2026-11-01")) + " " + s.text("ZRANGE", s.k.subscriber("s").groups(), 0, -1) + " " + s.field(s.k.subscriber("s").record(), "dropped")
}

// sealedOld has sealed cells of a day that is not kept any more.
func sealedOld(s scriptRunner) {
	oldDays(s)
	s.expireDays("2026-11-02")
	s.do([]any{"SADD", s.k.subscriber("s").sealed(), "f:1:1"},
		[]any{"HSET", s.k.subscriber("s").sealedCells("f:1:1"), "accounts\t2026-11-01 unknown", 3, "accounts\t2026-11-01 private", 1, "2026-11-01\tUS", 3, "2026-11-02\tUS", 2})
}

// foldOld folds them.
func (s scriptRunner) foldOld() string {
	of := target{subscriber: "s", sealed: "f:1:1", more: []string{s.k.subscriber("s").totals("accounts"), s.k.subscriber("s").totals("2026-11-01"), s.k.subscriber("s").totals("2026-11-02")}}
	return s.run(foldScript, of, "f:1:1", "s", "", 4, "accounts\t2026-11-01 unknown", "accounts\t2026-11-01 private", "2026-11-01\tUS", "2026-11-02\tUS",
		"2026-11-01 unknown", 1, "2026-11-01 private", 1, "US", 2, "US", 3, "accounts", 0, "2026-11-01", 0, "2026-11-02", 0)
}

// negative has a sealed cell with negative numbers in two series.
func negative(moved, requests, bytes int) func(scriptRunner) {
	return func(s scriptRunner) {
		subscribed(s)
		s.do([]any{"SADD", s.k.subscriber("s").sealed(), "f:1:1"}, []any{"HSET", s.k.subscriber("s").sealedCells("f:1:1"), "day\ta", -1, "day 0 bytes\ta", -100})
		s.do([]any{"ZADD", s.k.subscriber("s").groups(), moved, "day"}, []any{"ZADD", s.k.subscriber("s").totals("day"), requests, "a", 5, "x", 9, "y"},
			[]any{"ZADD", s.k.subscriber("s").totals("day 0 bytes"), bytes, "a", 50, "x", 900, "y"})
	}
}

// foldNegative folds it; its numbers may have been moved into x or y.
func (s scriptRunner) foldNegative() string {
	of := target{subscriber: "s", sealed: "f:1:1", more: []string{s.k.subscriber("s").totals("day"), s.k.subscriber("s").totals("day 0 bytes")}}
	return s.run(foldScript, of, "f:1:1", "s", "", 2, "day\ta", "day 0 bytes\ta", "a", 1, "a", 2, "day", 0, "day 0 bytes", 0, "x", "y")
}

// merge moves cells of a day that has a bound, in two series, into the cell "x".
func (s scriptRunner) merge(bound int, members ...string) string {
	args := []any{"s", "day", bound}
	for _, member := range members {
		args = append(args, member, "x")
	}
	return s.run(mergeScript, target{subscriber: "s", more: []string{s.k.subscriber("s").totals("day"), s.k.subscriber("s").totals("day 0 bytes")}}, args...)
}

// merged is what moving cells changes.
func (s scriptRunner) merged() string {
	return fmt.Sprintf("%v %v, moved %s, crowded %s", s.totalsOf("day"), s.totalsOf("day 0 bytes"),
		s.score(s.k.subscriber("s").groups(), "day"), s.text("SMEMBERS", s.k.subscriber("s").crowded()))
}

// totalsOf reads the totals of a group.
func (s scriptRunner) totalsOf(group string) map[string]int64 {
	counts, err := s.c.totals("s").counts(s.t.Context(), group, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return counts
}

// counts reads the counts of a day and of f's first shipment.
func (s scriptRunner) counts() string {
	totals := s.c.totals("s")
	sealed, _, err := totals.sealedCells(s.t.Context(), []string{"f:1:1"})
	if err != nil {
		s.t.Fatal(err)
	}
	counts, err := totals.counts(s.t.Context(), "day", sealed["day"])
	if err != nil {
		s.t.Fatal(err)
	}
	return fmt.Sprint(counts)
}

// owners is the key of s that maps each file to its claim.
func (s scriptRunner) owners() string { return s.k.subscriber("s").owners() }

// score is the score of a member of a sorted set.
func (s scriptRunner) score(key, member string) string { return s.text("ZSCORE", key, member) }

// field is the field of a hash.
func (s scriptRunner) field(key, field string) string { return s.text("HGET", key, field) }

// exists returns the number of these keys that exist.
func (s scriptRunner) exists(keys ...string) string {
	args := []any{"EXISTS"}
	for _, key := range keys {
		args = append(args, key)
	}
	return s.text(args...)
}

// sealedState is the state of the file and the lines that s has counted.
func (s scriptRunner) sealedState() string {
	return s.field(s.k.file("f"), "state") + " " + s.field(s.k.subscriber("s").record(), "lines")
}

// folded is what folding changes.
func (s scriptRunner) folded() string {
	totals := s.k.subscriber("s").totals("day")
	return fmt.Sprintf("US %s DE %s, sealed %s, groups %s", s.score(totals, "US"), s.score(totals, "DE"),
		s.text("SMEMBERS", s.k.subscriber("s").sealed()), s.text("ZRANGE", s.k.subscriber("s").groups(), 0, -1))
}

// States, each built on one before it.

func subscribed(s scriptRunner) { s.subscribe("s", "words") }

func announcedFile(s scriptRunner) {
	subscribed(s)
	completed(s)
}

func claimed(s scriptRunner) {
	announcedFile(s)
	s.claim("c1", 1)
}

func claimedEarly(s scriptRunner) {
	subscribed(s)
	admitted(s)
	s.claim("c1", 1)
	s.stage("c1")
}

// cutShort is a file that s counts no further although the upload goes on.
func cutShort(s scriptRunner) {
	claimedEarly(s)
	s.sealCut("c1", 1, 2)
}

func staged(s scriptRunner) {
	claimed(s)
	s.stage("c1")
}

// deadClaim has staged counts and run out.
func deadClaim(s scriptRunner) {
	staged(s)
	s.expire(s.k.subscriber("s").claims(), "f")
}

func sealed(s scriptRunner) {
	staged(s)
	s.seal("c1", 1, 2)
}

// inParts has the first two parts of f sealed.
func inParts(s scriptRunner) {
	claimedEarly(s)
	s.sealPart("c1", 1, 1, 2)
	s.stagePart("c1", 1, 2)
	s.sealPart("c1", 1, 2, 2)
}

// inPartsOfADeadClaim is inParts, and another claim has the file, which is uploaded.
func inPartsOfADeadClaim(s scriptRunner) {
	inParts(s)
	s.complete("a", 1, 100)
	s.expire(s.k.subscriber("s").claims(), "f")
	s.claim("c2", 1)
}

// malformedCommit is inParts, and a foreign client has overwritten the number of the
// last commit.
func malformedCommit(s scriptRunner, number string) {
	inParts(s)
	s.do([]any{"HSET", s.k.file("f"), "commit:s", number})
}

// removing has s, with counts, being removed.
func removing(s scriptRunner) {
	sealed(s)
	s.fold("US", "DE")
	s.unsubscribe("s")
}

// removedBefore has s made anew after its removal, with counts.
func removedBefore(s scriptRunner) {
	subscribed(s)
	s.unsubscribe("s")
	s.removed("1")
	sealed(s)
	s.fold("US", "DE")
}

// reported has a report that reads the totals while sealed cells wait.
func reported(s scriptRunner) {
	sealed(s)
	s.snapshot("s")
}

// sealedByOne is counted by s and not by t.
func sealedByOne(s scriptRunner) {
	s.subscribe("t", "words")
	sealed(s)
}

// withoutSubscriber removes s from a state.
func withoutSubscriber(given func(scriptRunner)) func(scriptRunner) {
	return func(s scriptRunner) {
		given(s)
		s.do([]any{"HDEL", s.k.subscribers(), "s"})
	}
}

// crowded has four cells on a day, one without bytes.
func crowded(s scriptRunner) {
	subscribed(s)
	s.do([]any{"ZADD", s.k.subscriber("s").totals("day"), 1, "a", 2, "b", 3, "c", 4, "d"},
		[]any{"ZADD", s.k.subscriber("s").totals("day 0 bytes"), 10, "a", 1e10, "b", 30, "c"},
		[]any{"ZADD", s.k.subscriber("s").groups(), 7, "day"}, []any{"SADD", s.k.subscriber("s").crowded(), "day"})
}

var countingScripts = []scriptCase{
	{name: "subscribe: new", given: nothing, call: func(s scriptRunner) string { return s.subscribe("s", "words") }, want: "words"},
	{
		name: "subscribe: first settings", given: func(s scriptRunner) { s.subscribe("s", "") },
		call: func(s scriptRunner) string { return s.subscribe("s", "words") }, want: "words",
	},
	{name: "subscribe: other settings", given: subscribed, call: func(s scriptRunner) string { return s.subscribe("s", "letters") }, want: "words", keeps: true},
	{
		name: "subscribe: visitors", given: nothing, call: func(s scriptRunner) string {
			return s.run(subscribeScript, target{subscriber: "s"}, "s", "words", "key")
		}, want: "words",
		look: func(s scriptRunner) string { return s.field(s.k.subscriber("s").record(), "visitors") }, sees: "key",
	},
	{
		name: "subscribe: visitors again", given: func(s scriptRunner) {
			s.run(subscribeScript, target{subscriber: "s"}, "s", "", "key")
		}, call: func(s scriptRunner) string {
			return s.run(subscribeScript, target{subscriber: "s"}, "s", "words", "another")
		}, want: "words",
		look: func(s scriptRunner) string { return s.field(s.k.subscriber("s").record(), "visitors") }, sees: "key",
	},
	{name: "subscribe: any settings", given: subscribed, call: func(s scriptRunner) string { return s.subscribe("s", "") }, want: "words", keeps: true},

	{name: "subscribe: being removed", given: removing, call: func(s scriptRunner) string { return s.subscribe("s", "words") }, want: "[]", keeps: true},
	{name: "unsubscribe: there", given: staged, call: func(s scriptRunner) string { return s.unsubscribe("s") }, want: "1"},
	{name: "unsubscribe: another", given: staged, call: func(s scriptRunner) string { return s.unsubscribe("t") }, want: ""},
	{
		name: "discard: of this removal", given: removing, call: func(s scriptRunner) string { return s.discard("1") }, want: "1",
		look: scriptRunner.leftOfS, sees: "0 <nil>",
	},
	{
		name: "discard: of an earlier removal", given: removedBefore, call: func(s scriptRunner) string { return s.discard("1") }, want: "0", keeps: true,
		look: scriptRunner.leftOfS, sees: "1 1",
	},
	{name: "removed: this removal", given: removing, call: func(s scriptRunner) string { return s.removed("1") }, want: "1", again: "0"},
	{
		name: "removed: an earlier removal", given: func(s scriptRunner) { removedBefore(s); s.unsubscribe("s") },
		call: func(s scriptRunner) string { return s.removed("1") }, want: "0", keeps: true,
	},
	{
		name: "reset: counted", given: countedFile, call: func(s scriptRunner) string { return s.resetTo("", "1") }, want: "1",
		look: func(s scriptRunner) string {
			return fmt.Sprintln(s.text("HMGET", s.k.subscriber("s").record(), "lines", "version", "epoch", "v"), s.field(s.k.removed(), "s"), s.field(s.k.channel(), "resets"), s.exists(s.k.subscriber("s").claims(), s.owners()))
		}, sees: "[<nil> <nil> 1 5] reset 1 1 0\n",
	},
	{name: "reset: a file is open", given: claimed, call: func(s scriptRunner) string { return s.resetTo("", "1") }, want: "0", keeps: true},
	{name: "reset: no subscriber", given: withoutSubscriber(countedFile), call: func(s scriptRunner) string { return s.resetTo("", "1") }, want: "-1", keeps: true},
	{name: "reset: not complete", given: reset, call: func(s scriptRunner) string { return s.resetTo("1", "2") }, want: "-2", keeps: true},
	{name: "reset: of an earlier epoch", given: afterReset, call: func(s scriptRunner) string { return s.resetTo("", "2") }, want: "-2", keeps: true},
	{name: "admit: read before a reset", given: reset, call: func(s scriptRunner) string { return s.admit("a", 1, 100) }, want: "changed", keeps: true},
	{name: "stage: of an earlier epoch", given: afterReset, call: func(s scriptRunner) string { return s.stagePart("c1", 2, 1) }, want: "0", keeps: true},
	{name: "seal: of an earlier epoch", given: afterReset, call: func(s scriptRunner) string { return s.sealPart("c1", 2, 1, 0) }, want: "0", keeps: true},
	{
		name: "fold: of an earlier epoch", given: func(s scriptRunner) { sealed(s); s.do([]any{"HSET", s.k.subscriber("s").record(), "epoch", "1"}) },
		call: func(s scriptRunner) string { return s.fold("US", "DE") }, want: "[0 0]", keeps: true,
	},
	{name: "snapshot: being reset", given: reset, call: func(s scriptRunner) string { return s.snapshot("s") }, want: " [] 0", keeps: true},
	{name: "discard: of a reset", given: reset, call: func(s scriptRunner) string { return s.discard("reset 1") }, want: "1", look: scriptRunner.leftOfS, sees: "0 <nil>"},
	{name: "unsubscribe: being reset", given: reset, call: func(s scriptRunner) string { return s.unsubscribe("s") }, want: "1"},
	{name: "removed: no removal", given: staged, call: func(s scriptRunner) string { return s.removed("1") }, want: "0", keeps: true},

	{
		name: "claim: unclaimed", given: announcedFile, call: func(s scriptRunner) string { return s.claim("c1", 1) }, want: "[TIME [] 0]",
		look: func(s scriptRunner) string {
			return s.field(s.owners(), "f") + " " + s.score(s.k.subscriber("s").claims(), "f")
		}, sees: "c1 TIME",
	},
	{name: "claim: no subscriber", given: withoutSubscriber(announcedFile), call: func(s scriptRunner) string { return s.claim("c1", 1) }, want: "[]", keeps: true},
	{name: "claim: held by another", given: staged, call: func(s scriptRunner) string { return s.claim("c2", 1) }, want: "[TIME [] TIME]", keeps: true},
	{
		name: "claim: left by a dead claim", given: deadClaim, call: func(s scriptRunner) string { return s.claim("c2", 1) }, want: "[TIME [] 0]",
		look: func(s scriptRunner) string {
			return s.field(s.owners(), "f") + " " + s.exists(s.k.subscriber("s").staged("f"))
		}, sees: "c2 0",
	},
	{name: "claim: counted before", given: sealedByOne, call: func(s scriptRunner) string { return s.claim("c2", 1) }, want: "[TIME [] -1]", keeps: true},
	{name: "claim: done", given: sealed, call: func(s scriptRunner) string { return s.claim("c2", 1) }, want: "[TIME [] -1]", keeps: true},
	{name: "claim: an earlier shipment", given: shippedAgain, call: func(s scriptRunner) string { return s.claim("c3", 1) }, want: "[TIME [] -1]", keeps: true},
	{
		name: "claim: abandoned", given: func(s scriptRunner) { claimedEarly(s); s.abandon("a", 1) },
		call: func(s scriptRunner) string { return s.claim("c2", 1) }, want: "[TIME [] -1]",
		look: func(s scriptRunner) string {
			return s.exists(s.k.subscriber("s").claims(), s.owners(), s.k.subscriber("s").staged("f"))
		}, sees: "0",
	},
	{
		name: "claim: the first unclaimed one", given: func(s scriptRunner) {
			staged(s)
			s.admitFile("a", "g", "f", 0, 100)
			s.admitFile("a", "i", "f g", 0, 100)
		},
		call: func(s scriptRunner) string { return s.claim("c2", 1, "gone", "g", "i") }, want: "[TIME [] TIME -1 0]",
	},
	{
		name: "claim: for another subscriber, too", given: func(s scriptRunner) { announcedFile(s); s.subscribe("t", "words") },
		call: func(s scriptRunner) string { return s.claimFor("s", "c1", "gone", "t") }, want: "[TIME [t] 0]",
		look: func(s scriptRunner) string {
			return s.field(s.k.subscriber("t").owners(), "f") + " " + s.score(s.k.subscriber("t").claims(), "f") + " " + s.exists(s.k.subscriber("gone").owners())
		}, sees: "c1 TIME 0",
	},
	{
		name: "claim: not for a subscriber that has other settings now", given: func(s scriptRunner) { announcedFile(s); s.subscribe("t", "letters") },
		call: func(s scriptRunner) string { return s.claimFor("s", "c1", "t") }, want: "[TIME [] 0]",
	},
	{
		name: "claim: for a subscriber that another worker serves",
		given: func(s scriptRunner) {
			announcedFile(s)
			s.subscribe("t", "words")
			s.claimFor("t", "c1")
		},
		call: func(s scriptRunner) string { return s.claimFor("s", "c2", "t") }, want: "[TIME [] 0]",
		look: func(s scriptRunner) string { return s.field(s.k.subscriber("t").owners(), "f") }, sees: "c1",
	},
	{
		name: "claim: for a subscriber that has counted it", given: sealedByOne,
		call: func(s scriptRunner) string { return s.claimFor("t", "c2", "s") }, want: "[TIME [] 0]",
		look: func(s scriptRunner) string { return s.exists(s.k.subscriber("s").owners()) }, sees: "0",
	},

	{
		name: "renew: held", given: deadClaim, call: func(s scriptRunner) string { return s.renew("c1") }, want: "[]",
		look: func(s scriptRunner) string { return s.score(s.k.subscriber("s").claims(), "f") }, sees: "TIME",
	},
	{
		name: "renew: another's", given: deadClaim, call: func(s scriptRunner) string { return s.renew("c2") }, want: "f", keeps: true,
		look: func(s scriptRunner) string { return s.score(s.k.subscriber("s").claims(), "f") }, sees: "1",
	},
	{
		name: "renew: Redis was away", given: func(s scriptRunner) { staged(s); s.away(s.k.subscriber("s").claims(), "f") },
		call: func(s scriptRunner) string { return s.renew("c1") }, want: "[]",
		look: scriptRunner.amnesty, sees: "TIME TIME",
	},
	{
		name: "renew: no subscriber", given: func(s scriptRunner) { staged(s); s.unsubscribe("s") },
		call: func(s scriptRunner) string { return s.renew("c1") }, want: "f", keeps: true,
	},

	{
		name: "release: held", given: staged, call: func(s scriptRunner) string { return s.release("c1") }, want: "1", again: "0",
		look: func(s scriptRunner) string {
			return s.exists(s.k.subscriber("s").staged("f"), s.k.subscriber("s").claims(), s.owners())
		}, sees: "0",
	},
	{name: "release: another's", given: staged, call: func(s scriptRunner) string { return s.release("c2") }, want: "0", keeps: true},
	{name: "release: none", given: announcedFile, call: func(s scriptRunner) string { return s.release("c1") }, want: "0", keeps: true},

	{name: "stage: held", given: claimed, call: func(s scriptRunner) string { return s.stage("c1") }, want: "1"},
	{name: "stage: another's", given: claimed, call: func(s scriptRunner) string { return s.stage("c2") }, want: "0", keeps: true},
	{name: "stage: none", given: announcedFile, call: func(s scriptRunner) string { return s.stage("c1") }, want: "0", keeps: true},

	{
		name: "stage: two days", given: claimed, call: scriptRunner.stageDays, want: "1",
		look: scriptRunner.stagedDays, sees: "3 of 2",
	},
	{
		name: "stage: a day that is not kept", given: func(s scriptRunner) { claimed(s); s.expireDays("2026-11-02") },
		call: scriptRunner.stageDays, want: "[1 2026-11-01]", look: scriptRunner.stagedDays, sees: "1 of 1",
	},
	{
		name: "stage: room for one day", given: func(s scriptRunner) { claimed(s); s.manyDays(4095) },
		call: scriptRunner.stageDays, want: "[1 2026-11-02]", look: scriptRunner.stagedDays, sees: "2 of 4096",
	},
	{
		name: "stage: room for the days that there are", given: func(s scriptRunner) {
			claimed(s)
			s.manyDays(4095)
			s.do([]any{"ZADD", s.k.subscriber("s").days(), 0, "2026-11-02"})
		},
		call: scriptRunner.stageDays, want: "[1 2026-11-01]", look: scriptRunner.stagedDays, sees: "1 of 4096",
	},
	{
		name: "stage: no room any more for a day that was staged", given: func(s scriptRunner) {
			claimed(s)
			s.stageDays()
			s.do([]any{"DEL", s.k.subscriber("s").days()})
			s.manyDays(4095)
		},
		call: scriptRunner.stageDays, want: "[1 2026-11-02]", look: scriptRunner.stagedDays, sees: "2 of 4096",
	},
	{
		name: "stage: a day without cells", given: claimed, call: scriptRunner.checkDay, want: "1", keeps: true,
	},
	{
		name: "stage: no room for a day without cells", given: func(s scriptRunner) { claimed(s); s.manyDays(4096) },
		call: scriptRunner.checkDay, want: "[1 2026-11-01]", keeps: true,
	},
	{
		name: "stage: a day without cells that is not kept", given: func(s scriptRunner) { claimed(s); s.expireDays("2026-11-02") },
		call: scriptRunner.checkDay, want: "[1 2026-11-01]", keeps: true,
	},
	{
		name: "stage: the next commit", given: inParts, call: func(s scriptRunner) string { return s.stagePart("c1", 1, 3) }, want: "1",
		look: func(s scriptRunner) string { return s.text("HLEN", s.k.subscriber("s").staged("f")) }, sees: "2",
	},
	{name: "stage: a commit that is sealed", given: inParts, call: func(s scriptRunner) string { return s.stagePart("c1", 1, 2) }, want: "0", keeps: true},
	{name: "stage: a gap", given: inParts, call: func(s scriptRunner) string { return s.stagePart("c1", 1, 4) }, want: "0", keeps: true},
	{name: "stage: another shipment", given: claimed, call: func(s scriptRunner) string { return s.stagePart("c1", 2, 1) }, want: "0", keeps: true},
	{name: "stage: abandoned", given: func(s scriptRunner) { claimedEarly(s); s.abandon("a", 1) }, call: func(s scriptRunner) string { return s.stage("c1") }, want: "0", keeps: true},

	{
		name: "seal: by the last subscriber", given: staged, call: func(s scriptRunner) string { return s.seal("c1", 1, 2) }, want: "2",
		look: func(s scriptRunner) string {
			return s.sealedState() + " " + s.text("SMEMBERS", s.k.subscriber("s").problems())
		}, sees: "done 5 [f]",
	},
	{
		name: "seal: before another subscriber", given: func(s scriptRunner) { s.subscribe("t", "words"); staged(s) },
		call: func(s scriptRunner) string { return s.seal("c1", 1, 2) }, want: "1", look: scriptRunner.sealedState, sees: "uploaded 5",
	},
	{name: "seal: no cells", given: claimed, call: func(s scriptRunner) string { return s.seal("c1", 1, 0) }, want: "2"},
	{name: "seal: another's claim", given: staged, call: func(s scriptRunner) string { return s.seal("c2", 1, 2) }, want: "0", keeps: true},
	{name: "seal: no claim", given: func(s scriptRunner) { staged(s); s.release("c1") }, call: func(s scriptRunner) string { return s.seal("c1", 1, 0) }, want: "0", keeps: true},
	{name: "seal: a cell too few", given: staged, call: func(s scriptRunner) string { return s.seal("c1", 1, 3) }, want: "-1", keeps: true},
	{name: "seal: cells that are not its own", given: staged, call: func(s scriptRunner) string { return s.seal("c1", 1, 0) }, want: "-1", keeps: true},
	{name: "seal: another shipment", given: staged, call: func(s scriptRunner) string { return s.seal("c1", 2, 2) }, want: "0", keeps: true},
	{name: "seal: uploading", given: claimedEarly, call: func(s scriptRunner) string { return s.seal("c1", 1, 2) }, want: "0", keeps: true},
	{
		name: "seal: the last part while it uploads", given: claimedEarly, call: func(s scriptRunner) string { return s.sealCut("c1", 1, 2) }, want: "1",
		look: func(s scriptRunner) string {
			return s.sealedState() + " " + s.exists(s.k.subscriber("s").claims(), s.owners())
		}, sees: "uploading 5 0",
	},
	{name: "seal: the last part of an abandoned upload", given: func(s scriptRunner) { claimedEarly(s); s.abandon("a", 1) }, call: func(s scriptRunner) string { return s.sealCut("c1", 1, 2) }, want: "0", keeps: true},
	{name: "seal: abandoned", given: func(s scriptRunner) { claimedEarly(s); s.abandon("a", 1) }, call: func(s scriptRunner) string { return s.seal("c1", 1, 2) }, want: "0", keeps: true},
	{
		name: "seal: counted by another claim", given: func(s scriptRunner) { sealedByOne(s); s.do([]any{"HSET", s.owners(), "f", "c2"}) },
		call: func(s scriptRunner) string { return s.seal("c2", 1, 0) }, want: "0", keeps: true,
	},

	{
		name: "seal: a part", given: claimedEarly, call: func(s scriptRunner) string { return s.sealPart("c1", 1, 1, 2) }, want: "1",
		look: scriptRunner.parts, sees: "commit 1 of 1 at 100, 5 lines, sealed 1, place 1",
	},
	{
		name: "seal: the next part", given: func(s scriptRunner) { inParts(s); s.stagePart("c1", 1, 3) },
		call: func(s scriptRunner) string { return s.sealPart("c1", 1, 3, 2) }, want: "1",
		look: scriptRunner.parts, sees: "commit 3 of 1 at 300, 15 lines, sealed 3, place 3",
	},
	{name: "seal: the last number under the same claim", given: func(s scriptRunner) { inParts(s); s.stagePart("c1", 1, 3) }, call: func(s scriptRunner) string { return s.sealPart("c1", 1, 2, 2) }, want: "1", keeps: true},
	{name: "seal: an older number", given: func(s scriptRunner) { inParts(s); s.stagePart("c1", 1, 3) }, call: func(s scriptRunner) string { return s.sealPart("c1", 1, 1, 2) }, want: "0", keeps: true},
	{name: "seal: a gap", given: func(s scriptRunner) { inParts(s); s.stagePart("c1", 1, 3) }, call: func(s scriptRunner) string { return s.sealPart("c1", 1, 4, 2) }, want: "0", keeps: true},
	{name: "seal: the last number under another claim", given: inPartsOfADeadClaim, call: func(s scriptRunner) string { return s.sealPart("c2", 1, 2, 0) }, want: "0", keeps: true},
	{name: "seal: a part of a dead claim", given: inPartsOfADeadClaim, call: func(s scriptRunner) string { return s.sealPart("c1", 1, 3, 0) }, want: "0", keeps: true},
	{name: "seal: a part of an abandoned upload", given: func(s scriptRunner) { inParts(s); s.abandon("a", 1) }, call: func(s scriptRunner) string { return s.sealPart("c1", 1, 3, 0) }, want: "0", keeps: true},
	{name: "seal: a part with a cell too few", given: claimedEarly, call: func(s scriptRunner) string { return s.sealPart("c1", 1, 1, 3) }, want: "-1", keeps: true},
	{
		name: "stage: after a malformed number", given: func(s scriptRunner) { malformedCommit(s, "1.5") },
		call: func(s scriptRunner) string { return s.stagePart("c1", 1, 1) }, want: "1",
	},
	{
		name: "seal: after a malformed number", given: func(s scriptRunner) { malformedCommit(s, "many") },
		call: func(s scriptRunner) string { return s.sealPart("c1", 1, 1, 0) }, want: "1",
		look: func(s scriptRunner) string { return s.field(s.k.file("f"), "commit:s") }, sees: "1",
	},
	{
		name: "seal: the first part of the next shipment", given: func(s scriptRunner) {
			inParts(s)
			s.abandon("a", 1)
			s.free(1, 1)
			s.release("c1")
			s.admit("a", 1, 100)
			s.claim("c2", 2)
		},
		call: func(s scriptRunner) string { return s.sealPart("c2", 2, 1, 0) }, want: "1",
		look: scriptRunner.parts, sees: "commit 1 of 2 at 100, 15 lines, sealed 2, place 1",
	},
	{
		name: "seal: the last part under another claim", given: inPartsOfADeadClaim, call: func(s scriptRunner) string { return s.sealLast("c2", 1, 3, 0) }, want: "2",
		look: scriptRunner.parts, sees: "commit 3 of 1 at 200, 15 lines, sealed 2, <nil>",
	},

	{
		name: "fold: all cells", given: sealed, call: func(s scriptRunner) string { return s.fold("US", "DE") }, want: "[0 0]",
		look: scriptRunner.folded, sees: "US 2 DE 3, sealed [], groups [day]",
	},
	{
		name: "fold: some cells", given: sealed, call: func(s scriptRunner) string { return s.fold("US", "FR") }, want: "[1 0]",
		look: scriptRunner.folded, sees: "US 2 DE <nil>, sealed [f:1:1], groups [day]",
	},
	{
		name: "fold: more cells than the bound", given: sealed, call: func(s scriptRunner) string { return s.foldBounded(1, "US", "DE") }, want: "[0 1]", again: "[0 1]",
		look: func(s scriptRunner) string { return s.text("SMEMBERS", s.k.subscriber("s").crowded()) }, sees: "[day]",
	},
	{
		name: "fold: as many cells as the bound, and moved before", given: func(s scriptRunner) { sealed(s); s.do([]any{"ZADD", s.k.subscriber("s").groups(), 7, "day"}) },
		call: func(s scriptRunner) string { return s.foldBounded(2, "US", "DE") }, want: "[0 0]",
		look: func(s scriptRunner) string {
			return s.score(s.k.subscriber("s").groups(), "day") + " " + s.exists(s.k.subscriber("s").crowded())
		}, sees: "7 0",
	},
	{
		name: "fold: cells of a day that is not kept", given: sealedOld, call: scriptRunner.foldOld, want: "[0 0]",
		look: func(s scriptRunner) string {
			return s.account() + " " + s.score(s.k.subscriber("s").totals("2026-11-01"), "US") + " " + s.score(s.k.subscriber("s").totals("2026-11-02"), "US")
		}, sees: "[11 -3 -1 13 2026-11-02] [2026-11-02 2026-11-03][2026-11-02 counted 2026-11-03 counted] 4 7",
	},
	{
		name: "fold: a subtraction from a cell", given: negative(7, 3, 300), call: scriptRunner.foldNegative, want: "[0 0]",
		look: func(s scriptRunner) string { return fmt.Sprint(s.totalsOf("day"), s.totalsOf("day 0 bytes")) },
		sees: "map[a:2 x:5 y:9] map[a:200 x:50 y:900]",
	},
	{
		name: "fold: a subtraction from a cell that was moved", given: negative(7, 3, 50), call: scriptRunner.foldNegative, want: "[0 0]",
		look: func(s scriptRunner) string { return fmt.Sprint(s.totalsOf("day"), s.totalsOf("day 0 bytes")) },
		sees: "map[a:3 x:5 y:8] map[a:50 x:50 y:800]",
	},
	{
		name: "fold: a subtraction where no cells were moved", given: negative(0, 3, 50), call: scriptRunner.foldNegative, want: "[0 0]",
		look: func(s scriptRunner) string { return fmt.Sprint(s.totalsOf("day"), s.totalsOf("day 0 bytes")) },
		sees: "map[a:2 x:5 y:9] map[a:-50 x:50 y:900]",
	},
	{
		name: "expire: the first day", given: oldDays, call: func(s scriptRunner) string { return s.expireDays("2026-11-02") }, want: "1",
		look: scriptRunner.account, sees: "[11 0 0 10 2026-11-02] [2026-11-02 2026-11-03][2026-11-02 counted 2026-11-03 counted]",
	},
	{
		name: "expire: back", given: func(s scriptRunner) { oldDays(s); s.expireDays("2026-11-02") },
		call: func(s scriptRunner) string { return s.expireDays("2026-11-01") }, want: "1", keeps: true,
	},
	{
		name: "expire: the rest of more days than one call moves", given: func(s scriptRunner) {
			oldDays(s)
			s.manyDays(98)
			if got := s.expireDays("999") + " " + s.field(s.k.subscriber("s").record(), "oldest"); got != "0 98" {
				s.t.Errorf("the first call: %s", got)
			}
		},
		call: func(s scriptRunner) string { return s.expireDays("999") }, want: "1",
		look: scriptRunner.account, sees: "[0 0 0 21 999] [][]",
	},
	{name: "expire: no subscriber", given: func(s scriptRunner) { oldDays(s); s.unsubscribe("s") }, call: func(s scriptRunner) string { return s.expireDays("2026-11-02") }, want: "1", keeps: true},
	{
		name: "drop: a day", given: func(s scriptRunner) { oldDays(s); s.expireDays("2026-11-02") },
		call: func(s scriptRunner) string { return s.drop("2026-11-02") }, want: "1",
		look: scriptRunner.dropped, sees: "0 [2026-11-02 2026-11-03] 2026-11-02",
	},
	{name: "drop: a day that is kept", given: oldDays, call: func(s scriptRunner) string { return s.drop("2026-11-02") }, want: "0", keeps: true},
	{
		name: "drop: beside a report", given: func(s scriptRunner) { oldDays(s); s.expireDays("2026-11-02"); s.snapshot("s") },
		call: func(s scriptRunner) string { return s.drop("2026-11-02") }, want: "-1", keeps: true,
	},
	{name: "drop: no subscriber", given: func(s scriptRunner) { oldDays(s); s.unsubscribe("s") }, call: func(s scriptRunner) string { return s.drop("2026-11-02") }, want: "0", keeps: true},
	{
		name: "merge: no more than are too many", given: crowded, call: func(s scriptRunner) string { return s.merge(3, "a", "b", "c", "d") }, want: "0",
		look: scriptRunner.merged, sees: "map[c:3 d:4 x:3] map[c:30 x:10000000010], moved 9, crowded []",
	},
	{
		name: "merge: to the bound", given: crowded, call: func(s scriptRunner) string { return s.merge(3, "a", "b") }, want: "0",
		look: scriptRunner.merged, sees: "map[c:3 d:4 x:3] map[c:30 x:10000000010], moved 9, crowded []",
	},
	{
		name: "merge: still above the bound", given: crowded, call: func(s scriptRunner) string { return s.merge(2, "a", "d", "gone") }, want: "1",
		look: scriptRunner.merged, sees: "map[b:2 c:3 x:5] map[b:10000000000 c:30 x:10], moved 9, crowded [day]",
	},
	{name: "merge: cells that are gone", given: crowded, call: func(s scriptRunner) string { return s.merge(2, "gone") }, want: "2", keeps: true},
	{name: "merge: no cells", given: crowded, call: func(s scriptRunner) string { return s.merge(2) }, want: "2", keeps: true},
	{
		name: "merge: within the bound", given: crowded, call: func(s scriptRunner) string { return s.merge(4, "a") }, want: "0",
		look: scriptRunner.merged, sees: "map[a:1 b:2 c:3 d:4] map[a:10 b:10000000000 c:30], moved 7, crowded []",
	},
	{
		name: "merge: beside a report", given: func(s scriptRunner) { crowded(s); s.snapshot("s") },
		call: func(s scriptRunner) string { return s.merge(2, "a", "b") }, want: "-1", keeps: true,
	},
	{name: "merge: no subscriber", given: withoutSubscriber(crowded), call: func(s scriptRunner) string { return s.merge(2, "a", "b") }, want: "0", keeps: true},
	{
		name: "fold: to zero", given: func(s scriptRunner) { sealed(s); s.do([]any{"ZADD", s.k.subscriber("s").totals("day"), -2, "US"}) },
		call: func(s scriptRunner) string { return s.fold("US") }, want: "[1 0]",
		look: scriptRunner.folded, sees: "US <nil> DE <nil>, sealed [f:1:1], groups [day]",
	},
	{
		name: "counts: folded and sealed", given: func(s scriptRunner) { sealed(s); s.do([]any{"ZADD", s.k.subscriber("s").totals("day"), 4, "US"}) },
		call: scriptRunner.counts, want: "map[DE:3 US:6]", keeps: true,
	},
	{
		name: "counts: round numbers", given: func(s scriptRunner) {
			subscribed(s)
			s.do([]any{"ZADD", s.k.subscriber("s").totals("day"), 100_000_000, "US", -300_000_000, "DE"})
		},
		call: scriptRunner.counts, want: "map[DE:-300000000 US:100000000]", keeps: true,
	},
	{
		name: "snapshot: sealed", given: sealed, call: func(s scriptRunner) string { return s.snapshot("s") },
		want: "words [f:1:1] 10",
		look: func(s scriptRunner) string { return s.text("ZCARD", s.k.subscriber("s").readers()) }, sees: "1",
	},
	{name: "snapshot: no subscriber", given: sealed, call: func(s scriptRunner) string { return s.snapshot("t") }, want: "none", keeps: true},
	{name: "fold: beside a report", given: reported, call: func(s scriptRunner) string { return s.fold("US", "DE") }, want: "[-1 0]", keeps: true},
	{
		name: "fold: after a report", given: func(s scriptRunner) { reported(s); s.expire(s.k.subscriber("s").readers(), "report") },
		call: func(s scriptRunner) string { return s.fold("US", "DE") }, want: "[0 0]",
	},
	{
		name: "fold: beside a report, while very many commits wait", given: func(s scriptRunner) {
			reported(s)
			for i := range 1000 { // and one that is folded here
				s.do([]any{"SADD", s.k.subscriber("s").sealed(), i})
			}
		},
		call: func(s scriptRunner) string { return s.fold("US", "DE") }, want: "[0 0]", again: "[-1 0]",
	},
	{name: "counts: none", given: subscribed, call: scriptRunner.counts, want: "map[]", keeps: true},
	{name: "fold: no subscriber", given: withoutSubscriber(sealed), call: func(s scriptRunner) string { return s.fold("US", "DE") }, want: "[0 0]", keeps: true},
}
