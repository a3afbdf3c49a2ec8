package accesslog

// w3cFields are the columns of the Extended Log File Format, and the names of
// IIS and of CloudFront, that are read.
var w3cFields = map[string]Field{
	"c-ip":           Address,
	"date":           Date,
	"time":           Clock,
	"date-local":     Date,
	"time-local":     Clock,
	"sc-status":      Status,
	"cs-method":      Method,
	"cs-uri":         Path,
	"cs-uri-stem":    Path,
	"cs(Host)":       Host,
	"cs-host":        Host,
	"x-host-header":  Host,
	"cs(Referer)":    Referrer,
	"cs(Referrer)":   Referrer,
	"cs(User-Agent)": Agent,
	"cs-username":    User,
	"sc-bytes":       Bytes,
	"time-taken":     Duration,
	"cs-version":     Protocol,
	"c-country":      Country,
}

// cloudfront is the standard log of Amazon CloudFront, as it documents it: the
// Extended Log File Format with tabs. Times are UTC.
var cloudfront = Format{
	name:        "cloudfront",
	description: "Amazon CloudFront, standard logs with their #Fields line",
	example: "#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status\n" +
		"2019-12-04\t21:02:31\tLAX1\t392\t203.0.113.7\tGET\td111111abcdef8.cloudfront.net\t/index.html\t200",
	utc:      true,
	splitter: func(state string) splitter { return newColumns(w3cFields, "x-edge-location", state) },
}

// w3c is the Extended Log File Format (W3C working draft WD-logfile-960323), the
// default of IIS. Its times are UTC.
var w3c = Format{
	name:        "w3c",
	aliases:     []string{"iis-w3c"},
	description: "W3C Extended Log File Format with #Fields: IIS, others",
	example: "#Fields: date time s-ip cs-method cs-uri-stem c-ip sc-status\n" +
		"2015-01-13 00:32:17 192.0.2.1 GET /robots.txt 203.0.113.7 404",
	utc:      true,
	splitter: func(state string) splitter { return newColumns(w3cFields, "", state) },
}
