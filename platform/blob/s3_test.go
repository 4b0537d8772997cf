package blob_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"

	"stayledger/platform/blob"
	"stayledger/platform/s3test"
)

// meter counts the bytes of answers.
type meter struct {
	http.ResponseWriter

	count *atomic.Int64
}

func (m meter) Write(p []byte) (int, error) {
	m.count.Add(int64(len(p)))
	return m.ResponseWriter.Write(p)
}

// Unwrap lets the connection be taken over.
func (m meter) Unwrap() http.ResponseWriter { return m.ResponseWriter }

func TestALargeObjectGoesInPartsAndComesInRanges(t *testing.T) {
	t.Parallel()
	g := theGateway(t)
	c := g.config()

	var largest, down atomic.Int64

	g.between(t, &c, func(w http.ResponseWriter, r *http.Request, server http.Handler) {
		if r.ContentLength > largest.Load() {
			largest.Store(r.ContentLength)
		}

		server.ServeHTTP(meter{w, &down}, r)
	})

	store, content := openS3(t, c), random(40<<20)
	if info := put(t, store, "large", content); info.Size != 40<<20 || info.SHA256 != sha256.Sum256(content) {
		t.Errorf("info %d bytes, sum %x", info.Size, info.SHA256)
	}

	if got := largest.Load(); got != 8<<20 {
		t.Errorf("the largest request had %d bytes", got)
	}

	object, err := store.Open(t.Context(), "large")
	if err != nil {
		t.Fatal(err)
	}

	down.Store(0)

	request := httptest.NewRequest(http.MethodGet, "/", nil)
	request.Header.Set("Range", "bytes=20000000-20000999")

	answer := httptest.NewRecorder()
	http.ServeContent(answer, request, "", object.ModTime(), object)

	if err := object.Close(); err != nil || !bytes.Equal(answer.Body.Bytes(), content[20_000_000:20_001_000]) {
		t.Errorf("range: %d bytes, %v", answer.Body.Len(), err)
	}

	if got := down.Load(); got > 1<<20 {
		t.Errorf("%d bytes came for a range of 1000", got)
	}

	if !bytes.Equal(get(t, store, "large"), content) {
		t.Error("the whole differs")
	}
}

