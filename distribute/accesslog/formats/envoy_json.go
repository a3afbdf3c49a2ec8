package formats

import "time"

var envoyJSON = Format{
	Name:          "envoy-json",
	Description:   "Envoy and Istio in JSON",
	Specification: "https://www.envoyproxy.io/docs/envoy/latest/configuration/observability/access_log/usage",
	Kind:          Objects,
	Unit:          time.Millisecond,
	Fields: `
		address  x_forwarded_for downstream_remote_address
		time     start_time
		status   response_code
		method   method
		path     path
		host     authority
		protocol protocol
		agent    user_agent
		bytes    bytes_sent
		duration duration`,
	Example: `{"start_time":"2021-02-11T16:29:24.123Z","method":"GET","path":"/","protocol":"HTTP/1.1","response_code":200,"x_forwarded_for":"203.0.113.7","downstream_remote_address":"192.0.2.1:42112"}`,
	Reads:   "2021-02-11T16:29:24Z 200 method=GET path=/ protocol=HTTP/1.1",
	Real: []Line{
		{
			Origin:  "elastic/integrations, Istio in JSON",
			Address: "2a02:cf40::4e36", Time: "2022-09-08T12:51:05Z", Status: "200",
			Text: `{"authority":"reviews:9080","bytes_received":0,"bytes_sent":358,"connection_termination_details":null,"downstream_local_address":"10.124.1.5:9080","downstream_remote_address":"[2a02:cf40::4e36]:5000","duration":15,"method":"GET","path":"/reviews/0","protocol":"HTTP/1.1","request_id":"9fcc7101-13bd-9753-98d6-820806088d9d","requested_server_name":"outbound_.9080_._.reviews.default.svc.cluster.local","response_code":200,"response_code_details":"via_upstream","response_flags":"-","route_name":"default","start_time":"2022-09-08T12:51:05.656Z","upstream_cluster":"inbound|9080||","upstream_host":"10.124.1.5:9080","upstream_local_address":"127.0.0.6:37685","upstream_service_time":"14","upstream_transport_failure_reason":null,"user_agent":"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/103.0.5060.114 Safari/537.36","x_forwarded_for":null}`,
		},
	},
}
