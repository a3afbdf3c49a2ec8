package queue

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// The places that repeat the list of priorities: the text that each must contain.
func priorityPlaces() map[string][]string {
	var letters, ofLines strings.Builder
	var firstLines []string
	for _, p := range priorities {
		letters.WriteByte(p.letter)
		ofLines.WriteString(strings.Repeat(string(p.letter), linesEach))
		firstLines = append(firstLines, fmt.Sprintf("%c = %d", p.letter, returnedLine.of(p.Priority)))
	}
	lowest := priorities[len(priorities)-1].Priority
	return map[string][]string{
		"lua/queue.lua":           {fmt.Sprintf("LINES, GROUP = %d,", lineCount), "'" + ofLines.String() + "'"},
		"lua/record.lua":          {"FIRST_LINE = {" + strings.Join(firstLines, ", ") + "}", fmt.Sprintf("line %% %d", linesEach)},
		"lua/enqueue_plain.lua":   {"'" + letters.String() + "'"},
		"lua/move.lua":            {fmt.Sprintf("malformed(%d,", freshLine.of(Normal))},
		"lua/operate.lua":         {fmt.Sprintf("malformed(%d,", freshLine.of(Normal))},
		"../docs/architecture.md": {returnedLine.of(High).name() + " …", "\n" + freshLine.of(lowest).name() + " "},
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

// The names of the lines are keys in Redis: they must never change.
func TestKeysOfLinesAreStable(t *testing.T) {
	want := strings.Fields("2:high:returned 2:high:due 2:high:fresh 2:normal:returned 2:normal:due 2:normal:fresh 2:low:returned 2:low:due 2:low:fresh")
	if got := keyNames[:lineCount]; !slices.Equal(got, want) {
		t.Errorf("the lines are %q, want %q", got, want)
	}
	if got := plainKeyNames[:len(priorities)]; !slices.Equal(got, []string{"2:high:fresh", "2:normal:fresh", "2:low:fresh"}) {
		t.Errorf("the fresh lines are %q", got)
	}
}
