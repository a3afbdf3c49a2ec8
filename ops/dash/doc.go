// Package dash is the dashboard: pages that show what package ops offers, drawn on the server, and
// forms that change it.
//
//	dashboard, err := dash.New(db, dash.Config{Authorize: whoAsks})
//	mux.Handle("/jobs/", http.StripPrefix("/jobs", dashboard))
//	defer dashboard.Close()
//
// Pages work without script and send no request to another host. Every request needs an
// [access.Principal], from its context or from [Config.Authorize]; without one it is refused. A
// page shows only queues that the principal may view, and the server refuses every action that
// the principal may not do, whatever the page shows.
//
// # How a page is added
//
//  1. A line in the table of routes (route.go) has the pattern, the right, the scope in which
//     it is needed, and the template or the action. "rail" puts the page into the list of
//     pages. Without a line there is no page; without a scope, only those who may do it with all
//     queues see it.
//  2. A function in a file named after the page, func(p *page) error, asks ops for what the page
//     shows and sets p.Title, p.Crumbs and p.Data. It computes no figures itself: what is missing is added
//     to package ops. It passes errors on: [page.fail] makes the page with the right status of them.
//  3. A template in pages/NAME.html begins with {{template "top" .}} and ends with
//     {{template "bottom" .}}. "." is the page: {{.Data}} is what the function has set, and the
//     methods of page are for what depends on the request: Link, QueueLink and JobLink for addresses,
//     May and WhyNot for rights, Clock, Since, Ago and Age for times, Icon for icons, Val for
//     values that change live. parts.html has the parts: icon, badge, time, id, v (a value), button,
//     cancel, empty, shell (a command), spark, bar, plot, crumbs. Functions without the request
//     are in page.go: t (texts), num, age, took, about, bytes, ratio, long, cmd (a command line), dict. In a part "$" is
//     its own value.
//  4. Texts are in internal/words/texts.txt, under keys that begin with the page's name: {{t "queues.count"
//     3}} in templates, words.T in Go. A test finds unknown and unused ones.
//  5. Styles come from internal/look/look.css: use its classes before adding one. There is no style= and
//     no script in pages; columns have the class o2 (from 641 px) or o3 (from 1200 px).
//
// An action is a function func(p *page) (to string, said message, err error) behind a form with
// method="post": it reads p.request.PostForm, changes something by ops or queue, and returns the
// path of the page to go to with what is said there ([done]). An error becomes the message "Not
// done: …", a [pageError] a page with its status. A form to type in is a page of its own: the route of its
// action names it as form, and it sets its fields by [exchange.typed], so that an error keeps what was typed. The check of the route's right has been done; a
// right for something named in the form is the action's to check. Forms that are sent by other
// sites are refused before any action runs.
//
// A question about one thing is a part with the attribute popover; one about many jobs is a page of its
// own, drawn after the server has counted.
package dash
