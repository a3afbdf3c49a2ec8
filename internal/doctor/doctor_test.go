package doctor_test

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"skidway/internal/doctor"
	"skidway/internal/handle"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/queue"
)

func TestMain(m *testing.M) { redistest.Main(m) }

func open(t *testing.T, server *redistest.Server) *rdb.DB {
	t.Helper()
	db, err := rdb.Open(t.Context(), server.URL(0), rdb.Options{Patience: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// found returns the findings of a topic.
func found(findings []doctor.Finding, topic string) (of []doctor.Finding) {
	for _, finding := range findings {
		if finding.Topic == topic {
			of = append(of, finding)
		}
	}
	return of
}

func TestACheckLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	db := open(t, server)
	findings, err := doctor.Check(t.Context(), db)
	if err != nil || len(findings) == 0 {
		t.Fatalf("%+v, %v", findings, err)
	}
	if n, err := db.DBSize(t.Context()).Result(); n != 0 || err != nil {
		t.Errorf("%d keys: %v", n, err)
	}
}

func TestFindingOfPersistenceTellsWhatACrashLoses(t *testing.T) {
	t.Parallel()
	for fsync, want := range map[string]string{
		"always":   "nothing that was accepted is lost",
		"everysec": "when Redis or the machine crashes, up to two seconds are lost",
	} {
		findings, err := doctor.Check(t.Context(), open(t, redistest.Start(t, "--appendonly", "yes", "--appendfsync", fsync)))
		if err != nil {
			t.Fatal(err)
		}
		if of := found(findings, "persistence"); len(of) != 1 || !strings.HasSuffix(of[0].Found, want) {
			t.Errorf("%s: %+v, want %q", fsync, of, want)
		}
	}
}

func TestChecksJudgeSettings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		settings []string
		topic    string
		level    doctor.Level
		change   string
	}{
		"synced each second": {[]string{"--appendonly", "yes"}, "persistence", doctor.Fine, ""},
		"never synced":       {[]string{"--appendonly", "yes", "--appendfsync", "no"}, "persistence", doctor.Warning, "appendfsync everysec"},
		"roomy":              {[]string{"--maxmemory", "1gb"}, "memory", doctor.Fine, ""},
		"full":               {[]string{"--maxmemory", "100kb"}, "memory", doctor.Problem, "CONFIG SET maxmemory 64mb"},
		"volatile":           {[]string{"--maxmemory-policy", "volatile-ttl"}, "eviction", doctor.Warning, "maxmemory-policy noeviction"},
		"no keepalive":       {[]string{"--tcp-keepalive", "0"}, "timeouts", doctor.Warning, "tcp-keepalive 300"},
		"few clients":        {[]string{"--maxclients", "1"}, "connections", doctor.Warning, "maxclients 2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			findings, err := doctor.Check(t.Context(), open(t, redistest.Start(t, c.settings...)))
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

func TestHiddenInfoIsNamedWithWhatDoesNotWorkThen(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	of := func(url string) []doctor.Finding {
		t.Helper()
		db, err := rdb.Open(t.Context(), url, rdb.Options{Patience: -1})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		findings, err := doctor.Check(t.Context(), db)
		if err != nil {
			t.Fatal(err)
		}
		return found(findings, "restarts")
	}
	if of := of(server.URL(0)); len(of) != 0 {
		t.Errorf("with INFO: %+v", of)
	}
	err := redistest.Open(t, server.URL(0)).Do(t.Context(), "acl", "setuser", "app", "on", ">pw", "~*", "&*", "+@all", "-info").Err()
	if err != nil {
		t.Fatal(err)
	}
	findings := of(strings.Replace(server.URL(0), "unix://", "unix://app:pw@", 1))
	if len(findings) != 1 || findings[0].Level != doctor.Warning || !strings.Contains(findings[0].Why, "failover") || !strings.HasSuffix(findings[0].Change[0], "SETUSER app +info") {
		t.Errorf("without INFO: %+v", findings)
	}
}

func TestLinesOfAnotherFormatWithEntriesAreNamed(t *testing.T) {
	t.Parallel()
	db := open(t, redistest.Start(t))
	lines := func() doctor.Finding {
		t.Helper()
		findings, err := doctor.Check(t.Context(), db)
		if of := found(findings, "lines"); err == nil && len(of) == 1 {
			return of[0]
		}
		t.Fatalf("%+v: %v", findings, err)
		return doctor.Finding{}
	}
	client, err := queue.NewClient(handle.New(db), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Enqueue(t.Context(), queue.Raw("a", nil), &queue.Options{Queue: "mail"}); err != nil {
		t.Fatal(err)
	}
	if f := lines(); f.Level != doctor.Fine {
		t.Errorf("of this format: %+v", f)
	}
	for _, line := range []string{"normal:fresh", "3:high:fresh"} {
		key := "skidway:{mail:0}:" + line
		entry, err := db.XAdd(t.Context(), &redis.XAddArgs{Stream: key, Values: []string{"kind", "a"}}).Result()
		if err != nil {
			t.Fatal(err)
		}
		if f := lines(); f.Level != doctor.Problem || !strings.Contains(f.Found, key+" (1 entries)") || len(f.Change) == 0 {
			t.Errorf("%s: %+v", line, f)
		}
		if err := db.XDel(t.Context(), key, entry).Err(); err != nil {
			t.Fatal(err)
		}
		if f := lines(); f.Level != doctor.Fine {
			t.Errorf("%s without entries: %+v", line, f)
		}
	}
}

func TestCheckOfARedisThatIsAwayIsAnError(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	db := open(t, server)
	server.Kill()
	if findings, err := doctor.Check(t.Context(), db); err == nil {
		t.Errorf("%+v", findings)
	}
}
