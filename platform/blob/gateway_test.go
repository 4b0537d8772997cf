package blob_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"testing"
	"time"

	"stayledger/platform/blob"
	"stayledger/platform/id"
	"stayledger/platform/s3test"
)

func TestMain(m *testing.M) {
	code := m.Run()

	s3test.Stop()
	os.Exit(code)
}

// gateway is a real S3 server, which all tests share, each below a prefix of its own.
type gateway struct{ *s3test.Server }

func theGateway(t *testing.T) gateway {
	t.Helper()
	return gateway{s3test.Start(t)}
}

// config leads to the server, under a prefix that no other test has.
func (g gateway) config() blob.S3Config {
	return blob.S3Config{
		Endpoint: g.Address, Plaintext: true, Region: s3test.Region, Bucket: s3test.Bucket, Prefix: "t/" + id.New(time.Now()).String(),
		AccessKey: s3test.AccessKey, SecretKey: s3test.SecretKey,
	}
}

func openS3(t *testing.T, c blob.S3Config) *blob.S3Store {
	t.Helper()

	store, err := blob.S3(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}

	return store
}

// untilPart waits until the first part of the only upload below a prefix has arrived.
func (g gateway) untilPart(t *testing.T, prefix string) {
	t.Helper()

	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		for upload := range g.Client.ListIncompleteUploads(t.Context(), s3test.Bucket, prefix+"/", true) {
			parts, err := g.Client.ListObjectParts(t.Context(), s3test.Bucket, upload.Key, upload.UploadID, 0, 1)
			if err == nil && len(parts.ObjectParts) == 1 {
				return
			}
		}
	}

	t.Fatal("no part has arrived")
}

// between puts a handler between a store and the server, which serves what the handler passes on.
func (g gateway) between(t *testing.T, c *blob.S3Config, handle func(w http.ResponseWriter, r *http.Request, server http.Handler)) {
	t.Helper()

	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: "http", Host: g.Address})
		r.Out.Host = r.In.Host // as the client signed it
	}, ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handle(w, r, proxy) }))
	t.Cleanup(server.Close)
	c.Endpoint = server.Listener.Addr().String()
}

// hangUp ends the connection of a request without an answer.
func hangUp(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		_ = conn.Close()
	}
}
