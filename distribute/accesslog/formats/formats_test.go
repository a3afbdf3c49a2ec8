package formats_test

import (
	"strings"
	"testing"

	"skidway/distribute/accesslog/formats"
)

func TestDeclarationsAreComplete(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, f := range formats.All {
		if f.Name == "" || f.Description == "" || f.Reads == "" || !strings.Contains(f.Example, "203.0.113.7") {
			t.Errorf("%+v has no name, description, or example of which the fields are known", f)
		}
		if !strings.HasPrefix(f.Specification, "https://") && f.Kind != formats.Minimal {
			t.Errorf("%s has no specification", f.Name)
		}
		if len(f.Layouts) == 0 == (f.Fields == "") {
			t.Errorf("%s has either layouts or the names of fields", f.Name)
		}
		for _, name := range append(f.Aliases, f.Name) {
			if names[name] {
				t.Errorf("two formats have the name %s", name)
			}
			names[name] = true
		}
		for _, line := range f.Real {
			if line.Origin == "" || line.Address == "" || line.Time == "" || line.Status == "" || line.Text == "" {
				t.Errorf("%s: a real line without what is to be read of it: %+v", f.Name, line)
			}
		}
	}
}
