package blob

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/minio/minio-go/v7"
)

// mostSlots bounds the parts of an object that wait to be sent: 1 GiB of disk.
const mostSlots = 128

// s3Upload sends the parts of an object one after the other. Parts that are full sooner than the server takes them wait in
// a temporary file, so that whoever writes does not wait for the server: it may have a transaction open.
type s3Upload struct {
	writer *s3Writer
	file   *os.File      // of slots with a part each; its name is gone
	slots  int64         // that the file has
	free   chan int64    // slots with parts that were sent
	full   chan section  // parts to send, in order; closed after the last one
	quit   chan struct{} // closed when nothing more is to be sent
	ended  chan struct{} // closed when nothing more is sent
	// finish waits until all parts are sent, and returns the same each time. No part can be added afterwards.
	finish func() error

	// Set before ended is closed.
	id   string // of the upload at the server; empty while there is none
	sent []minio.CompletePart
	err  error
}

// section is a part in a slot of the file.
type section struct{ slot, size int64 }

// errAborted ends an upload that nobody waits for.
var errAborted = errors.New("the writer was aborted")

// newS3Upload begins to send the parts that add gets. Its end must be awaited by finish or abort.
func newS3Upload(w *s3Writer) (*s3Upload, error) {
	file, err := os.CreateTemp("", "stayledger-parts-")
	if err != nil {
		return nil, fmt.Errorf("keep parts until they are sent: %w", err)
	}

	// Without its name the file goes with the process, however that ends.
	if err := os.Remove(file.Name()); err != nil {
		return nil, errors.Join(fmt.Errorf("keep parts until they are sent: %w", err), file.Close())
	}

	u := &s3Upload{
		writer: w, file: file, free: make(chan int64, mostSlots), full: make(chan section, mostSlots),
		quit: make(chan struct{}), ended: make(chan struct{}),
	}

	u.finish = sync.OnceValue(u.end)

	go func() {
		defer close(u.ended)

		u.err = u.send()
	}()

	return u, nil
}

// add adds a part, which can be used again afterwards. It waits only if mostSlots parts wait. It fails as the sending of
// an earlier part has failed.
func (u *s3Upload) add(part []byte) error {
	slot, err := u.takeSlot()
	if err != nil {
		return err
	}

	if _, err := u.file.WriteAt(part, slot*partSize); err != nil {
		return fmt.Errorf("keep a part until it is sent: %w", err)
	}

	u.full <- section{slot, int64(len(part))}

	return nil
}

// takeSlot returns a slot that no part is in.
func (u *s3Upload) takeSlot() (int64, error) {
	select {
	case <-u.ended:
		return 0, u.err
	default:
	}

	// The file grows only if no part in it was sent.
	select {
	case slot := <-u.free:
		return slot, nil
	default:
	}

	if u.slots < mostSlots {
		u.slots++
		return u.slots - 1, nil
	}

	select {
	case slot := <-u.free:
		return slot, nil
	case <-u.ended:
		return 0, u.err
	}
}

// send begins the upload at the server and sends the parts until the last one.
func (u *s3Upload) send() error {
	w := u.writer

	var err error
	if u.id, err = w.store.core.NewMultipartUpload(w.ctx, w.store.bucket, w.name, w.options()); err != nil {
		return err
	}

	for part := range u.full {
		select {
		case <-u.quit:
			return errAborted
		default:
		}

		if err := u.sendPart(part); err != nil {
			return err
		}

		u.free <- part.slot
	}

	return nil
}

// sendPart sends one part from the file.
func (u *s3Upload) sendPart(part section) error {
	w, number := u.writer, len(u.sent)+1
	if number > maxParts {
		return fmt.Errorf("an object takes at most %d bytes", int64(maxParts)*partSize)
	}

	content, sum := io.NewSectionReader(u.file, part.slot*partSize, part.size), sha256.New()
	if _, err := io.Copy(sum, content); err != nil {
		return err
	}

	if _, err := content.Seek(0, io.SeekStart); err != nil {
		return err
	}

	sent, err := w.store.core.PutObjectPart(w.ctx, w.store.bucket, w.name, u.id, number, content, part.size,
		minio.PutObjectPartOptions{Sha256Hex: hex.EncodeToString(sum.Sum(nil)), DisableContentSha256: true})
	u.sent = append(u.sent, minio.CompletePart{PartNumber: number, ETag: sent.ETag})

	return err
}

// end waits until all parts are sent.
func (u *s3Upload) end() error {
	close(u.full)
	<-u.ended

	return errors.Join(u.err, u.file.Close())
}

// abort waits for the part under way, sends no other one, and reports whether a part was cut off.
func (u *s3Upload) abort() (wasCutOff bool) {
	close(u.quit)

	err := u.finish()

	return err != nil && !errors.Is(err, errAborted)
}
