package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"skidway/cmd/skidway/internal/cli"
	"skidway/internal/doctor"
	"skidway/internal/redistest"
	"skidway/queue"
)

// findings returns the worst finding of the doctor for each topic.
func findings(t *testing.T, url string, args ...string) (map[string]findingJSON, outcome) {
	t.Helper()
	o := skidway(t, "", append([]string{"doctor", "-o", "json", "--redis", url}, args...)...)
	var object doctorJSON
	if err := json.Unmarshal([]byte(o.stdout), &object); err != nil {
		t.Fatalf("%v: %s", err, o.stderr)
	}
	found := map[string]findingJSON{}
	for _, finding := range object.Findings {
		if found[finding.Topic].Level != doctor.Problem {
			found[finding.Topic] = finding
		}
	}
	return found, o
}

func TestDoctorReportsWhatToChangeInADefaultRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--save", "3600 1 300 100 60 10000")
	found, o := findings(t, server.URL(0))
	if o.code != cli.ExitDone { // warnings only
		t.Errorf("exit code %d: %s", o.code, o.stderr)
	}
	for topic, change := range map[string]string{"persistence": "redis-cli CONFIG SET appendonly yes", "memory": "redis-cli CONFIG SET maxmemory "} {
		f := found[topic]
		if f.Level != doctor.Warning || f.Why == "" || !strings.HasPrefix(strings.Join(f.Change, "\n"), change) {
			t.Errorf("%s: %+v", topic, f)
		}
	}
	for _, topic := range []string{"version", "eviction", "replication", "timeouts", "connections", "clock", "access", "tracking", "queues"} {
		if f := found[topic]; f.Level != doctor.Fine || f.Found == "" {
			t.Errorf("%s: %+v", topic, f)
		}
	}
	mustRun(t, "", "enqueue", "mail", "a", "--redis", server.URL(0))
	table := mustRun(t, "", "doctor", "--redis", server.URL(0)).stdout
	hasLine(t, table, "ok       queues       1 queue with 1 job in all")
	hasLine(t, table, "warning  persistence", "snapshots only")
	hasLine(t, table, "> redis-cli CONFIG SET appendonly yes")
	hasLine(t, mustRun(t, "", "doctor", "-o", "csv", "--redis", server.URL(0)).stdout, "warning,persistence,")
}

func TestDoctorAndShipCompareWindowsWithMaxmemory(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--maxmemory", "100mb")
	folder := t.TempDir()
	write(t, folder, "a.log", "8.8.8.8 2026-11-01 x\n")
	ship := []string{"logs", "ship", "a.log", "--channel", "web", "--redis", server.URL(0)}
	hasLine(t, mustRun(t, folder, ship...).stderr, "warning: the windows of 1 channels have 1.0 GiB left", "maxmemory is 100 MiB", "--window")
	found, _ := findings(t, server.URL(0))
	if f := found["channels"]; f.Level != doctor.Warning || f.Why == "" || !strings.Contains(strings.Join(f.Change, "\n"), "redis-cli CONFIG SET maxmemory 10") {
		t.Errorf("a window of 1 GiB: %+v", f)
	}
	if o := mustRun(t, folder, append(ship, "--window", "50MiB")...); strings.Contains(o.stderr, "warning") {
		t.Errorf("a window of 50 MiB: %s", o.stderr)
	}
	found, _ = findings(t, server.URL(0))
	if f := found["channels"]; f.Level != doctor.Fine {
		t.Errorf("a window of 50 MiB: %+v", f)
	}
}

func TestDoctorNamesTheDaysAndCellsOfCounts(t *testing.T) {
	t.Parallel()
	url, folder := redistest.Start(t).URL(0), t.TempDir()
	write(t, folder, "a.log", small)
	mustRun(t, folder, "logs", "ship", "a.log", "--channel", "web", "--redis", url)
	mustRun(t, folder, "logs", "work", "--channel", "web", "--subscriber", "s", "--until-done", "--redis", url)
	found, _ := findings(t, url)
	if f := found["counts"]; f.Level != doctor.Fine || !strings.Contains(f.Found, "channel web, subscriber s: 2 days × at most 2 cells of a day and cut, in all 3 cells") {
		t.Errorf("%+v", f)
	}
}

func TestDoctorEndsWithOneAfterAProblem(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		settings     []string
		topic, found string
	}{
		"drops keys":    {[]string{"--maxmemory-policy", "allkeys-lru"}, "eviction", "allkeys-lru"},
		"keeps nothing": {nil, "persistence", "nothing is written to disk"},
		"replica":       {[]string{"--replicaof", "127.0.0.1 1"}, "replication", "replica of 127.0.0.1:1"},
		"one of many":   {[]string{"--cluster-enabled", "yes"}, "cluster", "one of a Redis Cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, o := findings(t, redistest.Start(t, c.settings...).URL(0))
			if f := found[c.topic]; f.Level != doctor.Problem || !strings.Contains(f.Found, c.found) || len(f.Change) == 0 {
				t.Errorf("%+v", f)
			}
			if o.code != cli.ExitFailed {
				t.Errorf("exit code %d", o.code)
			}
			hasLine(t, o.stderr, "skidway: ", "found a problem")
		})
	}
}

