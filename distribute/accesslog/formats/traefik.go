package formats

import "time"

var traefik = Format{
	Name:          "traefik",
	Description:   "Traefik, common log format with router and server",
	Specification: "https://doc.traefik.io/traefik/observability/access-logs/",
	Unit:          time.Millisecond,
	Layouts: []string{
		`$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" ` +
			`$number "$router" "$server" ${request_time}ms`,
		`$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" ` +
			`$number "$router" - ${request_time}ms`,
		`$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" ` +
			`$number - - ${request_time}ms`,
	},
	Example: `203.0.113.7 - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 23 "-" "curl/8.5" 500 "web@docker" ` +
		`"http://172.17.0.3:80" 4ms`,
	Reads: "2000-10-10T13:55:36-07:00 200 method=GET path=/ protocol=HTTP/1.1 agent=curl/8.5 23 B 4ms",
	Real: []Line{
		{
			Origin:  "crowdsecurity/hub, Traefik",
			Address: "172.17.0.1", Time: "2021-12-08T09:16:05Z", Status: "200",
			Text: `172.17.0.1 - - [08/Dec/2021:09:16:05 +0000] "GET /scripts/cpshost.dll HTTP/1.1" 200 414 "-" "-" 500 "test@docker" "http://172.17.0.3:80" 0ms`,
		},
	},
}
