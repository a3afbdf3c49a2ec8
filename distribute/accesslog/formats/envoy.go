package formats

import "time"

var envoy = Format{
	Name:          "envoy",
	Description:   "Envoy and Istio, the address from X-Forwarded-For",
	Specification: "https://www.envoyproxy.io/docs/envoy/latest/configuration/observability/access_log/usage",
	Unit:          time.Millisecond,
	Layouts: []string{
		`[$time_iso8601] "$request" $status $flags $bytes_received $bytes_sent $request_time $upstream_time ` +
			`"$http_x_forwarded_for" "$http_user_agent" "$request_id" "$host" "$upstream"`,
		`[$time_iso8601] "$request" $status $flags "$failure" $bytes_received $bytes_sent ` + // Istio before 1.9
			`$request_time $upstream_time "$http_x_forwarded_for" "$http_user_agent" "$request_id" "$host" "$upstream"`,
		`[$time_iso8601] "$request" $status $flags "$mixer" "$failure" $bytes_received $bytes_sent ` + // with Mixer
			`$request_time $upstream_time "$http_x_forwarded_for" "$http_user_agent" "$request_id" "$host" "$upstream"`,
		`[$time_iso8601] "$request" $status $flags $details $termination "$failure" $bytes_received $bytes_sent ` +
			`$request_time $upstream_time "$http_x_forwarded_for" "$http_user_agent" "$request_id" "$host" "$upstream"`,
	},
	Example: `[2021-02-11T16:29:24.123Z] "GET / HTTP/1.1" 200 - 0 23 4 3 "203.0.113.7" "curl/8.5" ` +
		`"c2b1b2b5" "www.example.org" "10.0.0.9:8080"`,
	Reads: "2021-02-11T16:29:24Z 200 method=GET host=www.example.org path=/ protocol=HTTP/1.1 agent=curl/8.5 23 B 4ms",
	Real: []Line{
		{
			Origin:  "Envoy documentation",
			Address: "10.0.35.28", Time: "2016-04-15T20:17:00Z", Status: "204",
			Text: `[2016-04-15T20:17:00.310Z] "POST /api/v1/locations HTTP/2" 204 - 154 0 226 100 "10.0.35.28" "nsq2http" "cc21d9b0-cf5c-432b-8c7e-98aeb7988cd2" "locations" "tcp://10.0.2.1:80"`,
		},
		{
			Origin:  "Istio documentation",
			Address: "-", Time: "2020-11-25T21:26:18Z", Status: "418",
			Text: `[2020-11-25T21:26:18.409Z] "GET /status/418 HTTP/1.1" 418 - via_upstream - "-" 0 135 3 1 "-" "curl/7.73.0-DEV" "84961386-6d84-929d-98bd-c5aee93b5c88" "httpbin:8000" "127.0.0.1:80" inbound|8000|| 127.0.0.1:41854 10.44.1.27:80 10.44.1.23:37652 outbound_.8000_._.httpbin.foo.svc.cluster.local default`,
		},
		{
			Origin:  "istio/istio, issue 30594, Istio 1.8",
			Address: "-", Time: "2021-02-03T20:14:37Z", Status: "400",
			Text: `[2021-02-03T20:14:37.105Z] "- - HTTP/1.1" 400 DPE "-" 0 11 0 - "-" "-" "-" "-" "-" - - 10.36.1.146:8080 10.36.1.1:51981 - `,
		},
		{
			Origin:  "nitishm/engarde, pull request 8, Istio with Mixer",
			Address: "-", Time: "2020-05-19T19:53:38Z", Status: "-",
			Text: `[2020-05-19T19:53:38.151Z] "- - -" 0 - "-" "-" 2279 3059 63 - "-" "-" "-" "-" "1.2.3.4:443" PassthroughCluster 10.0.0.93:37018 1.2.3.4:443 10.0.0.93:39849 - -`,
		},
	},
}
