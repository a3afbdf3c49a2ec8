package redistest_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

// proxied returns a proxy, a client through it and one that goes around it.
func proxied(t *testing.T) (p *redistest.Proxy, through, direct *rdb.DB) {
	t.Helper()
	url := redistest.URL(t)
	p = redistest.StartProxy(t, url)
	return p, redistest.Open(t, p.URL), redistest.Open(t, url)
}

func wantCount(t *testing.T, db *rdb.DB, want int) {
	t.Helper()
	if n, err := db.Get(t.Context(), "n").Int(); n != want || err != nil {
		t.Errorf("the count is %d (%v), want %d", n, err, want)
	}
}

func wantCommands(t *testing.T, p *redistest.Proxy, want int) {
	t.Helper()
	if n := p.Commands(); n != want {
		t.Errorf("%d commands were counted, want %d", n, want)
	}
}

// within waits for something that takes no time when all is well.
func within[T any](t *testing.T, c <-chan T) (value T) {
	t.Helper()
	select {
	case value = <-c:
	case <-time.After(20 * time.Second):
		t.Fatal("it did not happen within 20 s")
	}
	return value
}

func TestProxyCountsCommandsButNoSetUp(t *testing.T) {
	t.Parallel()
	p, db, direct := proxied(t)
	wantCommands(t, p, 0)
	db.Ping(t.Context())
	db.Incr(t.Context(), "n")
	wantCommands(t, p, 1)
	_, err := db.Pipelined(t.Context(), func(pipe redis.Pipeliner) error {
		pipe.Incr(t.Context(), "n")
		pipe.Incr(t.Context(), "n")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	wantCommands(t, p, 3)
	if _, err := db.TxPipelined(t.Context(), func(pipe redis.Pipeliner) error {
		return pipe.Incr(t.Context(), "n").Err()
	}); err != nil {
		t.Fatal(err)
	}
	wantCommands(t, p, 6) // with MULTI and EXEC
	wantCount(t, direct, 4)
}

func TestDroppedReplyIsOfACommandThatWasCarriedOut(t *testing.T) {
	t.Parallel()
	p, db, direct := proxied(t)
	lost := p.DropReply(2)
	if err := db.Incr(t.Context(), "n").Err(); err != nil {
		t.Fatal(err)
	}
	if err := db.Incr(t.Context(), "n").Err(); err == nil {
		t.Fatal("the second reply came")
	}
	wantCount(t, direct, 2)
	if start := within(t, lost); !strings.EqualFold(start, "incr n") {
		t.Errorf("the reply of %q was dropped", start)
	}
	if n, err := db.Incr(t.Context(), "n").Result(); n != 3 || err != nil {
		t.Errorf("the next one gets %d, %v", n, err)
	}
}

func TestDropReplyCanBeCalledOff(t *testing.T) {
	t.Parallel()
	p, db, _ := proxied(t)
	p.DropReply(1)
	p.DropReply(0)
	if err := db.Incr(t.Context(), "n").Err(); err != nil {
		t.Error(err)
	}
}

// The client forgets all results of a pipeline whose connection breaks, so
// this looks at the bytes.
func TestPipelineLosesTheRepliesFromTheNthOn(t *testing.T) {
	t.Parallel()
	const commands = 5
	for nth := 1; nth <= commands; nth++ {
		t.Run(fmt.Sprint("reply ", nth), func(t *testing.T) {
			t.Parallel()
			p, _, direct := proxied(t)
			lost := p.DropReply(nth)
			client := dial(t, p, strings.Repeat("INCR n\r\n", commands))
			var want strings.Builder
			want.WriteString("+OK\r\n")
			for i := 1; i < nth; i++ {
				fmt.Fprintf(&want, ":%d\r\n", i)
			}
			if got, err := io.ReadAll(client); string(got) != want.String() || err != nil {
				t.Errorf("got %q, %v, want %q", got, err, want.String())
			}
			_ = client.Close()
			within(t, lost)
			wantCount(t, direct, commands)
		})
	}
}

// dial connects to a proxy without a client library, selects the database and
// sends more requests.
func dial(t *testing.T, p *redistest.Proxy, requests string) net.Conn {
	t.Helper()
	path, number, _ := strings.Cut(strings.TrimPrefix(p.URL, "unix://"), "?db=")
	client, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	if _, err := fmt.Fprintf(client, "SELECT %s\r\n%s", number, requests); err != nil {
		t.Fatal(err)
	}
	return client
}

func TestTransactionWhoseExecReplyIsLostHappened(t *testing.T) {
	t.Parallel()
	p, db, direct := proxied(t)
	lost := p.DropReply(3)
	_, err := db.TxPipelined(t.Context(), func(pipe redis.Pipeliner) error {
		return pipe.Incr(t.Context(), "n").Err()
	})
	if err == nil {
		t.Error("the reply came")
	}
	if start := within(t, lost); !strings.EqualFold(start, "exec") {
		t.Errorf("the reply of %q was dropped", start)
	}
	wantCount(t, direct, 1)
}

func TestBlockedReadWakesThroughTheProxy(t *testing.T) {
	t.Parallel()
	_, db, direct := proxied(t)
	woken := make(chan error, 1)
	go func() {
		_, err := db.Wait(t.Context(), 20*time.Second, rdb.Mark{Key: "s", ID: "0"})
		woken <- err
	}()
	if err := direct.XAdd(t.Context(), &redis.XAddArgs{Stream: "s", Values: []string{"a", "b"}}).Err(); err != nil {
		t.Fatal(err)
	}
	if err := within(t, woken); err != nil {
		t.Error(err)
	}
}

func TestBlockedReadOfAClientThatLeftEndsInRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	p, direct := redistest.StartProxy(t, server.URL(0)), redistest.Open(t, server.URL(0))
	client := dial(t, p, "BLPOP l 0\r\n")
	blocked(t, direct, 1)
	_ = client.Close()
	blocked(t, direct, 0)
}

// blocked waits until so many clients are blocked in Redis, which Redis does not report.
func blocked(t *testing.T, db *rdb.DB, want int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for line := fmt.Sprintf("blocked_clients:%d\r\n", want); ; {
		info, err := db.Info(ctx, "clients").Result()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(info, line) {
			return
		}
	}
}

func TestProxyStandsBeforeATCPServerToo(t *testing.T) {
	t.Parallel()
	addr, _, _ := strings.Cut(strings.TrimPrefix(redistest.Cluster(t), "redis+cluster://"), ",")
	p := redistest.StartProxy(t, "redis://"+addr)
	db := redistest.Open(t, p.URL)
	if err := db.ClusterInfo(t.Context()).Err(); err != nil {
		t.Error(err)
	}
	wantCommands(t, p, 1)
}

func TestMessagesOfAChannelPassUncounted(t *testing.T) {
	t.Parallel()
	p, db, direct := proxied(t)
	p.DropReply(1)
	sub := db.Subscribe(t.Context(), "one", "two")
	defer func() { _ = sub.Close() }()
	for range 2 {
		if _, err := sub.Receive(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := direct.Publish(t.Context(), "two", "hello").Err(); err != nil {
		t.Fatal(err)
	}
	if m, err := sub.ReceiveMessage(t.Context()); err != nil || m.Payload != "hello" {
		t.Errorf("got %v, %v", m, err)
	}
	wantCommands(t, p, 0)
}

func TestBigValuesPassUntouched(t *testing.T) {
	t.Parallel()
	_, db, _ := proxied(t)
	value := strings.Repeat("\r\n$1\r\n*2\r\n", 400<<10)
	if err := db.Set(t.Context(), "big", value, 0).Err(); err != nil {
		t.Fatal(err)
	}
	if got, err := db.Get(t.Context(), "big").Result(); got != value || err != nil {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
}
