// Command skidway runs jobs, counts web logs per country and day, and passes messages
// that wait for their readers, through Redis.
//
// This package holds the root of the command tree and the tests that run the
// command as a process. Each product has a package of its own, which parses its
// command lines, calls the library and prints: results on standard output,
// everything else on standard error.
//
//	internal/cli       what the products share: opening a Redis, output,
//	                   arguments and flag values, exit codes, signals, progress
//	internal/jobs      enqueue, queues, jobs, errors, operations, workers, cron, doctor
//	internal/worker    worker (process, configuration, kinds), config
//	internal/logs      the commands of logs
//	internal/serve     serve, dash, user, token, audit
//	internal/remote    enqueue, queues and jobs through a server of the HTTP API
//	internal/telemetry traces and metrics by OTLP
//	internal/messages  chat, mail, dm, room
//	internal/bench     bench logs, queue, chat
//
// Where to add something:
//
//   - a command: a function that returns a *cobra.Command, in the file of its subject
//     below internal, added by the AddCommand of its group or of root in root.go. It
//     declares its arguments by cli.Args and ends with cli.Run, or with cli.Action if it
//     opens no Redis.
//   - a view, which prints rows as table, CSV and JSON: a cli.View beside the command
//     that prints it by cli.PrintView.
//   - a kind of jobs: see CONTRIBUTING.md.
//   - a type of flags: internal/cli/values.go.
//   - an exit code, or an error that means wrong usage: internal/cli/exit.go.
//
// The files of testdata/golden record what every command prints. Add a line for a new
// command, and run the tests with -update. The help of every command fits in 80 columns
// and has examples: a test checks both.
package main
