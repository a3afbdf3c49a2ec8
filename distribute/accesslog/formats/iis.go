package formats

import "time"

var iis = Format{
	Name:          "iis",
	Description:   "IIS log format: commas between fields, local time",
	Specification: "https://learn.microsoft.com/en-us/windows/win32/http/iis-logging",
	Unit:          time.Millisecond,
	Layouts: []string{
		`$remote_addr, $remote_user, $date_mdy, $clock, $service, $server, $server_addr, $request_time, $received_bytes, ` +
			`$bytes_sent, $status, $windows_status, $request_method, $uri, $rest`,
	},
	Example: "203.0.113.7, -, 03/20/01, 7:55:20, W3SVC2, SERVER, 192.0.2.1, 4502, 163, 3223, 200, 0, GET, /index.html, -,",
	Reads:   "2001-03-20T07:55:20 200 method=GET path=/index.html 3223 B 4.502s",
	Real: []Line{
		{
			Origin:  "Microsoft documentation, IIS log format",
			Address: "192.168.114.201", Time: "2001-03-20T07:55:20", Status: "200",
			Text: "192.168.114.201, -, 03/20/01, 7:55:20, W3SVC2, SALES1, 172.21.13.45, 4502, 163, 3223, 200, 0, GET, /DeptLogo.gif, -,",
		},
	},
}
