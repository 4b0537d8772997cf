package blob

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/s3utils"
)

const (
	// AnyRegion is the name that stores without regions expect.
	anyRegion = "us-east-1"
	// Patience is how long a server may be silent by default.
	defaultPatience = 30 * time.Second
	// AnswerPatiences is how often its patience an answer may take that is no part of an object. A server that puts the
	// parts of a large object together sends blanks meanwhile.
	answerPatiences = 10
	// MaxAnswer bounds the bytes of an answer that is no part of an object; a full page of a list has less than 1 MB.
	maxAnswer = 2 << 20
	// MaxHeader bounds the bytes of the headers of an answer.
	maxHeader = 64 << 10
)

// S3Config says where a bucket is.
type S3Config struct {
	// Endpoint is a host with or without a port.
	Endpoint string
	// Plaintext speaks HTTP instead of HTTPS.
	Plaintext bool
	Region    string
	Bucket    string
	// Prefix comes before the names of all objects, without a slash at its end; empty for the whole bucket.
	Prefix    string
	AccessKey string
	SecretKey string
	// Patience is how long the server may neither take nor give a byte before a request is tried again; zero means 30
	// seconds.
	Patience time.Duration
}

// ParseS3 reads an address such as `s3://bucket/prefix?endpoint=https://s3.example.com&region=eu-central-1`. The
// region is optional if the endpoint names it or the store has none. It refuses an http endpoint unless it is on
// this machine or the address says `insecure=true`: the content of the objects would be readable on the way. Errors
// never repeat the address, which may contain a secret by mistake.
func ParseS3(address, accessKey, secretKey string) (S3Config, error) {
	c := S3Config{AccessKey: accessKey, SecretKey: secretKey}

	u, err := url.Parse(address)
	if err != nil || u.Scheme != "s3" || u.Opaque != "" || u.Fragment != "" {
		return c, errors.New("not an address such as " +
			"s3://bucket/prefix?endpoint=https://s3.example.com&region=eu-central-1")
	}

	// Addresses are logged and shown, and keys must not be.
	if u.User != nil {
		return c, errors.New("the keys do not belong into the address: they have settings of their own")
	}

	// Bucket and prefix become part of every name.
	if c.Bucket = u.Host; s3utils.CheckValidBucketNameStrict(c.Bucket) != nil {
		return c, fmt.Errorf("%q is no name of a bucket", c.Bucket)
	}

	if c.Prefix = strings.Trim(u.Path, "/"); c.Prefix != "" && checkKey(c.Prefix) != nil {
		return c, errors.New("a prefix is made of a-z, 0-9, - and single slashes")
	}

	if err := c.parseQuery(u.RawQuery); err != nil {
		return c, err
	}

	if accessKey == "" || secretKey == "" {
		return c, errors.New("the access key and the secret key are both needed")
	}

	return c, nil
}

// parseQuery reads the settings of the address.
func (c *S3Config) parseQuery(raw string) error {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return errors.New("the part behind the question mark is malformed")
	}

	// Unknown settings are refused, because a misspelled one would be ignored.
	insecure := false

	for name, values := range query {
		switch {
		case len(values) != 1:
			return fmt.Errorf("%s is given more than once", name)
		case name == "endpoint":
		case name == "region":
			c.Region = values[0]
		case name == "insecure" && (values[0] == "true" || values[0] == "false"):
			insecure = values[0] == "true"
		default:
			return fmt.Errorf("%s is not understood; there are endpoint, region and insecure=true", name)
		}
	}

	// The endpoint is a host without a path.
	endpoint, err := url.Parse(query.Get("endpoint"))
	if err != nil || endpoint.Host == "" || endpoint.Scheme != "http" && endpoint.Scheme != "https" ||
		endpoint.User != nil ||
		strings.Trim(endpoint.Path, "/")+endpoint.RawQuery+endpoint.Fragment != "" {
		return errors.New("endpoint must be the store's own address, such as endpoint=https://s3.example.com")
	}

	// The network between us and the store would see everything without TLS.
	c.Endpoint, c.Plaintext = endpoint.Host, endpoint.Scheme == "http"
	if c.Plaintext && !insecure && !onThisMachine(endpoint.Hostname()) {
		return errors.New("an http endpoint sends stored files in the clear: use https, or add &insecure=true when " +
			"the network is yours")
	}

	// The stated region wins over that in the name of the endpoint.
	c.Region = cmp.Or(c.Region, s3utils.GetRegionFromURL(*endpoint), anyRegion)

	return nil
}

