package logs

import (
	"strings"
	"testing"

	"skidway/distribute/cuts"
)

func dayTable(rows ...cuts.Row) cuts.Table {
	return cuts.Table{By: []string{"day", "country"}, Measures: []cuts.Measure{cuts.Requests}, Rows: rows}
}

func TestMarkdownHasOneRowALine(t *testing.T) {
	t.Parallel()
	r := result{tables: []cuts.Table{dayTable(cuts.Row{Values: []string{"2026-11-01", "a|b<img>\n`c"}, Counts: cuts.Counts{Requests: 1}})}}
	var out strings.Builder
	if err := r.markdown(&out); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	if strings.Count(text, "\n") != 3 || !strings.Contains(text, `a\|b&lt;img>`) || strings.Contains(text, "<") {
		t.Errorf("%s", text)
	}
}
