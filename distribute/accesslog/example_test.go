package accesslog_test

import (
	"bytes"
	"fmt"
	"net/netip"

	"skidway/distribute/accesslog"
)

func Example() {
	file := []byte(`198.51.100.20 - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 23 "-" "curl/8.5"
10.0.0.2, 8.8.8.8 - frank [11/Oct/2000:00:12:01 -0700] "GET / HTTP/1.1" 200 23 "-" "curl/8.5"
client.example.net - - [11/Oct/2000:00:13:44 -0700] "-" 408 -

`)
	lines := bytes.Split(bytes.TrimSuffix(file, []byte("\n")), []byte("\n"))
	format, err := accesslog.Detect(lines)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("format:", format.Name())
	parser := format.New(accesslog.Options{})
	for _, line := range lines {
		switch record, verdict := parser.Parse(line); verdict {
		case accesslog.Parsed:
			fmt.Println(record.Day, record.Addr)
		case accesslog.Unparsable:
			fmt.Println("unparsable")
		}
	}
	// Output:
	// format: combined
	// 2000-10-10 198.51.100.20
	// 2000-10-11 8.8.8.8
	// 2000-10-11 invalid IP
	// unparsable
}

func ExampleByName() {
	format, _ := accesslog.ByName("nginx")
	fmt.Println(format.Name())
	_, err := accesslog.ByName("ngnix")
	fmt.Println(err)
	// Output:
	// combined
	// unknown log format "ngnix": use one of cloudfront, w3c, iis-w3c, nginx-json, caddy, traefik-json, gcp-lb, aws-waf, azure, cloudflare, cloudfront-json, envoy-json, aws-s3-json, aws-alb, aws-nlb, aws-elb, aws-s3, envoy, haproxy, squid, cloudfront-real-time, gcs, iis, nginx-proxy-manager, ingress-nginx, traefik, lighttpd, vhost, vhost-combined, combined, nginx, common, unzoned, python, werkzeug, minimal, or the layout that the server writes, such as '$remote_addr [$time_local]'
}

func ExampleFormats() {
	for _, format := range accesslog.Formats()[:3] {
		fmt.Println(format.Name())
	}
	// Output:
	// cloudfront
	// w3c
	// nginx-json
}

func ExampleByLayout() {
	format, err := accesslog.ByLayout(`log_format mine '$host $http_x_forwarded_for [$time_local] '
		'"$request" $status';`)
	if err != nil {
		fmt.Println(err)
		return
	}
	record, _ := format.New(accesslog.Options{}).
		Parse([]byte(`www.example.org 10.0.0.2, 8.8.8.8 [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200`))
	fmt.Println(record.Day, record.Addr)
	// Output:
	// 2000-10-10 8.8.8.8
}

func ExampleIsPublic() {
	fmt.Println(accesslog.IsPublic(netip.MustParseAddr("8.8.8.8")))
	fmt.Println(accesslog.IsPublic(netip.MustParseAddr("100.64.1.2")))
	// Output:
	// true
	// false
}