func TestAStoreThatCannotBeOpenedSaysWhy(t *testing.T) {
	t.Parallel()

	g := theGateway(t)
	for name, c := range map[string]struct {
		change func(c *blob.S3Config)
		says   string
	}{
		"wrong secret":   {func(c *blob.S3Config) { c.SecretKey = "wrong" }, "refuses the keys"},
		"unknown key":    {func(c *blob.S3Config) { c.AccessKey = "nobody" }, "access key"},
		"unknown bucket": {func(c *blob.S3Config) { c.Bucket = "elsewhere" }, "there is no bucket elsewhere"},
		"other region":   {func(c *blob.S3Config) { c.Region = "eu-central-1" }, "correct the region"},
		"nobody there":   {func(c *blob.S3Config) { c.Endpoint = "127.0.0.1:1" }, "cannot be reached"},
		"HTTPS":          {func(c *blob.S3Config) { c.Plaintext = false }, "cannot be reached"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			config := g.config()
			c.change(&config)

			_, err := blob.S3(t.Context(), config)
			if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), config.SecretKey) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// The answers of a server that is busy for a moment are asked for again, and one that is slow is waited for.
func TestABusyServerIsAskedAgain(t *testing.T) {
	t.Parallel()
	g := theGateway(t)
	c := g.config()
	c.Patience = 2 * time.Second

	var asked atomic.Int64

	g.between(t, &c, func(w http.ResponseWriter, r *http.Request, server http.Handler) {
		switch asked.Add(1) % 5 {
		case 0:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 1:
			hangUp(w)
		default:
			time.Sleep(20 * time.Millisecond)
			server.ServeHTTP(w, r)
		}
	})
	store, content := openS3(t, c), random(17<<20)
	put(t, store, "busy", content)

	if !bytes.Equal(get(t, store, "busy"), content) {
		t.Error("the content differs")
	}

	if err := store.Delete(t.Context(), "busy"); err != nil {
		t.Error(err)
	}

	if found := g.Names(t, c.Prefix); len(found) != 0 {
		t.Errorf("names %v", found)
	}
}

// The server goes away at different moments of a write.
func TestAServerThatIsGoneLeavesNothingVisible(t *testing.T) {
	t.Parallel()

	g := theGateway(t)
	for name, c := range map[string]struct {
		from func(r *http.Request) bool
		size int
	}{
		"before the upload":      {func(r *http.Request) bool { return r.URL.Query().Has("uploads") }, 17 << 20},
		"at the second part":     {func(r *http.Request) bool { return r.URL.Query().Get("partNumber") == "2" }, 17 << 20},
		"at the last part":       {func(r *http.Request) bool { return r.URL.Query().Get("partNumber") == "3" }, 17 << 20},
		"at the completion":      {func(r *http.Request) bool { return r.Method == http.MethodPost && r.URL.Query().Has("uploadId") }, 17 << 20},
		"at the only request":    {func(r *http.Request) bool { return r.Method == http.MethodPut }, 100},
		"at the commit of empty": {func(r *http.Request) bool { return r.Method == http.MethodPut }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			config := g.config()

			var gone atomic.Bool

			g.between(t, &config, func(w http.ResponseWriter, r *http.Request, server http.Handler) {
				if r.Method != http.MethodGet && c.from(r) {
					gone.Store(true)
				}

				if gone.Load() {
					hangUp(w)
					return
				}

				server.ServeHTTP(w, r)
			})
			store := openS3(t, config)

			w, err := store.Create(t.Context(), "half")
			if err != nil {
				t.Fatal(err)
			}

			_, writeErr := w.Write(random(c.size))

			_, commitErr := w.Commit()
			if commitErr == nil || writeErr != nil && !errors.Is(commitErr, writeErr) {
				t.Errorf("write %v, commit %v", writeErr, commitErr)
			}

			whole := openS3(t, direct(g, config))
			if _, err := whole.Open(t.Context(), "half"); !errors.Is(err, blob.ErrNotFound) {
				t.Errorf("open: %v", err)
			}
			// What the writer could not tidy up any more is taken by the sweep.
			if _, err := whole.Sweep(t.Context(), time.Now().Add(time.Hour)); err != nil {
				t.Error(err)
			}

			if found := g.Names(t, config.Prefix); len(found) != 0 {
				t.Errorf("names %v", found)
			}
		})
	}
}

// direct is the same place without what is in between.
func direct(g gateway, c blob.S3Config) blob.S3Config {
	c.Endpoint = g.Address
	return c
}

// The server has completed the object, and its answer is lost.
func TestALostAnswerToTheCommit(t *testing.T) {
	t.Parallel()

	g := theGateway(t)
	for name, size := range map[string]int{"parts": large, "one request": 100} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			c := g.config()

			var lost atomic.Int64

			g.between(t, &c, func(w http.ResponseWriter, r *http.Request, server http.Handler) {
				completes := r.Method == http.MethodPost && r.URL.Query().Has("uploadId") || r.Method == http.MethodPut && r.URL.RawQuery == ""
				if !completes {
					server.ServeHTTP(w, r)
					return
				}

				lost.Add(1)
				server.ServeHTTP(httptest.NewRecorder(), r)
				hangUp(w)
			})
			store := openS3(t, c)
			put(t, store, "kept", random(size))

			if !bytes.Equal(get(t, store, "kept"), random(size)) || lost.Load() == 0 {
				t.Errorf("the content differs, or no answer of %d was lost", lost.Load())
			}
		})
	}
}

// Whoever writes may have a transaction open.
func TestWritingDoesNotWaitForTheServer(t *testing.T) {
	t.Parallel()

	g := theGateway(t)
	c, written := g.config(), make(chan struct{})
	c.Patience = time.Second
	g.between(t, &c, func(w http.ResponseWriter, r *http.Request, server http.Handler) {
		if r.Method != http.MethodGet {
			select {
			case <-written:
			case <-r.Context().Done():
				return
			}
		}

		server.ServeHTTP(w, r)
	})

	w, err := openS3(t, c).Create(t.Context(), "large")
	if err != nil {
		t.Fatal(err)
	}

	content := random(40 << 20)
	if _, err := w.Write(content); err != nil {
		t.Errorf("write: %v", err)
	}

	close(written)

	if info, err := w.Commit(); err != nil || info.Size != 40<<20 || info.SHA256 != sha256.Sum256(content) {
		t.Errorf("committed %d bytes: %v", info.Size, err)
	}
}

