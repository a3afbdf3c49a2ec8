// Package email sends mail: jobs of the kind email.send.
//
// A message goes to all its recipients or to none. What the server took is not
// sent again, unless the worker died, or the connection broke, in the moment
// between the end of the message and the server's answer. Such a repeat has the
// same Message-ID: it is made of the job's id.
//
// Templates are text/template, and html/template for HTML. They lie in one
// folder:
//
//	welcome.subject.tmpl   Welcome, {{.name}}
//	welcome.txt.tmpl       …
//	welcome.html.tmpl      …
//
// and a job names one: {"to": "ada@example.com", "template": "welcome", "data":
// {"name": "Ada"}}. Where a job has data and no template, its subject, text and
// html are templates themselves.
package email

import (
	"context"
	"encoding/json"
	"fmt"

	"skidway/workers"
)

// A Sender sends messages through one mail server: the kind email.send. Its
// methods may be called by many goroutines at once.
type Sender struct {
	config      Config
	connections *smtpPool
	pace        *pacer
}

// New makes a Sender. It checks the configuration and that the folders are
// there; it doesn't connect. Errors match [queue.ErrInvalid].
func New(config Config) (*Sender, error) {
	if err := config.setDefaults(); err != nil {
		return nil, err
	}
	return &Sender{
		config:      config,
		connections: newSMTPPool(config),
		pace:        newPacer(config.PerMinute),
	}, nil
}

// A Result is, as JSON, the result of a job that has sent a message.
type Result struct {
	MessageID string   `json:"message_id"` // in angle brackets, as in the header
	Accepted  []string `json:"accepted"`   // the recipients' addresses, each once
	Reply     string   `json:"reply"`      // what the server said when it took the message
}

// Send sends a message. Nil: the server has taken it for all recipients. It
// goes to all of them or to none: where one is refused, nobody gets it, so that
// a repeat doesn't send it again to the others.
//
// The job is dead where the server refuses for good (5xx), with its words, and
// where the args, a template or an attachment are at fault. It is tried again
// where the server refuses for now (4xx), the network fails, and where the
// settings are at fault: the login, the encryption, a sender that nobody names.
// When the connection breaks after the end of the message and before its
// answer, the error is [ErrUnconfirmed].
//
// It blocks until all is done or ctx has ended. Where the rate would let it wait
// for more than half of its time, the job is snoozed instead.
func (e *Sender) Send(ctx context.Context, job *workers.Job[Args]) error {
	message, err := e.compose(ctx, job)
	if err != nil {
		return err
	}
	if err := e.pace.wait(ctx); err != nil {
		return err
	}
	reply, err := e.connections.send(ctx, message)
	if err != nil {
		return fmt.Errorf("mail server %s: %w", e.config.address(), err)
	}
	result, err := json.Marshal(Result{message.id, message.recipients, reply})
	if err == nil {
		// It fails only outside of a worker. The message is out: an error
		// would send it again.
		_ = workers.SetResult(ctx, result)
	}
	return nil
}

// Close says good-bye to the server on all connections that are idle; those in
// use are closed after their message. Messages can still be sent.
func (e *Sender) Close() { e.connections.close() }
