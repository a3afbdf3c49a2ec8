package dash

import (
	"embed"
	"html/template"
	"regexp"
	"strings"

	"skidway/ops/dash/internal/chart"
	"skidway/ops/dash/internal/words"
	"skidway/queue"
)

//go:embed pages/*.html
var pageFiles embed.FS

// parseTemplates parses the templates of the pages and their parts. Functions that need nothing of
// the request are here; the methods of [page] are the others.
func parseTemplates() (*template.Template, error) {
	return template.New("").Funcs(template.FuncMap{
		"t":     words.T,
		"num":   words.Text,
		"age":   words.Age,
		"took":  words.Took,
		"about": words.About,
		"bytes": words.Bytes,
		"ratio": words.Ratio,
		"long":  words.Long,
		"dict":  dict,
		"join":  strings.Join,
		"int64": func(n int) int64 { return int64(n) },
		"state_icon": func(state queue.State) string {
			if state == queue.Dead {
				return "bad"
			}
			return "warn"
		},
		"priorities": func() []string { return []string{"high", "normal", "low"} },
		"quote":      regexp.QuoteMeta,
		"sum":        func(a, b int64) int64 { return a + b },
		"bar": func(label string, part, whole int64, bad bool) chart.Bar {
			return chart.Share(label, float64(part), float64(whole), bad)
		},
	}).ParseFS(pageFiles, "pages/*.html")
}

// dict returns a map for a part that needs several values, from names and values in turn.
func dict(pairs ...any) map[string]any {
	values := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		values[pairs[i].(string)] = pairs[i+1]
	}
	return values
}