func onThisMachine(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// explain returns an error that says what to do about a store that cannot be opened.
func (c *S3Config) explain(err error) error {
	answer, ok := errors.AsType[minio.ErrorResponse](err)
	if !ok {
		return fmt.Errorf("blob: the object store at %s cannot be reached: check the endpoint and the network: %w",
			c.Endpoint, err)
	}

	// The server has answered: its code says which setting is wrong.
	switch {
	case answer.Code == minio.NoSuchBucket:
		return fmt.Errorf("blob: there is no bucket %s at %s: make it, or correct its name: %w", c.Bucket, c.Endpoint,
			err)
	case answer.Code == minio.AuthorizationHeaderMalformed, answer.Code == minio.InvalidRegion,
		answer.StatusCode == http.StatusMovedPermanently:
		return fmt.Errorf("blob: bucket %s is not in region %s: correct the region: %w", c.Bucket, c.Region, err)
	case answer.StatusCode == http.StatusForbidden, answer.StatusCode == http.StatusUnauthorized:
		return fmt.Errorf("blob: the object store at %s refuses the keys for bucket %s (%s): check both, and that "+
			"they may list, read, write "+
			"and delete objects and list and abort multipart uploads: %w", c.Endpoint, c.Bucket, answer.Code, err)
	}

	return fmt.Errorf("blob: the object store at %s does not serve bucket %s (%s): %w", c.Endpoint, c.Bucket,
		answer.Code, err)
}

// transport ends connections on which nothing moves, and answers that do not end. Whole requests have no deadline: a
// part may take long on a slow line.
func (c *S3Config) transport() http.RoundTripper {
	patience := cmp.Or(c.Patience, defaultPatience)
	dialer := &net.Dialer{Timeout: min(patience, 10*time.Second)}

	return &boundedAnswers{within: answerPatiences * patience, network: &http.Transport{
		Proxy: http.ProxyFromEnvironment,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}

			return &watchedConn{Conn: conn, patience: patience}, nil
		},
		TLSClientConfig:     &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout: min(patience, 10*time.Second),
		MaxIdleConnsPerHost: 16,
		IdleConnTimeout:     patience / 2, // before its deadline breaks it under a request
		DisableCompression:  true,         // objects are read as they were written

		ResponseHeaderTimeout:  answerPatiences * patience,
		MaxResponseHeaderBytes: maxHeader,
	}}
}

// errAnswer refuses an answer of the store that does not end.
var errAnswer = errors.New("the answer of the object store does not end")

// boundedAnswers bounds the bytes of answers and the time that they take. Ranges of objects are bounded by who reads
// them.
type boundedAnswers struct {
	network http.RoundTripper
	within  time.Duration
}

// RoundTrip implements http.RoundTripper.
func (b *boundedAnswers) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.network.RoundTrip(r)
	if err == nil && r.Header.Get("Range") == "" {
		answer.Body = &boundedBody{ReadCloser: answer.Body, left: maxAnswer, until: time.Now().Add(b.within)}
	}

	return answer, err
}

// boundedBody is the body of an answer, which fails with errAnswer beyond its bounds.
type boundedBody struct {
	io.ReadCloser

	left  int
	until time.Time
}

// Read implements io.Reader. A silent server is ended by its connection, so the time is looked at when bytes come.
func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= n; b.left < 0 || time.Now().After(b.until) {
		return 0, errAnswer
	}

	return n, err
}

// watchedConn fails once nothing has moved for its patience. Its reader waits from the end of one answer on, so writing
// moves the deadline of both.
type watchedConn struct {
	net.Conn

	patience time.Duration
}

func (c *watchedConn) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(c.patience)); err != nil {
		return 0, err
	}

	return c.Conn.Read(p)
}

func (c *watchedConn) Write(p []byte) (int, error) {
	if err := c.SetDeadline(time.Now().Add(c.patience)); err != nil {
		return 0, err
	}

	return c.Conn.Write(p)
}
