package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"skidway"
	"skidway/cmd/skidway/internal/telemetry"
	"skidway/ops"
	"skidway/ops/access"
	"skidway/ops/api"
	"skidway/ops/dash"
	"skidway/queue"
)

// Config configures the servers of a process.
type Config struct {
	DB           *skidway.DB
	Queue        queue.Config // of jobs that are added
	Telemetry    *telemetry.Telemetry
	QueueMetrics bool         // whether the API has the metrics of all queues
	Ready        http.Handler // answers for /readyz; nil: it is ready while Redis answers
	Logger       *slog.Logger
}

// Servers are the servers of a process. They listen, and [Servers.Serve] answers.
type Servers struct {
	API, Dash string // URLs; that of the dashboard may log in, once. Empty: there is no such server

	flags  *Flags
	config Config
	ops    *ops.Client // one for all, because searches share a budget
	list   []*server
}

// A server is an open one.
type server struct {
	net.Listener
	handler    http.Handler
	tls        *tls.Config // nil: plain HTTP
	endStreams func()      // that would go on
	close      func() error
}

// Listen opens the servers that the flags want, after [Flags.Complete].
func (f *Flags) Listen(c Config) (*Servers, error) {
	queues, err := queue.NewClient(c.DB, nil)
	if err != nil {
		return nil, err
	}
	s := &Servers{flags: f, config: c}
	if s.ops, err = ops.NewClient(queues, &f.ops); err != nil {
		return nil, err
	}
	if f.API != "" {
		err = s.openAPI()
	}
	if err == nil && f.Dash != "" {
		err = s.openDash()
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// openAPI opens the server of the API.
func (s *Servers) openAPI() error {
	config := s.flags.gate
	config.Hooks = s.flags.hooks != nil
	gate, err := access.NewGate(s.config.DB, config)
	if err != nil {
		return err
	}
	requests, err := s.newAPI(s.flags.hooks, gate.Authorize)
	if err != nil {
		return err
	}
	one := &server{endStreams: requests.Close, close: func() error { requests.Close(); return nil }}
	if s.API, err = s.open(one, s.flags.API, gate, s.config.QueueMetrics, s.config.Telemetry.Handler(requests)); err == nil {
		s.API += s.flags.gate.BasePath + "/api/v1"
	}
	return err
}

// newAPI returns the handler of the API.
func (s *Servers) newAPI(hooks *access.Hooks, authorize func(*http.Request) (*access.Principal, error)) (*api.Handler, error) {
	client := s.config.Telemetry.Client(s.config.Queue)
	return api.New(s.config.DB, api.Config{
		Authorize: authorize, BasePath: s.flags.gate.BasePath, Ops: s.ops, Logger: s.config.Logger,
		Middleware: client.Middleware, MaxPayload: client.MaxPayload, Hooks: hooks,
	})
}

// openDash opens the server of the dashboard, which has the API too.
func (s *Servers) openDash() error {
	var gate *access.Gate
	pages, err := dash.New(s.config.DB, dash.Config{Ops: s.ops, Logger: s.config.Logger, Authorize: func(r *http.Request) (*access.Principal, error) {
		p, err := gate.AuthorizeOpenPage(r)
		if access.Refused(err) {
			err = nil // a request without a principal is refused
		}
		return p, err
	}})
	if err != nil {
		return err
	}
	requests, err := s.newAPI(nil, func(r *http.Request) (*access.Principal, error) { return gate.Authorize(r) })
	if err != nil {
		return errors.Join(err, pages.Close())
	}
	one := &server{
		endStreams: func() { pages.EndStreams(); requests.Close() },
		close:      func() error { requests.Close(); return pages.Close() },
	}
	config := s.flags.gate
	config.LoginPage = pages.LoginPage
	if gate, err = access.NewGate(s.config.DB, config); err != nil {
		return errors.Join(err, one.close())
	}
	traced := s.config.Telemetry.Handler(requests)
	s.Dash, err = s.open(one, s.flags.Dash, gate, false, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/api/") {
			traced.ServeHTTP(w, r)
			return
		}
		pages.ServeHTTP(w, r)
	}))
	if err != nil {
		return err
	}
	if s.flags.listener.UsersFile == "" && !config.NoLogin {
		s.Dash += gate.NewCode()
	} else {
		s.Dash += config.BasePath + "/"
	}
	return nil
}

