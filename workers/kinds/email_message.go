package kinds

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"net/mail"
	"slices"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"

	"skidway/queue"
	"skidway/workers"
)

// An emailMessage is ready to be sent, any number of times.
type emailMessage struct {
	id         string   // in angle brackets
	sender     string   // of the envelope
	recipients []string // of the envelope, each once
	content    []byte   // header and body
}

// freshDate is for how long after its enqueue a message bears the time of that.
// One that was enqueued for a later day must not look as old as its job.
const freshDate = time.Hour

// compose makes a job's message. What is wrong with it makes the job dead.
func (e *Email) compose(ctx context.Context, job *queue.Job, args EmailArgs) (*emailMessage, error) {
	from, err := e.config.sender(args)
	if err != nil {
		return nil, err
	}
	body, err := e.render(ctx, args)
	if err != nil {
		return nil, err
	}
	files, err := e.attachments(ctx, args.Attachments, e.config.MaxSize-body.size())
	if err != nil {
		return nil, err
	}
	message := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	message.FromMailAddress(from)
	recipients, err := address(message, args)
	if err != nil {
		return nil, workers.Dead(err)
	}
	date := time.Now()
	if age := date.Sub(job.Enqueued); age < freshDate {
		date = job.Enqueued
	}
	id := e.messageID(job, from)
	message.SetDateWithValue(date)
	message.SetMessageIDWithValue(id)
	message.Subject(body.subject)
	for name, value := range args.Headers {
		message.SetGenHeader(gomail.Header(name), value)
	}
	body.write(message)
	for _, file := range files {
		if err := file.attach(message); err != nil {
			return nil, err
		}
	}
	var content bytes.Buffer
	if _, err := message.WriteTo(&content); err != nil {
		return nil, workers.Dead(fmt.Errorf("write the message: %w", err))
	}
	return &emailMessage{"<" + id + ">", from.Address, recipients, content.Bytes()}, nil
}

// address writes the headers that name people, and gives those who get the
// message.
func address(message *gomail.Msg, args EmailArgs) (recipients []string, err error) {
	for _, field := range []struct {
		name      string
		addresses Addresses
		set       func(...*mail.Address)
	}{
		{"to", args.To, message.ToMailAddress},
		{"cc", args.Cc, message.CcMailAddress},
		{"bcc", args.Bcc, nil},
		{"reply_to", args.ReplyTo, message.ReplyToMailAddress},
	} {
		var parsed []*mail.Address
		for _, text := range field.addresses {
			one, err := parseAddress(field.name, text)
			if err != nil {
				return nil, err
			}
			parsed = append(parsed, one)
			if field.name != "reply_to" && !slices.Contains(recipients, one.Address) {
				recipients = append(recipients, one.Address)
			}
		}
		if len(parsed) > 0 && field.set != nil {
			field.set(parsed...)
		}
	}
	return recipients, nil
}

// messageID is the same whenever the job is run: made of its id, to be found in
// a server's log, and of a digest of id and args, since ids are unique in one
// Redis only.
func (e *Email) messageID(job *queue.Job, from *mail.Address) string {
	domain := from.Address[strings.LastIndexByte(from.Address, '@')+1:]
	if e.config.Domain != "" || !isHostName(domain) {
		domain = cmp.Or(e.config.Domain, e.config.Hello)
	}
	digest := sha256.New()
	fmt.Fprintf(digest, "%d:%s", len(job.ID), job.ID)
	digest.Write(job.Args)
	readable := strings.Map(func(r rune) rune {
		if r == ':' || r == '.' {
			return '-'
		}
		return r
	}, job.ID)
	return fmt.Sprintf("%s.%x@%s", readable, digest.Sum(nil)[:8], domain)
}
