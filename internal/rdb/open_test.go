package rdb_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

func TestAbsentServerIsUnreachable(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]string{
		"port":     "redis://user:s3cret@127.0.0.1:1/0",
		"socket":   "unix://user:s3cret@" + filepath.Join(t.TempDir(), "none") + "?db=1",
		"sentinel": "redis+sentinel://user:s3cret@127.0.0.1:1/main",
		"cluster":  "redis+cluster://user:s3cret@127.0.0.1:1",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := rdb.Open(soon(t), url, rdb.Options{})
			var unreachable *rdb.UnreachableError
			if !errors.As(err, &unreachable) {
				t.Fatalf("the error is %v, want an UnreachableError", err)
			}
			if strings.Contains(err.Error(), "s3cret") || strings.Contains(unreachable.Name, "user") {
				t.Errorf("the error shows the password or the user: %v", err)
			}
		})
	}
}

func TestWrongPasswordIsNotShown(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	if err := open(t, server.URL(0), rdb.Options{}).ConfigSet(t.Context(), "requirepass", "right").Err(); err != nil {
		t.Fatal(err)
	}
	url := strings.Replace(server.URL(0), "unix://", "unix://:wr0ng@", 1)
	_, err := rdb.Open(soon(t), url, rdb.Options{})
	if err == nil || !strings.Contains(err.Error(), "WRONGPASS") || strings.Contains(err.Error(), "wr0ng") {
		t.Fatalf("the error is %v, want WRONGPASS without the password", err)
	}
	db := open(t, strings.Replace(url, "wr0ng", "right", 1), rdb.Options{})
	if strings.Contains(db.String(), "right") {
		t.Errorf("the name of the connection is %s", db)
	}
}

func TestURLFromAFileIsOpened(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "url")
	if err := os.WriteFile(path, []byte(redistest.URL(t)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	open(t, "@"+path, rdb.Options{Prefix: "mine"})
}

func TestBadPrefixIsRefusedBeforeConnecting(t *testing.T) {
	t.Parallel()
	_, err := rdb.Open(t.Context(), "redis://127.0.0.1:1", rdb.Options{Prefix: "a b"})
	if err == nil || !strings.Contains(err.Error(), `"a b"`) {
		t.Fatalf("the error is %v, want one that names the prefix", err)
	}
}

func TestOpenEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := rdb.Open(ctx, redistest.URL(t), rdb.Options{}); !errors.Is(err, context.Canceled) {
		t.Fatalf("the error is %v", err)
	}
}

func TestServerThatDropsKeysIsRefusedByName(t *testing.T) {
	t.Parallel()
	db := open(t, redistest.Start(t).URL(0), rdb.Options{})
	for policy, fit := range map[string]bool{"noeviction": true, "volatile-lru": true, "allkeys-lru": false, "allkeys-random": false} {
		if err := db.ConfigSet(t.Context(), "maxmemory-policy", policy).Err(); err != nil {
			t.Fatal(err)
		}
		server, err := db.Check(soon(t))
		if server.Policy != policy || server.Version == "" {
			t.Errorf("%s: the server is %+v", policy, server)
		}
		var unfit *rdb.UnfitServerError
		if fit && err != nil || !fit && (!errors.As(err, &unfit) || !strings.Contains(err.Error(), policy)) {
			t.Errorf("%s: the error is %v", policy, err)
		}
	}
}

func TestServersAreCheckedByWhatTheySay(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer string
		want   rdb.Server
		reason string
	}{
		"too old":  {bulk("redis_version:6.2.14\r\n"), rdb.Server{Name: "redis", Version: "6.2.14"}, "6.2.14"},
		"valkey":   {bulk("redis_version:7.2.4\r\nvalkey_version:8.1.0\r\n"), rdb.Server{Name: "valkey", Version: "8.1.0"}, ""},
		"hidden":   {"-NOPERM this user has no permissions to run the 'info' command\r\n", rdb.Server{Name: "redis"}, ""},
		"for ever": {"-BUSY Redis is busy running a script\r\n", rdb.Server{}, "BUSY"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := fake(t, func(command string) string {
				if command == "INFO" {
					return c.answer
				}
				return ""
			})
			server, err := open(t, url, rdb.Options{Patience: 50 * time.Millisecond}).Check(soon(t))
			if server != c.want {
				t.Errorf("the server is %+v, want %+v", server, c.want)
			}
			if (err == nil) != (c.reason == "") || err != nil && !strings.Contains(err.Error(), c.reason) {
				t.Errorf("the error is %v, want one with %q", err, c.reason)
			}
		})
	}
}

