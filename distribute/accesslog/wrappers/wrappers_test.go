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

func TestRealLinesAreTakenOffTheirWrappers(t *testing.T) {
	t.Parallel()
	for _, w := range wrappers.All {
		for _, line := range w.Real {
			record, ok := w.Peel([]byte(line.Text), nil)
			if !ok || string(record.Inner) != line.Inner || record.Partial || record.Skip || line.Origin == "" {
				t.Errorf("%s: %+v, %v: %s", w.Name, record, ok, line.Text)
			}
		}
	}
}

func TestMessagesOfTheJournalInJSONMayBeBytes(t *testing.T) {
	t.Parallel()
	peel := func(line string) (wrappers.Record, bool) {
		for _, w := range wrappers.All {
			if w.Name == "message" {
				return w.Peel([]byte(line), []byte("x")[:0])
			}
		}
		panic("there is no such wrapper")
	}
	for _, c := range []struct {
		line, inner string
		ok          bool
	}{
		{`{"A":"b","MESSAGE":[56, 46,27,195,169,10],"_PID":"1"}`, "8.\x1b\u00e9", true},
		{`{"MESSAGE" : [ ] }`, "", true},
		{`{"MESSAGE":null,"_PID":"1"}`, "", true},
		{`{"MESSAGE":[256]}`, "", false},
		{`{"MESSAGE":[1,"a"]}`, "", false},
		{`{"MESSAGE":{"a":1}}`, "", false},
		{`{"MESSAGE":[56`, "", false},
		{`{"a":["MESSAGE"]}`, "", false},
	} {
		record, ok := peel(c.line)
		if ok != c.ok || string(record.Inner) != c.inner || record.Skip {
			t.Errorf("%s: %q, %v", c.line, record.Inner, ok)
		}
	}
}
