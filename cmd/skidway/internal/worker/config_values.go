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

// A textValue is a value that is read from text, in the file and in variables.
type textValue interface{ Set(text string) error }

// setNode sets a value from a node of the file.
func setNode(value textValue, node ast.Node) error {
	token := node.GetToken()
	if err := value.Set(token.Value); err != nil {
		return &lineError{token.Position.Line, err}
	}
	return nil
}

// A duration is written "90s" or "2h".
type duration time.Duration

// Set implements [textValue].
func (d *duration) Set(text string) error {
	parsed, err := time.ParseDuration(text)
	if err != nil || parsed < 0 {
		return fmt.Errorf("%q is no length of time such as 90s or 2h", text)
	}
	*d = duration(parsed)
	return nil
}

// UnmarshalYAML implements [yaml.NodeUnmarshaler].
func (d *duration) UnmarshalYAML(node ast.Node) error { return setNode(d, node) }

// A wholeNumber is zero or more.
type wholeNumber int

// Set implements [textValue].
func (n *wholeNumber) Set(text string) error {
	if err := (*cli.Number)(n).Set(text); err != nil {
		return fmt.Errorf("%q: %w", text, err)
	}
	return nil
}

// UnmarshalYAML implements [yaml.NodeUnmarshaler].
func (n *wholeNumber) UnmarshalYAML(node ast.Node) error { return setNode(n, node) }

// A byteSize is written "20MiB" or as a number of bytes.
type byteSize int64

// Set implements [textValue].
func (b *byteSize) Set(text string) error { return (*cli.Size)(b).Set(text) }

// UnmarshalYAML implements [yaml.NodeUnmarshaler].
func (b *byteSize) UnmarshalYAML(node ast.Node) error { return setNode(b, node) }

// environmentPrefix is the prefix of all variables.
const environmentPrefix = "SKIDWAY_"

// fromEnvironment overrides values by environment variables. The variable of
// worker.max_attempts is SKIDWAY_WORKER_MAX_ATTEMPTS. An empty variable counts as not
// set.
func (c *config) fromEnvironment(lookup func(string) (string, bool)) error {
	c.origin.variables = map[string]string{}
	return eachValue(reflect.ValueOf(c).Elem(), nil, func(path []string, value reflect.Value) error {
		name := variable(path)
		text, set := lookup(name)
		if !set || text == "" { // Docker Compose sets variables without a value to ""
			return nil
		}
		if err := setValue(value, text); err != nil {
			return &configError{err: fmt.Errorf("the environment variable %s: %w", name, err)}
		}
		c.origin.variables[strings.Join(path, ".")] = name
		return nil
	})
}

// variable returns the name of the variable of a value.
func variable(path []string) string {
	return environmentPrefix + strings.ToUpper(strings.ReplaceAll(strings.Join(path, "_"), ".", "_"))
}

// eachValue calls f for all values below v that are not lists or maps.
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
	if value, ok := v.Addr().Interface().(textValue); ok {
		return value.Set(text)
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

// settings returns all values that are not lists or maps.
func settings() (list []setting) {
	var c config
	_ = eachValue(reflect.ValueOf(&c).Elem(), nil, func(path []string, _ reflect.Value) error {
		list = append(list, setting{strings.Join(path, "."), variable(path)})
		return nil
	})
	return list
}

// A secretValue is a text that is not in the configuration itself. The configuration
// names the file or the environment variable that has it.
//
//	password: {file: /run/secrets/smtp}
//	password: {env: SMTP_PASSWORD}
type secretValue struct{ text string }

// String hides the text from logs and messages.
func (s secretValue) String() string {
	if s.text == "" {
		return ""
	}
	return "(secret)"
}

// Set implements [textValue]: a variable holds the secret itself.
func (s *secretValue) Set(text string) error {
	s.text = text
	return nil
}

// UnmarshalYAML reads the secret from its file or variable.
func (s *secretValue) UnmarshalYAML(node ast.Node) error {
	at := func(err error) error { return &lineError{node.GetToken().Position.Line, err} }
	var from struct {
		File string `yaml:"file"`
		Env  string `yaml:"env"`
	}
	if _, plain := node.(ast.ScalarNode); plain {
		return at(errors.New("a secret must not be in the configuration itself: write {file: PATH} or {env: NAME}"))
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
	if err == nil && s.text == "" {
		err = fmt.Errorf("the secret is empty: set the variable %s", from.Env)
		if from.File != "" {
			err = fmt.Errorf("the secret is empty: the first line of %s must contain it", from.File)
		}
	}
	if err != nil {
		return at(err)
	}
	return nil
}
