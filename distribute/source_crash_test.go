package distribute_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

// strikeBriefly kills a process of few commands at about every fifth of them, until it ends before it
// comes so far; and once in a Cluster of three masters.
func strikeBriefly(t *testing.T, scenario func(t *testing.T, db *rdb.DB, plan processPlan) (killed bool)) {
	strikeAt(t, 5, func(n int, random *rand.Rand) (killed bool) {
		signal := killAt(n, random)
		t.Run(fmt.Sprintf("command %d after=%t", n, signal.After), func(t *testing.T) {
			url := redistest.URL(t)
			killed = scenario(t, redistest.Open(t, url), processPlan{URL: url, Signal: signal})
		})
		return killed
	})
	random := redistest.Random(t)
	signal := killAt(1+random.IntN(15), random)
	t.Run(fmt.Sprintf("cluster, command %d after=%t", signal.At, signal.After), func(t *testing.T) {
		db := redistest.ClusterDB(t)
		scenario(t, db, processPlan{URL: redistest.Cluster(t), Signal: signal})
	})
}

// exportsOf exports the counts of files, after each of them.
func exportsOf(t *testing.T, contents ...[]byte) (texts [][]byte) {
	t.Helper()
	channel, folder := open(t, redistest.DB(t)), t.TempDir()
	for i, content := range contents {
		ship(t, channel, write(t, folder, fmt.Sprintf("%d.log", i), content))
		work(t, channel, "exported")
		var text bytes.Buffer
		if _, err := channel.Export(t.Context(), "exported", &text); err != nil {
			t.Fatal(err)
		}
		texts = append(texts, text.Bytes())
	}
	return texts
}

func TestImportKilledAtAnyCommandIsInReportsOrNot(t *testing.T) {
	t.Parallel()
	own, first, second := content(1, 300), content(2, 300), content(3, 300)
	exports := exportsOf(t, first, second)
	strikeBriefly(t, func(t *testing.T, db *rdb.DB, plan processPlan) (killed bool) {
		channel, folder := open(t, db), t.TempDir()
		ship(t, channel, write(t, folder, "own.log", own))
		work(t, channel, "s")
		if _, _, err := channel.Import(t.Context(), "s", bytes.NewReader(exports[0])); err != nil {
			t.Fatal(err)
		}
		plan.Role, plan.Args = "import", []string{db.Prefix(), write(t, folder, "second.json", exports[1])}
		killed = start(t, plan).Check()
		before, after := reference(t, own, first), reference(t, own, first, second)
		if got := counted(t, channel, "s"); killed && got.lines == before.lines {
			same(t, got, before)
		} else {
			same(t, got, after)
		}
		if _, _, err := channel.Import(t.Context(), "s", bytes.NewReader(exports[1])); err != nil {
			t.Fatal(err)
		}
		same(t, counted(t, channel, "s"), after)
		leases := db.Prefix() + ":logs:{web}:subscriber:s:imports"
		for id := range db.HGetAll(t.Context(), leases).Val() { // of the process that was killed: it ends
			if err := db.HSet(t.Context(), leases, id, 1).Err(); err != nil {
				t.Fatal(err)
			}
		}
		same(t, counted(t, channel, "s"), after)
		if left := db.HGetAll(t.Context(), leases).Val(); len(left) > 0 {
			t.Errorf("imports that are not complete: %v", left)
		}
		return killed
	})
}

func TestResetKilledAtAnyCommandLeavesAllOrNothing(t *testing.T) {
	t.Parallel()
	own, imported := content(1, 300), content(2, 300)
	export := exportsOf(t, imported)[0]
	strikeBriefly(t, func(t *testing.T, db *rdb.DB, plan processPlan) (killed bool) {
		channel := open(t, db)
		file := write(t, t.TempDir(), "own.log", own)
		ship(t, channel, file)
		work(t, channel, "s")
		if _, _, err := channel.Import(t.Context(), "s", bytes.NewReader(export)); err != nil {
			t.Fatal(err)
		}
		plan.Role, plan.Args = "reset", []string{db.Prefix()}
		killed = start(t, plan).Check()
		all, nothing := reference(t, own, imported), reference(t)
		left := nothing
		if plan.Signal.At%2 == 0 { // an import completes the reset, too, and is not deleted with it
			left = reference(t, imported)
			if _, _, err := channel.Import(t.Context(), "s", bytes.NewReader(export)); err != nil {
				t.Fatal(err)
			}
		}
		if got := counted(t, channel, "s"); killed && got.lines == all.lines {
			same(t, got, all)
		} else {
			same(t, got, left)
		}
		if err := channel.Reset(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
		same(t, counted(t, channel, "s"), nothing)
		var keys []string
		for _, key := range db.Keys(t.Context(), db.Prefix()+":logs:{web}:subscriber:s:*").Val() {
			if strings.Contains(key, ":import:") || strings.Contains(key, ":count:") || strings.Contains(key, ":visitors:") {
				keys = append(keys, key)
			}
		}
		if len(keys) > 0 {
			t.Errorf("left: %s", keys)
		}
		ship(t, channel, file)
		work(t, channel, "s")
		same(t, counted(t, channel, "s"), reference(t, own))
		sameVisitors(t, channel, "s", reference(t, own))
		return killed
	})
}
