package worker

import (
	"errors"
	"fmt"
	"os"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"skidway/cmd/skidway/internal/cli"
)

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
