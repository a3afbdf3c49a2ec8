package dash

import (
	"net/http"
	"slices"
	"strings"
)

// gaps are the pages before which the list of pages has a line.
var gaps = []string{"channels", "audit"}

// A RailEntry is a line of the list of pages.
type RailEntry struct {
	Name, Path, Key string
	Current, Gap    bool
}

// Rail returns the list of pages that the principal may see.
func (p *page) Rail() (entries []RailEntry) {
	for i := range routes {
		r := &routes[i]
		if r.rail == "" || p.denied(r.right, r.scope) {
			continue
		}
		_, path, _ := strings.Cut(r.pattern, " ")
		entries = append(entries, RailEntry{
			Name: r.rail, Path: p.Link(strings.TrimSuffix(path, "{$}")), Key: r.key,
			Current: p.route.rail == r.rail || p.Under == r.rail, Gap: slices.Contains(gaps, r.rail),
		})
	}
	return entries
}

// Live reports whether the page has live parts. That of an error has none: its stream would be
// refused, and the script would load the page again and again.
func (p *page) Live() bool { return p.route.live && p.Status < http.StatusBadRequest }

// LiveIcon is the shape of a page that changes.
func (p *page) LiveIcon() Icon {
	icon := p.Icon("run", "")
	icon.Class = "ok"
	return icon
}

// AsOfText returns the time of the figures.
func (p *page) AsOfText() string { return p.Now().In(p.Settings.zone).Format("15:04:05") }
