//go:build versitygw

package s3

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/pierrec/lz4/v4"

	"skidway/distribute/accesslog/formats"
	"skidway/distribute/stream"
	"skidway/internal/redistest"
)

// A gateway is a versitygw on the loopback interface, and a client that writes to it.
type gateway struct {
	t   *testing.T
	url string
	api *minio.Client
}

const (
	gatewayKey    = "AKIDGATEWAY"
	gatewaySecret = "gatewaysecret"
)

// startGateway starts a server of the test's own with a bucket, "logs". It is gone, with its
// files, after the test. SKIDWAY_VERSITYGW names the program; `make s3` builds it.
func startGateway(t *testing.T) *gateway {
	t.Helper()
	program := cmp.Or(os.Getenv("SKIDWAY_VERSITYGW"), "../../bin/versitygw")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close()
	folders := [2]string{t.TempDir(), t.TempDir()}
	var log bytes.Buffer
	server := exec.Command(program, "--port", address, "--access", gatewayKey, "--secret", gatewaySecret, "--quiet",
		"posix", "--sidecar", folders[1], folders[0])
	server.Stdout, server.Stderr = &log, &log
	redistest.EndWithParent(server)
	if err := server.Start(); err != nil {
		t.Fatalf("these tests need versitygw: run `make s3`, which builds it: %v", err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = server.Wait() }()
	t.Cleanup(func() {
		_ = server.Process.Kill()
		<-ended
	})
	api, err := minio.New(address, &minio.Options{Creds: credentials.NewStaticV4(gatewayKey, gatewaySecret, ""), Region: "us-east-1"})
	if err != nil {
		t.Fatal(err)
	}
	g := &gateway{t, "http://" + address, api}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for { // it does not report when it is ready
		connection, err := net.Dial("tcp", address)
		if err == nil {
			_ = connection.Close()
			break
		}
		select {
		case <-ended:
			t.Fatalf("versitygw ended instead of starting: %s", log.String())
		case <-ctx.Done():
			t.Fatal("versitygw did not answer within 20 s")
		case <-time.After(5 * time.Millisecond):
		}
	}
	if err := api.MakeBucket(ctx, "logs", minio.MakeBucketOptions{}); err != nil {
		t.Fatal(err)
	}
	return g
}

func (g *gateway) put(key string, content []byte) {
	g.t.Helper()
	if _, err := g.api.PutObject(g.t.Context(), "logs", key, bytes.NewReader(content), int64(len(content)), minio.PutObjectOptions{}); err != nil {
		g.t.Fatal(err)
	}
}

// client returns a client whose only credentials are those of the config and of a file with the
// profile "reader".
func (g *gateway) client(config Config) *Client {
	g.t.Helper()
	file := filepath.Join(g.t.TempDir(), "credentials")
	text := fmt.Sprintf("[reader]\naws_access_key_id = %s\naws_secret_access_key = %s\n[wrong]\naws_access_key_id = %s\naws_secret_access_key = x\n",
		gatewayKey, gatewaySecret, gatewayKey)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		g.t.Fatal(err)
	}
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_ACCESS_KEY", "AWS_SECRET_ACCESS_KEY", "AWS_SECRET_KEY", "AWS_PROFILE"} {
		g.t.Setenv(name, "")
	}
	g.t.Setenv("AWS_SHARED_CREDENTIALS_FILE", file)
	config.Endpoint, config.Region = cmp.Or(config.Endpoint, g.url), "us-east-1"
	client, err := New(&config)
	if err != nil {
		g.t.Fatal(err)
	}
	return client
}

func TestGatewayListsMoreObjectsThanOneAnswerHas(t *testing.T) {
	g := startGateway(t)
	const objects = 1005 // an answer has at most 1,000
	want := make([]string, objects)
	var writers sync.WaitGroup
	for writer := range 8 {
		writers.Go(func() {
			for i := writer; i < objects; i += 8 {
				key := fmt.Sprintf("web/%04d.log", i)
				g.put(key, []byte("8.8.8.8 2026-11-01\n"))
				want[i] = "s3://logs/" + key
			}
		})
	}
	writers.Wait()
	g.put("web/.hidden", nil)
	g.put("web.log", nil)
	got, err := g.client(Config{Profile: "reader"}).List(t.Context(), "s3://logs/web/")
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%d objects, %v, want %d", len(got), err, len(want))
	}
}

func TestGatewayReadsRanges(t *testing.T) {
	g := startGateway(t)
	content := bytes.Repeat([]byte("8.8.8.8 2026-11-01\n"), 50_000)
	g.put("a.log", content)
	file := open(t, g.client(Config{Profile: "reader"}), "s3://logs/a.log")
	if size, modified, err := file.Stat(); err != nil || size != int64(len(content)) || modified.IsZero() {
		t.Errorf("%d bytes of %v, %v", size, modified, err)
	}
	for _, at := range []int{0, 500_000, startSize - 5, 10, len(content) - 100} {
		part := make([]byte, 100)
		if n, err := file.ReadAt(part, int64(at)); n != 100 || err != nil || !bytes.Equal(part, content[at:at+100]) {
			t.Errorf("at %d: %d bytes, %v", at, n, err)
		}
	}
	got, err := io.ReadAll(io.NewSectionReader(file, 0, int64(len(content))))
	if err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d bytes of %d, %v", len(got), len(content), err)
	}
	if n, err := file.ReadAt(make([]byte, 10), int64(len(content))); n != 0 || err != io.EOF {
		t.Errorf("at the end: %d bytes, %v", n, err)
	}
}

