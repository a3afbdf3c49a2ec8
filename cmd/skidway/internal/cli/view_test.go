package cli

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestLastColumnOfATableIsCutToItsWidth(t *testing.T) {
	t.Parallel()
	view := View[string]{
		{Head: "ID", Value: func(s string) any { return s }},
		{Head: "NOTE", Fit: true, Value: func(s string) any { return strings.Repeat("ä", 200) }},
	}
	for id, width := range map[string]int{"short": TableWidth, strings.Repeat("i", 70): 70 + 2 + minFit} {
		var out strings.Builder
		if err := view.Table([]string{id}).Write(&out); err != nil {
			t.Fatal(err)
		}
		_, row, _ := strings.Cut(out.String(), "\n")
		if row = strings.TrimSuffix(row, "\n"); utf8.RuneCountInString(row) != width || !strings.HasSuffix(row, "…") {
			t.Errorf("%d columns, want %d: %s", utf8.RuneCountInString(row), width, row)
		}
	}
}
