package accesslog

import "time"

// The JSON formats, most of them by the documentation of their servers. Each is known by
// the keys of its address and its time.
var (
	nginxJSON = objectFormat(Format{
		name:        "nginx-json",
		unit:        time.Second,
		description: "JSON with nginx's names: remote_addr, time_iso8601 …",
		example:     `{"time_iso8601":"2026-11-20T14:00:05+01:00","remote_addr":"203.0.113.7","request":"GET / HTTP/1.1","status":200}`,
	}, map[Field][]string{
		Address:  {"remote_addr", "clientip", "client_ip", "client"},
		Time:     {"time_iso8601", "time_local", "timestamp", "@timestamp", "time", "msec"},
		Status:   {"status"},
		Request:  {"request"},
		Method:   {"request_method", "method"},
		Path:     {"request_uri", "uri"},
		Host:     {"host", "http_host", "server_name"},
		Referrer: {"http_referer", "http_referrer"},
		Agent:    {"http_user_agent"},
		User:     {"remote_user"},
		Bytes:    {"body_bytes_sent", "bytes_sent"},
		Duration: {"request_time"},
		Protocol: {"server_protocol"},
		Country:  {"geoip2_data_country_code", "geoip_country_code", "http_cf_ipcountry"},
	})

	caddy = objectFormat(Format{
		name:        "caddy",
		unit:        time.Second,
		description: "Caddy's access log in JSON",
		example:     `{"level":"info","ts":1693840791.7564995,"logger":"http.log.access","msg":"handled request","request":{"remote_ip":"192.0.2.1","client_ip":"203.0.113.7","proto":"HTTP/1.1","method":"GET","host":"www.example.org","uri":"/"},"duration":0.001,"size":23,"status":200}`,
	}, map[Field][]string{
		Address:  {"request.client_ip", "request.remote_ip", "request.remote_addr"},
		Time:     {"ts"},
		Status:   {"status"},
		Method:   {"request.method"},
		Path:     {"request.uri"},
		Host:     {"request.host"},
		Protocol: {"request.proto"},
		Referrer: {"request.headers.Referer"},
		Agent:    {"request.headers.User-Agent"},
		User:     {"user_id"},
		Bytes:    {"size"},
		Duration: {"duration"},
	})

	traefikJSON = objectFormat(Format{
		name:        "traefik-json",
		unit:        time.Nanosecond,
		description: "Traefik's access log in JSON",
		example:     `{"ClientAddr":"192.0.2.1:52134","ClientHost":"203.0.113.7","DownstreamStatus":200,"RequestMethod":"GET","RequestPath":"/","StartUTC":"2021-12-08T09:16:05.123456789Z","level":"info","time":"2021-12-08T09:16:05Z"}`,
	}, map[Field][]string{
		Address:  {"ClientHost"},
		Time:     {"StartUTC", "time"},
		Status:   {"DownstreamStatus"},
		Method:   {"RequestMethod"},
		Path:     {"RequestPath"},
		Host:     {"RequestHost"},
		Protocol: {"RequestProtocol"},
		Referrer: {"request_Referer"},
		Agent:    {"request_User-Agent"},
		User:     {"ClientUsername"},
		Bytes:    {"DownstreamContentSize"},
		Duration: {"Duration"},
	})

	googleLB = objectFormat(Format{
		name:        "gcp-lb",
		unit:        time.Second,
		description: "Google Cloud load balancers, one JSON object a line",
		example:     `{"httpRequest":{"remoteIp":"203.0.113.7","requestMethod":"GET","requestUrl":"https://www.example.org/","status":200},"timestamp":"2020-12-14T19:46:12.123456Z"}`,
	}, map[Field][]string{
		Address:  {"httpRequest.remoteIp"},
		Time:     {"timestamp", "receiveTimestamp"},
		Status:   {"httpRequest.status"},
		Method:   {"httpRequest.requestMethod"},
		Path:     {"httpRequest.requestUrl"},
		Referrer: {"httpRequest.referer"},
		Agent:    {"httpRequest.userAgent"},
		Bytes:    {"httpRequest.responseSize"},
		Duration: {"httpRequest.latency"},
		Protocol: {"httpRequest.protocol"},
	})

	awsWAF = objectFormat(Format{
		name:        "aws-waf",
		description: "AWS WAF in JSON",
		example:     `{"timestamp":1576280412771,"formatVersion":1,"action":"ALLOW","httpRequest":{"clientIp":"203.0.113.7","country":"AU","uri":"/","httpVersion":"HTTP/1.1","httpMethod":"GET"}}`,
	}, map[Field][]string{
		Address:  {"httpRequest.clientIp"},
		Time:     {"timestamp"},
		Status:   {"responseCodeSent"},
		Method:   {"httpRequest.httpMethod"},
		Path:     {"httpRequest.uri"},
		Protocol: {"httpRequest.httpVersion"},
		Country:  {"httpRequest.country"},
	})

	azure = objectFormat(Format{
		name:        "azure",
		unit:        time.Second,
		description: "Azure Front Door, Application Gateway: an object a line",
		example:     `{"time":"2021-06-09T19:22:55.0000000Z","category":"FrontDoorAccessLog","properties":{"clientIp":"203.0.113.7","httpMethod":"GET","httpStatusCode":"200","requestUri":"https://www.example.org/"}}`,
	}, map[Field][]string{
		Address:  {"properties.clientIp", "properties.clientIP"},
		Time:     {"time", "timeStamp"},
		Status:   {"properties.httpStatusCode", "properties.httpStatus"},
		Method:   {"properties.httpMethod"},
		Path:     {"properties.requestUri"},
		Host:     {"properties.hostName", "properties.host"},
		Agent:    {"properties.userAgent"},
		Referrer: {"properties.referer"},
		Bytes:    {"properties.responseBytes", "properties.sentBytes"},
		Duration: {"properties.timeTaken"},
		Protocol: {"properties.httpVersion"},
	})

	cloudflare = objectFormat(Format{
		name:        "cloudflare",
		description: "Cloudflare Logpush of HTTP requests in JSON",
		example:     `{"ClientIP":"203.0.113.7","ClientRequestHost":"www.example.org","ClientRequestMethod":"GET","ClientRequestURI":"/","EdgeResponseBytes":23,"EdgeResponseStatus":200,"EdgeStartTimestamp":"2019-07-29T10:00:00Z"}`,
	}, map[Field][]string{
		Address:  {"ClientIP"},
		Time:     {"EdgeStartTimestamp"},
		ended:    {"EdgeEndTimestamp"},
		Country:  {"ClientCountry"},
		Status:   {"EdgeResponseStatus"},
		Method:   {"ClientRequestMethod"},
		Path:     {"ClientRequestURI"},
		Host:     {"ClientRequestHost"},
		Protocol: {"ClientRequestProtocol"},
		Referrer: {"ClientRequestReferer"},
		Agent:    {"ClientRequestUserAgent"},
		Bytes:    {"EdgeResponseBytes"},
	})

	cloudfrontJSON = objectFormat(Format{
		name:        "cloudfront-json",
		unit:        time.Second,
		description: "Amazon CloudFront, standard logs in JSON",
		utc:         true,
		example:     `{"date":"2024-11-14","time":"21:02:31","x-edge-location":"LAX1","c-ip":"203.0.113.7","cs-method":"GET","cs-uri-stem":"/index.html","sc-status":"200"}`,
	}, map[Field][]string{
		Address:  {"c-ip"},
		Date:     {"date"},
		Clock:    {"time"},
		Time:     {"timestamp"},
		Status:   {"sc-status"},
		Method:   {"cs-method"},
		Host:     {"x-host-header", "cs(Host)"},
		Path:     {"cs-uri-stem"},
		Agent:    {"cs(User-Agent)"},
		Bytes:    {"sc-bytes"},
		Country:  {"c-country"},
		Duration: {"time-taken"},
		Protocol: {"cs-protocol-version"},
		Referrer: {"cs(Referer)"},
	})

	envoyJSON = objectFormat(Format{
		name:        "envoy-json",
		unit:        time.Millisecond,
		description: "Envoy and Istio in JSON",
		example:     `{"start_time":"2021-02-11T16:29:24.123Z","method":"GET","path":"/","protocol":"HTTP/1.1","response_code":200,"x_forwarded_for":"203.0.113.7","downstream_remote_address":"192.0.2.1:42112"}`,
	}, map[Field][]string{
		Address:  {"x_forwarded_for", "downstream_remote_address"},
		Time:     {"start_time"},
		Status:   {"response_code"},
		Method:   {"method"},
		Path:     {"path"},
		Host:     {"authority"},
		Protocol: {"protocol"},
		Agent:    {"user_agent"},
		Bytes:    {"bytes_sent"},
		Duration: {"duration"},
	})
)

// objectFormat completes a format whose lines are JSON objects.
func objectFormat(f Format, paths map[Field][]string) Format {
	known := newObjectPaths(paths)
	f.splitter, f.keys = func(string) splitter { return &objects{objectPaths: known} }, paths
	return f
}
