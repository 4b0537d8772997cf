package file

import (
	"archive/zip"
	"encoding/binary"
	"errors"
	"io"
	"strings"
)

const (
	// MaxDirectory bounds the end of an archive that is kept to read its directory from, in bytes.
	maxDirectory = 1 << 20
	maxEntries   = 10_000
	// An archive that unpacks to more than maxUnpacked, or to more than maxGrowth times its size once that is beyond
	// freelyUnpacked, is a trap for whoever opens it. Sheets of equal numbers unpack to about fifty times their size.
	maxUnpacked    = 1 << 30
	maxGrowth      = 200
	freelyUnpacked = 10 << 20
)

// office returns which kind of office document an archive is, by its directory. It reads only the end of the
// content and unpacks nothing. It fails for archives that are damaged, of another kind, with macros, or too large
// when unpacked.
func office(r io.Reader) (string, error) {
	// The directory is at the end of an archive.
	var end tail
	if _, err := io.Copy(&end, r); err != nil {
		return "", err
	}

	archive, err := zip.NewReader(&end, end.size)
	if err != nil || len(archive.File) > maxEntries {
		return "", errDamaged
	}

	// Add up the sizes that the directory claims, and collect its folders.
	var unpacked uint64

	has := map[string]bool{}

	for _, f := range archive.File {
		if unpacked += min(f.UncompressedSize64, maxUnpacked+1); unpacked > maxUnpacked {
			return "", errArchiveSize
		}

		folder, _, _ := strings.Cut(f.Name, "/")
		has[folder] = true

		if strings.HasSuffix(strings.ToLower(f.Name), "vbaproject.bin") {
			return "", errUnsupported // a document with macros
		}
	}

	// Small archives may grow as they like; larger ones only by the usual factor.
	if unpacked > freelyUnpacked && unpacked > maxGrowth*uint64(end.size) { //nolint:gosec // a size is not negative
		return "", errArchiveSize
	}

	// The folders xl and word mark a workbook and a text document; an archive with both is neither.
	switch {
	case !has["[Content_Types].xml"], has["xl"] == has["word"]:
		return "", errUnsupported
	case has["xl"]:
		return typeXLSX, nil
	default:
		return typeDOCX, nil
	}
}

// tail keeps the end of what is written to it.
type tail struct {
	kept []byte
	size int64
}

// Write takes bytes and forgets those that are too far from the end.
func (t *tail) Write(p []byte) (int, error) {
	t.size += int64(len(p))

	t.kept = append(t.kept, p...)
	if len(t.kept) > 2*maxDirectory {
		t.kept = append(t.kept[:0], t.kept[len(t.kept)-maxDirectory:]...)
	}

	return len(p), nil
}

var errNotKept = errors.New("this part of the archive is not kept")

// ReadAt reads from the kept end. It fails for offsets before it.
func (t *tail) ReadAt(p []byte, offset int64) (int, error) {
	start := offset - (t.size - int64(len(t.kept)))
	if start < 0 {
		return 0, errNotKept
	}

	if start >= int64(len(t.kept)) {
		return 0, io.EOF
	}

	n := copy(p, t.kept[start:])
	if n < len(p) {
		return n, io.EOF
	}

	return n, nil
}

const (
	// MaxMeta bounds the description of a HEIC image, in bytes; that of a photo of 48 megapixels in tiles has a few
	// thousand.
	maxMeta = 1 << 20
	// MaxBoxes bounds the boxes in front of it.
	maxBoxes = 64
)

var errBox = errors.New("malformed box")

// heicSize returns the size of the largest picture that a HEIC image describes, thumbnails and tiles included.
func heicSize(r io.Reader) (width, height int, err error) {
	for range maxBoxes {
		// The sizes are in the box meta; skip all boxes before it.
		kind, size, err := boxHeader(r)
		if err != nil {
			return 0, 0, err
		}

		if kind != "meta" {
			if _, err := io.CopyN(io.Discard, r, size); err != nil {
				return 0, 0, err
			}

			continue
		}

		// Read that box whole, which is bounded.
		if size < 4 || size > maxMeta {
			return 0, 0, errBox
		}

		meta := make([]byte, size)
		if _, err := io.ReadFull(r, meta); err != nil {
			return 0, 0, err
		}

		return largest(meta[4:], 0) // behind version and flags
	}

	return 0, 0, errBox
}

// boxHeader reads the header of a box and gives the length of its content. A box without an end is refused: nothing
// could follow it.
func boxHeader(r io.Reader) (kind string, size int64, err error) {
	var header [8]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return "", 0, err
	}

	size = int64(binary.BigEndian.Uint32(header[:4])) - 8
	if size == 1-8 {
		var long [8]byte
		if _, err := io.ReadFull(r, long[:]); err != nil {
			return "", 0, err
		}

		size = int64(binary.BigEndian.Uint64(long[:])) - 16 //nolint:gosec // a negative one is refused
	}

	if size < 0 {
		return "", 0, errBox
	}

	return string(header[4:]), size, nil
}

// maxSide replaces any larger side, so that no area overflows.
const maxSide = 1 << 30

// largest returns the largest size among the boxes ispe, which are inside ipco inside iprp.
func largest(boxes []byte, depth int) (width, height int, err error) {
	if depth > 2 {
		return 0, 0, errBox
	}

	for len(boxes) > 0 {
		if len(boxes) < 8 {
			return 0, 0, errBox
		}

		// A box has its size and name in front, and may not reach beyond its parent.
		size, kind := int64(binary.BigEndian.Uint32(boxes)), string(boxes[4:8])
		if size < 8 || size > int64(len(boxes)) {
			return 0, 0, errBox
		}

		content := boxes[8:size]
		boxes = boxes[size:]
		w, h := 0, 0

		// Containers are searched too; ispe has version and flags, then width and height.
		switch kind {
		case "iprp", "ipco":
			if w, h, err = largest(content, depth+1); err != nil {
				return 0, 0, err
			}
		case "ispe":
			if len(content) < 12 {
				return 0, 0, errBox
			}

			w = min(int(binary.BigEndian.Uint32(content[4:])), maxSide)
			h = min(int(binary.BigEndian.Uint32(content[8:])), maxSide)
		}

		if int64(w)*int64(h) > int64(width)*int64(height) {
			width, height = w, h
		}
	}

	return width, height, nil
}
