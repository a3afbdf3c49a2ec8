package distribute

import "fmt"

// Imports of the cases are i1, i2 …, of the source "src", into s.

func (s scriptRunner) importer(imported string, commit int64) *importer {
	i := &importer{totals: s.c.totals("s"), id: imported, settings: "words", source: Source{ID: "src", Epoch: 1, Commit: commit}}
	return i
}

func (s scriptRunner) beginImport(imported string, epoch, commit int) string {
	i := s.importer(imported, int64(commit))
	return s.run(importScript, i.target(), "s", "words", "", imported, 3_600_000, "src", epoch, commit, 2, "lines", 5, "oldest", "2026-11-01")
}

// importCells imports a cell of a day.
func (s scriptRunner) importCells(imported, settings, epoch string) string {
	at := s.importer(imported, 0).target()
	at.more = []string{s.k.subscriber(importName("s", imported)).totals("2026-11-01")}
	return s.run(importCellsScript, at, "s", settings, epoch, imported, 3_600_000, "2026-11-01", "2026-11-01", 7, 5, "US")
}

func (s scriptRunner) switchImport(imported string, epoch, commit int) string {
	return s.run(importSwitchScript, s.importer(imported, 0).target(), "s", "words", "", imported, "src", epoch, commit)
}

func (s scriptRunner) dropImport(imported string) string {
	name := importName("s", imported)
	return s.run(importDropScript, target{subscriber: "s", more: []string{s.k.subscriber(name).record(), s.k.subscriber(name).totals("2026-11-01"), s.k.subscriber(name).groups(), s.k.subscriber(name).days()}}, imported, 1)
}

// imported is what s has of the source, and of its imports.
func (s scriptRunner) imported() string {
	name := importName("s", "i1")
	return fmt.Sprint(s.text("HGETALL", s.k.subscriber("s").sources()), s.text("HGETALL", s.k.subscriber("s").imports()), s.exists(s.k.subscriber(name).record()), s.totalsOfImport("i1"))
}

func (s scriptRunner) totalsOfImport(imported string) string {
	name := importName("s", imported)
	return s.score(s.k.subscriber(name).totals("2026-11-01"), "US") + " " + s.score(s.k.subscriber(name).groups(), "2026-11-01") + " " + s.text("ZRANGE", s.k.subscriber(name).days(), 0, -1)
}

// importing has commit 3 of epoch 1 imported, and not switched to.
func importing(s scriptRunner) {
	subscribed(s)
	s.beginImport("i1", 1, 3)
	s.importCells("i1", "words", "")
}

func imported(s scriptRunner) {
	importing(s)
	s.switchImport("i1", 1, 3)
}

// importedAgain has a later commit beside it, and not switched to.
func importedAgain(s scriptRunner) {
	imported(s)
	s.beginImport("i2", 1, 4)
}

func deadImport(s scriptRunner) {
	importing(s)
	s.do([]any{"HSET", s.k.subscriber("s").imports(), "i1", 1})
}

