package s3test_test

import (
	"testing"

	"github.com/minio/minio-go/v7"

	"stayledger/platform/s3test"
)

// A test of a package with a TestMain that calls Stop puts an object into the bucket and finds it there.
func Example() {
	test := func(t *testing.T) {
		t.Helper()

		s := s3test.Start(t)
		if _, err := s.Client.FPutObject(t.Context(), s3test.Bucket, "books/january", "january.csv", minio.PutObjectOptions{}); err != nil {
			t.Fatal(err)
		}

		if names := s.Names(t, "books"); len(names) != 1 || names[0] != "january" {
			t.Errorf("names %v", names)
		}
	}
	_ = test // needs a server
}
