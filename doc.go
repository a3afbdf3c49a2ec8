// Package skidway is the front door of the library: it connects to Redis. What
// to do there is in the packages below it.
//
//	skidway/queue                 jobs: add them, look at them, change them
//	skidway/delayed               when jobs are due: schedules, retries
//	skidway/workers               run jobs
//	skidway/workers/kinds         mail, HTTP requests, commands, log runs as jobs, a package each
//	skidway/workers/metrics       what workers do, for Prometheus
//	skidway/workers/workerstest   test what runs them
//	skidway/distribute            ship log files through Redis and count them
//	skidway/distribute/chat       messages that wait; groups, mailboxes, conversations and rooms are below it
//	skidway/distribute/accesslog  formats of access logs
//	skidway/distribute/geo        the country of an address
//	skidway/distribute/stream     bytes in, lines out: sources, codecs, segments
//
// The command is skidway/cmd/skidway.
package skidway
