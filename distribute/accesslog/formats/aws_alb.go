package formats

import "time"

var awsALB = Format{
	Name:          "aws-alb",
	Description:   "AWS Application Load Balancer",
	Specification: "https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-access-logs.html",
	Unit:          time.Second,
	UTC:           true,
	Port:          true,
	Layouts: []string{
		`$type $time_iso8601 $elb $remote_addr $target $processing_1 $processing_2 $processing_3 ` +
			`$status $target_status $received_bytes $bytes_sent "$request" "$http_user_agent" $cipher $protocol $group "$rest`,
	},
	Example: `https 2018-07-02T22:23:00.186641Z app/web/50dc6c495c0c9188 203.0.113.7:2817 10.0.0.1:80 0.086 0.048 0.037 ` +
		`200 200 0 57 "GET https://www.example.com:443/ HTTP/1.1" "curl/7.46.0" ECDHE-RSA-AES128-GCM-SHA256 TLSv1.2 ` +
		`arn:aws:elasticloadbalancing:us-east-2:123456789012:targetgroup/web/73e2d6bc24d8a067 "Root=1-58337281" ` +
		`"www.example.com" "-" 1 2018-07-02T22:22:48.364000Z "forward" "-" "-" "10.0.0.1:80" "200" "-" "-"`,
	Reads: "2018-07-02T22:23:00Z 200 method=GET host=www.example.com:443 path=https://www.example.com:443/ protocol=HTTP/1.1 agent=curl/7.46.0 57 B 171ms",
	Real: []Line{
		{
			Origin:  "AWS documentation, ALB",
			Address: "192.168.131.39", Time: "2018-07-02T22:23:00Z", Status: "200",
			Text: `http 2018-07-02T22:23:00.186641Z app/my-loadbalancer/50dc6c495c0c9188 192.168.131.39:2817 10.0.0.1:80 0.000 0.001 0.000 200 200 34 366 "GET http://www.example.com:80/ HTTP/1.1" "curl/7.46.0" - - arn:aws:elasticloadbalancing:us-east-2:123456789012:targetgroup/my-targets/73e2d6bc24d8a067 "Root=1-58337262-36d228ad5d99923122bbe354" "-" "-" 0 2018-07-02T22:22:48.364000Z "forward" "-" "-" "10.0.0.1:80" "200" "-" "-"`,
		},
		{
			Origin:  "crowdsecurity/hub, ALB without target",
			Address: "192.168.1.13", Time: "2023-04-26T19:53:46Z", Status: "404",
			Text: `https 2023-04-26T19:53:46.679895Z app/546213e5-apiexamplecom-api-94aa/490d68edf04676fe 192.168.1.13:44740 - -1 -1 -1 404 - 204 167 "GET https://api.example.com:443/ HTTP/1.1" "-" ECDHE-RSA-AES128-GCM-SHA256 TLSv1.2 - "Root=1-6449800a" "api.example.com" "session-reused" 0 2023-04-26T19:53:46.678000Z "fixed-response" "-" "-" "-" "-"`,
		},
		{
			Origin:  "goaccess#2557, ALB and IPv6",
			Address: "2a02:a33c:4538:1:bcf4:5264:e01c:f215", Time: "2023-04-26T19:53:46Z", Status: "200",
			Text: `https 2023-04-26T19:53:46.679895Z app/I8YR24BIAN4K/6378464905b0814a 2a02:a33c:4538:1:bcf4:5264:e01c:f215:50718 10.0.0.0:80 0.000 0.001 0.000 200 200 34 366 "GET https://api.example.com:443/ HTTP/1.1" "-" - - - "Root=1-6449800a" "-" "-" 0 2023-04-26T19:53:46.678000Z "forward" "-" "-" "-" "-"`,
		},
	},
}
