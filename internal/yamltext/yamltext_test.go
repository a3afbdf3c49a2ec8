package yamltext_test

import (
	"strings"
	"testing"

	"skidway/internal/yamltext"
)

func TestDecode(t *testing.T) {
	t.Parallel()
	for text, part := range map[string]string{ // part of the error, if one is expected
		"":                      "",
		"# empty":               "",
		"names: [a]\ndata: b":   "",
		"names: [a]\nothers: b": "[2:1] unknown field \"others\"",
		"names: [a":             "[1:8] ",
		"names: !a ":            "one with a tag (!name)",
		"data: !!binary aGk=":   "",
		"bytes: !!binary aGk=":  "one with a tag (!name)",
	} {
		var value struct {
			Names []string
			Data  string
			Bytes []byte
		}
		err := yamltext.Decode([]byte(text), &value)
		if (err != nil) != (part != "") || err != nil && !strings.Contains(err.Error(), part) {
			t.Errorf("%q: error %v, want one with %q", text, err, part)
		}
	}
}
