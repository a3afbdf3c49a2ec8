package accesslog

// combined is the Common Log Format with referer and user agent, both quoted.
// It is nginx's default under that same name; the "main" format that nginx
// packages configure adds the X-Forwarded-For header, which is not the client
// address of the format and is not read.
var combined = Format{
	name:        "combined",
	aliases:     []string{"nginx"},
	description: "Combined Log Format: Apache's combined, nginx's default and main",
	example:     `203.0.113.7 - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 2326 "-" "Mozilla/5.0"`,
	parser:      newCLF,
	fits:        isCombined,
}

// isCombined tells whether request, referer and user agent follow the time, or
// more.
func isCombined(line []byte) bool {
	at := findStamp(line)
	return at >= 0 && countQuoted(line[at+stampLen:]) >= 3
}
