package kinds

import (
	"context"
	"encoding/json"
	"fmt"

	"skidway/queue"
	"skidway/workers"
)

// An Email sends messages through one mail server: the kind email.send. Its
// methods may be called by many goroutines at once.
type Email struct {
	config      EmailConfig
	connections *smtpPool
	pace        *pacer
}

// NewEmail makes an Email. It checks the configuration and that the folders are
// there; it doesn't connect. Errors match [queue.ErrInvalid].
func NewEmail(config EmailConfig) (*Email, error) {
	if err := config.setDefaults(); err != nil {
		return nil, err
	}
	return &Email{
		config:      config,
		connections: newSMTPPool(config),
		pace:        newPacer(config.PerMinute),
	}, nil
}

// An EmailResult is, as JSON, the result of a job that has sent a message.
type EmailResult struct {
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
func (e *Email) Send(ctx context.Context, job *queue.Job, args EmailArgs) error {
	if err := args.Check(); err != nil {
		return workers.Dead(fmt.Errorf("args of %s: %w", job.Kind, err))
	}
	message, err := e.compose(ctx, job, args)
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
	result, err := json.Marshal(EmailResult{message.id, message.recipients, reply})
	if err == nil {
		// It fails only outside of a worker. The message is out: an error
		// would send it again.
		_ = workers.SetResult(ctx, result)
	}
	return nil
}

// Close says good-bye to the server on all connections that are idle; those in
// use are closed after their message. Messages can still be sent.
func (e *Email) Close() { e.connections.close() }
