package rdb

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// go-redis prints messages beside its errors to stderr, such as one for every connection
// that could not be made. Users get the errors, so the messages go to [slog.Default], at
// level Debug. A program that sets its own logger for go-redis replaces this one.
func init() { redis.SetLogger(clientLog{}) }

type clientLog struct{}

func (clientLog) Printf(ctx context.Context, format string, v ...any) {
	slog.DebugContext(ctx, fmt.Sprintf(format, v...))
}

// A dialHook is on clients that make connections. Without it a failed dial could be taken for something of a
// command that was never sent: a Sentinel that does not know the master answers nil, as for a key that does
// not exist, and a TLS handshake may end as a lost reply does.
type dialHook struct{}

func (dialHook) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := next(ctx, network, addr)
		if op, ok := err.(*net.OpError); err == nil || ctx.Err() != nil || ok && op.Op == "dial" {
			return conn, err
		}
		if errors.Is(err, redis.Nil) || connection(err) {
			err = &net.OpError{Op: "dial", Net: network, Err: errors.New(err.Error())}
		}
		return conn, err
	}
}

func (dialHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (dialHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// A stepHook is on the client of a Cluster. Before each command that client looks up the step
// between its keys, which it uses only to split a command by slots; it splits none that Skidway
// sends. It reads the steps by COMMAND, under a lock, and again for each command where an ACL
// hides COMMAND. The hook sets the step, so that the client does not look it up.
//
// The client's option DisableRoutingPolicies would prevent that too. But then commands without a
// key, such as PING, INFO and TIME, would go to any node, not only to masters.
type stepHook struct{ dialHook }

func (stepHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		cmd.SetStepCount(1)
		return next(ctx, cmd)
	}
}

// A nodeHook is on a node of a Cluster.
//
// The Cluster client repeats a command whose answer was lost, up to MaxRedirects times whatever
// MaxRetries is, and without redirects it would be of no use: the hook prevents that. It cannot
// for pipelines: only what may be repeated goes into one.
//
// The Cluster client asks who the masters are once a minute, and when a node answers that it is
// none. After a node did not answer, because a replica may have taken its place, the hooks make
// it ask, and compare each node before they use it again: a connection that was made to a
// replica may now be one to a master.
type nodeHook struct {
	dialHook
	*clusterHooks
	node *redis.Client

	compared atomic.Int64              // failures when the node was compared
	knownAt  atomic.Pointer[time.Time] // when it was a master then; nil: never
}

// compareInterval is the time between two comparisons of a master, at least: as long as another
// master is dead, each command to it fails.
const compareInterval = 100 * time.Millisecond

// clusterHooks is what the hooks of a Cluster share.
type clusterHooks struct {
	cluster  *redis.ClusterClient
	restarts *restarts
	failures atomic.Int64 // how often a node did not answer
}

func (h *nodeHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := h.check(ctx)
		if err == nil {
			err = next(ctx, cmd)
		} else {
			cmd.SetErr(err)
		}
		if !h.failed(ctx, err) || notRun(err) {
			return err
		}
		return &lostAnswer{err}
	}
}

func (h *nodeHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := h.check(ctx)
		if err == nil {
			err = next(ctx, cmds)
		} else {
			for _, cmd := range cmds {
				cmd.SetErr(err)
			}
		}
		h.failed(ctx, err)
		return err
	}
}

// check returns [ErrServerChanged] if ctx expects another number of restarts. Before that it reads
// the run id of the node if a node did not answer since it was read. Meanwhile other commands are
// not held back: those that open a connection are among them. A replica is compared again, until
// it is a master.
func (h *nodeHook) check(ctx context.Context) error {
	failures, compared := h.failures.Load(), h.compared.Load()
	known := h.knownAt.Load()
	due := compared != failures && (known == nil || time.Since(*known) >= compareInterval)
	if due && h.compared.CompareAndSwap(compared, failures) {
		if h.compare(ctx) {
			now := time.Now()
			h.knownAt.Store(&now)
		} else {
			h.compared.Store(compared)
		}
	}
	return h.restarts.check(ctx)
}

// compare reads the run id of the node, and reports whether it is a master. It uses a connection
// of its own: all others may be taken by commands that wait for this one.
func (h *nodeHook) compare(ctx context.Context) bool {
	options := *h.node.Options()
	options.PoolSize, options.PipelinePoolSize, options.MaxRetries, options.OnConnect = 1, -1, -1, nil
	probe := redis.NewClient(&options)
	defer func() { _ = probe.Close() }()
	known, _ := h.restarts.compare(ctx, probe) // if it can't be reached, the command says so
	return known
}

// failed reports whether err is one of the connection, after which it makes the client ask
// who the masters are.
func (h *nodeHook) failed(ctx context.Context, err error) bool {
	failed := err != nil && connection(err)
	if failed && ctx.Err() == nil {
		h.failures.Add(1)
		h.cluster.ReloadState(ctx) // in the background, one at a time
	}
	return failed
}

// lostAnswer has no Unwrap: the Cluster client must not see what it would try
// again.
type lostAnswer struct{ err error }

func (e *lostAnswer) Error() string { return e.err.Error() }