// open makes a server listen, whose handler is next behind a gate, and returns its URL without a path.
func (s *Servers) open(one *server, address string, gate *access.Gate, withMetrics bool, next http.Handler) (url string, err error) {
	routes, err := withHealth(s.config, s.flags, withMetrics, next)
	files := s.flags.listener
	if err == nil && files.TLSCert != "" {
		one.tls, err = tlsConfig(files.TLSCert, files.TLSKey, s.config.Logger)
	}
	if err == nil {
		one.Listener, err = net.Listen("tcp", address)
	}
	if err != nil {
		return "", errors.Join(fmt.Errorf("listen: %w", err), one.close())
	}
	one.handler = limitTimes(gate.Handler(routes), bodyTime, answerTime)
	s.list = append(s.list, one)
	if one.tls != nil {
		return "https://" + one.Addr().String(), nil
	}
	return "http://" + one.Addr().String(), nil
}

// tlsConfig returns the configuration of a server with a certificate, which is read again when it is renewed.
func tlsConfig(certPath, keyPath string, logger *slog.Logger) (*tls.Config, error) {
	pair, err := access.OpenKeyPair(certPath, keyPath, logger)
	if err != nil {
		return nil, err
	}
	return &tls.Config{GetCertificate: pair.Certificate, MinVersion: tls.VersionTLS12}, nil
}

// limitTimes bounds the time in which a body is read, also that of a request which is refused, as the server
// reads the rest of it, and the time in which an answer is written. Handlers that take long set their own.
func limitTimes(next http.Handler, body, answer time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		limit, now := http.NewResponseController(w), time.Now()
		_ = limit.SetWriteDeadline(now.Add(answer)) // a recorder of a test has no connection
		if r.ContentLength != 0 {
			_ = limit.SetReadDeadline(now.Add(body))
		}
		next.ServeHTTP(w, r)
	})
}

// Close closes servers that do not serve.
func (s *Servers) Close() error {
	var failed []error
	for _, one := range s.list {
		failed = append(failed, one.Listener.Close(), one.close())
	}
	return errors.Join(failed...)
}

// Bounds of connections. Those of single requests are set by their handlers.
const (
	headerTime   = 5 * time.Second
	bodyTime     = time.Minute
	answerTime   = 2 * time.Minute
	idleTime     = 2 * time.Minute
	shutdownTime = 5 * time.Second // for open requests at the end
	maxHeader    = 64 << 10
)

// Serve answers requests until stopping ends or a server fails, answers open ones, and closes all.
func (s *Servers) Serve(work, stopping context.Context) error {
	stopping, stop := context.WithCancel(stopping)
	defer stop()
	failed := make([]error, len(s.list))
	var serving sync.WaitGroup
	for i, one := range s.list {
		serving.Go(func() {
			defer stop()
			failed[i] = errors.Join(s.serve(work, stopping, one), one.close())
		})
	}
	serving.Wait()
	return errors.Join(failed...)
}

func (s *Servers) serve(work, stopping context.Context, one *server) error {
	answering := &http.Server{
		Handler: one.handler, TLSConfig: one.tls, ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		BaseContext: func(net.Listener) context.Context { return work },
	}
	answering.RegisterOnShutdown(one.endStreams)
	failed := make(chan error, 1)
	go func() {
		if one.tls != nil {
			failed <- answering.ServeTLS(one.Listener, "", "")
		} else {
			failed <- answering.Serve(one.Listener)
		}
	}()
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-stopping.Done():
	}
	ctx, cancel := context.WithTimeout(work, shutdownTime)
	defer cancel()
	if err := answering.Shutdown(ctx); err != nil {
		s.config.Logger.Warn("requests that were still open were cut off", "waited", shutdownTime)
		return answering.Close()
	}
	<-failed
	return nil
}
