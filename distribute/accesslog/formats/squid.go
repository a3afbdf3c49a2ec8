package formats

import "time"

var squid = Format{
	Name:          "squid",
	Description:   "Squid's native log",
	Specification: "https://wiki.squid-cache.org/Features/LogFormat",
	Unit:          time.Millisecond,
	Layouts: []string{
		`$msec $request_time $remote_addr $code/$status $bytes_sent $request_method $request_uri $remote_user $hierarchy/$peer $type`,
	},
	Example: `1286536309.586    921 203.0.113.7 TCP_MISS/200 507 GET http://www.example.org/ - HIER_DIRECT/192.0.2.1 text/html`,
	Reads:   "2010-10-08T11:11:49Z 200 method=GET host=www.example.org path=http://www.example.org/ 507 B 921ms",
	Real: []Line{
		{
			Origin:  "Squid documentation",
			Address: "192.168.0.68", Time: "2010-10-08T11:11:49Z", Status: "200",
			Text: "1286536309.586    921 192.168.0.68 TCP_MISS/200 507 POST http://rcv-srv37.inplay.tubemogul.com/StreamReceiver/services - DIRECT/174.129.41.128 application/xml",
		},
	},
}
