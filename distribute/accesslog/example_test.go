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
	// unknown log format "ngnix": use one of vhost, vhost-combined, combined, nginx, common, minimal
}

func ExampleFormats() {
	for _, format := range accesslog.Formats() {
		fmt.Println(format.Name())
	}
	// Output:
	// vhost
	// combined
	// common
	// minimal
}

func ExampleIsPublic() {
	fmt.Println(accesslog.IsPublic(netip.MustParseAddr("8.8.8.8")))
	fmt.Println(accesslog.IsPublic(netip.MustParseAddr("100.64.1.2")))
	// Output:
	// true
	// false
}
