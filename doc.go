// Package skidway is the front door of the library: it connects to Redis. What
// to do there is in the packages below it.
//
//	skidway/queue                 jobs: add them, look at them, change them
//	skidway/delayed               when jobs are due: schedules, retries
//	skidway/workers               run jobs
//	skidway/workers/workerstest   test what runs them
//	skidway/distribute            ship log files through Redis and count them
//	skidway/distribute/chat       durable group chats, read by pulling
//	skidway/distribute/accesslog  formats of access logs
//	skidway/distribute/geo        the country of an address
//
// The command is skidway/cmd/skidway.
package skidway
