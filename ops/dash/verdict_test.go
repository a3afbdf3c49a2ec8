package dash

import (
	"slices"
	"testing"
	"time"

	"skidway/ops"
	"skidway/ops/access"
	"skidway/queue"
)

func TestNothingIsClaimedOfQueuesThatWereNotRead(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	of := func(name string, read time.Time, stored bool) *ops.SampledQueue {
		return &ops.SampledQueue{QueueStatus: ops.QueueStatus{Name: name, Time: read}, Stored: stored, Done: make([]int64, 24), Failed: make([]int64, 24)}
	}
	scopes, err := access.ParseScopes([]string{"view:*"})
	if err != nil {
		t.Fatal(err)
	}
	read, stored, unread := of("read", now, false), of("stored", now.Add(-90*time.Second), true), of("unread", time.Time{}, false)
	p := &page{overview: &ops.Overview{Now: now, Names: 3, Queues: []*ops.SampledQueue{read, stored, unread}}, links: links{"", loadAssets()}, viewer: viewer{&access.Principal{Scopes: scopes}}}
	for n, want := range []string{"1 of 3 queues read", "Statistics and schedules of 0 of 3 queues are read"} {
		if text := p.Reading(); text != want || p.Verdict().Calm {
			t.Errorf("%d: it says %q and %+v, want %q", n, text, p.Verdict(), want)
		}
		if n > 0 {
			break
		}
		if names := namesWith(p, queue.Dead); !slices.Equal(names, []string{"stored", "unread"}) {
			t.Errorf("dead jobs are looked for in %q", names)
		}
		rows := queueRows(p, p.overview.Queues)
		if rows[0].Read.Text != "" || rows[1].Read.Text != "figures of 1m 30s ago" || rows[2].Waiting.Text != "–" || rows[2].Icon.Label != "not read yet" {
			t.Errorf("the rows are %+v", rows)
		}
		if f := sum(p.overview); f.Done != "–" || f.Failed != "–" || f.Ratio != "–" {
			t.Errorf("the figures are %+v", f)
		}
		stored.Stored, unread.Time = false, now
	}
}
