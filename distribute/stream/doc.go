// Package stream is the byte path of log files: local files in, pieces of bounded
// size, and lines out. It does not use Redis: the caller passes functions that store
// and fetch.
//
// [ListFiles] finds the files of folders and patterns. The uploading side opens a file and
// passes on its pieces. Plain, gzip and zstd files are uploaded as they are; the content of
// other codecs, and of members of archives, is converted to zstd frames in a temporary file.
// [Sources] returns the members of an archive. Of a [Pipe], which can be read once, it returns
// a stream, which is converted while it is uploaded.
//
//	source, err := stream.OpenSource("access.log.gz", stream.Decoding{}) // Codec, Size, Head
//	err = source.Prepare(ctx) // converts what is not uploaded as it is
//	err = source.Pieces(0, stream.SegmentSize, store)
//	err = source.CheckUnchanged()
//
// The counting side fetches ahead, decompresses and splits into lines:
//
//	content := stream.Prefetch(ctx, checkpoint.Raw, fetch)
//	defer content.Close()
//	splitter := stream.NewSplitter(0, func(line []byte) { … })
//	err := source.Codec.CopyContent(writer, content, checkpoint, options) // writer calls splitter.Split
//
// A [Checkpoint] is a place from which the content can be read on later, without what comes
// before. [Pipeline] runs the two steps of the counting side in two goroutines. The [Head] of
// a file identifies it, also if it was renamed, compressed or has grown.
//
// Memory is bounded for any file: by one piece, the window of the decompressor and one frame
// of a conversion on the uploading side, and by the blocks fetched ahead, the window of the
// decompressor and [MaxLine] on the counting side. Errors of local files are a [SourceError];
// [IsDamage] reports whether an error concerns the content.
package stream
