package s3

import (
	"bytes"
	"cmp"
	"context"
	"crypto/md5"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"

	"skidway/distribute/stream"
)

// A service is a part of S3 in memory: one bucket, "logs".
type service struct {
	t   testing.TB
	url string

	mu       sync.Mutex // guards what follows
	objects  map[string][]byte
	slow     int            // the number of requests that are refused with slowAs
	slowAs   int            // a status; zero: that of SlowDown
	cut      int            // the number of answers that end after 1 KiB
	gets     int            // requests for objects
	unsigned int            // requests without credentials
	signed   map[string]int // requests by the credentials' key
}

func startService(t testing.TB, objects map[string][]byte) *service {
	t.Helper()
	s := &service{t: t, objects: objects, signed: map[string]int{}}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// client returns a client of the service.
func (s *service) client(config Config) *Client {
	s.t.Helper()
	config.Endpoint, config.Region = s.url, "us-east-1"
	client, err := New(&config)
	if err != nil {
		s.t.Fatal(err)
	}
	return client
}

func etagOf(content []byte) string {
	sum := md5.Sum(content)
	return `"` + hex.EncodeToString(sum[:]) + `"`
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Header.Get("Authorization") == "" {
		s.unsigned++
	}
	if _, key, found := strings.Cut(r.Header.Get("Authorization"), "Credential="); found {
		key, _, _ = strings.Cut(key, "/")
		s.signed[key]++
	}
	if s.slow > 0 {
		s.slow--
		refuse(w, cmp.Or(s.slowAs, http.StatusServiceUnavailable), "SlowDown")
		return
	}
	key, found := strings.CutPrefix(r.URL.Path, "/logs/")
	if !found || key == "" {
		s.list(w, r.URL.Query().Get("prefix"))
		return
	}
	s.get(w, r, key)
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code></Error>", code)
}

func (s *service) list(w http.ResponseWriter, prefix string) {
	type object struct {
		Key, ETag, LastModified string
		Size                    int
	}
	answer := struct {
		XMLName  xml.Name `xml:"ListBucketResult"`
		Contents []object
	}{}
	for _, key := range slices.Sorted(maps.Keys(s.objects)) {
		if strings.HasPrefix(key, prefix) {
			answer.Contents = append(answer.Contents, object{key, etagOf(s.objects[key]), "2026-11-01T00:00:00.000Z", len(s.objects[key])})
		}
	}
	_ = xml.NewEncoder(w).Encode(answer)
}

func (s *service) get(w http.ResponseWriter, r *http.Request, key string) {
	content, found := s.objects[key]
	if !found {
		refuse(w, http.StatusNotFound, "NoSuchKey")
		return
	}
	if r.Method == http.MethodGet {
		s.gets++
	}
	if s.cut > 0 && r.Method == http.MethodGet {
		s.cut--
		w = &cutWriter{w, 1 << 10}
	}
	w.Header().Set("ETag", etagOf(content))
	http.ServeContent(w, r, "", time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), bytes.NewReader(content))
}

// A cutWriter breaks the connection behind some bytes.
type cutWriter struct {
	http.ResponseWriter
	left int
}

func (c *cutWriter) Write(p []byte) (int, error) {
	if c.left == 0 {
		panic(http.ErrAbortHandler)
	}
	n, err := c.ResponseWriter.Write(p[:min(c.left, len(p))])
	c.left -= n
	if c.left == 0 {
		c.ResponseWriter.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	return n, err
}

// setCredentials sets those of the environment.
func setCredentials(t *testing.T) {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
}

// open opens an object without pauses between tries.
func open(t testing.TB, client *Client, url string) stream.Object {
	t.Helper()
	opened, err := client.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = opened.Close() })
	opened.(*object).pause = func(ctx context.Context, _ time.Duration) error { return context.Cause(ctx) }
	return opened
}

