package dash

import (
	"time"

	"skidway/ops"
	"skidway/ops/access"
)

// A QueueRow is a queue in a table.
type QueueRow struct {
	Name, Note string
	Icon       Icon
	Oldest     Value

	Waiting, Delayed, Active, Dead, Workers Value
}

// queuesData is the data of the pages with a table of queues.
type queuesData struct {
	Rows []QueueRow
}

// queuesPage is the page of all queues.
func queuesPage(p *page) error {
	statuses, err := p.statuses()
	if err != nil {
		return err
	}
	p.Title = T("queues.title")
	p.Data = queuesData{p.queueRows(statuses)}
	return nil
}

// overviewPage is the first page.
func overviewPage(p *page) error {
	err := queuesPage(p)
	p.Title = T("overview.title")
	return err
}

// statuses returns the queues that the principal may see.
func (p *page) statuses() (seen []ops.QueueStatus, err error) {
	all, err := p.dash.ops.Statuses(p.ctx(), nil)
	for _, status := range all {
		if p.May(string(access.View), status.Name) {
			seen = append(seen, status)
		}
	}
	return seen, err
}

// queueRows returns the rows of queues.
func (p *page) queueRows(statuses []ops.QueueStatus) (rows []QueueRow) {
	for _, s := range statuses {
		value := func(field string, n any) Value { return p.Val(field+"."+s.Name, n) }
		row := QueueRow{
			Name: s.Name, Icon: p.queueIcon(s), Oldest: value("oldest", oldest(s.Depth.Oldest)),
			Waiting: value("waiting", s.Depth.Waiting), Delayed: value("delayed", s.Depth.Delayed), Active: value("active", s.Depth.Active),
			Dead: value("dead", s.Depth.Dead), Workers: p.Val("workers."+s.Name, s.Workers),
		}
		rows = append(rows, row)
	}
	return rows
}

// oldest returns the age of the oldest waiting job.
func oldest(d time.Duration) string {
	if d == 0 {
		return none
	}
	return age(d)
}

// queueIcon returns the state of a queue.
func (p *page) queueIcon(s ops.QueueStatus) Icon {
	switch {
	case s.Err != nil:
		return p.Icon("bad", T("state.problem"))
	case s.Depth.Paused:
		return p.Icon("pause", T("state.paused"))
	case s.Depth.Active > 0:
		return p.Icon("run", T("state.running"))
	}
	return p.Icon("off", T("state.idle"))
}
