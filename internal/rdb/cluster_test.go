package rdb_test

import (
	"errors"
	"net"
	"strconv"
	"testing"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

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
}
