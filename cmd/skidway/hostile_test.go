package main

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"skidway/cmd/skidway/internal/cli"
)

// hostileText has what would act in a terminal, a spreadsheet or a browser.
const hostileText = "=cmd|'/c x'!A1\x1b[2J\u009b31m\a\u202e\u2066<script>alert(1)</script>\xff"

// hostileLogs writes a log in the combined format, one in JSON with keys of its own and one in
// no format, whose names, keys and values are hostile. It returns their names.
func hostileLogs(t *testing.T, folder string) (combined, objects, unknown string) {
	t.Helper()
	quoted := strings.ReplaceAll(hostileText, "\x1b", `\u001b`)
	const name = "=x\x1b[2J\u202e<script>alert(1)<script>"
	combined, objects, unknown = name+".log", name+".json", name+".txt"
	write(t, folder, combined, line("8.8.8.8", "01")+
		`8.8.4.4 - `+hostileText+` [01/Nov/2026:10:00:00 +0000] "GET /`+hostileText+` HTTP/1.1" 200 12 "`+hostileText+`" "`+hostileText+`"`+"\n"+
		hostileText+"\n"+strings.Repeat("x", 1<<20)+"\n"+strings.Repeat("x", 1<<20+1)+"\n")
	write(t, folder, objects, `{"`+quoted+`":"`+quoted+`","ip":"8.8.8.8","at":"2026-11-01T00:00:00Z"}`+"\n")
	write(t, folder, unknown, hostileText+"\t8.8.8.8\t"+hostileText+"\n"+hostileText+"\n")
	return combined, objects, unknown
}

// checkHarmless fails the test if a text would act where it is shown.
func checkHarmless(t *testing.T, text string) {
	t.Helper()
	if !utf8.ValidString(text) {
		t.Errorf("no UTF-8: %.500q", text)
	}
	for _, r := range text {
		if r != '\n' && r != '\t' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			t.Fatalf("%U in %.500q", r, text)
		}
	}
}

// checkOutput checks what a command prints in each of its formats.
func checkOutput(t *testing.T, folder string, code int, args ...string) (output string) {
	t.Helper()
	for _, format := range []string{"table", "csv", "json"} {
		o := skidway(t, folder, append([]string{"logs"}, append(args, "-o", format)...)...)
		if o.code != code {
			t.Errorf("%q: exit code %d: %s", args, o.code, o.stderr)
		}
		checkHarmless(t, o.stdout)
		checkHarmless(t, o.stderr)
		output += o.stdout + o.stderr
		switch format {
		case "json":
			if !json.Valid([]byte(o.stdout)) {
				t.Errorf("%q: no JSON: %.500q", args, o.stdout)
			}
		case "csv":
			rows, err := csv.NewReader(strings.NewReader(o.stdout)).ReadAll()
			if err != nil || len(rows) == 0 {
				t.Errorf("%q: %d rows, %v", args, len(rows), err)
			}
			for _, row := range rows {
				for _, cell := range row {
					if _, err := strconv.ParseFloat(cell, 64); err != nil && cell != "" && cell != "-" && strings.ContainsRune("=+-@\t", rune(cell[0])) {
						t.Errorf("%q: the cell %.100q is a formula", args, cell)
					}
				}
			}
		}
	}
	return output
}

func TestHostileLogIsHarmlessInEveryOutput(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	combined, objects, unknown := hostileLogs(t, folder)
	counted := checkOutput(t, folder, cli.ExitDone, "count", combined)
	hasLine(t, counted, "lines=5 counted=2 unknown_country=0 unparsable=3 files=1")
	checkOutput(t, folder, cli.ExitFailed, "count", "--dry-run", combined, objects, unknown)
	checkOutput(t, folder, cli.ExitFailed, "count", combined, unknown)
	checkOutput(t, folder, cli.ExitDone, "explain", combined, "--lines", "5")
	explained := checkOutput(t, folder, cli.ExitFailed, "explain", objects) + checkOutput(t, folder, cli.ExitFailed, "explain", unknown)
	if !strings.Contains(explained, "cmd|") {
		t.Errorf("the values are not shown: %s", explained)
	}
	checkOutput(t, folder, cli.ExitDone, "explain", objects, "--format", "json", "--field", "address=ip", "--field", "time=at")
}

func TestHostileLogIsHarmlessInStatusAndReport(t *testing.T) {
	t.Parallel()
	folder, web := t.TempDir(), channelFlags(t)
	combined, objects, unknown := hostileLogs(t, folder)
	for _, args := range [][]string{
		{"logs", "ship", "--subscriber", "s", combined, objects, unknown},
		{"logs", "work", "--subscriber", "s", "--until-done", "--by", "path", "--by", "referrer_host", "--by", "day"},
		{"logs", "report", "--subscriber", "s", "--html", "page.html"},
	} {
		o := skidway(t, folder, with(web, args...)...)
		checkHarmless(t, o.stdout+o.stderr)
	}
	page, err := os.ReadFile(filepath.Join(folder, "page.html"))
	if err != nil {
		t.Fatal(err)
	}
	checkHarmless(t, string(page))
	if text := string(page); strings.Contains(text, "<script>alert") || !strings.Contains(text, "alert(1)") {
		t.Error("the names of the files are not escaped in the page, or not shown")
	}
	lines := skidway(t, folder, with(web, "logs", "report", "--subscriber", "s", "-o", "ndjson")...).stdout
	checkHarmless(t, lines)
	for line := range strings.Lines(lines) {
		if !json.Valid([]byte(line)) {
			t.Errorf("no JSON: %.500q", line)
		}
	}
	table := skidway(t, folder, with(web, "logs", "report", "--subscriber", "s", "-o", "markdown")...).stdout
	checkHarmless(t, table)
	if !strings.Contains(lines, "alert(1)") || !strings.Contains(table, "alert(1)") || strings.Contains(table, "<script>") {
		t.Errorf("the path is not shown, or not escaped: %.500q %.500q", lines, table)
	}
	for line := range strings.Lines(table) {
		if line != "\n" && !strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| --- ") {
			t.Errorf("a row of several lines: %.500q", line)
		}
	}
	checkOutput(t, folder, cli.ExitDone, with(web, "status")...)
	checkOutput(t, folder, cli.ExitFailed, with(web, "report", "--subscriber", "s")...)
}
