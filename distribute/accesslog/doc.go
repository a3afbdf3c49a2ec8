// Package accesslog finds the client's address and the day in lines of web server
// access logs, without allocation.
//
//	choice, err := accesslog.Choose(lines) // or ByName("combined").New
//	parser := choice.NewAuto(accesslog.Options{})
//	record, verdict := parser.Parse(line) // record.Day, record.Addr
//
// [Options].Fields asks for further fields, which [Parser].Values has: the time to the
// second, the status, the path and others. They are parts of the line as it is written.
//
// [Formats] lists the formats that are known, and [Wrappers] what a container runtime or a
// log shipper puts around lines. Lines in a layout of the user's own are read by
// [ByLayout], and JSON objects and key=value pairs with keys of the user's own by [ByKeys].
// [Explain] tells how the lines of a file are read, and why not.
//
// # Promises
//
//   - A line is [Parsed] if its address field and a valid time are where the format
//     has them. The request, the status and everything after them may be anything.
//     A blank line is [Unparsable]. A header line of the format is [NotALine], and so are
//     the parts of a line that a wrapper holds, but the last one, which completes the line.
//     A line of more than 1 MiB in parts is Unparsable.
//   - The address is the format's own field, never a forwarding header logged at
//     the end of the line. Of a list of addresses it is the first public one
//     ([IsPublic]), or the first one if none is public; or the one that the proxies saw
//     which [Options].Proxies trusts. Quotes, brackets, ports and IPv6 zones are
//     removed, and an IPv4 address mapped into IPv6 is an IPv4 address. If the field is not an address (a host name, "-"), the line is
//     parsed and its Record has no address.
//   - The day is the calendar day as written in the line, in the line's own offset;
//     with [Options].Zone it is the day in that zone. A time in seconds since 1970 has
//     the day of UTC.
//   - A parser that [Choice.NewAuto] makes goes on where the format changes inside a file,
//     and its State is of a version, so that another program refuses it.
//
// Package formats declares the formats and package wrappers the wrappers, one in each file; the
// parsers for them are made here.
package accesslog
