package dash

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"skidway/delayed"
	"skidway/ops"
	"skidway/ops/access"
	"skidway/ops/dash/internal/words"
	"skidway/queue"
)

// A scheduleRow is a schedule in the list.
type scheduleRow struct {
	ops.Schedule
	ID    string // of the question
	Words string
	Badge Badge
	Edit  string // query of the form
	Shell string // what the buttons do

	Catches   string      // which of the times that were missed fire
	Times     []Stamp     // the next three
	Fired     []firedMark // the last ten, the latest last
	FiredText string      // likewise, in words
	Rest      Value
}

// A firedMark is the shape of a time at which a schedule fired.
type firedMark struct {
	ID    string
	Icon  Icon
	Title string
}

// setTimes sets the next three times. The stream may fill in those that are empty.
func (r *scheduleRow) setTimes(p *page) {
	for i := range 3 {
		var stamp Stamp
		switch {
		case i == 0:
			stamp = p.Clock(r.Next, p.Now())
		case i < len(r.Upcoming):
			stamp = p.Clock(r.Upcoming[i], p.Now())
		}
		r.Times = append(r.Times, p.LiveTime(fmt.Sprint("next ", r.Queue, " ", r.Name, " ", i), stamp))
	}
}

// setFired sets the last ten firings.
func (r *scheduleRow) setFired(p *page) {
	var texts []string
	for _, f := range slices.Backward(r.Last) {
		icon, text := p.GrayIcon("sq", ""), words.T("schedules.fired")
		switch {
		case f.JobID == "":
			icon, text = p.GrayIcon("off", ""), words.T("schedules.fired_held")
		case f.Manual:
			icon, text = p.GrayIcon("run", ""), words.T("schedules.fired_manual")
		case ops.Late(f):
			icon, text = p.Icon("warn", ""), words.T("schedules.fired_late")
		}
		texts = append(texts, text)
		mark := firedMark{fmt.Sprint(r.Queue, " ", r.Name, " ", f.Fired.UnixMilli()), icon, p.Clock(f.Fired, p.Now()).Title + " · " + text}
		p.recorder.row("firings", mark.ID)
		r.Fired = append(r.Fired, mark)
	}
	r.FiredText = words.T("schedules.last_ten", strings.Join(texts, ", "))
}

// schedulesData is the data of the list of schedules.
type schedulesData struct {
	Rows       []scheduleRow
	Unreadable []error
}

// schedulesPage is the list of schedules.
func schedulesPage(p *page) error {
	names, err := p.dash.queues.Queues(p.ctx())
	if err != nil {
		return err
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !p.Who.May(access.View, name) })
	report, err := p.dash.ops.Schedules(p.ctx(), names)
	if err != nil {
		return err
	}
	data := schedulesData{Unreadable: report.Unreadable}
	for _, err := range report.Unreadable {
		p.recorder.row("unreadable", err.Error())
	}
	for i, s := range report.Schedules {
		row := scheduleRow{Schedule: s, ID: "run-" + words.Text(i), Words: words.Cron(s.Expr), Edit: scheduleQuery(s.Queue, s.Name), Shell: scheduleCommands(s), Catches: words.Of("catchup.", cmp.Or(string(s.CatchUp), "none"))}
		switch {
		case s.Err != nil:
			row.Badge = p.Badge("bad", words.T("schedules.damaged"))
		case s.Missed:
			row.Badge = p.Badge("warn", words.T("schedules.missed"))
		case s.Paused:
			row.Badge = p.Badge("pause", words.T("state.paused"))
		case s.Next.IsZero():
			row.Badge = Badge{Text: words.T("schedules.never"), Icon: p.GrayIcon("off", "")}
		default:
			row.Badge = Badge{Text: words.T("schedules.on_time"), Icon: p.GrayIcon("ok", "")}
		}
		row.Badge = p.LiveBadge("schedule "+s.Queue+" "+s.Name, row.Badge)
		row.setTimes(p)
		row.setFired(p)
		row.Rest = p.Rest(s.Queue+" "+s.Name, s.Expr, s.Zone, s.Kind, s.CatchUp, s.Paused, s.Err)
		p.recorder.row("schedules", s.Queue+" "+s.Name)
		data.Rows = append(data.Rows, row)
	}
	p.Title = words.T("schedules.title")
	p.Data = data
	return nil
}

