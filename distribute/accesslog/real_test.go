package accesslog_test

import (
	"strings"
	"testing"
	"time"

	"skidway/distribute/accesslog"
)

// TestRealLinesAreRead reads lines of real logs, or those with which the documentation of
// a server shows its format. Address and day were written by hand.
func TestRealLinesAreRead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ origin, format, lines, addr, day string }{
		{"AWS documentation, ALB", "aws-alb", `http 2018-07-02T22:23:00.186641Z app/my-loadbalancer/50dc6c495c0c9188 192.168.131.39:2817 10.0.0.1:80 0.000 0.001 0.000 200 200 34 366 "GET http://www.example.com:80/ HTTP/1.1" "curl/7.46.0" - - arn:aws:elasticloadbalancing:us-east-2:123456789012:targetgroup/my-targets/73e2d6bc24d8a067 "Root=1-58337262-36d228ad5d99923122bbe354" "-" "-" 0 2018-07-02T22:22:48.364000Z "forward" "-" "-" "10.0.0.1:80" "200" "-" "-"`, "192.168.131.39", "2018-07-02"},
		{"crowdsecurity/hub, ALB without target", "aws-alb", `https 2023-04-26T19:53:46.679895Z app/546213e5-apiexamplecom-api-94aa/490d68edf04676fe 192.168.1.13:44740 - -1 -1 -1 404 - 204 167 "GET https://api.example.com:443/ HTTP/1.1" "-" ECDHE-RSA-AES128-GCM-SHA256 TLSv1.2 - "Root=1-6449800a" "api.example.com" "session-reused" 0 2023-04-26T19:53:46.678000Z "fixed-response" "-" "-" "-" "-"`, "192.168.1.13", "2023-04-26"},
		{"AWS documentation, NLB", "aws-nlb", `tls 2.0 2018-12-20T02:59:40 net/my-network-loadbalancer/c6e77e28c25b2234 g3d4b5e8bb8464cd 72.21.218.154:51341 172.100.100.185:443 5 2 98 246 - arn:aws:acm:us-east-2:671290407336:certificate/2a108f19-aded-46b0-8493-c63eb1ef4a99 - ECDHE-RSA-AES128-SHA TLSv12 - my-network-loadbalancer-c6e77e28c25b2234.elb.us-east-2.amazonaws.com - - - 2018-12-20T02:59:30`, "72.21.218.154", "2018-12-20"},
		{"AWS documentation, Classic Load Balancer", "aws-elb", `2015-05-13T23:39:43.945958Z my-loadbalancer 192.168.131.39:2817 10.0.0.1:80 0.000086 0.001048 0.001337 200 200 0 57 "GET https://www.example.com:443/ HTTP/1.1" "curl/7.38.0" DHE-RSA-AES128-SHA TLSv1.2`, "192.168.131.39", "2015-05-13"},
		{"AWS documentation, Classic Load Balancer, TCP listener", "aws-elb", `2015-05-13T23:39:43.945958Z my-loadbalancer 192.168.131.39:2817 10.0.0.1:80 0.001069 0.000028 0.000041 - - 82 305 "- - - " "-" - -`, "192.168.131.39", "2015-05-13"},
		{"goaccess#2557, ALB and IPv6", "aws-alb", `https 2023-04-26T19:53:46.679895Z app/I8YR24BIAN4K/6378464905b0814a 2a02:a33c:4538:1:bcf4:5264:e01c:f215:50718 10.0.0.0:80 0.000 0.001 0.000 200 200 34 366 "GET https://api.example.com:443/ HTTP/1.1" "-" - - - "Root=1-6449800a" "-" "-" 0 2023-04-26T19:53:46.678000Z "forward" "-" "-" "-" "-"`, "2a02:a33c:4538:1:bcf4:5264:e01c:f215", "2023-04-26"},
		{"Classic Load Balancer, a request that looks like a line", "aws-elb", `2015-05-13T23:39:43.945958Z my-elb 8.8.8.8:2817 10.0.0.1:80 0.000086 0.001048 0.001337 200 200 0 57 "GET http://www.example.com:80/ HTTP/1.1" "[10/Oct/2000:13:55:36 -0700]" - -
2015-05-13T23:39:43.945958Z my-elb 8.8.8.8:2817 10.0.0.1:80 0.000086 0.001048 0.001337 200 200 0 57 "GET http://www.example.com:80/ HTTP/1.1" "curl/7" - -`, "8.8.8.8", "2015-05-13"},
		{"fluentd-docs-gitbook#271, HAProxy on ::", "haproxy", `::ffff:195.95.239.60:54241 [09/Feb/2021:17:28:18.698] https~ back/web 0/0/1/43/44 200 23 - - ---- 3/3/1/1/0 0/0 "GET / HTTP/1.1"`, "195.95.239.60", "2021-02-09"},
		{"combined after the name of a proxy", "combined", `10.0.0.1 www.example.org 203.0.113.7 - - ` + stamp + request, "203.0.113.7", "2000-10-10"},
		{"ingress-nginx, a user with a bracket", "ingress-nginx", `8.8.8.8 - a [b ` + stamp + ` "GET / HTTP/1.1" 200 23 "-" "curl/8.5" 612 0.004 [default-web-80] [] 10.4.0.9:8080 23 0.004 200 5f2a`, "8.8.8.8", "2000-10-10"},
		{"W3C without dates, lines a little out of order", "w3c", "#Date: 2015-01-13 00:00:00\n#Fields: time c-ip\n10:00:05 8.8.8.8\n10:00:04 8.8.8.8\n10:00:05 8.8.8.8\n10:00:04 8.8.8.8", "8.8.8.8", "2015-01-13"},
		{"W3C without dates, a new #Date without a time", "w3c", "#Date: 2015-01-13 00:00:00\n#Fields: time c-ip\n23:59:50 8.8.8.8\n#Date: 2015-01-14\n00:00:05 8.8.8.8", "8.8.8.8", "2015-01-14"},
		{"W3C without dates, midnight", "w3c", "#Date: 2015-01-13 10:00:00\n#Fields: time c-ip\n23:59:50 8.8.8.8\n00:00:05 8.8.8.8\n23:59:59 8.8.8.8\n00:00:06 8.8.8.8", "8.8.8.8", "2015-01-14"},
		{"Caddy with wall_milli", "caddy", `{"level":"info","ts":"2026/11/20 14:00:05.000","msg":"handled request","request":{"remote_ip":"8.8.8.8"}}`, "8.8.8.8", "2026-11-20"},
		{"a pod whose lines got a time", "timestamp:combined", `2026-11-20T14:00:05Z 8.8.8.8 - - ` + stamp + request + "\n" + `2026-11-20T14:00:05Z 8.8.8.8 - - ` + stamp + request + "\n" + `8.8.4.4 - - ` + stamp + request, "8.8.4.4", "2000-10-10"},
		{"AWS documentation, S3", "aws-s3", `79a59df900b949e55d96a1e698fbacedfd6e09d98eacf8f8d5218e7cd47ef2be awsexamplebucket1 [06/Feb/2019:00:00:38 +0000] 192.0.2.3 79a59df900b949e55d96a1e698fbacedfd6e09d98eacf8f8d5218e7cd47ef2be 3E57427F3EXAMPLE REST.GET.VERSIONING - "GET /awsexamplebucket1?versioning HTTP/1.1" 200 - 113 - 7 - "-" "S3Console/0.4" - s9lzHYrFp76ZVxRcpX9+5cjAnEH2ROuNkd2BHfIa6UkFVdtjf5mKR3/eTPFvsiP/XV/VLi31234= SigV4 ECDHE-RSA-AES128-GCM-SHA256 AuthHeader awsexamplebucket1.s3.us-west-1.amazonaws.com TLSV1.2 - -`, "192.0.2.3", "2019-02-06"},
		{"AWS documentation, CloudFront", "cloudfront", "#Version: 1.0\n#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) cs(User-Agent) cs-uri-query cs(Cookie)\n2019-12-04\t21:02:31\tLAX1\t392\t192.0.2.100\tGET\td111111abcdef8.cloudfront.net\t/index.html\t200\t-\tMozilla/5.0%20(Windows%20NT%2010.0)\t-\t-", "192.0.2.100", "2019-12-04"},
		{"tstack/lnav, IIS 8.5", "w3c", "#Software: Microsoft Internet Information Services 8.5\n#Version: 1.0\n#Date: 2015-01-13 00:32:17\n#Fields: date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs(User-Agent) cs(Referer) sc-status sc-substatus sc-win32-status sc-bytes cs-bytes time-taken\n2015-01-13 00:32:17 100.79.192.81 GET /robots.txt - 80 - 157.55.39.146 \u00c4\u00d6Mozilla/5.0+(compatible;+bingbot/2.0) - 404 0 2 1405 242 283", "157.55.39.146", "2015-01-13"},
		{"tstack/lnav, Oracle Web Cache", "w3c", "#Version: 1.0\n#GMT-Offset: -0800\n#Software: Oracle9iAS Web Cache/2.0.0.2.0\n#Start-Date: 2001-10-31 00:00:18\n#Fields:  c-ip  c-dns  c-auth-id  date  time  cs-method  cs-uri  sc-status\n#Date: 2001-10-31 00:00:18\n64.103.37.2      client_joaz7      DMS.user      2001-10-31     00:00:18      GET      /admin/images/oc_bottomleft.gif    200", "64.103.37.2", "2001-10-31"},
		{"tstack/lnav, IIS 4 without dates", "w3c", "#Date: 2000-10-09 16:44:49\n#Fields: time c-ip cs-method cs-uri-stem sc-status\n16:44:49 1.1.1.1 [2]USER anonymous 331\n16:48:05 1.1.1.1 [2]QUIT - 226\n02:10:12 1.1.1.1 [4]USER anonymous 331", "1.1.1.1", "2000-10-10"},
		{"tstack/lnav, IIS Advanced Logging", "w3c", "#Fields:   date-local time-local   s-ip   cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs(User-Agent) cs(Referer) cs(Host) sc-status\n2012-08-15 17:00:00.675 10.10.28.140 GET /hello/world/6,681965 - 80 - \"173.5.0.0\" \"Mozilla/5.0 (Macintosh; \"\"quoted\"\")\" - \"hello.example.com\" 404", "173.5.0.0", "2012-08-15"},
		{"tstack/lnav, Incapsula", "w3c", "#Date: 28/Jun/2017 07:28:59\n#Fields: date time cs-vid cs-clapp c-ip sc-status\n\"2017-06-28\" \"07:26:35\" \"a1f36498\" \"Chrome\" \"123.123.123.123\" \"200\"", "123.123.123.123", "2017-06-28"},
		{"Microsoft documentation, IIS log format", "iis", `192.168.114.201, -, 03/20/01, 7:55:20, W3SVC2, SALES1, 172.21.13.45, 4502, 163, 3223, 200, 0, GET, /DeptLogo.gif, -,`, "192.168.114.201", "2001-03-20"},
		{"crowdsecurity/hub, Caddy", "caddy", `{"level":"info","ts":1693840791.7564995,"logger":"http.log.access","msg":"handled request","request":{"remote_ip":"172.17.0.1","remote_port":"44790","client_ip":"127.0.0.1","proto":"HTTP/1.0","method":"GET","host":"127.0.0.1:8080","uri":"/","headers":{"X-Forwarded-Port":["80"],"User-Agent":["curl/7.74.0"]}},"bytes_read":0,"user_id":"","duration":0.000093421,"size":18753,"status":200,"resp_headers":{"Server":["Caddy"]}}`, "127.0.0.1", "2023-09-04"},
		{"crowdsecurity/hub, Traefik", "traefik", `172.17.0.1 - - [08/Dec/2021:09:16:05 +0000] "GET /scripts/cpshost.dll HTTP/1.1" 200 414 "-" "-" 500 "test@docker" "http://172.17.0.3:80" 0ms`, "172.17.0.1", "2021-12-08"},
		{"tstack/lnav, HAProxy without its syslog header", "haproxy", `141.35.244.171:53337 [25/Feb/2019:16:20:03.208] prod_http_in~ bk_admin/nginx_sonst 0/0/1/1031/1039 200 11394 - - ---- 3/2/0/0/0 0/0 {Mozilla/5.0 (Windows NT 6.1; Win64; x64; rv:65.0) Gecko/20100101 Firefox/65.0} {} "GET /admin/colt/administration HTTP/1.1"`, "141.35.244.171", "2019-02-25"},
		{"HAProxy documentation, a request that is none", "haproxy", `10.0.1.2:33319 [15/Oct/2003:08:31:57.130] http-in http-in/<NOSRV> -1/-1/-1/-1/30 400 198 - - PR-- 0/0/0/0/0 0/0 "<BADREQ>"`, "10.0.1.2", "2003-10-15"},
		{"Squid documentation", "squid", `1286536309.586    921 192.168.0.68 TCP_MISS/200 507 POST http://rcv-srv37.inplay.tubemogul.com/StreamReceiver/services - DIRECT/174.129.41.128 application/xml`, "192.168.0.68", "2010-10-08"},
		{"Envoy documentation", "envoy", `[2016-04-15T20:17:00.310Z] "POST /api/v1/locations HTTP/2" 204 - 154 0 226 100 "10.0.35.28" "nsq2http" "cc21d9b0-cf5c-432b-8c7e-98aeb7988cd2" "locations" "tcp://10.0.2.1:80"`, "10.0.35.28", "2016-04-15"},
		{"Istio documentation", "envoy", `[2020-11-25T21:26:18.409Z] "GET /status/418 HTTP/1.1" 418 - via_upstream - "-" 0 135 3 1 "-" "curl/7.73.0-DEV" "84961386-6d84-929d-98bd-c5aee93b5c88" "httpbin:8000" "127.0.0.1:80" inbound|8000|| 127.0.0.1:41854 10.44.1.27:80 10.44.1.23:37652 outbound_.8000_._.httpbin.foo.svc.cluster.local default`, "", "2020-11-25"},
		{"AWS documentation, WAF", "aws-waf", `{"timestamp":1576280412771,"formatVersion":1,"webaclId":"arn:aws:wafv2:ap-southeast-2:111122223333:regional/webacl/STMTest/1EXAMPLE","terminatingRuleId":"STMTest_SQLi_XSS","action":"BLOCK","httpRequest":{"clientIp":"1.1.1.1","country":"AU","headers":[{"name":"Host","value":"localhost:1989"}],"uri":"/myUri","args":"","httpVersion":"HTTP/1.1","httpMethod":"GET","requestId":"rid"}}`, "1.1.1.1", "2019-12-13"},
	} {
		t.Run(c.origin, func(t *testing.T) {
			t.Parallel()
			lines := byteLines(strings.Split(c.lines, "\n"))
			format, err := accesslog.Detect(lines)
			if err != nil || format.Name() != c.format {
				t.Fatalf("detected %q, %v; want %s", format.Name(), err, c.format)
			}
			var record accesslog.Record
			var verdict accesslog.Verdict
			p := format.New(accesslog.Options{})
			for _, line := range lines {
				record, verdict = p.Parse(line)
			}
			if verdict != accesslog.Parsed {
				t.Fatalf("verdict %d", verdict)
			}
			addr := ""
			if record.Addr.IsValid() {
				addr = record.Addr.String()
			}
			if addr != c.addr || record.Day.String() != c.day {
				t.Errorf("%s on %s; want %s on %s", addr, record.Day, c.addr, c.day)
			}
		})
	}
}

