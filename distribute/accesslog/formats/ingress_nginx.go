package formats

import "time"

var ingressNginx = Format{
	Name:          "ingress-nginx",
	Description:   "Kubernetes ingress-nginx, log-format-upstream",
	Specification: "https://kubernetes.github.io/ingress-nginx/user-guide/nginx-configuration/log-format/",
	Unit:          time.Second,
	Layouts: []string{
		`$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" ` +
			`$request_length $request_time [$proxy_upstream_name] [$alternative] $upstream`,
		// Before release 0.23, where the address stood in brackets before the user, too.
		`$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" ` +
			`$request_length $request_time [$proxy_upstream_name] $upstream`,
	},
	Example: `203.0.113.7 - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 23 "-" "curl/8.5" 612 0.004 ` +
		`[default-web-80] [] 10.4.0.9:8080 23 0.004 200 5f2a5b3e6d1c4a7f8b9e0d1c2a3b4c5d`,
	Reads: "2000-10-10T13:55:36-07:00 200 method=GET path=/ protocol=HTTP/1.1 agent=curl/8.5 23 B 4ms",
	Real: []Line{
		{
			Origin:  "elastic/integrations, ingress-nginx and IPv6",
			Address: "2a02:cf40::", Time: "2022-08-24T21:04:17Z", Status: "200",
			Text: `2a02:cf40:: - remote_monitoring_user [24/Aug/2022:21:04:17 +0000] "POST /_bulk HTTP/1.1" 200 470 "-" "Elastic-metricbeat/7.16.3 (linux; amd64; e7cede6a62ed4452bd9044fc6f4947df; 2022-01-07 00:50:33 +0000 UTC)" 2057 0.033 [esmon-esmon-es-http-9200] [] [2a02:cf40::]:9200 470 0.036 200 3db73c6c673c4256ade033a6ce08c2ab`,
		},
	},
}
