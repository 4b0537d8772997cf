package file

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"image/jpeg"
	"io"
	"mime"
	"path"
	"slices"
	"strings"

	"github.com/gabriel-vasile/mimetype"
	"golang.org/x/image/webp"

	"stayledger/platform/apierr"
)

// The content types of attachments.
const (
	typePDF  = "application/pdf"
	typePNG  = "image/png"
	typeJPEG = "image/jpeg"
	typeWebP = "image/webp"
	typeHEIC = "image/heic"
	typeCSV  = "text/csv"
	typeXLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
	typeDOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
	typeText = "text/plain"
)

// endings are the file name endings of the types that an attachment can have.
var endings = map[string]string{
	typePDF:  ".pdf",
	typePNG:  ".png",
	typeJPEG: ".jpg",
	typeWebP: ".webp",
	typeHEIC: ".heic",
	typeCSV:  ".csv",
	typeXLSX: ".xlsx",
	typeDOCX: ".docx",
	typeText: ".txt",
}

// sniffed are the types by what the content is recognised as. Office documents are recognised by their directory
// instead.
var sniffed = map[string]string{
	"application/pdf":           typePDF,
	"image/png":                 typePNG,
	"image/vnd.mozilla.apng":    typePNG,
	"image/jpeg":                typeJPEG,
	"image/webp":                typeWebP,
	"image/heic":                typeHEIC,
	"image/heic-sequence":       typeHEIC,
	"image/heif":                typeHEIC,
	"image/heif-sequence":       typeHEIC,
	"text/csv":                  typeCSV,
	"text/tab-separated-values": typeText,
	"text/plain":                typeText,
}

const (
	// SniffedBytes is how many bytes from the beginning are needed to recognise the type.
	sniffedBytes = 3072
	// MaxPixels bounds an image: beyond, whoever opens it needs gigabytes.
	maxPixels = 100_000_000
)

var (
	errEmpty       = apierr.BadRequest.At(apierr.IssueEmptyFile.InBody("file"))
	errUnsupported = apierr.BadRequest.At(apierr.IssueContentTypeNotSupported.InBody("file"))
	errDamaged     = apierr.BadRequest.At(apierr.IssueContentTypeNotSupported.InBody("file"))
	errImageSize   = apierr.BadRequest.At(apierr.IssueImageTooLarge.InBody("file"))
	errArchiveSize = apierr.BadRequest.At(apierr.IssueArchiveTooLarge.InBody("file"))
)

// inspect copies a file and returns its content type, which it finds by the content. It decodes and unpacks
// nothing: it reads the headers of images and the directories of office documents. So memory is bounded whatever
// sizes the content claims.
func inspect(from io.Reader, to io.Writer) (string, error) {
	source := &sticky{from: io.TeeReader(from, to)}
	r := bufio.NewReaderSize(source, 32<<10)

	head, err := r.Peek(sniffedBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}

	if len(head) == 0 {
		return "", errEmpty
	}

	// Errors of the sender win over what the check made of a broken stream.
	found, err := check(head, r)

	if source.failed != nil {
		return "", source.failed
	}

	if err != nil {
		return "", err
	}

	// The check may stop early; the rest of the file must still be copied.
	_, err = io.Copy(io.Discard, r)

	return found, err
}

// check returns the type of a file by its beginning, and reads on where the type needs it. It fails for types that
// are not supported, damaged files and images with too many pixels.
func check(head []byte, r io.Reader) (string, error) {
	if strings.HasPrefix(string(head), "PK\x03\x04") {
		return office(r)
	}

	// Any text may begin with a byte order mark; it hides the type from the detector.
	detected := mimetype.Detect(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))).String()
	name, _, _ := strings.Cut(detected, ";")
	found := sniffed[name]

	var (
		size image.Config
		err  error
	)

	// Images state their size in their first bytes; text must stay text to its end.
	switch found {
	case "":
		return "", errUnsupported
	case typeText, typeCSV:
		return found, onlyText(head, r)
	case typePNG:
		size.Width, size.Height = pngSize(head)
	case typeJPEG:
		size, err = jpeg.DecodeConfig(r)
	case typeWebP:
		size, err = webp.DecodeConfig(r)
	case typeHEIC:
		size.Width, size.Height, err = heicSize(r)
	default: // a PDF, which has no size that could hurt
		return found, nil
	}

	// Refuse images that would take too much memory when somebody opens them.
	switch {
	case err != nil || size.Width <= 0 || size.Height <= 0:
		return "", errDamaged
	case int64(size.Width)*int64(size.Height) > maxPixels:
		return "", errImageSize
	}

	return found, nil
}

// pngSize returns the size of a PNG from its first chunk, or zero if that is missing.
func pngSize(head []byte) (width, height int) {
	if len(head) < 24 || string(head[12:16]) != "IHDR" {
		return 0, 0
	}

	return min(int(binary.BigEndian.Uint32(head[16:])), maxSide), min(int(binary.BigEndian.Uint32(head[20:])), maxSide)
}

// onlyText fails if content that begins as text goes on as something else. UTF-16 text is recognised by its first
// two bytes.
func onlyText(head []byte, r io.Reader) error {
	var order binary.ByteOrder

	switch string(head[:min(2, len(head))]) {
	case "\xff\xfe":
		order = binary.LittleEndian
	case "\xfe\xff":
		order = binary.BigEndian
	}

	// Read to the end in pieces of fixed size, an even number of bytes.
	buffer := make([]byte, 32<<10)
	for {
		n, err := io.ReadFull(r, buffer)
		if !textual(buffer[:n], order) {
			return errUnsupported
		}

		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}

		if err != nil {
			return err
		}
	}
}

// textual reports whether text has no control characters. With a byte order it is read as UTF-16.
func textual(b []byte, order binary.ByteOrder) bool {
	if order == nil {
		return !slices.ContainsFunc(b, func(c byte) bool { return controls(uint16(c)) })
	}

	for ; len(b) >= 2; b = b[2:] {
		if controls(order.Uint16(b)) {
			return false
		}
	}

	return len(b) == 0
}

func controls(c uint16) bool { return c < ' ' && (c < '\t' || c == '\v' || c > '\r' && c != '\x1b') }

// label returns the content type that an attachment is listed and downloaded with. The content was found to be of
// an allowed type; the sender may name another allowed one (ATT-04), and knows better whether text is a table. It
// fails if the override is not an allowed type.
func label(found, name, sent, override string) (string, error) {
	if override != "" {
		if media := mediaType(override); endings[media] != "" {
			return media, nil
		}

		return "", apierr.BadRequest.At(apierr.IssueContentTypeNotSupported.InBody("contentType"))
	}

	if found == typeText && (mediaType(sent) == typeCSV || strings.EqualFold(path.Ext(name), ".csv")) {
		return typeCSV, nil
	}

	if found == typeCSV && mediaType(sent) == typeText {
		return typeText, nil
	}

	return found, nil
}

func mediaType(text string) string {
	media, _, err := mime.ParseMediaType(text)
	if err != nil {
		return ""
	}

	return media
}

// sticky remembers what its source failed with, which decoders report as a damaged image.
type sticky struct {
	from   io.Reader
	failed error
}

// Read returns the next bytes, and after an error always that error.
func (s *sticky) Read(p []byte) (int, error) {
	if s.failed != nil {
		return 0, s.failed
	}

	n, err := s.from.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.failed = err
	}

	return n, err
}
