// Package s3 reads log files of S3 buckets, for a [distribute.Shipper]:
//
//	bucket, err := s3.New(nil)
//	files, err := bucket.List(ctx, "s3://logs/web/")
//	shipper := distribute.NewShipper(channel, &distribute.ShipperConfig{Open: bucket.Open})
//	results, err := shipper.Ship(ctx, files)
//
// An object is identified by its content, as any file. Its bytes are read in ranges that are
// bound to the object's ETag: one that is replaced meanwhile is a file that changed.
package s3

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"skidway/distribute/stream"
)

// Scheme begins the URLs of objects and of prefixes: s3://BUCKET/KEY.
const Scheme = "s3://"

// Config configures a [Client]. The zero value is ready to use.
type Config struct {
	// Endpoint is the URL of the service; empty means AWS_ENDPOINT_URL_S3 or
	// AWS_ENDPOINT_URL of the environment, or else that of AWS.
	Endpoint string

	// Region of the bucket; empty means AWS_REGION or AWS_DEFAULT_REGION of the
	// environment, or else what the service reports.
	Region string

	// Profile names the credentials in the files of the AWS tools; no others are used then. An
	// error of New is that there is no such profile, or that it has none.
	Profile string

	// Anonymous sends no credentials. Otherwise, without a Profile, they are, in this order, those
	// of the environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN), of the
	// profile of the environment (AWS_PROFILE, or else "default"), and of the role of the
	// machine, container or pod; without any, none are sent.
	Anonymous bool

	// Hidden lists objects whose name, or whose folder's name, begins with a dot, too.
	Hidden bool

	maxTries int // of the library, for each request; zero: its own bound
}

// A Client reads objects. It is safe for concurrent use.
type Client struct {
	api    minio.Core
	hidden bool
}

// roleTimeout bounds the wait for the service that knows the role of a machine: where there
// is none, the address may not answer.
const roleTimeout = 2 * time.Second

