// Package accesslog finds the client's address and the day in lines of web server
// access logs. It parses nothing else of a line, without allocation.
//
//	format, err := accesslog.Detect(lines) // or ByName("combined")
//	parser := format.New(accesslog.Options{})
//	record, verdict := parser.Parse(line) // record.Day, record.Addr
//
// The formats are:
//
//	name      also            a line
//	vhost     vhost-combined  www.example.org:443 203.0.113.7 - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 23 "-" "curl/8.5"
//	combined  nginx           203.0.113.7 - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 23 "-" "curl/8.5"
//	common                    203.0.113.7 - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 23
//	minimal                   203.0.113.7 2000-10-10 anything
//
// # Promises
//
//   - A line is [Parsed] if its address field and a valid time are where the format
//     has them. The request, the status and everything after them may be anything.
//     A blank line is [Unparsable]. A header line of the format is [NotALine].
//   - The address is the format's own field, never a forwarding header logged at
//     the end of the line. Of a list of addresses it is the first public one
//     ([IsPublic]), or the first one if none is public. Quotes, brackets, ports and
//     IPv6 zones are removed, and an IPv4 address mapped into IPv6 is an IPv4
//     address. If the field is not an address (a host name, "-"), the line is
//     parsed and its Record has no address.
//   - The day is the calendar day as written in the line, in the line's own offset;
//     with [Options].Zone it is the day in that zone.
//
// A new format is a Format value, with a parser if it needs its own, and one line in
// the table in format.go.
package accesslog
