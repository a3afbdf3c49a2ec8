package distribute

import (
	"context"
	"errors"

	"skidway/distribute/stream"
)

// A Preview is what Ship would do with a file, or with a member of an archive.
type Preview struct {
	Path   string
	Codec  stream.Codec // of the file
	Size   int64        // of the file, in bytes
	Head   stream.Head  // takes up to 64 KiB
	Result ShippedFile  // its outcome would be this one, unless SameAs is set
	SameAs string       // an earlier file that begins as this one: only what this one has more is counted
}

// A previewer has the files of a preview.
type previewer struct {
	*Shipper
	seen map[string][]seenFile // by index key
}

// A seenFile is a file of a preview that is not the same as an earlier one.
type seenFile struct {
	path string
	head stream.Fingerprint
}

// Preview passes on what Ship would do with each of some files, and changes nothing. A
// shipper without a channel compares the files only with each other.
func (s *Shipper) Preview(ctx context.Context, files []string, do func(Preview)) error {
	p := previewer{s, map[string][]seenFile{}}
	for _, file := range files {
		for src, err := range stream.Sources(file, s.opener(ctx, file), s.config.Members, stream.Decoding{MaxWindow: s.config.MaxWindow}) {
			preview, err := p.of(ctx, src, err)
			if err != nil {
				return err
			}
			do(preview)
		}
	}
	return nil
}

// of returns the preview of a source, whose error is failure.
func (p *previewer) of(ctx context.Context, src *stream.Source, failure error) (Preview, error) {
	preview := Preview{Path: src.Path, Codec: src.Packed, Size: src.Size, Head: src.Head, Result: ShippedFile{Path: src.Path}}
	if failure != nil {
		preview.Result.setFailure(failure)
		return preview, nil
	}
	preview.Result.Outcome = Shipped
	key := src.Head.IndexKey()
	for _, other := range append(p.seen[key], p.seen[stream.UnfinishedLine]...) {
		if !p.config.Force && other.head.SameFile(src.Head) {
			preview.SameAs = other.path
			return preview, nil
		}
	}
	p.seen[key] = append(p.seen[key], seenFile{src.Path, src.Head.Fingerprint()})
	if p.channel == nil {
		return preview, nil
	}
	planned, err := p.plan(ctx, src)
	switch {
	case errors.Is(err, errInRedis):
		preview.Result.Outcome = AlreadyShipped
	case fileProblem(err):
		preview.Result.setFailure(err)
	case err != nil:
		return preview, err
	case planned.known != nil:
		preview.Result = *planned.known
		preview.Result.Path = src.Path
	default:
		preview.Result.Base = planned.base
	}
	return preview, nil
}
