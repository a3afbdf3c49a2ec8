// Skidway is the command: it runs jobs, counts web logs per country and day, and
// passes messages that wait for their readers, through Redis.
//
// This package holds the root of the command tree and the tests that run the
// command as a process. Each product has a package of its own, which parses its
// command lines, calls the library and prints: results on standard output,
// everything else on standard error.
//
//	internal/cli       what the products share: opening a Redis, output,
//	                   arguments and flag values, exit codes, signals, progress
//	internal/jobs      enqueue, queues, jobs, workers, cron, doctor
//	internal/worker    worker: its life, its configuration, its kinds; config
//	internal/logs      logs count, ship, work, report, status, sample, unsubscribe
//	internal/messages  chat, mail, dm, room
//	internal/bench     benchmarks of each
//
// The files of testdata/golden record what every command prints.
package main
