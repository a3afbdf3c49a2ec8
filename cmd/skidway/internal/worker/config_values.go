package worker

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"skidway/cmd/skidway/internal/cli"
)

// A duration is a length of time, written "90s" or "2h".
type duration time.Duration

// UnmarshalYAML wants a text with a unit.
func (d *duration) UnmarshalYAML(node ast.Node) error {
	text := node.GetToken().Value
	parsed, err := time.ParseDuration(text)
	if err != nil || parsed < 0 {
		return &lineError{node.GetToken().Position.Line, fmt.Errorf("%q is no length of time such as 90s or 2h", text)}
	}
	*d = duration(parsed)
	return nil
}

// A wholeNumber is zero or more.
type wholeNumber int

// UnmarshalYAML reads a number as flags have it.
func (n *wholeNumber) UnmarshalYAML(node ast.Node) error {
	text := node.GetToken().Value
	var parsed cli.Number
	if err := parsed.Set(text); err != nil {
		return &lineError{node.GetToken().Position.Line, fmt.Errorf("%q: %w", text, err)}
	}
	*n = wholeNumber(parsed)
	return nil
}

// A byteSize is a size, written "20MiB" or as a number.
type byteSize int64

// UnmarshalYAML reads a size as flags have it.
func (b *byteSize) UnmarshalYAML(node ast.Node) error {
	var s cli.Size
	if err := s.Set(node.GetToken().Value); err != nil {
		return &lineError{node.GetToken().Position.Line, err}
	}
	*b = byteSize(s)
	return nil
}

// environmentPrefix starts the names of all variables.
const environmentPrefix = "SKIDWAY_"

// fromEnvironment overrides values by variables: SKIDWAY_ and the names on the
// way to the value, in capital letters, with '_' between them and for each dot.
// An empty one is as one that is not set.
// So worker.max_attempts is SKIDWAY_WORKER_MAX_ATTEMPTS.
func (c *config) fromEnvironment(lookup func(string) (string, bool)) error {
	c.origin.variables = map[string]string{}
	return eachValue(reflect.ValueOf(c).Elem(), nil, func(path []string, value reflect.Value) error {
		name := variable(path)
		text, set := lookup(name)
		if !set || text == "" { // as of a variable that compose knows no value for
			return nil
		}
		if err := setValue(value, text); err != nil {
			return &configError{err: fmt.Errorf("the environment variable %s: %w", name, err)}
		}
		c.origin.variables[strings.Join(path, ".")] = name
		return nil
	})
}

// variable is the name of the variable for a value.
func variable(path []string) string {
	return environmentPrefix + strings.ToUpper(strings.ReplaceAll(strings.Join(path, "_"), ".", "_"))
}

// eachValue calls f for all values below v that are no lists or maps.
func eachValue(v reflect.Value, path []string, f func(path []string, value reflect.Value) error) error {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		if !field.IsExported() {
			continue
		}
		below := append(path[:len(path):len(path)], name)
		if field.Anonymous {
			below = path
		}
		value := v.Field(i)
		var err error
		switch _, scalar := value.Interface().(secretValue); {
		case scalar:
			err = f(below, value)
		case value.Kind() == reflect.Struct:
			err = eachValue(value, below, f)
		case value.Kind() == reflect.Slice, value.Kind() == reflect.Map:
		default:
			err = f(below, value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// setValue sets a value from text.
func setValue(v reflect.Value, text string) error {
	switch v.Interface().(type) {
	case wholeNumber:
		var n cli.Number
		if err := n.Set(text); err != nil {
			return fmt.Errorf("%q: %w", text, err)
		}
		v.SetInt(int64(n))
		return nil
	case secretValue:
		v.Set(reflect.ValueOf(secretValue{text}))
		return nil
	case duration:
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 {
			return fmt.Errorf("%q is no length of time such as 90s or 2h", text)
		}
		v.SetInt(int64(d))
		return nil
	case byteSize:
		var s cli.Size
		if err := s.Set(text); err != nil {
			return err
		}
		v.SetInt(int64(s))
		return nil
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Float64:
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return fmt.Errorf("%q is no number", text)
		}
		v.SetFloat(n)
	case reflect.Bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("%q is neither true nor false", text)
		}
		v.SetBool(b)
	}
	return nil
}

// A setting is a value of the configuration.
type setting struct{ path, variable string }

// settings gives all values that are no list or map.
func settings() (list []setting) {
	var c config
	_ = eachValue(reflect.ValueOf(&c).Elem(), nil, func(path []string, _ reflect.Value) error {
		list = append(list, setting{strings.Join(path, "."), variable(path)})
		return nil
	})
	return list
}

// A secretValue is a text that a configuration does not hold itself: it says from
// which file or environment variable it comes.
//
//	password: {file: /run/secrets/smtp}
//	password: {env: SMTP_PASSWORD}
type secretValue struct{ text string }

// String keeps it out of what is printed.
func (s secretValue) String() string {
	if s.text == "" {
		return ""
	}
	return "(secret)"
}

// UnmarshalYAML reads the text from where it is.
func (s *secretValue) UnmarshalYAML(node ast.Node) error {
	at := func(err error) error { return &lineError{node.GetToken().Position.Line, err} }
	var from struct {
		File string `yaml:"file"`
		Env  string `yaml:"env"`
	}
	if _, plain := node.(ast.ScalarNode); plain {
		return at(errors.New("a secret does not stand in the configuration: write {file: PATH} or {env: NAME}"))
	}
	if err := yaml.NodeToValue(node, &from, yaml.Strict()); err != nil {
		return err
	}
	var err error
	switch {
	case (from.File == "") == (from.Env == ""):
		err = errors.New("a secret comes from one place: write {file: PATH} or {env: NAME}")
	case from.File != "":
		s.text, err = cli.ReadSecret(from.File)
	default:
		var set bool
		if s.text, set = os.LookupEnv(from.Env); !set {
			err = fmt.Errorf("the environment variable %s is not set", from.Env)
		}
	}
	if err != nil {
		return at(err)
	}
	return nil
}
