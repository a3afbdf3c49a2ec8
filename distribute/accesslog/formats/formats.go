// Package formats declares the formats of access logs, one in each file: its name, the
// specification that defines it, where the fields of its lines are, and lines of it. It has no
// parsers: package accesslog makes them of these declarations.
//
// A new format is a file with a [Format], and its name in the table [All].
package formats

import "time"

// All has all formats. The vote of a line goes to the first one that it fits, so specific
// formats stand before general ones. It must not be changed.
var All = [...]Format{
	cloudfront,
	w3c,
	nginxJSON,
	caddy,
	traefikJSON,
	googleLB,
	awsWAF,
	azure,
	cloudflare,
	cloudfrontJSON,
	envoyJSON,
	awsS3JSON,
	awsALB,
	awsNLB,
	awsELB,
	awsS3,
	envoy,
	haproxy,
	squid,
	cloudfrontRealTime,
	googleStorage,
	iis,
	nginxProxyManager,
	ingressNginx,
	traefik,
	lighttpd,
	vhost,
	combined,
	common,
	unzoned,
	minimal,
}

// A Format is a way of writing log lines.
type Format struct {
	Name    string
	Aliases []string // other names
	// Description is one line for people.
	Description string
	// Specification is the address of the page that defines the format; empty if there is none.
	Specification string

	Kind Kind
	// Layouts are the lines that the format has, in the notation of nginx's log_format. Names of
	// values are those of nginx's variables where there is one; what other values are called does
	// not matter.
	Layouts []string
	// Fields names the keys of objects, or the columns: on each line a field, and where it is. Of
	// several keys for a field the first one that a line has is read. A dot stands between the
	// key of an object and a key in it.
	Fields string
	// Marker is a column without which the columns are those of another format.
	Marker string
	// Logger, if its key is not empty, is what writes the lines that are requests.
	Logger Logger
	// Header is how the first line of a file begins that has the names of the columns; empty if
	// there is no such line.
	Header string

	// Shared means that objects which are no requests have the keys of the address and the time
	// too: a line of the format must also have the status, or a part of the request.
	Shared bool

	UTC  bool          // times without a zone are UTC
	Port bool          // a port ends the address, also of an IPv6 address without brackets
	Unit time.Duration // of a duration without one; zero: as W3C logs have it

	// Example is a line with the address 203.0.113.7, behind its header lines if it has any.
	Example string
	// Reads is what is read of the example: time, status, fields, bytes and duration.
	Reads string
	// Real are lines of real logs, or those with which a server's documentation shows its format,
	// some without the fields that are not read.
	Real []Line
}

// A Logger is what the value of a key is in lines that are requests. A line without the key is one, too.
type Logger struct {
	Key    string
	Name   string // the value, perhaps with a dot and more behind it
	Suffix string // the end of the value, in upper or lower case
}

// A Kind is how the lines of a format are read.
type Kind uint8

const (
	// Layout is a format whose lines have the layouts, exactly.
	Layout Kind = iota
	// CommonLog is the Common Log Format, perhaps with further fields at its end, or with the
	// host before it: its lines are read also if they are damaged before their time.
	CommonLog
	// Objects is a format whose lines are JSON objects.
	Objects
	// Columns is the Extended Log File Format, whose files name their columns.
	Columns
	// Minimal is a format whose lines begin with an address and a date.
	Minimal
)

// A Line is a real line, and what is to be read of it, which was written by hand.
type Line struct {
	Origin  string // where it came from
	Address string // "-" if it has none
	Time    string // without a zone if the line has none
	Status  string // "-" if it has none
	Text    string // behind its header lines
}
