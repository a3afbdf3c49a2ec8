package geo

import (
	"bytes"
	"encoding/binary"
	"maps"
	"net/netip"
	"slices"
	"testing"
)

// image is a small MaxMind DB file (format 2.0, 24-bit records) in the making.
type image struct {
	databaseType string
	buildEpoch   uint64
	ipVersion    uint16
	spacing      int            // offsets of records are multiples of it, a power of two
	networks     map[string]any // prefix → record: string, uint16, uint64, []any or map[string]any
}

const (
	emptyChild = -1
	dataChild  = -2 // dataChild - offset: a record in the data section.
)

// bytes encodes the file.
func (i image) bytes(t testing.TB) []byte {
	t.Helper()
	nodes := [][2]int{{emptyChild, emptyChild}}
	var data []byte
	for _, network := range slices.Sorted(maps.Keys(i.networks)) {
		if i.spacing > 0 {
			data = append(data, make([]byte, -len(data)&(i.spacing-1))...)
		}
		record := dataChild - len(data)
		data = append(data, encode(t, i.networks[network])...)
		nodes = insert(nodes, treeBits(i.ipVersion, netip.MustParsePrefix(network)), record)
	}
	var file []byte
	for _, node := range nodes {
		for _, child := range node {
			switch {
			case child == emptyChild:
				child = len(nodes)
			case child <= dataChild:
				child = len(nodes) + 16 + dataChild - child
			}
			file = append(file, byte(child>>16), byte(child>>8), byte(child))
		}
	}
	file = append(file, make([]byte, 16)...)
	file = append(file, data...)
	file = append(file, "\xab\xcd\xefMaxMind.com"...)
	return append(file, encode(t, map[string]any{
		"binary_format_major_version": uint16(2),
		"build_epoch":                 i.buildEpoch,
		"database_type":               i.databaseType,
		"ip_version":                  i.ipVersion,
		"languages":                   []any{},
		"node_count":                  uint64(len(nodes)),
		"record_size":                 uint16(24),
	})...)
}

// treeBits is the path to a network; IPv4 is at ::/96 of an IPv6 tree.
func treeBits(ipVersion uint16, network netip.Prefix) []byte {
	addr := network.Addr().AsSlice()
	length := network.Bits()
	if ipVersion == 6 && network.Addr().Is4() {
		addr = append(make([]byte, 12), addr...)
		length += 96
	}
	bits := make([]byte, length)
	for i := range bits {
		bits[i] = addr[i/8] >> (7 - i%8) & 1
	}
	return bits
}

func insert(nodes [][2]int, bits []byte, record int) [][2]int {
	at := 0
	for _, bit := range bits[:len(bits)-1] {
		if nodes[at][bit] == emptyChild {
			nodes = append(nodes, [2]int{emptyChild, emptyChild})
			nodes[at][bit] = len(nodes) - 1
		}
		at = nodes[at][bit]
	}
	nodes[at][bits[len(bits)-1]] = record
	return nodes
}

// encode writes a value of the format's data section.
func encode(t testing.TB, value any) []byte {
	t.Helper()
	switch v := value.(type) {
	case string:
		if len(v) >= 29 {
			return append([]byte{2<<5 | 29, byte(len(v) - 29)}, v...)
		}
		return append([]byte{2<<5 | byte(len(v))}, v...)
	case uint16:
		return binary.BigEndian.AppendUint16([]byte{5<<5 | 2}, v)
	case uint64:
		return binary.BigEndian.AppendUint64([]byte{8, 9 - 7}, v)
	case []any:
		out := []byte{byte(len(v)), 11 - 7}
		for _, element := range v {
			out = append(out, encode(t, element)...)
		}
		return out
	case map[string]any:
		out := []byte{7<<5 | byte(len(v))}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			out = append(append(out, encode(t, key)...), encode(t, v[key])...)
		}
		return out
	}
	t.Fatalf("no encoding for %T", value)
	return nil
}

// flat is a record of the country_code schema.
func flat(code string) map[string]any { return map[string]any{"country_code": code} }

// located is a record of the MaxMind schema.
func located(code string) map[string]any {
	return map[string]any{"country": map[string]any{"iso_code": code}}
}

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
