// Package kinds has the built-in kinds of jobs: what a worker can do without Go
// being written for it. Each is a handler, for Go as well:
//
//	email, err := kinds.NewEmail(kinds.EmailConfig{Host: "smtp.example.com", From: "shop@example.com"})
//	workers.Handle(pool, email.Send, workers.Kind{})
//	client.Enqueue(ctx, kinds.EmailArgs{To: []string{"ada@example.com"}, Subject: "Hello", Text: "…"}, queue.Options{})
//
// The args of a kind are a type with a method Check, which tells what is wrong
// with them, by the field's name, before they are enqueued. [Check] does so for
// args that are JSON.
//
//	kind           args              handler
//	email.send     [EmailArgs]       [Email.Send]
//	exec.run       [ExecArgs]        [Exec.Run]
//	http.request   [HTTPArgs]        [HTTP.Do]
//	logs.count     [LogsCountArgs]   [Logs.Count]
//	logs.report    [LogsReportArgs]  [Logs.Report]
//	logs.ship      [LogsShipArgs]    [Logs.Ship]
//
// # How jobs end
//
// A job is dead where trying again can't help: the other side refused it for
// good, or its args are at fault. It is tried again where that may help, and
// also where the worker's settings are at fault: a wrong password must not make
// thousands of jobs dead. Only a command or a secret whose name the worker does
// not know makes a job dead: that is as likely the job's mistake.
//
// # Mail
//
// A message goes to all its recipients or to none. What the server took is not
// sent again, unless the worker died, or the connection broke, in the moment
// between the end of the message and the server's answer. Such a repeat has the
// same Message-ID: it is made of the job's id.
//
// Templates are text/template, and html/template for HTML. They lie in one
// folder:
//
//	welcome.subject.tmpl   Welcome, {{.name}}
//	welcome.txt.tmpl       …
//	welcome.html.tmpl      …
//
// and a job names one: {"to": "ada@example.com", "template": "welcome", "data":
// {"name": "Ada"}}. Where a job has data and no template, its subject, text and
// html are templates themselves.
package kinds
