package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// document is the description of the API, which depends on the base path only.
type document struct {
	once sync.Once
	text json.RawMessage
	err  error
}

func openAPI(_ context.Context, c *call) (any, error) {
	c.document.once.Do(func() { c.document.text, c.document.err = describe(c.routes, c.config.BasePath) })
	return c.document.text, c.document.err
}

// object is an object in JSON.
type object = map[string]any

// A describer collects the schemas that routes refer to.
type describer struct{ schemas object }

// describe returns the routes as a document of OpenAPI 3.1.
func describe(routes []route, basePath string) (json.RawMessage, error) {
	d := describer{object{}}
	paths := object{}
	for i := range routes {
		r := &routes[i]
		path, _ := paths[r.path].(object)
		if path == nil {
			path = object{}
			paths[r.path] = path
		}
		operation, err := d.operation(r)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", r.method, r.path, err)
		}
		path[strings.ToLower(r.method)] = operation
	}
	if _, err := d.ref(reflect.TypeFor[NewJob]()); err != nil {
		return nil, err
	}
	return json.Marshal(object{
		"openapi": "3.1.0",
		"info": object{
			"title": "Skidway", "version": "1",
			"description": "Queues, jobs, workers and log channels. Lists have a cursor; errors are problems of RFC 9457.",
		},
		"servers":    []object{{"url": basePath + prefix}},
		"security":   []object{{"token": []string{}}},
		"paths":      paths,
		"components": object{"schemas": d.schemas, "securitySchemes": object{"token": object{"type": "http", "scheme": "bearer"}}},
	})
}

// operation describes a route.
func (d *describer) operation(r *route) (object, error) {
	operation := object{"operationId": operationID(r), "summary": r.summary}
	if r.scope != noQueue {
		operation["description"] = "Needs the scope " + string(r.action) + map[scope]string{
			pathQueue: " for the queue", idQueue: " for the queue in the id", allQueues: " for all queues", anyQueue: "; what is of other queues is left out or refused",
		}[r.scope] + "."
		operation["x-scope"] = string(r.action)
	}
	if parameters := parameters(r); len(parameters) > 0 {
		operation["parameters"] = parameters
	}
	if r.body != nil {
		body, err := d.content(reflect.TypeOf(r.body), append([]string{jsonType}, slices.DeleteFunc(slices.Clone(r.bodyTypes), func(t string) bool { return t == jsonType })...))
		if err != nil {
			return nil, err
		}
		operation["requestBody"] = object{"required": !r.bodyOptional, "content": body}
	}
	responses, err := d.responses(r)
	operation["responses"] = responses
	return operation, err
}

// operationID returns a name for a route, such as getQueuesQueueJobs.
func operationID(r *route) string {
	name := strings.ToLower(r.method)
	for _, word := range strings.FieldsFunc(r.path, func(c rune) bool { return strings.ContainsRune("/{}-.", c) }) {
		name += strings.ToUpper(word[:1]) + word[1:]
	}
	return name
}

func parameters(r *route) (list []object) {
	for segment := range strings.SplitSeq(r.path, "/") {
		if name, found := strings.CutPrefix(segment, "{"); found {
			list = append(list, object{"name": strings.TrimSuffix(name, "}"), "in": "path", "required": true, "schema": object{"type": "string"}})
		}
	}
	if r.repeatable {
		list = append(list, object{
			"name": idempotencyKey, "in": "header", "schema": object{"type": "string", "minLength": 1, "maxLength": maxIdempotencyKey},
			"description": "makes the request repeatable for 24 hours; jobs must be of one queue. The answer to a repeated one has the header " + idempotencyReplayed,
		})
	}
	if r.tagged && r.method != get {
		list = append(list, object{
			"name": ifMatchHeader, "in": "header", "schema": object{"type": "string"},
			"description": "the " + etagHeader + " of an answer: the change is made only if that is still the version; * stands for any",
		}, object{
			"name": ifNoneMatchHeader, "in": "header", "schema": object{"const": "*"},
			"description": "the change is made only if there is nothing to replace",
		})
	}
	for _, p := range r.params {
		schema := object{"type": "string"}
		switch {
		case p.number:
			schema = object{"type": "integer", "minimum": 1}
		case p.words != nil:
			schema["enum"] = p.words
		}
		list = append(list, object{"name": p.name, "in": "query", "required": p.required, "description": p.summary, "schema": schema})
	}
	return list
}

