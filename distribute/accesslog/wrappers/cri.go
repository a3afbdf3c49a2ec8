package wrappers

import "bytes"

// cri is what containerd and CRI-O write for Kubernetes, by its Container Runtime Interface.
var cri = Wrapper{
	Name:          "cri",
	Description:   "containerd, CRI-O: /var/log/pods of Kubernetes",
	Specification: "https://github.com/kubernetes/design-proposals-archive/blob/main/node/kubelet-cri-logging.md",
	Example:       `2026-11-20T14:00:05.123456789Z stdout F …`,
	Real: []Line{{
		Origin: "notes on /var/log/pods of a Kubernetes node, GitHub",
		Text:   `2025-02-02T20:02:37.040692426Z stdout F 127.0.0.1 - - [03/Feb/2025:04:02:37 +0800] "GET / HTTP/1.1" 200 612 "-" "curl/8.5.0" "-"`,
		Inner:  `127.0.0.1 - - [03/Feb/2025:04:02:37 +0800] "GET / HTTP/1.1" 200 612 "-" "curl/8.5.0" "-"`,
	}},
	Peel: peelCRI,
}

func peelCRI(line, buffer []byte) (Record, bool) {
	rest, ok := afterTimestamp(line)
	if !ok {
		return Record{}, false
	}
	record := Record{Buffer: buffer}
	switch {
	case bytes.HasPrefix(rest, []byte("stdout ")):
	case bytes.HasPrefix(rest, []byte("stderr ")):
		record.Stream = 1
	default:
		return Record{}, false
	}
	rest = rest[len("stdout "):]
	if len(rest) < 2 || rest[0] != 'F' && rest[0] != 'P' || rest[1] != ' ' {
		return Record{}, false
	}
	record.Partial, record.Inner = rest[0] == 'P', rest[2:]
	return record, true
}
