// Package kinds lists the built-in kinds of jobs, which a worker can run without any
// Go code. Each group of kinds has a package below this one. Its handlers can be used
// from Go, too:
//
//	sender, err := email.New(email.Config{Host: "smtp.example.com", From: "shop@example.com"})
//	workers.Handle(pool, sender.Send)
//	client.Enqueue(ctx, email.Args{To: []string{"ada@example.com"}, Subject: "Hello", Text: "…"}, nil)
//
// The args of each kind have a method Check, which [workers.Handle] calls before the
// handler. [Check] checks the args of any built-in kind as JSON.
//
//	kind           package   args         handler
//	email.send     email     Args         Sender.Send
//	exec.run       command   Args         Runner.Run
//	http.request   request   Args         Client.Do
//	logs.count     logs      CountArgs    Handlers.Count
//	logs.report    logs      ReportArgs   Handlers.Report
//	logs.ship      logs      ShipArgs     Handlers.Ship
//
// # Outcomes
//
// A job is dead if another attempt cannot help: the server refused it for good, or
// its args are wrong. It is retried if another attempt may help, and if the settings
// of the worker are wrong, so that a wrong password does not make thousands of jobs
// dead. If the worker does not know the name of a command or a secret the job is dead,
// because that is as likely a mistake of the job.
//
// CONTRIBUTING.md describes how a kind is added.
package kinds

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"skidway/queue"
	"skidway/workers/kinds/command"
	"skidway/workers/kinds/email"
	"skidway/workers/kinds/internal/fields"
	"skidway/workers/kinds/logs"
	"skidway/workers/kinds/request"
)

// Check returns an error if args are not a JSON object, have an unknown field, or are
// refused by the method Check of the built-in kind. The error wraps [queue.ErrInvalid]
// and names the field; a value that is not allowed is a [workers.FieldError]. A worker may
// still refuse the args, because Check does not know its configuration. For other
// kinds Check returns nil.
func Check(kind string, args []byte) error {
	for _, k := range builtIns() {
		if k.name == kind {
			if err := k.check(args); err != nil {
				return fmt.Errorf("%w: args of %s: %w", queue.ErrInvalid, kind, err)
			}
			return nil
		}
	}
	return nil
}

// checkable is implemented by the args of all built-in kinds.
type checkable interface {
	queue.Args
	Check() error
}

type builtIn struct {
	name  string
	check func(args []byte) error
}

func builtIns() []builtIn {
	return []builtIn{
		entry[email.Args](),
		entry[command.Args](),
		entry[request.Args](),
		entry[logs.CountArgs](),
		entry[logs.ReportArgs](),
		entry[logs.ShipArgs](),
	}
}

func entry[A checkable]() builtIn {
	var zero A
	return builtIn{zero.Kind(), func(data []byte) error {
		var args A
		if err := decode(data, &args); err != nil {
			return err
		}
		return args.Check()
	}}
}

// decode decodes one JSON object, and refuses unknown fields.
func decode(data []byte, args any) error {
	if first := bytes.TrimLeft(data, " \t\r\n"); len(first) == 0 || first[0] != '{' {
		return errors.New("want a JSON object, in braces")
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(args)
	var mismatch *json.UnmarshalTypeError
	switch {
	case err == nil:
		if _, err := decoder.Token(); err != io.EOF {
			return fmt.Errorf("after byte %d: more than one JSON value", decoder.InputOffset())
		}
		return nil
	case errors.As(err, &mismatch) && mismatch.Field != "":
		return fields.Wrong(mismatch.Field, "a %s can't go there, want %s", mismatch.Value, jsonName(mismatch))
	default:
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
}

// jsonName returns the name of a field's type in JSON.
func jsonName(mismatch *json.UnmarshalTypeError) string {
	switch kind := mismatch.Type.Kind().String(); kind {
	case "slice":
		return "an array"
	case "map", "struct":
		return "an object"
	case "bool":
		return "true or false"
	case "string":
		return "a string"
	default:
		return "a whole number"
	}
}
