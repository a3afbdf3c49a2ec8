package metrics_test

import (
	"os"
	"regexp"
	"testing"
)

// read returns the text of a file.
func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestDocumentationListsTheCollectedMetrics(t *testing.T) {
	t.Parallel()
	listed := map[string]bool{}
	for _, match := range regexp.MustCompile(`(?m)^//\t(skidway_\w+)`).FindAllStringSubmatch(read(t, "doc.go"), -1) {
		listed[match[1]] = true
	}
	names := collected(t)
	// Those of log channels belong to a package that this one may not import.
	channels := regexp.MustCompile(`desc\("(\w+)"`).FindAllStringSubmatch(read(t, "../../cmd/skidway/internal/worker/service_channels.go"), -1)
	if len(channels) == 0 {
		t.Error("the metrics of log channels were not found")
	}
	for _, match := range channels {
		names["skidway_log_"+match[1]] = true
	}
	for name := range names {
		if !listed[name] {
			t.Errorf("%s is collected and not listed", name)
		}
	}
	for name := range listed {
		if !names[name] {
			t.Errorf("%s is listed and not collected", name)
		}
	}
}