func TestTimesAreReadInEveryNotation(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	// The days are those as written, in UTC, and in Berlin if times without a zone are of New York.
	for _, c := range []struct{ time, written, utc, local string }{
		{`"10/Oct/2000:20:55:36 -0700"`, "2000-10-10", "2000-10-11", "2000-10-11"},
		{`"10/Oct/2000 20:55:36"`, "2000-10-10", "2000-10-10", "2000-10-11"},
		{`"10/Oct/2000:20:55:36.123"`, "2000-10-10", "2000-10-10", "2000-10-11"},
		{`"2000-10-10T20:55:36-07:00"`, "2000-10-10", "2000-10-11", "2000-10-11"},
		{`"2000-10-10T20:55:36.123456789-0700"`, "2000-10-10", "2000-10-11", "2000-10-11"},
		{`"2000-10-10 23:55:36,123"`, "2000-10-10", "2000-10-10", "2000-10-11"},
		{`"2000-10-10 23:55:36 +0000"`, "2000-10-10", "2000-10-10", "2000-10-11"},
		{`"2000-10-10T23:55Z"`, "2000-10-10", "2000-10-10", "2000-10-11"},
		{`971221536`, "", "", ""},
		{`"0971221536"`, "2000-10-10", "2000-10-10", "2000-10-11"},
		{`1693840791.7564995`, "2023-09-04", "2023-09-04", "2023-09-04"},
		{`1693840791756`, "2023-09-04", "2023-09-04", "2023-09-04"},
		{`1693840791756499`, "2023-09-04", "2023-09-04", "2023-09-04"},
		{`1693840791756499512`, "2023-09-04", "2023-09-04", "2023-09-04"},
		{`1693840791756.4995`, "2023-09-04", "2023-09-04", "2023-09-04"},
		{`"2000/10/10 20:55:36.000"`, "2000-10-10", "2000-10-10", "2000-10-11"},
		{`16938407917564`, "", "", ""},
		{`"2000-02-30T10:00:00Z"`, "", "", ""},
		{`"2000-10-10T24:00:00Z"`, "", "", ""},
		{`"2000-10-10T10:00:61Z"`, "", "", ""},
		{`"yesterday"`, "", "", ""},
		{`null`, "", "", ""},
	} {
		format, err := accesslog.ByName("nginx-json")
		if err != nil {
			t.Fatal(err)
		}
		line := []byte(`{"remote_addr": "8.8.8.8", "time": ` + c.time + `}`)
		for want, options := range map[*string]accesslog.Options{
			&c.written: {},
			&c.utc:     {Zone: time.UTC},
			&c.local:   {Zone: berlin, Local: newYork(t)},
		} {
			p := format.New(options)
			for range 2 { // the second time it is remembered
				day := ""
				record, verdict := p.Parse(line)
				if verdict == accesslog.Parsed {
					day = record.Day.String()
				}
				if day != *want {
					t.Errorf("%s with %v: %q, want %q", c.time, options, day, *want)
				}
			}
		}
	}
}

