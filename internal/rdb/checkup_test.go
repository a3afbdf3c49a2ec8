package rdb_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

// found gives the findings of a topic.
func found(findings []rdb.Finding, topic string) (of []rdb.Finding) {
	for _, finding := range findings {
		if finding.Topic == topic {
			of = append(of, finding)
		}
	}
	return of
}

func TestCheckupFindsEveryCommandOfScriptsThatIsDenied(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	if err := open(t, server.URL(0), rdb.Options{}).Do(t.Context(), "acl", "setuser", "app", "on", ">pw", "~skidway:*",
		"-@all", "+ping", "+multi", "+discard", "+hello", "+info").Err(); err != nil {
		t.Fatal(err)
	}
	findings, err := open(t, strings.Replace(server.URL(0), "unix://", "unix://app:pw@", 1), rdb.Options{}).Checkup(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	access := found(findings, "access")
	if len(access) != 1 || access[0].Level != rdb.Problem {
		t.Fatalf("%+v", access)
	}
	rules := strings.Fields(access[0].Change[0])
	for _, command := range scripted(t) {
		if !slices.Contains(rules, "+"+command) {
			t.Errorf("the checkup does not know that scripts call %s", command)
		}
	}
}

// scripted gives all commands that scripts call, as ACL rules name them.
func scripted(t *testing.T) (commands []string) {
	t.Helper()
	calls := regexp.MustCompile(`\bp?call\('([A-Z]+)'(?:, '([A-Z]+)')?`)
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".lua" {
			return err
		}
		text, err := os.ReadFile(path)
		for _, call := range calls.FindAllStringSubmatch(string(text), -1) {
			name := strings.ToLower(call[1])
			if name == "xgroup" || name == "xinfo" {
				name += "|" + strings.ToLower(call[2])
			}
			commands = append(commands, name)
		}
		return err
	})
	if err != nil || len(commands) == 0 {
		t.Fatalf("%d calls: %v", len(commands), err)
	}
	slices.Sort(commands)
	return slices.Compact(commands)
}

func TestCheckupLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	db := open(t, server.URL(0), rdb.Options{})
	findings, err := db.Checkup(soon(t))
	if err != nil || len(findings) == 0 {
		t.Fatalf("%+v, %v", findings, err)
	}
	if n, err := db.DBSize(t.Context()).Result(); n != 0 || err != nil {
		t.Errorf("%d keys: %v", n, err)
	}
}

func TestCheckupJudgesSettings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		settings []string
		topic    string
		level    rdb.Level
		change   string
	}{
		"synced each second": {[]string{"--appendonly", "yes"}, "persistence", rdb.Fine, ""},
		"never synced":       {[]string{"--appendonly", "yes", "--appendfsync", "no"}, "persistence", rdb.Warning, "appendfsync everysec"},
		"roomy":              {[]string{"--maxmemory", "1gb"}, "memory", rdb.Fine, ""},
		"full":               {[]string{"--maxmemory", "100kb"}, "memory", rdb.Problem, "CONFIG SET maxmemory 64mb"},
		"volatile":           {[]string{"--maxmemory-policy", "volatile-ttl"}, "eviction", rdb.Warning, "maxmemory-policy noeviction"},
		"no keepalive":       {[]string{"--tcp-keepalive", "0"}, "timeouts", rdb.Warning, "tcp-keepalive 300"},
		"few clients":        {[]string{"--maxclients", "1"}, "connections", rdb.Warning, "maxclients 2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			findings, err := open(t, redistest.Start(t, c.settings...).URL(0), rdb.Options{}).Checkup(soon(t))
			if err != nil {
				t.Fatal(err)
			}
			of := found(findings, c.topic)
			if len(of) != 1 || of[0].Level != c.level || !strings.Contains(strings.Join(of[0].Change, "\n"), c.change) {
				t.Errorf("%+v", of)
			}
		})
	}
}

func TestCheckupOfARedisThatIsAwayIsAnError(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	db := open(t, server.URL(0), rdb.Options{})
	server.Kill()
	if findings, err := db.Checkup(soon(t)); err == nil {
		t.Errorf("%+v", findings)
	}
}
