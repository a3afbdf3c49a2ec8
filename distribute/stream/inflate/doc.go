// Package inflate decompresses gzip files (RFC 1952, with DEFLATE, RFC 1951) two to three
// times as fast as the packages compress/gzip and klauspost/compress/gzip, on text such as
// logs:
//
//	r, err := inflate.NewReader(file)
//	_, err = r.WriteTo(w)
//
// It returns the same content as compress/gzip, also of damaged data: all that comes before
// the place of the damage. Memory is bounded by some 400 KiB, whatever the data is; by 1.3 MiB if the
// content is lent to a [Borrower], which reads it while more is decompressed. With [Reader.SetIdle]
// short members of a file, such as the blocks of BGZF, are decompressed in parallel.
//
// What makes it fast: one look-up in a table yields two literals, or a literal and the
// length of a match; input is taken 7 bytes at a time and copied 64 bytes at a time, without a branch
// for each; and there is one loop for the middle of the data, which needs no checks for its
// ends, beside a careful one for the rest.
package inflate