func TestAllMastersOfAClusterAreChecked(t *testing.T) {
	t.Parallel()
	url, masterOf := redistest.OwnCluster(t)
	db, last := open(t, url, rdb.Options{}), masterOf(16383)
	direct := open(t, last.URL(0), rdb.Options{})
	if err := direct.ConfigSet(t.Context(), "maxmemory-policy", "allkeys-lru").Err(); err != nil {
		t.Fatal(err)
	}
	addr, err := db.MasterOf(t.Context(), "{foo}") // slot 12182
	if err != nil {
		t.Fatal(err)
	}
	for range 3 { // one command without a key goes to each of the masters in turn
		server, err := db.Check(soon(t))
		var unfit *rdb.UnfitServerError
		if !errors.As(err, &unfit) || !strings.Contains(err.Error(), addr) || server.Addr != addr {
			t.Errorf("the server is %+v, the error %v, want an UnfitServerError with %s", server, err, addr)
		}
	}
	last.Kill()
	if server, err := db.Check(soon(t)); err != nil || server.Version == "" {
		t.Errorf("while one master is away: %+v, %v", server, err)
	}
}

func TestEmbeddedServerPassesTheCheck(t *testing.T) {
	t.Parallel()
	if server, err := open(t, "embedded:", rdb.Options{}).Check(t.Context()); server.Name != "embedded" || err != nil {
		t.Errorf("Check returned %+v and %v", server, err)
	}
}

// freePort returns a port of loopback that nothing listened on just now.
func freePort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
}

