package stream

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestPipelineHandsOnWhatIsWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(0, 2*chunkSize*chunks).Draw(t, "size")
		block := rapid.IntRange(chunkSize/64, 2*chunkSize).Draw(t, "block")
		content := varied(size)
		ended := errors.New("the end")
		var got bytes.Buffer
		err := Pipeline(&got, func(w Sink) error {
			_, err := io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{bytes.NewReader(content)}, make([]byte, block))
			return errors.Join(err, ended)
		}, func() bool { return rapid.Bool().Draw(t, "busy") }, nil, Idle{time.Nanosecond, func() error { _, err := got.Write(nil); return err }})
		if !errors.Is(err, ended) || !bytes.Equal(got.Bytes(), content) {
			t.Fatalf("%v, %d bytes of %d", err, got.Len(), len(content))
		}
	})
}

func TestPipelineHandsOnWhatIsLent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		content := varied(rapid.IntRange(0, 2<<20).Draw(t, "size"))
		size := rapid.IntRange(100<<10, 600<<10).Draw(t, "buffer")
		buffers := make(chan []byte, 3)
		for range cap(buffers) {
			buffers <- make([]byte, size)
		}
		var got bytes.Buffer
		err := Pipeline(&got, func(w Sink) error {
			for part := range slices.Chunk(content, size) {
				buffer := <-buffers
				first := rapid.IntRange(0, len(part)-1).Draw(t, "first")
				n := copy(buffer, part)
				if rapid.Bool().Draw(t, "written") {
					_, _ = w.Write(buffer[:first])
				} else if first > 0 {
					_ = w.Lend(buffer[:first], nil)
				}
				if rapid.Bool().Draw(t, "flushed") {
					w.Flush()
				}
				_ = w.Lend(buffer[first:n], func() {
					clear(buffer)
					buffers <- buffer
				})
			}
			return nil
		}, func() bool { return rapid.Bool().Draw(t, "busy") }, nil, Idle{})
		if err != nil || !bytes.Equal(got.Bytes(), content) {
			t.Fatalf("%v, %d bytes of %d", err, got.Len(), len(content))
		}
	})
}

// varied is content of which no two parts look alike for long.
func varied(size int) []byte {
	content := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{}).Read(content)
	return content
}

// fullWriter takes some bytes and no more.
type fullWriter struct{ room int }

var errFull = errors.New("full")

func (w *fullWriter) Write(p []byte) (int, error) {
	if w.room -= len(p); w.room < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestPipelineStopsItsProducerWhenTheWriterFails(t *testing.T) {
	t.Parallel()
	stopped := make(chan struct{})
	err := Pipeline(&fullWriter{room: chunkSize}, func(w Sink) error {
		for {
			if _, err := w.Write(make([]byte, chunkSize)); err != nil {
				<-stopped // it is told, and may need to be: it could be waiting for more to read
				return err
			}
		}
	}, func() bool { return false }, func() { close(stopped) }, Idle{})
	if !errors.Is(err, errFull) {
		t.Errorf("got %v", err)
	}
}

// What was fetched is counted, although no more comes.
func TestPipelineHandsOverWhatWasReadBeforeItsProducerWaits(t *testing.T) {
	t.Parallel()
	content, counted := varied(FetchSize/3), make(chan struct{})
	fetched := Prefetch(t.Context(), 0, func(ctx context.Context, position int64, buffer []byte) ([]byte, error) {
		if position == 0 {
			return buffer[:copy(buffer, content)], nil
		}
		<-counted
		return nil, io.EOF
	})
	defer fetched.Close()
	var got bytes.Buffer
	count := func() error {
		if got.Len() == len(content) {
			select {
			case <-counted:
			default:
				close(counted)
			}
		}
		return nil
	}
	err := Pipeline(&got, func(w Sink) error {
		fetched.BeforeWait(w.Flush)
		_, err := fetched.WriteTo(w)
		return err
	}, func() bool { return false }, fetched.Cancel, Idle{time.Millisecond, count})
	if err != nil || !bytes.Equal(got.Bytes(), content) {
		t.Errorf("%d bytes of %d, %v", got.Len(), len(content), err)
	}
}

func TestPipelineStopsItsProducerWhenIdleFails(t *testing.T) {
	t.Parallel()
	for _, busy := range []bool{true, false} {
		stopped := make(chan struct{})
		err := Pipeline(io.Discard, func(w Sink) error {
			<-stopped
			_, err := w.Write(make([]byte, 3*chunkSize))
			return err
		}, func() bool { return busy }, func() { close(stopped) }, Idle{time.Millisecond, func() error { return errFull }})
		if !errors.Is(err, errFull) {
			t.Errorf("got %v", err)
		}
	}
}

func TestPrefetcherReadsAllThatIsFetched(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		content := varied(rapid.IntRange(0, 5*FetchSize).Draw(t, "size"))
		ended := rapid.SampledFrom([]error{io.EOF, errFull}).Draw(t, "end")
		size := rapid.SampledFrom([]int{FetchSize/3 + 1, FetchSize}).Draw(t, "fetch")
		p := Prefetch(context.Background(), 0, func(_ context.Context, position int64, buffer []byte) ([]byte, error) {
			rest := content[position:]
			if len(rest) == 0 {
				return nil, ended
			}
			return buffer[:copy(buffer[:size], rest)], nil
		})
		defer p.Close()
		var got bytes.Buffer
		var err error
		if rapid.Bool().Draw(t, "WriteTo") {
			_, err = p.WriteTo(&got)
		} else {
			_, err = io.Copy(&got, struct{ io.Reader }{p})
		}
		if wanted := ended != io.EOF; (err != nil) != wanted || wanted && !errors.Is(err, ended) || !bytes.Equal(got.Bytes(), content) {
			t.Fatalf("%v, %d bytes of %d", err, got.Len(), len(content))
		}
	})
}

func TestPrefetcherThatIsClosedEndsItsFetch(t *testing.T) {
	t.Parallel()
	fetching := make(chan struct{})
	p := Prefetch(t.Context(), 0, func(ctx context.Context, _ int64, _ []byte) ([]byte, error) {
		close(fetching)
		<-ctx.Done()
		return nil, ctx.Err()
	})
	<-fetching
	p.Close()
	if _, err := p.Read(make([]byte, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that it was cancelled", err)
	}
}
