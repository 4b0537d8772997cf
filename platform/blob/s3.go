package blob

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

const (
	// Attempts at one request: the first and three more, at most a second apart.
	attempts = 4
	// ListPage is how many abandoned uploads are asked for at a time.
	listPage = 500
	// ListPages is how many pages a list has at most.
	listPages = 1000
	// Parting bounds what is tidied up after the caller has given up.
	parting = 30 * time.Second
)

// S3Store is a Store in one bucket of an S3-compatible object store, or below a prefix of it. Objects have the names
// that LocalStore gives its files, so that a folder can be moved into a bucket. What is written streams in parts, so a
// writer holds two parts in memory whatever the size of its object, and at most 78 GiB fit into one.
type S3Store struct {
	core   *minio.Core
	bucket string
	prefix string // empty, or with a slash at its end
}

var _ Store = (*S3Store)(nil)

// S3 opens the store and asks the server for what Sweep needs, so that a wrong address, bucket or key is an error here
// and not at the first object. The error says which of them it is.
func S3(ctx context.Context, c S3Config) (*S3Store, error) {
	core, err := minio.NewCore(c.Endpoint, &minio.Options{
		Creds: credentials.NewStaticV4(c.AccessKey, c.SecretKey, ""), Secure: !c.Plaintext, Region: c.Region,
		Transport: c.transport(), MaxRetries: attempts,
	})
	if err != nil {
		return nil, fmt.Errorf("blob: object store: %w", err)
	}

	s := &S3Store{core: core, bucket: c.Bucket}
	if c.Prefix != "" {
		s.prefix = c.Prefix + "/"
	}

	// One question that needs the address, the bucket and the key to be right.
	if _, err := core.ListMultipartUploads(ctx, s.bucket, s.prefix, "", "", "", 1); err != nil {
		return nil, c.explain(err)
	}

	return s, nil
}

// Create implements Store. The context covers the writer until its Commit.
func (s *S3Store) Create(ctx context.Context, key string) (Writer, error) {
	name, err := s.name(ctx, key)
	if err != nil {
		return nil, err
	}

	return newS3Writer(ctx, s, name), nil
}

// Open implements Store. The context covers the object until its Close. A reader never mixes two objects: when its
// object is replaced, it ends with what it had begun to fetch, or fails.
func (s *S3Store) Open(ctx context.Context, key string) (Object, error) {
	name, err := s.name(ctx, key)
	if err != nil {
		return nil, err
	}

	info, err := s.stat(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("blob: open: %w", err)
	}

	return newS3Object(ctx, s, info), nil
}

// Delete implements Store.
func (s *S3Store) Delete(ctx context.Context, key string) error {
	name, err := s.name(ctx, key)
	if err != nil {
		return err
	}

	if _, err := s.stat(ctx, name); err != nil { // the server deletes what is not there without a word
		return fmt.Errorf("blob: delete: %w", err)
	}

	if err := s.core.RemoveObject(ctx, s.bucket, name, minio.RemoveObjectOptions{}); err != nil {
		return fmt.Errorf("blob: delete: %w", err)
	}

	return nil
}

// Sweep ends uploads of writers that neither committed nor aborted and began before olderThan. It returns how many
// it ended. It looks only at names that this store can have given.
func (s *S3Store) Sweep(ctx context.Context, olderThan time.Time) (int, error) {
	removed, keyMarker, idMarker := 0, "", ""
	for range listPages {
		// The server lists uploads in pages, and continues after the markers.
		page, err := s.core.ListMultipartUploads(ctx, s.bucket, s.prefix, keyMarker, idMarker, "", listPage)
		if err != nil {
			return removed, fmt.Errorf("blob: sweep: %w", err)
		}

		for _, upload := range page.Uploads {
			if !s.owns(upload.Key) || !upload.Initiated.Before(olderThan) {
				continue
			}

			// An upload that is gone was committed or aborted meanwhile.
			err := s.core.AbortMultipartUpload(ctx, s.bucket, upload.Key, upload.UploadID)
			switch {
			case err == nil:
				removed++
			case !isAbsent(err):
				return removed, fmt.Errorf("blob: sweep: %w", err)
			}
		}

		// A server that repeats its markers would keep this loop going for ever.
		if !page.IsTruncated || page.NextKeyMarker == keyMarker && page.NextUploadIDMarker == idMarker {
			return removed, nil
		}

		keyMarker, idMarker = page.NextKeyMarker, page.NextUploadIDMarker
	}

	return removed, fmt.Errorf("blob: sweep: %w", errAnswer)
}

// name maps a key to the name of its object: the prefix, and the key with its slashes as dots. A gateway in front of a
// file system could not keep both `a` and `a/b` otherwise.
func (s *S3Store) name(ctx context.Context, key string) (string, error) {
	if err := check(ctx, key); err != nil {
		return "", err
	}

	return s.prefix + strings.ReplaceAll(key, "/", "."), nil
}

// owns reports whether a name is one that this store gives.
func (s *S3Store) owns(name string) bool {
	rest, below := strings.CutPrefix(name, s.prefix)
	return below && path.Base(rest) == rest && checkKey(strings.ReplaceAll(rest, ".", "/")) == nil
}

// stat describes an object; ErrNotFound when there is none.
func (s *S3Store) stat(ctx context.Context, name string) (minio.ObjectInfo, error) {
	info, err := s.core.StatObject(ctx, s.bucket, name, minio.StatObjectOptions{})
	if isAbsent(err) {
		err = ErrNotFound
	}

	info.Key = name

	return info, err
}

// isAbsent reports whether an error says that there is no such object or upload.
func isAbsent(err error) bool {
	var answer minio.ErrorResponse

	return errors.As(err, &answer) && answer.Code != minio.NoSuchBucket && (answer.StatusCode == http.StatusNotFound ||
		answer.Code == minio.NoSuchUpload)
}
