package dash

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"skidway/ops"
	"skidway/ops/dash/internal/chart"
	"skidway/ops/dash/internal/words"
)

// A queueRow is a queue in a table.
type queueRow struct {
	Name         string
	Icon         Icon
	Note, Oldest Value
	Spark        *chart.Spark

	Waiting, Delayed, Active, Dead, Workers, Done, Failed Value
	Read                                                  Value // how old the figures are, if that is long
}

// queuesPerPage is the number of queues that a page of them lists.
const queuesPerPage = 200

// queuesData is the data of a page of queues.
type queuesData struct {
	numberedPage
	Rows  []queueRow
	Name  string // the filter: a part of names, in upper or lower case
	Count string // of the queues that are listed, and of those that match
}

// A numberedPage is the part of a list that a page shows.
type numberedPage struct {
	first, end     int // of the entries
	Previous, Next int // numbers of pages, zero for none
}

// numbered returns the part of a list of n entries that the request asks for by the number of a page.
func (p *page) numbered(n, perPage int) (part numberedPage) {
	last := max(1, (n+perPage-1)/perPage)
	number, _ := strconv.Atoi(p.request.FormValue("page")) // what is not a number counts as 1
	number = min(max(1, number), last)
	part.first, part.end = (number-1)*perPage, min(number*perPage, n)
	if part.Previous = number - 1; part.Previous > 0 {
		p.recorder.row("pages", "previous page")
	}
	if number < last {
		part.Next = number + 1
		p.recorder.row("pages", "next page")
	}
	return part
}

// queuesPage is a page of queues by trouble, the worst first.
func queuesPage(p *page) error {
	o := p.Overview()
	if err := unread(o); err != nil {
		return err
	}
	p.Title = words.T("queues.title")
	data := queuesData{Name: strings.TrimSpace(p.request.FormValue("name"))}
	queues := o.Queues
	if data.Name != "" {
		part := strings.ToLower(data.Name)
		queues = slices.DeleteFunc(slices.Clone(queues), func(q *ops.SampledQueue) bool { return !strings.Contains(strings.ToLower(q.Name), part) })
	}
	data.numberedPage = p.numbered(len(queues), queuesPerPage)
	data.Rows = queueRows(p, queues[data.first:data.end])
	data.Count = words.T("queues.count", len(queues))
	if data.Name != "" {
		data.Count = words.T("queues.match", data.Count, data.Name)
	}
	if data.Previous > 0 || data.Next > 0 {
		data.Count = words.T("queues.shown", data.first+1, data.end, data.Count)
	}
	if text := readingStates(o); text != "" {
		data.Count += "; " + text
	}
	p.Data = data
	return nil
}

// queueRows returns the rows of queues.
func queueRows(p *page, queues []*ops.SampledQueue) (rows []queueRow) {
	for _, q := range queues {
		known := func(n any) any {
			if q.Time.IsZero() {
				return words.None // it has not been read
			}
			return n
		}
		value := func(field string, n any) Value { return p.Val(field+"."+q.Name, known(n)) }
		row := queueRow{Name: q.Name, Icon: p.liveShape("state "+q.Name, queueIcon(p, q)), Note: p.Val("note."+q.Name, queueNote(q))}
		row.Read = p.Val("read."+q.Name, figuresAge(p, q))
		row.Oldest = value("oldest", oldest(q.Depth.Oldest))
		row.Waiting, row.Delayed = value("waiting", q.Depth.Waiting), value("delayed", q.Depth.Delayed)
		row.Active, row.Dead = value("active", q.Depth.Active), value("dead", q.Depth.Dead)
		row.Workers = p.Bad("workers."+q.Name, known(q.Workers), q.Workers == 0 && q.Depth.Waiting > 0)
		var hourDone, hourFailed any = words.None, words.None
		bad := false
		if q.Hour != nil {
			hourDone, hourFailed, bad = q.Hour.Done, q.Hour.Failed, q.Hour.Failed*10 > q.Hour.Done+q.Hour.Failed
		}
		row.Done, row.Failed = value("done", hourDone), p.Bad("failed."+q.Name, known(hourFailed), bad)
		row.Spark = chart.NoLine(words.T("queues.no_spark"))
		if q.Done != nil {
			row.Spark = chart.Line(words.T("queues.spark", q.Done[len(q.Done)-1]), floats(q.Done))
		}
		row.Spark = p.liveSpark(q.Name, row.Spark)
		p.recorder.row("queues", "queue "+q.Name)
		rows = append(rows, row)
	}
	return rows
}

// maxAge is the age from which figures show how old they are, beside those that a worker has stored.
const maxAge = time.Minute

// figuresAge returns how old the figures of a queue are, empty if they are of now.
func figuresAge(p *page, q *ops.SampledQueue) string {
	if old := p.Now().Sub(q.Time); !q.Time.IsZero() && (q.Stored || old > maxAge) {
		return words.T("queues.read", words.Age(max(0, old)))
	}
	return ""
}

func floats(counts []int64) (values []float64) {
	for _, n := range counts {
		values = append(values, float64(n))
	}
	return values
}

// oldest returns the age of the oldest waiting job.
func oldest(d time.Duration) string {
	if d == 0 {
		return words.None
	}
	return words.Age(d)
}

// queueNote returns what is wrong with a queue, in a few words.
func queueNote(q *ops.SampledQueue) string {
	switch {
	case q.Err != nil:
		return words.T("queue.unreadable")
	case q.Depth.Paused && q.Depth.PausedBy != "":
		return words.T("queue.paused_by", q.Depth.PausedBy)
	case q.Depth.Paused:
		return words.T("state.paused")
	case len(q.Diagnoses) > 0:
		return words.T("diagnosis." + q.Diagnoses[0].Name)
	}
	return ""
}

// queueIcon returns the state of a queue.
func queueIcon(p *page, q *ops.SampledQueue) Icon {
	name, text := queueState(q)
	return p.Icon(name, text)
}

// queueState returns the icon of the state of a queue, and its word.
func queueState(q *ops.SampledQueue) (icon, text string) {
	switch {
	case q.Time.IsZero() && q.Err == nil:
		return "delay", words.T("state.unread")
	case q.Depth.Paused && q.Err == nil:
		return "pause", words.T("state.paused")
	case q.Rank() == ops.Problem:
		return "bad", words.T("state.problem")
	case q.Rank() == ops.Warning:
		return "warn", words.T("state.warning")
	case q.Depth.Active > 0:
		return "run", words.T("state.running")
	}
	return "off", words.T("state.idle")
}
