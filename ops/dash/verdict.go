package dash

import (
	"cmp"
	"fmt"
	"slices"

	"skidway/ops"
	"skidway/ops/dash/internal/words"
)

// A Mark is what stands beside an entry of the list of pages: a number of troubles, with the shape of
// their rank. It is hidden while there are none, so that the stream can show it.
type Mark struct {
	Count Value // its text is empty for none
	Icon  Icon
}

// marked are the entries of the list of pages that have marks.
var marked = []string{"overview", "queues", "workers", "schedules", "channels", "redis"}

// markTopic returns the entry of the list of pages under which a trouble is counted.
func markTopic(t ops.Trouble) string {
	switch {
	case t.Schedule != nil, t.Name == "schedules":
		return "schedules"
	case t.Queue != nil:
		return "queues"
	case t.Worker != nil:
		return "workers"
	case t.Channel != nil:
		return "channels"
	}
	return "redis"
}

// Mark returns the mark of an entry of the list of pages, nil if it never has one.
func (p *page) Mark(name string) *Mark {
	if p.Who == nil || !slices.Contains(marked, name) {
		return nil
	}
	problems, warnings := p.count(name)
	text, icon := "", p.Icon("bad", words.T("state.problem"))
	switch {
	case problems > 0:
		text = words.Text(problems)
	case warnings > 0 && name != "overview":
		text, icon = words.Text(warnings), p.Icon("warn", words.T("state.warning"))
	}
	key := "mark." + name
	return &Mark{p.Val(key, text), p.liveShape(key, icon)}
}

// count returns the numbers of problems and warnings under an entry of the list of pages.
func (p *page) count(name string) (problems, warnings int) {
	for _, t := range p.Overview().Troubles {
		if name != "overview" && markTopic(t) != name {
			continue
		}
		switch t.Rank {
		case ops.Problem:
			problems++
		case ops.Warning:
			warnings++
		}
	}
	return problems, warnings
}

// Problems returns the number of problems for the title of the browser's tab, empty for none.
func (p *page) Problems() string {
	if p.Who == nil {
		return ""
	}
	problems, _ := p.count("overview")
	p.recorder.set("problems", fmt.Sprint(problems))
	if problems == 0 {
		return ""
	}
	return fmt.Sprint(problems)
}

// A Verdict is the heading of the first page.
type Verdict struct {
	Icon        Icon
	Text, Below string
	Calm        bool
}

// Verdict returns in words whether anything is wrong.
func (p *page) Verdict() Verdict {
	o := p.Overview()
	problems, warnings := p.count("overview")
	paused := 0
	for _, q := range o.Queues {
		if q.Depth.Paused {
			paused++
		}
	}
	v := Verdict{Icon: p.Icon("bad", ""), Below: words.T("verdict.looked", o.Names, words.T("verdict.workers", len(o.Workers)), words.T("verdict.schedules", len(o.Schedules)))}
	if paused > 0 {
		v.Below = words.T("verdict.paused", paused) + " " + v.Below
	}
	if reading := p.Reading(); reading != "" {
		v.Below += " " + reading + "."
	}
	switch {
	case problems > 0 && warnings > 0:
		v.Text = words.T("verdict.problems", problems) + ", " + words.T("verdict.warnings", warnings)
	case problems > 0:
		v.Text = words.T("verdict.problems", problems)
	case warnings > 0:
		v.Icon, v.Text = p.Icon("warn", ""), words.T("verdict.warnings", warnings)
	case p.Reading() != "":
		v.Icon, v.Text = p.GrayIcon("delay", ""), words.T("verdict.reading")
	default:
		v.Icon, v.Text, v.Calm = p.Icon("ok", ""), words.T("verdict.calm"), true
	}
	v.Icon = p.liveShape("verdict", v.Icon)
	p.recorder.set("verdict", v.Text)
	p.recorder.set("below", v.Below)
	return v
}

// Reading returns how many queues have been read, if that is not all of them, and then of how many the
// statistics and schedules have been read.
func (p *page) Reading() string {
	o := p.Overview()
	if text := readingStates(o); text != "" {
		return text
	}
	if examined := o.ExaminedQueues(); examined < o.Names {
		return words.T("overview.examining", examined, o.Names)
	}
	return ""
}

// readingStates returns of how many queues the state has been read, if that is not all of them.
func readingStates(o *ops.Overview) string {
	if read := o.Read(); read < o.Names {
		return words.T("overview.reading", read, o.Names)
	}
	return ""
}

// Away returns since when Redis does not answer, empty if it does.
func (p *page) Away() string {
	text := ""
	if p.Who != nil && (p.Overview().Away != nil || !p.asOf.IsZero()) {
		since := cmp.Or(p.Overview().AwaySince, p.Now()) // a page may find it out before the sampler
		text = words.T("overview.away", p.redisName(), p.Clock(since, p.Now()).Text, p.ClockSeconds(p.AsOf(), p.Now()).Text)
	}
	p.recorder.set("away", text)
	return text
}
