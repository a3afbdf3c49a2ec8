// Skidway counts web logs per country and day, in one process or spread over
// many that share a Redis.
//
// This package only parses the command line, wires the library's rooms and
// prints: results on standard output, everything else on standard error. There
// is a file for each subcommand; what they share has files of its own:
//
//	root.go        the command tree, global flags
//	connection.go  which Redis, and opening it
//	counting.go    the flags that say how lines are counted
//	values.go      flag values that are checked while they are parsed
//	console.go     what people are told, on standard error
//	progress.go    the progress bar on a terminal
//	signals.go     Ctrl-C: once gently, twice at once
//	exit.go        exit codes and which error ends in which
//	result.go      counts as CSV or JSON, and the closing line
//	table.go       counts as a table
//	html.go        counts as a web page
package main
