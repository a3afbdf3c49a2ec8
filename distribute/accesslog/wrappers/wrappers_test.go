package wrappers_test

import (
	"strings"
	"testing"

	"skidway/distribute/accesslog/wrappers"
)

func TestDeclarationsAreComplete(t *testing.T) {
	t.Parallel()
	for _, w := range wrappers.All {
		if w.Name == "" || w.Description == "" || !strings.HasPrefix(w.Specification, "https://") {
			t.Errorf("%+v has no name, description or specification", w)
		}
		lines := strings.Split(strings.TrimSuffix(w.Example, "\n"), "\n")
		for i, line := range lines {
			record, ok := w.Peel([]byte(line), nil)
			if last := i == len(lines)-1; !ok || record.Skip == last || last && string(record.Inner) != "…" {
				t.Errorf("%s: %q holds %+v, %v", w.Name, line, record, ok)
			}
		}
	}
}