// New returns a client. A nil config is the zero one. It does not connect to the service.
func New(config *Config) (*Client, error) {
	if config == nil {
		config = &Config{}
	}
	text := cmp.Or(config.Endpoint, os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL"), "https://s3.amazonaws.com")
	endpoint, err := url.Parse(text)
	if err != nil || endpoint.Host == "" || endpoint.Scheme != "http" && endpoint.Scheme != "https" || strings.Trim(endpoint.Path, "/") != "" {
		return nil, fmt.Errorf("S3 endpoint %q: want a URL such as https://s3.example.com", text)
	}
	provider, err := config.credentials()
	if err != nil {
		return nil, err
	}
	api, err := minio.NewCore(endpoint.Host, &minio.Options{
		Creds: provider, Secure: endpoint.Scheme == "https",
		Region: cmp.Or(config.Region, os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION")), MaxRetries: config.maxTries,
	})
	if err != nil {
		return nil, err
	}
	return &Client{*api, config.Hidden}, nil
}

// credentials returns what provides the credentials.
func (c *Config) credentials() (*credentials.Credentials, error) {
	switch {
	case c.Anonymous:
		return credentials.NewStatic("", "", "", credentials.SignatureAnonymous), nil
	case c.Profile != "":
		profile := credentials.New(&credentials.FileAWSCredentials{Profile: c.Profile})
		value, err := profile.GetWithContext(nil)
		if err == nil && value.AccessKeyID == "" {
			err = errors.New("it has no credentials")
		}
		if err != nil {
			return nil, fmt.Errorf("S3 profile %q: %w", c.Profile, err)
		}
		return profile, nil
	}
	return credentials.New(&providers{Chain: credentials.Chain{Providers: []credentials.Provider{
		&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}, role(),
	}}}), nil
}

// role returns what provides the credentials of the role of the machine, container or pod.
func role() credentials.Provider {
	r := &credentials.IAM{Client: &http.Client{Timeout: roleTimeout}}
	ofMachine := true
	for _, name := range []string{"AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"} {
		ofMachine = ofMachine && os.Getenv(name) == ""
	}
	if ofMachine { // its address is another one where there is a proxy for it
		r.Endpoint = strings.TrimSuffix(os.Getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT"), "/")
	}
	return r
}

// noneFor is how long no credentials are looked for after none were found.
const noneFor = time.Minute

// providers is a chain of providers that, unlike the library's, is not asked again at each
// request if none of them has credentials: one of them asks a service. If credentials cannot
// be renewed, the last ones are used, which may still be valid, and the chain is asked again.
type providers struct {
	credentials.Chain
	last      credentials.Value
	noneSince time.Time // zero: there were some
}

// RetrieveWithCredContext implements [credentials.Provider].
func (p *providers) RetrieveWithCredContext(c *credentials.CredContext) (credentials.Value, error) {
	value, err := p.Chain.RetrieveWithCredContext(c)
	none := err == nil && value.SignerType.IsAnonymous()
	if none && p.last.AccessKeyID != "" {
		return p.last, nil
	}
	p.last, p.noneSince = value, time.Time{}
	if none {
		p.noneSince = time.Now()
	}
	return value, err
}

// IsExpired implements [credentials.Provider].
func (p *providers) IsExpired() bool {
	if !p.noneSince.IsZero() {
		return time.Since(p.noneSince) >= noneFor
	}
	return p.Chain.IsExpired()
}

// ErrURL is the error for a text that names no bucket.
var ErrURL = errors.New("want a URL such as s3://BUCKET/PREFIX")

// split returns the bucket and the key of a URL.
func split(text string) (bucket, key string, err error) {
	rest, found := strings.CutPrefix(text, Scheme)
	bucket, key, _ = strings.Cut(rest, "/")
	if !found || bucket == "" {
		return "", "", ErrURL
	}
	return bucket, key, nil
}

// ErrNoObjects is the error for a prefix that no object has.
var ErrNoObjects = errors.New("no object has this name or prefix")

// List returns the URLs of the object with a URL or, if there is none, of all objects whose
// URLs begin with it, in their order. Names that end with a slash, and those that begin with
// a dot behind the prefix, are left out.
func (c *Client) List(ctx context.Context, text string) ([]string, error) {
	bucket, prefix, err := split(text)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the listing
	var urls []string
	for object := range c.api.Client.ListObjects(ctx, bucket, minio.ListObjectsOptions{Prefix: prefix, Recursive: true}) {
		switch {
		case object.Err != nil:
			return nil, explain(object.Err)
		case object.Key == prefix && !strings.HasSuffix(prefix, "/"):
			return []string{text}, nil
		case strings.HasSuffix(object.Key, "/") || !c.hidden && isHidden(object.Key, prefix):
			continue
		}
		urls = append(urls, Scheme+bucket+"/"+object.Key)
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if len(urls) == 0 {
		return nil, ErrNoObjects
	}
	slices.Sort(urls)
	return urls, nil
}

// isHidden reports whether a name behind the folder of the prefix, or that of a folder in
// it, begins with a dot.
func isHidden(key, prefix string) bool {
	folder := strings.LastIndex(prefix, "/") + 1
	for name := range strings.SplitSeq(key[folder:], "/") {
		if strings.HasPrefix(name, ".") && !strings.HasPrefix(prefix[folder:], ".") {
			return true
		}
	}
	return false
}

// explain returns an error of the service as one that callers know.
func explain(err error) error {
	response := minio.ToErrorResponse(err)
	switch {
	case response.StatusCode == http.StatusPreconditionFailed:
		return &stream.ChangedError{Change: "the object was replaced"}
	case response.Code == minio.NoSuchKey:
		return fs.ErrNotExist
	case response.Code == minio.AccessDenied:
		return fmt.Errorf("%w: %w", fs.ErrPermission, err)
	}
	return err
}
