package dash

import (
	"skidway/ops"
	"skidway/ops/dash/internal/words"
)

// A findingRow is a finding of the doctor.
type findingRow struct {
	ops.Finding
	Badge Badge
}

// rankBadges are the icons of the ranks of findings.
var rankBadges = map[ops.Rank]string{ops.Problem: "bad", ops.Warning: "warn", ops.Fine: "ok", ops.Unknown: "off"}

// redisPage is what the doctor finds in the Redis now, and in the queues as they were read last.
func redisPage(p *page) error {
	findings, err := p.dash.sampler.Examine(p.ctx())
	if err != nil {
		return err
	}
	rows := []findingRow{}
	for _, rank := range []ops.Rank{ops.Problem, ops.Warning, ops.Unknown, ops.Fine} {
		for _, finding := range findings {
			if finding.Rank != rank {
				continue
			}
			row := findingRow{finding, p.Badge(rankBadges[rank], words.T("finding."+string(rank)))}
			if rank == ops.Fine {
				row.Badge = Badge{Text: row.Badge.Text, Icon: p.GrayIcon("ok", "")}
			}
			rows = append(rows, row)
		}
	}
	p.Title = words.T("redis.title")
	p.Data = rows
	return nil
}
