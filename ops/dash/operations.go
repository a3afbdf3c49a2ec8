package dash

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"skidway/ops"
	"skidway/ops/access"
	"skidway/ops/dash/internal/chart"
	"skidway/ops/dash/internal/words"
	"skidway/queue"
)

// An operationRow is an operation in the list.
type operationRow struct {
	queue.Operation
	Badge                Badge
	Text                 string // what it does
	Looked               Value  // how far it is
	Error                Value
	Rest                 Value
	Share                chart.Bar
	Why                  string // it can't be stopped or continued
	CanStop, CanContinue bool
	Ago                  Stamp
}

// operationBadges are the icons of the states of operations.
var operationBadges = map[string]string{"running": "run", "interrupted": "warn", "stopped": "pause", "done": "ok"}

// operationsPage is the list of changes of many jobs.
func operationsPage(p *page) error {
	all, err := p.dash.ops.Operations().List(p.ctx())
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(op queue.Operation) bool { return !p.Who.May(access.View, op.Queue) })
	rows := []operationRow{}
	for _, op := range all {
		row := operationRow{Operation: op, Text: words.Of("operations.", op.Do, cmp.Or(string(op.State), words.T("operations.named"))), Ago: p.Ago(op.Began, p.Now())}
		row.Badge = p.Badge(operationBadges[op.Status], words.Of("operations.", string(op.Status)))
		if op.Status == "done" {
			row.Badge.Class = ""
		}
		row.Badge = p.LiveBadge("operation "+op.ID, row.Badge)
		row.Looked = p.Val("changed "+op.ID, changedText(op))
		row.Share = p.LiveBar("changed "+op.ID, chart.Share("", float64(op.Changed+op.Left), float64(op.Count), false))
		row.Why = p.WhyNot(string(rightFor(op.Do)), op.Queue)
		row.CanStop = op.Status == "running" || op.Status == "interrupted"
		row.CanContinue = op.Status == "interrupted" || op.Status == "stopped"
		row.Error, row.Rest = p.Val("error "+op.ID, op.Error), p.Rest(op.ID, row.CanStop, row.CanContinue, op.Rate)
		p.recorder.row("operations", op.ID)
		rows = append(rows, row)
	}
	p.Title = words.T("operations.title")
	p.Data = rows
	return nil
}

// changedText returns how many jobs an operation has changed, and of how many if that is known.
func changedText(op queue.Operation) string {
	switch {
	case !op.AtLeast:
		return words.T("operations.changed", op.Changed, op.Count)
	case op.Count == 0 || op.Status == "done":
		return words.Text(op.Changed)
	}
	return words.T("operations.changed_some", op.Changed, max(op.Count, op.Changed))
}

// changeOperation is the action that stops or continues an operation. The right is that of its change.
func changeOperation(p *page) (string, message, error) {
	const to = "/operations"
	id, do := p.request.PostForm.Get("id"), p.request.PostForm.Get("do")
	name, _, _ := strings.Cut(id, ":")
	if !p.Who.May(access.Operate, name) {
		return to, message{}, &pageError{403, "error.forbidden"}
	}
	op, err := p.dash.ops.Operations().Get(p.ctx(), id)
	if err != nil {
		return to, message{}, err
	}
	if !p.Who.May(rightFor(op.Do), op.Queue) {
		return to, message{}, &pageError{403, "error.forbidden"}
	}
	switch do {
	case "stop":
		err = p.audited("stop", op.Queue, id, 0, func() error {
			op, err = p.dash.ops.Operations().Stop(p.ctx(), id)
			return err
		})
		return to, done("operations.did_stop", words.Text(op.Changed)), err
	case "continue":
		return to, done("operations.did_continue"), continueOperation(p, op)
	}
	return to, message{}, &pageError{400, "error.change"}
}

// continueOperation continues an operation, which goes on in this process after the answer.
func continueOperation(p *page, op queue.Operation) error {
	entry := access.NewEntry(p.ctx(), "continue", op.Queue)
	entry.Filter, entry.Count = op.Match, op.Count
	end, err := p.dash.audit.Begin(p.ctx(), entry)
	if err != nil {
		return err
	}
	run, err := p.dash.ops.Operations().Continue(p.ctx(), op.ID)
	if run == nil {
		_ = end(err, 0) // it is the error that counts
		return err
	}
	goOn(p, run, end) // also after a lost reply
	return err
}

// goOn runs an operation after the answer, in this process.
func goOn(p *page, run *ops.OperationRun, end func(error, int) error) {
	p.dash.background(func(ctx context.Context) {
		err := run.Run(ctx, func(queue.Operation) {})
		logAudit(p, end(run.Outcome(err), run.Operation.Changed))
		if err != nil && ctx.Err() == nil {
			p.dash.config.Logger.Error("an operation was interrupted", "operation", run.Operation.ID, "error", err)
		}
	})
}

// maxAtOnce is the number of jobs up to which an operation ends before the answer.
const maxAtOnce = 100

// operate begins the operation of a question that was answered. A small one ends before the answer, a
// larger one goes on in this process after it.
func operate(p *page, asked *ops.Question, action, to string) (string, message, error) {
	entry := access.NewEntry(p.ctx(), action, asked.Queue)
	entry.Filter, entry.Count = string(asked.State)+": "+asked.Match, asked.Count
	end, err := p.dash.audit.Begin(p.ctx(), entry)
	if err != nil {
		return to, message{}, err
	}
	run, err := p.dash.ops.Operations().Begin(p.ctx(), asked)
	if run == nil {
		_ = end(err, 0) // it is the error that counts
		return to, message{}, err
	}
	if err != nil { // the reply was lost
		goOn(p, run, end)
		said := message{Rank: "warn", Key: "operation.unknown", Args: []string{errorText(err)}}
		said.Link, said.More = "/operations", "operation.show"
		return to, said, nil
	}
	if asked.Count <= maxAtOnce && !asked.AtLeast && asked.Rate == 0 {
		err := run.Run(p.ctx(), func(queue.Operation) {})
		logAudit(p, end(run.Outcome(err), run.Operation.Changed))
		if err != nil { // a part is done
			said := message{Rank: "warn", Key: "operation.cut", Args: []string{words.Of("operation.", run.Operation.Do, run.Operation.Changed), words.Text(run.Operation.Count), errorText(err)}}
			said.Link, said.More = "/operations", "operation.show"
			return to, said, nil
		}
		return to, changedMessage(run.Operation), nil
	}
	goOn(p, run, end)
	said := done("operation.runs", asked.String())
	if asked.AtLeast && asked.Count == 0 {
		said = done("operation.looks")
	}
	said.Link, said.More = "/operations", "operation.show"
	return to, said, nil
}

// changedMessage returns what is said of an operation that has ended: both halves, if some jobs
// were left alone.
func changedMessage(op queue.Operation) message {
	if op.Changed < op.Count {
		return message{Rank: "warn", Key: "operation.half", Args: []string{words.Of("operation.", op.Do, op.Changed), words.Text(op.Count)}}
	}
	return message{Rank: "ok", Key: "operation.did", Args: []string{words.Of("operation.", op.Do, op.Changed)}}
}

// logAudit logs the error of an entry that could not be written.
func logAudit(p *page, err error) {
	if err != nil {
		p.dash.config.Logger.Error("the audit has no entry of the end of an operation", "error", err)
	}
}

// background runs a function until it ends or the dashboard is closed.
func (d *Dash) background(f func(context.Context)) {
	d.running.Go(func() { f(d.life) })
}
