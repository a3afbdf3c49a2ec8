package main

import (
	"fmt"
	"math"
	"net/http"
	"strings"
	"syscall"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"skidway/cmd/skidway/internal/cli"
	"skidway/internal/processtest"
	"skidway/internal/redistest"
	"skidway/queue"
)

// address returns the address that the worker serves.
func (s *workerFixture) address() string {
	s.Helper()
	_, after, found := strings.Cut(s.worker.Output(), "address=")
	if !found {
		s.Fatal(s.worker.Output())
	}
	address, _, _ := strings.Cut(after, "\n")
	return "http://" + address
}

// scrape reads the metrics.
func scrape(t testing.TB, address string) map[string]*dto.MetricFamily {
	t.Helper()
	response, err := http.Get(address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// status returns the status code of a GET request.
func status(t testing.TB, url string) int {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	return response.StatusCode
}

func TestHealthReadinessAndMetricsAreServed(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	d := newFixture(t)
	log := write(t, folder, "a.log", small)
	for _, args := range []string{"logs ship " + log + " --channel web --subscriber countries", "logs work --channel web --subscriber countries --until-done"} {
		d.must(strings.Fields(args)...)
	}
	s := d.workerFixture(waits+"queues: [{name: mail}]\nchannels: [web, later]\n", "--listen", "127.0.0.1:0", "--queue-metrics")
	id := s.runs("mail")
	address := s.address()
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 200, "/metrics": 200, "/nope": 404} {
		if got := status(t, address+path); got != want {
			t.Errorf("%s: %d, want %d", path, got, want)
		}
	}
	families := scrape(t, address)
	for _, name := range []string{
		"skidway_jobs_started_total", "skidway_job_wait_seconds", "skidway_queue_jobs", "skidway_queue_oldest_seconds", "skidway_queue_overdue_seconds", "skidway_queue_paused",
		"skidway_queue_events_total", "skidway_redis_up", "skidway_queues_up", "go_goroutines", "process_start_time_seconds",
	} {
		if families[name] == nil {
			t.Errorf("no %s", name)
		}
	}
	lines := map[string]float64{}
	for _, m := range families["skidway_log_lines_total"].GetMetric() {
		values := map[string]string{}
		for _, label := range m.GetLabel() {
			values[label.GetName()] = label.GetValue()
		}
		lines[values["channel"]+" "+values["subscriber"]+" "+values["result"]] = m.GetCounter().GetValue()
	}
	if fmt.Sprint(lines) != "map[web countries counted:2 web countries unknown_country:1 web countries unparsable:1]" {
		t.Errorf("%v", lines)
	}
	if bytes := families["skidway_log_bytes_total"].GetMetric()[0].GetCounter().GetValue(); int(bytes) != len(small) {
		t.Errorf("%v bytes, want %d", bytes, len(small))
	}
	// Invalid data in Redis leaves the other metrics.
	db := redistest.Open(t, d.url)
	subscribers := "skidway:logs:{web}:subscribers"
	if err := db.HSet(t.Context(), subscribers, "b\xff", db.HGet(t.Context(), subscribers, "countries").Val()).Err(); err != nil {
		t.Fatal(err)
	}
	if got := status(t, address+"/metrics"); got != http.StatusOK {
		t.Errorf("metrics beside a subscriber with a bad name: %d", got)
	}
	s.worker.Signal(syscall.SIGTERM)
	s.worker.Await("stopping")
	if got := status(t, address+"/readyz"); got != http.StatusServiceUnavailable {
		t.Errorf("ready while it stops: %d", got)
	}
	if got := status(t, address+"/healthz"); got != http.StatusOK {
		t.Errorf("not healthy while it stops: %d", got)
	}
	s.end()
	s.awaitOutcome(id, queue.Succeeded)
	if output, code := s.worker.End(); code != cli.ExitDone {
		t.Errorf("exit code %d: %s", code, output)
	}
}

func TestWorkerCollectsGarbageLessOftenUnlessTheEnvironmentSaysHowOften(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	for name, c := range map[string]struct {
		environment    []string
		percent, limit float64 // limit 0: any that is set
	}{
		"nothing is set": {nil, 400, 0},
		"a limit is set": {[]string{"GOMEMLIMIT=100MiB"}, 400, 100 << 20},
		"GOGC is set":    {[]string{"GOGC=50"}, 50, 0},
	} {
		command := command(t, t.TempDir(), "worker", "--redis", d.url, "--listen", "127.0.0.1:0")
		command.Env = append(command.Env, c.environment...)
		s := &workerFixture{fixture: d, worker: processtest.Start(t, command)}
		s.worker.Await("worker is ready")
		families := scrape(t, s.address())
		value := func(name string) float64 { return families[name].GetMetric()[0].GetGauge().GetValue() }
		percent, limit := value("go_gc_gogc_percent"), value("go_gc_gomemlimit_bytes")
		if percent != c.percent || c.limit != 0 && limit != c.limit || limit >= math.MaxInt64 {
			t.Errorf("%s: GOGC is %v, want %v; GOMEMLIMIT is %v, want %v", name, percent, c.percent, limit, c.limit)
		}
		s.worker.Kill()
	}
}
