package redistest

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/internal/rdb"
)

// A Server is one redis-server process.
type Server struct {
	folder string
	args   []string
	cmd    *exec.Cmd
	ended  chan struct{} // closed when the process has ended
	log    bytes.Buffer  // not to be read before
}

// errEnded is the error for a server that ended, unlike one that is slow.
var errEnded = errors.New("redis-server ended instead of starting")

// Survives are the settings of a server that loses nothing when it is killed: it writes each command
// to its file before it replies. It does not wait for the disk, which only a crash of the machine
// needs and other tests keep busy.
var Survives = []string{"--appendonly", "yes", "--appendfsync", "no"}

// Start starts a server of the test's own, which ends with the test. args are
// settings as on redis-server's command line.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	server, err := start(args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.remove)
	return server
}

func start(args ...string) (*Server, error) {
	folder, err := os.MkdirTemp("", "skidway-redis-")
	if err != nil {
		return nil, err
	}
	server := &Server{folder: folder, args: args}
	if err := server.Restart(); err != nil {
		server.remove()
		return nil, err
	}
	return server, nil
}

// Restart starts the process again after Kill or Stop, on the same socket and
// with the files that the earlier one left.
func (s *Server) Restart() error {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return fmt.Errorf("these tests need redis-server: run `make test`, which installs it, or install the package redis-server: %w", err)
	}
	settings := []string{
		"--port", "0", "--unixsocket", s.socket(), "--dir", s.folder,
		"--save", "", "--appendonly", "no", "--databases", strconv.Itoa(databases),
		"--loglevel", "warning", "--enable-debug-command", "local",
	}
	s.cmd = exec.Command(path, append(settings, s.args...)...)
	s.cmd.Stdout, s.cmd.Stderr = &s.log, &s.log
	EndWithParent(s.cmd)
	if err := s.cmd.Start(); err != nil {
		return fmt.Errorf("start redis-server: %w", err)
	}
	cmd, ended := s.cmd, make(chan struct{})
	s.ended = ended
	go func() { defer close(ended); _ = cmd.Wait() }()
	return s.ready()
}

// pollPause is the time between two looks at a server that starts.
const pollPause = 5 * time.Millisecond

// ready waits until the server answers. Redis does not report when it is ready,
// so this is the one place that asks again and again.
func (s *Server) ready() error {
	client := s.client()
	defer func() { _ = client.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for client.Ping(ctx).Err() != nil {
		select {
		case <-s.ended:
			return fmt.Errorf("%w: %s", errEnded, s.log.String())
		case <-ctx.Done():
			s.Kill() // it writes to the log until then
			return fmt.Errorf("redis-server did not answer within 20 s: %s", s.log.String())
		case <-time.After(pollPause):
		}
	}
	return nil
}

// client connects to the server itself, past all rules of [rdb].
func (s *Server) client() *redis.Client {
	return redis.NewClient(&redis.Options{Network: "unix", Addr: s.socket(), DisableIdentity: true})
}

func (s *Server) socket() string { return filepath.Join(s.folder, "redis.sock") }

// URL opens logical database db of the server.
func (s *Server) URL(db int) string { return "unix://" + s.socket() + "?db=" + strconv.Itoa(db) }

// PID is the process id, for tests that send it signals.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Kill ends the process at once, as kill -9 does. What it held in memory only
// is gone.
func (s *Server) Kill() {
	_ = s.cmd.Process.Signal(syscall.SIGKILL)
	<-s.ended
}

// remove kills the process and deletes its folder.
func (s *Server) remove() {
	if s.ended != nil {
		s.Kill()
	}
	_ = os.RemoveAll(s.folder)
}

// databases is how many tests of one binary can have a database of their own.
const databases = 4096

var shared = struct {
	once   sync.Once
	server *Server
	err    error
	next   atomic.Int64
}{}

// rapidChecks is how many cases package rapid draws for a property in the packages whose tests use
// Redis: each case takes many commands. The long form of the tests (`make chaos`) draws the usual 100.
const rapidChecks = "35"

// Main runs a package's tests, without a Redis that the environment names, and then ends the shared
// servers.
func Main(m *testing.M) {
	for _, name := range []string{"SKIDWAY_REDIS", "REDIS_URL"} {
		_ = os.Unsetenv(name)
	}
	flag.Parse()
	given := flag.Lookup("rapid.checks") == nil || LongForm > 0
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if !given {
		_ = flag.Set("rapid.checks", rapidChecks) // it is a number
	}
	code := m.Run()
	if shared.server != nil {
		shared.server.remove()
	}
	sharedCluster.nodes.remove()
	os.Exit(code)
}

// URL returns the URL of an empty database on the shared server that no other
// test uses.
func URL(t testing.TB) string {
	t.Helper()
	shared.once.Do(func() { shared.server, shared.err = start() })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	// Benchmarks and -count run a test many times: start over when all
	// databases were used, and empty the one that is taken.
	number := int(shared.next.Add(1)) % databases
	url := shared.server.URL(number)
	db, err := rdb.Open(context.Background(), url, rdb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if err := db.FlushDB(context.Background()).Err(); err != nil {
		t.Fatal(err)
	}
	return url
}
