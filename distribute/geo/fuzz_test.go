package geo

import (
	"os"
	"testing"
)

// FuzzOpen feeds the reader damaged files: whatever opens must answer every
// address without a panic, with a valid code. Its seeds are small: the fuzzer
// would spend its time on minimizing a real file.
func FuzzOpen(f *testing.F) {
	f.Add(image{databaseType: "country", ipVersion: 6, networks: map[string]any{
		"5.0.0.0/8": flat("FR"), "2a00::/16": flat("DE")}}.bytes(f), uint32(0x05060708))
	f.Add(image{databaseType: "own", ipVersion: 4, networks: map[string]any{
		"5.0.0.0/8": located("FR")}}.bytes(f), uint32(0x05060708))
	f.Fuzz(func(t *testing.T, file []byte, bits uint32) {
		db, err := openImage(file, "fuzz")
		if err != nil {
			return
		}
		for range 2 {
			if got := db.Country(ipv4(bits)); !got.valid() {
				t.Errorf("answer is %q", got)
			}
		}
		if name := db.Build().Name; !presentable(name) {
			t.Errorf("name is %q", name)
		}
	})
}

// FuzzOpenOneByte damages one byte of a real file, which mutation of whole files
// seldom does.
func FuzzOpenOneByte(f *testing.F) {
	maxmind, err := os.ReadFile(maxmindFile)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(uint16(0), byte(0xff), uint32(0x51024501))
	f.Add(uint16(len(maxmind)-1), byte(0xff), uint32(0x51024501))
	f.Fuzz(func(t *testing.T, at uint16, value byte, bits uint32) {
		file := append([]byte(nil), maxmind...)
		file[int(at)%len(file)] = value
		db, err := openImage(file, "fuzz")
		if err != nil {
			return
		}
		if got := db.Country(ipv4(bits)); !got.valid() {
			t.Errorf("answer is %q", got)
		}
	})
}
