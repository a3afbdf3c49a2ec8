package dash

import (
	"embed"
	"html/template"
	"regexp"

	"skidway/queue"
)

//go:embed pages/*.html
var pageFiles embed.FS

// parseTemplates parses the templates of the pages and their parts. Functions that need nothing of
// the request are here; the methods of [page] are the others.
func parseTemplates() (*template.Template, error) {
	return template.New("").Funcs(template.FuncMap{
		"t":     T,
		"num":   number,
		"age":   age,
		"took":  took,
		"about": about,
		"bytes": byteSize,
		"ratio": ratio,
		"long":  longID,
		"dict":  dict,
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
		"bar": func(label string, part, whole int64, bad bool) Bar {
			return shareBar(label, float64(part), float64(whole), bad)
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

// An Icon is a shape with its meaning.
type Icon struct {
	Class, Href string
	Label       string // for screen readers; empty if a word stands beside it
}

// iconClasses has the colour of the icons that have one.
var iconClasses = map[string]string{"bad": "bad", "warn": "warn", "ok": "ok", "pause": "hold", "run": "run"}

// Icon returns an icon of assets/icons.svg: bad, warn, ok, pause, run, wait, delay, dead, off, sq, up or down.
func (p *page) Icon(name, label string) Icon {
	return Icon{iconClasses[name], p.Asset("icons.svg") + "#i-" + name, label}
}

// GrayIcon returns an icon without a colour of its own.
func (p *page) GrayIcon(name, label string) Icon {
	return Icon{"", p.Asset("icons.svg") + "#i-" + name, label}
}

// A Value is a text of a page that the stream changes in place.
type Value struct {
	Key, Text string
	Class     string // of the element
}

// Val returns a value for the part "v". The key names the value on its page; values of the same
// key must be equal.
func (p *page) Val(key string, value any) Value {
	v := Value{Key: key, Text: text(value)}
	if v.Text == "0" || v.Text == none {
		v.Class = "dim"
	}
	p.live.set(key, v.Text)
	return v
}

// Bad returns a value that is shown as a problem if it is above zero.
func (p *page) Bad(key string, n int64, bad bool) Value {
	v := p.Val(key, n)
	if bad && n > 0 {
		v.Class = "bad"
	}
	return v
}
