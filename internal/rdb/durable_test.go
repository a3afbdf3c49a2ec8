package rdb_test

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

var durableIncrement = rdb.NewScript("count", increment)

// wantUnfit fails the test unless a durable change was refused, with a word in the
// reason, and nothing was changed.
func wantUnfit(t *testing.T, db *rdb.DB, word string) {
	t.Helper()
	_, err := durableIncrement.RunDurable(soon(t), db, time.Second, []string{"k"})
	var unfit *rdb.UnfitServerError
	if !errors.As(err, &unfit) || !strings.Contains(unfit.Reason, word) {
		t.Errorf("%v, want an UnfitServerError with %q", err, word)
	}
	if n := db.Exists(t.Context(), "k").Val(); n != 0 {
		t.Error("the change was made though it can't be confirmed")
	}
}

func TestServerThatCanConfirmNothingRefusesDurableChanges(t *testing.T) {
	t.Parallel()
	wantUnfit(t, redistest.DB(t), "appendonly no and no replica")
	wantUnfit(t, redistest.Open(t, "embedded:"), "embedded")
}

// The server decides what is expected: WAITAOF came with Redis 7.2.
func TestAppendOnlyFileConfirmsDurableChangesFromRedis7_2On(t *testing.T) {
	t.Parallel()
	db := redistest.Open(t, redistest.Start(t, "--appendonly", "yes").URL(0))
	if refusedBeforeRedis7_2(t, db) {
		return
	}
	reply, err := durableIncrement.RunDurable(soon(t), db, 10*time.Second, []string{"k"})
	if err != nil || reply.Int(0) != 1 {
		t.Errorf("%v %v", reply, err)
	}
}

func TestAppendOnlyFileThatIsNotSyncedConfirmsNothing(t *testing.T) {
	t.Parallel()
	db := redistest.Open(t, redistest.Start(t, redistest.Survives...).URL(0))
	if refusedBeforeRedis7_2(t, db) {
		return
	}
	reply, err := durableIncrement.RunDurable(soon(t), db, 50*time.Millisecond, []string{"k"})
	var unconfirmed *rdb.UnconfirmedError
	if !errors.As(err, &unconfirmed) || !strings.Contains(err.Error(), "not on disk within 50ms (with appendfsync no,") || reply.Int(0) != 1 {
		t.Errorf("%v %v, want an UnconfirmedError that names the setting", reply, err)
	}
}

// refusedBeforeRedis7_2 reports whether a server with appendonly yes is too old to confirm
// anything; then the test fails unless it refuses durable changes.
func refusedBeforeRedis7_2(t *testing.T, db *rdb.DB) bool {
	t.Helper()
	text, err := db.Info(t.Context(), "server").Result()
	if err != nil {
		t.Fatal(err)
	}
	version := rdb.ParseInfo(text)["redis_version"]
	old := strings.HasPrefix(version, "7.0.")
	if old {
		wantUnfit(t, db, version+" with appendonly yes, which it can confirm from version 7.2 on only, and no replica")
	}
	return old
}

func TestReplicaConfirmsDurableChanges(t *testing.T) {
	t.Parallel()
	db := redistest.Open(t, redistest.Start(t).URL(0))
	copied := redistest.Open(t, redistest.StartReplicas(t, db)[0].URL(0))
	for want := range int64(3) {
		if want == 2 {
			db.ScriptFlush(t.Context()) // then the script's text is sent
		}
		reply, err := durableIncrement.RunDurable(soon(t), db, 10*time.Second, []string{"k"})
		if err != nil || reply.Int(0) != want+1 {
			t.Fatalf("%v %v", reply, err)
		}
		if n, err := copied.Get(t.Context(), "k").Int64(); err != nil || n != want+1 {
			t.Errorf("confirmed, and the replica has %d, %v", n, err)
		}
	}
}

func TestChangeThatNoReplicaHasIsNotConfirmed(t *testing.T) {
	t.Parallel()
	db := redistest.Open(t, redistest.Start(t).URL(0))
	signal(t, redistest.StartReplicas(t, db)[0], syscall.SIGSTOP)
	reply, err := durableIncrement.RunDurable(soon(t), db, 50*time.Millisecond, []string{"k"})
	var unconfirmed *rdb.UnconfirmedError
	if !errors.As(err, &unconfirmed) || !strings.Contains(err.Error(), "no replica had it within 50ms") {
		t.Errorf("%v, want an UnconfirmedError", err)
	}
	if reply.Int(0) != 1 || db.Get(t.Context(), "k").Val() != "1" {
		t.Errorf("the change that was made returned %v", reply)
	}
}

