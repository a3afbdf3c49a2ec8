package formats

import "time"

var caddy = Format{
	Name:          "caddy",
	Description:   "Caddy's access log in JSON",
	Specification: "https://caddyserver.com/docs/caddyfile/directives/log",
	Kind:          Objects,
	Unit:          time.Second,
	Logger:        Logger{Key: "logger", Name: "http.log.access"},
	Fields: `
		address  request.client_ip request.remote_ip request.remote_addr
		time     ts
		status   status
		method   request.method
		path     request.uri
		host     request.host
		protocol request.proto
		referrer request.headers.Referer
		agent    request.headers.User-Agent
		user     user_id
		bytes    size
		duration duration`,
	Example: `{"level":"info","ts":1693840791.7564995,"logger":"http.log.access","msg":"handled request","request":{"remote_ip":"192.0.2.1","client_ip":"203.0.113.7","proto":"HTTP/1.1","method":"GET","host":"www.example.org","uri":"/"},"duration":0.001,"size":23,"status":200}`,
	Reads:   "2023-09-04T15:19:51Z 200 method=GET host=www.example.org path=/ protocol=HTTP/1.1 23 B 1ms",
	Real: []Line{
		{
			Origin:  "crowdsecurity/hub, Caddy",
			Address: "127.0.0.1", Time: "2023-09-04T15:19:51Z", Status: "200",
			Text: `{"level":"info","ts":1693840791.7564995,"logger":"http.log.access","msg":"handled request","request":{"remote_ip":"172.17.0.1","remote_port":"44790","client_ip":"127.0.0.1","proto":"HTTP/1.0","method":"GET","host":"127.0.0.1:8080","uri":"/","headers":{"X-Forwarded-Port":["80"],"User-Agent":["curl/7.74.0"]}},"bytes_read":0,"user_id":"","duration":0.000093421,"size":18753,"status":200,"resp_headers":{"Server":["Caddy"]}}`,
		},
	},
}
