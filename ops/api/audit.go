package api

import (
	"cmp"
	"context"
	"net"
	"time"

	"skidway"
	"skidway/internal/rdb"
	"skidway/ops/access"
)

// who returns the principal's name in the audit.
func (c *call) who() string { return access.NewEntry(c.r.Context(), "", "").Who }

// entry returns the entry of a change in the audit.
func (c *call) entry(name, filter string, count int) access.Entry {
	e := access.NewEntry(c.r.Context(), cmp.Or(c.action, c.route.audit), name)
	if e.Filter, e.Count = filter, count; !access.AddressFromContext(c.r.Context()).IsValid() { // there is no gate
		e.From = c.r.RemoteAddr
		if host, _, err := net.SplitHostPort(e.From); err == nil {
			e.From = host
		}
	}
	return e
}

// audited makes a change, with an entry of the audit before and after it. Without the first one
// nothing is changed.
func (c *call) audited(ctx context.Context, name, filter string, count int, change func() error) error {
	end, err := c.beginAudit(ctx, c.entry(name, filter, count))
	if err != nil {
		return err
	}
	err = sent(change())
	end(err, -1)
	return err
}

// sent returns the error of a change that was sent to Redis. While Redis does not answer it may have
// happened.
func sent(err error) error {
	if p := problemOf(err); p == nil || p.Name() != "redis-unavailable" || rdb.Refused(err) {
		return err
	}
	return &skidway.OutcomeUnknownError{Op: "change", Err: err}
}

// beginAudit adds the entry before a change, and returns what adds the one after it.
func (c *call) beginAudit(ctx context.Context, e access.Entry) (end func(outcome error, count int), err error) {
	finish, err := c.audit.Begin(ctx, e)
	if err != nil {
		if p := problemOf(err); p != nil {
			return nil, p
		}
		return nil, problem("audit-unavailable", "%v", err).retry(retryAfter)
	}
	return func(outcome error, count int) {
		if err := finish(outcome, count); err != nil {
			c.log.Error("the audit has no entry of the end of a change", "action", e.Action, "queue", e.Queue, "error", err)
		}
	}, nil
}

// An AuditEntry is a row of the audit.
type AuditEntry struct {
	ID      string    `json:"id"`
	Change  string    `json:"change,omitzero" jsonschema:"joins the rows before and after a change"`
	Time    time.Time `json:"time"`
	Who     string    `json:"who"`
	Proven  bool      `json:"proven" jsonschema:"whether who has logged in"`
	From    string    `json:"from,omitzero"`
	Action  string    `json:"action"`
	Queue   string    `json:"queue,omitzero"`
	Filter  string    `json:"filter,omitzero"`
	Count   int       `json:"count,omitzero"`
	Outcome string    `json:"outcome,omitzero" jsonschema:"done or an error; none before the change"`
}

func listAudit(ctx context.Context, c *call) (any, error) {
	position, limit, err := c.listPart()
	if err != nil {
		return nil, err
	}
	newerThan, err := c.duration("newer_than", maxAge)
	if err != nil {
		return nil, err
	}
	entries, next, err := c.audit.ListNewer(ctx, newerThan, position, limit)
	if err != nil {
		return nil, err
	}
	list := &List[AuditEntry]{Items: []AuditEntry{}, Next: c.next(next), LookedAt: len(entries), Complete: next == ""}
	for _, e := range entries {
		list.Items = append(list.Items, AuditEntry{e.ID, e.Change, utc(e.Time), e.Who, e.Proven, e.From, e.Action, e.Queue, e.Filter, e.Count, e.Outcome})
	}
	list.AsOf, err = c.now(ctx)
	return list, err
}