func TestDoctorChecksAFileOfUsers(t *testing.T) {
	t.Parallel()
	d, folder := newFixture(t), t.TempDir()
	file := write(t, folder, "users.yaml", "users: [{name: ada, password: $2a$04$aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa, role: view}]\n")
	users := func(path string) findingJSON {
		t.Helper()
		found, _ := findings(t, d.url, "--users", path)
		return found["users"]
	}
	if f := users(file); f.Level != doctor.Fine || f.Found != "1 user in "+file {
		t.Errorf("%+v", f)
	}
	write(t, folder, "users.yaml", "users: [{name: ada, role: king}]\n")
	for path, want := range map[string]string{file: "king", filepath.Join(folder, "none.yaml"): "no such file"} {
		if f := users(path); f.Level != doctor.Problem || !strings.Contains(f.Found, want) || f.Why == "" {
			t.Errorf("%+v", f)
		}
	}
}

func TestDoctorReportsMissingPermissions(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	db := redistest.Open(t, server.URL(0))
	if err := db.Do(t.Context(), "acl", "setuser", "app", "on", ">pw", "~skidway:*", "+@all", "-config", "-info", "-acl", "-xadd").Err(); err != nil {
		t.Fatal(err)
	}
	url := strings.Replace(server.URL(0), "unix://", "unix://app:pw@", 1)
	found, o := findings(t, url)
	for _, topic := range []string{"version", "eviction", "memory", "persistence", "replication", "timeouts"} {
		if f := found[topic]; f.Level != doctor.Unknown || !strings.Contains(f.Found, "could not look") {
			t.Errorf("%s: %+v", topic, f)
		}
	}
	if f := found["access"]; f.Level != doctor.Problem || f.Found != "this user may not run xadd" || f.Change[0] != "redis-cli ACL SETUSER USER +xadd" {
		t.Errorf("%+v", f)
	}
	if o.code != cli.ExitFailed {
		t.Errorf("exit code %d", o.code)
	}
	if f := output(t, url, "--prefix", "other"); !strings.Contains(f, "may not use keys that start with other:") {
		t.Errorf("%s", f)
	}
}

// doctorTable returns what the doctor prints for people.
func output(t *testing.T, url string, args ...string) string {
	return skidway(t, "", append([]string{"doctor", "--redis", url}, args...)...).stdout
}

func TestDoctorNamesQueuesOfAnotherRelease(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.add("a", queue.Options{})
	for format, want := range map[string]struct{ age, change string }{
		"9": {"newer than this release", "upgrade"},
		"1": {"older than this release", "run a worker of the release that wrote it"},
	} {
		if err := redistest.Open(t, d.url).HSet(t.Context(), "skidway:{mail:0}:meta", "format", format).Err(); err != nil {
			t.Fatal(err)
		}
		found, o := findings(t, d.url)
		if f := found["queues"]; f.Level != doctor.Problem || !strings.Contains(f.Found, "queue mail") || !strings.Contains(f.Change[0], want.change) {
			t.Errorf("%+v", f)
		}
		if o.code != cli.ExitFailed {
			t.Errorf("exit code %d", o.code)
		}
		hasLine(t, d.must("queues", "list", "-o", "table").stdout, "mail: ", want.age)
	}
}

func TestDoctorReportsTheEmbeddedRedis(t *testing.T) {
	t.Parallel()
	o := mustRun(t, "", "doctor", "--redis", "embedded:")
	hasLine(t, o.stdout, "ok", "server", "embedded: a Redis inside this process")
}

func TestDoctorChecksEveryMasterOfACluster(t *testing.T) {
	t.Parallel()
	o := skidway(t, "", "doctor", "-o", "json", "--redis", redistest.Cluster(t))
	var object doctorJSON
	if err := json.Unmarshal([]byte(o.stdout), &object); err != nil {
		t.Fatalf("%v: %s", err, o.stderr)
	}
	servers := map[string]bool{}
	for _, f := range object.Findings {
		servers[f.Server] = true
		if f.Topic == "cluster" && f.Level != doctor.Fine || f.Topic == "access" && f.Level != doctor.Fine {
			t.Errorf("%+v", f)
		}
	}
	if len(servers) != 4 { // three masters, and "" for the queues
		t.Errorf("%v", servers)
	}
}

func TestDoctorWarnsOfCountsWithOddCountries(t *testing.T) {
	t.Parallel()
	server, folder := redistest.Start(t), t.TempDir()
	if f, _ := findings(t, server.URL(0)); f["countries"].Level != doctor.Fine || !strings.Contains(f["countries"].Found, "geo-whois-asn-country 20") {
		t.Errorf("%+v", f["countries"])
	}
	write(t, folder, "a.log", strings.Repeat(`10.0.0.1 - - [01/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 1`+"\n", 1000))
	flags := []string{"--channel", "web", "--subscriber", "s", "--redis", server.URL(0)}
	mustRun(t, folder, append([]string{"logs", "ship", "a.log"}, flags...)...)
	mustRun(t, folder, append([]string{"logs", "work", "--until-done"}, flags...)...)
	found, _ := findings(t, server.URL(0))
	if f := found["countries"]; f.Level != doctor.Warning || !strings.Contains(f.Found, "channel web, subscriber s: 100 % of the addresses have no country") || len(f.Change) == 0 {
		t.Errorf("%+v", f)
	}
}
