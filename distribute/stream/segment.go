package stream

// Sizes of uploaded content, in bytes.
const (
	// SegmentSize is the part of a file that one Redis string holds. It is a
	// little less than 4 MiB, so that string and header together fill one
	// allocation of 4 MiB (MEMORY USAGE is 0.1 % more than the content; it
	// is 25 % more for exactly 4 MiB).
	SegmentSize = 4<<20 - 4<<10

	// EmbeddedSegmentSize is smaller because the embedded Redis copies a
	// string at each append.
	EmbeddedSegmentSize = 1<<20 - 4<<10

	// smallSegmentSize fills one allocation of 256 KiB with a single append.
	smallSegmentSize = 256<<10 - 4<<10

	// BlockSize bounds the bytes of one append.
	BlockSize = 256 << 10

	// segmentOverhead is the memory of a key beside its content: its name, the
	// entry in the key space, the object.
	segmentOverhead = 512
)

// segmentSizes are the sizes that segments can have, the largest first.
var segmentSizes = []int64{SegmentSize, EmbeddedSegmentSize, smallSegmentSize}

// SegmentFor returns the size of segments for a window: the largest one, up to most, of
// which the window has room for one more than the reserve.
func SegmentFor(window, most int64) int64 {
	for _, segment := range segmentSizes {
		if segment <= most && int64(ReserveSegments(segment)+1)*UploadCost(segment, segment) <= window {
			return segment
		}
	}
	return smallSegmentSize
}

// ReserveSegments returns the number of segments that the upload of a file must be able to
// hold so that it can be counted to its end: between a checkpoint and the end of the line
// in which it lies are the interval of checkpoints, a block of compressed data and a line.
func ReserveSegments(segment int64) int {
	const block = 128 << 10
	return SegmentCount(MaxLine+checkpointInterval(segment)+block, segment) + 1
}

// UploadCost returns the most memory that Redis ever uses for size bytes that come
// in blocks to segments, by the way it grows a string: at first it has no room
// but for its content (trimStringObjectIfNeeded), then for twice the length that
// is needed, from 1 MiB on for 1 MiB more (sdsMakeRoomFor), always rounded up to
// a size class of its allocator.
func UploadCost(size, segment int64) int64 {
	whole := size / segment
	return whole*segmentCost(segment) + segmentCost(size%segment)
}

func segmentCost(size int64) int64 {
	if size == 0 {
		return 0
	}
	var length, capacity, maxCapacity int64
	for length < size {
		length = min(length+BlockSize, size)
		switch {
		case length <= BlockSize:
			capacity = allocation(length)
		case length <= 2*BlockSize, length+stringHeader > capacity && length < 1<<20:
			capacity = allocation(2 * length)
		case length+stringHeader > capacity:
			capacity = allocation(length + 1<<20)
		}
		maxCapacity = max(maxCapacity, capacity)
	}
	return maxCapacity + segmentOverhead
}

// stringHeader is the size of what Redis stores beside a string's content: lengths, flags and
// the closing zero.
const stringHeader = 32

// allocation returns the memory that jemalloc uses for a string of n bytes: four size classes
// for each doubling.
func allocation(n int64) int64 {
	n += stringHeader
	step := int64(16)
	for step*8 < n {
		step *= 2
	}
	return (n + step - 1) / step * step
}

// SegmentCount returns the number of segments that size bytes fill.
func SegmentCount(size, segment int64) int {
	count := size / segment
	if size%segment > 0 {
		count++
	}
	return int(count)
}
