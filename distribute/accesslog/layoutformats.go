package accesslog

import "time"

// Formats that are layouts, each by the documentation of its server. Names of values
// are those of nginx's variables where there is one; what other values are called does
// not matter.
var (
	ingressNginx = layoutFormat(Format{
		name:        "ingress-nginx",
		unit:        time.Second,
		description: "Kubernetes ingress-nginx, log-format-upstream",
		example: `203.0.113.7 - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 23 "-" "curl/8.5" 612 0.004 ` +
			`[default-web-80] [] 10.4.0.9:8080 23 0.004 200 5f2a5b3e6d1c4a7f8b9e0d1c2a3b4c5d`,
	}, `$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" `+
		`$request_length $request_time [$proxy_upstream_name] [$alternative] $upstream`)

	nginxProxyManager = layoutFormat(Format{
		name:        "nginx-proxy-manager",
		unit:        time.Second,
		description: "Nginx Proxy Manager, proxy hosts and default host",
		example: `[10/Oct/2000:13:55:36 -0700] - 200 200 - GET https www.example.org "/" [Client 203.0.113.7] [Length 23] ` +
			`[Gzip -] [Sent-to 192.0.2.1] "curl/8.5" "-"`,
	}, `[$time_local] $upstream_cache_status $upstream_status $status - $request_method $scheme $host "$request_uri" `+
		`[Client $remote_addr] [Length $body_bytes_sent] [Gzip $gzip] [Sent-to $server] "$http_user_agent" "$http_referer"`,
		`[$time_local] $status - $request_method $scheme $host "$request_uri" `+
			`[Client $remote_addr] [Length $body_bytes_sent] [Gzip $gzip] "$http_user_agent" "$http_referer"`)

	traefik = layoutFormat(Format{
		name:        "traefik",
		unit:        time.Millisecond,
		description: "Traefik, common log format with router and server",
		example: `203.0.113.7 - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 23 "-" "curl/8.5" 500 "web@docker" ` +
			`"http://172.17.0.3:80" 4ms`,
	}, `$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" `+
		`$number "$router" "$server" ${request_time}ms`,
		`$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" `+
			`$number "$router" - ${request_time}ms`,
		`$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" `+
			`$number - - ${request_time}ms`)

	lighttpd = layoutFormat(Format{
		name:        "lighttpd",
		description: "lighttpd: address, then the requested host",
		example:     `203.0.113.7 www.example.org - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 23 "-" "curl/8.5"`,
		fits:        isLighttpd,
	}, `$remote_addr $host $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent"`)

	haproxy = layoutFormat(Format{
		name:        "haproxy",
		unit:        time.Millisecond,
		port:        true,
		description: "HAProxy, option httplog",
		example: `203.0.113.7:5678 [10/Oct/2000:13:55:36.123] front~ back/web1 0/0/1/43/44 200 23 - - ---- 3/3/1/1/0 0/0 ` +
			`"GET / HTTP/1.1"`,
	}, `$remote_addr [$time_local] $frontend $backend/$server $tq/$tw/$tc/$tr/$request_time $status $bytes_sent `+
		`$request_cookie $response_cookie $termination $actconn/$feconn/$beconn/$srvconn/$retries $srvqueue/$backqueue `+
		`$captured"$request"`)

	envoy = layoutFormat(Format{
		name:        "envoy",
		unit:        time.Millisecond,
		description: "Envoy and Istio, the address from X-Forwarded-For",
		example: `[2021-02-11T16:29:24.123Z] "GET / HTTP/1.1" 200 - 0 23 4 3 "203.0.113.7" "curl/8.5" ` +
			`"c2b1b2b5" "www.example.org" "10.0.0.9:8080"`,
	}, `[$time_iso8601] "$request" $status $flags $bytes_received $bytes_sent $request_time $upstream_time `+
		`"$http_x_forwarded_for" "$http_user_agent" "$request_id" "$host" "$upstream"`,
		`[$time_iso8601] "$request" $status $flags $details $termination "$failure" $bytes_received $bytes_sent `+
			`$request_time $upstream_time "$http_x_forwarded_for" "$http_user_agent" "$request_id" "$host" "$upstream"`)

	squid = layoutFormat(Format{
		name:        "squid",
		unit:        time.Millisecond,
		description: "Squid's native log",
		example:     `1286536309.586    921 203.0.113.7 TCP_MISS/200 507 GET http://www.example.org/ - HIER_DIRECT/192.0.2.1 text/html`,
	}, `$msec $request_time $remote_addr $code/$status $bytes_sent $request_method $request_uri $remote_user $hierarchy/$peer $type`)

	awsALB = layoutFormat(Format{
		name:        "aws-alb",
		unit:        time.Second,
		port:        true,
		description: "AWS Application Load Balancer",
		utc:         true,
		example: `https 2018-07-02T22:23:00.186641Z app/web/50dc6c495c0c9188 203.0.113.7:2817 10.0.0.1:80 0.086 0.048 0.037 ` +
			`200 200 0 57 "GET https://www.example.com:443/ HTTP/1.1" "curl/7.46.0" ECDHE-RSA-AES128-GCM-SHA256 TLSv1.2 ` +
			`arn:aws:elasticloadbalancing:us-east-2:123456789012:targetgroup/web/73e2d6bc24d8a067 "Root=1-58337281" ` +
			`"www.example.com" "-" 1 2018-07-02T22:22:48.364000Z "forward" "-" "-" "10.0.0.1:80" "200" "-" "-"`,
	}, `$type $time_iso8601 $elb $remote_addr $target $processing_1 $processing_2 $processing_3 `+
		`$status $target_status $received_bytes $bytes_sent "$request" "$http_user_agent" $cipher $protocol $group "$rest`)

	cloudfrontRealTime = layoutFormat(Format{
		name:        "cloudfront-real-time",
		unit:        time.Second,
		description: "Amazon CloudFront, real-time logs, tabs between fields",
		example: "1594939200.123\t203.0.113.7\t192.0.2.1\t0.002\t200\t392\tGET\thttps\td111111abcdef8.cloudfront.net\t/index.html\t" +
			"23\tLAX1\tSOX4xwn4XV6Q4rgb7XiVGOHms_BGlTAC4KyHmureZmBNrjGdRLiNIQ==\twww.example.org\t0.004\tHTTP/2.0\tIPv4\tcurl/8.5\t-\t-",
	}, realTimeLayouts()...)

	googleStorage = layoutFormat(Format{
		name:        "gcs",
		unit:        time.Microsecond,
		header:      `"time_micros",`,
		description: "Google Cloud Storage, usage logs",
		example: `"time_micros","c_ip","c_ip_type","c_ip_region","cs_method","cs_uri","sc_status","cs_bytes","sc_bytes","time_taken_micros","cs_host","cs_referer","cs_user_agent","s_request_id","cs_operation","cs_bucket","cs_object"` + "\n" +
			`"1594939200123456","203.0.113.7","1","","GET","/bucket/object","200","0","23","4000","storage.googleapis.com","","curl/8.5","AMSGTaCBY8x2JPn5Kw","GET_Object","bucket","object"`,
	}, `"$msec","$remote_addr","$ip_type","$region","$request_method","$request_uri","$status","$received_bytes","$bytes_sent","$request_time",`+
		`"$host","$http_referer","$http_user_agent",$rest`)

	awsNLB = layoutFormat(Format{
		name:        "aws-nlb",
		unit:        time.Millisecond,
		port:        true,
		description: "AWS Network Load Balancer, TLS listeners",
		utc:         true,
		example: `tls 2.0 2018-12-20T02:59:40 net/web/c6e77e28c25b2234 g3d4b5e8bb8464cd 203.0.113.7:51341 10.0.0.1:443 ` +
			`5 2 98 246 - - - ECDHE-RSA-AES128-SHA tlsv12 - web-c6e77e28c25b2234.elb.us-east-2.amazonaws.com - - -`,
	}, `tls $version $time_iso8601 $elb $listener $remote_addr $destination $request_time $handshake $received_bytes $bytes_sent $rest`)

	awsELB = layoutFormat(Format{
		name:        "aws-elb",
		unit:        time.Second,
		port:        true,
		description: "AWS Classic Load Balancer",
		utc:         true,
		example: `2015-05-13T23:39:43.945958Z my-loadbalancer 203.0.113.7:2817 10.0.0.1:80 0.000073 0.001048 0.000057 200 200 ` +
			`0 29 "GET http://www.example.com:80/ HTTP/1.1" "curl/7.38.0" - -`,
	}, `$time_iso8601 $elb $remote_addr $backend $processing_1 $processing_2 $processing_3 `+
		`$status $backend_status $received_bytes $bytes_sent "$request"$rest`)

	awsS3 = layoutFormat(Format{
		name:        "aws-s3",
		unit:        time.Millisecond,
		description: "AWS S3 server access logs",
		example: `79a59df900b949e55d96a1e698fbacedfd6e09d98eacf8f8d5218e7cd47ef2be awsexamplebucket [06/Feb/2019:00:00:38 +0000] ` +
			`203.0.113.7 - 3E57427F3EXAMPLE REST.GET.OBJECT index.html "GET /index.html HTTP/1.1" 200 - 113 113 7 - "-" "curl/8.5" -`,
	}, `$owner $bucket [$time_local] $remote_addr $requester $request_id $operation $key "$request" $status $error `+
		`$bytes_sent $object_size $request_time $turn_around "$http_referer" "$http_user_agent" $rest`,
		`$owner $bucket [$time_local] $remote_addr $requester $request_id $operation $key - $status $error `+
			`$bytes_sent $object_size $request_time $turn_around $rest`)

	iis = layoutFormat(Format{
		name:        "iis",
		unit:        time.Millisecond,
		description: "IIS log format: commas between fields, local time",
		example:     "203.0.113.7, -, 03/20/01, 7:55:20, W3SVC2, SERVER, 192.0.2.1, 4502, 163, 3223, 200, 0, GET, /index.html, -,",
	}, `$remote_addr, $remote_user, $date, $clock, $service, $server, $server_addr, $request_time, $received_bytes, `+
		`$bytes_sent, $status, $windows_status, $request_method, $uri, $rest`)
)

