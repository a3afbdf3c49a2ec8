package formats

import "time"

var haproxy = Format{
	Name:          "haproxy",
	Description:   "HAProxy, option httplog",
	Specification: "https://docs.haproxy.org/3.0/configuration.html#8.2.3",
	Unit:          time.Millisecond,
	Port:          true,
	Layouts: []string{
		`$remote_addr [$time_local] $frontend $backend/$server $tq/$tw/$tc/$tr/$request_time $status $bytes_sent ` +
			`$request_cookie $response_cookie $termination $actconn/$feconn/$beconn/$srvconn/$retries $srvqueue/$backqueue ` +
			`$captured"$request"`,
	},
	Example: `203.0.113.7:5678 [10/Oct/2000:13:55:36.123] front~ back/web1 0/0/1/43/44 200 23 - - ---- 3/3/1/1/0 0/0 ` +
		`"GET / HTTP/1.1"`,
	Reads: "2000-10-10T13:55:36 200 method=GET path=/ protocol=HTTP/1.1 23 B 44ms",
	Real: []Line{
		{
			Origin:  "HAProxy documentation, a request that is none",
			Address: "10.0.1.2", Time: "2003-10-15T08:31:57", Status: "400",
			Text: `10.0.1.2:33319 [15/Oct/2003:08:31:57.130] http-in http-in/<NOSRV> -1/-1/-1/-1/30 400 198 - - PR-- 0/0/0/0/0 0/0 "<BADREQ>"`,
		},
		{
			Origin:  "fluentd-docs-gitbook#271, HAProxy on ::",
			Address: "195.95.239.60", Time: "2021-02-09T17:28:18", Status: "200",
			Text: `::ffff:195.95.239.60:54241 [09/Feb/2021:17:28:18.698] https~ back/web 0/0/1/43/44 200 23 - - ---- 3/3/1/1/0 0/0 "GET / HTTP/1.1"`,
		},
		{
			Origin:  "tstack/lnav, HAProxy without its syslog header",
			Address: "141.35.244.171", Time: "2019-02-25T16:20:03", Status: "200",
			Text: `141.35.244.171:53337 [25/Feb/2019:16:20:03.208] prod_http_in~ bk_admin/nginx_sonst 0/0/1/1031/1039 200 11394 - - ---- 3/2/0/0/0 0/0 {Mozilla/5.0 (Windows NT 6.1; Win64; x64; rv:65.0) Gecko/20100101 Firefox/65.0} {} "GET /admin/colt/administration HTTP/1.1"`,
		},
	},
}
