package formats

import "time"

var nginxProxyManager = Format{
	Name:          "nginx-proxy-manager",
	Description:   "Nginx Proxy Manager, proxy hosts and default host",
	Specification: "https://github.com/NginxProxyManager/nginx-proxy-manager/blob/develop/docker/rootfs/etc/nginx/conf.d/include/log-proxy.conf",
	Unit:          time.Second,
	Layouts: []string{
		`[$time_local] $upstream_cache_status $upstream_status $status - $request_method $scheme $host "$request_uri" ` +
			`[Client $remote_addr] [Length $body_bytes_sent] [Gzip $gzip] [Sent-to $server] "$http_user_agent" "$http_referer"`,
		`[$time_local] $status - $request_method $scheme $host "$request_uri" ` +
			`[Client $remote_addr] [Length $body_bytes_sent] [Gzip $gzip] "$http_user_agent" "$http_referer"`,
	},
	Example: `[10/Oct/2000:13:55:36 -0700] - 200 200 - GET https www.example.org "/" [Client 203.0.113.7] [Length 23] ` +
		`[Gzip -] [Sent-to 192.0.2.1] "curl/8.5" "-"`,
	Reads: "2000-10-10T13:55:36-07:00 200 method=GET host=www.example.org path=/ agent=curl/8.5 23 B",
	Real: []Line{
		{
			Origin:  "tests of planils.sonils.co.ao, Nginx Proxy Manager",
			Address: "105.172.143.112", Time: "2023-09-10T14:04:11Z", Status: "200",
			Text: `[10/Sep/2023:14:04:11 +0000] - 200 200 - GET https planils-api.sonils.co.ao "/api/portal/notifications/count" [Client 105.172.143.112] [Length 102] [Gzip -] [Sent-to 192.168.10.63] "Mozilla/5.0 (iPhone; CPU iPhone OS 16_6_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/16.6 Mobile/15E148 Safari/604.1" "https://portaldocliente.sonils.co.ao/"`,
		},
	},
}
