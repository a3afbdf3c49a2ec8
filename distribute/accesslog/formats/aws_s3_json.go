package formats

// awsS3JSON is what AWS delivers to CloudWatch Logs instead of the text format of S3.
var awsS3JSON = Format{
	Name:          "aws-s3-json",
	Description:   "AWS S3 server access logs of CloudWatch in JSON",
	Specification: "https://docs.aws.amazon.com/AmazonS3/latest/userguide/sal-cw-log-format.html",
	Kind:          Objects,
	Fields: `
		address  remote_ip
		time     request_time
		status   http_status
		request  request_uri`,
	Example: `{"schema_version_id":"V_1_0","bucket_name":"awsexamplebucket","request_time":"2026-11-20T14:00:05.123Z",` +
		`"remote_ip":"203.0.113.7","requester":null,"operation":"REST.GET.OBJECT","key_name":"index.html",` +
		`"request_uri":"GET /index.html HTTP/1.1","http_status":200}`,
	Reads: "2026-11-20T14:00:05Z 200 method=GET path=/index.html protocol=HTTP/1.1",
}