func TestDurableChangeDoesNotHoldUpOtherCalls(t *testing.T) {
	t.Parallel()
	db := open(t, redistest.Start(t).URL(0), rdb.Options{PoolSize: 1})
	replica := redistest.StartReplicas(t, db)[0]
	signal(t, replica, syscall.SIGSTOP)
	ended := make(chan error, 1)
	go func() {
		_, err := durableIncrement.RunDurable(soon(t), db, 15*time.Second, []string{"k"})
		ended <- err
	}()
	for db.Get(soon(t), "k").Val() != "1" {
		// The script has not run yet; the change must be seen while its call waits.
	}
	select {
	case err := <-ended:
		t.Errorf("the call ended before a replica could confirm: %v", err)
	default:
	}
	signal(t, replica, syscall.SIGCONT)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestLostConnectionBeforeTheConfirmationLeavesTheReply(t *testing.T) {
	t.Parallel()
	url := fake(t, confirming("redis_version:7.2.0\r\naof_enabled:1\r\nconnected_slaves:0", "WAITAOF", hangUp))
	db := open(t, url, rdb.Options{})
	reply, err := durableIncrement.RunDurable(soon(t), db, time.Second, []string{"k"})
	var unconfirmed *rdb.UnconfirmedError
	if !errors.As(err, &unconfirmed) || reply.Int(0) != 1 {
		t.Errorf("%v %v, want the reply and an UnconfirmedError", reply, err)
	}
}

func TestLostReplyOfADurableChangeIsAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	url := fake(t, confirming("redis_version:7.2.0\r\naof_enabled:1\r\nconnected_slaves:0", "EVALSHA", hangUp))
	_, err := durableIncrement.RunDurable(soon(t), open(t, url, rdb.Options{}), time.Second, []string{"k"})
	var unknown *rdb.OutcomeUnknownError
	if !errors.As(err, &unknown) {
		t.Errorf("%v, want an OutcomeUnknownError", err)
	}
}

// Servers that this machine does not have.
func TestRepliesOfTheServerDecideWhatConfirmsAChange(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		info   string
		expect string // commands after the script
		fails  string // the command that confirms nothing
	}{
		"append-only file":             {"redis_version:8.0.1\r\naof_enabled:1\r\nconnected_slaves:0", "WAITAOF", ""},
		"valkey with one":              {"redis_version:7.2.4\r\nvalkey_version:8.1.0\r\naof_enabled:1\r\nconnected_slaves:0", "WAITAOF", ""},
		"replica":                      {"redis_version:7.0.15\r\naof_enabled:1\r\nconnected_slaves:1", "WAIT", ""},
		"append-only file and replica": {"redis_version:7.4.0\r\naof_enabled:1\r\nconnected_slaves:2", "WAITAOF WAIT", ""},
		"slow disk":                    {"redis_version:7.4.0\r\naof_enabled:1\r\nconnected_slaves:0", "WAITAOF", "WAITAOF"},
		"replica away, disk fine":      {"redis_version:7.4.0\r\naof_enabled:1\r\nconnected_slaves:2", "WAITAOF WAIT", "WAIT"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			commands := make(chan string, 10)
			answer := confirming(c.info, c.fails, map[string]string{"WAITAOF": "*2\r\n:0\r\n:0\r\n", "WAIT": ":0\r\n"}[c.fails])
			db := open(t, fake(t, func(command string) string {
				if strings.HasPrefix(command, "WAIT") {
					commands <- command
				}
				return answer(command)
			}), rdb.Options{})
			_, err := durableIncrement.RunDurable(soon(t), db, time.Second, []string{"k"})
			close(commands)
			var sent []string
			for command := range commands {
				sent = append(sent, command)
			}
			if got := strings.Join(sent, " "); got != c.expect {
				t.Errorf("sent %q, want %q", got, c.expect)
			}
			var unconfirmed *rdb.UnconfirmedError
			if c.fails == "" && err != nil || c.fails != "" && !errors.As(err, &unconfirmed) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestDurableChangesRunOnTheClusterNodeOfTheirKey(t *testing.T) {
	t.Parallel()
	db := redistest.ClusterDB(t)
	redistest.StartReplicas(t, db)
	for _, tag := range []string{"a", "b", "c", "d"} {
		reply, err := durableIncrement.RunDurable(soon(t), db, 10*time.Second, []string{db.Prefix() + ":{" + tag + "}"})
		if err != nil || reply.Int(0) != 1 {
			t.Errorf("%s: %v, %v", tag, reply, err)
		}
	}
}

func TestDurableChangeEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	cancel(enough)
	if _, err := durableIncrement.RunDurable(ctx, redistest.DB(t), time.Second, []string{"k"}); !errors.Is(err, enough) {
		t.Errorf("%v, want the cause of the context", err)
	}
}

func signal(t *testing.T, server *redistest.Server, number syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(server.PID(), number); err != nil {
		t.Fatal(err)
	}
}

// confirming returns the answers of a server with the given INFO, which confirms
// everything but replies to one command with something else.
func confirming(info, other, reply string) func(command string) string {
	return func(command string) string {
		switch command {
		case other:
			return reply
		case "INFO":
			return bulk(info)
		case "EVALSHA":
			return ":1\r\n"
		case "WAITAOF":
			return "*2\r\n:1\r\n:0\r\n"
		case "WAIT":
			return ":1\r\n"
		}
		return ""
	}
}
