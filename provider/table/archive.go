package table

import (
	"archive/zip"
	"encoding/xml"
	"errors"
	"io"
	"path"
	"strings"
)

// Limits of a workbook, far above those that people have and far below those that fill a memory or a disk.
const (
	maxParts     = 2000
	maxUnpacked  = 512 << 20
	maxRatio     = 200      // Of unpacked to packed bytes,
	ratioStart   = 64 << 20 // which counts only above this many unpacked bytes.
	maxDirectory = 4 << 20  // Bytes that are read to list the parts.
	maxMetadata  = 8 << 20  // Bytes of the list of sheets, and of the styles.
)

// archive is the parts of a workbook by their names in lower case.
type archive map[string]*zip.File

// openArchive lists the parts of a workbook and refuses archives that unpack to too much. Nothing is unpacked.
func openArchive(from io.ReaderAt, size int64) (archive, error) {
	bounded := &boundedReaderAt{from: from, left: maxDirectory}

	listed, err := zip.NewReader(bounded, size)
	if errors.Is(err, ErrTooLarge) || err == nil && len(listed.File) > maxParts {
		return nil, &Error{Err: ErrTooLarge}
	}

	if err != nil {
		return nil, &Error{Err: ErrNotTable}
	}

	// The sizes are those of the directory. A part that unpacks to more than it says there fails when it is read.
	parts := archive{}

	var unpacked uint64

	for _, part := range listed.File {
		if part.UncompressedSize64 > maxUnpacked {
			return nil, &Error{Err: ErrTooLarge}
		}

		unpacked += part.UncompressedSize64
		parts[partName(part.Name)] = part
	}

	// Small workbooks pack well without being bombs.
	if unpacked > maxUnpacked || unpacked > ratioStart && unpacked > maxRatio*uint64(max(size, 0)) {
		return nil, &Error{Err: ErrTooLarge}
	}

	bounded.isOpen = true

	return parts, nil
}

// boundedReaderAt ends with ErrTooLarge after so many bytes, until it is opened for the parts themselves.
type boundedReaderAt struct {
	from   io.ReaderAt
	left   int
	isOpen bool
}

// ReadAt implements io.ReaderAt.
func (b *boundedReaderAt) ReadAt(p []byte, offset int64) (int, error) {
	if !b.isOpen {
		if b.left -= len(p); b.left < 0 {
			return 0, ErrTooLarge
		}
	}

	return b.from.ReadAt(p, offset)
}

// partName returns the name under which a part is kept: some programs write other slashes and letters.
func partName(name string) string {
	return strings.ToLower(strings.TrimPrefix(strings.ReplaceAll(name, `\`, "/"), "/"))
}

// decode reads a small part as XML.
func (a archive) decode(name string, into any) error {
	part := a[name]
	if part == nil {
		return &Error{Err: ErrNotTable}
	}

	if part.UncompressedSize64 > maxMetadata {
		return &Error{Err: ErrTooLarge}
	}

	content, err := part.Open()
	if err != nil {
		return &Error{Err: ErrMalformed}
	}
	defer content.Close() //nolint:errcheck // It was only read.

	if xml.NewDecoder(content).Decode(into) != nil {
		return &Error{Err: ErrMalformed}
	}

	return nil
}

// relationship is a line of a part that names other parts.
type relationship struct {
	ID     string `xml:"Id,attr"`
	Type   string `xml:"Type,attr"`
	Target string `xml:"Target,attr"`
}

// kind returns the last word of the type, such as "worksheet". What is before it differs between editions of the
// standard.
func (r relationship) kind() string { return path.Base(r.Type) }

// relationships returns the parts that a part refers to, with their full names. The package itself has no name.
func (a archive) relationships(of string) ([]relationship, error) {
	var content struct {
		List []relationship `xml:"Relationship"`
	}

	// Targets are relative to the folder of the part.
	folder, base := path.Split(of)
	if err := a.decode(partName(folder+"_rels/"+base+".rels"), &content); err != nil {
		return nil, err
	}

	for i, r := range content.List {
		if !strings.HasPrefix(r.Target, "/") {
			content.List[i].Target = path.Join("/", folder, r.Target)
		}

		content.List[i].Target = partName(content.List[i].Target)
	}

	return content.List, nil
}
