package formats

import "time"

var awsS3 = Format{
	Name:          "aws-s3",
	Description:   "AWS S3 server access logs",
	Specification: "https://docs.aws.amazon.com/AmazonS3/latest/userguide/LogFormat.html",
	Unit:          time.Millisecond,
	Layouts: []string{
		`$owner $bucket [$time_local] $remote_addr $requester $request_id $operation $key "$request" $status $error ` +
			`$bytes_sent $object_size $request_time $turn_around "$http_referer" "$http_user_agent" $rest`,
		`$owner $bucket [$time_local] $remote_addr $requester $request_id $operation $key - $status $error ` +
			`$bytes_sent $object_size $request_time $turn_around $rest`,
	},
	Example: `79a59df900b949e55d96a1e698fbacedfd6e09d98eacf8f8d5218e7cd47ef2be awsexamplebucket [06/Feb/2019:00:00:38 +0000] ` +
		`203.0.113.7 - 3E57427F3EXAMPLE REST.GET.OBJECT index.html "GET /index.html HTTP/1.1" 200 - 113 113 7 - "-" "curl/8.5" -`,
	Reads: "2019-02-06T00:00:38Z 200 method=GET path=/index.html protocol=HTTP/1.1 agent=curl/8.5 113 B 7ms",
	Real: []Line{
		{
			Origin:  "AWS documentation, S3",
			Address: "192.0.2.3", Time: "2019-02-06T00:00:38Z", Status: "200",
			Text: `79a59df900b949e55d96a1e698fbacedfd6e09d98eacf8f8d5218e7cd47ef2be awsexamplebucket1 [06/Feb/2019:00:00:38 +0000] 192.0.2.3 79a59df900b949e55d96a1e698fbacedfd6e09d98eacf8f8d5218e7cd47ef2be 3E57427F3EXAMPLE REST.GET.VERSIONING - "GET /awsexamplebucket1?versioning HTTP/1.1" 200 - 113 - 7 - "-" "S3Console/0.4" - s9lzHYrFp76ZVxRcpX9+5cjAnEH2ROuNkd2BHfIa6UkFVdtjf5mKR3/eTPFvsiP/XV/VLi31234= SigV4 ECDHE-RSA-AES128-GCM-SHA256 AuthHeader awsexamplebucket1.s3.us-west-1.amazonaws.com TLSV1.2 - -`,
		},
	},
}
