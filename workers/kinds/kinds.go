// Package kinds lists the built-in kinds of jobs: what a worker can do without Go
// being written for it. Each group of them has a package below this one and is a
// handler, for Go as well:
//
//	sender, err := email.New(email.Config{Host: "smtp.example.com", From: "shop@example.com"})
//	workers.Handle(pool, sender.Send)
//	client.Enqueue(ctx, email.Args{To: []string{"ada@example.com"}, Subject: "Hello", Text: "…"}, nil)
//
// The args of a kind are a type with a method Check, which returns what is wrong
// with them, by the field's name, before they are enqueued. [Check] does so for
// args that are JSON.
//
//	kind           package   args         handler
//	email.send     email     Args         Sender.Send
//	exec.run       command   Args         Runner.Run
//	http.request   request   Args         Client.Do
//	logs.count     logs      CountArgs    Handlers.Count
//	logs.report    logs      ReportArgs   Handlers.Report
//	logs.ship      logs      ShipArgs     Handlers.Ship
//
// # How jobs end
//
// A job is dead where trying again can't help: the other side refused it for
// good, or its args are at fault. It is tried again where that may help, and
// also where the worker's settings are at fault: a wrong password must not make
// thousands of jobs dead. Only a command or a secret whose name the worker does
// not know makes a job dead: that is as likely the job's mistake.
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

// Names gives the names of the built-in kinds whose args [Check] knows, sorted.
func Names() []string {
	var names []string
	for _, k := range builtIns() {
		names = append(names, k.name)
	}
	return names
}

// Check says what is wrong with args for a built-in kind: no JSON object, a
// field that the kind doesn't have, or what the Check method of its args finds.
// Its errors match [queue.ErrInvalid] and name the field; a wrong value is a
// [FieldError]. What it lets through may still be refused by the worker, whose
// configuration it doesn't know. Of other kinds it knows nothing: nil.
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

// FieldError is what is wrong with one field of args. It matches
// [queue.ErrInvalid].
type FieldError = fields.Error

// checkable is what args of all built-in kinds are.
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

// decode reads a JSON object and nothing else, and refuses unknown fields.
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

// jsonName says in JSON's words what a field takes.
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