// realTimeLayouts returns the layouts of real-time logs with all fields, or with the first
// ones: with and without the address of the server, which came later, and for both schemes,
// by which the columns are known.
func realTimeLayouts() (texts []string) {
	for _, rest := range []string{
		"$request_uri\t$received_bytes\t$location\t$request_id\t$host\t$request_time\t$server_protocol\t$ip_version\t$http_user_agent\t$http_referer\t$rest",
		"$request_uri",
	} {
		for _, server := range []string{"\t$server_addr", ""} {
			for _, scheme := range []string{"https", "http"} {
				texts = append(texts, "$msec\t$remote_addr"+server+"\t$first_byte\t$status\t$bytes_sent\t$request_method\t"+
					scheme+"\t$distribution\t"+rest)
			}
		}
	}
	return texts
}

// layoutFormat completes a format whose lines have one of some layouts.
func layoutFormat(f Format, texts ...string) Format {
	f.layouts = mustLayouts(texts...)
	f.splitter = func(string) splitter { return f.layouts }
	if f.header != "" {
		f.splitter = func(string) splitter { return headed{f.layouts, f.header} }
	}
	return f
}

// mustLayouts returns layouts in nginx's notation. They are constants, so an error is a
// mistake in the program.
func mustLayouts(texts ...string) layouts {
	all := make(layouts, len(texts))
	for i, text := range texts {
		all[i] = mustLayout(text)
	}
	return all
}

