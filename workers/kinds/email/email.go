// Package email sends mail: jobs of the kind email.send.
//
//	sender, err := email.New(email.Config{Host: "smtp.example.com", From: "shop@example.com"})
//	defer sender.Close()
//	workers.Handle(pool, sender.Send)
//	client.Enqueue(ctx, email.Args{To: []string{"ada@example.com"}, Subject: "Hello", Text: "…"}, nil)
//
// A message goes to all its recipients or to none. A message that the server has
// accepted is not sent again, unless the worker died or the connection was lost
// between the end of the message and the server's answer. The repeated message has
// the same Message-ID, which contains the job's id.
//
// Templates are those of text/template, and of html/template for HTML. They are
// files of one folder:
//
//	welcome.subject.tmpl   Welcome, {{.name}}
//	welcome.txt.tmpl       …
//	welcome.html.tmpl      …
//
// and a job names one: {"to": "ada@example.com", "template": "welcome", "data":
// {"name": "Ada"}}. If a job has data and no template, its subject, text and html are
// templates.
package email

import (
	"context"
	"fmt"

	"skidway/workers"
)

// A Sender sends messages through one mail server. It is safe for concurrent use.
type Sender struct {
	config      Config
	connections *smtpPool
	limiter     *rateLimiter
}

// New returns a Sender. It does not connect. An error wraps [queue.ErrInvalid]: a
// setting is not allowed, or a folder does not exist.
func New(config Config) (*Sender, error) {
	config = config.withDefaults()
	if err := config.validate(); err != nil {
		return nil, err
	}
	return &Sender{
		config:      config,
		connections: newSMTPPool(config),
		limiter:     newRateLimiter(config.PerMinute),
	}, nil
}

// Result is the result of a job that has sent a message, as JSON.
type Result struct {
	MessageID string   `json:"message_id"` // in angle brackets, as in the header
	Accepted  []string `json:"accepted"`   // the recipients' addresses, each once
	Reply     string   `json:"reply"`      // of the server, when it accepted the message
}

// Send is the handler of email.send. It returns nil when the server has accepted the
// message for all recipients. If one recipient is refused the message goes to none,
// so that a repeat does not send it to the others again.
//
// The job is dead if the server refuses it for good (5xx), and if the args, a
// template or an attachment are wrong. It is retried if the server refuses it for
// now (4xx), if the network fails, and if the settings are wrong: the login, the
// encryption, a missing sender. If the connection is lost between the end of the
// message and the answer to it, the error wraps [ErrUnconfirmed].
//
// Send blocks until the message is sent or ctx is done. If the limit of messages a
// minute would delay the message for more than half of the time that is left, it
// snoozes the job instead.
func (e *Sender) Send(ctx context.Context, job *workers.Job[Args]) error {
	message, err := e.compose(ctx, job)
	if err != nil {
		return err
	}
	if err := e.limiter.wait(ctx); err != nil {
		return err
	}
	reply, err := e.connections.send(ctx, message)
	if err != nil {
		return fmt.Errorf("mail server %s: %w", e.config.address(), err)
	}
	// An error would send the message again. It is only one outside of a handler.
	_ = workers.SetResultJSON(ctx, Result{message.id, message.recipients, reply})
	return nil
}

// Close closes all idle connections to the server; those in use are closed after
// their message. Messages can still be sent.
func (e *Sender) Close() { e.connections.close() }
