package kinds_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"skidway/workers/kinds"
	"skidway/workers/kinds/command"
	"skidway/workers/kinds/email"
	"skidway/workers/kinds/logs"
	"skidway/workers/kinds/request"
)

// TestEveryArgIsDocumented checks that docs/kinds.md has a section for each
// built-in kind, with every field of its args and of its result.
func TestEveryArgIsDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "kinds.md"))
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string][]any{
		"email.send":   {email.Args{}, email.Attachment{}, email.Result{}},
		"exec.run":     {command.Args{}, command.Result{}},
		"http.request": {request.Args{}, request.Result{}},
		"logs.count":   {logs.CountArgs{}},
		"logs.report":  {logs.ReportArgs{}, logs.Result{}},
		"logs.ship":    {logs.ShipArgs{}, logs.ShipResult{}},
	}
	for _, kind := range kinds.Names() {
		_, section, found := strings.Cut(string(page), "\n## "+kind+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		if !found || len(documented[kind]) == 0 {
			t.Errorf("docs/kinds.md, or this test, lacks the kind %s", kind)
		}
		for _, value := range documented[kind] {
			for _, name := range jsonNames(reflect.TypeOf(value)) {
				if !strings.Contains(section, "`"+name+"`") {
					t.Errorf("docs/kinds.md does not name %s of %s", name, kind)
				}
			}
		}
	}
}

// jsonNames returns the names in JSON of a struct's fields, those of embedded
// structs included.
func jsonNames(of reflect.Type) (list []string) {
	for field := range of.Fields() {
		if field.Anonymous {
			list = append(list, jsonNames(field.Type)...)
		} else {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			list = append(list, name)
		}
	}
	return list
}
