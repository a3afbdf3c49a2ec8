package queue

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// zstdPacking is the only way of packing args; its specification is RFC 8878.
const zstdPacking = "zstd"

// maxZstdWindow bounds the memory of a decoder. Encoders of up to 1 MiB of args
// stay far below.
const maxZstdWindow = 8 << 20

var (
	encoders = sync.Pool{New: func() any {
		encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
		if err != nil {
			panic(err) // its options are constants
		}
		return encoder
	}}
	decoders = sync.Pool{New: func() any {
		decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxZstdWindow))
		if err != nil {
			panic(err)
		}
		return decoder
	}}
)

// pack compresses args where that makes them smaller.
func pack(args []byte) (packed, packing string) {
	encoder := encoders.Get().(*zstd.Encoder)
	defer encoders.Put(encoder)
	if small := encoder.EncodeAll(args, nil); len(small) < len(args) {
		return string(small), zstdPacking
	}
	return string(args), ""
}

// unpack undoes it. Anyone could have written the bytes: no more than limit are
// unpacked, whatever their header says.
func unpack(packed, packing string, limit int) ([]byte, error) {
	switch packing {
	case "":
		if len(packed) > limit {
			return nil, fmt.Errorf("%d bytes, the limit is %d", len(packed), limit)
		}
		return []byte(packed), nil
	case zstdPacking:
		decoder := decoders.Get().(*zstd.Decoder)
		defer decoders.Put(decoder)
		if err := decoder.Reset(bytes.NewReader([]byte(packed))); err != nil {
			return nil, err
		}
		args, err := io.ReadAll(io.LimitReader(decoder, int64(limit)+1))
		if err != nil {
			return nil, fmt.Errorf("unpack: %w", err)
		}
		if len(args) > limit {
			return nil, fmt.Errorf("more than %d bytes when unpacked, which is the limit", limit)
		}
		return args, nil
	}
	return nil, errors.New("unknown packing " + fmt.Sprintf("%.20q", packing))
}