// scheduleCommands returns the commands that do what the buttons of a schedule do.
func scheduleCommands(s ops.Schedule) string {
	pause := "pause"
	if s.Paused {
		pause = "resume"
	}
	var lines []string
	for _, do := range []string{"run", pause, "remove"} {
		lines = append(lines, command("cron", do, s.Name, "--queue", s.Queue))
	}
	return strings.Join(lines, "\n")
}

func scheduleQuery(name, schedule string) string {
	return url.Values{"queue": {name}, "name": {schedule}}.Encode()
}

// scheduleForm is the data of the form of a schedule.
type scheduleForm struct {
	queue.CronScheduleInfo
	Args string
	New  bool
	Why  string // it can't be saved
}

// Shell returns the command that adds or changes the schedule.
func (f scheduleForm) Shell() string {
	args, input := argsWord(f.Args)
	shell := []string{"cron", "add", cmp.Or(f.Name, "NAME"), cmp.Or(f.Expr, "EXPR"), cmp.Or(f.Queue, "QUEUE"), cmp.Or(f.Kind, "KIND"), args}
	shell = withFlags(shell, "tz", f.Zone)
	if f.CatchUp != queue.CatchUpNone {
		shell = withFlags(shell, "catch-up", string(f.CatchUp))
	}
	return command(shell...) + input
}

// scheduleFormPage is the form that adds or changes a schedule.
func scheduleFormPage(p *page) error {
	name, schedule := p.request.FormValue("queue"), p.request.FormValue("name")
	data := scheduleForm{New: true, Args: "{}", CronScheduleInfo: queue.CronScheduleInfo{CronSchedule: queue.CronSchedule{Queue: name, Zone: p.Settings.Zone}}}
	data.Why = p.WhyNotAny(string(access.Admin))
	p.Title = words.T("schedules.add_title")
	if schedule != "" && p.typed("new", "") == "" {
		found, err := findSchedule(p, name, schedule)
		if err != nil {
			return err
		}
		data.Why = p.WhyNot(string(access.Admin), name)
		data.New, data.CronScheduleInfo, data.Args = false, found, scheduleArgs(p, found)
		p.Title = words.T("schedules.change_title", schedule)
	}
	data.readTyped(p)
	p.Crumbs = []Crumb{{words.T("schedules.title"), "/schedules"}, {p.Title, ""}}
	p.Under = "schedules"
	p.Data = data
	return nil
}

// readTyped sets the fields to what was typed into the form.
func (f *scheduleForm) readTyped(p *page) {
	f.Name, f.Expr, f.Zone, f.Kind = p.typed("name", f.Name), p.typed("expr", f.Expr), p.typed("zone", f.Zone), p.typed("kind", f.Kind)
	f.Args, f.CatchUp = p.typed("args", f.Args), queue.CatchUp(p.typed("catch_up", string(f.CatchUp)))
	f.Version = p.typed("version", f.Version) // a later one would undo the change of another
}

// findSchedule returns a schedule that the principal may see.
func findSchedule(p *page, name, schedule string) (found queue.CronScheduleInfo, err error) {
	if !p.Who.May(access.View, name) {
		return found, &pageError{403, "error.forbidden"}
	}
	found, err = delayed.Schedule(p.ctx(), p.dash.queues, name, schedule)
	if errors.Is(err, queue.ErrNoSchedule) {
		err = &pageError{404, "error.no_schedule"}
	}
	return found, err
}

// scheduleArgs returns the args of a schedule as the form shows them, without hidden values.
func scheduleArgs(p *page, s queue.CronScheduleInfo) string {
	return payload(p.dash.ops.Redactor().Schedule(s.CronSchedule).Args).Text
}

// scheduleArgsOf returns the args of the form of a schedule with the values that were hidden there. Changed
// args could carry those to another place, so changing them needs the right to reveal them.
func scheduleArgsOf(p *page, s queue.CronScheduleInfo, typed string) (string, error) {
	shown := scheduleArgs(p, s)
	switch {
	case typed == shown:
		return string(s.Args), nil
	case !strings.Contains(shown, ops.Hidden) || !strings.Contains(typed, ops.Hidden):
		return typed, nil
	case !p.Who.May(access.Reveal, s.Queue):
		return "", &textError{words.T("copy.hidden")}
	}
	args, err := p.dash.ops.Redactor().Restore(&queue.Job{Queue: s.Queue, Kind: s.Kind, Args: s.Args}, []byte(typed))
	return string(args), err
}

