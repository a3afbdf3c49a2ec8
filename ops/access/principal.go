package access

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"

	"skidway/queue"
)

// A Principal is a user or a program that asks. A nil one may do nothing. It must not be changed
// while it is in use.
type Principal struct {
	Name   string // of the user or the token; [LocalName] for the local one
	ID     string // of the token; empty for users
	Token  bool   // whether it is a program with a token, not a user
	Proven bool   // whether it has shown a password, a token or a one-time code, or a proxy vouches for it
	Scopes []Scope

	ReadOnly bool // whether the rights to more than looking were taken from it, see [GateConfig.ReadOnly]

	Session string // a digest of the id of the session that authenticated it; empty: there is none
}

// LocalName is the name of the principal of requests from this machine that need no user: those
// of the one-time code, and of --no-login.
const LocalName = "local"

// The roles of users.
const (
	ViewRole    = "view"
	OperateRole = "operate"
	AdminRole   = "admin"
)

// roles has the actions of each role.
var roles = map[string][]Action{
	ViewRole:    {View},
	OperateRole: {View, Operate, Enqueue},
	AdminRole:   {View, Operate, Enqueue, Admin},
}

// scopesOf returns the scopes of actions, on queues and kinds that match patterns.
func scopesOf(actions []Action, queues, kinds []string) (scopes []Scope) {
	for _, action := range actions {
		for _, q := range queues {
			if action != Enqueue {
				scopes = append(scopes, Scope{Action: action, Queue: q})
				continue
			}
			for _, kind := range kinds {
				scopes = append(scopes, Scope{action, q, kind})
			}
		}
	}
	return scopes
}

// May reports whether p may do something with a queue; with [All], whether it may do it with
// every queue, which Redis, channels, chats and the audit need.
func (p *Principal) May(action Action, queue string) bool {
	return p != nil && slices.ContainsFunc(p.Scopes, func(s Scope) bool { return s.covers(action, queue) })
}

// MayAdd reports whether p may add jobs of a kind to a queue.
func (p *Principal) MayAdd(queue, kind string) bool {
	return p != nil && slices.ContainsFunc(p.Scopes, func(s Scope) bool { return s.covers(Enqueue, queue) && s.coversKind(kind) })
}

// MaySignal reports whether p may make a worker quiet or stop it: it must operate all queues and patterns
// that the worker serves, or every queue if they are not known.
func (p *Principal) MaySignal(served []string) bool {
	return p.May(Operate, All) || len(served) > 0 &&
		!slices.ContainsFunc(served, func(name string) bool { return !p.May(Operate, name) })
}

// SeesWorker reports whether p sees the name and the host of a worker that serves queues and patterns:
// it may view every queue, or send the worker signals, for which the name is needed.
func (p *Principal) SeesWorker(served []string) bool { return p.May(View, All) || p.MaySignal(served) }

// CheckJob returns a [ForbiddenError] if p may not add a job, or one of those that follow it, at any
// depth. A job without a queue goes to [queue.DefaultQueue], also one that a [queue.Forward] adds; one
// that follows goes to the queue of the job before it.
func (p *Principal) CheckJob(job queue.NewJob) error { return p.checkJob(queue.DefaultQueue, job, 0) }

// maxDepth bounds the jobs that follow or forward each other in a row.
const maxDepth = 32

func (p *Principal) checkJob(name string, job queue.NewJob, depth int) error {
	if job.Args == nil {
		return fmt.Errorf("%w: args are nil", queue.ErrInvalid)
	}
	if depth > maxDepth {
		return fmt.Errorf("%w: more than %d jobs follow each other", queue.ErrInvalid, maxDepth)
	}
	options := job.Options
	if args, ok := job.Args.(interface{ Options() *queue.Options }); ok && args.Options() != nil {
		defaults := args.Options()
		options.Queue = cmp.Or(options.Queue, defaults.Queue)
		if options.Then == nil {
			options.Then = defaults.Then
		}
	}
	name = cmp.Or(options.Queue, name)
	kind := job.Args.Kind()
	if !p.MayAdd(name, kind) {
		return &ForbiddenError{Scope{Enqueue, name, kind}}
	}
	if kind == queue.Forward {
		forwarded, err := forwardedBy(job.Args)
		if err == nil && forwarded.Args != nil {
			err = p.checkJob(queue.DefaultQueue, forwarded, depth+1)
		}
		if err != nil {
			return err
		}
	}
	for _, next := range options.Then {
		if err := p.checkJob(name, next, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// forwardedBy returns the job that a job of kind [queue.Forward] adds, without args if there is none.
func forwardedBy(args queue.Args) (queue.NewJob, error) {
	var forwarding queue.Forwarding
	text, err := queue.MarshalArgs(args)
	if err == nil {
		err = json.Unmarshal(text, &forwarding)
	}
	if err != nil {
		return queue.NewJob{}, fmt.Errorf("%w: args of %s: %w", queue.ErrInvalid, args.Kind(), err)
	}
	return forwarding.Job, nil
}

// A ForbiddenError is the error for what a principal may not do.
type ForbiddenError struct{ Needs Scope }

func (e *ForbiddenError) Error() string { return "not allowed: it needs the scope " + e.Needs.String() }

type principalKey struct{}
type addressKey struct{}

// NewContext returns a context with a principal.
func NewContext(ctx context.Context, p *Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// FromContext returns the principal of a context, nil if there is none.
func FromContext(ctx context.Context) *Principal {
	p, _ := ctx.Value(principalKey{}).(*Principal)
	return p
}

// AddressFromContext returns the address of the client of a request that passed a [Gate]: that which
// a trusted proxy names, else that of the connection. It is not valid if there is none.
func AddressFromContext(ctx context.Context) netip.Addr {
	address, _ := ctx.Value(addressKey{}).(netip.Addr)
	return address
}