func mustLayout(text string) *layout {
	l, err := compileLayout(text, nginxValue, nginxPieces)
	if err != nil {
		panic(&LayoutError{text, err})
	}
	return l
}

// layouts is the splitter of a format whose lines have one of some layouts.
type layouts []*layout

func (l layouts) state() string { return "" }

// split implements [splitter].
func (l layouts) split(line []byte, v *values, s scope) Verdict {
	if s == wanted && len(l) > 1 && l.split(line, v, exact) == Parsed {
		return Parsed
	}
	for _, layout := range l {
		if layout.split(line, v, s) == Parsed {
			return Parsed
		}
	}
	return Unparsable
}

// headed is the splitter of files that begin with a line of the columns' names.
type headed struct {
	layouts
	header string // how that line begins
}

// split implements [splitter].
func (h headed) split(line []byte, v *values, s scope) Verdict {
	if _, ok := cutPrefix(line, h.header); ok {
		return NotALine
	}
	if _, ok := cutPrefix(trimStart(line), h.header); ok {
		return NotALine
	}
	return h.layouts.split(line, v, s)
}

// isLighttpd reports whether an address, the name of a host and a user stand before the
// time: in the combined format, what follows the address is rarely a name with a dot.
func isLighttpd(line []byte) bool {
	line = trimStart(line)
	at := findStamp(line)
	if at < 0 || countFields(line[:at]) != 3 {
		return false
	}
	first, rest, comma := nextToken(line)
	host, _, _ := nextToken(rest)
	for _, c := range host {
		if c == '.' || c == ':' {
			return !comma && !hasPort(first) && address(first).IsValid() && !address(host).IsValid()
		}
	}
	return false
}
