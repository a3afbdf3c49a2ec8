package formats

var lighttpd = Format{
	Name:          "lighttpd",
	Description:   "lighttpd: address, then the requested host",
	Specification: "https://doc.lighttpd.net/lighttpd2/mod_accesslog.html",
	Layouts: []string{
		`$remote_addr $host $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent"`,
	},
	Example: `203.0.113.7 www.example.org - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 23 "-" "curl/8.5"`,
	Reads:   "2000-10-10T13:55:36-07:00 200 method=GET host=www.example.org path=/ protocol=HTTP/1.1 agent=curl/8.5 23 B",
}