// A server that says nothing is given up, sooner when the caller gives up.
func TestASilentServerIsGivenUp(t *testing.T) {
	t.Parallel()

	g := theGateway(t)
	for name, limit := range map[string]time.Duration{"by the store": time.Minute, "by the caller": 300 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			c := g.config()

			c.Patience = 200 * time.Millisecond
			if name == "by the caller" {
				c.Patience = time.Minute
			}

			g.between(t, &c, func(w http.ResponseWriter, r *http.Request, server http.Handler) {
				if r.Method == http.MethodPut {
					_, _ = io.Copy(io.Discard, r.Body)
					<-r.Context().Done()

					return
				}

				server.ServeHTTP(w, r)
			})

			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()

			start := time.Now()

			w, err := openS3(t, c).Create(ctx, "silent")
			if err != nil {
				t.Fatal(err)
			}

			// Writing does not wait for the server, so that the commit may be the first to know.
			_, err = w.Write(random(17 << 20))
			if _, commitErr := w.Commit(); commitErr == nil {
				t.Errorf("write %v, commit %v", err, commitErr)
			}

			if took := time.Since(start); took > 15*time.Second {
				t.Errorf("took %v", took)
			}

			if found := g.Names(t, c.Prefix); len(found) != 0 {
				t.Errorf("names %v", found)
			}
		})
	}
}

// cutter breaks an answer off after some bytes.
type cutter struct {
	http.ResponseWriter

	left int
}

func (c *cutter) Write(p []byte) (int, error) {
	if c.left -= len(p); c.left < 0 {
		panic(http.ErrAbortHandler)
	}

	return c.ResponseWriter.Write(p)
}

func TestABrokenDownloadGoesOn(t *testing.T) {
	t.Parallel()
	g := theGateway(t)
	c := g.config()

	var broken atomic.Int64

	g.between(t, &c, func(w http.ResponseWriter, r *http.Request, server http.Handler) {
		if r.Method == http.MethodGet && r.Header.Get("Range") != "" && broken.Add(1)%2 == 1 {
			server.ServeHTTP(&cutter{w, 200_000}, r)
			return
		}

		server.ServeHTTP(w, r)
	})
	store := openS3(t, c)
	put(t, store, "broken", random(large))

	if !bytes.Equal(get(t, store, "broken"), random(large)) || broken.Load() < 4 {
		t.Errorf("the content differs, or nothing broke in %d requests", broken.Load())
	}
}

