// Package accesslog reads lines of web server access logs: where in the line
// is the client's address, and where is the day. It reads nothing else of a
// line, and it promises to do so fast: no allocation a line, no regular
// expression.
//
// A [Format] knows one way of writing lines and makes a [Parser] for it.
// [ByName] finds a format that a person named, [Detect] finds it by looking at
// the first lines of a file. One file has one format; a parser is nevertheless
// tolerant of the other lines that real files of its format hold.
//
//	name      also            a line
//	vhost     vhost-combined  www.example.org:443 203.0.113.7 - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 23 "-" "curl/8.5"
//	combined  nginx           203.0.113.7 - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 23 "-" "curl/8.5"
//	common                    203.0.113.7 - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 23
//	minimal                   203.0.113.7 2000-10-10 anything
//
// # What is a line
//
// A line is [Parsed] when its address field and a valid time are where the
// format has them. The request, the status and all that follows may be
// anything: attackers send anything. A blank line is a line, and [Unparsable].
// A header line of a format that has such lines is [NotALine].
//
// # The address
//
// The address is the format's own field, never a forwarding header logged at
// the end of the line. Where that field is a list of addresses it is the first
// public one ([IsPublic]), or the first one if none is public. Quotes,
// brackets, ports and IPv6 zones are taken off, and an IPv4 address mapped into
// IPv6 is an IPv4 address. A line whose field holds no address (a host name,
// "-") is still parsed: its Record has no address.
//
// # The day
//
// The day is the calendar day as written in the line, in the line's own
// offset. With [Options].Zone it is the day in that zone instead.
//
// # Adding a format
//
// A format is a Format value (with a parser, if it needs one of its own) and one
// line in the table in format.go.
package accesslog