// Where an ACL hides COMMAND, the Cluster client would ask for it before each command.
func TestClusterClientDoesNotAskForTheCommandsOfRedis(t *testing.T) {
	t.Parallel()
	ctx, port := soon(t), freePort(t)
	server := redistest.Start(t, "--port", port, "--bind", "127.0.0.1", "--cluster-enabled", "yes", "--cluster-port", freePort(t),
		"--cluster-announce-ip", "127.0.0.1")
	direct := open(t, server.URL(0), rdb.Options{})
	for _, command := range [][]any{{"CLUSTER", "ADDSLOTSRANGE", 0, 16383}, {"ACL", "SETUSER", "default", "-command"}} {
		if err := direct.Do(ctx, command...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	db := open(t, "redis+cluster://127.0.0.1:"+port, rdb.Options{})
	for _, key := range []string{"a", "b"} {
		if err := db.Retry(ctx, func() error { return db.Set(ctx, key, "", 0).Err() }); err != nil {
			t.Fatal(err)
		}
	}
	stats, err := direct.Info(ctx, "commandstats").Result()
	if err != nil || !strings.Contains(stats, "cmdstat_set:") {
		t.Fatalf("%v, %s", err, stats)
	}
	if _, asked, ok := strings.Cut(stats, "cmdstat_command:"); ok {
		line, _, _ := strings.Cut(asked, "\n")
		t.Errorf("COMMAND was sent: %s", line)
	}
}

// The Cluster client repeats commands by itself where it is let.
func TestLostAnswerOfAClusterIsNotRepeatedByTheClient(t *testing.T) {
	t.Parallel()
	ctx := soon(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, announced, _ := net.SplitHostPort(listener.Addr().String())
	port := freePort(t)
	server := redistest.Start(t, "--port", port, "--bind", "127.0.0.1", "--cluster-enabled", "yes", "--cluster-port", freePort(t),
		"--cluster-announce-ip", "127.0.0.1", "--cluster-announce-port", announced)
	lost := through(t, listener, "tcp", "127.0.0.1:"+port)
	direct := open(t, server.URL(0), rdb.Options{})
	if err := direct.Do(ctx, "CLUSTER", "ADDSLOTSRANGE", 0, 16383).Err(); err != nil {
		t.Fatal(err)
	}

	db := open(t, "redis+cluster://127.0.0.1:"+announced, rdb.Options{})
	count := rdb.NewScript("count it", increment)
	if n, err := count.Int(ctx, db, []string{"the-key"}); n != 1 || err != nil {
		t.Fatalf("the count is %d, the error %v", n, err)
	}
	lost.lose("the-key")
	_, err = count.Int(ctx, db, []string{"the-key"})
	var unknown *rdb.OutcomeUnknownError
	if !errors.As(err, &unknown) || lost.requests() != 1 {
		t.Errorf("sent %d times, the error is %v, want an OutcomeUnknownError", lost.requests(), err)
	}
	lost.lose("the-key")
	n, err := rdb.NewIdempotentScript("count", increment).Int(ctx, db, []string{"the-key"})
	if n != 4 || err != nil {
		t.Errorf("the count is %d (%v), want 4: one lost, one lost and repeated", n, err)
	}
	lost.lose("the-stream")
	commands, replies := appends(t, "the-stream", 2)
	db.SendOnce(ctx, "add", "the-stream", commands)
	for _, reply := range replies {
		if !errors.As(reply.Err(), &unknown) || lost.requests() != 1 {
			t.Errorf("a pipeline was sent %d times, the error is %v, want an OutcomeUnknownError", lost.requests(), reply.Err())
		}
	}
}

func TestEmbeddedServerIsClosedToOthers(t *testing.T) {
	t.Parallel()
	db := open(t, "embedded:", rdb.Options{})
	if !db.Embedded() || db.String() != "embedded:" || db.Prefix() != rdb.DefaultPrefix {
		t.Errorf("embedded %v, name %s, prefix %s", db.Embedded(), db, db.Prefix())
	}
	addr := db.UniversalClient.(*redis.Client).Options().Addr
	stranger := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1})
	defer func() { _ = stranger.Close() }()
	if err := stranger.Get(t.Context(), "k").Err(); !redis.HasErrorPrefix(err, "NOAUTH") {
		t.Errorf("a stranger's command ends with %v, want NOAUTH", err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := stranger.Ping(t.Context()).Err(); err == nil || redis.HasErrorPrefix(err, "NOAUTH") {
		t.Errorf("the server still answers after Close: %v", err)
	}
}

func TestKeysOfEmbeddedServerExpireByThemselves(t *testing.T) {
	t.Parallel()
	ctx := soon(t)
	db := open(t, "embedded:", rdb.Options{})
	if err := db.Set(ctx, "k", "v", 30*time.Millisecond).Err(); err != nil {
		t.Fatal(err)
	}
	for {
		n, err := db.Exists(ctx, "k").Result()
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			return
		}
	}
}

func TestTwoEmbeddedServersShareNothing(t *testing.T) {
	t.Parallel()
	one, other := open(t, "embedded:", rdb.Options{}), open(t, "embedded:", rdb.Options{})
	if err := one.Set(t.Context(), "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if n := other.DBSize(t.Context()).Val(); n != 0 {
		t.Errorf("the other one holds %d keys", n)
	}
}

func TestTimeOfEmbeddedServerCanBeSet(t *testing.T) {
	t.Parallel()
	db := open(t, "embedded:", rdb.Options{})
	if err := db.Set(t.Context(), "k", "v", time.Hour).Err(); err != nil {
		t.Fatal(err)
	}
	later := time.Now().Add(2 * time.Hour).Truncate(time.Microsecond)
	if err := db.SetEmbeddedTime(later); err != nil {
		t.Fatal(err)
	}
	if now, err := db.Time(t.Context()).Result(); !now.Equal(later) || err != nil {
		t.Errorf("the server's time is %s (%v), want %s", now, err, later)
	}
	if n, err := db.Exists(t.Context(), "k").Result(); n != 0 || err != nil {
		t.Errorf("a key that had an hour is still there after two (%v)", err)
	}
	const script = `return redis.call('TIME')[1]`
	if seconds, err := db.Eval(t.Context(), script, nil).Int64(); seconds != later.Unix() || err != nil {
		t.Errorf("a script reads %d (%v), want %d", seconds, err, later.Unix())
	}
}

// Keys are searched for those that expire whenever the clock moves: that is seldom.
func TestClockOfEmbeddedServerStandsStillDuringAScript(t *testing.T) {
	t.Parallel()
	db := open(t, "embedded:", rdb.Options{})
	const script = `
		local first, n = redis.call('TIME'), 0
		repeat n = n + 1 until n == 2000 or redis.call('TIME')[2] ~= first[2]
		return {first[1] .. first[2], n}`
	last := ""
	for range 3 {
		reply, err := db.Eval(t.Context(), script, nil).Slice()
		if err != nil || reply[1] != int64(2000) || reply[0] == last {
			t.Fatalf("%v, %v: the clock has moved in a script, or not between two (%s)", reply, err, last)
		}
		last = reply[0].(string)
	}
	if err := db.Set(t.Context(), "k", "v", 2*time.Millisecond).Err(); err != nil {
		t.Fatal(err)
	}
	for db.Exists(t.Context(), "k").Val() > 0 { // it expires by itself
	}
}

func TestTimeOfOtherServersCanNotBeSet(t *testing.T) {
	t.Parallel()
	db := open(t, redistest.URL(t), rdb.Options{})
	if err := db.SetEmbeddedTime(time.Now()); err == nil {
		t.Error("no error")
	}
}

func TestTimeIsThatOfTheServerWithTheKey(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		for _, key := range []string{"{a}", "{b}", "{c}"} {
			if now, err := db.TimeOf(soon(t), key); err != nil || time.Since(now).Abs() > time.Minute {
				t.Errorf("%s: %s, %v", key, now, err)
			}
		}
	})
}

func TestProcessorTimeIsThatOfTheServerWithTheKey(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		used, err := db.ProcessorTime(soon(t), db.Prefix()+":{a}")
		if err != nil || (used > 0) == db.Embedded() || used > time.Hour {
			t.Errorf("%s, %v", used, err)
		}
	})
}
