package accesslog

// common is the Common Log Format: %h %l %u %t "%r" %>s %b in the notation of
// Apache's mod_log_config. What its parser reads and no format above it in the
// table claims is common.
var common = Format{
	name:        "common",
	description: "Common Log Format: Apache's common and other servers' CLF",
	example:     `203.0.113.7 - frank [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 2326`,
	parser:      newCLF,
}