func TestGatewayRefusesAnObjectThatWasReplaced(t *testing.T) {
	g := startGateway(t)
	g.put("a.log", bytes.Repeat([]byte("8.8.8.8 2026-11-01\n"), 20_000))
	client := g.client(Config{Profile: "reader"})
	file := open(t, client, "s3://logs/a.log")
	if _, err := file.ReadAt(make([]byte, 100), 0); err != nil {
		t.Fatal(err)
	}
	_ = file.Close() // what was sent ahead of the reader is of the first object
	g.put("a.log", bytes.Repeat([]byte("8.8.8.8 2026-11-02\n"), 20_000))
	var changed *stream.ChangedError
	if n, err := file.ReadAt(make([]byte, 100), 200_000); n > 0 || !errors.As(err, &changed) {
		t.Errorf("%d bytes, %v", n, err)
	}
	if err := g.api.RemoveObject(t.Context(), "logs", "a.log", minio.RemoveObjectOptions{}); err != nil {
		t.Fatal(err)
	}
	if n, err := file.ReadAt(make([]byte, 100), 300_000); n > 0 || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("deleted: %d bytes, %v", n, err)
	}
	if _, err := client.Open(t.Context(), "s3://logs/a.log"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("opened after it was deleted: %v", err)
	}
	if _, err := client.List(t.Context(), "s3://nope/"); err == nil {
		t.Error("a bucket that does not exist is listed")
	}
}

func TestGatewayKnowsItsReaders(t *testing.T) {
	g := startGateway(t)
	g.put("a.log", []byte("8.8.8.8 2026-11-01\n"))
	reads := func(config Config) error {
		opened, err := g.client(config).Open(t.Context(), "s3://logs/a.log")
		if err != nil {
			return err
		}
		_, err = opened.ReadAt(make([]byte, 10), 0)
		return err
	}
	if err := reads(Config{Profile: "reader"}); err != nil {
		t.Errorf("with a profile: %v", err)
	}
	for name, config := range map[string]Config{"anonymous": {Anonymous: true}, "with a wrong secret": {Profile: "wrong"}} {
		if err := reads(config); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := New(&Config{Profile: "none", Endpoint: g.url}); err == nil || !strings.Contains(err.Error(), `profile "none"`) {
		t.Errorf("with a profile that does not exist: %v", err)
	}
	client := g.client(Config{})
	t.Setenv("AWS_ACCESS_KEY_ID", gatewayKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", gatewaySecret)
	if _, err := client.Open(t.Context(), "s3://logs/a.log"); err != nil {
		t.Errorf("with the environment: %v", err)
	}
	public := `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":"*","Action":["s3:GetObject"],"Resource":["arn:aws:s3:::logs/*"]}]}`
	if err := g.api.SetBucketPolicy(t.Context(), "logs", public); err != nil {
		t.Fatal(err)
	}
	if err := reads(Config{Anonymous: true}); err != nil {
		t.Errorf("anonymous, of a public bucket: %v", err)
	}
}

// The program that `make s3` builds counts real lines of each format, in several codecs, and
// leaves out by its name what is no access log. It is given the bucket alone.
func TestGatewayCountsABucketOfMixedFilesWithoutAnOption(t *testing.T) {
	g := startGateway(t)
	var keys []string
	for _, format := range formats.All {
		for _, real := range format.Real {
			extension := []string{"", ".gz", ".lz4", ".br"}[len(keys)%4]
			var packed bytes.Buffer
			writer := map[string]func() io.WriteCloser{
				"":     func() io.WriteCloser { return plain{&packed} },
				".gz":  func() io.WriteCloser { return gzip.NewWriter(&packed) },
				".lz4": func() io.WriteCloser { return lz4.NewWriter(&packed) },
				".br":  func() io.WriteCloser { return brotli.NewWriter(&packed) },
			}[extension]()
			_, err := io.WriteString(writer, real.Text+"\n")
			if err := errors.Join(err, writer.Close()); err != nil {
				t.Fatal(err)
			}
			keys = append(keys, fmt.Sprintf("mixed/%02d.log%s", len(keys), extension))
			g.put(keys[len(keys)-1], packed.Bytes())
		}
	}
	g.put("mixed/ELBAccessLogTestFile", []byte("Enable AccessLog for ELB"))
	count := exec.Command(cmp.Or(os.Getenv("SKIDWAY_PROGRAM"), "../../bin/skidway"), "logs", "count", "s3://logs/mixed/")
	count.Env = append(os.Environ(), "AWS_ENDPOINT_URL_S3="+g.url, "AWS_ACCESS_KEY_ID="+gatewayKey, "AWS_SECRET_ACCESS_KEY="+gatewaySecret,
		"AWS_REGION=us-east-1", "SKIDWAY_REDIS=", "REDIS_URL=")
	var stderr bytes.Buffer
	count.Stderr = &stderr
	if err := count.Run(); err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	if text := stderr.String(); !strings.Contains(text, fmt.Sprintf(" files=%d ", len(keys))) || !strings.Contains(text, " unparsable=0 ") {
		t.Errorf("not all of %d files are counted: %s", len(keys), text)
	}
	if !strings.Contains(stderr.String(), "ELBAccessLogTestFile: left out") {
		t.Errorf("the test file is not named: %s", stderr.String())
	}
}

// plain is a writer that is not compressed.
type plain struct{ io.Writer }

func (plain) Close() error { return nil }
