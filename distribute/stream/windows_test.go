package stream

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

func TestDecompressorsShareWindows(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	frame := func(exponent byte) []byte { // with a window of 1 KiB << exponent, and one byte
		return []byte{0x28, 0xb5, 0x2f, 0xfd, 0, exponent << 3, 9, 0, 0, 'x'}
	}
	windows := NewWindows(6 * mib)
	read := func(packed ...[]byte) (io.ReadCloser, error) {
		content, err := Zstd.Inflate(bytes.NewReader(bytes.Join(packed, nil)), Decoding{Windows: windows})
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.Copy(io.Discard, content)
		return content, err
	}
	first, err := read(frame(12), frame(11), frame(12)) // 4 MiB
	if err != nil {
		t.Fatal(err)
	}
	second, err := read(frame(11)) // 2 MiB
	if err != nil {
		t.Fatal(err)
	}
	freed := windows.Freed()
	third, err := read(frame(10))
	var inUse *WindowsInUseError
	if !errors.As(err, &inUse) || inUse.Need != mib || IsDamage(err) || windows.Room(1) {
		t.Errorf("beside full windows: %v, %+v", err, inUse)
	}
	_ = third.Close()
	select {
	case <-freed:
		t.Error("a decompressor gave back what it had not")
	default:
	}
	_, _ = first.Close(), second.Close()
	<-freed
	if !windows.Room(100 * mib) {
		t.Error("there is no room beside nothing")
	}
	alone, err := read(frame(13))
	if err != nil {
		t.Errorf("alone, with a larger window than all may have: %v", err)
	}
	if _, err := read(frame(0)); !errors.As(err, &inUse) || inUse.Need != 1<<10 {
		t.Errorf("beside it: %v", err)
	}
	_ = alone.Close()
	if windows.used != 0 {
		t.Errorf("%d bytes are in use at the end", windows.used)
	}
}
