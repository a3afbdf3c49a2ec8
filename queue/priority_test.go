package queue

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

// The places that repeat the list of priorities: the text that each must contain.
func priorityPlaces() map[string][]string {
	var letters strings.Builder
	for _, p := range priorities {
		letters.WriteByte(p.letter)
	}
	return map[string][]string{
		"lua/enqueue_plain.lua":   {"'" + letters.String() + "'"},
		"lua/lines.lua":           {fmt.Sprintf("LINES, FRESH_NORMAL = %d, %d\n", lineCount, freshLine.of(Normal))},
		"../docs/architecture.md": {keyNames[0] + " …", "\n" + keyNames[lineCount-1] + " "},
	}
}

func TestEveryPlaceKnowsThePriorities(t *testing.T) {
	for file, texts := range priorityPlaces() {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range texts {
			if !strings.Contains(string(content), text) {
				t.Errorf("%s does not contain %s, which the list of priorities calls for", file, text)
			}
		}
	}
	for rank, p := range priorities {
		if p.rank() != rank {
			t.Errorf("%s has rank %d at place %d: the values must be consecutive, the highest first", p.name, p.rank(), rank)
		}
	}
}

// The numbers of the lines are stored in Redis, and their names are keys: they must not
// change within a format. A new line is appended.
func TestNumbersAndKeysOfLinesAreStable(t *testing.T) {
	want := strings.Fields("2:high:returned 2:high:due 2:high:fresh 2:normal:returned 2:normal:due 2:normal:fresh " +
		"2:low:returned 2:low:due 2:low:fresh 2:high:retry 2:normal:retry 2:low:retry 2:high:quarantine 2:normal:quarantine 2:low:quarantine")
	if got := keyNames[:min(len(want), int(lineCount))]; !slices.Equal(got, want) {
		t.Errorf("the lines are %q, want %q", got, want)
	}
	if got := plainKeyNames[:len(priorities)]; !slices.Equal(got, []string{"2:high:fresh", "2:normal:fresh", "2:low:fresh"}) {
		t.Errorf("the fresh lines are %q", got)
	}
}

// lineTable is a script that returns, for each line, its letter, whether it is fresh, a
// retry line or a quarantine line; then the order of reading; then for each priority the due
// line, the retry line and the quarantine line.
const lineTable = `
-- @include queue record order
local out = {'ok', LINES}
for line = 1, LINES do
  out[#out + 1] = letter_of(line)
  out[#out + 1] = (is_fresh(line) and 'fresh' or '') .. (is_retry(line) and 'retry' or '') .. (is_quarantine(line) and 'quarantine' or '')
end
for _, line in ipairs(READ_ORDER) do out[#out + 1] = line end
for letter in string.gmatch(ARGV[1], '.') do
  out[#out + 1], out[#out + 2], out[#out + 3] = due_line(letter), RETRY_LINE[letter], QUARANTINE_LINE[letter]
end
return out
`

func TestScriptsHaveTheSameLinesAsGo(t *testing.T) {
	files := fstest.MapFS{"lua/line_table.lua": {Data: []byte(lineTable)}}
	script := rdb.LoadScripts("test", files, keyNames, rdb.Words{}, luaFiles).Idempotent("line_table", "read the lines")
	var want []string
	kinds := map[lineKind]string{freshLine: "fresh", retryLine: "retry", quarantineLine: "quarantine"}
	for l := line(1); l <= lineCount; l++ {
		want = append(want, string(l.priority().letter()), kinds[l.kind()])
	}
	var letters string
	var kept []string
	for _, p := range priorities {
		letters += string(p.letter)
		for _, kind := range []lineKind{quarantineLine, returnedLine, dueLine, freshLine, retryLine} {
			want = append(want, fmt.Sprint(kind.of(p.Priority)))
		}
		kept = append(kept, fmt.Sprint(dueLine.of(p.Priority)), fmt.Sprint(retryLine.of(p.Priority)), fmt.Sprint(quarantineLine.of(p.Priority)))
	}
	want = append(want, kept...)
	db := redistest.DB(t)
	reply, err := script.Run(t.Context(), db, queueKeys(db.Prefix(), "q"), letters)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := 1; i < reply.Len(); i++ {
		got = append(got, reply.Text(i))
	}
	if reply.Int(0) != int64(lineCount) || !slices.Equal(got, want) {
		t.Errorf("%d lines: %q, want %d: %q", reply.Int(0), got, lineCount, want)
	}
}
