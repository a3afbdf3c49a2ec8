package cli

import (
	"encoding/csv"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"skidway/internal/escape"
)

// printed returns what a command with OutputFlag prints of one cell.
func printed(t *testing.T, cell string, args ...string) string {
	t.Helper()
	var out strings.Builder
	a := &App{Out: &out}
	c := &cobra.Command{}
	output := OutputFlag(a, c)
	view := View[string]{
		{Key: "cell", Head: "CELL", Value: func(s string) any { return s }},
		{Head: "CUSTOM", Cell: func(s string) string { return s }},
	}
	c.RunE = func(*cobra.Command, []string) error { return PrintView(a, output.Word, view, []string{cell}, nil) }
	c.SetArgs(args)
	if err := c.Execute(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestControlCharactersAreEscapedInEveryFormat(t *testing.T) {
	t.Parallel()
	const cell = "a\x1b[2J\a\r\u007f\u009b31m\u202e\u2066\u200f\ufeff z\n\tb ä\u05d0"
	for _, format := range []string{"table", "csv", "json"} {
		text := printed(t, cell, "-o", format)
		if bad := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && r != '\t' && escape.IsControl(r) }); bad >= 0 {
			t.Errorf("%s: control character at %d of %q", format, bad, text)
		}
		if !strings.Contains(text, `\u009b31m\u202e`) || !strings.Contains(text, "b ä\u05d0") {
			t.Errorf("%s: %q", format, text)
		}
	}
	var rows []struct{ Cell string }
	if err := json.Unmarshal([]byte(printed(t, cell, "-o", "json")), &rows); err != nil || rows[0].Cell != cell {
		t.Errorf("JSON decodes to %q, %v", rows, err)
	}
}

func TestCellsOfCSVAreNoFormulas(t *testing.T) {
	t.Parallel()
	for cell, want := range map[string]string{
		"=1+1": "'=1+1", "+cmd": "'+cmd", "-x": "'-x", "@sum": "'@sum", "\tx": "'\tx", "\rx": `\u000dx`,
		"-1": "-1", "-0.25": "-0.25", "+49": "+49", "a=b": "a=b", "": "", "\xff\xfe": `\xff\xfe`, "a\nb\tc": "a\nb\tc",
	} {
		if got := csvCell(t, printed(t, cell, "-o", "csv")); got != want {
			t.Errorf("%q becomes %q, want %q", cell, got, want)
		}
		if got := csvCell(t, printed(t, cell, "-o", "csv", "--csv-raw")); got != cell {
			t.Errorf("raw: %q becomes %q", cell, got)
		}
	}
}

// csvCell returns the one cell below the heading.
func csvCell(t *testing.T, text string) string {
	t.Helper()
	if text == "cell\n\n" {
		return ""
	}
	records, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(records) != 2 || !slices.Equal(records[0], []string{"cell"}) {
		t.Fatalf("%q: %q, %v", text, records, err)
	}
	return records[1][0]
}

func TestShellOffersAllFormatsOfACommand(t *testing.T) {
	t.Parallel()
	c := &cobra.Command{}
	output := OutputFlag(&App{}, c, "ndjson")
	complete, found := c.GetFlagCompletionFunc("output")
	if !found {
		t.Fatal("the shell offers nothing")
	}
	if words, _ := complete(c, nil, ""); !slices.Equal(words, output.Words) || !slices.Contains(words, "ndjson") {
		t.Errorf("%q, want %q", words, output.Words)
	}
}
