// Package skidway connects to Redis. The packages below it use the connection:
//
//	skidway/queue                 jobs: add, inspect and change them; start here
//	skidway/delayed               delayed jobs, retries and cron schedules
//	skidway/workers               run jobs
//	skidway/workers/kinds         built-in kinds: mail, HTTP requests, commands, log runs; a package each
//	skidway/workers/stats         statistics of queues, in Redis
//	skidway/workers/metrics       metrics of workers, for Prometheus
//	skidway/workers/workerstest   test handlers
//	skidway/ops                   operate queues and workers: their state, diagnoses, checks
//	skidway/ops/api               the HTTP API, as a handler
//	skidway/ops/access            who may operate them: users, tokens, sessions, audit
//	skidway/distribute            ship log files through Redis and count them
//	skidway/distribute/chat       stored messages; groups, mailboxes, conversations and rooms are below it
//	skidway/distribute/accesslog  formats of access logs
//	skidway/distribute/geo        the country of an address
//	skidway/distribute/stream     from the bytes of log files to lines: sources, codecs, segments
//
// The command is skidway/cmd/skidway.
package skidway
