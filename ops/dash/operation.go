package dash

import (
	"context"

	"skidway/ops"
	"skidway/ops/access"
	"skidway/ops/dash/internal/words"
	"skidway/queue"
)

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
	run, err := p.dash.ops.Begin(p.ctx(), asked)
	if err != nil {
		_ = end(err, 0) // it is the error that counts
		return to, message{}, err
	}
	if asked.Count <= maxAtOnce && !asked.AtLeast && asked.Rate == 0 {
		err := run.Run(p.ctx(), func(queue.Operation) {})
		logAudit(p, end(err, run.Operation.Changed))
		return to, changedMessage(run.Operation), err
	}
	goOn(p, run, end)
	said := done("operation.runs", asked.String())
	said.Link, said.More = "/operations", "operation.show"
	return to, said, nil
}

// changedMessage returns what is said of an operation that has ended: both halves, if some jobs were left
// alone.
func changedMessage(op queue.Operation) message {
	if op.Changed < op.Count {
		return message{Rank: "warn", Key: "operation.half", Args: []string{words.T("operation."+op.Do, op.Changed), words.Text(op.Count)}}
	}
	return message{Rank: "ok", Key: "operation.did", Args: []string{words.T("operation."+op.Do, op.Changed)}}
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
