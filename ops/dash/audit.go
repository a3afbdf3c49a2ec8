package dash

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"skidway/ops/access"
	"skidway/ops/dash/internal/words"
)

// auditData is the data of the page of the audit.
type auditData struct {
	access.EntryFilter
	Rows   []access.Entry
	Looked Value  // how far
	Next   string // the query of older entries
	Shell  string
}

// Bounds of a page.
const (
	auditLooked = 500 // entries
	auditEnded  = 50  // changes that the next page knows as ended
)

// auditPage is the list of who changed what, the latest first.
func auditPage(p *page) error {
	get := func(name string) string { return strings.TrimSpace(p.request.FormValue(name)) }
	data := auditData{EntryFilter: access.EntryFilter{Who: get("who"), Action: get("action"), Queue: get("queue")}}
	entries, next, err := p.dash.audit.List(p.ctx(), p.request.FormValue("cursor"), auditLooked)
	if err != nil {
		return err
	}
	ended := map[string]bool{} // changes with an end on this page or one before it, and no beginning yet
	before := p.request.Form["ended"]
	for _, change := range before[:min(len(before), auditEnded)] {
		ended[change] = true
	}
	for _, e := range entries {
		if e.Outcome == "" && ended[e.Change] {
			delete(ended, e.Change)
			continue // the row of the end has all of it
		}
		if e.Outcome != "" && e.Change != "" {
			ended[e.Change] = true
		}
		if data.Matches(e) {
			data.Rows = append(data.Rows, e)
			p.recorder.row("audit", e.ID)
		}
	}
	data.Looked = p.Val("looked", words.T("audit.looked", len(entries)))
	data.Shell = command(withFlags([]string{"audit"}, "who", data.Who, "action", data.Action, "queue", data.Queue)...)
	if next != "" {
		open := slices.Sorted(maps.Keys(ended))
		data.Next = url.Values{"who": {data.Who}, "action": {data.Action}, "queue": {data.Queue}, "cursor": {next}, "ended": open[:min(len(open), auditEnded)]}.Encode()
	}
	p.Title = words.T("audit.title")
	p.Data = data
	return nil
}

// who returns the name of the principal as it stands in the audit: that of a token is no user's.
func (p *page) who() string { return access.NewEntry(p.ctx(), "", "").Who }

// audited makes a change, with entries of the audit before and after it. Without the first one
// nothing is changed.
func (p *page) audited(action, name, filter string, count int, change func() error) error {
	return p.auditedJobs(action, name, filter, count, func() (int, error) { return count, change() })
}

// auditedJobs is audited for a change that returns how many jobs it has changed.
func (p *page) auditedJobs(action, name, filter string, count int, change func() (int, error)) error {
	entry := access.NewEntry(p.ctx(), action, name)
	entry.Filter, entry.Count = filter, count
	end, err := p.dash.audit.Begin(p.ctx(), entry)
	if err != nil {
		return err
	}
	count, err = change()
	if failed := end(err, count); failed != nil {
		p.dash.config.Logger.Error("the audit has no entry of the end of a change", "action", action, "queue", name, "error", failed)
	}
	return err
}
