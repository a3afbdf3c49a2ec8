package formats

import "time"

var awsNLB = Format{
	Name:          "aws-nlb",
	Description:   "AWS Network Load Balancer, TLS listeners",
	Specification: "https://docs.aws.amazon.com/elasticloadbalancing/latest/network/load-balancer-access-logs.html",
	Unit:          time.Millisecond,
	UTC:           true,
	Port:          true,
	Layouts: []string{
		`tls $version $time_iso8601 $elb $listener $remote_addr $destination $request_time $handshake $received_bytes $bytes_sent $rest`,
	},
	Example: `tls 2.0 2018-12-20T02:59:40 net/web/c6e77e28c25b2234 g3d4b5e8bb8464cd 203.0.113.7:51341 10.0.0.1:443 ` +
		`5 2 98 246 - - - ECDHE-RSA-AES128-SHA tlsv12 - web-c6e77e28c25b2234.elb.us-east-2.amazonaws.com - - -`,
	Reads: "2018-12-20T02:59:40Z - 246 B 5ms",
	Real: []Line{
		{
			Origin:  "AWS documentation, NLB",
			Address: "72.21.218.154", Time: "2018-12-20T02:59:40Z", Status: "-",
			Text: "tls 2.0 2018-12-20T02:59:40 net/my-network-loadbalancer/c6e77e28c25b2234 g3d4b5e8bb8464cd 72.21.218.154:51341 172.100.100.185:443 5 2 98 246 - arn:aws:acm:us-east-2:671290407336:certificate/2a108f19-aded-46b0-8493-c63eb1ef4a99 - ECDHE-RSA-AES128-SHA TLSv12 - my-network-loadbalancer-c6e77e28c25b2234.elb.us-east-2.amazonaws.com - - - 2018-12-20T02:59:30",
		},
	},
}
