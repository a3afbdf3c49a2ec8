package formats

import "time"

var nginxJSON = Format{
	Name:          "nginx-json",
	Description:   "JSON with nginx's names: remote_addr, time_iso8601 …",
	Specification: "https://nginx.org/en/docs/http/ngx_http_log_module.html",
	Kind:          Objects,
	Shared:        true,
	Unit:          time.Second,
	Fields: `
		address  remote_addr clientip client_ip client
		time     time_iso8601 time_local timestamp @timestamp time msec
		status   status
		request  request
		method   request_method method
		path     request_uri uri
		host     host http_host server_name
		referrer http_referer http_referrer
		agent    http_user_agent
		user     remote_user
		bytes    body_bytes_sent bytes_sent
		duration request_time
		protocol server_protocol
		country  geoip2_data_country_code geoip_country_code http_cf_ipcountry`,
	Example: `{"time_iso8601":"2026-11-20T14:00:05+01:00","remote_addr":"203.0.113.7","request":"GET / HTTP/1.1","status":200}`,
	Reads:   "2026-11-20T14:00:05+01:00 200 method=GET path=/ protocol=HTTP/1.1",
	Real: []Line{
		{
			Origin:  "documentation of an nginx lab, Athena Labs",
			Address: "172.30.5.20", Time: "2026-07-13T22:22:56Z", Status: "404",
			Text: `{"timestamp":"2026-07-13T22:22:56+00:00","remote_addr":"172.30.5.20","request_method":"GET","request_uri":"/login?user=admin%27+OR+%271%27%3d%271&password=test","status":404,"body_bytes_sent":153,"http_referer":"","http_user_agent":"Athena-Labs-Attack/1.0","request_time":0.000}`,
		},
	},
}