func TestListFindsTheObjectsOfAPrefix(t *testing.T) {
	setCredentials(t)
	line := []byte("8.8.8.8 2026-11-01\n")
	s := startService(t, map[string][]byte{
		"web/": nil, "web/a.log": line, "web/a.log.1": line, "web/old/b.log": line, "web/.hidden": line, "web/.old/c.log": line, "mail.log": line,
	})
	for _, c := range []struct {
		url    string
		hidden bool
		want   []string
	}{
		{"s3://logs/web/", false, []string{"s3://logs/web/a.log", "s3://logs/web/a.log.1", "s3://logs/web/old/b.log"}},
		{"s3://logs/web/a.log", false, []string{"s3://logs/web/a.log"}},
		{"s3://logs/web/a", false, []string{"s3://logs/web/a.log", "s3://logs/web/a.log.1"}},
		{"s3://logs/web/.h", false, []string{"s3://logs/web/.hidden"}},
		{"s3://logs", true, []string{"s3://logs/mail.log", "s3://logs/web/.hidden", "s3://logs/web/.old/c.log", "s3://logs/web/a.log", "s3://logs/web/a.log.1", "s3://logs/web/old/b.log"}},
	} {
		got, err := s.client(Config{Hidden: c.hidden}).List(t.Context(), c.url)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, %v, want %q", c.url, got, err, c.want)
		}
	}
	if _, err := s.client(Config{}).List(t.Context(), "s3://logs/nope"); !errors.Is(err, ErrNoObjects) {
		t.Errorf("prefix that no object has: %v", err)
	}
}

func TestObjectIsReadInFewRequests(t *testing.T) {
	setCredentials(t)
	content := bytes.Repeat([]byte("8.8.8.8 2026-11-01\n"), 100_000)
	s := startService(t, map[string][]byte{"a.log": content})
	file := open(t, s.client(Config{}), "s3://logs/a.log")
	for range 3 { // as a source does: for its codec, its head and its upload
		head := make([]byte, 64<<10)
		if _, err := file.ReadAt(head, 0); err != nil || !bytes.Equal(head, content[:64<<10]) {
			t.Fatal(err)
		}
	}
	got, err := io.ReadAll(io.NewSectionReader(file, 0, int64(len(content))))
	if err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d bytes of %d, %v", len(got), len(content), err)
	}
	if s.gets > 2 {
		t.Errorf("%d requests", s.gets)
	}
	if n, err := file.ReadAt(make([]byte, 10), int64(len(content))-5); n != 5 || err != io.EOF {
		t.Errorf("at the end: %d bytes, %v", n, err)
	}
}

func TestReadingGoesOnBehindABrokenConnectionAndSlowDown(t *testing.T) {
	setCredentials(t)
	content := bytes.Repeat([]byte("8.8.8.8 2026-11-01\n"), 10_000)
	s := startService(t, map[string][]byte{"a.log": content})
	file := open(t, s.client(Config{}), "s3://logs/a.log")
	s.mu.Lock()
	s.cut, s.slow = 3, 1
	s.mu.Unlock()
	got, err := io.ReadAll(io.NewSectionReader(file, 0, int64(len(content))))
	if err != nil || !bytes.Equal(got, content) || s.cut > 0 || s.slow > 0 {
		t.Errorf("%d bytes of %d, %v", len(got), len(content), err)
	}
}

