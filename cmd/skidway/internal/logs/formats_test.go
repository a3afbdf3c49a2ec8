package logs

import (
	"testing"

	"skidway/distribute/accesslog"
)

// What is printed to be pasted into a shell is taken by it as it is, whatever a log holds.
func TestAdviceIsQuotedForTheShell(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"client.ip": "client.ip", "$(reboot)": "'$(reboot)'", "it's": `'it'\''s'`, "": "",
	} {
		fields := []accesslog.FieldValue{{Name: key, Value: "8.8.8.8"}}
		if got := keyOf(fields, "KEY", accesslog.IsAddress); got != want {
			t.Errorf("%q: %s, want %s", key, got, want)
		}
	}
}