func TestADownloadThatNeverGoesOnFails(t *testing.T) {
	t.Parallel()
	g := theGateway(t)
	c := g.config()
	g.between(t, &c, func(w http.ResponseWriter, r *http.Request, server http.Handler) {
		if r.Method == http.MethodGet && r.Header.Get("Range") != "" {
			w.Header().Set("Content-Range", strings.Replace(r.Header.Get("Range"), "=", " ", 1)+"/100")
			w.Header().Set("Content-Length", "100")
			w.Header().Set("Last-Modified", time.Now().UTC().Format(http.TimeFormat))
			w.WriteHeader(http.StatusPartialContent)

			return
		}

		server.ServeHTTP(w, r)
	})
	store := openS3(t, c)
	put(t, store, "broken", random(100))

	object, err := store.Open(t.Context(), "broken")
	if err != nil {
		t.Fatal(err)
	}
	defer object.Close()

	if got, err := io.ReadAll(object); len(got) != 0 || err == nil {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
}

func TestAServerThatIgnoresRangesIsRefused(t *testing.T) {
	t.Parallel()
	g := theGateway(t)
	c := g.config()
	g.between(t, &c, func(w http.ResponseWriter, r *http.Request, server http.Handler) {
		if r.Method == http.MethodGet && r.Header.Get("Range") != "" {
			w.Header().Set("Last-Modified", time.Now().UTC().Format(http.TimeFormat))
			_, _ = w.Write(random(100))

			return
		}

		server.ServeHTTP(w, r)
	})
	store := openS3(t, c)
	put(t, store, "whole", random(100))

	object, err := store.Open(t.Context(), "whole")
	if err != nil {
		t.Fatal(err)
	}
	defer object.Close()

	if _, err := object.Seek(50, io.SeekStart); err != nil {
		t.Fatal(err)
	}

	if got, err := io.ReadAll(object); len(got) != 0 || err == nil {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
}

func TestSweepLeavesTheUploadsOfOthers(t *testing.T) {
	t.Parallel()
	g := theGateway(t)
	c := g.config()

	store := openS3(t, c)
	for _, name := range []string{c.Prefix + "/Holiday Photo.jpg", c.Prefix + "/deeper/files", c.Prefix + "x"} {
		if _, err := g.Client.NewMultipartUpload(t.Context(), s3test.Bucket, name, minio.PutObjectOptions{}); err != nil {
			t.Fatal(err)
		}
	}

	if n, err := store.Sweep(t.Context(), time.Now().Add(time.Hour)); n != 0 || err != nil {
		t.Errorf("swept %d, %v", n, err)
	}

	if found := g.Names(t, c.Prefix); len(found) != 2 {
		t.Errorf("names %v", found)
	}
}

func TestAddressesOfStores(t *testing.T) {
	t.Parallel()

	for address, want := range map[string]blob.S3Config{
		"s3://books?endpoint=https://s3.example.com":                             {Endpoint: "s3.example.com", Region: "us-east-1", Bucket: "books"},
		"s3://books/a/b-1/?endpoint=https://s3.example.com/&region=eu-central-1": {Endpoint: "s3.example.com", Region: "eu-central-1", Bucket: "books", Prefix: "a/b-1"},
		"s3://books?endpoint=https://s3.eu-west-3.amazonaws.com":                 {Endpoint: "s3.eu-west-3.amazonaws.com", Region: "eu-west-3", Bucket: "books"},
		"s3://books?endpoint=http://127.0.0.1:7070":                              {Endpoint: "127.0.0.1:7070", Plaintext: true, Region: "us-east-1", Bucket: "books"},
		"s3://books?endpoint=http://[::1]:7070":                                  {Endpoint: "[::1]:7070", Plaintext: true, Region: "us-east-1", Bucket: "books"},
		"s3://books?endpoint=http://localhost:7070&insecure=false":               {Endpoint: "localhost:7070", Plaintext: true, Region: "us-east-1", Bucket: "books"},
		"s3://books?endpoint=http%3A%2F%2Fstore.lan%3A9000&insecure=true":        {Endpoint: "store.lan:9000", Plaintext: true, Region: "us-east-1", Bucket: "books"},
	} {
		want.AccessKey, want.SecretKey = "key", "secret"
		if got, err := blob.ParseS3(address, "key", "secret"); err != nil || got != want {
			t.Errorf("%s: %+v, %v", address, got, err)
		}
	}

	for address, says := range map[string]string{
		"":                                      "not an address",
		"/var/lib/files":                        "not an address",
		"https://books":                         "not an address",
		"s3:books":                              "not an address",
		"s3://books\x7f":                        "not an address",
		"s3://?endpoint=https://s3.example.com": "bucket",
		"s3://Books?endpoint=https://s3.example.com": "bucket",
		"s3://books":                                                    "endpoint",
		"s3://books?endpoint=s3.example.com":                            "endpoint",
		"s3://books?endpoint=ftp://s3.example.com":                      "endpoint",
		"s3://books?endpoint=https://s3.example.com/path":               "endpoint",
		"s3://books?endpoint=https://key:hush@s3.example.com":           "endpoint",
		"s3://books?endpoint=http://s3.example.com":                     "in the clear",
		"s3://books?endpoint=http://127.0.0.1.example.com":              "in the clear",
		"s3://books?endpoint=https://s3.example.com&insecure=yes":       "not understood",
		"s3://books?endpoint=https://s3.example.com&acl=public":         "not understood",
		"s3://books?endpoint=https://a.example&endpoint=https://b.test": "more than once",
		"s3://books?endpoint=%zz":                                       "malformed",
		"s3://key:hush@books?endpoint=https://s3.example.com":           "keys",
		"s3://books/../other?endpoint=https://s3.example.com":           "prefix",
		"s3://books/A?endpoint=https://s3.example.com":                  "prefix",
	} {
		if got, err := blob.ParseS3(address, "key", "secret"); err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %+v, %v", address, got, err)
		}
	}

	for _, keys := range [][2]string{{"", ""}, {"key", ""}, {"", "secret"}} {
		if _, err := blob.ParseS3("s3://books?endpoint=https://s3.example.com", keys[0], keys[1]); err == nil {
			t.Errorf("keys %q are enough", keys)
		}
	}
}