var importScripts = []scriptCase{
	{
		name: "import: new", given: subscribed, call: func(s scriptRunner) string { return s.beginImport("i1", 1, 3) }, want: "1",
		look: func(s scriptRunner) string {
			return s.text("HMGET", s.k.subscriber("s:import:i1").record(), "v", "source", "lines", "oldest")
		}, sees: "[5 src 5 2026-11-01]",
	},
	{name: "import: a later commit", given: imported, call: func(s scriptRunner) string { return s.beginImport("i2", 1, 4) }, want: "1"},
	{name: "import: an earlier commit of a later epoch", given: imported, call: func(s scriptRunner) string { return s.beginImport("i2", 2, 1) }, want: "1"},
	{name: "import: the same commit", given: imported, call: func(s scriptRunner) string { return s.beginImport("i2", 1, 3) }, want: "2", keeps: true},
	{name: "import: an earlier commit", given: imported, call: func(s scriptRunner) string { return s.beginImport("i2", 1, 2) }, want: "2", keeps: true},
	{name: "import: a later commit of an earlier epoch", given: imported, call: func(s scriptRunner) string { return s.beginImport("i2", 0, 9) }, want: "2", keeps: true},
	{
		name: "import: too many sources", given: func(s scriptRunner) {
			subscribed(s)
			s.do([]any{"HSET", s.k.subscriber("s").sources(), "one", "1 1 a", "two", "1 1 b"})
		}, call: func(s scriptRunner) string { return s.beginImport("i1", 1, 3) }, want: "3", keeps: true,
	},
	{name: "import: no subscriber", given: withoutSubscriber(imported), call: func(s scriptRunner) string { return s.beginImport("i2", 1, 4) }, want: "0", keeps: true},
	{name: "import: after a reset", given: afterReset, call: func(s scriptRunner) string { return s.beginImport("i2", 1, 4) }, want: "0", keeps: true},

	{
		name: "importcells: begun", given: func(s scriptRunner) { subscribed(s); s.beginImport("i1", 1, 3) },
		call: func(s scriptRunner) string { return s.importCells("i1", "words", "") }, want: "1",
		look: func(s scriptRunner) string { return s.totalsOfImport("i1") }, sees: "5 7 [2026-11-01]",
	},
	{name: "importcells: the lease ended", given: deadImport, call: func(s scriptRunner) string { return s.importCells("i1", "words", "") }, want: "0", keeps: true},
	{name: "importcells: switched to", given: imported, call: func(s scriptRunner) string { return s.importCells("i1", "words", "") }, want: "0", keeps: true},
	{name: "importcells: other settings", given: importing, call: func(s scriptRunner) string { return s.importCells("i1", "letters", "") }, want: "0", keeps: true},
	{name: "importcells: another epoch", given: importing, call: func(s scriptRunner) string { return s.importCells("i1", "words", "1") }, want: "0", keeps: true},

	{
		name: "importswitch: new", given: importing, call: func(s scriptRunner) string { return s.switchImport("i1", 1, 3) }, want: "1",
		look: scriptRunner.imported, sees: "map[src:1 3 i1]map[]15 7 [2026-11-01]",
	},
	{
		name: "importswitch: a report notices it", given: importing, call: func(s scriptRunner) string { return s.switchImport("i1", 1, 3) }, want: "1",
		look: func(s scriptRunner) string { return s.field(s.k.subscriber("s").record(), "folds") }, sees: "1",
	},
	{
		name: "importswitch: a later commit", given: importedAgain, call: func(s scriptRunner) string { return s.switchImport("i2", 1, 4) }, want: "1",
		look: scriptRunner.imported, sees: "map[src:1 4 i2]map[i1:0]15 7 [2026-11-01]",
	},
	{
		name: "importswitch: a later one came first", given: func(s scriptRunner) {
			importedAgain(s)
			s.beginImport("i3", 2, 1)
			s.switchImport("i3", 2, 1)
		}, call: func(s scriptRunner) string { return s.switchImport("i2", 1, 4) }, want: "2", keeps: true,
	},
	{name: "importswitch: the lease ended", given: deadImport, call: func(s scriptRunner) string { return s.switchImport("i1", 1, 3) }, want: "0", keeps: true},
	{name: "importswitch: no subscriber", given: withoutSubscriber(importing), call: func(s scriptRunner) string { return s.switchImport("i1", 1, 3) }, want: "0", keeps: true},
	{name: "importswitch: after a reset", given: func(s scriptRunner) {
		importing(s)
		s.do([]any{"HSET", s.k.subscriber("s").record(), "epoch", 1})
	}, call: func(s scriptRunner) string { return s.switchImport("i1", 1, 3) }, want: "0", keeps: true},

	{
		name: "importdrop: the lease ended", given: deadImport, call: func(s scriptRunner) string { return s.dropImport("i1") }, want: "1", again: "0",
		look: scriptRunner.imported, sees: "map[]map[]0<nil> <nil> []",
	},
	{name: "importdrop: going on", given: importing, call: func(s scriptRunner) string { return s.dropImport("i1") }, want: "0", keeps: true},
	{name: "importdrop: switched to", given: imported, call: func(s scriptRunner) string { return s.dropImport("i1") }, want: "0", keeps: true},
}
