package stats

import (
	"regexp"
	"strings"
)

// maxShape bounds a shape, in bytes.
const maxShape = 200

// variable matches the parts of an error that differ from case to case: quoted text, addresses,
// ids and numbers.
var variable = regexp.MustCompile(`("(?:[^"\\]|\\.)*"|\B'[^']*'\B|` + "`[^`]*`" + `)` +
	`|([\w.+-]+@[\w-]+(?:\.[\w-]+)+|\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b|\[[0-9a-fA-F:]{3,}\](?::\d+)?)` +
	`|(\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b|\b0[xX][0-9a-fA-F]+\b|\b[0-9a-fA-F]{8,}\b)` +
	`|(?:\d+h)?(?:\d+m)?\d+(?:\.\d+)?`)

// Shape returns what errors of one cause have in common: the first line, with "…" in the place of
// quoted text, <address>, <id> and <n>.
func Shape(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	text = text[:min(len(text), 4*maxShape)]
	var shape strings.Builder
	end := 0
	for _, found := range variable.FindAllStringSubmatchIndex(text, -1) {
		shape.WriteString(text[end:found[0]])
		end = found[1]
		switch {
		case found[2] >= 0:
			shape.WriteString(`"…"`)
		case found[4] >= 0:
			shape.WriteString("<address>")
		case found[6] >= 0 && !strings.ContainsAny(text[found[6]:found[7]], "0123456789"):
			shape.WriteString(text[found[6]:found[7]]) // a word
		case found[6] >= 0 && strings.ContainsAny(text[found[6]:found[7]], "abcdefABCDEF-"):
			shape.WriteString("<id>")
		default:
			shape.WriteString("<n>")
		}
	}
	shape.WriteString(text[end:])
	cut := shape.String()
	return strings.ToValidUTF8(cut[:min(len(cut), maxShape)], "")
}