func TestReadingSlowsDownWhereTheServiceAsksForIt(t *testing.T) {
	setCredentials(t)
	content := bytes.Repeat([]byte("8.8.8.8 2026-11-01\n"), 10)
	for _, c := range []struct {
		status, refusals int
		pauses           []time.Duration
	}{
		{http.StatusServiceUnavailable, 3, []time.Duration{firstPause, 2 * firstPause, 4 * firstPause}},
		{http.StatusTooManyRequests, 1, []time.Duration{firstPause}},
		{http.StatusServiceUnavailable, maxReads, nil},
	} {
		s := startService(t, map[string][]byte{"a.log": content})
		file := open(t, s.client(Config{maxTries: 1}), "s3://logs/a.log").(*object)
		var pauses []time.Duration
		file.pause = func(_ context.Context, d time.Duration) error { pauses = append(pauses, d); return nil }
		s.mu.Lock()
		s.slow, s.slowAs = c.refusals, c.status
		s.mu.Unlock()
		got := make([]byte, len(content))
		switch _, err := file.ReadAt(got, 0); {
		case c.pauses == nil && err == nil:
			t.Error("read though the service goes on refusing")
		case c.pauses != nil && (err != nil || !bytes.Equal(got, content) || !slices.Equal(pauses, c.pauses)):
			t.Errorf("%+v: %v, %q, pauses %v", c, err, got, pauses)
		}
	}
}

func TestObjectThatIsReplacedIsAChangedFile(t *testing.T) {
	setCredentials(t)
	content := bytes.Repeat([]byte("8.8.8.8 2026-11-01\n"), 20_000)
	s := startService(t, map[string][]byte{"a.log": content})
	file := open(t, s.client(Config{}), "s3://logs/a.log")
	if _, err := file.ReadAt(make([]byte, 100), 0); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	s.objects["a.log"] = bytes.ToUpper(bytes.Repeat([]byte("8.8.8.8 2026-11-02\n"), 20_000))
	s.mu.Unlock()
	var changed *stream.ChangedError
	if n, err := file.ReadAt(make([]byte, 100), 200_000); n > 0 || !errors.As(err, &changed) {
		t.Errorf("%d bytes, %v", n, err)
	}
	s.mu.Lock()
	delete(s.objects, "a.log")
	s.mu.Unlock()
	if n, err := file.ReadAt(make([]byte, 100), 300_000); n > 0 || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("deleted: %d bytes, %v", n, err)
	}
	if _, err := s.client(Config{}).Open(t.Context(), "s3://logs/a.log"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("opened after it was deleted: %v", err)
	}
}

func TestCredentialsAreOnlySentIfWanted(t *testing.T) {
	setCredentials(t)
	s := startService(t, map[string][]byte{"a.log": []byte("8.8.8.8 2026-11-01\n")})
	for anonymous, want := range map[bool]int{false: 0, true: 1} {
		s.unsigned = 0
		open(t, s.client(Config{Anonymous: anonymous}), "s3://logs/a.log")
		if s.unsigned != want {
			t.Errorf("anonymous %v: %d requests without credentials", anonymous, s.unsigned)
		}
	}
}

func TestServiceOfRolesIsAskedOnceForCredentialsThatItHasNot(t *testing.T) {
	var asked atomic.Int64
	roles := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusNotFound)
	}))
	t.Cleanup(roles.Close)
	noCredentials(t)
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", roles.URL)
	s := startService(t, map[string][]byte{"a.log": []byte("8.8.8.8 2026-11-01\n")})
	client := s.client(Config{})
	for range 3 {
		if _, err := open(t, client, "s3://logs/a.log").ReadAt(make([]byte, 10), 0); err != nil {
			t.Fatal(err)
		}
	}
	if n := asked.Load(); n != 1 || s.unsigned < 6 {
		t.Errorf("asked %d times, %d requests without credentials", n, s.unsigned)
	}
}

// noCredentials removes those of the environment.
func noCredentials(t *testing.T) {
	t.Helper()
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_ACCESS_KEY", "AWS_SECRET_ACCESS_KEY", "AWS_SECRET_KEY", "AWS_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE",
		"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONFIG_FILE", "AWS_EC2_METADATA_SERVICE_ENDPOINT"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", t.TempDir())
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(t.TempDir(), "none"))
}

