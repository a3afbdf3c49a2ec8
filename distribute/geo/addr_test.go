package geo

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"testing"
)

func ipv4(bits uint32) netip.Addr {
	var addr [4]byte
	binary.BigEndian.PutUint32(addr[:], bits)
	return netip.AddrFrom4(addr)
}

func indexOfLast(t testing.TB, file, part []byte) int {
	t.Helper()
	at := bytes.LastIndex(file, part)
	if at < 0 {
		t.Fatalf("file lacks %q", part)
	}
	return at
}
