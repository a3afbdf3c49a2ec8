// Skidway is the command: it runs jobs, counts web logs per country and day, and
// passes messages that wait for their readers, through Redis.
//
// This package only parses the command line and the configuration, wires the
// library's rooms and prints: results on standard output, everything else on
// standard error. There is a file for each subcommand, and further ones whose
// names begin with it where it has much to do:
//
//	worker.go      the worker, with service*.go (its life), config*.go (its
//	               file and environment) and kindset.go (its kinds)
//	enqueue.go, queues.go, jobs.go, workers.go, cron.go, doctor.go
//	               operations
//	logs.go        count.go, ship.go, work.go, report.go, status.go, sample.go
//	chat.go, mail.go, dm.go, room.go
//	               messages; message.go and follow.go are for all four
//	bench.go       benchmarks of each
//
// What they share:
//
//	root.go        the command tree, global flags
//	connection.go  which Redis, and opening it
//	counting.go    the flags that say how lines are counted
//	values.go      flag values that are checked while they are parsed
//	secret.go      passwords, from files and variables
//	console.go     what people are told, on standard error
//	progress.go    the progress bar on a terminal
//	signals.go     Ctrl-C: once gently, twice at once
//	exit.go        exit codes and which error ends in which
//	result.go      counts as CSV or JSON, and the closing line
//	table.go       tables
//	html.go        counts as a web page
package main