// responses describes the answers and problems of a route.
func (d *describer) responses(r *route) (object, error) {
	responses := object{}
	answers := map[int]any{r.status: r.answer}
	for status, answer := range r.otherAnswers {
		answers[status] = answer
	}
	for status, answer := range answers {
		response := object{"description": http.StatusText(status)}
		if answer != nil {
			content, err := d.answer(answer, append([]string{jsonType}, r.types...))
			if err != nil {
				return nil, err
			}
			response["content"] = content
			if r.tagged && (r.method == get || r.method == put) {
				response["headers"] = object{etagHeader: object{"description": "the version", "schema": object{"type": "string"}}}
			}
		}
		responses[strconv.Itoa(status)] = response
	}
	problem, err := d.content(reflect.TypeFor[Problem](), []string{"application/problem+json"})
	if err != nil {
		return nil, err
	}
	names := map[string][]string{}
	for _, name := range r.allProblems() {
		status := strconv.Itoa(problems[name].status)
		names[status] = append(names[status], name)
	}
	for status, some := range names {
		slices.Sort(some)
		responses[status] = object{"description": strings.Join(slices.Compact(some), ", "), "content": problem}
	}
	return responses, nil
}

// answer describes the body of an answer.
func (d *describer) answer(answer any, types []string) (object, error) {
	several, ok := answer.(oneOf)
	if !ok {
		return d.content(reflect.TypeOf(answer), types)
	}
	var schemas []object
	for _, one := range several {
		schema, err := d.ref(reflect.TypeOf(one))
		if err != nil {
			return nil, err
		}
		schemas = append(schemas, schema)
	}
	return object{jsonType: object{"schema": object{"oneOf": schemas}}}, nil
}

// allProblems returns the names of the problems that a route can have.
func (r *route) allProblems() []string {
	names := append([]string{"invalid", "unauthorized", "forbidden", "internal", "redis-unavailable"}, r.problems...)
	if strings.Contains(r.path, "{queue}") || r.param("queue") != nil {
		names = append(names, "no-queue")
	}
	if r.param("cursor") != nil {
		names = append(names, "bad-cursor")
	}
	if r.body != nil {
		names = append(names, "too-large", "wrong-type")
	}
	if r.repeatable {
		names = append(names, "still-running", "other-request")
	}
	if r.tagged && r.method != get {
		names = append(names, "changed")
	}
	if r.method != get {
		names = append(names, "redis-full", "outcome-unknown", "audit-unavailable")
	}
	return append(names, "wrong-format", "busy")
}

// content describes a body of one of some types. Only JSON has a schema.
func (d *describer) content(t reflect.Type, types []string) (object, error) {
	content := object{}
	for _, mediaType := range types {
		schema := object{"type": "string"}
		if strings.HasSuffix(mediaType, "json") && mediaType != ndjsonType {
			var err error
			if schema, err = d.ref(t); err != nil {
				return nil, err
			}
		}
		content[mediaType] = object{"schema": schema}
	}
	return content, nil
}

// ref returns a reference to the schema of a type, which it adds.
func (d *describer) ref(t reflect.Type) (object, error) {
	if t.Name() == "" { // of the document itself
		return object{"type": "object"}, nil
	}
	name := schemaName(t)
	reference := object{"$ref": "#/components/schemas/" + name}
	if _, known := d.schemas[name]; known {
		return reference, nil
	}
	schema, err := schemaOf(t)
	d.schemas[name] = schema
	return reference, err
}

// schemaName returns the name of a type, such as JobList for List[Job].
func schemaName(t reflect.Type) string {
	name, element, generic := strings.Cut(strings.TrimSuffix(t.Name(), "]"), "[")
	if !generic {
		return name
	}
	return element[strings.LastIndex(element, ".")+1:] + name
}

func newJobRef() *jsonschema.Schema { return &jsonschema.Schema{Ref: "#/components/schemas/NewJob"} }

// schemaOf returns the schema of a type.
func schemaOf(t reflect.Type) (*jsonschema.Schema, error) {
	types := map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[time.Time]():       {Type: "string", Format: "date-time"},
		reflect.TypeFor[Duration]():        {Type: "string", Pattern: `^-?([0-9.]+(h|m|s|ms|us|µs|ns))+$|^0$`},
		reflect.TypeFor[json.RawMessage](): {},
		reflect.TypeFor[NewJob]():          newJobRef(),
	}
	if t == reflect.TypeFor[NewJob]() { // another type with its fields, because it contains itself
		var fields []reflect.StructField
		for i := range t.NumField() {
			fields = append(fields, t.Field(i))
		}
		t = reflect.StructOf(fields)
	}
	schema, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: types})
	if err == nil {
		withoutNull(schema)
	}
	return schema, err
}

// withoutNull makes a schema refuse null where Go would write it for nil: answers have none.
func withoutNull(s *jsonschema.Schema) {
	if len(s.Types) > 0 {
		s.Types = slices.DeleteFunc(s.Types, func(t string) bool { return t == "null" })
		if len(s.Types) == 1 {
			s.Type, s.Types = s.Types[0], nil
		}
	}
	for _, property := range s.Properties {
		withoutNull(property)
	}
	for _, inner := range []*jsonschema.Schema{s.Items, s.AdditionalProperties} {
		if inner != nil {
			withoutNull(inner)
		}
	}
}
