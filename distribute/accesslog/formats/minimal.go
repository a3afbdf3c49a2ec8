package formats

// minimal is the smallest log that can be counted: address, day, anything.
var minimal = Format{
	Name:        "minimal",
	Description: "address, 2006-01-02 or RFC 3339, then anything",
	Kind:        Minimal,
	Layouts: []string{
		"$remote_addr $time_iso8601 $rest",
	},
	Example: `203.0.113.7 2000-10-10 GET /`,
	Reads:   "2000-10-10T00:00:00 -",
}