// putSchedule is the action that adds or changes a schedule. What the form does not have stays.
func putSchedule(p *page) (string, message, error) {
	get := func(name string) string { return strings.TrimSpace(p.request.PostForm.Get(name)) }
	s := queue.CronSchedule{Name: get("name"), IfVersion: "!*"} // a new one replaces none
	args := strings.ReplaceAll(get("args"), "\r\n", "\n")
	name := get("queue")
	if !p.Who.May(access.Admin, name) {
		return "/schedules", message{}, &pageError{403, "error.forbidden"}
	}
	to := "/schedules/edit?" + url.Values{"queue": {name}}.Encode()
	if get("new") == "" {
		to = "/schedules/edit?" + scheduleQuery(name, s.Name)
		found, err := findSchedule(p, name, s.Name)
		if err != nil {
			return to, message{}, err
		}
		s = found.CronSchedule
		s.Revision, s.IfVersion = 0, get("version") // that the form has shown
		if args, err = scheduleArgsOf(p, found, args); err != nil {
			return to, message{}, err
		}
		if strings.Contains(scheduleArgs(p, found), ops.Hidden) && get("kind") != s.Kind && !p.Who.May(access.Reveal, name) {
			return to, message{}, &pageError{403, "error.forbidden"} // another kind could show them
		}
	}
	s.Queue, s.Expr, s.Zone, s.Kind, s.CatchUp = name, get("expr"), get("zone"), get("kind"), queue.CatchUp(get("catch_up"))
	s.Args = []byte(args)
	if deep(s.Args) || !json.Valid(s.Args) {
		return to, message{}, &textError{words.T("copy.no_json")}
	}
	if err := checkTimes(s); err != nil {
		return to, message{}, err
	}
	options := s.Options
	options.Queue = name
	if err := p.Who.CheckJob(queue.NewJob{Args: queue.Raw(s.Kind, s.Args), Options: options}); err != nil {
		return to, message{}, err
	}
	err := p.audited("put schedule", name, s.Name, 1, func() error {
		_, err := delayed.AddSchedule(p.ctx(), p.dash.queues, s)
		return err
	})
	if err == nil {
		to = "/schedules?" + url.Values{"queue": {name}}.Encode()
	}
	return to, done("schedules.did_put", s.Name), err
}

// checkTimes returns an error if a schedule has no time zone or no times.
func checkTimes(s queue.CronSchedule) error {
	if _, err := delayed.Next("@daily", s.Zone, time.Now(), 1); err != nil {
		return &textError{words.T("settings.no_zone", words.Cut(s.Zone, 80))}
	}
	if _, err := delayed.Next(s.Expr, s.Zone, time.Now(), 1); err != nil {
		_, why, _ := strings.Cut(err.Error(), fmt.Sprintf("%.80q: ", s.Expr))
		return &textError{words.T("schedules.no_expr", words.Cut(s.Expr, 80), why)}
	}
	return nil
}

// changeSchedule is the action that runs a schedule now, pauses, resumes or removes it.
func changeSchedule(p *page) (string, message, error) {
	name, schedule, do := p.request.PostForm.Get("queue"), p.request.PostForm.Get("name"), p.request.PostForm.Get("do")
	to := "/schedules?" + url.Values{"queue": {name}}.Encode()
	right, known := map[string]access.Action{"run": access.Operate, "pause": access.Operate, "resume": access.Operate, "remove": access.Admin}[do]
	if !known {
		return to, message{}, &pageError{400, "error.change"}
	}
	if !p.Who.May(right, name) {
		return to, message{}, &pageError{403, "error.forbidden"}
	}
	q, err := p.dash.queues.ForPool(name)
	if err != nil {
		return to, message{}, err
	}
	said := done("did."+do+"_schedule", schedule)
	err = p.audited(do+" schedule", name, schedule, 1, func() error {
		switch do {
		case "pause":
			return delayed.PauseSchedule(p.ctx(), q, schedule, "")
		case "resume":
			return delayed.ResumeSchedule(p.ctx(), q, schedule, "")
		case "remove":
			return q.RemoveSchedule(p.ctx(), schedule, "")
		}
		id, err := q.RunSchedule(p.ctx(), schedule, "")
		said.Link, said.More = jobPath(id), "schedules.show_job"
		return err
	})
	return to, said, err
}