func TestProfileThatIsNamedIsUsed(t *testing.T) {
	noCredentials(t)
	setCredentials(t) // the flag of a command goes before them
	file := filepath.Join(t.TempDir(), "credentials")
	text := "[logs]\naws_access_key_id = ofProfile\naws_secret_access_key = x\n[empty]\nregion = eu-central-1\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", file)
	s := startService(t, map[string][]byte{"a.log": []byte("8.8.8.8 2026-11-01\n")})
	open(t, s.client(Config{Profile: "logs"}), "s3://logs/a.log")
	if s.signed["ofProfile"] != 1 || len(s.signed) != 1 || s.unsigned != 0 {
		t.Errorf("requests by key: %v, unsigned: %d", s.signed, s.unsigned)
	}
	for _, name := range []string{"nope", "empty"} {
		if _, err := New(&Config{Endpoint: s.url, Profile: name}); err == nil || !strings.Contains(err.Error(), `S3 profile "`+name+`"`) {
			t.Errorf("profile %s: %v", name, err)
		}
	}
}

// The service of a machine's metadata, by the second version of its protocol.
func TestRoleOfTheMachineSignsRequests(t *testing.T) {
	noCredentials(t)
	metadata := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		const roles = "/latest/meta-data/iam/security-credentials/"
		switch token := r.Header.Get("X-aws-ec2-metadata-token"); {
		case r.Method == http.MethodPut && r.URL.Path == "/latest/api/token":
			fmt.Fprint(w, "token")
		case token != "token":
			w.WriteHeader(http.StatusUnauthorized)
		case r.URL.Path == roles || r.URL.Path+"/" == roles:
			fmt.Fprint(w, "reader")
		case r.URL.Path == roles+"reader":
			fmt.Fprintf(w, `{"Code":"Success","AccessKeyId":"ofRole","SecretAccessKey":"x","Token":"y","Expiration":%q}`,
				time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(metadata.Close)
	t.Setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", metadata.URL+"/")
	s := startService(t, map[string][]byte{"a.log": []byte("8.8.8.8 2026-11-01\n")})
	open(t, s.client(Config{}), "s3://logs/a.log")
	if s.signed["ofRole"] != 1 || s.unsigned != 0 {
		t.Errorf("requests by key: %v, unsigned: %d", s.signed, s.unsigned)
	}
}

// A roleProvider provides credentials that are renewed for each request, unless it fails.
type roleProvider struct {
	credentials.Provider
	asked int
	fails bool
}

func (p *roleProvider) RetrieveWithCredContext(*credentials.CredContext) (credentials.Value, error) {
	p.asked++
	if p.fails {
		return credentials.Value{}, errors.New("no answer")
	}
	return credentials.Value{AccessKeyID: fmt.Sprint("key ", p.asked), SecretAccessKey: "secret"}, nil
}

func (p *roleProvider) IsExpired() bool { return true }

func TestCredentialsThatAreNotRenewedAreAskedForAgain(t *testing.T) {
	t.Parallel()
	role := &roleProvider{}
	found := credentials.New(&providers{Chain: credentials.Chain{Providers: []credentials.Provider{role}}})
	for i, want := range []string{"key 1", "key 1", "key 3"} {
		role.fails = i == 1
		value, err := found.GetWithContext(nil)
		if err != nil || value.AccessKeyID != want || value.SignerType.IsAnonymous() {
			t.Errorf("request %d: %q, %v, want %q", i+1, value.AccessKeyID, err, want)
		}
	}
}

func TestMalformedURLsAreRefused(t *testing.T) {
	t.Parallel()
	for _, endpoint := range []string{"s3.example.com", "ftp://s3.example.com", "https://s3.example.com/path", "https://"} {
		if _, err := New(&Config{Endpoint: endpoint}); err == nil {
			t.Errorf("endpoint %s is accepted", endpoint)
		}
	}
	client, err := New(&Config{Endpoint: "http://127.0.0.1:1", Anonymous: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, url := range []string{"s3://", "s3:///a", "https://a/b", "a"} {
		if _, err := client.List(t.Context(), url); err == nil || !strings.Contains(err.Error(), "s3://BUCKET/PREFIX") {
			t.Errorf("%s: %v", url, err)
		}
	}
}
