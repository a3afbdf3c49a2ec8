package request_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"skidway/queue"
	"skidway/workers"
	"skidway/workers/kinds/request"
	"skidway/workers/workerstest"
)

func TestOnlyAddressesOfThePublicInternetAreAllowed(t *testing.T) {
	t.Parallel()
	for _, private := range []string{
		"127.0.0.1", "127.255.255.254", "0.0.0.0", "0.1.2.3", "10.0.0.1", "172.16.0.1", "172.31.255.255",
		"192.168.1.1", "100.64.0.1", "100.127.255.255", "169.254.169.254", "192.0.0.192", "192.0.2.1",
		"198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "192.88.99.1", "224.0.0.1",
		"239.255.255.250", "240.0.0.1", "255.255.255.255", "168.63.129.16", "100.100.100.200",
		"::", "::1", "::7f00:1", "fe80::1", "fe80::1%eth0", "fec0::1", "fc00::1", "fd00:ec2::254", "ff02::1",
		"::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254",
		"64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2002:7f00:1::", "2002:a00:1::1", "2002:c0a8:101::",
		"2001::1", "2001:db8::1", "3fff::1", "100::1", "5f00::1", "4000::1",
	} {
		if request.UseOf(netip.MustParseAddr(private)) == "" {
			t.Errorf("%s is taken for public", private)
		}
	}
	for _, public := range []string{
		"1.1.1.1", "8.8.8.8", "11.0.0.1", "100.63.255.255", "100.128.0.1", "172.15.0.1", "172.32.0.1",
		"192.167.1.1", "223.255.255.255", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1",
		"2606:4700:4700::1111", "2a00:1450::1", "2620:fe::fe",
	} {
		if use := request.UseOf(netip.MustParseAddr(public)); use != "" {
			t.Errorf("%s is taken for %s", public, use)
		}
	}
}

func TestPrivateAddressesAreNotReachedHoweverTheyAreWritten(t *testing.T) {
	t.Parallel()
	var reached atomic.Int32
	server := serve(t, "127.0.0.1", func(http.ResponseWriter, *http.Request) { reached.Add(1) })
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(server, "http://"))
	h := request.New(request.Config{})
	defer h.Close()
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0", "127.1"} {
		outcome := do(t, h, request.Args{URL: "http://" + host + ":" + port})
		if host == "127.1" && outcome.Disposition == queue.AttemptRetry {
			continue // no number for this resolver, and so a name that is not there
		}
		if outcome.Disposition != queue.AttemptDead || !errors.Is(outcome.Err, request.ErrPrivateAddress) || !strings.Contains(outcome.Reason, "AllowPrivate") {
			t.Errorf("%s: %s", host, outcome)
		}
	}
	if n := reached.Load(); n > 0 {
		t.Errorf("the server had %d requests", n)
	}
}

func TestNameThatTurnsPrivateIsRefusedWhenDialled(t *testing.T) {
	t.Parallel()
	var inside atomic.Int32
	outer := serve(t, "127.0.0.1", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Connection", "close") })
	port := outer[strings.LastIndex(outer, ":")+1:]
	serveAt(t, "127.0.0.2:"+port, func(http.ResponseWriter, *http.Request) { inside.Add(1) })

	names := &nameServer{}
	h := request.New(request.Config{})
	defer h.Close()
	h.UseResolver(names.resolver())
	h.TakeForPublic(netip.MustParseAddr("127.0.0.1"))

	names.answer("127.0.0.1")
	if outcome := do(t, h, request.Args{URL: "http://rebind.test:" + port}); outcome.Disposition != queue.AttemptSucceeded {
		t.Fatal(outcome)
	}
	names.answer("127.0.0.2")
	outcome := do(t, h, request.Args{URL: "http://rebind.test:" + port})
	if outcome.Disposition != queue.AttemptDead || !errors.Is(outcome.Err, request.ErrPrivateAddress) {
		t.Error(outcome)
	}
	if inside.Load() > 0 {
		t.Error("the private address was reached")
	}
}

func TestRedirectToPrivateAddressIsRefused(t *testing.T) {
	t.Parallel()
	var inside atomic.Int32
	hidden := serve(t, "127.0.0.2", func(http.ResponseWriter, *http.Request) { inside.Add(1) })
	server := serve(t, "127.0.0.1", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, hidden, http.StatusTemporaryRedirect)
	})
	h := request.New(request.Config{AllowRedirects: true})
	defer h.Close()
	h.TakeForPublic(netip.MustParseAddr("127.0.0.1"))
	outcome := do(t, h, request.Args{URL: server})
	if outcome.Disposition != queue.AttemptDead || !errors.Is(outcome.Err, request.ErrPrivateAddress) || inside.Load() > 0 {
		t.Error(outcome)
	}
	if _, _, err := h.Fetch(context.Background(), server, 100); !errors.Is(err, request.ErrPrivateAddress) || inside.Load() > 0 {
		t.Error("fetched:", err)
	}
}

func TestProxyOfTheEnvironmentIsNotUsed(t *testing.T) {
	t.Setenv("HTTP_PROXY", serve(t, "127.0.0.1", func(http.ResponseWriter, *http.Request) { t.Error("the proxy was used") }))
	h := request.New(request.Config{})
	defer h.Close()
	h.UseResolver((&nameServer{}).resolver())
	if outcome := do(t, h, request.Args{URL: "http://nowhere.test/"}); outcome.Disposition != queue.AttemptRetry {
		t.Error(outcome)
	}
}

// do runs one attempt at a request.
func do(t *testing.T, h *request.Client, args request.Args) workerstest.Outcome {
	t.Helper()
	return workerstest.Run(t, workers.Typed(h.Do), workerstest.Job{Args: args})
}

// nameServer answers all questions for IPv4 addresses with one, and knows of no
// others.
type nameServer struct{ address atomic.Value }

func (s *nameServer) answer(address string) { s.address.Store(netip.MustParseAddr(address).As4()) }

func (s *nameServer) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go s.serve(server)
		return client, nil
	}}
}

// serve speaks DNS over a stream (RFC 1035, section 4).
func (s *nameServer) serve(conn net.Conn) {
	defer conn.Close()
	for {
		var size [2]byte
		if _, err := io.ReadFull(conn, size[:]); err != nil {
			return
		}
		query := make([]byte, binary.BigEndian.Uint16(size[:]))
		if _, err := io.ReadFull(conn, query); err != nil {
			return
		}
		end := 12 + bytes.IndexByte(query[12:], 0) + 5 // name, type, class
		answer := append([]byte{}, query[:end]...)
		copy(answer[2:12], []byte{0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0})
		address, known := s.address.Load().([4]byte)
		if known && query[end-3] == 1 { // type A
			answer[7] = 1
			answer = append(answer, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
			answer = append(answer, address[:]...)
		}
		if _, err := conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...)); err != nil {
			return
		}
	}
}
