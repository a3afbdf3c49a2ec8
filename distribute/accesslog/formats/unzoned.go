package formats

// unzoned is the Common Log Format, or the combined one, with times without a zone, as http.server
// of Python and Werkzeug, the server of Flask, print it: with a blank behind the date.
var unzoned = Format{
	Name:          "unzoned",
	Aliases:       []string{"python", "werkzeug"},
	Description:   "common or combined without a zone: Python, Werkzeug",
	Specification: "https://docs.python.org/3/library/http.server.html",
	Layouts: []string{
		unzonedLayout + ` "$http_referer" "$http_user_agent"`,
		unzonedLayout,
	},
	Example: `203.0.113.7 - - [10/Oct/2000 13:55:36] "GET / HTTP/1.1" 200 -`,
	Reads:   "2000-10-10T13:55:36 200 method=GET path=/ protocol=HTTP/1.1",
	Real: []Line{
		{
			Origin:  "HelloGitLab documentation, SimpleHTTPServer",
			Address: "171.113.232.78", Time: "2022-09-05T22:33:27", Status: "200",
			Text: `171.113.232.78 - - [05/Sep/2022 22:33:27] "GET / HTTP/1.1" 200 -`,
		},
	},
}

const unzonedLayout = `$remote_addr $ident $remote_user [$time_iso8601] "$request" $status $body_bytes_sent`
