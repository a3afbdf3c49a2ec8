package main

import (
	"os"
	"os/signal"
	"runtime"
	"syscall"
	_ "time/tzdata" // --tz works on machines without time zone files

	"github.com/redis/go-redis/v9/logging"
)

// version is set by the build.
var version = "devel"

func main() {
	if runtime.GOOS == "linux" && os.Getpid() == 1 {
		os.Exit(runAsInit())
	}
	prepare()
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// prepare sets what is set once in a process.
func prepare() {
	// A closed pipe is an error, with a message and exit code 1, instead of a silent
	// end by a signal.
	signal.Ignore(syscall.SIGPIPE)
	logging.Disable() // the client's own log repeats what its errors say
}
