package dash

import (
	"errors"
	"slices"
	"strings"
	"time"

	"skidway/ops"
	"skidway/ops/dash/internal/words"
	"skidway/queue"
)

// A jobSearch is what a search for jobs has found, in one queue or in several.
type jobSearch struct {
	jobs     []*queue.Job
	next     string
	examined int
	total    int
}

// maxSearch bounds the time for which queues are searched for a page.
const maxSearch = 60 * time.Millisecond

// searchJobs returns jobs that match a filter. Without a queue it searches those of the overview that
// have jobs in the state, one after the other; the cursor names the queue.
func searchJobs(p *page, f jobFilter, cursor string, limit int) (found jobSearch, err error) {
	match, err := f.expression()
	if err != nil {
		return found, err
	}
	names := []string{f.Queue}
	from := ""
	if f.Queue == "" {
		names = namesWith(p, f.State)
		if from, cursor, _ = strings.Cut(cursor, "/"); from != "" {
			for len(names) > 0 && names[0] < from {
				names = names[1:]
			}
		}
	}
	until := time.Now().Add(maxSearch)
	for i, name := range names {
		if name != from && f.Queue == "" {
			cursor = ""
		}
		page, err := p.dash.ops.Search(p.ctx(), name, ops.SearchOptions{State: f.State, Match: match, Limit: limit - len(found.jobs), Cursor: cursor})
		var busy *ops.BusyError
		if i > 0 && errors.As(err, &busy) { // what was found in the queues before is not lost
			found.next = name + "/"
			break
		}
		if err != nil {
			return found, err
		}
		found.jobs = append(found.jobs, page.Jobs...)
		found.examined, found.total = found.examined+page.Examined, found.total+page.Total
		stop := len(found.jobs) == limit || time.Now().After(until)
		switch {
		case page.Next != "" && f.Queue != "":
			found.next = page.Next
		case page.Next != "":
			found.next = name + "/" + page.Next
		case stop && i+1 < len(names):
			found.next = names[i+1] + "/"
		}
		if stop || page.Next != "" {
			break
		}
	}
	return found, nil
}

// namesWith returns the queues that have jobs in a state, by name, and those of which that is not known
// yet.
func namesWith(p *page, state queue.State) (names []string) {
	for _, q := range p.Overview().Queues {
		if q.Time.IsZero() || q.Stored || ops.InState(q.Depth, state) > 0 {
			names = append(names, q.Name)
		}
	}
	slices.Sort(names)
	return names
}

// text returns how far the search looked.
func (s jobSearch) text(f jobFilter) string {
	state := words.T("state." + string(f.State))
	if s.next == "" && s.examined >= s.total {
		return words.T("jobs.looked_all", len(s.jobs), words.T("jobs.all_jobs", s.examined, state))
	}
	return words.T("jobs.looked", len(s.jobs), s.examined, words.T("question.jobs", max(s.total, s.examined), state))
}
