package blob_test

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"stayledger/platform/blob"
	"stayledger/platform/hostile"
)

// hostileStore opens a store whose server answers well until it is opened, and then as it is told to.
func hostileStore(t *testing.T, answer http.Handler) *blob.S3Store {
	t.Helper()

	var opened atomic.Bool

	at := hostile.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if opened.Swap(true) {
			answer.ServeHTTP(w, r)
			return
		}

		w.Header().Set("Content-Type", "application/xml")
		_, _ = io.WriteString(w, `<ListMultipartUploadsResult></ListMultipartUploadsResult>`)
	}))

	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}

	s, err := blob.S3(t.Context(), blob.S3Config{
		Endpoint: u.Host, Plaintext: true, Region: "us-east-1", Bucket: "files", AccessKey: "a", SecretKey: "s", Patience: 100 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}

	return s
}

// Whatever a store answers, what was asked for fails in time, with little memory.
func TestHostileStoresAreBounded(t *testing.T) { //nolint:paralleltest // It counts what the process allocates.
	answers := hostile.Answers("application/xml")
	delete(answers, "page") // it is read as an empty list

	answers["list without end"] = hostile.Endless("application/xml", `<ListMultipartUploadsResult>`,
		`<Upload><Key>other</Key><UploadId>u</UploadId><Initiated>2020-01-01T00:00:00.000Z</Initiated></Upload>`)
	answers["error without end"] = func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		hostile.Endless("application/xml", `<Error><Message>`, "x")(w, r)
	}
	answers["error that drips"] = func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		hostile.Drip("application/xml")(w, r)
	}

	for name, answer := range answers { //nolint:paralleltest // It counts what the process allocates.
		t.Run(name, func(t *testing.T) {
			s := hostileStore(t, answer)

			hostile.Bound(t, 30*time.Second, 64<<20, func() {
				if n, err := s.Sweep(t.Context(), time.Now()); err == nil || n > 0 {
					t.Errorf("sweep ended %d uploads: %v", n, err)
				}
			})
		})
	}
}

// A list whose pages never end is given up when its marker comes again, and with new markers after the most pages.
func TestListsWithoutEndAreGivenUp(t *testing.T) { //nolint:paralleltest // It counts what the process allocates.
	var asked atomic.Int64

	s := hostileStore(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/xml")
		_, _ = io.WriteString(w, `<ListMultipartUploadsResult><IsTruncated>true</IsTruncated><NextKeyMarker>`+strings.Repeat("k", int(asked.Add(1)%500)+1)+
			`</NextKeyMarker></ListMultipartUploadsResult>`)
	}))

	hostile.Bound(t, time.Minute, 256<<20, func() {
		if _, err := s.Sweep(t.Context(), time.Now()); err == nil {
			t.Error("the list ended")
		}
	})

	if n := asked.Load(); n > 1000 {
		t.Errorf("%d pages were asked for", n)
	}
}
