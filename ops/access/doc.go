// Package access decides who may do what with queues and jobs.
//
// A [Principal] is who asks: a user, or a program with a token. What it may do is a list of scopes,
// such as "view:*" or "enqueue:mail:email.send". A [Scope] is an action, a pattern of queues and,
// for the action enqueue, a pattern of kinds:
//
//	view      read queues, jobs, workers, errors, statistics and streams
//	operate   retry, cancel, reschedule, change of priority, pause, resume, operations
//	enqueue   add jobs of some kinds, also by copies, schedules and hooks
//	admin     delete, purge, retention, schedules, the audit
//	reveal    read values that redaction hides
//	scale     read the number of workers that a queue needs
//
// No action includes another one. The roles of users are lists of actions: [ViewRole] has view,
// [OperateRole] also operate and enqueue, [AdminRole] also admin. The actions reveal and scale
// belong to no role.
//
// Patterns are those of [path.Match], as for the queues of workers, and "*" alone matches every
// queue, and every kind but those that run programs, open connections or send mail. The kinds
// below "exec.", "http.", "email.", "logs." and "skidway." match only a pattern that begins with
// these characters, such as "email.*".
//
// # Who asks
//
// [Tokens] are for programs and kept in Redis. [Users] are entries of a file; [Logins] checks their
// passwords, and [Sessions] remembers in Redis who has logged in. A [Gate] stands before the handlers
// of a server and lets only requests pass whose principal is known; [Listener.Validate] refuses to
// open a server that would be open to others than it should be.
//
// Five wrong logins of a name lock it for 15 minutes, wherever they come from: a client that
// reaches the page can do that to a name that is known. Sessions that have begun go on. The way
// out is time, a network from which only users reach the page, or a proxy that checks who they
// are.
//
// [Audit] keeps who changed what:
//
//	end, err := audit.Begin(ctx, access.NewEntry(ctx, "retry", "mail"))
//	if err != nil {
//		return err // the change must not be made
//	}
//	err = retry()
//	return errors.Join(err, end(err, 1))
//
// Secrets are stored as hashes only, in Redis as in the file, and never logged.
//
// # For handlers
//
// A program puts the principal of a request into its context with [NewContext], and the handlers
// ask the one that [FromContext] returns. A nil Principal may do nothing.
package access
