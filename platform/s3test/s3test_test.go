package s3test_test

import (
	"os"
	"strings"
	"testing"

	"github.com/minio/minio-go/v7"

	"stayledger/platform/s3test"
)

func TestMain(m *testing.M) {
	code := m.Run()

	s3test.Stop()
	os.Exit(code)
}

func TestTheServerKeepsObjects(t *testing.T) {
	t.Parallel()

	s := s3test.Start(t)
	if s3test.Start(t) != s {
		t.Error("there are two servers")
	}

	if _, err := s.Client.NewMultipartUpload(t.Context(), s3test.Bucket, "one/half", minio.PutObjectOptions{}); err != nil {
		t.Fatal(err)
	}

	for _, name := range []string{"one/a", "two/b"} {
		if _, err := s.Client.Client.PutObject(t.Context(), s3test.Bucket, name, strings.NewReader("x"), 1, minio.PutObjectOptions{}); err != nil {
			t.Fatal(err)
		}
	}

	if names := s.Names(t, "one"); len(names) != 2 || names[0] != "a" || names[1] != "unfinished:half" {
		t.Errorf("names %v", names)
	}
}
