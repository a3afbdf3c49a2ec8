package formats

import "time"

var googleLB = Format{
	Name:          "gcp-lb",
	Description:   "Google Cloud load balancers, one JSON object a line",
	Specification: "https://cloud.google.com/load-balancing/docs/https/https-logging-monitoring",
	Kind:          Objects,
	Unit:          time.Second,
	Fields: `
		address  httpRequest.remoteIp
		time     timestamp receiveTimestamp
		status   httpRequest.status
		method   httpRequest.requestMethod
		path     httpRequest.requestUrl
		referrer httpRequest.referer
		agent    httpRequest.userAgent
		bytes    httpRequest.responseSize
		duration httpRequest.latency
		protocol httpRequest.protocol`,
	Example: `{"httpRequest":{"remoteIp":"203.0.113.7","requestMethod":"GET","requestUrl":"https://www.example.org/","status":200},"timestamp":"2020-12-14T19:46:12.123456Z"}`,
	Reads:   "2020-12-14T19:46:12Z 200 method=GET host=www.example.org path=https://www.example.org/",
	Real: []Line{
		{
			Origin:  "elastic/integrations, Google load balancer",
			Address: "89.160.20.156", Time: "2020-06-08T23:41:30Z", Status: "304",
			Text: `{"insertId":"1oek5rg3l3fxj7","jsonPayload":{"@type":"type.googleapis.com/google.cloud.loadbalancin,g.type.LoadBalancerLogEntry","cacheId":"SFO-fbae48ad","statusDetails":"response_from_cache"},"httpRequest":{"requestMethod":"GET","requestUrl":"http://81.2.69.193:8080/static/us/three-cats.jpg","requestSize":"577","status":304,"responseSize":"157","userAgent":"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_14_6) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/83.0.4103.61 Safari/537.36","remoteIp":"89.160.20.156:9989","cacheHit":true,"cacheLookup":true,"serverIp":"10.5.3.1:9090","protocol":"HTTP/2.0","referer":"https://developer.mozilla.org/en-US/docs/Web/JavaScript"},"resource":{"type":"http_load_balancer","labels":{"zone":"global","url_map_name":"URL_MAP_NAME","forwarding_rule_name":"FORWARDING_RULE_NAME","target_proxy_name":"TARGET_PROXY_NAME","backend_service_name":"","project_id":"PROJECT_ID"}},"timestamp":"2020-06-08T23:41:30.078651Z","severity":"INFO","logName":"projects/PROJECT_ID/logs/requests","trace":"projects/PROJECT_ID/traces/241d69833e64b3bf83fabac8c873d992","receiveTimestamp":"2020-06-08T23:41:30.588272510Z","spanId":"7b6537d3672e08e1"}`,
		},
	},
}
