package api

import "skidway/ops/access"

// A Row is a route, for tests.
type Row struct {
	Method, Path string
	Action       access.Action
	Everyone     bool // every principal may
	All          bool // it needs the action for all queues
	Some         bool // for some queue
	Audited      bool
	Body         any
}

// Rows returns the table of routes.
func Rows() (rows []Row) {
	for _, r := range routes() {
		rows = append(rows, Row{r.method, prefix + r.path, r.action, r.scope == ofNone, r.scope == ofAll, r.scope == ofSome, r.audit != "", r.body})
	}
	return rows
}

// MaxWaits bounds requests that wait.
const MaxWaits = maxWaits
