package formats

import "time"

var awsELB = Format{
	Name:          "aws-elb",
	Description:   "AWS Classic Load Balancer",
	Specification: "https://docs.aws.amazon.com/elasticloadbalancing/latest/classic/access-log-collection.html",
	Unit:          time.Second,
	UTC:           true,
	Port:          true,
	Layouts: []string{
		`$time_iso8601 $elb $remote_addr $backend $processing_1 $processing_2 $processing_3 ` +
			`$status $backend_status $received_bytes $bytes_sent "$request"$rest`,
	},
	Example: `2015-05-13T23:39:43.945958Z my-loadbalancer 203.0.113.7:2817 10.0.0.1:80 0.000073 0.001048 0.000057 200 200 ` +
		`0 29 "GET http://www.example.com:80/ HTTP/1.1" "curl/7.38.0" - -`,
	Reads: "2015-05-13T23:39:43Z 200 method=GET host=www.example.com:80 path=http://www.example.com:80/ protocol=HTTP/1.1 29 B 1.178ms",
	Real: []Line{
		{
			Origin:  "AWS documentation, Classic Load Balancer",
			Address: "192.168.131.39", Time: "2015-05-13T23:39:43Z", Status: "200",
			Text: `2015-05-13T23:39:43.945958Z my-loadbalancer 192.168.131.39:2817 10.0.0.1:80 0.000086 0.001048 0.001337 200 200 0 57 "GET https://www.example.com:443/ HTTP/1.1" "curl/7.38.0" DHE-RSA-AES128-SHA TLSv1.2`,
		},
		{
			Origin:  "AWS documentation, Classic Load Balancer, TCP listener",
			Address: "192.168.131.39", Time: "2015-05-13T23:39:43Z", Status: "-",
			Text: `2015-05-13T23:39:43.945958Z my-loadbalancer 192.168.131.39:2817 10.0.0.1:80 0.001069 0.000028 0.000041 - - 82 305 "- - - " "-" - -`,
		},
	},
}
