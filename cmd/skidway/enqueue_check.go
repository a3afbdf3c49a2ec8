package main

import "skidway/workers/kinds"

// checkArgs says what is wrong with the args of a job, where its kind is one of
// the built-in ones, as far as that can be told without the worker's settings.
func checkArgs(kind string, args []byte) error {
	return kinds.Check(kind, args)
}