func TestLayoutsOfServersAreAccepted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ layout, line, addr, day string }{
		{`$remote_addr - $remote_user [$time_local] "$request" $status`, `8.8.8.8 - - ` + stamp + ` "GET /" 200`, "8.8.8.8", "2000-10-10"},
		{`'$remote_addr [$time_local] '` + "\n\t" + `'"${request}" $status';`, `8.8.8.8 ` + stamp + ` "GET / \" x" 200`, "8.8.8.8", "2000-10-10"},
		{"log_format main '$remote_addr [$time_iso8601]';", `8.8.8.8 [2000-10-10T00:00:00+00:00]`, "8.8.8.8", "2000-10-10"},
		{"log_format j escape=json '{\"ip\":\"$remote_addr\",\"at\":$msec}';", `{"ip":"2600::1","at":1693840791.756}`, "2600::1", "2023-09-04"},
		{`$http_x_forwarded_for|$remote_addr|$msec`, `1.1.1.1|8.8.8.8|1693840791.756`, "8.8.8.8", "2023-09-04"},
		{`$http_x_forwarded_for $msec`, `10.0.0.1, unknown, 1.1.1.1 1693840791.756`, "1.1.1.1", "2023-09-04"},
		{`%h %l %u %t \"%r\" %>s %b`, `8.8.8.8 - - ` + stamp + ` \"GET /\" 200 23`, "8.8.8.8", "2000-10-10"},
		{`LogFormat "%v:%p %h %l %u %t \"%r\" %>s %O \"%{Referer}i\" \"%{User-Agent}i\"" vhost_combined`, `www.example.org:443 8.8.8.8 - - ` + stamp + request, "8.8.8.8", "2000-10-10"},
		{`%{X-Forwarded-For}i %t %>s`, `8.8.8.8, 10.0.0.1 ` + stamp + ` 200`, "8.8.8.8", "2000-10-10"},
		{`%a %{%Y-%m-%dT%H:%M:%S%z}t %400,501{User-Agent}i %!200,304>s %%`, `8.8.8.8 2000-10-10T13:55:36-0700 - 200 %`, "8.8.8.8", "2000-10-10"},
		{`[%{%d/%b/%Y %T}t.%{msec_frac}t %{%z}t] %h %D`, `[10/Oct/2000 13:55:36.123 -0700] 8.8.8.8 512`, "8.8.8.8", "2000-10-10"},
		{`%{sec}t %h`, `1693840791 8.8.8.8`, "8.8.8.8", "2023-09-04"},
	} {
		format, err := accesslog.ByName(c.layout)
		if err != nil {
			t.Error(err)
			continue
		}
		record, verdict := format.New(accesslog.Options{}).Parse([]byte(c.line))
		if verdict != accesslog.Parsed || record.Addr.String() != c.addr || record.Day.String() != c.day {
			t.Errorf("%s: %d, %v; want %s on %s", c.layout, verdict, record, c.addr, c.day)
		}
	}
}

func TestLayoutsThatCannotBeReadAreRefused(t *testing.T) {
	t.Parallel()
	for layout, want := range map[string]string{
		`$remote_addr$time_local`:                    "nothing between",
		`$time_local "$request"`:                     "no address",
		`$remote_addr "$request"`:                    "no time",
		`$binary_remote_addr $time_local`:            "not text",
		`$remote_addr [$]`:                           "no name",
		`log_format main $remote_addr $time_local;`:  "quotes",
		`log_format main '$remote_addr $time_local;`: "not closed",
		`%h %`:                        "no letter",
		`%h %{Referer`:                "not closed",
		`%h %{%A, the %d}t`:           "cannot be read",
		`LogFormat %h %t`:             "quotes",
		`LogFormat "%h %t \"%r\" %>s`: "not closed",
	} {
		if _, err := accesslog.ByName(layout); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", layout, err, want)
		}
	}
}
