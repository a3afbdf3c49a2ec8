// Package samplelog writes made-up access logs in the Combined Log Format, for
// the demo, benchmarks and tests.
//
// The lines look like those of a busy shop: clients from many countries, a few
// of them very active; days with a rhythm; pages, their pictures and styles,
// an API, robots, people who look for security holes; and now and then a line
// that is not one of the format. They average about 220 bytes, and gzip makes them about ten times
// smaller, as it does with real logs.
//
//	access.log          the newest
//	access.log.1
//	access.log.2.gz
//	access.log.3.zst    the oldest; later even numbers are .gz, odd ones .zst
//
// The lines of the same [Options] are the same on every machine: only integers decide
// what is written, because floating-point results differ between processors.
package samplelog
