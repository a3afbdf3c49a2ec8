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

func TestTablesFitTheTerminal(t *testing.T) {
	t.Parallel()
	long := func(n int) func(string) any { return func(string) any { return strings.Repeat("ä", n) } }
	for name, c := range map[string]struct {
		view View[string]
		want string // of the row; empty: the width of the terminal
	}{
		"it fits":              {View[string]{{Head: "A", Value: long(3)}, {Head: "B", Wide: true, Value: long(3)}}, "äää  äää"},
		"wide column":          {View[string]{{Head: "A", Value: long(16)}, {Head: "B", Wide: true, Value: long(20)}}, strings.Repeat("ä", 16)},
		"one of two":           {View[string]{{Head: "A", Wide: true, Value: long(10)}, {Head: "B", Wide: true, Value: long(20)}}, "ääääääääää"},
		"widest first":         {View[string]{{Head: "A", Value: long(10)}, {Head: "B", Value: long(30)}}, "ääääääääää  ääääääääääääääääää…"},
		"several":              {View[string]{{Head: "A", Value: long(50)}, {Head: "B", Value: long(60)}}, ""},
		"not whole ones":       {View[string]{{Head: "A", Whole: true, Value: long(20)}, {Head: "B", Value: long(12)}}, strings.Repeat("ä", 20) + "  ääääääää…"},
		"not to nothing":       {View[string]{{Head: "A", Whole: true, Value: long(29)}, {Head: "B", Value: long(9)}}, strings.Repeat("ä", 29) + "  äääääää…"},
		"the rest to the last": {View[string]{{Head: "A", Value: long(5)}, {Head: "B", Fit: true, Value: long(70)}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			if err := c.view.Table([]string{"row"}).Write(&screen{&out, 31}); err != nil {
				t.Fatal(err)
			}
			row := strings.Split(out.String(), "\n")[1]
			if row != c.want && (c.want != "" || utf8.RuneCountInString(row) != 31) {
				t.Errorf("%d columns: %s", utf8.RuneCountInString(row), row)
			}
		})
	}
}
